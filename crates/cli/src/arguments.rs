// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command line: types only.

mod guard;
mod sockets;
mod top;
mod trace;

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use ccctl_console::arguments::{time, Output};
use ccctl_console::EXIT_CODES;
use clap::{Args, Parser, Subcommand};

pub use guard::{Guard, GuardCommand};
pub use sockets::{Migrate, Sockets};
pub use top::Top;
pub use trace::{Plot, Trace};

/// Load, tune, swap and inspect TCP congestion control algorithms at run time.
#[derive(Debug, Parser)]
#[command(name = "ccctl", version, about, after_help = EXIT_CODES, disable_help_subcommand = true)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Everything that ccctl does.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the algorithms that can be loaded
    Algorithms(Output),
    /// Show an algorithm (law, source, parameters) or a running instance (parameters, programs, sockets)
    Show(Show),
    /// Ask the kernel whether it accepts an algorithm or object file, without registering it
    Check(Check),
    /// Register an algorithm with the kernel
    Load(Load),
    /// List instances, built-in algorithms, the default, and the sockets of each
    List(Output),
    /// Change parameters of a running instance, live
    Tune(Tune),
    /// Replace the program behind a kernel name, atomically
    Swap(Swap),
    /// List TCP sockets: algorithm, cgroup, process, window, RTT, rate, and the algorithm's state
    Sockets(Sockets),
    /// Move live connections to another algorithm
    Migrate(Migrate),
    /// Unload instances
    Unload(Unload),
    /// Show or set the default algorithm of this network namespace
    Default(Default),
    /// Choose the algorithms of a cgroup's connections
    Assign(Assign),
    /// Remove a rule
    Unassign(Unassign),
    /// List the rules
    Rules(Output),
    /// Explain why a socket uses its algorithm
    Why(Why),
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
    Status(Output),
    /// Show what the guard watches and has disabled, or enable an instance again
    Guard(Guard),
    /// Undo everything ccctl has done on this host and stop the daemon
    Down(Output),
    /// Apply a configuration file, correct drift, and serve the API
    Daemon(Daemon),
    /// Look at the object file on stdin
    #[command(name = ccctl_core::object_scan::COMMAND, hide = true)]
    Look(Look),
}

/// `ccctl show`
#[derive(Debug, Args)]
pub struct Show {
    /// An algorithm (cubic) or a running instance (`bpf_cubic`)
    pub name: String,
    /// Also list the parameters that only comparisons need, such as those that count as Linux's modules do
    #[arg(long)]
    pub all: bool,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
}

/// `ccctl check`
#[derive(Debug, Args)]
pub struct Check {
    /// An algorithm, or an object file (a path, or a name that ends in .o)
    pub algorithm: String,
    /// Accept an object file that others than root can write
    #[arg(long)]
    pub trust_writable: bool,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
}

/// Where parameters come from: defaults, then the profile, then single values.
#[derive(Debug, Args)]
pub struct Parameters {
    /// Use the parameters of this profile
    #[arg(long, value_name = "PROFILE")]
    pub profile: Option<String>,
    /// Set one parameter, such as beta=0.8; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

/// `ccctl load`
#[derive(Debug, Args)]
pub struct Load {
    /// An algorithm, or an object file (a path, or a name that ends in .o)
    pub algorithm: String,
    /// Kernel name, up to 15 characters [default: `bpf_ALGORITHM`, shortened if that is longer]
    #[arg(long = "as", alias = "name", value_name = "NAME")]
    pub name: Option<String>,
    /// Parameters.
    #[command(flatten)]
    pub parameters: Parameters,
    /// Make it the default of this network namespace; unloading restores the previous one
    #[arg(long)]
    pub default: bool,
    /// Accept an object file that others than root can write
    #[arg(long)]
    pub trust_writable: bool,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
}

/// `ccctl tune`
#[derive(Debug, Args)]
pub struct Tune {
    /// Running instance
    pub name: String,
    /// Parameters to change, such as beta=0.8: all of them or none
    #[arg(required = true, value_name = "KEY=VALUE")]
    pub changes: Vec<String>,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
}

/// `ccctl swap`
#[derive(Debug, Args)]
pub struct Swap {
    /// Running instance
    pub name: String,
    /// The algorithm or object file to put behind the name [default: the same algorithm, as this ccctl contains it]
    #[arg(long, value_name = "ALGORITHM")]
    pub with: Option<String>,
    /// Parameters.
    #[command(flatten)]
    pub parameters: Parameters,
    /// Accept an object file that others than root can write
    #[arg(long)]
    pub trust_writable: bool,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
}

/// `ccctl unload`
#[derive(Debug, Args)]
pub struct Unload {
    /// Running instances
    #[arg(required_unless_present = "all", conflicts_with = "all", value_name = "NAME")]
    pub names: Vec<String>,
    /// All instances
    #[arg(long)]
    pub all: bool,
    /// Move their sockets to this algorithm first
    #[arg(long, value_name = "NAME")]
    pub migrate_to: Option<String>,
    /// Unload although sockets use it; they keep the program until they close
    #[arg(long)]
    pub force: bool,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
}

/// `ccctl default`
#[derive(Debug, Args)]
pub struct Default {
    /// Algorithm to make the default: an instance or a built-in one
    pub name: Option<String>,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
}

/// A cgroup by one of its names.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct Place {
    /// Path of the cgroup from the root of the tree, or name of a systemd unit
    #[arg(long, value_name = "PATH|UNIT")]
    pub cgroup: Option<String>,
    /// The cgroup of this systemd unit
    #[arg(long, value_name = "UNIT")]
    pub unit: Option<String>,
    /// The cgroup that contains this process
    #[arg(long, value_name = "PID")]
    pub pid: Option<u32>,
}

/// `ccctl assign`
#[derive(Debug, Args)]
pub struct Assign {
    /// Which cgroup.
    #[command(flatten)]
    pub place: Place,
    /// Only connections with peers in this prefix
    #[arg(long, value_name = "CIDR")]
    pub to: Option<String>,
    /// Only this service port: remote port for outgoing connections, local port for accepted ones
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub to_port: Option<u16>,
    /// What they get: NAME, NAME|NAME... (the first that the kernel has), or NAME=WEIGHT,NAME=WEIGHT... (drawn for each)
    #[arg(value_name = "TARGETS")]
    pub targets: String,
    /// Also move live connections
    #[arg(long)]
    pub existing: bool,
    /// Accept a cgroup that does not exist yet
    #[arg(long)]
    pub absent_ok: bool,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
}

/// A rule by one of its names.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct WhichRule {
    /// The rule with this id
    #[arg(long)]
    pub id: Option<u32>,
    /// All rules
    #[arg(long)]
    pub all: bool,
    /// The rule for this cgroup: its path, or the name of a systemd unit
    #[arg(long, value_name = "PATH|UNIT")]
    pub cgroup: Option<String>,
    /// The rule for the cgroup of this systemd unit
    #[arg(long, value_name = "UNIT")]
    pub unit: Option<String>,
    /// The rule for the cgroup that contains this process
    #[arg(long, value_name = "PID")]
    pub pid: Option<u32>,
}

/// `ccctl unassign`
#[derive(Debug, Args)]
pub struct Unassign {
    /// Which rule.
    #[command(flatten)]
    pub which: WhichRule,
    /// The rule's prefix
    #[arg(long, value_name = "CIDR", conflicts_with_all = ["id", "all"])]
    pub to: Option<String>,
    /// The rule's port
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), conflicts_with_all = ["id", "all"])]
    pub to_port: Option<u16>,
    /// Also give live connections that met the rule what they match now, or what they had before
    #[arg(long)]
    pub existing: bool,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
}

/// Sockets by one of their names.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct WhichSocket {
    /// The socket with this cookie, in decimal, or in hex with 0x (ss -e shows it in hex, after sk:)
    #[arg(long, value_name = "COOKIE", value_parser = cookie)]
    pub cookie: Option<u64>,
    /// Sockets with this local address and port
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub src: Option<SocketAddr>,
    /// All TCP sockets of this process
    #[arg(long, value_name = "PID")]
    pub pid: Option<u32>,
}

/// `ccctl why`
#[derive(Debug, Args)]
pub struct Why {
    /// Which sockets.
    #[command(flatten)]
    pub which: WhichSocket,
    /// Only with this peer
    #[arg(long, value_name = "ADDRESS:PORT", requires = "src")]
    pub dst: Option<SocketAddr>,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
}

fn cookie(text: &str) -> Result<u64, std::num::ParseIntError> {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => text.parse(),
    }
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

/// What `load` starts first for an object file.
#[derive(Debug, Args)]
pub struct Look {
    /// The process that waits for the answer
    pub parent: u32,
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
    /// How long [default: 10s; with --watch until Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = time)]
    pub time: Option<std::time::Duration>,
    /// Report ACKs that take longer than the time to send one 1500-byte packet at this rate (250mbit)
    #[arg(long, value_name = "RATE")]
    pub rate: Option<String>,
    /// Where ACKs are stamped; auto is native XDP on hardware and tc ingress elsewhere
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
    use super::*;

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
