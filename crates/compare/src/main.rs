//! Holds Linux's own congestion control modules against this tree's algorithms: `scripts/compare-modules` drives it.
//!
//! A crate and a program of its own, because nothing of it is for the users of `ccctl`: it hooks into kernel functions in
//! an emulated guest, and compiles C files when it runs. `record`, `send` and `receive` run in the guest, all else on the
//! host, without privileges.

mod btf;
mod build;
mod file;
mod hooks;
mod native;
mod record;
mod replay;
mod traffic;
mod twins;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::{Parser, Subcommand};

use file::Recording;
use native::Algorithm;
use traffic::Step;
use twins::TWINS;

#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// In the guest: record the calls of a module's hooks
    Record {
        /// Algorithm
        algorithm: String,
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
        /// bulk:MS, idle:MS, drip:BYTES,EVERY_MS,TOTAL_MS, run:COMMAND
        steps: Vec<Step>,
    },
    /// Replay recordings and say what differs
    Replay {
        /// Folder of recordings, ALGORITHM.calls
        recordings: PathBuf,
        /// Which; default: all that there are
        algorithms: Vec<String>,
    },
    /// In the guest: read what senders send; the next port acknowledges at once
    Receive {
        /// Where
        address: SocketAddr,
    },
}

fn main() -> Result<()> {
    match Arguments::parse().command {
        Command::Record { algorithm, to, stop, hz } => {
            let module = hooks::module(&algorithm).with_context(|| format!("Linux has no module {algorithm}"))?;
            record::record(module, &to, &stop, hz)
        }
        Command::Send { algorithm, to, steps } => traffic::send(&algorithm, to, &steps),
        Command::Replay { recordings, algorithms } => replay(&recordings, &algorithms),
        Command::Receive { address } => traffic::receive(address),
    }
}

fn replay(recordings: &Path, wanted: &[String]) -> Result<()> {
    let out = std::env::temp_dir().join(format!("ccctl-compare-{}", std::process::id()));
    std::fs::create_dir_all(&out)?;
    for twin in TWINS {
        let path = recordings.join(format!("{}.calls", twin.name));
        if !path.exists() || (!wanted.is_empty() && !wanted.iter().any(|name| name == twin.name)) {
            continue;
        }
        let recording = Recording::read(&path)?;
        let library = out.join(format!("{}.so", twin.name));
        let bpf = build::bpf_folder();
        build::compile(&bpf.join(format!("algorithms/{}.bpf.c", twin.name)), &bpf.join("include"), &library, false)?;
        let load = |more: &[(&str, &str)]| Algorithm::load(&library, twin.name, &replay::parameters(twin.name, more)?);
        let tally = replay::replay(&recording, twin, &load(&[])?, &load(twin.other)?, true)?;
        println!("{}: {} calls compared ({} without answer), {} equal, intended {:?}, {} mismatches", twin.name, tally.calls(), tally.without_answer, tally.equal, tally.intended, tally.mismatches);
        for example in &tally.examples {
            println!("  {example}");
        }
    }
    Ok(())
}
