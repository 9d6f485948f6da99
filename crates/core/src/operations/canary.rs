// SPDX-License-Identifier: MIT OR Apache-2.0
//! A canary: another algorithm gets a share of an instance's new connections, is watched, and goes again.

use std::str::FromStr;
use std::time::{Duration, Instant, SystemTime};

use ccctl_catalog::closest;
use ccctl_console::{output, Exit, Fault, UsageError};
use ccctl_loader::canary::{self, Watch, SHARES_PCT};
use ccctl_loader::owner_records::{self, OwnerRecord};
use ccctl_loader::{AlgorithmInterval, IntervalScanner, IntervalStats, LoadRequest};
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Swap;
use crate::configuration::Limits;
use crate::daemon;
use crate::fence;
use crate::request;
use crate::settings::Settings;
use crate::shares::{Share, SHARES};
use crate::trust::Trust;
use crate::Operation as _;

/// So many judged intervals in a row that are bad end a canary: one may be chance.
const BAD_IN_A_ROW: usize = 2;
/// An interval in which the candidate has sent fewer segments with data is not judged.
const MIN_SEGMENTS: u64 = 100;

/// Try another algorithm on a share of an instance's new connections, then undo or promote it.
#[derive(Debug, Clone, Args)]
#[group(skip)]
pub struct Canary {
    /// Running instance that rules give to connections
    pub name: String,
    /// The algorithm or object file to try
    #[arg(long, value_name = "ALGORITHM", value_parser = request::algorithm_word)]
    pub with: String,
    /// Share of the new connections
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = share)]
    pub share: u32,
    /// How long
    #[arg(long = "for", value_name = "TIME", default_value = "1h", value_parser = ccctl_console::arguments::time)]
    pub time: Duration,
    /// How often to compare
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = ccctl_console::arguments::time)]
    pub every: Duration,
    #[arg(
        long = "abort-if",
        value_name = "CONDITION",
        help = "Abort where this holds twice in a row: MEASURE>NUMBER, or MEASURE>NUMBERx for a multiple of what NAME has; \
                measures are stalled_pct, retransmit_pct, timeouts_pct and impossible_pct, and those not named keep the \
                guard's limits; may be repeated"
    )]
    #[allow(missing_docs)] // the help says it
    pub abort_if: Vec<Condition>,
    /// Use the parameters of this profile
    #[arg(long)]
    pub profile: Option<String>,
    /// Single parameters, which override the profile
    #[command(flatten)]
    pub set: Settings,
    /// Where it passes, put the algorithm behind NAME; otherwise NAME stays as it is
    #[arg(long)]
    pub promote: bool,
    /// Accept an object file that others than root can write
    #[arg(long)]
    pub trust_writable: bool,
    /// Only print what would change
    #[arg(long)]
    pub dry_run: bool,
}

fn share(text: &str) -> Result<u32, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim_end();
    let share = number.parse().ok().filter(|share| SHARES_PCT.contains(share));
    share.ok_or_else(|| format!("write a whole number of per cent, {}% to {}%", SHARES_PCT.start(), SHARES_PCT.end()))
}

/// When a canary is bad: above a number of per cent, or above so many times what the instance has.
#[derive(Debug, Clone)]
pub struct Condition {
    text: String,
    share: &'static Share,
    limit: f64,
    is_relative: bool,
}

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const FORM: &str = "write MEASURE>NUMBER, such as 'retransmit_pct>2' or 'retransmit_pct>1.5x'";
        let (name, limit) = text.split_once('>').ok_or(FORM)?;
        let name = name.trim();
        let keys = SHARES.each_ref().map(|share| share.key);
        let share = SHARES.iter().find(|share| share.key == name).ok_or_else(|| match closest(name, keys) {
            Some(similar) => format!("there is no measure {name:?}: did you mean {similar}?"),
            None => format!("there is no measure {name:?}: {}", keys.join(", ")),
        })?;
        let limit = limit.trim();
        let number = limit.strip_suffix('x').unwrap_or(limit);
        let number = number.strip_suffix('%').unwrap_or(number).trim_end().parse::<f64>().map_err(|_| FORM)?;
        if !(number.is_finite() && number >= 0.0) {
            return Err(FORM.to_owned());
        }
        Ok(Self { text: text.to_owned(), share, limit: number, is_relative: limit.ends_with('x') })
    }
}

impl std::fmt::Display for Condition {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl Condition {
    /// These, and the guard's limits of the measures that they do not name: who watches retransmissions alone must not
    /// promote an algorithm whose connections stand still.
    fn with_limits_of_guard(named: &[Self]) -> Vec<Self> {
        let limits = Limits::default();
        let is_named = |share: &Share| named.iter().any(|one| one.share.key == share.key);
        let others = SHARES.iter().filter(|share| !is_named(share)).map(|share| {
            let limit = (share.limit_pct)(&limits);
            Self { text: format!("{}>{limit}", share.key), share, limit: limit.into(), is_relative: false }
        });
        named.iter().cloned().chain(others).collect()
    }

    /// In per cent; none where there is nothing of which it would be a share.
    fn value(&self, of: &IntervalStats) -> Option<f64> {
        let (part, whole) = (self.share.of)(of);
        (whole > 0).then(|| part as f64 * 100.0 / whole as f64)
    }

    /// Why the candidate is bad by it. A share of nothing of the instance is no measure to compare with.
    fn complaint(&self, candidate: &IntervalStats, instance: &IntervalStats) -> Option<String> {
        let (value, of_instance) = (self.value(candidate)?, self.value(instance));
        let baseline = if self.is_relative { of_instance? } else { 1.0 };
        (value > self.limit * baseline).then(|| {
            let beside = of_instance.map_or_else(|| "-".to_owned(), |value| format!("{value:.1}"));
            format!("{}: {value:.1}, beside {beside}", self.text)
        })
    }
}

/// How a canary ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Its time is over and no condition held twice in a row.
    Passed,
    /// A condition held twice in a row.
    Aborted,
    /// Its time is over and the candidate has carried too little to be judged.
    Undecided,
    /// It was interrupted, or something else took it back.
    Stopped,
    /// Nothing was done: a dry run.
    Preview,
}

/// What a canary has shown.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CanaryAnswer {
    /// Kernel name of the instance.
    pub name: String,
    /// Kernel name of the candidate while it was loaded.
    pub candidate: String,
    /// Algorithm, as `ccctl algorithms` lists it: that of the candidate.
    pub algorithm: String,
    /// Share of the new connections, %.
    pub share_pct: u32,
    /// Rules of which it had a share.
    pub rule_count: usize,
    /// How it ended.
    pub outcome: Outcome,
    /// Why; empty where it passed.
    pub why: String,
    /// Was the algorithm put behind the instance's name?
    pub is_promoted: bool,
    /// Connections of the candidate that were moved to the instance at the end.
    pub migrated: usize,
    /// Each comparison.
    pub intervals: Vec<CanaryInterval>,
}

/// A comparison.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CanaryInterval {
    /// When it ended, RFC 3339.
    pub at: String,
    /// What connections of the candidate did.
    pub candidate_window: IntervalStats,
    /// What connections of the instance did.
    pub instance_window: IntervalStats,
    /// Did the candidate send enough to be judged?
    pub is_judged: bool,
    /// Conditions that held, with both values.
    pub complaints: Vec<String>,
}

impl Canary {
    /// Runs it to its end. `wait` waits, and says whether it is to stop; `tell` hears each comparison.
    ///
    /// # Errors
    /// A request that cannot be carried out, or the loader's; what was begun is taken back in any case.
    pub fn run(
        &self,
        mut wait: impl FnMut(Duration) -> anyhow::Result<bool>,
        mut tell: impl FnMut(&CanaryInterval) -> anyhow::Result<()>,
    ) -> anyhow::Result<CanaryAnswer> {
        let canary = canary::Canary::of(&self.name, self.share);
        self.require()?;
        let program = request::program(&self.with, Trust::of_option(self.trust_writable))?;
        fence::require_same(&program, &self.name)?;
        let set = request::parameters(&program, program.defaults(), self.profile.as_deref(), &self.set)?;
        let mut answer = CanaryAnswer {
            name: self.name.clone(),
            candidate: canary.candidate.clone(),
            algorithm: program.algorithm.clone(),
            share_pct: self.share,
            rule_count: 0,
            outcome: Outcome::Preview,
            why: String::new(),
            is_promoted: false,
            migrated: 0,
            intervals: Vec::new(),
        };
        if self.dry_run {
            answer.rule_count = canary::preview(&canary)?;
            return Ok(answer);
        }
        let watch = Watch::take(&canary)?.ok_or_else(|| {
            let cause = format!("{} has a canary already", self.name);
            Fault::new(Exit::Refused, cause, "wait for its end, or end it with Ctrl-C where it runs")
        })?;
        let profile = self.profile.as_deref().unwrap_or_default();
        let load = LoadRequest { program: &program, name: &canary.candidate, profile, parameters: &set };
        answer.rule_count = canary::begin(&request::lock()?, &watch, &canary, &load)?;
        let watched = self.watch(&canary, &mut answer, &mut wait, &mut tell);
        let promoted = watched.and_then(|()| self.promote(&mut answer));
        let ended = request::lock().and_then(|lock| Ok(canary::end(&lock, &canary)?));
        drop(watch);
        promoted?;
        answer.migrated = ended?.moved;
        Ok(answer)
    }

    fn require(&self) -> anyhow::Result<()> {
        if self.every < Duration::from_secs(1) || self.time < self.every {
            let cause = format!("--every {} does not fit --for {}", output::span(self.every), output::span(self.time));
            return Err(UsageError::new(cause, "at least 1s, and not longer than the canary").into());
        }
        let is_managed = owner_records::all()?.contains_key(&OwnerRecord::Instance(self.name.clone()));
        if self.promote && is_managed && daemon::lives()? {
            let cause = format!("the daemon's configuration manages {}: it would take the promotion back", self.name);
            let remedy = "leave out --promote, and change the file when the canary has passed";
            return Err(Fault::new(Exit::Refused, cause, remedy).into());
        }
        Ok(())
    }

    fn watch(
        &self,
        canary: &canary::Canary,
        answer: &mut CanaryAnswer,
        wait: &mut impl FnMut(Duration) -> anyhow::Result<bool>,
        tell: &mut impl FnMut(&CanaryInterval) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let mut windows = IntervalScanner::new()?;
        windows.look()?;
        let ends = Instant::now() + self.time;
        let conditions = Condition::with_limits_of_guard(&self.abort_if);
        let mut bad_in_a_row = 0;
        while Instant::now() < ends {
            if wait(self.every.min(ends.saturating_duration_since(Instant::now())))? {
                (answer.outcome, answer.why) = (Outcome::Stopped, "interrupted".to_owned());
                return Ok(());
            }
            if !canary::all()?.contains(canary) {
                (answer.outcome, answer.why) = (Outcome::Stopped, "something else took it back".to_owned());
                return Ok(());
            }
            let Some(now) = windows.look()? else { continue };
            let of = |name: &str| now.get(name).unwrap_or(&AlgorithmInterval::default()).all;
            let interval = compare(&conditions, of(&canary.candidate), of(&canary.name));
            tell(&interval)?;
            if interval.is_judged {
                bad_in_a_row = if interval.complaints.is_empty() { 0 } else { bad_in_a_row + 1 };
            }
            let complaints = interval.complaints.join("; ");
            answer.intervals.push(interval);
            if bad_in_a_row >= BAD_IN_A_ROW {
                (answer.outcome, answer.why) = (Outcome::Aborted, complaints);
                return Ok(());
            }
        }
        (answer.outcome, answer.why) = if answer.intervals.iter().any(|interval| interval.is_judged) {
            (Outcome::Passed, String::new())
        } else {
            (Outcome::Undecided, format!("no interval with {MIN_SEGMENTS} segments or more of the candidate"))
        };
        Ok(())
    }

    fn promote(&self, answer: &mut CanaryAnswer) -> anyhow::Result<()> {
        if !self.promote || answer.outcome != Outcome::Passed {
            return Ok(());
        }
        let swap = Swap {
            name: self.name.clone(),
            with: Some(self.with.clone()),
            profile: self.profile.clone(),
            set: self.set.clone(),
            trust_writable: self.trust_writable,
            dry_run: false,
        };
        swap.run()?;
        answer.is_promoted = true;
        Ok(())
    }
}

fn compare(conditions: &[Condition], candidate: IntervalStats, instance: IntervalStats) -> CanaryInterval {
    let is_judged = candidate.data_segments >= MIN_SEGMENTS || candidate.stalled > 0 || candidate.impossible > 0;
    let complaints = conditions.iter().filter(|_| is_judged);
    CanaryInterval {
        at: output::time(SystemTime::now()),
        candidate_window: candidate,
        instance_window: instance,
        is_judged,
        complaints: complaints.filter_map(|condition| condition.complaint(&candidate, &instance)).collect(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn window(data_segments: u64, retransmits_pkts: u64) -> IntervalStats {
        IntervalStats { active: 10, data_segments, retransmits_pkts, ..IntervalStats::default() }
    }

    fn condition(text: &str) -> Condition {
        text.parse().unwrap()
    }

    #[test]
    fn a_condition_holds_above_its_limit_only() {
        let complaints = |text: &str, own: (u64, u64), other: (u64, u64)| {
            compare(&[condition(text)], window(own.0, own.1), window(other.0, other.1)).complaints
        };
        assert_eq!(complaints("retransmit_pct>2", (1000, 20), (0, 0)), [""; 0]);
        assert_eq!(complaints("retransmit_pct>2", (1000, 21), (0, 0)), ["retransmit_pct>2: 2.1, beside -"]);
        assert_eq!(complaints("retransmit_pct > 2 %", (1000, 21), (0, 0)).len(), 1);
        assert_eq!(complaints("retransmit_pct>2x", (1000, 40), (1000, 20)), [""; 0]);
        assert_eq!(complaints("retransmit_pct>2x", (1000, 41), (1000, 20)), ["retransmit_pct>2x: 4.1, beside 2.0"]);
        assert_eq!(complaints("retransmit_pct>2x", (1000, 41), (0, 0)), [""; 0], "nothing to compare with");
        assert_eq!(complaints("retransmit_pct>2", (99, 99), (0, 0)), [""; 0], "too few to be judged");
    }

    #[test]
    fn measures_that_are_not_named_keep_the_limits_of_the_guard() {
        let named = [condition("retransmit_pct>2"), condition("retransmit_pct>1.5x")];
        let texts: Vec<String> = Condition::with_limits_of_guard(&named).iter().map(ToString::to_string).collect();
        let expected =
            ["retransmit_pct>2", "retransmit_pct>1.5x", "stalled_pct>50", "timeouts_pct>5", "impossible_pct>10"];
        assert_eq!(texts, expected);
    }

    #[test]
    fn what_is_wrong_with_a_condition_is_said() {
        for (text, part) in [
            ("retransmit_pct", "MEASURE>NUMBER"),
            ("retransmits_pct>2", "did you mean retransmit_pct?"),
            ("retransmit_pct>many", "MEASURE>NUMBER"),
            ("retransmit_pct>-1", "MEASURE>NUMBER"),
            ("retransmit_pct>nan", "MEASURE>NUMBER"),
        ] {
            let error = text.parse::<Condition>().unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
        assert_eq!((share("5%"), share("5"), share("50 %")), (Ok(5), Ok(5), Ok(50)));
        assert!(share("0%").is_err() && share("51%").is_err() && share("2.5%").is_err());
    }
}
