// SPDX-License-Identifier: GPL-2.0-only
//! Side by side: are two connections alike? The tolerances, and the differences that are meant.

use crate::measures::Measures;

/// What the two did on a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Each alone.
    Alone,
    /// Each alone, with random loss.
    Loss,
    /// Both at once, the module's half a second before ours.
    ModuleFirst,
    /// Both at once, ours half a second before the module's.
    OursFirst,
}

impl Kind {
    /// For the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Alone => "alone",
            Self::Loss => "random loss",
            Self::ModuleFirst => "sharing, module first",
            Self::OursFirst => "sharing, ours first",
        }
    }
}

/// The two on one path.
pub struct Pair {
    /// Which.
    pub path: &'static str,
    /// And how.
    pub kind: Kind,
    /// Linux's.
    pub module: Measures,
    /// Ours.
    pub ours: Measures,
}

/// How far apart the two may be: shares of the module's value, and of 1 for the backoff.
struct Tolerance {
    goodput: f64,
    mean_cwnd: f64,
    backoff: f64,
    epoch: f64,
    is_random: bool,
}

const ANY: f64 = f64::INFINITY;

/// A clean path repeats itself but for the phase of timers. Where losses are random, one of the two has more of them.
const ALONE: Tolerance = Tolerance { goodput: 0.05, mean_cwnd: 0.1, backoff: 0.05, epoch: 0.2, is_random: false };
const LOSS: Tolerance = Tolerance { goodput: 0.25, mean_cwnd: 0.2, backoff: 0.05, epoch: ANY, is_random: true };
/// A mean backoff at random losses may also be off by so many standard errors of the difference: what Veno and others take off
/// is another at each.
const STANDARD_ERRORS: f64 = 2.0;
/// What ours may have of the path that the two share, over both orders of arrival
const SHARE: std::ops::RangeInclusive<f64> = 0.4..=0.6;
/// From so many epochs on their length is a mean.
const EPOCHS: usize = 4;

/// Differences that are meant: whose, how they all begin, and the reason; on all paths.
const MEANT: &[(&str, &str, &str)] = &[
    (
        "cubic",
        "with loss",
        "beyond the window before the loss ours grows by a packet a round trip (RFC 9438, section 4.3), the module by 8/15 of one",
    ),
    (
        "lp",
        "",
        "delayed ACKs keep the module at one packet, until it measures the peer's tick as less than 1 ms: it counts as 0, and from then \
         on the module is Reno, with hardly an indication while its own queue doubles the delay; ours, with its own parameters, \
         halves its window when two packets of it seem to be in the queue",
    ),
    (
        "illinois",
        "",
        "the module takes RTTs in recovery too, of a queue that is being drained, and so grows faster after some of its losses (inferred \
         from the calls)",
    ),
];

/// What was found for one algorithm on one path.
pub struct Found {
    /// Algorithm.
    pub algorithm: &'static str,
    path: &'static str,
    cells: [String; 6],
    differences: Vec<String>,
    reason: Option<&'static str>,
}

impl Found {
    /// Is anything out of tolerance that is not meant?
    pub fn differs(&self) -> bool {
        !self.differences.is_empty() && self.reason.is_none()
    }

    fn verdict(&self) -> &'static str {
        match (self.differences.is_empty(), self.reason.is_none()) {
            (true, _) => "alike",
            (false, true) => "differs",
            (false, false) => "intended difference",
        }
    }

    /// For the terminal.
    pub fn line(&self) -> String {
        format!("{:10} {}: {} {}", self.algorithm, self.path, self.verdict(), self.differences.join("; "))
    }

    /// For the page.
    pub fn row(&self) -> String {
        let mut why = self.differences.join("; ");
        if let Some(reason) = self.reason.filter(|_| !self.differences.is_empty()) {
            why = format!("{why}: {reason}");
        }
        format!("| {} | {} | {} | {} | {why} |\n", self.algorithm, self.path, self.cells.join(" | "), self.verdict())
    }
}

/// Of the table of verdicts.
pub const HEADING: &str =
    "| algorithm | path | goodput (Mbit/s) | mean cwnd (pkts) | backoff | epoch (s) | goodput with loss | our share of both | \
     verdict | out of tolerance, and why |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";

/// Compares the two in all that they did on this path.
pub fn judge(algorithm: &'static str, path: &'static str, pairs: &[Pair]) -> Found {
    let here: Vec<&Pair> = pairs.iter().filter(|pair| pair.path == path).collect();
    let mut differences = Vec::new();
    for pair in &here {
        match pair.kind {
            Kind::Alone => differences.extend(apart(pair, &ALONE)),
            Kind::Loss => differences.extend(apart(pair, &LOSS).into_iter().map(|what| format!("with loss {what}"))),
            Kind::ModuleFirst | Kind::OursFirst => (),
        }
    }
    let share = share(&here);
    if let Some(share) = share.filter(|share| !SHARE.contains(share)) {
        differences.push(format!("sharing, ours has {:.0} %", share * 100.0));
    }
    let is_all = |begin: &str| differences.iter().all(|what: &String| what.starts_with(begin));
    let reason = MEANT.iter().find(|(name, begin, _)| *name == algorithm && is_all(begin)).map(|(.., reason)| *reason);
    Found { algorithm, path, cells: cells(&here, share), differences, reason }
}

/// What is further apart than it may be
fn apart(pair: &Pair, tolerance: &Tolerance) -> Vec<String> {
    let (module, ours, is_random) = (&pair.module, &pair.ours, tolerance.is_random);
    let ratio = |ours: f64, module: f64| ours / module.max(f64::MIN_POSITIVE);
    let mut found = Vec::new();
    let mut hold = |what: &str, ratio: f64, tolerance: f64| {
        let [one, other] = if tolerance < ANY { without_luck(pair, ratio, is_random) } else { [1.0; 2] };
        if one.min(other) > 1.0 + tolerance || one.max(other) < 1.0 / (1.0 + tolerance) {
            found.push(format!("{what} {ratio:.2} times the module's"));
        }
    };
    hold("goodput", ratio(ours.goodput_mbit_per_s, module.goodput_mbit_per_s), tolerance.goodput);
    hold("mean cwnd", ratio(ours.mean_cwnd, module.mean_cwnd), tolerance.mean_cwnd);
    if ours.epochs.min(module.epochs) >= EPOCHS {
        let (ours, module) = (ours.epoch_s.unwrap_or_default(), module.epoch_s.unwrap_or_default());
        hold("epochs", ratio(ours, module), tolerance.epoch);
    } else if ours.epochs.max(module.epochs) > 2 * EPOCHS {
        found.push(format!("{} epochs, the module {}", ours.epochs, module.epochs));
    }
    if let (Some(ours), Some(module)) = (ours.backoff, module.backoff) {
        let errors = if is_random { pair.ours.backoff_error.hypot(pair.module.backoff_error) } else { 0.0 };
        if (ours - module).abs() > tolerance.backoff + STANDARD_ERRORS * errors {
            found.push(format!("backoff {ours:.2}, the module's {module:.2}"));
        }
    }
    found
}

/// A window that random losses bound grows with the packets from one to the next: not at all where the queue bounds it, with
/// their root in Reno, with their number in Scalable. What is left of a ratio by the first and by the last
fn without_luck(pair: &Pair, ratio: f64, is_random: bool) -> [f64; 2] {
    let pkts = |measures: &Measures| measures.epoch_s.map(|epoch_s| epoch_s * measures.goodput_mbit_per_s);
    match (pkts(&pair.ours), pkts(&pair.module)) {
        (Some(ours), Some(module)) if is_random => [ratio, ratio * module / ours],
        _ => [ratio; 2],
    }
}

/// What ours has of both runs that the two share
fn share(pairs: &[&Pair]) -> Option<f64> {
    let both = [Kind::ModuleFirst, Kind::OursFirst].map(|kind| pairs.iter().find(|pair| pair.kind == kind));
    let [Some(first), Some(second)] = both else { return None };
    let ours = first.ours.goodput_mbit_per_s + second.ours.goodput_mbit_per_s;
    Some(ours / (ours + first.module.goodput_mbit_per_s + second.module.goodput_mbit_per_s))
}

fn cells(pairs: &[&Pair], share: Option<f64>) -> [String; 6] {
    let both = |kind: Kind, value: fn(&Measures) -> Option<f64>, digits: usize| {
        let Some(pair) = pairs.iter().find(|pair| pair.kind == kind) else { return String::new() };
        let number = |measures| value(measures).map_or_else(|| "none".to_owned(), |value| format!("{value:.digits$}"));
        format!("{} / {}", number(&pair.module), number(&pair.ours))
    };
    [
        both(Kind::Alone, |measures| Some(measures.goodput_mbit_per_s), 2),
        both(Kind::Alone, |measures| Some(measures.mean_cwnd), 0),
        both(Kind::Alone, |measures| measures.backoff, 2),
        both(Kind::Alone, |measures| measures.epoch_s, 2),
        both(Kind::Loss, |measures| Some(measures.goodput_mbit_per_s), 2),
        share.map_or_else(String::new, |share| format!("{:.0} %", share * 100.0)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measures(goodput_mbit_per_s: f64, mean_cwnd: f64) -> Measures {
        Measures {
            goodput_mbit_per_s,
            mean_cwnd,
            peak_cwnd: 120.0,
            backoff: Some(0.5),
            backoff_error: 0.0,
            epoch_s: Some(4.0),
            epochs: 10,
        }
    }

    fn pair(kind: Kind, module: Measures, ours: Measures) -> Pair {
        Pair { path: "here", kind, module, ours }
    }

    #[test]
    fn what_is_alike_is_alike() {
        let found = judge("any", "here", &[pair(Kind::Alone, measures(19.0, 90.0), measures(18.5, 95.0))]);
        assert!(!found.differs());
        assert_eq!(found.verdict(), "alike");
    }

    /// Half of the packets from a loss to the next, and a window smaller by a third; with as many packets it is too small.
    #[test]
    fn more_losses_make_a_smaller_window() {
        let module = Measures { epoch_s: Some(4.0), ..measures(4.0, 20.0) };
        let ours = Measures { epoch_s: Some(2.6), ..measures(3.2, 13.3) };
        assert!(!judge("any", "here", &[pair(Kind::Loss, module, ours)]).differs());
        let lucky = Measures { epoch_s: Some(5.0), ..ours };
        assert!(judge("any", "here", &[pair(Kind::Loss, module, lucky)]).differs());
    }

    #[test]
    fn each_measure_is_held_against_its_tolerance() {
        let module = measures(19.0, 90.0);
        for (ours, what) in [
            (measures(17.0, 90.0), "goodput"),
            (measures(19.0, 75.0), "mean cwnd"),
            (Measures { backoff: Some(0.7), ..module }, "backoff"),
            (Measures { epoch_s: Some(2.0), ..module }, "epochs"),
            (Measures { epochs: 0, epoch_s: None, backoff: None, ..module }, "0 epochs"),
        ] {
            let found = judge("any", "here", &[pair(Kind::Alone, module, ours)]);
            assert!(found.differs(), "{what}");
            assert!(found.line().contains(what), "{}", found.line());
        }
    }

    /// Cubic may differ where losses are random, and only there.
    #[test]
    fn a_reason_holds_for_what_it_is_given_for() {
        let module = measures(10.0, 40.0);
        let ours = Measures { epoch_s: Some(2.5), ..measures(16.0, 60.0) };
        let loss = judge("cubic", "here", &[pair(Kind::Loss, module, ours)]);
        assert_eq!((loss.differs(), loss.verdict()), (false, "intended difference"));
        assert!(judge("cubic", "here", &[pair(Kind::Loss, module, ours), pair(Kind::Alone, module, ours)]).differs());
    }

    /// 0.58 and 0.72, each 0.05 more or less: within 0.05 and two times 0.07
    #[test]
    fn a_backoff_at_random_losses_is_as_sure_as_its_mean() {
        let module = Measures { backoff: Some(0.58), backoff_error: 0.05, ..measures(15.0, 55.0) };
        let ours = Measures { backoff: Some(0.72), ..module };
        assert!(!judge("any", "here", &[pair(Kind::Loss, module, ours)]).differs());
        assert!(judge("any", "here", &[pair(Kind::Alone, module, ours)]).differs());
        let sure = |measures| Measures { backoff_error: 0.01, ..measures };
        assert!(judge("any", "here", &[pair(Kind::Loss, sure(module), sure(ours))]).differs());
    }

    /// 15 and 5 of 20, then 12 and 8: 27 of 40.
    #[test]
    fn a_share_is_that_of_both_orders() {
        let pairs = [
            pair(Kind::ModuleFirst, measures(5.0, 90.0), measures(15.0, 90.0)),
            pair(Kind::OursFirst, measures(8.0, 90.0), measures(12.0, 90.0)),
        ];
        assert!((share(&pairs.each_ref()).unwrap_or_default() - 0.675).abs() < 1e-9);
        assert!(judge("any", "here", &pairs).differs());
    }
}
