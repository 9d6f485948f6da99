// SPDX-License-Identifier: GPL-2.0-only
//! Branches that a replay does not take, and why. For all others: none of the recorded calls came to where they matter.

/// What is in the line, and the reason.
const REASONS: &[(&str, &str, &str)] = &[
    ("scalable", "scalable_low", "in profile `linux` there is no low window, and growth is never slower than Reno's"),
    ("highspeed", "per_ack", FIXED),
    ("highspeed", "p->table", FIXED),
    ("bic", "p->fast_convergence", FIXED),
    ("bic", "ca->ack_ratio_q4", "the module's ratio is there from the beginning"),
    ("bic", "ack_ratio", FIXED),
    ("cubic", "p->c_q10", FIXED),
    ("cubic", "p->max_step_pkts", FIXED),
    ("cubic", "p->reno_friendly", FIXED),
    ("cubic", "p->fast_convergence", FIXED),
    ("cubic", "origin_pkts > delta", "up to K the cube is at most the origin less the window at the loss"),
    ("cubic", "prior_cwnd_pkts", "the module has no prior window: it is set to a value that is never reached"),
    (
        "cubic",
        "credit_q10 >= cost_q10",
        "W_est is the module's at each call, and one ACK's credit is less than a packet",
    ),
    ("cubic", "counted != acked_pkts", "HyStart++ is not in the module"),
    ("htcp", "p->adaptive_backoff", FIXED),
    ("htcp", "p->rtt_scaling", "each call of congestion avoidance comes after an RTT"),
    ("yeah", "p->zeta_rtts", "no connection has fifty fast rounds without a loss"),
    ("yeah", "p->paper_reset", "no connection has fifty fast rounds without a loss"),
    ("yeah", "relearn_base", FIXED),
    ("vegas", "p->linux_diff", FIXED),
    ("vegas", "relearn_base", FIXED),
    ("veno", "relearn_base", FIXED),
    ("westwood", "->filter", FIXED),
    ("westwood", "!ca->min_rtt_us", "the module begins with an RTT of 20 s, ours with none"),
    ("hybla", "per_ack", FIXED),
    ("hybla", "rtt_us", "the count takes rho from the module; the replay compares ours with it"),
    ("nv", "p->decrease_q7", FIXED),
    ("nv", "speedup_rtts", FIXED),
    ("cdg", "p->ineffective_backoffs", FIXED),
    ("cdg", "hystart", FIXED),
    ("cdg", "p->loss_tolerance", FIXED),
    ("cdg", "p->shadow_window", FIXED),
];
const FIXED: &str = "a parameter that is fixed in the module or that this profile does not use";

/// Why this line's branch is not taken.
pub fn reason(algorithm: &str, line: &str) -> &'static str {
    let known = REASONS.iter().find(|(name, part, _)| *name == algorithm && line.contains(part));
    known.map_or("no recorded call reaches it", |(_, _, reason)| reason)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::build;

    #[test]
    fn each_reason_is_of_a_line() {
        for (algorithm, part, _) in REASONS {
            let bpf = build::bpf_folder();
            let text = std::fs::read_to_string(bpf.join(format!("algorithms/{algorithm}.bpf.c"))).unwrap();
            assert!(text.contains(part), "{algorithm}.bpf.c has no line with {part}");
        }
    }
}
