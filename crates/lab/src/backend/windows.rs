// SPDX-License-Identifier: GPL-2.0-only
//! Windows that no algorithm can mean: a hook was left out, and the kernel took whatever was there for its answer.
//!
//! On some kernels a BPF program is not run where it interrupts a certain task; `ssthresh` is then a stale word, such as
//! 0x81104110, and the window follows it. Nothing else in the run says so.

use ccctl_catalog::kernel::{is_impossible_window, CC_CWND_MAX_PKTS};

use super::outcome::{FlowSample, Outcome};
use crate::experiment::PointSpec;

/// The setting of a backend that looks at windows between samples, too: recorded with its runs.
pub const WINDOWS_CHECKED: &str = "windows";

/// What of a sample no algorithm can mean, in words. A threshold that the scenario itself sets is meant.
pub(super) fn impossible(sample: &FlowSample, initial_ssthresh_pkts: Option<u32>) -> Option<String> {
    let text = |what: &str, pkts: u32| format!("a {what} of {pkts} packets: the limit is {CC_CWND_MAX_PKTS}");
    if is_impossible_window(sample.cwnd_pkts) {
        return Some(text("window", sample.cwnd_pkts));
    }
    match sample.ssthresh_pkts {
        Some(0) => Some("a threshold of 0 packets".to_owned()),
        Some(pkts) if is_impossible_window(pkts) && initial_ssthresh_pkts != Some(pkts) => {
            Some(text("threshold", pkts))
        }
        _ => None,
    }
}

/// The reason of a flow that had such a window.
pub(super) fn reason(flow: usize, what: &str) -> String {
    format!("flow {flow} had {what}: the kernel skipped its algorithm")
}

/// Reasons against an outcome: a flow each, of its first sample that is impossible.
#[must_use]
pub fn impossible_windows(setup: &PointSpec, outcome: &Outcome) -> Vec<String> {
    let of_flow = |(number, flow): (usize, &super::Flow)| {
        let initial = setup.groups.get(flow.group).and_then(|group| group.tcp.initial_ssthresh_pkts);
        let what = flow.samples.iter().find_map(|sample| impossible(sample, initial))?;
        Some(reason(number, &what))
    };
    outcome.flows.iter().enumerate().filter_map(of_flow).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bounds: 2^20 packets; `TCP_INFINITE_SSTHRESH` is none. What was seen: a stale word as threshold, and the window
    /// that grew to it.
    #[test]
    fn a_window_above_a_million_packets_is_impossible() {
        let sample = |cwnd_pkts, ssthresh_pkts| FlowSample { cwnd_pkts, ssthresh_pkts, ..FlowSample::default() };
        for (cwnd, ssthresh) in [(10, None), (1 << 20, Some(1 << 20)), (10, Some(0x7fff_ffff)), (10, Some(2))] {
            assert_eq!(impossible(&sample(cwnd, ssthresh), None), None, "{cwnd} {ssthresh:?}");
        }
        for (cwnd, ssthresh) in
            [((1 << 20) + 1, None), (135_332_890, Some(7)), (10, Some(0x8110_4110)), (10, Some((1 << 20) + 1))]
        {
            assert!(impossible(&sample(cwnd, ssthresh), None).is_some(), "{cwnd} {ssthresh:?}");
        }
        assert_eq!(impossible(&sample(10, Some(1 << 21)), Some(1 << 21)), None, "the scenario sets it");
    }
}
