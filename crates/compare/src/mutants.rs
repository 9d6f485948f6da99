// SPDX-License-Identifier: GPL-2.0-only
//! Mutant errors: small wrong changes of our C files, each of which the comparison has to catch on the same recordings.

use std::fs;
use std::path::Path;

use anyhow::{ensure, Context as _, Result};

use crate::build;
use crate::counterpart::Counterpart;
use crate::file::Recording;
use crate::native::Algorithm;
use crate::replay::{self, Mode};

/// One error.
pub struct Mutant {
    /// Whose.
    pub algorithm: &'static str,
    /// Header of `bpf/include`; empty: the algorithm's own file.
    pub header: &'static str,
    /// What stands there,
    pub right: &'static str,
    /// and what instead.
    pub wrong: &'static str,
    /// Why no recording can catch it; empty: it has to be caught.
    pub unreachable: &'static str,
}

impl Mutant {
    /// The file's text with the error in it.
    fn in_text(&self, text: &str) -> Result<String> {
        let count = text.matches(self.right).count();
        ensure!(
            count == 1,
            "{} {} has {:?} {count} times: change it in mutants.rs",
            self.algorithm,
            self.header,
            self.right
        );
        Ok(text.replace(self.right, self.wrong))
    }
}

macro_rules! planted {
    ($($algorithm:literal $($header:literal)?: $right:literal => $wrong:literal $(, not reachable: $reason:literal)?;)+) => {
        &[$(Mutant {
            algorithm: $algorithm,
            header: concat!($($header)?),
            right: $right,
            wrong: $wrong,
            unreachable: concat!($($reason)?),
        },)+]
    };
}

/// All of them.
pub const MUTANTS: &[Mutant] = planted! {
    "scalable": "tp->snd_cwnd >> p->decrease_shift" => "tp->snd_cwnd >> (p->decrease_shift + 1)";
    "scalable": "tp->snd_cwnd < divisor" => "tp->snd_cwnd > divisor";
    "scalable": "tcp_cong_avoid_ai(tp, divisor, acked_pkts);" => "tcp_cong_avoid_ai(tp, divisor, 1);";
    "scalable" "cc.h": "acked_pkts - (after - before);" => "acked_pkts - (after - before) + 1;";
    "scalable" "cc.h": "cc_max(tp->snd_cwnd, tp->prior_cwnd)" => "tp->snd_cwnd";
    "scalable" "cc.h": "cc_max(tp->snd_cwnd, tp->prior_cwnd)" => "tp->prior_cwnd", not reachable:
        "in all traffic that was tried, Linux undoes a reduction before the window has outgrown the one from before it";
    "scalable" "cc.h": "return cc_max(pkts, 2);" => "return cc_max(pkts, 1);";
    "scalable" "cc.h": "credit -= pkts * divisor;" => "credit = 0;";
    "highspeed": "(ca->row + 1ULL) << 10" => "(ca->row + 2ULL) << 10";
    "highspeed" "hstcp.h": "decrease_q8 >> 8)" => "decrease_q8 >> 7)";
    "highspeed": "if (p->per_ack)" => "if (!p->per_ack)";
    "highspeed" "hstcp.h": "cwnd_pkts > table->row[trial - 1].cwnd_pkts" => "cwnd_pkts >= table->row[trial - 1].cwnd_pkts";
    "highspeed" "cc.h": "credit -= pkts * cost_q10;" => "credit = 0;";
    "bic": "(u64)cwnd * p->beta_q10 >> 10" => "(u64)cwnd * (p->beta_q10 + 8) >> 10";
    "bic": "(1024 + p->beta_q10) / 2048" => "(1024 + p->beta_q10) / 1024";
    "bic": "if (step <= 1)" => "if (step < 1)";
    "bic": "return cwnd * (p->search_divisor - 1) / beyond;" => "return cwnd * p->search_divisor / beyond;";
    "bic": "if (step > p->max_step_pkts)" => "if (step >= 2 * p->max_step_pkts)";
    "bic": "cwnd <= p->low_window_pkts)\n\t\treturn cwnd;" => "cwnd < p->low_window_pkts)\n\t\treturn cwnd;";
    "bic": "if (new_state != TCP_CA_Loss)" => "if (new_state != TCP_CA_Recovery)";
    "bic": "ratio_q4 - (ratio_q4 >> 4)" => "ratio_q4 - (ratio_q4 >> 5)";
    "bic": "(u64)divisor << 4, ratio_q4" => "(u64)divisor << 4, ratio_q4 + 1";
    "cubic": "(u64)cwnd * p->beta_q10 >> 10" => "(u64)cwnd * (p->beta_q10 - 16) >> 10";
    "cubic": "(1024 + p->beta_q10) / 2048" => "(1024 + p->beta_q10) / 1024";
    "cubic": "ca->origin_pkts + delta : cc_min" => "ca->origin_pkts + delta / 2 : cc_min";
    "cubic": "if (t_q10s < ca->k_q10s)" => "if (t_q10s > ca->k_q10s)";
    "cubic": "return cc_max(cwnd / (ca->reno_cwnd_pkts - cwnd), 1);" => "return cc_max(cwnd / (ca->reno_cwnd_pkts - cwnd), 3);";
    "cubic": "ca->epoch_us = 0;\n\tca->prior_cwnd_pkts = cwnd;" => "ca->prior_cwnd_pkts = cwnd;";
    "cubic": "u32 divisor = 100 * cwnd;" => "u32 divisor = 10 * cwnd;";
    "cubic" "slow_start.h": "HYSTART_MIN_THRESHOLD_US 4000" => "HYSTART_MIN_THRESHOLD_US 8000";
    "htcp": "1024 + 10240 * excess_ms / 1000" => "1024 + 9000 * excess_ms / 1000";
    "htcp": "acked_pkts = 1;\n}" => "acked_pkts = 2;\n}";
    "htcp": "(3ULL * ca->rate_pps + rate_pps) / 4" => "(7ULL * ca->rate_pps + rate_pps) / 8";
    "htcp": "2 * (128 - ca->beta_q7) * increase_q10 >> 7" => "2 * (127 - ca->beta_q7) * increase_q10 >> 7";
    "htcp": "(u64)tcp_sk(sk)->snd_cwnd * ca->beta_q7 >> 7" => "(u64)tcp_sk(sk)->snd_cwnd * ca->beta_q7 >> 6";
    "htcp": "#define HTCP_BETA_MAX_Q7 102" => "#define HTCP_BETA_MAX_Q7 112";
    "htcp": "\tca->last_congestion_us = cc_tick_now_us(sk, htcp_params()->tick_us);\n\tif" => "\tif";
    "yeah": "ca->slow_rtts < p->rho_rtts" => "ca->slow_rtts <= p->rho_rtts";
    "yeah": "u32 reduction = cc_max(cwnd >> 1, 2);" => "u32 reduction = cwnd - cc_min(cc_max(cwnd >> 1, 2), cwnd);";
    "yeah": "queueing_us > ca->rtt.base_us / p->phi" => "queueing_us >= ca->rtt.base_us / p->phi * 2";
    "yeah": "cc_max(cwnd - reduction, ca->reno_count_pkts)" => "cwnd - reduction";
    "yeah": "ca->slow_rtts ? tp->snd_cwnd : cc_min(tp->snd_cwnd, p->acks_per_pkt)" => "ca->slow_rtts ? tp->snd_cwnd : p->acks_per_pkt";
    "yeah": "cc_max(ca->reno_count_pkts >> 1, 2);" => "cc_max(ca->reno_count_pkts >> 1, 1);";
    "yeah" "rtt.h": "rtt->samples >= CC_RTT_SAMPLES" => "rtt->samples > CC_RTT_SAMPLES";
    "vegas": "diff > p->beta_pkts" => "diff >= p->beta_pkts";
    "vegas": "diff < p->alpha_pkts" => "diff <= p->alpha_pkts";
    "vegas": "diff > p->gamma_pkts" => "diff > p->gamma_pkts + 1";
    "vegas": "cc_min(tp->snd_cwnd, target + 1)" => "cc_min(tp->snd_cwnd, target)";
    "vegas": "p->linux_diff ? rtt->base_us : rtt->round_min_us" => "p->linux_diff ? rtt->round_min_us : rtt->base_us";
    "veno": "(u64)tp->snd_cwnd * 4 / 5" => "(u64)tp->snd_cwnd * 5 / 6";
    "veno": "tp->snd_cwnd_cnt < tp->snd_cwnd)" => "tp->snd_cwnd_cnt <= tp->snd_cwnd)";
    "veno": "ca->increase_next = !ca->increase_next;" => "ca->increase_next = true;";
    "veno": "((u64)tp->snd_cwnd << 1) - target_q1" => "(u64)tp->snd_cwnd - target_q1 / 2";
    "westwood": "cc_min(((u64)ca->bandwidth_q24 * ca->min_rtt_us) >> 24, CC_CWND_MAX_PKTS)" => "cc_min(((u64)ca->bandwidth_q24 * ca->rtt_us) >> 24, CC_CWND_MAX_PKTS)";
    "westwood": "(7ULL * average + sample) >> 3" => "(6ULL * average + 2ULL * sample) >> 3";
    "westwood": "cc_set_cwnd(tp, tp->snd_ssthresh);" => "cc_set_cwnd(tp, tp->snd_ssthresh - 1);";
    "westwood": "ca->relearn_min_rtt = true;" => "ca->relearn_min_rtt = false;";
    "westwood": "tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked_pkts);" => "tcp_cong_avoid_ai(tp, tp->snd_cwnd - 1, acked_pkts);";
    "illinois": "++ca->low_rounds < p->theta_rtts" => "++ca->low_rounds <= p->theta_rtts";
    "illinois": "cwnd - (cwnd * ca->beta_q6 >> 6)" => "cwnd - (cwnd * ca->beta_q6 >> 7)";
    "illinois": "above_low * (p->alpha_max_q7 - p->alpha_min_q7) / p->alpha_min_q7" => "above_low * p->alpha_max_q7 / p->alpha_min_q7";
    "illinois": "earned >= tp->snd_cwnd" => "earned > tp->snd_cwnd";
    "illinois": "average >= high || high <= low" => "average > 2 * high || high <= low";
    "hybla": "(u64)rtt_us << 3, hybla" => "(u64)rtt_us << 2, hybla";
    "hybla": "if (hybla_params()->per_ack)" => "if (!hybla_params()->per_ack)";
    "hybla": "cc_max(ca->rho_q3, 1 << 3);" => "1 << 3;";
    "hybla": "- 128;" => "- 127;";
    "hybla": "(u64)ca->rho_q3 * ca->rho_q3 << 4" => "(u64)ca->rho_q3 * ca->rho_q3 << 5";
    "hybla": "cc_min(ca->rho_q3 >> 3, 16)" => "cc_min(ca->rho_q3 >> 3, 3)";
    "hybla": "0xebd7c5b5a6988c80ULL" => "0xebd7c5b5a6988d81ULL";
    "lp": "tcp_sk(sk)->snd_cwnd >> 1);" => "tcp_sk(sk)->snd_cwnd - 1);";
    "lp" "lp.h": "lowprio_is_inferring(d, sk) ? 1 : cwnd_pkts" => "cwnd_pkts";
    "lp" "lp.h": "100 * beyond_us >" => "90 * beyond_us >";
    "lp" "lp.h": "d->max_us = d->smooth_q3us >> 2;" => "d->max_us = d->smooth_q3us >> 1;";
    "lp" "lp.h": "!p->delayed_acks && lowprio_may" => "p->delayed_acks || lowprio_may";
    "lp" "lp.h": "(u64)p->own_queue_pkts * cc" => "(u64)(p->own_queue_pkts + 1) * cc";
    "lp" "lp.h": "cc_now_us(sk) < d->reaction_end_us" => "cc_now_us(sk) <= d->phase_end_us";
    "nv": "excess_pkts > 2)" => "excess_pkts > 3)";
    "nv": "cc_min(p->decrease_q7, 128) >> 7" => "cc_min(p->decrease_q7, 128) >> 6";
    "nv": "ca->calls < p->increase_calls" => "ca->calls <= p->increase_calls";
    "nv": "ca->rounds < p->decision_rtts" => "ca->rounds <= p->decision_rtts";
    "nv": "(u64)sample_us * weight_q8 + (u64)ca->rtt_us * (256 - weight_q8)" => "(u64)sample_us * weight_q8 + (u64)ca->rtt_us * (255 - weight_q8)";
    "cdg": "ca->shadow_pkts >> 1, cwnd" => "ca->shadow_pkts >> 2, cwnd";
    "cdg": "sum_us = min_sum_us > 0 ? min_sum_us : max_sum_us;" => "sum_us = min_sum_us;";
    "cdg": "p->backoff_beta_q10 >> 10" => "p->backoff_beta_q10 >> 9";
    "cdg": "ca->samples < CDG_SAMPLES" => "ca->samples < CDG_SAMPLES - 1";
    "cdg": "sample->pkts_acked > 1 && ca->delayed_acks < CDG_DELACK_MAX" => "sample->pkts_acked > 2 && ca->delayed_acks < CDG_DELACK_MAX";
    "cdg": "p->backoff_factor_ppm << 16) / 1000000" => "p->backoff_factor_ppm << 16) / 900000";
    "dctcp": "(u64)marked << (10 - (gain_shift & 15))" => "(u64)marked << (11 - (gain_shift & 15))";
    "dctcp": "cwnd * ca->alpha_q10 >> 11" => "cwnd * ca->alpha_q10 >> 10";
    "dctcp": "prior_cwnd_pkts >> 1);" => "prior_cwnd_pkts >> 2);";
    "dctcp": "ca->alpha_q10 - decay_q10 + share_q10, DCTCP_ALPHA_MAX_Q10" => "ca->alpha_q10 - decay_q10 + share_q10, DCTCP_ALPHA_MAX_Q10 / 2";
    "dctcp": "new_state == TCP_CA_Recovery &&" => "new_state == TCP_CA_Loss &&";
    "bbr": "ca->min_rtt_us = tp->rtt_min.s[0].v;" => "ca->min_rtt_us = BBR_NO_RTT;";
    "bbr": "rtt_us < ca->min_rtt_us ||" => "rtt_us <= ca->min_rtt_us ||";
    "bbr": "pkts += 3 * bbr_burst_goal_pkts(sk);" => "pkts += 2 * bbr_burst_goal_pkts(sk);";
    "bbr": "pkts = (pkts + 1) & ~1ULL;" => "pkts = pkts & ~1ULL;";
    "bbr": "	bbr_forget_policer(ca, tcp_sk(sk));\n	return" => "	return";
    "bbr": "		ca->mode = BBR_PROBE_RTT;\n		bbr_save_cwnd(ca, tcp_sk(sk));" => "		bbr_save_cwnd(ca, tcp_sk(sk));\n		ca->mode = BBR_PROBE_RTT;";
    "bbr": "if (bbr_pacing_gain_q8(ca, p) > BBR_ONE_Q8)" => "if (ca->mode == BBR_STARTUP)";
    "bbr": "return (u32)(tp->delivered_mstamp / 1000);" => "return (u32)(tp->delivered_mstamp / 1024);";
    "bbr": "++ca->burst_rounds >= p->aggregation_rounds" => "++ca->burst_rounds > p->aggregation_rounds";
    "bbr": "ca->conserves = true;" => "ca->conserves = false;";
    "bbr": "*cwnd = cc_max(*cwnd, ca->prior_cwnd_pkts);" => "*cwnd = ca->prior_cwnd_pkts;";
    "bbr": "if (ca->full_bw_reached || rate > sk->sk_pacing_rate)" => "if (rate > 0)";
    "bbr": "tp->app_limited = limited_delivered;" => "ca->limited_delivered = limited_delivered;";
    "bbr": "ca->epoch_acked_pkts <= expected_pkts ||" => "ca->epoch_acked_pkts < expected_pkts ||";
    "bbr": "ca->second.round == ca->best.round && age > window / 4" => "ca->second.round == ca->best.round && age > window / 2";
    "bbr": "if (!tcp_sk(sk)->app_limited)" => "if (tcp_sk(sk)->app_limited)";
};

/// The errors planted in this algorithm that a replay does not catch.
pub fn missed(
    recording: &Recording,
    counterpart: &'static Counterpart,
    work: &Path,
) -> Result<(usize, Vec<&'static Mutant>)> {
    let mut missed = Vec::new();
    let mut count = 0;
    for planted in MUTANTS.iter().filter(|planted| planted.algorithm == counterpart.name) {
        count += 1;
        let library = plant(planted, &work.join(format!("{}-{count}", counterpart.name)))?;
        let load = |more: &[(&str, &str)]| {
            Algorithm::load(&library, counterpart.name, &replay::parameters(counterpart.name, more)?)
        };
        let tally =
            replay::replay(recording, counterpart, &load(&[])?, &load(counterpart.other)?, Mode::UntilMismatch)?;
        if tally.mismatches == 0 {
            missed.push(planted);
        }
    }
    Ok((count, missed))
}

/// Copies `bpf/` with the error in it, and compiles the algorithm.
fn plant(planted: &Mutant, folder: &Path) -> Result<std::path::PathBuf> {
    let bpf = build::bpf_folder();
    let include = folder.join("include");
    copy_folder(&bpf.join("include"), &include)?;
    let source = folder.join(format!("{}.bpf.c", planted.algorithm));
    fs::copy(bpf.join(format!("algorithms/{}.bpf.c", planted.algorithm)), &source)?;
    let changed = if planted.header.is_empty() { source.clone() } else { include.join(planted.header) };
    let text = fs::read_to_string(&changed)?;
    fs::write(&changed, planted.in_text(&text)?)?;
    let library = folder.join("planted.so");
    build::compile(&source, &include, &library, false).with_context(|| format!("planted {:?}", planted.wrong))?;
    Ok(library)
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let copy = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &copy)?;
        } else {
            fs::copy(entry.path(), copy)?;
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn each_error_has_its_place() {
        for planted in MUTANTS {
            let bpf = build::bpf_folder();
            let file = match planted.header {
                "" => bpf.join(format!("algorithms/{}.bpf.c", planted.algorithm)),
                header => bpf.join("include").join(header),
            };
            let text = fs::read_to_string(file).unwrap();
            assert_ne!(planted.in_text(&text).unwrap(), text);
        }
    }
}
