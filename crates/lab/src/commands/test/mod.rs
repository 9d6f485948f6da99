// SPDX-License-Identifier: GPL-2.0-only
//! `ccctl lab test`: a user's algorithm is checked in a process of its own, and put beside others on five standard paths.

mod answer;
mod judge;
mod page;
mod process;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use ccctl_catalog::{sanitizer_runtime, Algorithm, Target, SOURCE_ENDING};
use ccctl_console::{output, Exit};
use tempfile::TempDir;

pub use answer::Answer;
pub use judge::judge;

use super::own_algorithm::{self, IS_STATIC};
use super::{browser, fault};
use crate::arguments::Test;

pub fn run(arguments: &Test) -> anyhow::Result<Exit> {
    let file = arguments.file.as_str();
    tell(&format!("{file}: compiling"));
    let algorithm = own_algorithm::add(file, arguments.trust_writable)?;
    let vectors = vectors_of(file).filter(|path| path.exists());
    // Said in one line, and before anything else.
    vectors.as_deref().map(judge::read_vectors).transpose()?;
    let place = (!arguments.no_page).then(|| page::Place::of(&arguments.out, algorithm.name())).transpose()?;
    let folder = TempDir::new()?;
    let build = build(file, algorithm, folder.path())?;
    tell(&format!("{file}: vectors, properties, random histories for {}", output::span(arguments.fuzz)));
    let ended = process::run(&process::Task {
        algorithm: algorithm.name(),
        object: build.object,
        library: build.library,
        sanitizers: build.sanitizers.as_deref(),
        vectors: vectors.as_deref(),
        fuzz: arguments.fuzz,
    })?;
    let mut answer = Answer::of(algorithm.name(), file, vectors, build.unsanitized, ended);
    // What crashes a process of its own would crash this one.
    if let Some(place) = place.filter(|_| answer.crash.is_none()) {
        answer.page = place.fill(arguments, &answer)?;
    }
    if arguments.output.json {
        output::json(&answer)?;
    } else {
        answer.print()?;
    }
    if let (Some(page), true) = (&answer.page, arguments.open) {
        browser::show(page);
    }
    let is_whole = answer.passed && (arguments.no_page || answer.page.is_some());
    Ok(if is_whole { Exit::Done } else { Exit::Partial })
}

/// With stderr closed there is nobody to tell.
fn tell(what: &str) {
    let _ = writeln!(std::io::stderr(), "{what}");
}

/// The file of vectors that belongs to a C file or an object.
fn vectors_of(file: &str) -> Option<PathBuf> {
    let stem = [SOURCE_ENDING, ".bpf.o", ".o"].iter().find_map(|ending| file.strip_suffix(ending))?;
    Some(PathBuf::from(format!("{stem}.vectors.json")))
}

/// What the process gets.
struct Build {
    object: PathBuf,
    library: Option<PathBuf>,
    sanitizers: Option<PathBuf>,
    /// Why there are no sanitizers.
    unsanitized: Option<&'static str>,
}

fn build(file: &str, algorithm: &Algorithm, folder: &Path) -> anyhow::Result<Build> {
    let object = folder.join("algorithm.o");
    std::fs::write(&object, algorithm.object())?;
    let interpreted = |why| Build { object: object.clone(), library: None, sanitizers: None, unsanitized: Some(why) };
    if !file.ends_with(SOURCE_ENDING) {
        return Ok(interpreted("they need the C file"));
    }
    if IS_STATIC {
        return Ok(interpreted("a static ccctl-lab interprets the object"));
    }
    let sanitizers = sanitizer_runtime();
    let target = if sanitizers.is_some() { Target::Sanitized } else { Target::Native };
    let library = folder.join("algorithm.so");
    let compiled = ccctl_catalog::compile(Path::new(file), target).map_err(fault::of_compiler)?;
    std::fs::write(&library, compiled)?;
    let unsanitized =
        sanitizers.is_none().then_some("clang has no libclang_rt.asan: install libclang-rt-dev or compiler-rt");
    Ok(Build { object, library: Some(library), sanitizers, unsanitized })
}
