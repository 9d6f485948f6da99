// SPDX-License-Identifier: MIT OR Apache-2.0
//! Paths that would explain what was measured. Many are simulated with the present algorithm; those in which it does as it was
//! measured to do are plausible, and what they differ in is the uncertainty of the fit.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::measure::Measured;

/// Headers of a segment with time stamps: IPv4, TCP, options.
pub const HEADER_BYTES: u32 = 52;
const PACKET_BYTES: u32 = 1500;
/// Queues that are tried, in BDP.
const BUFFERS_BDP: [f64; 10] = [0.05, 0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.5, 4.0, 7.0];
/// Shares of the highest delivery rate that the link may have: samples of the rate err upwards, and a connection that losses hold
/// back may never have seen the link full.
const RATES: [f64; 4] = [1.0, 0.93, 1.5, 3.0];
/// Shares of the retransmissions that may be losses without a queue.
const LOSSES: [f64; 3] = [0.0, 0.5, 1.0];
/// Rates that a policer may have, of what all connections had together: a loss-based algorithm gets less out of a policer than
/// passes it.
const POLICED: [f64; 3] = [1.05, 1.2, 1.5];
/// Its bursts, in products of its rate and the base RTT.
const BURSTS_BDP: [f64; 4] = [0.1, 0.3, 1.0, 2.0];
/// Rate of the link before it, of its own: what a policer lets through in bursts comes at the link's rate.
const LINK_OF_POLICED: f64 = 2.0;
/// Queue of that link. It does not decide.
const BUFFER_OF_POLICED_BDP: f64 = 1.0;
/// A policer delays nothing: a queue beyond this share of the base RTT was not one.
const DELAY_OF_POLICED: f64 = 0.25;
/// Flows of others that may share the link.
const OTHERS: [u32; 4] = [0, 1, 2, 4];
/// Below this no loss is tried, %.
const LEAST_LOSS_PCT: f64 = 0.005;
/// A queue that was seen to delay packets by so much of its 95th percentile must be possible.
const SEEN_QUEUE: f64 = 0.6;
/// What a plausible path may be off by: goodput and RTT relative, retransmissions by a factor and a constant.
const GOODPUT_BAND: f64 = 0.15;
const RTT_BAND: f64 = 0.15;
const RETRANSMIT_BAND: f64 = 2.5;
/// By how much goodput may rise above its mean more than the measured rates did, which vary more: a measurement is short.
const PEAK_BAND: f64 = 0.2;
const RETRANSMIT_SLACK_PCT: f64 = 0.05;
/// Plausible paths that are kept, each with a rate and a number of others of its own.
const MOST_PATHS: usize = 6;
/// A path that is less plausible than this, compared with the best one, says nothing.
const LEAST_PLAUSIBLE: f64 = 0.1;
/// Packets of a run: more on a fast link cost time and tell nothing new.
const MOST_PACKETS: f64 = 400_000.0;
/// Between the halves of a measurement; beyond, the path is not one.
const STEADY: f64 = 0.4;
/// Measured paths that the simulator is asked for.
const RATE_BYTES_PER_S: std::ops::RangeInclusive<f64> = 20_000.0..=125_000_000.0;
const LEAST_RTT_US: u64 = 500;
/// Of IPv4: more does not fit into a packet.
const MSS_BYTES: std::ops::RangeInclusive<u32> = 1..=65_535;
/// Connections of the scope that are simulated.
const MOST_CONNECTIONS: f64 = 64.0;

/// What lets no more than a rate through, without a queue.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Policer {
    /// Rate, bytes/s of packets with their headers.
    pub policer_bytes_per_s: f64,
    /// What passes beyond it after a pause.
    pub burst_bytes: u64,
}

/// A path for the simulator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PathModel {
    /// Rate of the bottleneck, bytes/s of packets with their headers.
    pub link_bytes_per_s: f64,
    /// RTT without a queue, us.
    pub base_rtt_us: u64,
    /// Longest queue, packets.
    pub queue_limit_pkts: u32,
    /// The same in products of rate and base RTT.
    pub queue_limit_bdp: f64,
    /// Losses without a queue, %.
    pub random_loss_pct: f64,
    /// A policer behind the link; null: there is none.
    #[serde(default)]
    pub policer: Option<Policer>,
    /// Flows of others.
    pub other_flow_count: u32,
}

/// What an algorithm does in a path, per connection of the scope.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Performance {
    /// Bytes acknowledged per second.
    pub goodput_bytes_per_s: f64,
    /// Standard error of its mean; 0 of one run.
    pub goodput_error_bytes_per_s: f64,
    /// 90th percentile over time of the goodput of all connections of the scope together, bytes/s.
    #[serde(default)]
    pub goodput_p90_bytes_per_s: f64,
    /// Mean smoothed RTT, us.
    pub srtt_mean_us: f64,
    /// Its 95th percentile, us.
    #[serde(default)]
    pub srtt_p95_us: f64,
    /// Share of the segments that were retransmissions, %.
    pub retransmit_pct: f64,
    /// The same goodput, of one connection of the present algorithm that shares the link; null: there was none.
    pub neighbour_bytes_per_s: Option<f64>,
    /// Where half of the connections of the scope have the algorithm, and the others the present one: goodput of one of the first, and
    /// of one of the others; null: there is only one connection.
    #[serde(default)]
    pub split_bytes_per_s: Option<[f64; 2]>,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fit {
    /// Connections of the scope that are simulated.
    pub simulated_connection_count: u32,
    /// Plausible paths, the best first.
    pub plausible_paths: Vec<PathModel>,
    /// How plausible each is compared with the others; together 1.
    #[serde(default)]
    pub weights: Vec<f64>,
    /// What the present algorithm does in each of them.
    pub reproductions: Vec<Performance>,
}

/// Why nothing can be said about this measurement, if that is so.
pub fn require(measured: &Measured) -> Result<(), String> {
    let [first, second] = measured.goodput_halves_bytes_per_s;
    if measured.min_rtt_us < LEAST_RTT_US {
        return Err(format!("an RTT of {} us is too short for the simulator's model", measured.min_rtt_us));
    }
    if !MSS_BYTES.contains(&measured.mss_bytes) {
        return Err(format!("no segment has {} bytes of data", measured.mss_bytes));
    }
    if !RATE_BYTES_PER_S.contains(&measured.rate_bytes_per_s) {
        let mbit = measured.rate_bytes_per_s * 8e-6;
        return Err(format!("a path of {mbit:.3} Mbit/s is outside of what is simulated, 0.16 to 1000 Mbit/s"));
    }
    if measured.limited_connection_count > MOST_CONNECTIONS {
        let count = measured.limited_connection_count;
        return Err(format!(
            "{count:.0} connections at a time are more than the {MOST_CONNECTIONS:.0} that are simulated"
        ));
    }
    if first.min(second) <= 0.0 || (first / second).ln().abs() > STEADY.ln_1p() {
        let change = (second / first.max(1.0) - 1.0) * 100.0;
        return Err(format!("goodput changed by {change:+.0} % from the first half of the measurement to the second"));
    }
    Ok(())
}

/// Connections that are simulated.
#[must_use]
pub fn connections(measured: &Measured) -> u32 {
    measured.limited_connection_count.round().clamp(1.0, MOST_CONNECTIONS) as u32
}

/// Paths that are worth trying.
#[must_use]
pub fn guesses(measured: &Measured) -> Vec<PathModel> {
    let own = f64::from(connections(measured));
    let packet = f64::from(measured.mss_bytes + HEADER_BYTES);
    let seen_s = (measured.srtt_p95_us - measured.min_rtt_us as f64).max(0.0) * 1e-6 * SEEN_QUEUE;
    let mut found = Vec::new();
    for other_flow_count in OTHERS {
        for share in RATES.into_iter().filter(|share| *share <= 1.0 || other_flow_count == 0) {
            let payload = measured.rate_bytes_per_s * share * (own + f64::from(other_flow_count)) / own;
            let link_bytes_per_s = payload * packet / f64::from(measured.mss_bytes);
            let bdp_pkts = link_bytes_per_s * measured.min_rtt_us as f64 * 1e-6 / packet;
            for queue_limit_bdp in BUFFERS_BDP {
                let queue_limit_pkts = (bdp_pkts * queue_limit_bdp).max(2.0) as u32;
                if f64::from(queue_limit_pkts) * packet / link_bytes_per_s < seen_s {
                    continue; // longer queues were seen
                }
                let losses = LOSSES.into_iter().map(|loss| loss * measured.retransmit_pct);
                for random_loss_pct in losses.filter(|loss| *loss == 0.0 || *loss >= LEAST_LOSS_PCT) {
                    let base_rtt_us = measured.min_rtt_us;
                    found.push(PathModel {
                        link_bytes_per_s,
                        base_rtt_us,
                        queue_limit_pkts,
                        queue_limit_bdp,
                        random_loss_pct,
                        policer: None,
                        other_flow_count,
                    });
                }
            }
        }
    }
    found.extend(policed_guesses(measured));
    found
}

/// Paths with a policer, where packets were lost and not delayed.
fn policed_guesses(measured: &Measured) -> Vec<PathModel> {
    let base_rtt_s = measured.min_rtt_us as f64 * 1e-6;
    let delay_s = measured.srtt_mean_us * 1e-6 - base_rtt_s;
    if measured.retransmit_pct < LEAST_LOSS_PCT || delay_s > base_rtt_s * DELAY_OF_POLICED {
        return Vec::new();
    }
    let packet = f64::from(measured.mss_bytes + HEADER_BYTES);
    let with_headers = packet / f64::from(measured.mss_bytes);
    let own = f64::from(connections(measured));
    let mut found = Vec::new();
    for other_flow_count in OTHERS {
        for share in POLICED {
            let all = own + f64::from(other_flow_count);
            let policer_bytes_per_s = measured.goodput_bytes_per_s * all * with_headers * share;
            let link_bytes_per_s =
                (policer_bytes_per_s * LINK_OF_POLICED).max(measured.rate_bytes_per_s * with_headers);
            let bdp_pkts = link_bytes_per_s * base_rtt_s / packet;
            found.extend(BURSTS_BDP.map(|burst_bdp| PathModel {
                link_bytes_per_s,
                base_rtt_us: measured.min_rtt_us,
                queue_limit_pkts: (bdp_pkts * BUFFER_OF_POLICED_BDP).max(2.0) as u32,
                queue_limit_bdp: BUFFER_OF_POLICED_BDP,
                random_loss_pct: 0.0,
                policer: Some(Policer {
                    policer_bytes_per_s,
                    burst_bytes: (policer_bytes_per_s * base_rtt_s * burst_bdp).max(packet * 2.0) as u64,
                }),
                other_flow_count,
            }));
        }
    }
    found
}

/// Time of a run: growth after a loss takes some hundred round trips, and a slow path has few packets.
#[must_use]
pub fn run_time(path: &PathModel) -> Duration {
    let rtts = Duration::from_micros(path.base_rtt_us) * 800;
    let packets_s = MOST_PACKETS * f64::from(PACKET_BYTES) / path.link_bytes_per_s;
    let longest = Duration::from_secs(60).min(Duration::from_secs_f64(packets_s.min(60.0)));
    rtts.max(Duration::from_secs(20)).min(longest).max(Duration::from_secs(10))
}

/// The plausible ones among the guesses, or what the nearest one is off by.
pub fn choose(measured: &Measured, tried: Vec<(PathModel, Performance)>) -> Result<Fit, String> {
    let mut all: Vec<(f64, PathModel, Performance)> =
        tried.into_iter().map(|(path, found)| (weight(measured, &path, &found), path, found)).collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    let Some((_, nearest_path, nearest)) = all.first().cloned() else {
        return Err("no path of the simulator has queues as long as those that were measured".to_owned());
    };
    all.retain(|(_, _, found)| off(measured, found).is_empty());
    let mut plausible: Vec<(f64, PathModel, Performance)> = Vec::new();
    for one in all {
        let is_known = plausible.iter().any(|(_, known, _)| known.is_like(&one.1));
        let best = plausible.first().map_or(0.0, |best| best.0);
        if plausible.len() < MOST_PATHS && !is_known && one.0 >= best * LEAST_PLAUSIBLE {
            plausible.push(one);
        }
    }
    if plausible.is_empty() {
        let off = off(measured, &nearest).join(", ");
        return Err(format!("no path explains what was measured; the nearest one, {nearest_path}, gives {off}"));
    }
    let sum: f64 = plausible.iter().map(|(weight, ..)| weight).sum();
    let mut fit = Fit { simulated_connection_count: connections(measured), ..Fit::default() };
    for (weight, path, found) in plausible {
        fit.weights.push(weight / sum);
        fit.plausible_paths.push(path);
        fit.reproductions.push(found);
    }
    Ok(fit)
}

/// How plausible a path is: it reproduces the measurement, and assumes few flows of others. The density of a normal distribution of
/// which what is barely plausible is two standard deviations off.
fn weight(measured: &Measured, path: &PathModel, found: &Performance) -> f64 {
    let off: f64 = distances(measured, found).into_iter().map(|off| off.powi(2)).sum();
    (-2.0 * off).exp() / f64::from(1 + path.other_flow_count)
}

fn ratio(found: f64, measured: f64) -> f64 {
    if found > 0.0 && measured > 0.0 {
        (found / measured).ln()
    } else {
        f64::INFINITY
    }
}

fn retransmit_ratio(measured: &Measured, found: &Performance) -> f64 {
    ratio(found.retransmit_pct + RETRANSMIT_SLACK_PCT, measured.retransmit_pct + RETRANSMIT_SLACK_PCT)
}

/// How far goodput rises above its mean, compared with how far the measured rates do: below 1 where it is steadier. A link that is
/// not shared and always full is told by that from a faster one.
fn peak_ratio(measured: &Measured, found: &Performance) -> f64 {
    let peak = |high: f64, each: f64, count: f64| high / (each * count);
    let connections = f64::from(connections(measured));
    ratio(
        peak(found.goodput_p90_bytes_per_s, found.goodput_bytes_per_s, connections),
        peak(measured.rate_bytes_per_s, measured.goodput_bytes_per_s, measured.limited_connection_count),
    )
}

/// How far off a simulated path is in each respect; beyond 1 it is not plausible.
fn distances(measured: &Measured, found: &Performance) -> [f64; 5] {
    [
        ratio(found.goodput_bytes_per_s, measured.goodput_bytes_per_s) / GOODPUT_BAND.ln_1p(),
        ratio(found.srtt_mean_us, measured.srtt_mean_us) / RTT_BAND.ln_1p(),
        retransmit_ratio(measured, found) / RETRANSMIT_BAND.ln(),
        ratio(found.srtt_p95_us, measured.srtt_p95_us) / RTT_BAND.ln_1p(),
        peak_ratio(measured, found).max(0.0) / PEAK_BAND.ln_1p(),
    ]
}

/// In what respects it is not as measured, in words.
fn off(measured: &Measured, found: &Performance) -> Vec<String> {
    let mbit = |bytes_per_s: f64| bytes_per_s * 8e-6;
    let ms = |us: f64| us * 1e-3;
    let (connections, looked_at) = (f64::from(connections(measured)), measured.limited_connection_count);
    let words = [
        format!(
            "a goodput of {:.2} and not {:.2} Mbit/s per connection",
            mbit(found.goodput_bytes_per_s),
            mbit(measured.goodput_bytes_per_s)
        ),
        format!("an RTT of {:.1} and not {:.1} ms", ms(found.srtt_mean_us), ms(measured.srtt_mean_us)),
        format!("{:.2} and not {:.2} % retransmissions", found.retransmit_pct, measured.retransmit_pct),
        format!("an RTT of up to {:.1} and not {:.1} ms", ms(found.srtt_p95_us), ms(measured.srtt_p95_us)),
        format!(
            "a goodput that rises to {:.0} and not {:.0} % of its mean",
            found.goodput_p90_bytes_per_s / (found.goodput_bytes_per_s * connections) * 100.0,
            measured.rate_bytes_per_s / (measured.goodput_bytes_per_s * looked_at) * 100.0
        ),
    ];
    words.into_iter().zip(distances(measured, found)).filter(|(_, off)| off.abs() > 1.0).map(|(word, _)| word).collect()
}

impl PathModel {
    /// It differs from another one in queue, losses and burst at most.
    fn is_like(&self, other: &Self) -> bool {
        let difference = (self.bytes_per_s() - other.bytes_per_s()).abs();
        let kind = |path: &Self| (path.other_flow_count, path.policer.is_some());
        kind(self) == kind(other) && difference < 1.0
    }

    /// What gets through at most.
    fn bytes_per_s(&self) -> f64 {
        self.policer.map_or(self.link_bytes_per_s, |policer| policer.policer_bytes_per_s)
    }
}

impl std::fmt::Display for PathModel {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (mbit, rtt_ms) = (self.bytes_per_s() * 8e-6, self.base_rtt_us as f64 * 1e-3);
        write!(formatter, "{mbit:.1} Mbit/s, {rtt_ms:.1} ms")?;
        match (self.policer, self.random_loss_pct) {
            (Some(policer), _) => {
                write!(formatter, ", a policer with bursts of {:.0} kB", policer.burst_bytes as f64 * 1e-3)?;
            }
            (None, 0.0) => write!(formatter, ", a queue of {} BDP, no random losses", self.queue_limit_bdp)?,
            (None, pct) => write!(formatter, ", a queue of {} BDP, {pct:.2} % random losses", self.queue_limit_bdp)?,
        }
        match self.other_flow_count {
            0 => Ok(()),
            1 => write!(formatter, ", 1 flow of others"),
            count => write!(formatter, ", {count} flows of others"),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(super) mod tests {
    use super::*;

    /// Two connections at 10 Mbit/s and 40 ms.
    pub(in crate::advise) fn measured() -> Measured {
        Measured {
            measured_s: 20.0,
            congestion_control: "cubic".to_owned(),
            limited_connection_count: 1.9,
            goodput_bytes_per_s: 500_000.0,
            goodput_halves_bytes_per_s: [510_000.0, 490_000.0],
            retransmit_pct: 0.4,
            min_rtt_us: 40_000,
            srtt_mean_us: 48_000.0,
            srtt_p95_us: 60_000.0,
            rate_bytes_per_s: 1_206_666.7,
            mss_bytes: 1448,
            ..Measured::default()
        }
    }

    pub(in crate::advise) fn path() -> PathModel {
        guesses(&measured()).remove(0)
    }

    /// 1,206,667 bytes of payload per second are 10 Mbit/s of packets of 1500 bytes; the BDP is 33 packets.
    #[test]
    fn guesses_have_the_rate_of_the_packets_and_room_for_the_queue_that_was_seen() {
        let all = guesses(&measured());
        assert!((path().link_bytes_per_s - 1_250_000.0).abs() < 1.0, "{:?}", path());
        // a queue of 20 ms was seen, of which 12 ms are required: 10 packets, more than 0.2 BDP
        assert!(all.iter().all(|path| path.queue_limit_bdp >= 0.4), "{:?}", path());
        let with_others = all.iter().find(|path| path.other_flow_count == 2).unwrap();
        assert!((with_others.link_bytes_per_s - 2_500_000.0).abs() < 1.0, "two own and two others have twice as much");
        assert!(all.iter().any(|path| (path.random_loss_pct - 0.4).abs() < 1e-9));
    }

    #[test]
    fn what_reproduces_the_measurement_is_plausible_and_the_rest_is_not() {
        let found = |goodput_bytes_per_s, srtt_mean_us: f64, retransmit_pct| Performance {
            goodput_bytes_per_s,
            goodput_p90_bytes_per_s: 1_100_000.0,
            srtt_mean_us,
            srtt_p95_us: srtt_mean_us * 1.25,
            retransmit_pct,
            ..Performance::default()
        };
        let good = found(520_000.0, 47_000.0, 0.5);
        let worse = found(530_000.0, 46_000.0, 0.6);
        let tried = [found(300_000.0, 47_000.0, 0.5), worse, good, found(500_000.0, 80_000.0, 0.4)];
        let fit = choose(&measured(), tried.map(|found| (path(), found)).to_vec()).unwrap();
        assert_eq!((fit.reproductions, fit.simulated_connection_count), (vec![good], 2));
        let other = PathModel { other_flow_count: 1, ..path() };
        let both = choose(&measured(), vec![(path(), worse), (other.clone(), good), (path(), good)]).unwrap();
        assert_eq!(both.plausible_paths, [path(), other], "one of each rate and number of others, the best first");
        let twice = both.weights[0] / both.weights[1];
        assert!((twice - 2.0).abs() < 1e-9, "of two that fit equally well the one without others: {:?}", both.weights);
        let refused = choose(&measured(), vec![(path(), found(300_000.0, 80_000.0, 5.0))]).unwrap_err();
        for part in ["goodput of 2.40 and not 4.00", "RTT of 80.0 and not 48.0 ms", "5.00 and not 0.40 %"] {
            assert!(refused.contains(part), "{refused}");
        }
        assert!(choose(&measured(), Vec::new()).is_err());
        // measured: 1,206,667 of 950,000 bytes/s, 127 % of the mean
        let unsteady = Performance { goodput_p90_bytes_per_s: 1_700_000.0, ..good };
        let refused = choose(&measured(), vec![(path(), unsteady)]).unwrap_err();
        assert!(refused.contains("rises to 163 and not 127 % of its mean"), "{refused}");
    }

    #[test]
    fn what_cannot_be_fitted_is_said_first() {
        assert_eq!(require(&measured()), Ok(()));
        let refused = |change: fn(&mut Measured)| {
            let mut measured = measured();
            change(&mut measured);
            require(&measured).unwrap_err()
        };
        assert!(refused(|it| it.goodput_halves_bytes_per_s = [500_000.0, 200_000.0]).contains("-60 %"));
        assert!(refused(|it| it.min_rtt_us = 30).contains("30 us"));
        assert!(refused(|it| it.limited_connection_count = 1000.0).contains("1000 connections"));
        assert!(refused(|it| it.rate_bytes_per_s = 1.0).contains("Mbit/s"));
        assert!(refused(|it| it.mss_bytes = 0).contains("0 bytes"));
        assert!(refused(|it| it.mss_bytes = u32::MAX).contains("4294967295 bytes"));
    }
}
