// SPDX-License-Identifier: GPL-2.0-only
//! Vectors of kind function: one formula at one point, evaluated by the algorithms' C code.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ccctl_catalog::ParameterSet;
use ccctl_sim::checks::Differences;
use ccctl_sim::native::arithmetic::{
    cc_bdp_pkts, cc_exp_neg_q16, hstcp_even2006, hstcp_rfc3649, hstcp_row_of, hystart_threshold_us, HstcpTable,
};
use ccctl_sim::{Ack, Flow, Instance};
use serde::Deserialize;

use crate::hstcp_response::Response;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Function {
    #[serde(rename = "function")]
    name: String,
    inputs: BTreeMap<String, Numbers>,
    expected: Expected,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    value: Numbers,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Numbers {
    One(f64),
    Many(Vec<f64>),
}

impl Function {
    pub fn run(&self, tolerance: &BTreeMap<String, f64>) -> Differences {
        let found = match self.evaluate() {
            Ok(found) => found,
            Err(difference) => return vec![difference],
        };
        let Some(allowed) = tolerance.get("value") else { return vec!["no tolerance".to_owned()] };
        let expected = self.expected();
        let near = |(found, expected): (&f64, &f64)| (found - expected).abs() <= *allowed;
        if found.len() == expected.len() && found.iter().zip(&expected).all(near) {
            Vec::new()
        } else {
            vec![format!("{} is {found:?}, expected {expected:?} within {allowed}", self.name)]
        }
    }

    fn evaluate(&self) -> Result<Vec<f64>, String> {
        Ok(match self.name.as_str() {
            "table lookup (a,md_q8)" => table_lookup(hstcp_rfc3649(), self.input("w")?),
            "table lookup, Low_Window=31 (Even et al. Table II)" => table_lookup(hstcp_even2006(), self.input("w")?),
            "a(w) real, rounded response function" => vec![Response::RFC3649.increase(self.input("w")?)],
            "b(w) real" => vec![Response::RFC3649.decrease(self.input("w")?)],
            "W(p)=0.12/p^0.835 for p<1e-3, else 1.22/sqrt(p)" => vec![response_window(self.input("p")?)?],
            "smooth_part = ln(1/Smin)/ln(B/(B-1))+B" => vec![smooth_part(self.input("B")?, self.input("Smin")?)?],
            "K in 2^-10 s = icbrt(((Wmax-cwnd_epoch)<<40)/410)" => {
                vec![cubic_k(self.input("wmax")?, self.input("cwnd_epoch")?)]
            }
            "alpha=3(1-b)/(1+b)" => vec![cubic_alpha(self.input("beta")?)],
            "RttThresh_us" => vec![hystart_threshold_us(self.input("lastRoundMinRTT_us")? as u32).into()],
            "alpha(Delta)=1+10(D-1)+((D-1)/2)^2" => vec![htcp_alpha(self.input("delta_s")?)],
            "Linux factor, HZ=1000, u32 arithmetic" => vec![htcp_across_linux_wrap(self.input("diff_jiffies")?)?],
            "e^-(x/256) Q16, piecewise linear" => vec![cc_exp_neg_q16((self.input("x_q8")? as u64) << 8).into()],
            "P=1-exp(-gsum_us*42e-6) (backoff_factor 42 => G=3,window=8)" => {
                let rise_us = self.input("gsum_us")? / 8.0;
                let rtts_us: Vec<f64> = (0..9).map(|round| 100_000.0 + rise_us * f64::from(round)).collect();
                vec![cdg_after_rounds(&rtts_us, &rtts_us, "backoff_chance_q16") / 65_536.0]
            }
            "sum-form gradient over window 8" => {
                vec![cdg_after_rounds(&self.series("min")?, &self.series("max")?, "gradient_us")]
            }
            "cwnd*724>>10 (backoff_beta 0.7071)" => vec![cdg_backed_off(self.input("cwnd")?)],
            "cwnd -= max(2, (cwnd-max_win)*38>>7)" => vec![nv_reduced(self.input("cwnd")?, self.input("max_win")?)],
            "cwnd*819>>10" => vec![nv_lost(self.input("cwnd")?)],
            "256*2885/1000+1" => vec![default_of("bbr", "startup_gain_q8")?],
            "256*1000/2885" => vec![default_of("bbr", "drain_gain_q8")?],
            "ceil(bw_q24*min_rtt_us*gain_q8/2^8/2^24)" => {
                let gain_q8 = self.input("gain_q8")? as u32;
                vec![cc_bdp_pkts(self.input("bw_q24")? as u64, self.input("min_rtt_us")? as u32, gain_q8) as f64]
            }
            "100*4*ln(2)" => bbr3_defaults(&["startup_gain_pct"])?,
            "pacing gains of Drain, DOWN, UP, %" => {
                bbr3_defaults(&["drain_gain_pct", "probe_down_gain_pct", "probe_up_gain_pct"])?
            }
            "cwnd gains, in UP, in ProbeRTT, %" => {
                bbr3_defaults(&["cwnd_gain_pct", "probe_up_cwnd_gain_pct", "probe_rtt_cwnd_gain_pct"])?
            }
            "LossThresh, Beta, Headroom, %" => bbr3_defaults(&["loss_thresh_pct", "beta_pct", "headroom_pct"])?,
            "growth in %, rounds, BBRStartupFullLossCnt" => {
                bbr3_defaults(&["full_bw_growth_pct", "full_bw_rounds", "startup_loss_acks"])?
            }
            "MinRTTFilterLen s, ProbeRTTInterval ms, ProbeRTTDuration ms, MinPipeCwnd" => {
                bbr3_defaults(&["min_rtt_window_s", "probe_rtt_interval_ms", "probe_rtt_ms", "min_cwnd_pkts"])?
            }
            "T_bbr at least and its random part, ms; T_reno rounds" => {
                bbr3_defaults(&["probe_wait_ms", "probe_wait_random_ms", "probe_rounds"])?
            }
            "max(hi-max(1,0.15*hi),4)" => vec![bbr3_cruising(self.input("hi")?)],
            "ceil(2*bw_q24*min_rtt_us/2^24)" => {
                vec![bbr3_window(self.input("bw_q24")?, self.input("min_rtt_us")?)]
            }
            "dwnd increment Q8 = max(0.125*w^0.75 - 1, 0)" => vec![compound_increase(self.input("win")?)],
            "dwnd halves on dup-ack loss (Vista event trace)" => {
                vec![compound_after_loss(self.input("lwnd_bytes")?, self.input("dwnd_bytes")?, self.input("mss")?)]
            }
            _ => return Err(format!("unknown function {:?}", self.name)),
        })
    }

    fn input(&self, name: &str) -> Result<f64, String> {
        match self.inputs.get(name) {
            Some(Numbers::One(value)) => Ok(*value),
            _ => Err(format!("{} has no input {name}", self.name)),
        }
    }

    fn series(&self, name: &str) -> Result<Vec<f64>, String> {
        match self.inputs.get(name) {
            Some(Numbers::Many(values)) => Ok(values.clone()),
            _ => Err(format!("{} has no inputs {name}", self.name)),
        }
    }

    fn expected(&self) -> Vec<f64> {
        match &self.expected.value {
            Numbers::One(value) => vec![*value],
            Numbers::Many(values) => values.clone(),
        }
    }
}

fn bbr3_defaults(members: &[&str]) -> Result<Vec<f64>, String> {
    members.iter().map(|member| default_of("bbr3", member)).collect()
}

const BBR3_CRUISE: i128 = 3;

/// A flow that has filled its pipe, cruises and has a window of 2^19 packets.
fn bbr3_flow(state: &[(&str, f64)]) -> Flow {
    let instance = Arc::new(Instance::with_defaults("bbr3").expect("in the catalogue"));
    let mut flow = Flow::open_connection(instance);
    flow.advance(Duration::from_millis(1));
    flow.set_cwnd(1 << 19);
    let cruises = [("mode", BBR3_CRUISE as f64), ("full_bw_reached", 1.0), ("probe_at_us", 1e9)];
    for (field, value) in cruises.iter().chain(state) {
        assert!(flow.set_state(field, *value as i128), "{field}");
    }
    flow
}

/// The window that an ACK without a sample leaves.
fn bbr3_window_of(mut flow: Flow) -> f64 {
    flow.acked(&Ack::of(1, None));
    flow.cwnd_pkts().into()
}

fn bbr3_cruising(hi: f64) -> f64 {
    let bw_q24 = f64::from(1 << 24);
    bbr3_window_of(bbr3_flow(&[("inflight_longterm_pkts", hi), ("bw_q24", bw_q24), ("min_rtt_us", 100_000.0)]))
}

fn bbr3_window(bw_q24: f64, min_rtt_us: f64) -> f64 {
    bbr3_window_of(bbr3_flow(&[("bw_q24", bw_q24), ("min_rtt_us", min_rtt_us), ("probe_rtt_min_us", min_rtt_us)]))
}

fn table_lookup(table: &HstcpTable, cwnd: f64) -> Vec<f64> {
    let row = hstcp_row_of(table, cwnd as u32);
    vec![f64::from(row + 1), f64::from(table.row[row as usize].decrease_q8)]
}

/// The C code has no W(p), but rows of a and b. Their formulas, at a loss rate of p = a (2 - b) / (2 b W^2), hold the window at W. The
/// RFC rounds its one line twice, to W = 0.12 / p^0.835 and to the p = 0.078 / W^1.2 of its table: over
/// this range the two are up to 5 % in p apart. Below that both are Reno, 0.4 % apart (1.22 for the root of 1.5). tests/hstcp.rs compares the rows with the formulas.
fn response_window(p: f64) -> Result<f64, String> {
    let reno = p >= 1e-3;
    let window = if reno { 1.22 / p.sqrt() } else { 0.12 / p.powf(0.835) };
    let (a, b) =
        if reno { (1.0, 0.5) } else { (Response::RFC3649.increase(window), Response::RFC3649.decrease(window)) };
    let held_at = a * (2.0 - b) / (2.0 * b * window.floor().powi(2));
    if !reno && (held_at / p - 1.0).abs() > 0.05 {
        return Err(format!("a = {a} and b = {b} hold W = {window} at p = {held_at}, the RFC has {p}"));
    }
    Ok(window)
}

/// Our parameter is this number, rounded.
fn smooth_part(divisor: f64, smallest_step: f64) -> Result<f64, String> {
    let value = (1.0 / smallest_step).ln() / (divisor / (divisor - 1.0)).ln() + divisor;
    let set = defaults("bic");
    let ours = (set.get("search_divisor").map(f64::from), set.get("smooth_part").map(f64::from));
    if ours == (Some(divisor), Some(value.round())) {
        Ok(value)
    } else {
        Err(format!("our (B, smooth_part) is {ours:?}, expected ({divisor}, {})", value.round()))
    }
}

/// K of the epoch that the first ACK after a loss begins.
fn cubic_k(w_max: f64, cwnd: f64) -> f64 {
    let mut flow = in_congestion_avoidance("cubic", &[], cwnd as u32);
    assert!(flow.set_state("w_max_pkts", w_max as i128));
    flow.acked(&Ack::of(1, None));
    flow.state("k_q10s").expect("a field of CUBIC") as f64
}

/// What one packet earns towards Reno's window, while that is below the window before the loss.
fn cubic_alpha(beta: f64) -> f64 {
    let mut flow = in_congestion_avoidance("cubic", &[("beta_q10", (beta * 1024.0).round() as u32)], 1000);
    assert!(flow.set_state("prior_cwnd_pkts", 2000));
    flow.acked(&Ack::of(1, None));
    flow.state("reno_credit_q10").expect("a field of CUBIC") as f64 / 1024.0
}

fn htcp_alpha(since_congestion_s: f64) -> f64 {
    let mut flow = in_congestion_avoidance("htcp", &[], 1000);
    flow.set_clock(Duration::from_secs_f64(since_congestion_s));
    flow.acked(&Ack::of(1, None));
    flow.state("alpha_q10").expect("a field of H-TCP") as f64 / 1024.0
}

/// Linux's factor is an integer, and falls at the jiffy after this one. Ours must not.
fn htcp_across_linux_wrap(diff_jiffies: f64) -> Result<f64, String> {
    let alpha = |excess_ms: f64| htcp_alpha(1.0 + excess_ms / 1000.0);
    let at: Vec<f64> = [0.0, 1.0, 2.0, 1000.0, 100_000.0].map(|later| alpha(diff_jiffies + later)).to_vec();
    if at.is_sorted_by(|earlier, later| earlier < later) {
        Ok(at[0].floor())
    } else {
        Err(format!("alpha does not grow across Linux's wrap: {at:?}"))
    }
}

/// A field of CDG's after rounds with these smallest and largest RTTs. The ACK that ends a round is not yet of the next one
/// to CDG, which takes its RTT before it looks at the round.
fn cdg_after_rounds(min_us: &[f64], max_us: &[f64], field: &str) -> f64 {
    let mut flow = in_congestion_avoidance("cdg", &[], 1000);
    let ack = |rtt_us: f64| Ack::of(2, Some(Duration::from_micros(rtt_us as u64)));
    for (min_us, max_us) in min_us.iter().zip(max_us) {
        flow.acked(&ack(*max_us));
        flow.end_round();
        flow.acked(&ack(*min_us));
    }
    flow.state(field).expect("a field of CDG") as f64
}

/// RTTs that grow so fast leave nothing to chance. The window is lowered by the time that all of it is acknowledged.
fn cdg_backed_off(cwnd: f64) -> f64 {
    let mut flow = in_congestion_avoidance("cdg", &[], cwnd as u32);
    for rtt_ms in [1_u64, 1000] {
        flow.end_round();
        flow.sampled(&Ack::of(2, Some(Duration::from_millis(rtt_ms))));
        flow.acked(&Ack { cwnd_limited: false, ..Ack::of(2, Some(Duration::from_millis(rtt_ms))) });
    }
    flow.acked(&Ack::of(cwnd as u32, None));
    flow.cwnd_pkts().into()
}

/// A decision is due, and what was delivered in an RTT is the ideal window less the pad of 10.
fn nv_reduced(cwnd: f64, ideal: f64) -> f64 {
    let mut flow = in_congestion_avoidance("nv", &[], cwnd as u32);
    assert!(flow.set_state("calls", 60) && flow.set_state("rounds", 2));
    flow.end_round();
    let rtt = Some(Duration::from_millis(1));
    flow.sampled(&Ack { in_flight_pkts: ideal as u32 - 10, ..Ack::of(1, rtt) });
    flow.cwnd_pkts().into()
}

fn nv_lost(cwnd: f64) -> f64 {
    let mut flow = in_congestion_avoidance("nv", &[], cwnd as u32);
    flow.lost();
    flow.ssthresh_pkts().into()
}

fn default_of(algorithm: &str, member: &str) -> Result<f64, String> {
    let set = defaults(algorithm);
    let found = set.iter().find(|(parameter, _)| parameter.member == member);
    found.map(|(_, integer)| f64::from(integer)).ok_or_else(|| format!("{algorithm} has no {member}"))
}

/// Growth of the delay window at the end of a round without queue.
fn compound_increase(cwnd: f64) -> f64 {
    let mut flow = in_congestion_avoidance("compound", &[("low_window_pkts", 10)], cwnd as u32);
    let ack = Ack::of(1, Some(Duration::from_millis(100)));
    for _ in 0..3 {
        flow.acked(&ack);
    }
    flow.end_round();
    flow.acked(&ack);
    flow.state("dwnd_q8").expect("a field of Compound") as f64
}

/// Bytes of the delay window after a loss.
fn compound_after_loss(lwnd_bytes: f64, dwnd_bytes: f64, mss_bytes: f64) -> f64 {
    let pkts = (lwnd_bytes + dwnd_bytes) / mss_bytes;
    let mut flow = in_congestion_avoidance("compound", &[], pkts as u32);
    assert!(flow.set_state("dwnd_q8", (dwnd_bytes / mss_bytes * 256.0) as i128));
    flow.lost();
    flow.state("dwnd_q8").expect("a field of Compound") as f64 / 256.0 * mss_bytes
}

fn defaults(algorithm: &str) -> ParameterSet {
    let known = ccctl_catalog::algorithm(algorithm).expect("it exists");
    ParameterSet::defaults(algorithm, &known.layout().parameters)
}

fn in_congestion_avoidance(algorithm: &str, parameters: &[(&str, u32)], cwnd_pkts: u32) -> Flow {
    let mut set = defaults(algorithm);
    for (name, value) in parameters {
        set.set_member(name, *value).expect("in range");
    }
    let instance = Instance::new(algorithm, &set).expect("it exists");
    Flow::new(Arc::new(instance), cwnd_pkts, 2, Duration::ZERO)
}
