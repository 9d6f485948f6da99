//! Whether an instance harms its connections: windows of measures in, a verdict out.

use ccctl_loader::SocketWindow;

use crate::policy::Limits;

/// One window, of an instance and of the fallback.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Window {
    /// The instance.
    pub own: SocketWindow,
    /// The fallback.
    pub fallback: SocketWindow,
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

/// A share with the words that tell it.
struct Measure {
    name: &'static str,
    out_of: &'static str,
    limit_pct: u32,
    own: (u64, u64),
    fallback: (u64, u64),
}

impl Measure {
    fn all(limits: &Limits, window: &Window) -> [Self; 3] {
        let Window { own, fallback } = window;
        let of = |name, out_of, limit_pct, share: fn(&SocketWindow) -> (u64, u64)| Self {
            name,
            out_of,
            limit_pct,
            own: share(own),
            fallback: share(fallback),
        };
        [
            of("stalled", "active connections", limits.stalled_pct, |of| (of.stalled, of.active)),
            of("retransmissions", "data segments", limits.retransmit_pct, |of| (of.retransmits_pkts, of.data_segments)),
            of("timeouts", "data segments", limits.timeouts_pct, |of| (of.timeouts, of.data_segments)),
        ]
    }

    /// Fractions are compared by their products: no rounding, and no overflow below 2^59 segments.
    fn is_bad(&self, baseline_times: Option<u32>) -> bool {
        let ((part, whole), (part_of_fallback, whole_of_fallback)) = (wide(self.own), wide(self.fallback));
        let reaches_limit = part > 0 && part * 100 >= u128::from(self.limit_pct) * whole;
        let exceeds_baseline =
            baseline_times.is_none_or(|times| part * whole_of_fallback >= u128::from(times) * part_of_fallback * whole);
        reaches_limit && exceeds_baseline
    }

    fn text(&self, has_baseline: bool, fallback: &str) -> String {
        let Self { name, out_of, limit_pct, own: (part, whole), fallback: (part_of_fallback, whole_of_fallback) } =
            self;
        let baseline = if has_baseline {
            format!("; {fallback} {part_of_fallback} of {whole_of_fallback}")
        } else {
            String::new()
        };
        format!("{name} {part} of {whole} {out_of} (limit {limit_pct} %{baseline})")
    }
}

fn wide((part, whole): (u64, u64)) -> (u128, u128) {
    (part.into(), whole.into())
}

/// What is bad about a window. Every share must reach its limit, and `times_fallback` times the fallback's, where this has
/// enough connections to compare with.
pub fn complaints(limits: &Limits, window: &Window) -> Vec<String> {
    let has_baseline = window.fallback.active >= limits.min_connections.into();
    let times = has_baseline.then_some(limits.times_fallback);
    let bad = Measure::all(limits, window).into_iter().filter(|measure| measure.is_bad(times));
    bad.map(|measure| measure.text(has_baseline, &limits.fallback)).collect()
}

fn has_enough(limits: &Limits, window: &Window) -> bool {
    window.own.active >= limits.min_connections.into()
}

/// Judges by the last windows, the newest at the end.
pub fn judge(limits: &Limits, windows: &[Window]) -> Verdict {
    let Some(last) = windows.last().filter(|last| has_enough(limits, last)) else { return Verdict::TooFew };
    let complaints_now = complaints(limits, last);
    if complaints_now.is_empty() {
        return Verdict::Good;
    }
    let is_bad = |window: &&Window| has_enough(limits, window) && !complaints(limits, window).is_empty();
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
            times_fallback: 3,
        }
    }

    /// active, stalled, data segments, retransmissions, timeouts
    type Row = [u64; 5];

    fn measures([active, stalled, data_segments, retransmits_pkts, timeouts]: Row) -> SocketWindow {
        SocketWindow { active, stalled, data_segments, retransmits_pkts, timeouts }
    }

    fn window(own: Row, fallback: Row) -> Window {
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
