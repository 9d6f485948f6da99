// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command line: types only.

mod advise;
mod experiment;
mod guard;
mod sockets;
mod top;
mod trace;

use std::ffi::OsString;
use std::path::PathBuf;

use ccctl_console::arguments::{time, Color, Output};
use ccctl_console::manual::Man;
use ccctl_core::object_scan::Look;
use ccctl_core::operations;
use clap::{Args, Parser, Subcommand};

pub use advise::Advise;
pub use experiment::{Experiment, ExperimentCommand, Report};
pub use guard::{Guard, GuardCommand};
pub use sockets::Sockets;
pub use top::Top;
pub use trace::{Plot, Trace};

/// Load, tune, swap and inspect TCP congestion control algorithms at run time.
#[derive(Debug, Parser)]
#[command(name = "ccctl", version = crate::VERSION, about, arg_required_else_help = true)]
pub struct Arguments {
    /// Act in this network namespace: a name in /run/netns or the path of a namespace file
    #[arg(long, global = true, value_name = "NAME|PATH", display_order = 100)]
    pub netns: Option<String>,
    /// When to use colours
    #[arg(
        long,
        global = true,
        value_name = "auto|always|never",
        value_enum,
        default_value_t,
        hide_possible_values = true,
        display_order = 101
    )]
    pub color: Color,
    /// How to print.
    #[command(flatten)]
    pub output: GlobalOutput,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// `--json` before the command, too.
#[derive(Debug, Args)]
pub struct GlobalOutput {
    /// Print JSON
    #[arg(long, global = true)]
    pub json: bool,
}

/// Everything that ccctl does.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the algorithms that can be loaded
    Algorithms(Output),
    /// Show an algorithm (law, source, parameters) or a running instance (parameters, programs, sockets)
    Show(Show),
    /// Ask the kernel whether it accepts an algorithm or object file, without registering it
    Check(Asked<operations::Check>),
    /// Write a new algorithm to begin with: its C file, test vectors, a scenario
    New(New),
    /// Compile the C file of an algorithm, and ask the kernel whether it accepts it
    Build(Build),
    /// Ask other kernels whether they accept an object file, each in an emulated machine
    Verify(Verify),
    /// Register an algorithm with the kernel
    Load(Asked<operations::Load>),
    /// List instances, built-in algorithms, the default, and the sockets of each
    List(Viewed),
    /// Change parameters of a running instance, live
    Tune(Asked<operations::Tune>),
    /// Replace the program behind a kernel name, atomically
    Swap(Asked<operations::Swap>),
    /// List TCP sockets: algorithm, cgroup, process, window, RTT, rate, and the algorithm's state
    Sockets(Sockets),
    /// Move live connections to another algorithm
    Migrate(Asked<operations::Migrate>),
    /// Unload instances
    Unload(Asked<operations::Unload>),
    /// Show or set the default algorithm of this network namespace
    Default(Asked<operations::Default>),
    /// Choose the algorithms of a cgroup's connections
    Assign(Asked<operations::Assign>),
    /// Remove a rule
    Unassign(Asked<operations::Unassign>),
    /// List the rules
    Rules(Viewed),
    /// Try another algorithm on a share of an instance's new connections, then undo or promote it
    Canary(Asked<operations::Canary>),
    /// Decide which of two algorithms is better for a service, by switching all of it back and forth
    Experiment(Experiment),
    /// Say which algorithms are worth an experiment for a service, from what its connections do
    Advise(Advise),
    /// Explain why a socket uses its algorithm
    Why(Asked<operations::Why>),
    /// Measure the ACK clock: arrival, waiting, processing and drops of ACKs, per algorithm
    Acks(Acks),
    /// Show algorithms, their sockets and one socket live
    Top(Top),
    /// List the metrics that the daemon exports to Prometheus
    Metrics(Output),
    /// Record sockets over time: window, RTT, losses, and the algorithm's state
    Trace(Trace),
    /// Draw a trace
    Plot(Plot),
    /// Run experiments: scenarios, their measures, papers' statements (executes ccctl-lab)
    #[command(disable_help_flag = true)]
    Lab(Lab),
    /// Check what this host supports
    Doctor(Output),
    /// Apply a configuration file
    Apply(Apply),
    /// Show the daemon's status, configuration and errors
    Status(Viewed),
    /// Show what the guard watches and has disabled, or enable an instance again
    Guard(Guard),
    /// Follow what changes on this host, from the daemon
    Events(Events),
    /// Undo everything ccctl has done on this host and stop the daemon
    Down(Asked<operations::Down>),
    /// Apply a configuration file, keep the host as it says, and serve the API
    Daemon(Daemon),
    /// Print the completion script of a shell: source <(ccctl completions bash)
    Completions(Completions),
    /// Write the manual pages into a folder
    Man(Man),
    /// Print the JSON Schema of a command's answer, or of ccctl.toml
    Schema(Schema),
    /// Print the version of ccctl, and of the daemon
    Version(Output),
    /// Look at the object file on stdin
    #[command(name = ccctl_core::object_scan::COMMAND, hide = true)]
    Look(Look),
    /// Load the object file of a guest, and tell how it went
    #[command(name = crate::verify::COMMAND, hide = true)]
    VerifyInGuest,
}

/// How to print what is printed again and again on request.
#[derive(Debug, Args)]
pub struct Viewed {
    /// Print again at this interval until Ctrl-C [default: 2s]
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true, default_missing_value = "2s", value_parser = time)]
    pub watch: Option<std::time::Duration>,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
}

/// `ccctl new`
#[derive(Debug, Args)]
pub struct New {
    /// Its name: letters, digits and _, as C has them, at most 11
    pub name: String,
    /// What it is at first: AIMD with a step and a decrease, a growth curve over time, growth until packets queue, or a rate
    #[arg(long, value_enum, default_value_t, value_name = "reno|cubic|delay|rate", hide_possible_values = true)]
    pub from: Template,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
}

/// What a new algorithm is at first.
#[derive(Debug, Clone, Copy, Default, clap::ValueEnum)]
pub enum Template {
    /// Reno with its constants as parameters.
    #[default]
    Reno,
    /// RFC 9438's curve, and nothing else of it.
    Cubic,
    /// Like Vegas: holds a number of packets in the queue.
    Delay,
    /// Like BBR: sends at the delivery rate.
    Rate,
}

/// `ccctl build`
#[derive(Debug, Args)]
pub struct Build {
    /// The C file
    #[arg(value_name = "FILE.bpf.c")]
    pub file: PathBuf,
    /// The object file [default: FILE.bpf.o]
    #[arg(short, long, value_name = "FILE")]
    pub object: Option<PathBuf>,
    /// Do it again each time the file is saved, until Ctrl-C
    #[arg(long)]
    pub watch: bool,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
}

/// `ccctl verify`
#[derive(Debug, Args)]
pub struct Verify {
    /// The object file
    #[arg(value_name = "FILE.o")]
    pub file: PathBuf,
    /// Kernels: versions (6.12: the newest 6.12 that Debian has; newest), or paths of kernels' images
    #[arg(long, value_delimiter = ',', default_value = "6.1,6.12", value_name = "KERNEL,...")]
    pub kernels: Vec<String>,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
}

/// `ccctl events`
#[derive(Debug, Args)]
pub struct Events {
    /// Begin with this many of the events that the daemon still has (at most 1000)
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub last: usize,
    /// Print what the daemon has and end
    #[arg(long)]
    pub once: bool,
    /// How to print: with --json one object a line.
    #[command(flatten)]
    pub output: Output,
}

/// `ccctl completions`
#[derive(Debug, Args)]
pub struct Completions {
    /// The shell: bash, zsh, fish, elvish or powershell
    pub shell: String,
}

/// `ccctl schema`
#[derive(Debug, Args)]
pub struct Schema {
    /// A command, ccctl.toml, or openapi.json for the API [default: list the schemas]
    pub name: Option<String>,
}

/// A request of the core, and how to print its answer.
#[derive(Debug, Args)]
pub struct Asked<O: Args> {
    /// What is asked for.
    #[command(flatten)]
    pub request: O,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
}

/// `ccctl show`
#[derive(Debug, Args)]
pub struct Show {
    /// What is asked for.
    #[command(flatten)]
    pub request: operations::Show,
    /// Also list the parameters that only comparisons need, such as those that count as Linux's modules do
    #[arg(long)]
    pub all: bool,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
}

/// `ccctl apply`
#[derive(Debug, Args)]
pub struct Apply {
    /// Configuration file
    #[arg(default_value = ccctl_core::configuration::PATH)]
    pub file: PathBuf,
    /// Only print what would change
    #[arg(long)]
    pub dry_run: bool,
    /// Accept a file, and object files that it names, that others than root can write
    #[arg(long)]
    pub trust_writable: bool,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
}

/// `ccctl daemon`
#[derive(Debug, Args)]
pub struct Daemon {
    /// Configuration file [default: /etc/ccctl/ccctl.toml, if it exists]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Accept a file, and object files that it names, that others than root can write
    #[arg(long)]
    pub trust_writable: bool,
    /// Write the log as JSON lines
    #[arg(long)]
    pub json: bool,
}

/// `ccctl acks`
#[derive(Debug, Args)]
pub struct Acks {
    /// Interface to measure; may be repeated [default: all that are up, including loopback]
    #[arg(long = "interface", short, value_name = "IF")]
    pub interfaces: Vec<String>,
    /// Measure in this network namespace: a name in /run/netns or the path of a namespace file
    #[arg(long, value_name = "NAME|PATH")]
    pub netns: Option<String>,
    /// How long to measure [default: 10s; with --watch until Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = time)]
    pub time: Option<std::time::Duration>,
    /// Report ACKs that take longer than the time to send one 1500-byte packet at this rate (250mbit)
    #[arg(long, value_name = "RATE")]
    pub rate: Option<String>,
    /// Where arriving ACKs get a time stamp; auto is native XDP on hardware and tc ingress elsewhere
    #[arg(long = "at", value_name = "PLACE", value_enum, default_value_t)]
    pub place: StampPlace,
    /// Time every ACK, not one in 8; costs more. All ACKs are counted in both cases
    #[arg(long)]
    pub every_ack: bool,
    /// Show the measurement live
    #[arg(long, conflicts_with = "json")]
    pub watch: bool,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
}

/// Where ACKs are stamped.
#[derive(Debug, Clone, Copy, std::default::Default, clap::ValueEnum)]
pub enum StampPlace {
    /// The earliest place with a low cost
    #[default]
    Auto,
    /// XDP in the driver
    Native,
    /// XDP in the network stack
    Generic,
    /// tc ingress
    Tc,
}

/// `ccctl lab`
#[derive(Debug, Args)]
pub struct Lab {
    /// Arguments of ccctl-lab: `ccctl lab --help` lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    pub arguments: Vec<OsString>,
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use ccctl_console::EXIT_CODES;

    /// The meanings of the exit codes in the help, from 0 on.
    fn meanings() -> Vec<String> {
        let codes = EXIT_CODES.strip_prefix("Exit codes: ").unwrap().split(|letter: char| letter.is_ascii_digit());
        codes.skip(1).map(|one| one.trim_matches([',', '.', ' ']).to_owned()).collect()
    }

    #[test]
    fn the_reference_says_of_each_exit_code_what_the_help_says() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/commands.md");
        let page = std::fs::read_to_string(path).unwrap();
        assert_eq!(meanings().len(), 8);
        for (code, meaning) in meanings().iter().enumerate() {
            assert!(page.contains(&format!("\n| {code} | {meaning}")), "code {code}: {meaning}");
        }
    }
}
