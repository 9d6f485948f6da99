//! Holds Linux's own congestion control modules against this tree's algorithms: `scripts/compare-modules` drives it.
//!
//! A crate and a program of its own, because nothing of it is for the users of `ccctl`: it hooks into kernel functions in
//! an emulated guest, and compiles C files when it runs. `record`, `send` and `receive` run in the guest, all else on the
//! host, without privileges.

mod btf;
mod file;
mod hooks;
mod native;
mod record;
mod traffic;

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::{Parser, Subcommand};

use traffic::Step;

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
        Command::Receive { address } => traffic::receive(address),
    }
}
