// SPDX-License-Identifier: GPL-2.0-only
//! iperf3: the foreign client and server.

use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::{eventually, sockets, Background, Namespace, TestbedError};

const STARTING: Duration = Duration::from_secs(5);

/// `iperf3 --server` in a namespace.
#[derive(Debug)]
pub struct IperfServer {
    _process: Background,
    port: u16,
}

impl IperfServer {
    /// Starts it and waits until it listens.
    pub fn start(namespace: &Namespace, port: u16) -> Result<Self, TestbedError> {
        let mut command = Command::new("iperf3");
        command.args(["--server", "--port", &port.to_string()]);
        let process = namespace.start(&mut command)?;
        let ending = format!(":{port}");
        eventually(STARTING, || match sockets(namespace, "listening") {
            Ok(found) if found.iter().any(|socket| socket.local.ends_with(&ending)) => Ok(()),
            Ok(_) => Err("iperf3 does not listen".to_owned()),
            Err(error) => Err(error.to_string()),
        })
        .map_err(TestbedError::Unexpected)?;
        Ok(IperfServer { _process: process, port })
    }

    /// Where it listens.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }
}

/// One run of `iperf3 --client`.
#[derive(Debug, Clone)]
pub struct IperfClient<'a> {
    /// Address of the server.
    pub server: &'a str,
    /// Its port.
    pub port: u16,
    /// What goes to `-C`.
    pub algorithm: &'a str,
    /// Bytes to send.
    pub bytes: u64,
    /// Parallel connections.
    pub parallel: u32,
}

/// What iperf3 says of its run.
#[derive(Debug, Clone, PartialEq)]
pub struct IperfReport {
    /// Algorithm of the sending sockets, as iperf3 read it back.
    pub sender_algorithm: String,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Bytes that the server had read when the client told it that it was done: those on the way are not in it.
    pub received_bytes: u64,
    /// Mean rate at the receiver.
    pub received_bits_per_s: f64,
    /// Retransmitted segments.
    pub retransmits: u64,
}

impl IperfClient<'_> {
    /// Runs it to its end from `namespace`.
    pub fn run(&self, namespace: &Namespace, limit: Duration) -> Result<IperfReport, TestbedError> {
        let mut command = Command::new("iperf3");
        command.args(["--json", "--client", self.server, "--port", &self.port.to_string()]);
        command.args(["-C", self.algorithm, "--bytes", &self.bytes.to_string()]);
        command.args(["--parallel", &self.parallel.to_string()]);
        let output = namespace.run(&mut command, limit)?;
        let report: Value = serde_json::from_str(&output.stdout)
            .map_err(|error| TestbedError::Unexpected(format!("iperf3 wrote no JSON ({error}): {}", output.stderr)))?;
        read(&report).ok_or_else(|| {
            let said = report["error"].as_str().unwrap_or("its report lacks sums");
            TestbedError::Unexpected(format!("iperf3 -C {} to {}: {said}", self.algorithm, self.server))
        })
    }
}

fn read(report: &Value) -> Option<IperfReport> {
    if report.get("error").is_some() {
        return None;
    }
    let end = &report["end"];
    Some(IperfReport {
        sender_algorithm: end["sender_tcp_congestion"].as_str()?.to_owned(),
        sent_bytes: end["sum_sent"]["bytes"].as_u64()?,
        received_bytes: end["sum_received"]["bytes"].as_u64()?,
        received_bits_per_s: end["sum_received"]["bits_per_second"].as_f64()?,
        retransmits: end["sum_sent"]["retransmits"].as_u64()?,
    })
}
