// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether an instance harms its connections: windows of measures in, a verdict out.

use ccctl_loader::{AlgorithmInterval, IntervalStats};

use ccctl_core::configuration::Limits;
use ccctl_core::shares::{Share, SHARES};

/// So many peers together make no window bad: some of an instance's peers may be out of order, or mean harm.
const PEERS: usize = 4;
/// Nor does one user, or one cgroup.
const ONE: usize = 1;
const KINDS: usize = 3;

/// What the connections of one algorithm did, and what is left of it without those that weigh heaviest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Measures {
    /// All.
    pub all: IntervalStats,
    /// Of each share without the heaviest peers, the heaviest user, and the heaviest cgroup.
    rests: [[IntervalStats; KINDS]; SHARES.len()],
}

impl Measures {
    /// Those of an algorithm.
    pub fn of(limits: &Limits, window: &AlgorithmInterval) -> Self {
        let AlgorithmInterval { all, peers, users, cgroups } = window;
        let rests = SHARES.each_ref().map(|share| {
            let rest = |sources: &[IntervalStats], count| rest_of(share, limits, all, sources, count);
            [rest(peers, PEERS), rest(users, ONE), rest(cgroups, ONE)]
        });
        Self { all: *all, rests }
    }
}

/// What is left without the `count` sources that raise the share the most.
fn rest_of(
    share: &Share,
    limits: &Limits,
    all: &IntervalStats,
    sources: &[IntervalStats],
    count: usize,
) -> IntervalStats {
    let limit = i128::from((share.limit_pct)(limits));
    let beyond_limit = |source: &IntervalStats| {
        let (part, whole) = (share.of)(source);
        i128::from(part) * 100 - i128::from(whole) * limit
    };
    let mut heavy: Vec<&IntervalStats> = sources.iter().filter(|source| beyond_limit(source) > 0).collect();
    heavy.sort_by_key(|source| std::cmp::Reverse(beyond_limit(source)));
    heavy.into_iter().take(count).fold(*all, IntervalStats::without)
}

/// One window, of an instance and of the fallback.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Window {
    /// The instance.
    pub own: Measures,
    /// The fallback.
    pub fallback: Measures,
}

/// What the windows say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The last window had too few active connections to say anything. Those before it count no more.
    TooFew,
    /// The last window was not bad.
    Good,
    /// So many windows in a row were bad, and it is not enough yet.
    Bad(u32),
    /// It is enough, and what is wrong.
    Trip(Vec<String>),
}

/// A share of one window, of all connections and of what is left without the heaviest.
struct Measure {
    share: &'static Share,
    limit_pct: u32,
    own: (u64, u64),
    /// Only where enough is left to be judged.
    own_rests: Vec<(u64, u64)>,
    /// The fallback's, and its rests.
    fallback: (u64, u64),
    baselines: Vec<(u64, u64)>,
    times: u32,
}

impl Measure {
    fn all(limits: &Limits, window: &Window) -> Vec<Self> {
        let one = |(index, share): (usize, &'static Share)| {
            let rests = |of: &Measures| {
                let enough = of.rests[index].into_iter().filter(|rest| has_enough(limits, rest));
                enough.map(|rest| (share.of)(&rest)).collect::<Vec<_>>()
            };
            let fallback = (share.of)(&window.fallback.all);
            let mut baselines = rests(&window.fallback);
            baselines.extend(has_enough(limits, &window.fallback.all).then_some(fallback));
            Self {
                share,
                limit_pct: (share.limit_pct)(limits),
                own: (share.of)(&window.own.all),
                own_rests: rests(&window.own),
                fallback,
                baselines,
                times: limits.times_fallback,
            }
        };
        SHARES.iter().enumerate().map(one).collect()
    }

    /// Bad, whoever of the heaviest is left out.
    fn is_bad(&self) -> bool {
        self.is_worse(self.own) && self.own_rests.iter().all(|rest| self.is_worse(*rest))
    }

    /// Bad with all, and not without some.
    fn is_of_few(&self) -> bool {
        self.is_worse(self.own) && !self.is_bad()
    }

    /// Fractions are compared by their products: no rounding, and no overflow below 2^59 segments.
    fn is_worse(&self, share: (u64, u64)) -> bool {
        let (part, whole) = wide(share);
        let reaches_limit = part > 0 && part * 100 >= u128::from(self.limit_pct) * whole;
        let exceeds = |baseline: &(u64, u64)| exceeds(share, *baseline, self.times);
        reaches_limit && (self.baselines.is_empty() || self.baselines.iter().any(exceeds))
    }

    fn text(&self, fallback: &str) -> String {
        let Self { share, limit_pct, own: (part, whole), fallback: (part_of_fallback, whole_of_fallback), .. } = self;
        let baseline = if self.baselines.is_empty() {
            String::new()
        } else {
            format!("; {fallback} {part_of_fallback} of {whole_of_fallback}")
        };
        format!("{} {part} of {whole} {} (limit {limit_pct} %{baseline})", share.name, share.out_of)
    }
}

fn wide((part, whole): (u64, u64)) -> (u128, u128) {
    (part.into(), whole.into())
}

/// So many times as bad, or so many times less of it good. Three times two thirds is more than all, so a fallback of which
/// most is bad would excuse everything if only the bad were compared. Where one good one more would make the
/// difference, it is made: few numbers say little.
fn exceeds(own: (u64, u64), baseline: (u64, u64), times: u32) -> bool {
    let ((part, whole), (part_of_baseline, whole_of_baseline)) = (wide(own), wide(baseline));
    let times = u128::from(times);
    let good = whole.saturating_sub(part) + 1;
    let good_of_baseline = whole_of_baseline.saturating_sub(part_of_baseline);
    part * whole_of_baseline >= times * part_of_baseline * whole
        || good * times * whole_of_baseline <= good_of_baseline * whole
}

/// What is bad about a window. Every share must reach its limit, and `times_fallback` times the fallback's, where this has
/// enough connections to compare with; both also without those that weigh heaviest, where enough others are left.
pub fn complaints(limits: &Limits, window: &Window) -> Vec<String> {
    let bad = Measure::all(limits, window).into_iter().filter(Measure::is_bad);
    bad.map(|measure| measure.text(&limits.fallback)).collect()
}

/// What would be bad if it did not come from a few peers, one user or one cgroup.
pub fn of_few(limits: &Limits, window: &Window) -> Vec<String> {
    if !has_enough(limits, &window.own.all) {
        return Vec::new();
    }
    let of_few = Measure::all(limits, window).into_iter().filter(Measure::is_of_few);
    of_few.map(|measure| measure.text(&limits.fallback)).collect()
}

fn has_enough(limits: &Limits, window: &IntervalStats) -> bool {
    window.active >= limits.min_connections.into()
}

/// Judges by the last windows, the newest at the end.
pub fn judge(limits: &Limits, windows: &[Window]) -> Verdict {
    let Some(last) = windows.last().filter(|last| has_enough(limits, &last.own.all)) else { return Verdict::TooFew };
    let complaints_now = complaints(limits, last);
    if complaints_now.is_empty() {
        return Verdict::Good;
    }
    let is_bad = |window: &&Window| has_enough(limits, &window.own.all) && !complaints(limits, window).is_empty();
    let in_a_row = windows.iter().rev().take_while(is_bad).count();
    if in_a_row >= limits.windows as usize {
        return Verdict::Trip(complaints_now);
    }
    Verdict::Bad(in_a_row as u32) // fewer than `windows`, which is one
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> Limits {
        Limits {
            fallback: "cubic".to_owned(),
            every_ms: 1000,
            windows: 3,
            min_connections: 20,
            stalled_pct: 50,
            retransmit_pct: 20,
            timeouts_pct: 5,
            impossible_pct: 10,
            times_fallback: 3,
        }
    }

    /// active, stalled, data segments, retransmissions, timeouts
    type Row = [u64; 5];

    fn sums([active, stalled, data_segments, retransmits_pkts, timeouts]: Row) -> IntervalStats {
        IntervalStats { active, stalled, data_segments, retransmits_pkts, timeouts, ..IntervalStats::default() }
    }

    fn window(own: Row, fallback: Row) -> Window {
        let measures = |row| Measures { all: sums(row), ..Measures::default() };
        Window { own: measures(own), fallback: measures(fallback) }
    }

    const NONE: Row = [0; 5];
    /// The square of it times 1000, the largest `times_fallback`, still fits 128 bits.
    const BOUND: u64 = (1 << 59) - 1;

    #[test]
    fn a_share_is_bad_from_its_limit_on() {
        for (own, expected) in [
            ([20, 9, 1000, 0, 0], ""),
            ([20, 10, 1000, 0, 0], "stalled 10 of 20 active connections (limit 50 %)"),
            ([21, 10, 1000, 0, 0], ""),
            ([20, 0, 1000, 199, 0], ""),
            ([20, 0, 1000, 200, 0], "retransmissions 200 of 1000 data segments (limit 20 %)"),
            ([20, 0, 1000, 0, 49], ""),
            ([20, 0, 1000, 0, 50], "timeouts 50 of 1000 data segments (limit 5 %)"),
            ([20, 0, 0, 0, 0], ""), // nothing out of nothing is no share
        ] {
            assert_eq!(complaints(&limits(), &window(own, NONE)).join(";"), expected, "{own:?}");
        }
        let all = complaints(&limits(), &window([20, 20, 20, 20, 20], NONE));
        assert_eq!(all.len(), 3, "{all:?}");
    }

    #[test]
    fn the_fallback_is_the_baseline_where_it_has_enough_connections() {
        for (own, fallback, is_bad) in [
            // 50 of 100 segments: three times 16 of 100 is 48, three times 17 is 51
            ([20, 0, 100, 50, 0], [20, 0, 100, 16, 0], true),
            ([20, 0, 100, 50, 0], [20, 0, 100, 17, 0], false),
            // exactly three times as high
            ([20, 0, 100, 48, 0], [20, 0, 100, 16, 0], true),
            // one connection too few: no baseline, however bad it is
            ([20, 0, 100, 50, 0], [19, 0, 100, 50, 0], true),
            // many connections that have sent nothing: their share is none
            ([20, 0, 100, 50, 0], [20, 0, 0, 0, 0], true),
            // an outage of both
            ([40, 40, 100, 90, 50], [40, 40, 100, 90, 50], false),
            // so near to all that one more good one would make as much of it good
            ([25, 25, 100, 0, 0], [25, 23, 100, 0, 0], false),
            // far above the fallback, and below the limit
            ([20, 0, 1000, 190, 40], [20, 0, 1000, 1, 0], false),
            // the largest numbers
            ([BOUND; 5], [BOUND; 5], false),
            ([BOUND; 5], [BOUND, 1, BOUND, 1, 1], true),
        ] {
            let window = window(own, fallback);
            assert_eq!(!complaints(&limits(), &window).is_empty(), is_bad, "{window:?}");
        }
        let told = complaints(&limits(), &window([20, 0, 100, 50, 0], [20, 0, 100, 16, 0]));
        assert_eq!(told, ["retransmissions 50 of 100 data segments (limit 20 %; cubic 16 of 100)"]);
    }

    /// Three times 60 % is more than all: the ratio of the bad alone would excuse an instance of which nothing is left.
    #[test]
    fn a_fallback_of_which_most_is_stalled_does_not_hide_an_instance_that_is_worse() {
        for (stalled, stalled_of_fallback, is_bad) in [
            (100, 60, true),
            (100, 80, true),
            // a third of the 25 that are well is 8.3, and one more than there are is taken for well
            (92, 75, false),
            (93, 75, true),
            (100, 97, true),
            (100, 98, false),
            (100, 100, false), // an outage of both
            (60, 60, false),
        ] {
            let window = window([100, stalled, 0, 0, 0], [100, stalled_of_fallback, 0, 0, 0]);
            assert_eq!(!complaints(&limits(), &window).is_empty(), is_bad, "{stalled} and {stalled_of_fallback}");
        }
    }

    fn stalled(active: u64, stalled: u64) -> IntervalStats {
        sums([active, stalled, 0, 0, 0])
    }

    fn of_sources(peers: &[IntervalStats], users: &[IntervalStats], cgroups: &[IntervalStats]) -> Window {
        let sum = |sources: &[IntervalStats]| {
            let count = |of: fn(&IntervalStats) -> u64| sources.iter().map(of).sum();
            stalled(count(|of| of.active), count(|of| of.stalled))
        };
        let all = sum(if users.is_empty() { peers } else { users });
        let own = AlgorithmInterval { all, peers: peers.into(), users: users.into(), cgroups: cgroups.into() };
        Window { own: Measures::of(&limits(), &own), fallback: Measures::default() }
    }

    #[test]
    fn what_comes_from_four_peers_makes_no_window_bad_and_what_comes_from_all_does() {
        let good = stalled(25, 0);
        for (peers, is_bad) in [
            (vec![stalled(40, 40), good], false),
            (vec![stalled(40, 40), stalled(40, 40), stalled(40, 40), stalled(40, 40), good], false),
            (vec![stalled(40, 40), stalled(40, 40), stalled(40, 40), stalled(40, 40), stalled(40, 40), good], true),
            // all of a genuine failure, from one peer or from many
            (vec![stalled(25, 25)], true),
            (vec![stalled(5, 5); 20], true),
            (vec![stalled(1, 1); 20], true),
            // 19 that are well are too few to be judged by themselves
            (vec![stalled(40, 40), stalled(19, 0)], true),
            (vec![stalled(40, 40), stalled(20, 0)], false),
        ] {
            let window = of_sources(&peers, &[], &[]);
            assert_eq!(!complaints(&limits(), &window).is_empty(), is_bad, "{peers:?}");
            assert_eq!(of_few(&limits(), &window).is_empty(), is_bad, "{peers:?}");
        }
    }

    #[test]
    fn nor_does_one_user_or_one_cgroup() {
        let (bad, good) = (stalled(60, 60), stalled(30, 0));
        let peers = vec![stalled(3, 2); 30];
        for (users, cgroups, is_bad) in [
            (vec![bad, good], vec![stalled(90, 60)], false),
            (vec![stalled(90, 60)], vec![bad, good], false),
            (vec![stalled(90, 60)], vec![stalled(90, 60)], true),
            (vec![stalled(30, 30), stalled(30, 30), good], vec![stalled(90, 60)], true),
        ] {
            let window = of_sources(&peers, &users, &cgroups);
            assert_eq!(!complaints(&limits(), &window).is_empty(), is_bad, "{users:?} {cgroups:?}");
        }
    }

    /// Who makes the fallback look bad as well does not excuse an instance.
    #[test]
    fn the_fallback_is_what_it_is_without_its_worst_peers() {
        let peers = vec![stalled(40, 40), stalled(25, 0)];
        let fallback = AlgorithmInterval { all: stalled(65, 40), peers, ..AlgorithmInterval::default() };
        let mut window = window([25, 16, 0, 0, 0], [65, 40, 0, 0, 0]);
        assert_eq!(complaints(&limits(), &window), [""; 0], "64 % beside 62 %");
        window.fallback = Measures::of(&limits(), &fallback);
        assert_eq!(complaints(&limits(), &window).len(), 1);
    }

    #[test]
    fn impossible_windows_are_a_harm_of_their_own() {
        let with = |active, impossible, stalled| {
            let own = IntervalStats { active, impossible, stalled, ..IntervalStats::default() };
            let own = Measures { all: own, ..Measures::default() };
            complaints(&limits(), &Window { own, fallback: Measures::default() }).join(";")
        };
        assert_eq!(with(20, 1, 0), "");
        assert_eq!(with(20, 2, 0), "impossible windows 2 of 20 active connections (limit 10 %)");
        // what they wait for says nothing: 9 of 19 others are less than half
        assert_eq!(with(20, 1, 9), "");
        assert_eq!(with(20, 1, 10), "stalled 10 of 19 active connections (limit 50 %)");
    }

    #[test]
    fn it_trips_after_so_many_bad_windows_in_a_row() {
        let windows = |letters: &str| -> Vec<Window> {
            let one = |letter| match letter {
                'b' => window([20, 20, 100, 0, 0], NONE),
                'g' => window([20, 0, 100, 0, 0], NONE),
                _ => window([19, 19, 100, 0, 0], NONE),
            };
            letters.chars().map(one).collect()
        };
        let trip = || Verdict::Trip(vec!["stalled 20 of 20 active connections (limit 50 %)".to_owned()]);
        for (letters, expected) in [
            ("", Verdict::TooFew),
            ("g", Verdict::Good),
            ("b", Verdict::Bad(1)),
            ("bb", Verdict::Bad(2)),
            ("bbb", trip()),
            ("bbbb", trip()),
            ("bbg", Verdict::Good),
            ("bbgb", Verdict::Bad(1)),
            ("bb.", Verdict::TooFew),
            ("bb.b", Verdict::Bad(1)), // what is not known to be bad is not in the row
            ("...", Verdict::TooFew),
            ("gbbb", trip()),
        ] {
            assert_eq!(judge(&limits(), &windows(letters)), expected, "{letters}");
        }
        let at_once = Limits { windows: 1, ..limits() };
        assert_eq!(judge(&at_once, &windows("b")), trip());
    }
}
