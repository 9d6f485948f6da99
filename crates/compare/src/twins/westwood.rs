//! `tcp_westwood.c`: bandwidth in bytes per jiffy and RTTs in jiffies; ours in packets per us Q24 and in us.

use super::{all, Kind, Rule, Twin};
use crate::native::{CALL_CWND_EVENT, CALL_PKTS_ACKED};
use crate::replay::{Module, Ours, Trial};

const LOSS: u32 = 3;

pub const TWIN: Twin = Twin {
    name: "westwood",
    map,
    law: None,
    feed: None,
    compared: &[(CALL_CWND_EVENT, &["relearn_min_rtt"])],
    own_credit: false,
    skip: all,
    rules: &[
        Rule {
            module: "counts in whole bytes and jiffies",
            reason: "packets per microsecond in Q24: BWE RTT_min differs by less than one packet, and by one in the rounding",
            parameter: "",
            kind: Kind::Predict(rounding),
        },
        Rule {
            module: "sets ssthresh to 2 after a timeout while RTT_min is to be learned anew",
            reason: "the estimate of before stands until there is a new one",
            parameter: "half_without_estimate",
            kind: Kind::Predict(|trial| {
                trial.call.hook == CALL_CWND_EVENT && trial.call.argument == LOSS && trial.expected.ssthresh == 2
            }),
        },
    ],
    other: &[],
    notes: &[
        "`in_ack_event` of the module counts bytes out of snd_una and duplicate ACKs, ours packets in `pkts_acked`: what the two \
         measure is not compared call by call.",
    ],
};

fn map(module: &Module<'_>, ours: &mut Ours<'_>) {
    let us_per_jiffy = module.us_per_jiffy();
    let mss = u64::from(module.socket.mss_cache.max(1));
    let q24 = |bytes_per_jiffy: u64| (bytes_per_jiffy << 24).div_ceil(mss * us_per_jiffy);
    ours.set("bandwidth_q24", q24(module.get("bw_est")));
    ours.set("first_pole_q24", q24(module.get("bw_ns_est")));
    ours.set("min_rtt_us", module.get("rtt_min") * us_per_jiffy);
    ours.set("rtt_us", module.get("rtt") * us_per_jiffy);
    ours.set("relearn_min_rtt", module.get("reset_rtt_min"));
    ours.set("window_start_us", module.time_us("rtt_win_sx"));
}

/// Ours is at most one packet more, where the exact product is that near to it
fn rounding(trial: &Trial<'_>) -> bool {
    let (before, tp) = (&trial.before, &trial.ours.tp);
    let product = before.get("bw_est") * before.get("rtt_min");
    let mss = u64::from(tp.mss_cache.max(1));
    let rtt_us = before.get("rtt_min") * before.us_per_jiffy();
    let missing = mss - product % mss; // bytes to the next packet
    trial.call.hook == CALL_CWND_EVENT
        && u64::from(trial.expected.ssthresh) == (product / mss).max(2)
        && trial.got.ssthresh == trial.expected.ssthresh + 1
        && missing << 24 <= rtt_us * mss
        && (trial.got.cwnd == trial.expected.cwnd || trial.got.cwnd == trial.expected.cwnd + 1)
        && trial.equal_but(&["ssthresh", "cwnd"])
        && trial.call.hook != CALL_PKTS_ACKED
}
