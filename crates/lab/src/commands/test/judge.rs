// SPDX-License-Identifier: GPL-2.0-only
//! The process that checks an algorithm: native code may crash it or keep it for ever. It prints a line of JSON per check.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use ccctl_catalog::Algorithm;
use ccctl_console::{output, Exit, UsageError};
use ccctl_core::sys;
use ccctl_sim::checks::{broken, interpreter_agrees, kept_of_the_syn, Broken, History, Vector, VectorFile, PROPERTIES};
use ccctl_sim::{Flow, Program};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::getppid;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::arguments::Judge;

/// Random histories per property.
const CASES: u32 = 200;
/// Random histories between two looks at the clock.
const FUZZ_CASES: u32 = 64;
/// Memory of the process where no sanitizer needs more.
const MEMORY_BYTES: u64 = 2 << 30;
/// Processor time of the checks besides the random histories; they take a tenth of it.
pub const CHECKS_AT_MOST: Duration = Duration::from_secs(60);
/// Largest file of vectors.
const MOST_VECTOR_BYTES: u64 = 16 << 20;

/// What the process says, a line each.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// This check has begun.
    Begun(String),
    /// A vector was run.
    Vector(VectorResult),
    /// A property was checked.
    Property(PropertyResult),
    /// So many random histories were tried.
    Fuzzed(u64),
    /// All checks were made.
    Done,
}

/// A vector.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct VectorResult {
    /// Its name.
    pub vector: String,
    /// What is not as expected; empty: it holds.
    pub mismatches: Vec<String>,
}

/// Something that holds for every algorithm.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct PropertyResult {
    /// Its name.
    pub property: String,
    /// What holds.
    pub meaning: String,
    /// What was seen instead, and after which history; null: nothing.
    pub counterexample: Option<String>,
}

/// Reads a file of vectors.
pub fn read_vectors(path: &Path) -> anyhow::Result<VectorFile> {
    let wrong = |cause: String| {
        let remedy = "ccctl new NAME writes a file with three vectors to begin with";
        UsageError::new(format!("{}: {cause}", path.display()), remedy)
    };
    let text = ccctl_series::read_regular_text(path, MOST_VECTOR_BYTES).map_err(|error| wrong(error.to_string()))?;
    let file: VectorFile = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    let mut names: Vec<&str> = file.vectors.iter().map(|vector| vector.id.as_str()).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(wrong(format!("two vectors are called {:?}", pair[0])).into()),
        None => Ok(file),
    }
}

/// The process's side.
pub fn judge(arguments: &Judge) -> anyhow::Result<Exit> {
    confine(arguments)?;
    let object = std::fs::read(&arguments.object).context("read the object")?;
    let algorithm = ccctl_catalog::add(&arguments.algorithm, object, String::new())?;
    let program = match &arguments.library {
        Some(library) => Program::of_library(algorithm, library)?,
        None => Program::of_object(algorithm)?,
    };
    program.add();
    if let Some(path) = &arguments.vectors {
        vectors(algorithm, &read_vectors(path)?)?;
    }
    properties(algorithm, arguments.library.is_some())?;
    fuzz(algorithm, arguments.fuzz)?;
    print(&Step::Done)?;
    Ok(Exit::Done)
}

/// A line for the process that waits.
fn print(step: &Step) -> anyhow::Result<()> {
    output::line(&serde_json::to_string(step)?)
}

fn confine(arguments: &Judge) -> anyhow::Result<()> {
    set_pdeathsig(Signal::SIGKILL)?;
    anyhow::ensure!(u32::try_from(getppid().as_raw()) == Ok(arguments.parent), "the parent has ended");
    // AddressSanitizer maps terabytes, and has its own limit.
    if std::env::var_os("ASAN_OPTIONS").is_none() {
        sys::limit_address_space(MEMORY_BYTES)?;
    }
    sys::limit_processor_time(CHECKS_AT_MOST + arguments.fuzz)?;
    Ok(())
}

fn vectors(algorithm: &Algorithm, file: &VectorFile) -> anyhow::Result<()> {
    let run = |vector: &Vector| {
        print(&Step::Begun(format!("vector {}", vector.id)))?;
        let mismatches = vector.run(algorithm.name(), &file.names);
        print(&Step::Vector(VectorResult { vector: vector.id.clone(), mismatches }))
    };
    file.vectors.iter().try_for_each(run)
}

fn properties(algorithm: &'static Algorithm, is_native: bool) -> anyhow::Result<()> {
    for (number, property) in (1..).zip(PROPERTIES) {
        say(property.name, property.statement, || {
            broken(algorithm, CASES, Some(number), property.holds).as_ref().map(Broken::to_string)
        })?;
    }
    say("syn-forgotten", "init leaves nothing of what the ACK of the SYN has set", || {
        kept_of_the_syn(algorithm.name())
    })?;
    let compared = match Program::of_object(algorithm) {
        Ok(program) if is_native => (
            "object-and-c",
            "the object, interpreted, does the same as the C file, compiled for this machine",
            agreement(algorithm, program),
        ),
        Ok(program) => ("own-memory", "the object accesses no memory but its own", agreement(algorithm, program)),
        // What cannot be interpreted has nothing to be compared with.
        Err(_) => return Ok(()),
    };
    let (name, meaning, found) = compared;
    say(name, meaning, || found)
}

fn agreement(algorithm: &'static Algorithm, program: &'static Program) -> Option<String> {
    broken(algorithm, CASES / 4, Some(0), |history| interpreter_agrees(program, history))
        .as_ref()
        .map(Broken::to_string)
}

fn say(name: &str, meaning: &str, counterexample: impl FnOnce() -> Option<String>) -> anyhow::Result<()> {
    print(&Step::Begun(format!("property {name}")))?;
    let (property, meaning) = (name.to_owned(), meaning.to_owned());
    print(&Step::Property(PropertyResult { property, meaning, counterexample: counterexample() }))
}

/// Random histories, and nothing asked of them but that they end: what they do on the way is the sanitizers' to judge.
fn fuzz(algorithm: &'static Algorithm, time: Duration) -> anyhow::Result<()> {
    print(&Step::Begun("random histories".to_owned()))?;
    let started = Instant::now();
    let mut tried = 0;
    while started.elapsed() < time {
        let seed = Some(1_000_000 + tried);
        broken(algorithm, FUZZ_CASES, seed, |history| {
            drop(after(history));
            Ok(())
        });
        tried += u64::from(FUZZ_CASES);
    }
    print(&Step::Fuzzed(tried))
}

fn after(history: &History) -> Flow {
    let mut flow = history.flow(history.instance());
    for event in &history.events {
        history.apply(&mut flow, *event);
    }
    flow
}
