// SPDX-License-Identifier: GPL-2.0-only
//! What a run took and what made it. It stands beside the run's result, which is the same on every machine.

use nix::sys::utsname::uname;
use nix::time::{clock_gettime, ClockId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `made/NAME.json`: how a run's result was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Made {
    /// Time of one processor, in seconds. A run has one thread.
    pub processor_s: f64,
    /// Version of ccctl.
    pub ccctl: String,
    /// Commit of the source tree, where it was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Release of the kernel that it ran on: "6.18.44".
    pub kernel: String,
}

/// A run that is being made by this thread.
pub(super) struct Making {
    began_s: f64,
}

impl Making {
    pub(super) fn begin() -> Self {
        Self { began_s: thread_s() }
    }

    pub(super) fn end(&self, commit: Option<&str>) -> Made {
        let kernel = uname().map_or_else(|_| String::new(), |name| name.release().to_string_lossy().into_owned());
        Made {
            processor_s: ((thread_s() - self.began_s) * 1e3).round() / 1e3,
            ccctl: env!("CARGO_PKG_VERSION").to_owned(),
            commit: commit.map(str::to_owned),
            kernel,
        }
    }
}

/// What this thread has had of a processor. Linux always knows.
fn thread_s() -> f64 {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)
        .map_or(0.0, |time| time.tv_sec() as f64 + time.tv_nsec() as f64 / 1e9)
}
