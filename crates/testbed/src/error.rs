// SPDX-License-Identifier: GPL-2.0-only
//! What can go wrong in a testbed.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// A step of the testbed that failed.
#[derive(Debug, thiserror::Error)]
pub enum TestbedError {
    /// Namespaces, bpffs and congestion control need root.
    #[error("the testbed needs root: it makes network namespaces and reads BPF objects (user id is {0})")]
    NotRoot(u32),

    /// A program could not be started.
    #[error("cannot start `{command}`: {cause}")]
    Spawn {
        /// The command line.
        command: String,
        /// Why.
        cause: io::Error,
    },

    /// A program ran longer than it may.
    #[error("`{command}` did not end within {limit:?}{}\n{stdout}{stderr}", if *killed { "; it was killed" } else { " and cannot be killed" })]
    Timeout {
        /// The command line.
        command: String,
        /// How long it had.
        limit: Duration,
        /// Whether SIGKILL ended it.
        killed: bool,
        /// What it had written to stdout.
        stdout: String,
        /// What it had written to stderr.
        stderr: String,
    },

    /// A program ended with failure.
    #[error("`{command}` failed with {code:?}: {output}")]
    Failed {
        /// The command line.
        command: String,
        /// Its exit code; none if a signal ended it.
        code: Option<i32>,
        /// What it printed.
        output: String,
    },

    /// A system call or file failed.
    #[error("cannot {step}: {cause}")]
    Io {
        /// What was to be done.
        step: String,
        /// Why it could not be.
        cause: io::Error,
    },

    /// libbpf, or the kernel behind it, refused.
    #[error("cannot {step}: {cause}")]
    Bpf {
        /// What was to be done.
        step: String,
        /// Why it could not be.
        cause: libbpf_rs::Error,
    },

    /// Something is not what was expected of it.
    #[error("{0}")]
    Unexpected(String),

    /// A connection was reset by the peer or the kernel.
    #[error("connection to {peer} was reset after {bytes} bytes")]
    Reset {
        /// The other end.
        peer: SocketAddr,
        /// Bytes sent until then.
        bytes: u64,
    },

    /// What arrived is not what was sent.
    #[error("connection to {peer}: {sent} bytes sent, {received} received, checksums {}", if *digests_equal { "equal" } else { "differ" })]
    Corrupted {
        /// The other end.
        peer: SocketAddr,
        /// Bytes sent.
        sent: u64,
        /// Bytes that the receiver counted.
        received: u64,
        /// Whether the SHA-256 of both ends is the same.
        digests_equal: bool,
    },

    /// Several connections failed; the first of them in full.
    #[error("{failed} of {all} connections failed; the first: {first}")]
    Flows {
        /// How many failed.
        failed: usize,
        /// Out of how many.
        all: usize,
        /// The first failure.
        first: Box<TestbedError>,
    },

    /// The lock of the kernel tests: another process keeps it, or its file is not ours.
    #[error(transparent)]
    Lock(ccctl_runfiles::Error),
}

impl TestbedError {
    /// Adds the step to an I/O error.
    pub fn io(step: impl Into<String>) -> impl FnOnce(io::Error) -> TestbedError {
        let step = step.into();
        move |cause| TestbedError::Io { step, cause }
    }

    /// Adds the step to an error of libbpf.
    pub fn bpf(step: impl Into<String>) -> impl FnOnce(libbpf_rs::Error) -> TestbedError {
        let step = step.into();
        move |cause| TestbedError::Bpf { step, cause }
    }

    /// Adds the step to an errno.
    pub fn errno(step: impl Into<String>) -> impl FnOnce(nix::Error) -> TestbedError {
        let step = step.into();
        move |errno| TestbedError::Io { step, cause: errno.into() }
    }
}
