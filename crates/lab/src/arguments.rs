// SPDX-License-Identifier: GPL-2.0-only
//! The command line: types only.

use std::path::PathBuf;
use std::time::Duration;

use ccctl_console::arguments::{time_within, Output};
use ccctl_console::manual::Man;
use ccctl_console::{cause_of_usage, EXIT_CODES};
use ccctl_core::object_scan::Look;
use ccctl_lab::picture::Format;
use clap::{Args, Parser, Subcommand};

use crate::PROGRAM;

/// Experiments with TCP congestion control: in a simulator, and on the running kernel.
#[derive(Debug, Parser)]
#[command(name = PROGRAM, version, about, after_help = EXIT_CODES, disable_help_subcommand = true)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Everything that ccctl-lab does.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the built-in scenarios
    List(Output),
    /// Print a scenario's file, to copy and change
    Show(Show),
    /// Run scenarios and draw a page of each; repeat a stopped command to continue
    Run(Run),
    /// Run a scenario over values of your choice
    Sweep(Sweep),
    /// Test an algorithm of your own: its vectors, what holds for all algorithms, sanitizers, five standard paths
    Test(Test),
    /// Join the folders of shards
    Merge(Merge),
    /// Draw the page of a folder again
    Report(Report),
    /// Compare two folders of the same scenario
    Compare(Compare),
    /// Convert figures to PNG or PDF
    Convert(Convert),
    /// Compare Linux's own modules with the algorithms of the source tree: scripts/compare-modules
    #[command(subcommand, hide = true)]
    Modules(ccctl_compare::Command),
    /// Print a table of the papers' claims and our results
    Reproduction(Reproduction),
    /// Print which runs of the papers' scenarios are recorded, and how long the others take
    Plan(Plan),
    /// Repeat a random part of the recorded runs, and compare the results byte for byte
    Repeat(Repeat),
    /// Clean up after killed kernel runs (the next run also does this)
    Clean(Output),
    /// Print the JSON Schema of a command's answer
    Schema(Schema),
    /// Write the manual pages into a folder
    Man(Man),
    /// Run the checks of `test`
    #[command(name = JUDGE, hide = true)]
    Judge(Judge),
    /// Look at the object file on stdin
    #[command(name = ccctl_core::object_scan::COMMAND, hide = true)]
    Look(Look),
}

/// The command, which is not for people, that checks an algorithm.
pub const JUDGE: &str = "judge-algorithm";

/// What the process that checks an algorithm is told.
#[derive(Debug, Args)]
pub struct Judge {
    /// The process that waits for it
    pub parent: u32,
    /// Name of the algorithm
    pub algorithm: String,
    /// Its object
    pub object: PathBuf,
    /// Its C file as a library; without: the object is interpreted
    #[arg(long)]
    pub library: Option<PathBuf>,
    /// Its vectors
    #[arg(long)]
    pub vectors: Option<PathBuf>,
    /// How long to try random histories
    #[arg(long, value_parser = fuzz_time)]
    pub fuzz: Duration,
}

/// `ccctl lab test`
#[derive(Debug, Args)]
pub struct Test {
    /// NAME.bpf.c, which clang compiles, or NAME.o, which is interpreted; NAME.vectors.json next to it has its vectors
    pub file: String,
    /// How long to try random histories
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = fuzz_time)]
    pub fuzz: Duration,
    /// Leave out the standard paths and their page
    #[arg(long)]
    pub no_page: bool,
    /// Where to make the folder of the page, NAME-test
    #[arg(long, value_name = "DIR", default_value = "ccctl-lab")]
    pub out: PathBuf,
    /// Accept a file that other users than root can write
    #[arg(long)]
    pub trust_writable: bool,
    /// Show the page in the browser at the end
    #[arg(long)]
    pub open: bool,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
}

/// `ccctl lab schema`
#[derive(Debug, Args)]
pub struct Schema {
    /// A command [default: list the schemas]
    pub name: Option<String>,
}

/// `ccctl lab show`
#[derive(Debug, Args)]
pub struct Show {
    /// A name from `ccctl lab list`
    pub name: String,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
}

/// Which runs of a scenario are made, and what is changed in it.
#[derive(Debug, Clone, Default, Args)]
pub struct Part {
    /// Set a value of the scenario, such as 'link.bottleneck.rate=1 Gbit/s'; may be repeated
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub set: Vec<String>,
    /// Run only these values of an axis: 'buffer=40 packets'; may be repeated
    #[arg(long, value_name = "AXIS=VALUE")]
    pub only: Vec<String>,
    /// Use another seed
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Number of repetitions per grid point
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub repeats: Option<u32>,
    /// Leave out the paper's values and statements
    #[arg(long)]
    pub no_paper: bool,
    /// Run with the noise that the paper's testbed had: what [testbed] of the scenario sets
    #[arg(long)]
    pub testbed: bool,
    /// Parallel runs [default: processors; netns: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,
}

/// How scenarios are run.
#[derive(Debug, Args)]
pub struct Choice {
    /// Where to run
    #[arg(long, value_enum, default_value_t)]
    pub backend: BackendChoice,
    /// On the netns backend: packets delayed beyond this count as late; too many invalidate the run [default: a
    /// twentieth of each path's RTT, 1ms to 10ms]
    #[arg(long, value_name = "TIME", value_parser = lateness)]
    pub late: Option<Duration>,
    /// How often to retry an invalid run of the netns backend
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub retries: u32,
    /// On the netns backend: what carries packets
    #[arg(long, value_enum, default_value_t)]
    pub path: PathChoice,
    /// Add an algorithm of your own: NAME.bpf.c, which clang compiles, or NAME.o, which is interpreted. Axes that set algorithms
    /// have it as a further value; otherwise the first group of flows uses it; may be repeated
    #[arg(long, value_name = "FILE")]
    pub algorithm: Vec<String>,
    /// Accept algorithms that other users than root can write
    #[arg(long)]
    pub trust_writable: bool,
    /// Run only part I of N; `ccctl lab merge` joins the parts
    #[arg(long, value_name = "I/N")]
    pub shard: Option<String>,
    /// Where to make the folders, one per scenario
    #[arg(long, value_name = "DIR", default_value = "ccctl-lab")]
    pub out: PathBuf,
    /// Format of the time series
    #[arg(long, value_enum, default_value_t)]
    pub series: SeriesChoice,
    /// A folder of recorded runs: these are not made again, and new ones are added
    #[arg(long, value_name = "DIR")]
    pub recorded: Option<PathBuf>,
    /// Commit of the source tree, to keep with the results
    #[arg(long, value_name = "COMMIT")]
    pub commit: Option<String>,
    /// Show the page in the browser at the end
    #[arg(long)]
    pub open: bool,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
}

/// `ccctl lab run`
#[derive(Debug, Args)]
pub struct Run {
    /// Names from `ccctl lab list`, or files
    #[arg(required = true, value_name = "SCENARIO")]
    pub scenarios: Vec<String>,
    /// Of these.
    #[command(flatten)]
    pub part: Part,
    /// Run another scenario at the same time, with its own runs and jobs, quoted as in a shell: 's4-pairs --only first=bic
    /// --jobs 3'; may be repeated
    #[arg(long, value_name = "SCENARIO [OPTIONS]", value_parser = beside)]
    pub beside: Vec<Beside>,
    /// All of them.
    #[command(flatten)]
    pub choice: Choice,
}

/// What `--beside` takes.
#[derive(Debug, Clone, Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
pub struct Beside {
    /// A name from `ccctl lab list`, or a file
    pub scenario: String,
    /// Of it.
    #[command(flatten)]
    pub part: Part,
}

fn beside(text: &str) -> Result<Beside, String> {
    let words = shlex::split(text).ok_or("a quotation mark is not closed")?;
    Beside::try_parse_from(words).map_err(|error| cause_of_usage(&error))
}

/// `ccctl lab sweep`
#[derive(Debug, Args)]
pub struct Sweep {
    /// A name from `ccctl lab list`, or a file
    pub scenario: String,
    /// An additional axis: a path and its values, 'link.bottleneck.delay=10 ms,20 ms,40 ms'; may be repeated
    #[arg(long, value_name = "PATH=V1,V2...")]
    pub axis: Vec<String>,
    /// Of it.
    #[command(flatten)]
    pub part: Part,
    /// All of it.
    #[command(flatten)]
    pub choice: Choice,
}

/// `ccctl lab merge`
#[derive(Debug, Args)]
pub struct Merge {
    /// The folder to make
    pub out: PathBuf,
    /// Folders of shards of one scenario
    #[arg(required = true, value_name = "DIR")]
    pub folders: Vec<PathBuf>,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
}

/// `ccctl lab report`
#[derive(Debug, Args)]
pub struct Report {
    /// A folder of `ccctl lab run`
    pub folder: PathBuf,
    /// Show the page in the browser
    #[arg(long)]
    pub open: bool,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
}

/// `ccctl lab compare`
#[derive(Debug, Args)]
pub struct Compare {
    /// A folder of `ccctl lab run`
    pub first: PathBuf,
    /// Another one of the same scenario
    pub second: PathBuf,
    /// Treat values as equal that differ by at most this percentage of the first; may be repeated [default: 0; between
    /// backends 3 for goodput, 15 for loss epochs, 10 for windows, and so on]
    #[arg(long, value_name = "[MEASURE=]PCT")]
    pub tolerance: Vec<String>,
    /// Only this measure; may be repeated [default: those that the scenario's page shows]
    #[arg(long, value_name = "MEASURE")]
    pub measure: Vec<String>,
    /// Write a page with both on one set of axes
    #[arg(long, value_name = "FILE")]
    pub page: Option<PathBuf>,
    /// Write the pictures of the page into a folder: 1.svg and so on
    #[arg(long, value_name = "DIR")]
    pub pictures: Option<PathBuf>,
    /// Print a Markdown table: a row per grid point
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,
    /// Exit with code 6 if anything differs
    #[arg(long)]
    pub fail: bool,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
}

/// `ccctl lab convert`
#[derive(Debug, Args)]
pub struct Convert {
    /// Figures (.svg), each converted to a file next to it; - reads stdin and writes stdout
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Format
    #[arg(long, value_enum)]
    pub to: Format,
    /// Replace files that show something else
    #[arg(long)]
    pub force: bool,
}

/// `ccctl lab reproduction`
#[derive(Debug, Args)]
pub struct Reproduction {
    /// Folders of `ccctl lab run`
    #[arg(required_unless_present = "record", value_name = "DIR")]
    pub folders: Vec<PathBuf>,
    /// JSON file with the results of earlier runs. Results in DIR take precedence and are written to it
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// TOML file that says, by statement, what was tried if it does not hold
    #[arg(long, value_name = "FILE")]
    pub notes: Option<PathBuf>,
    /// Folder beside the page that gets pictures: of the papers' values and of what papers have figures of
    #[arg(long, value_name = "DIR")]
    pub figures: Option<PathBuf>,
    /// Only compare the verdicts of the folders with those of --record; exit with code 6 if one contradicts
    #[arg(long, requires = "record")]
    pub check: bool,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
}

/// Recorded runs, and the scenarios that they are of.
#[derive(Debug, Args)]
pub struct RecordedChoice {
    /// Names from `ccctl lab list`, or files [default: all with statements]
    #[arg(value_name = "SCENARIO")]
    pub scenarios: Vec<String>,
    /// A folder of recorded runs: --recorded of `ccctl lab run`
    #[arg(long, value_name = "DIR")]
    pub recorded: PathBuf,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
}

/// `ccctl lab plan`
#[derive(Debug, Args)]
pub struct Plan {
    /// Which.
    #[command(flatten)]
    pub choice: RecordedChoice,
    /// A folder that runs are made in: what is in it is there as well
    #[arg(long, value_name = "DIR", default_value = "ccctl-lab")]
    pub out: PathBuf,
    /// Lines of SCENARIO and options, each as for `ccctl lab run --backend netns`: runs on the kernel
    #[arg(long, value_name = "FILE")]
    pub kernel_list: Option<PathBuf>,
    /// Processors [default: those of this host]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,
    /// Print a line per run
    #[arg(long)]
    pub each: bool,
}

/// A line of `--kernel-list`.
#[derive(Debug, Clone, Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
pub struct KernelLine {
    /// What it runs,
    #[command(flatten)]
    pub first: Beside,
    /// and at the same time.
    #[arg(long, value_parser = beside)]
    pub beside: Vec<Beside>,
}

/// `ccctl lab repeat`
#[derive(Debug, Args)]
pub struct Repeat {
    /// Which.
    #[command(flatten)]
    pub choice: RecordedChoice,
    /// Share of the recorded runs, in percent
    #[arg(long, value_name = "PCT", default_value_t = 5.0, value_parser = percent)]
    pub share: f64,
    /// Decides which [default: the time]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// No more runs than take this long together on one processor, as recorded
    #[arg(long, value_name = "TIME", value_parser = budget)]
    pub budget: Option<Duration>,
    /// Parallel runs [default: processors]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,
}

/// What runs a scenario.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum BackendChoice {
    /// The simulator
    #[default]
    Sim,
    /// The running kernel, over an emulated path between network namespaces; needs root
    Netns,
    /// Both, one after the other, and a page with both
    Both,
}

/// What carries packets on the netns backend.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum PathChoice {
    /// The lab's router, which measures its own lateness
    #[default]
    Emulator,
    /// The kernel's netem, if it has one: drop-tail in packets and independent losses
    Netem,
}

/// In which files time series are kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum SeriesChoice {
    /// CSV, for all runs
    #[default]
    Csv,
    /// None: measures only
    None,
}

fn percent(text: &str) -> Result<f64, String> {
    let value: f64 = text.trim_end_matches('%').trim().parse().map_err(|_| "write a number such as 5".to_owned())?;
    if value > 0.0 && value <= 100.0 {
        Ok(value)
    } else {
        Err("from above 0 to 100".to_owned())
    }
}

fn budget(text: &str) -> Result<Duration, String> {
    let bounds = Duration::from_secs(1)..=Duration::from_secs(30 * 24 * 3600);
    time_within(text, bounds, "from 1s to 30 days; without it, the share decides alone")
}

/// Of 0 all runs would be invalid, and of minutes none.
fn lateness(text: &str) -> Result<Duration, String> {
    let bounds = Duration::from_nanos(1)..=Duration::from_secs(60);
    time_within(text, bounds, "from 1ns to 1min; without it, what the RTT of each path allows for")
}

fn fuzz_time(text: &str) -> Result<Duration, String> {
    let bounds = Duration::ZERO..=Duration::from_secs(3600);
    time_within(text, bounds, "from 0s to 1h")
}
