//! Side by side: are two connections alike? The tolerances, and the differences that are meant.

use crate::side::Measures;

/// 20 Mbit/s, 40 ms, a queue of one bandwidth-delay product.
pub const ALONE: &str = "20 Mbit/s";
/// The same with random loss.
pub const LOSS: &str = "with loss";
/// Both at once.
pub const MODULE_FIRST: &str = "sharing, module first";
/// Both at once.
pub const OURS_FIRST: &str = "sharing, ours first";
/// 60 Mbit/s, 100 ms, a queue of a fifth.
pub const LONG: &str = "60 Mbit/s";

/// The two on one path.
pub struct Pair {
    /// Which.
    pub path: &'static str,
    /// Linux's.
    pub module: Measures,
    /// Ours.
    pub ours: Measures,
}

/// How far apart the two may be on a path: shares of the module's value, and of 1 for the backoff.
struct Tolerance {
    path: &'static str,
    goodput: f64,
    mean_cwnd: f64,
    backoff: f64,
    epoch: f64,
}

const ANY: f64 = f64::INFINITY;

/// A clean path repeats itself but for the phase of timers; where losses are random, two runs of one algorithm differ too.
const TOLERANCES: [Tolerance; 3] = [
    Tolerance { path: ALONE, goodput: 0.05, mean_cwnd: 0.1, backoff: 0.05, epoch: 0.2 },
    Tolerance { path: LOSS, goodput: 0.15, mean_cwnd: 0.2, backoff: 0.1, epoch: ANY },
    Tolerance { path: LONG, goodput: 0.1, mean_cwnd: 0.15, backoff: 0.05, epoch: 0.25 },
];
/// What ours may have of the path that the two share, over both orders of arrival
const SHARE: std::ops::RangeInclusive<f64> = 0.4..=0.6;
/// From so many epochs on their length is a mean.
const EPOCHS: usize = 4;
const SHARING: &str = "sharing";

/// A difference that is meant.
struct Meant {
    algorithm: &'static str,
    path: &'static str,
    reason: &'static str,
}

const MEANT: &[Meant] = &[];

/// What was found for one algorithm.
pub struct Found {
    cells: [String; 6],
    differences: Vec<(&'static str, String)>,
    reasons: Vec<&'static str>,
    unexplained: bool,
}

impl Found {
    /// Is anything out of tolerance that is not meant?
    pub fn differs(&self) -> bool {
        self.unexplained
    }

    fn verdict(&self) -> &'static str {
        match (self.unexplained, self.differences.is_empty()) {
            (true, _) => "differs",
            (false, false) => "alike but for what is meant",
            (false, true) => "alike",
        }
    }

    /// For the terminal.
    pub fn line(&self) -> String {
        let differences: Vec<String> = self.differences.iter().map(|(path, what)| format!("{path}: {what}")).collect();
        format!("{}; {}", self.verdict(), differences.join("; "))
    }

    /// For the page.
    pub fn row(&self, algorithm: &str) -> String {
        let differences: Vec<String> = self.differences.iter().map(|(path, what)| format!("{path}: {what}")).collect();
        let mut why = differences.join("; ");
        if !self.reasons.is_empty() {
            why = format!("{why}: {}", self.reasons.join("; "));
        }
        format!("| {algorithm} | {} | {} | {why} |\n", self.cells.join(" | "), self.verdict())
    }
}

/// Of the table of verdicts.
pub fn heading() -> String {
    "| algorithm | goodput (Mbit/s) | mean cwnd (pkts) | backoff | epoch (s) | goodput with loss | ours' share of both | verdict | out of \
     tolerance, and why |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"
        .to_owned()
}

/// Compares them on all paths.
pub fn judge(algorithm: &str, pairs: &[Pair]) -> Found {
    let mut differences = Vec::new();
    for pair in pairs {
        if let Some(tolerance) = TOLERANCES.iter().find(|tolerance| tolerance.path == pair.path) {
            differences.extend(apart(pair, tolerance).into_iter().map(|what| (pair.path, what)));
        }
    }
    let share = share(pairs);
    if let Some(share) = share.filter(|share| !SHARE.contains(share)) {
        differences.push((SHARING, format!("ours has {:.0} %", share * 100.0)));
    }
    let meant = |path: &str| MEANT.iter().find(|meant| meant.algorithm == algorithm && meant.path == path);
    let mut reasons: Vec<&'static str> = differences.iter().filter_map(|(path, _)| Some(meant(path)?.reason)).collect();
    reasons.dedup();
    let unexplained = differences.iter().any(|(path, _)| meant(path).is_none());
    Found { cells: cells(pairs, share), differences, reasons, unexplained }
}

/// What is further apart than it may be
fn apart(pair: &Pair, tolerance: &Tolerance) -> Vec<String> {
    let (module, ours) = (&pair.module, &pair.ours);
    let ratio = |ours: f64, module: f64| ours / module.max(f64::MIN_POSITIVE);
    let mut found = Vec::new();
    let mut hold = |what: &str, ratio: f64, tolerance: f64| {
        if ratio > 1.0 + tolerance || ratio < 1.0 / (1.0 + tolerance) {
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
        if (ours - module).abs() > tolerance.backoff {
            found.push(format!("backoff {ours:.2}, the module's {module:.2}"));
        }
    }
    found
}

/// What ours has of both runs that the two share
fn share(pairs: &[Pair]) -> Option<f64> {
    let both = [MODULE_FIRST, OURS_FIRST].map(|path| pairs.iter().find(|pair| pair.path == path));
    let [Some(first), Some(second)] = both else { return None };
    let ours = first.ours.goodput_mbit_per_s + second.ours.goodput_mbit_per_s;
    Some(ours / (ours + first.module.goodput_mbit_per_s + second.module.goodput_mbit_per_s))
}

fn cells(pairs: &[Pair], share: Option<f64>) -> [String; 6] {
    let of = |path: &str| pairs.iter().find(|pair| pair.path == path);
    let both = |path: &str, value: fn(&Measures) -> Option<f64>, digits: usize| {
        let Some(pair) = of(path) else { return String::new() };
        let number = |measures| value(measures).map_or_else(|| "none".to_owned(), |value| format!("{value:.digits$}"));
        format!("{} / {}", number(&pair.module), number(&pair.ours))
    };
    [
        both(ALONE, |measures| Some(measures.goodput_mbit_per_s), 2),
        both(ALONE, |measures| Some(measures.mean_cwnd), 0),
        both(ALONE, |measures| measures.backoff, 2),
        both(ALONE, |measures| measures.epoch_s, 2),
        both(LOSS, |measures| Some(measures.goodput_mbit_per_s), 2),
        share.map_or_else(String::new, |share| format!("{:.0} %", share * 100.0)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measures(goodput_mbit_per_s: f64, mean_cwnd: f64) -> Measures {
        Measures { goodput_mbit_per_s, mean_cwnd, peak_cwnd: 120.0, backoff: Some(0.5), epoch_s: Some(4.0), epochs: 10 }
    }

    #[test]
    fn what_is_alike_is_alike() {
        let found = judge("any", &[Pair { path: ALONE, module: measures(19.0, 90.0), ours: measures(18.5, 95.0) }]);
        assert!(!found.differs());
        assert_eq!(found.verdict(), "alike");
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
            let found = judge("any", &[Pair { path: ALONE, module, ours }]);
            assert!(found.differs(), "{what}");
            assert!(found.line().contains(what), "{}", found.line());
        }
    }

    /// 15 and 5 of 20, then 12 and 8: 27 of 40.
    #[test]
    fn a_share_is_that_of_both_orders() {
        let pairs = [
            Pair { path: MODULE_FIRST, module: measures(5.0, 90.0), ours: measures(15.0, 90.0) },
            Pair { path: OURS_FIRST, module: measures(8.0, 90.0), ours: measures(12.0, 90.0) },
        ];
        assert!((share(&pairs).unwrap_or_default() - 0.675).abs() < 1e-9);
        assert!(judge("any", &pairs).differs());
    }
}
