// SPDX-License-Identifier: GPL-2.0-only
//! Compares Linux's own congestion control modules with this tree's algorithms: `ccctl-lab modules`, which
//! `scripts/compare-modules` runs in the tree's top folder.
//!
//! It hooks into kernel functions in an emulated guest, and compiles C files when it runs. `record`, `send` and `receive` run
//! in the guest, all else on the host, without privileges.

mod btf;
mod build;
mod column;
mod counterpart;
mod counterparts;
mod coverage;
mod engines;
mod file;
mod flows;
mod hooks;
mod measures;
mod mutant;
mod mutants;
mod native;
mod page;
mod programs;
mod record;
mod replay;
mod report;
mod scripted;
mod side;
mod traffic;
mod trial;
mod uncovered;
mod verdict;
mod watch;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{ensure, Context as _, Result};
use clap::Subcommand;

use counterpart::Counterpart;
use counterparts::COUNTERPARTS;
use file::Recording;
use native::Algorithm;
use replay::Mode;
use report::Finding;
use side::Side;
use traffic::{Step, Watched};

/// What `ccctl-lab modules` does.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// In the guest: record the calls of a module's hooks
    Record {
        /// Algorithm
        algorithm: String,
        /// Instead of the module, the BPF programs of this instance, the only one that ccctl has loaded
        #[arg(long)]
        instance: Option<String>,
        /// File of recorded calls
        #[arg(long)]
        to: PathBuf,
        /// End when this file exists
        #[arg(long)]
        stop: PathBuf,
        /// The kernel's `CONFIG_HZ`
        #[arg(long)]
        hz: u64,
    },
    /// In the guest: one connection, step by step
    Send {
        /// Algorithm
        algorithm: String,
        /// Receiver
        to: SocketAddr,
        /// Milliseconds before it connects
        #[arg(long, default_value_t = 0)]
        wait: u64,
        /// File to which the window is written, every 20 ms
        #[arg(long)]
        series: Option<PathBuf>,
        /// After this many reductions, create a file with the name of the series and the ending `enough`
        #[arg(long)]
        enough: Option<u32>,
        /// End `bulk` when this file exists
        #[arg(long)]
        stop: Option<PathBuf>,
        /// `bulk:MS`, `idle:MS`, `drip:BYTES,EVERY_MS,TOTAL_MS`, `run:COMMAND`
        steps: Vec<Step>,
    },
    /// Replay recordings and say what differs
    Replay(Replay),
    /// Replay recordings of BPF programs, ALGORITHM.programs, natively and through the interpreter
    Programs {
        /// Folder of recordings
        recordings: PathBuf,
        /// Algorithms [default: all]
        algorithms: Vec<String>,
    },
    /// Measure series of windows, ALGORITHM.series, and draw them
    Side(SideBySide),
    /// Measure runs of five flows at once, ALGORITHM.near.flows and ALGORITHM.far.flows
    Flows(FiveAtOnce),
    /// In the guest: run the scripted connections, and print what happened
    Script {
        /// Algorithm
        algorithm: String,
        /// What the kernel knows ours as; Linux's module has the algorithm's name
        ours: String,
        /// Only this script; may be repeated
        #[arg(long)]
        only: Vec<String>,
    },
    /// Compare what scripted connections did, ALGORITHM.scripts
    Scripts {
        /// Folder of runs
        runs: PathBuf,
        /// Algorithms
        #[arg(required = true)]
        algorithms: Vec<String>,
        /// Page into which the table is written
        #[arg(long)]
        page: Option<PathBuf>,
    },
    /// In the guest: read what senders send; the next port acknowledges at once
    Receive {
        /// Address and port to listen on
        address: SocketAddr,
    },
}

/// `side`
#[derive(Debug, clap::Args)]
pub struct SideBySide {
    /// Folder of series, ALGORITHM.series
    series: PathBuf,
    /// Algorithms [default: all]
    algorithms: Vec<String>,
    /// Page into which the table is written; figures are written to a folder of its name
    #[arg(long)]
    page: Option<PathBuf>,
}

/// `flows`
#[derive(Debug, clap::Args)]
pub struct FiveAtOnce {
    /// Folder of runs
    runs: PathBuf,
    /// Algorithms
    #[arg(required = true)]
    algorithms: Vec<String>,
    /// Page into which the table is written
    #[arg(long)]
    page: Option<PathBuf>,
}

/// `replay`
#[derive(Debug, clap::Args)]
pub struct Replay {
    /// Folder of recordings, ALGORITHM.calls
    recordings: PathBuf,
    /// Algorithms [default: all]
    algorithms: Vec<String>,
    /// Write the table and the sections into this page
    #[arg(long)]
    page: Option<PathBuf>,
    /// The recordings are of a few scenarios: one missed mutant per algorithm is accepted
    #[arg(long)]
    short: bool,
}

const CALLS_BEGIN: &str = "<!-- made by scripts/compare-modules: calls -->";
const SIDE_BEGIN: &str = "<!-- made by scripts/compare-modules: side by side -->";
const SIDE_MEASURES_BEGIN: &str = "<!-- made by scripts/compare-modules: side by side, all measures -->";
const SIDE_FIGURES_BEGIN: &str = "<!-- made by scripts/compare-modules: side by side, figures -->";
const SCRIPTS_BEGIN: &str = "<!-- made by scripts/compare-modules: scripted connections -->";
const FLOWS_BEGIN: &str = "<!-- made by scripts/compare-modules: five at once -->";

/// Does it.
///
/// # Errors
/// What failed, or what differs that should not.
pub fn run(command: Command) -> Result<()> {
    match command {
        Command::Record { algorithm, instance: Some(instance), to, stop, hz } => {
            record::record_programs(&algorithm, &instance, &to, &stop, hz)
        }
        Command::Record { algorithm, instance: None, to, stop, hz } => {
            let module = hooks::module(&algorithm).with_context(|| format!("Linux has no module {algorithm}"))?;
            record::record(module, &to, &stop, hz)
        }
        Command::Send { algorithm, to, wait, series, enough, stop, steps } => {
            let watched = Watched { wait: Duration::from_millis(wait), series, enough, stop };
            traffic::send(&algorithm, to, &steps, &watched)
        }
        Command::Side(options) => side(&options),
        Command::Flows(options) => five_at_once(&options),
        Command::Replay(options) => replay(&options),
        Command::Programs { recordings, algorithms } => {
            in_folder(|work| engines::replay_programs(&recordings, &algorithms, work))
        }
        Command::Script { algorithm, ours, only } => scripted::run(&algorithm, &ours, &only),
        Command::Scripts { runs, algorithms, page } => {
            let table = scripted::judge(&runs, &algorithms)?;
            page.map_or(Ok(()), |page| page::merge(&page, SCRIPTS_BEGIN, 1, &table))
        }
        Command::Receive { address } => traffic::receive(address),
    }
}

/// With a folder for what is compiled, which goes afterwards.
fn in_folder<T>(action: impl FnOnce(&Path) -> Result<T>) -> Result<T> {
    let work = std::env::temp_dir().join(format!("ccctl-compare-{}", std::process::id()));
    std::fs::create_dir_all(&work)?;
    let done = action(&work);
    std::fs::remove_dir_all(&work)?;
    done
}

/// Replays all, prints a line for each, and writes the page; an error where anything differs that is not meant to.
fn replay(options: &Replay) -> Result<()> {
    let wanted = |name: &str| options.algorithms.is_empty() || options.algorithms.iter().any(|wanted| wanted == name);
    let recorded = |name: &str| options.recordings.join(format!("{name}.calls")).exists();
    let counterparts = COUNTERPARTS.into_iter().filter(|it| wanted(it.name) && recorded(it.name));
    let findings: Vec<Finding> =
        in_folder(|work| counterparts.map(|counterpart| find(counterpart, options, work)).collect())?;
    ensure!(!findings.is_empty(), "no recordings in {}", options.recordings.display());
    if let Some(page) = &options.page {
        page::merge(page, CALLS_BEGIN, 1, &report::page(&findings))?;
    }
    let wrong: Vec<&str> = findings
        .iter()
        .filter(|finding| finding.tally.mismatches > 0)
        .map(|finding| finding.counterpart.name)
        .collect();
    ensure!(wrong.is_empty(), "calls differ without an intended difference: {}", wrong.join(" "));
    let blind: Vec<&str> = findings
        .iter()
        .filter(|finding| misses_too_much(finding, options.short))
        .map(|finding| finding.counterpart.name)
        .collect();
    ensure!(
        blind.is_empty(),
        "mutants not caught: {}; record calls that catch them, or give the reason in crates/compare/src/counterparts",
        blind.join(" ")
    );
    Ok(())
}

fn misses_too_much(finding: &Finding, short: bool) -> bool {
    let escaped = finding.escaped().count();
    escaped > if short { finding.planted.0.saturating_sub(1) } else { 0 }
}

fn find(counterpart: &'static Counterpart, options: &Replay, work: &Path) -> Result<Finding> {
    let recording = read(counterpart, &options.recordings)?;
    let library = work.join(format!("{}.so", counterpart.name));
    let bpf = build::bpf_folder();
    build::compile(&bpf.join(format!("algorithms/{}.bpf.c", counterpart.name)), &bpf.join("include"), &library, false)?;
    let load =
        |more: &[(&str, &str)]| Algorithm::load(&library, counterpart.name, &replay::parameters(counterpart, more)?);
    let tally = replay::replay(&recording, counterpart, &load(&[])?, &load(counterpart.other)?, Mode::All)?;
    let branches = coverage::branches(&recording, counterpart, work)?;
    let planted = mutants::missed(&recording, counterpart, work)?;
    let finding = Finding { counterpart, kernel: recording.header.kernel.clone(), tally, branches, planted };
    println!(
        "{:10} {:7} calls, {:7} equal, {:6} intended, {} mismatches, branches {} of {}, mutants caught {} of {}",
        counterpart.name,
        finding.tally.calls(),
        finding.tally.equal,
        finding.tally.intended.iter().sum::<u64>(),
        finding.tally.mismatches,
        finding.branches.iter().filter(|branch| branch.count > 0).count(),
        finding.branches.len(),
        finding.planted.0 - finding.planted.1.len(),
        finding.planted.0,
    );
    for example in &finding.tally.examples {
        println!("  {example}");
    }
    for error in finding.escaped() {
        println!("  not caught: {:?} for {:?}", error.wrong, error.right);
    }
    Ok(finding)
}

/// All recordings of an algorithm as one.
fn read(counterpart: &Counterpart, folder: &Path) -> Result<Recording> {
    let mut recording = Recording::read(&folder.join(format!("{}.calls", counterpart.name)))?;
    let more = folder.join(format!("{}.corners.calls", counterpart.name));
    if more.exists() {
        recording.calls.extend(Recording::read(&more)?.calls);
    }
    Ok(recording)
}

fn side(options: &SideBySide) -> Result<()> {
    let wanted = |name: &str| options.algorithms.is_empty() || options.algorithms.iter().any(|wanted| wanted == name);
    let names: Vec<&'static str> =
        COUNTERPARTS.into_iter().map(|counterpart| counterpart.name).filter(|name| wanted(name)).collect();
    let side = Side::read(&names, &options.series)?;
    if let Some(page) = &options.page {
        page::merge(page, SIDE_BEGIN, 2, &side.verdicts())?;
        page::merge(page, SIDE_MEASURES_BEGIN, 4, &side.measures())?;
        page::put(page, SIDE_FIGURES_BEGIN, &side.figures(&page.with_extension(""))?)?;
    }
    let wrong = side.wrong();
    ensure!(wrong.is_empty(), "side by side, these differ by more than the tolerance: {}", wrong.join(" "));
    Ok(())
}

fn five_at_once(options: &FiveAtOnce) -> Result<()> {
    let all = flows::read(&options.algorithms, &options.runs)?;
    if let Some(page) = &options.page {
        page::merge(page, FLOWS_BEGIN, 2, &flows::page(&all))?;
    }
    let wrong: Vec<&str> = all.iter().filter(|flows| flows.differs()).map(|flows| flows.algorithm.as_str()).collect();
    ensure!(wrong.is_empty(), "five flows at once differ by more than noise: {}", wrong.join(" "));
    Ok(())
}
