// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl trace` beside a run.

use std::fmt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use ccctl_testbed::{eventually, Network};

use super::paced::{Cost, LEAD};
use super::support::{Folder, CCCTL};
use super::ALGORITHM;

/// Connections that are open beside the one that is busy.
pub const IDLE_SOCKETS: usize = 1000;
/// Theirs, so that the busy one is told by its own.
pub const IDLE_ALGORITHM: &str = "reno";
/// Sockets of a larger trace: the busy one, and others with its algorithm.
pub const MANY_SOCKETS: usize = 100;
const LIMIT: Duration = Duration::from_secs(30);

/// What is traced, and how.
#[derive(Debug, Clone, Copy)]
pub enum Traced {
    /// The busy connection, so often.
    Every(&'static str),
    /// The busy connection and idle ones, [`MANY_SOCKETS`] in all, so often.
    Many(&'static str),
    /// Each ACK of the busy connection.
    EachAck,
    /// Each ACK of the idle ones' receivers, of which there is none: what the busy one pays for not being chosen.
    Others,
}

impl fmt::Display for Traced {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Every(time) => write!(formatter, "trace of one in 1,000 every {time}"),
            Self::Many(time) => write!(formatter, "trace of {MANY_SOCKETS} in 1,100 every {time}"),
            Self::EachAck => formatter.write_str("trace of each ACK of one in 1,000"),
            Self::Others => formatter.write_str("trace of each ACK of others"),
        }
    }
}

impl Traced {
    /// Those of one socket.
    pub const ONE: [Self; 4] = [Self::Every("10ms"), Self::Every("100ms"), Self::EachAck, Self::Others];

    /// Tracing one socket among 1,000 is to cost less than 1 %. A row for each of many thousand ACKs a second costs more,
    /// most of it for writing them down.
    pub fn has_aim(self) -> bool {
        !matches!(self, Self::EachAck)
    }

    fn words(self) -> Vec<&'static str> {
        match self {
            Self::Every(time) | Self::Many(time) => vec!["--every", time, "--instance", ALGORITHM],
            Self::EachAck => vec!["--each-ack", "--instance", ALGORITHM],
            Self::Others => vec!["--each-ack", "--instance", IDLE_ALGORITHM],
        }
    }

    /// Runs while the trace is on, and adds its processor time.
    pub fn beside(self, network: &Network, run: impl FnOnce() -> Cost) -> Cost {
        let folder = Folder::new("bench-trace");
        let mut command = Command::new(CCCTL);
        command.args(["trace", "--netns", network.client.name()]).args(self.words());
        command.arg("-o").arg(folder.path().join("trace.csv"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let tracer = Tracer(command.spawn().unwrap());
        let part = folder.path().join("trace.part-0.csv");
        eventually(LIMIT, || if part.exists() { Ok(()) } else { Err("no trace yet") }).unwrap();
        std::thread::sleep(Duration::from_millis(100)); // what it does once is done
        std::thread::scope(|scope| {
            let before = scope.spawn(|| {
                std::thread::sleep(LEAD);
                tracer.cpu()
            });
            let mut cost = run();
            cost.cpu += tracer.cpu().saturating_sub(before.join().unwrap());
            cost
        })
    }
}

struct Tracer(Child);

impl Tracer {
    /// Of its one thread.
    fn cpu(&self) -> Duration {
        let text = std::fs::read_to_string(format!("/proc/{}/schedstat", self.0.id())).unwrap();
        Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap())
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        let _ = self.0.kill(); // nothing stays of it
        let _ = self.0.wait();
    }
}
