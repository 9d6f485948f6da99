// SPDX-License-Identifier: MIT OR Apache-2.0
//! `[guard]`: from when on an instance harms its connections.

use std::ops::RangeInclusive;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::file::{self, wrong, Place};

/// What is compared in each window. Percentages are reached when the number is at least as high.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    /// Kernel name of what connections get instead.
    pub fallback: String,
    /// Length of a window, ms.
    pub every_ms: u64,
    /// So many bad windows, one after the other, and it trips.
    pub windows: u32,
    /// With fewer active connections in a window, an instance is not judged, and the fallback is no baseline.
    pub min_connections: u32,
    /// Stalled connections out of 100 active ones.
    pub stalled_pct: u32,
    /// Retransmissions out of 100 data segments.
    pub retransmit_pct: u32,
    /// Retransmission timeouts for each 100 data segments.
    pub timeouts_pct: u32,
    /// Connections with a window that cannot be, out of 100 active ones.
    pub impossible_pct: u32,
    /// Where the fallback is a baseline: also so many times its own share.
    pub times_fallback: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            fallback: "cubic".to_owned(),
            every_ms: 5_000,
            windows: 3,
            min_connections: 20,
            stalled_pct: 50,
            retransmit_pct: 20,
            timeouts_pct: 5,
            impossible_pct: 10,
            times_fallback: 3,
        }
    }
}

/// From a second, in which there are few ACKs on a long path, to an hour, after which nobody waits any more.
const EVERY: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(3600);
/// As many as are kept of each instance.
const WINDOWS: RangeInclusive<u32> = 1..=60;
const CONNECTIONS: RangeInclusive<u32> = 1..=1_000_000;
const PERCENT: RangeInclusive<u32> = 1..=100;
const TIMES: RangeInclusive<u32> = 1..=1000;

impl Limits {
    /// Length of a window.
    #[must_use]
    pub fn every(&self) -> Duration {
        Duration::from_millis(self.every_ms)
    }

    /// Reads the section; whether there is such a fallback is for the caller.
    pub fn of_file(place: &Place<'_>, guard: &file::Guard) -> anyhow::Result<Self> {
        let mut limits = Self::default();
        if let Some(fallback) = &guard.fallback {
            limits.fallback.clone_from(fallback.get_ref());
        }
        if let Some(every) = &guard.every {
            limits.every_ms = u64::try_from(window(place, every)?.as_millis())?;
        }
        for (name, value, range, limit) in [
            ("windows", &guard.windows, WINDOWS, &mut limits.windows),
            ("min_connections", &guard.min_connections, CONNECTIONS, &mut limits.min_connections),
            ("stalled_pct", &guard.stalled_pct, PERCENT, &mut limits.stalled_pct),
            ("retransmit_pct", &guard.retransmit_pct, PERCENT, &mut limits.retransmit_pct),
            ("timeouts_pct", &guard.timeouts_pct, PERCENT, &mut limits.timeouts_pct),
            ("impossible_pct", &guard.impossible_pct, PERCENT, &mut limits.impossible_pct),
            ("times_fallback", &guard.times_fallback, TIMES, &mut limits.times_fallback),
        ] {
            let Some(value) = value else { continue };
            let number = *value.get_ref();
            if !range.contains(&number) {
                let cause = format!("{name} = {number} is out of range");
                let remedy = format!("{} to {}", range.start(), range.end());
                return Err(wrong(place, value.span().start, cause, remedy));
            }
            *limit = number;
        }
        Ok(limits)
    }
}

fn window(place: &Place<'_>, every: &Spanned<String>) -> anyhow::Result<Duration> {
    let parsed = humantime::parse_duration(every.get_ref());
    parsed.ok().filter(|window| EVERY.contains(window)).ok_or_else(|| {
        let cause = format!("{:?} is not a valid window length", every.get_ref());
        wrong(place, every.span().start, cause, "\"1s\" to \"1h\"")
    })
}
