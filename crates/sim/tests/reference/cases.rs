// SPDX-License-Identifier: GPL-2.0-only
//! What is replayed: each algorithm with the parameters of the papers' profiles and of its own variants, how close the two
//! must come and why, the branches that must have been taken, and wrong parameters that must show.

use ccctl_catalog::{ParameterSet, Profile};

use crate::replay::Tolerance;

/// One algorithm.
pub struct Subject {
    pub algorithm: &'static str,
    /// Where its formulas are.
    pub source: &'static str,
    pub tolerance: Tolerance,
    pub why: &'static str,
    pub variants: &'static [Variant],
    /// Branches, and how often they are taken at least over all variants.
    pub branches: &'static [(&'static str, u64)],
    /// Wrong integers of C members, for the second implementation of the first variant, or of the one whose number stands before.
    pub planted: &'static [(usize, &'static str, u32)],
}

/// A profile, if any, and what is set beyond it.
pub struct Variant {
    pub profile: &'static str,
    pub set: &'static [(&'static str, &'static str)],
}

impl Variant {
    pub fn parameters(&self, algorithm: &str) -> ParameterSet {
        let layout = ccctl_catalog::algorithm(algorithm).unwrap().layout();
        let mut set = ParameterSet::defaults(algorithm, &layout.parameters);
        if !self.profile.is_empty() {
            Profile::named(self.profile).unwrap().apply(algorithm, &mut set).unwrap();
        }
        for (key, value) in self.set {
            set.set(key, value).unwrap();
        }
        set
    }

    pub fn name(&self) -> String {
        let profile = Some(self.profile).filter(|profile| !profile.is_empty());
        let set: Vec<String> = self.set.iter().map(|(key, value)| format!("{key}={value}")).collect();
        match (profile, set.is_empty()) {
            (Some(profile), true) => profile.to_owned(),
            (Some(profile), false) => format!("{profile}, {}", set.join(" ")),
            (None, true) => "defaults".to_owned(),
            (None, false) => set.join(" "),
        }
    }
}

const fn profile(profile: &'static str) -> Variant {
    Variant { profile, set: &[] }
}

const fn with(set: &'static [(&'static str, &'static str)]) -> Variant {
    Variant { profile: "", set }
}

const EXACT: Tolerance = Tolerance { pkts: 0.0, share: 0.0 };
const A_PACKET: Tolerance = Tolerance { pkts: 1.0, share: 0.0 };
const TWO_PACKETS: Tolerance = Tolerance { pkts: 2.0, share: 0.0 };
const ALL_WHOLE: &str = "windows, credit and divisors are whole packets: the same";

pub const SUBJECTS: [Subject; 13] = [
    Subject {
        algorithm: "compound",
        source: "Tan et al. 2006, draft-sridharan-tcpm-ctcp; Li 2006, sections 7 and 8; CTCP-TUBE",
        tolerance: TWO_PACKETS,
        why: "dwnd, diff and gamma are in 1/256 packets: one packet of dwnd, and one of credit",
        variants: &[
            profile(""),
            profile("li2006"),
            Variant { profile: "li2006", set: &[("gamma_tuning", "losswindow")] },
            profile("munir2007"),
            with(&[("burst_control", "partial"), ("partial_max", "2"), ("relearn_base", "on")]),
            with(&[("power_base", "dwnd"), ("below_low_window", "zero"), ("rto_from_lwnd", "on"), ("zeta", "2")]),
        ],
        branches: &[
            ("dwnd grows", 500),
            ("dwnd falls", 500),
            ("below low_window", 50),
            ("muted", 50),
            ("partial", 50),
            ("gamma tuned", 50),
            ("dwnd survives a loss", 10),
            ("loss", 300),
            ("timeout", 20),
            ("undo", 3),
        ],
        planted: &[(0, "gamma_pkts", 25), (0, "alpha_shift", 4), (1, "lambda_shift", 3), (1, "burst_control", 0), (3, "c06_loss", 0)],
    },
    Subject {
        algorithm: "fast",
        source: "Jin, Wei, Low 2004, equation 5; Even et al. 2006, Table II",
        tolerance: A_PACKET,
        why: "the window is in 1/256 packets, the RTT in whole us",
        variants: &[profile("even2006"), profile("weigle2006"), with(&[("every_other_rtt", "on"), ("gamma", "30%")])],
        branches: &[
            ("step up", 500),
            ("step down", 500),
            ("multiplicative increase", 1000),
            ("mode up", 20),
            ("mode down", 20),
            ("no delay known", 50),
            ("loss", 100),
            ("timeout", 5),
        ],
        planted: &[(0, "gamma_pct", 48), (0, "mode0_up_kbytes_per_s", 1300), (1, "alpha_pkts", 98), (1, "every_other_rtt", 0), (2, "every_other_rtt", 0)],
    },
    Subject {
        algorithm: "africa",
        source: "King, Baraniuk, Riedi 2005; Baiocchi et al. 2007, sections II and V.A; RFC 3649",
        tolerance: A_PACKET,
        why: "the average RTT is in 1/8 us, the queue in 1/1000 packets: at the limit the mode is not the same for some ACKs",
        variants: &[profile(""), profile("baiocchi2007")],
        branches: &[("fast", 10_000), ("slow", 10_000), ("less b(W)", 20), ("halved", 50), ("loss", 100), ("timeout", 10)],
        planted: &[(0, "alpha_milli", 1500), (0, "decrease", 1)],
    },
    Subject {
        algorithm: "libra",
        source: "Marfia et al. 2005, at second hand",
        tolerance: Tolerance { pkts: 2.0, share: 0.01 },
        why: "credit is carried over a pause; P is a line between points an eighth apart, 0.002 above the curve at most: 1.5 % of the growth where P = e^-2",
        variants: &[profile(""), with(&[("t0", "300ms"), ("k2", "0.5"), ("capacity", "1gbit")])],
        branches: &[
            ("slower than Reno", 10_000),
            ("faster than Reno", 10_000),
            ("cut of a long RTT", 20),
            ("cut of a short RTT", 20),
            ("loss", 100),
            ("timeout", 5),
        ],
        planted: &[(0, "k1_q10", 2560), (0, "t1_us", 950_000), (1, "k2_q8", 192)],
    },
    Subject {
        algorithm: "highspeed_lp",
        source: "Kuzmanovic, Knightly 2003, section III; Kuzmanovic et al. 2004; RFC 3649",
        tolerance: EXACT,
        why: "whole packets, delays in whole us: the same",
        variants: &[
            with(&[("delay_source", "timestamps"), ("peer_tick", "1ms")]),
            with(&[("delay_source", "rtt"), ("yield", "hstcp")]),
            with(&[("delay_source", "rtt"), ("relearn_range", "on"), ("delta", "40%")]),
            with(&[
                ("delay_source", "timestamps"),
                ("peer_tick", "1ms"),
                ("delayed_acks", "on"),
                ("reaction_rtts", "0"),
                ("own_queue_pkts", "0"),
            ]),
        ],
        branches: &[
            ("first indication", 500),
            ("indication in the inference phase", 1000),
            ("no growth in the inference phase", 1000),
            ("ACK that may have been held back", 500),
            ("so soon after a reaction", 1000),
            ("growth", 10_000),
            ("loss", 20),
            ("timeout", 10),
        ],
        planted: &[
            (0, "delta_pct", 16),
            (0, "inference_rtts", 4),
            (0, "delayed_acks", 1),
            (0, "reaction_rtts", 0),
            (0, "own_queue_pkts", 3),
            (1, "yield", 0),
        ],
    },
    Subject {
        algorithm: "yeah",
        source: "Baiocchi, Castellani, Vacirca 2007, section III",
        tolerance: EXACT,
        why: ALL_WHOLE,
        variants: &[profile("baiocchi2007"), with(&[("alpha_pkts", "20"), ("phi", "4"), ("zeta_rtts", "20"), ("rho_rtts", "8")])],
        branches: &[
            ("fast round", 1000),
            ("slow round", 1000),
            ("decongestion", 20),
            ("count_reno reset", 5),
            ("loss alone", 50),
            ("loss beside Reno", 20),
            ("timeout", 10),
        ],
        planted: &[(0, "phi", 9), (1, "rho_rtts", 10), (1, "alpha_pkts", 22)],
    },
    Subject {
        algorithm: "htcp",
        source: "Leith, Shorten 2004; Even et al. 2006, Table II; Weigle et al. 2006, section 2",
        tolerance: Tolerance { pkts: 2.0, share: 0.005 },
        why: "alpha is in 1/1024 packets and renewed each ms, its least scale 102/1024 for 0.1; credit is carried over a pause",
        variants: &[profile("even2006"), profile("weigle2006"), with(&[("rtt_scaling", "on"), ("delta_l", "500ms")])],
        branches: &[
            ("low speed", 10_000),
            ("high speed", 10_000),
            ("adaptive backoff", 20),
            ("throughput changed", 20),
            ("loss", 100),
            ("timeout", 5),
            ("undo", 1),
        ],
        planted: &[(0, "delta_l_us", 950_000), (0, "delta_b_pct", 60), (0, "adaptive_backoff", 0), (2, "rtt_ref_us", 120_000)],
    },
    Subject {
        algorithm: "bic",
        source: "Xu, Harfoush, Rhee 2004, section III; Weigle et al. 2006; Even et al. 2006",
        tolerance: EXACT,
        why: ALL_WHOLE,
        variants: &[profile("even2006"), profile("weigle2006"), profile("munir2007"), profile("linux")],
        branches: &[
            ("additive increase", 100),
            ("binary search", 10_000),
            ("near the maximum", 1000),
            ("at the maximum", 1000),
            ("max probing", 1000),
            ("fast probing", 100),
            ("fast convergence", 50),
            ("larger by the ACK ratio", 10_000),
            ("loss", 300),
            ("timeout", 10),
        ],
        planted: &[(0, "beta_q10", 810), (0, "smooth_part", 19), (0, "max_step_pkts", 30), (3, "ack_ratio", 0)],
    },
    Subject {
        algorithm: "cubic",
        source: "RFC 9438, section 4; Rhee, Xu 2005; Weigle et al. 2006; draft-chung-ccwg-search-09",
        tolerance: A_PACKET,
        why: "the target is whole packets, time in 1/1024 s",
        variants: &[
            profile("cubic2005"),
            profile("weigle2006"),
            profile("munir2007"),
            profile("baiocchi2007"),
            Variant { profile: "rfc", set: &[("slow_start_exit", "loss")] },
            Variant { profile: "rfc", set: &[("slow_start_exit", "search")] },
        ],
        branches: &[
            ("SEARCH: compared", 100),
            ("SEARCH: full", 3),
            ("concave", 10_000),
            ("convex", 10_000),
            ("Reno-friendly", 1000),
            ("held by S_max", 1000),
            ("fast convergence", 100),
            ("time not used", 1000),
            ("loss", 300),
            ("timeout", 20),
            ("undo", 1),
        ],
        planted: &[(0, "c_q10", 430), (0, "max_step_pkts", 14), (0, "reno_friendly", 0), (4, "beta_q10", 700), (5, "slow_start_exit", 0)],
    },
    Subject {
        algorithm: "scalable",
        source: "Kelly 2003; Weigle et al. 2006; Even et al. 2006",
        tolerance: EXACT,
        why: ALL_WHOLE,
        variants: &[profile("even2006"), profile("weigle2006"), with(&[("low_window_pkts", "60"), ("reno_growth", "on")])],
        branches: &[
            ("below Low_Window", 1000),
            ("scalable", 10_000),
            ("Reno is faster", 1000),
            ("halved", 10),
            ("less an eighth", 300),
            ("timeout", 10),
        ],
        planted: &[(0, "acks_per_pkt", 99), (0, "decrease_shift", 4), (2, "low_window_pkts", 55)],
    },
    Subject {
        algorithm: "highspeed",
        source: "RFC 3649, sections 5 and 6, appendix B; Even et al. 2006, Table II",
        tolerance: EXACT,
        why: "a(W) is whole packets; b(W) is rounded down to 1/256 in both",
        variants: &[profile("even2006"), profile("rfc"), profile("weigle2006"), profile("linux")],
        branches: &[
            ("up to Low_Window", 1000),
            ("beyond Low_Window", 10_000),
            ("once for an ACK", 10_000),
            ("loss", 200),
            ("timeout", 10),
        ],
        planted: &[(0, "table", 0), (1, "table", 1), (3, "per_ack", 0)],
    },
    Subject {
        algorithm: "reno",
        source: "RFC 5681, section 3; RFC 3465, section 2",
        tolerance: EXACT,
        why: ALL_WHOLE,
        variants: &[profile("rfc"), profile("even2006"), profile("")],
        branches: &[
            ("slow start", 1000),
            ("more than L acknowledged", 100),
            ("avoidance", 10_000),
            ("loss", 100),
            ("timeout", 10),
            ("undo", 1),
        ],
        planted: &[(0, "abc_limit_pkts", 2), (0, "abc_limit_pkts", 0)],
    },
    Subject {
        algorithm: "bbr3",
        source: "draft-ietf-ccwg-bbr-06, sections 5.2 to 5.6",
        tolerance: EXACT,
        why: "whole packets and us, rates in packets per 2^24 us: the same",
        variants: &[
            with(&[]),
            with(&[("loss_thresh", "5%"), ("beta", "50%"), ("headroom", "5%"), ("startup_loss_acks", "3")]),
            with(&[("probe_wait", "500ms"), ("probe_wait_random", "200ms"), ("probe_rtt_interval", "2000ms"), ("probe_rounds", "10")]),
        ],
        branches: &[
            ("pipe full", 20),
            ("losses in Startup", 3),
            ("drained", 20),
            ("DOWN", 200),
            ("CRUISE", 200),
            ("REFILL", 200),
            ("UP", 200),
            ("probe by time", 50),
            ("probe by rounds", 50),
            ("precautionary", 20),
            ("probe again at once", 20),
            ("inflight too high", 50),
            ("longterm raised", 50),
            ("lower bounds", 50),
            ("ProbeRTT", 50),
            ("idle", 5),
            ("loss", 200),
            ("timeout", 10),
            ("undo", 3),
        ],
        planted: &[
            (0, "loss_thresh_pct", 3),
            (0, "beta_pct", 72),
            (0, "headroom_pct", 16),
            (0, "probe_up_gain_pct", 126),
            (0, "probe_rtt_interval_ms", 5200),
            (0, "probe_rounds", 62),
            (0, "startup_loss_acks", 7),
            (0, "aggregation_rounds", 6),
        ],
    },
];
