// SPDX-License-Identifier: GPL-2.0-only
//! Ways out of slow start on a path: how large the window is by then.

use ccctl_sim::{Limit, LinkSpec, Queue};

use crate::{instance_with, link, ms, Dumbbell, PKT_BITS};

const MEGABITS: u64 = 100;
const RTT_MS: u64 = 100;
const THRESHOLD: f64 = 0.26;
const WINDOW_RTTS: f64 = 3.5;
const BIN_RTTS: f64 = 0.35;

/// Slow start in a fluid, as draft-chung-ccwg-search-09 has it: one unit of time is the path's RTT, one of data its
/// bandwidth-delay product. At 0 the sender fills the link, at 1 the ACKs come at the link's rate, and two are sent for each.
struct Fluid;

impl Fluid {
    fn sent(at: f64) -> f64 {
        let until_1 = at.min(1.0).exp2() / std::f64::consts::LN_2;
        until_1 + 2.0 * (at - 1.0).max(0.0)
    }

    /// What waits when a packet is sent then.
    fn queue(at: f64) -> f64 {
        (Self::sent(at) - Self::sent(0.0) - at.max(0.0)).max(0.0)
    }

    /// When that was sent which is acknowledged now.
    fn sent_at(now: f64) -> f64 {
        let (mut low, mut high) = (now - 100.0, now);
        for _ in 0..100 {
            let middle = f64::midpoint(low, high);
            if middle + 1.0 + Self::queue(middle) < now {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }

    fn window(now: f64) -> f64 {
        Self::sent(now) - Self::sent(Self::sent_at(now))
    }

    /// Share of what was sent in a window of time that is not delivered in one that ends an RTT later.
    fn missing(now: f64) -> f64 {
        let last = Self::sent_at(now);
        let delivered = Self::sent(last) - Self::sent(Self::sent_at(now - WINDOW_RTTS));
        1.0 - delivered / (Self::sent(last) - Self::sent(last - WINDOW_RTTS))
    }

    fn exit() -> f64 {
        (0..1000).map(|step| f64::from(step) / 100.0).find(|now| Self::missing(*now) >= THRESHOLD).expect("it fills")
    }
}

fn path(queue_bdp: u32) -> LinkSpec {
    link(MEGABITS, Queue::DropTail(Limit::Packets(queue_bdp * bdp_pkts() as u32)))
}

/// RTTs vary by 40 ms.
fn radio() -> LinkSpec {
    LinkSpec { jitter: ms(40), ..path(8) }
}

fn bdp_pkts() -> f64 {
    (MEGABITS * 1000 * RTT_MS) as f64 / PKT_BITS
}

/// The threshold that a flow leaves slow start with, in bandwidth-delay products.
fn left_with(exit: &str, path: &LinkSpec) -> f64 {
    let mut dumbbell = Dumbbell::new(path).with("cubic", ms(RTT_MS), |flow| {
        flow.instance = instance_with("cubic", &[("slow_start_exit", exit)]);
    });
    let seen = dumbbell.sample(ms(1), ms(4000), |dumbbell| dumbbell.flow(0).ssthresh_pkts());
    let left = seen.into_iter().find(|pkts| *pkts < 1 << 20).expect("it leaves slow start");
    f64::from(left) / bdp_pkts()
}

/// It is looked for at the ends of bins, so up to one bin late.
#[test]
fn search_leaves_where_a_quarter_of_what_was_sent_is_missing() {
    let (first, last) = (Fluid::window(Fluid::exit()), Fluid::window(Fluid::exit() + BIN_RTTS));
    let left = left_with("search", &path(8));
    assert!((first * 0.98..last * 1.02).contains(&left), "left with {left} BDP, expected {first} to {last}");
}

/// In a queue of one bandwidth-delay product a packet is lost at two, long before that.
#[test]
fn search_does_not_come_before_the_loss_where_the_queue_is_short() {
    assert_eq!(left_with("search", &path(1)).to_bits(), left_with("loss", &path(1)).to_bits());
}

/// A radio link, whose RTT varies without congestion (section 1 of the draft): HyStart leaves before the path is full, SEARCH after
/// that and before the queue is.
#[test]
fn search_is_not_deceived_by_rtts_that_vary() {
    let (hystart, search) = (left_with("hystart", &radio()), left_with("search", &radio()));
    assert!(hystart < 1.0 && (1.0..9.0).contains(&search), "HyStart at {hystart} BDP, SEARCH at {search}");
}

/// No expectation of the simulator, but of the page: readers are told what the simulator gives.
#[test]
fn the_page_of_cubic_tells_what_comes_of_each_way_out() {
    let page = include_str!("../../../../docs/reference/algorithms/cubic.md");
    for exit in ["loss", "hystart", "hystart++", "search"] {
        let [short, long, varying] = [path(1), path(8), radio()].map(|path| left_with(exit, &path));
        let figures = format!("| {short:.1} | {long:.1} | {varying:.1} |");
        let row = page.lines().find(|line| line.starts_with(&format!("| `{exit}` |"))).expect("a row");
        assert!(row.ends_with(&figures), "{row}: {figures}");
    }
}
