// SPDX-License-Identifier: MIT OR Apache-2.0
//! Advice: which algorithms are worth an experiment for a service.
//!
//! Sockets are [measured](measure); a path is [fitted](fit), which must reproduce the present algorithm; candidates are
//! [simulated](scenario) in all plausible paths and [judged](judge). The simulator is another program, which the caller runs.
//! The advice is a hypothesis: an experiment decides.

pub mod candidates;
pub mod fit;
pub mod judge;
pub mod measure;
pub mod scenario;
pub mod store;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use fit::Fit;
use judge::Candidate;
use measure::Measured;

/// Below this share of the connections' time an algorithm cannot help, %.
pub const LEAST_NETWORK_PCT: f64 = 20.0;

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Candidates are ahead of the present algorithm in all plausible paths.
    Try,
    /// None is.
    Keep,
    /// Something else than the network limits the connections.
    NoHelp,
    /// No advice.
    Abstained,
}

/// Advice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Advice {
    /// When, RFC 3339.
    pub at: String,
    /// As people call the scope.
    pub scope: String,
    /// In a word.
    pub verdict: Verdict,
    /// The verdict in a sentence.
    pub why: String,
    /// What the sockets did; null: nothing was seen.
    pub measured: Option<Measured>,
    /// Paths that explain it; null: none was looked for, or found.
    pub fit: Option<Fit>,
    /// Candidates in these paths, most goodput first.
    pub candidates: Vec<Candidate>,
    /// Commands that plan an experiment of the best ones.
    pub next_commands: Vec<String>,
    /// Where the advice is kept; null: nowhere.
    pub file: Option<String>,
}

impl Advice {
    /// Nothing so far.
    #[must_use]
    pub fn abstained(at: String, scope: String, why: impl Into<String>) -> Self {
        Self {
            at,
            scope,
            verdict: Verdict::Abstained,
            why: why.into(),
            measured: None,
            fit: None,
            candidates: Vec::new(),
            next_commands: Vec::new(),
            file: None,
        }
    }

    /// The verdict on candidates that were judged.
    pub fn conclude(&mut self, candidates: Vec<Candidate>) {
        let present =
            candidates.iter().find(|candidate| candidate.is_present).map_or("", |it| &it.algorithm).to_owned();
        let paths = self.fit.as_ref().map_or(0, |fit| fit.plausible_paths.len());
        let paths = if paths == 1 { "the plausible path".to_owned() } else { format!("all {paths} plausible paths") };
        let ahead = |candidate: &Candidate| {
            let change = candidate.change_range_pct;
            format!("{} by {:.0} to {:.0} %", candidate.algorithm, change.least, change.most)
        };
        let found: Vec<String> = judge::to_try(&candidates).into_iter().map(ahead).collect();
        (self.verdict, self.why) = if found.is_empty() {
            (Verdict::Keep, format!("no candidate has more goodput than {present} in {paths}"))
        } else {
            (Verdict::Try, format!("ahead of {present} in {paths}: {}", found.join(", ")))
        };
        self.candidates = candidates;
    }
}

/// Why an algorithm cannot help, if that is so.
#[must_use]
pub fn no_help(measured: &Measured) -> Option<String> {
    let limits = &measured.limited_by;
    let (what, pct) = limits.other();
    (limits.network_pct < LEAST_NETWORK_PCT).then(|| {
        let network = limits.network_pct;
        format!("no algorithm will help: the network limits {network:.0} % of the time, and {pct:.0} % is {what}")
    })
}

#[cfg(test)]
mod tests {
    use super::measure::Limits;
    use super::*;

    #[test]
    fn where_the_network_is_not_the_limit_that_is_said() {
        let limited = |network_pct, receiver_pct| Measured {
            limited_by: Limits { network_pct, receiver_pct, ..Limits::default() },
            ..Measured::default()
        };
        let why = no_help(&limited(10.0, 90.0)).unwrap_or_default();
        assert!(why.contains("limits 10 %") && why.contains("90 % is the receiver"), "{why}");
        assert_eq!(no_help(&limited(60.0, 40.0)), None);
    }
}
