// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the sockets of a scope do over some time, and what limits them.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use ccctl_loader::Transport;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::operations::Socket;

/// Between two looks at the sockets.
pub const LOOK: Duration = Duration::from_millis(500);

/// Peers whose addresses have so many bits in common share a path.
const PREFIX_BITS: (u8, u8) = (24, 48);

/// What the sockets did that send to the prefix of peers with the most bytes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measured {
    /// Prefix of the peers' addresses.
    pub peer_prefix: String,
    /// Its share of the bytes of the scope, %.
    pub peer_share_pct: f64,
    /// Length of the measurement, s.
    pub measured_s: f64,
    /// Kernel name, as in `net.ipv4.tcp_congestion_control`, that most bytes were sent with.
    pub congestion_control: String,
    /// Algorithm, as `ccctl algorithms` lists it; null for what is built into the kernel.
    pub algorithm: Option<String>,
    /// What the time of the connections went to.
    pub limited_by: Limits,
    /// Connections that the network limited at a time, mean.
    pub limited_connection_count: f64,
    /// Bytes acknowledged per second of a connection while the network limited it.
    pub goodput_bytes_per_s: f64,
    /// The same in the first and in the second half of the measurement.
    pub goodput_halves_bytes_per_s: [f64; 2],
    /// Share of the segments with data that were retransmissions, %.
    pub retransmit_pct: f64,
    /// Smallest RTT of all connections, us.
    pub min_rtt_us: u64,
    /// Mean of the smoothed RTT while the network limited a connection, us.
    pub srtt_mean_us: f64,
    /// Its 95th percentile, us.
    pub srtt_p95_us: f64,
    /// Sum of the delivery rates of the connections, 90th percentile over time, bytes/s.
    pub rate_bytes_per_s: f64,
    /// Data of a segment.
    pub mss_bytes: u32,
}

/// Shares of the time of all connections that sent something, %; together they are 100.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    /// Data waited, and only the window or the pacing of the algorithm held it back.
    pub network_pct: f64,
    /// The application had nothing to send, or no more than was under way.
    pub application_pct: f64,
    /// The peer had no room.
    pub receiver_pct: f64,
    /// The send buffer was too small.
    pub send_buffer_pct: f64,
}

impl Limits {
    /// The largest of those that no algorithm changes, and what to do about it.
    #[must_use]
    pub fn other(&self) -> (&'static str, f64) {
        let all = [
            ("the application, which has nothing to send", self.application_pct),
            ("the receiver, whose window is full: net.ipv4.tcp_rmem of the peer", self.receiver_pct),
            ("the send buffer: net.ipv4.tcp_wmem, or SO_SNDBUF of the application", self.send_buffer_pct),
        ];
        all.into_iter().fold(all[0], |most, next| if next.1 > most.1 { next } else { most })
    }
}

/// What a socket had when it was seen last.
struct Seen {
    at: Duration,
    transport: Transport,
}

/// A socket between two looks.
struct Interval {
    at: Duration,
    prefix: String,
    name: (String, Option<String>),
    time_s: f64,
    busy_s: f64,
    receiver_s: f64,
    send_buffer_s: f64,
    /// Data waited at its end.
    has_backlog: bool,
    acked_bytes: u64,
    retransmits: u64,
    data_segments: u64,
    srtt_us: Option<u64>,
    min_rtt_us: Option<u64>,
    rate_bytes_per_s: u64,
    mss_bytes: u32,
}

impl Interval {
    fn network_s(&self) -> f64 {
        if self.has_backlog {
            (self.busy_s - self.receiver_s - self.send_buffer_s).max(0.0)
        } else {
            0.0
        }
    }
}

/// Looks at sockets again and again.
#[derive(Default)]
pub struct Watch {
    seen: BTreeMap<u64, Seen>,
    intervals: Vec<Interval>,
    looks: usize,
}

impl Watch {
    /// Another look, at a time since the first one. Sockets that were not there at the look before began in between.
    pub fn look(&mut self, at: Duration, sockets: &[Socket]) {
        let mut seen = BTreeMap::new();
        for socket in sockets {
            let Some(transport) = &socket.transport else { continue };
            if let Some(before) = self.seen.get(&socket.cookie) {
                self.intervals.extend(interval(socket, before, &Seen { at, transport: transport.clone() }));
            }
            seen.insert(socket.cookie, Seen { at, transport: transport.clone() });
        }
        self.seen = seen;
        self.looks += 1;
    }

    /// All that was seen, or why it says nothing.
    pub fn measured(&self) -> Result<Measured, String> {
        let sends = |interval: &&Interval| interval.acked_bytes > 0 || interval.has_backlog;
        let sending: Vec<&Interval> = self.intervals.iter().filter(sends).collect();
        let mut by_prefix: BTreeMap<&str, u64> = BTreeMap::new();
        for interval in &sending {
            *by_prefix.entry(&interval.prefix).or_default() += interval.acked_bytes;
        }
        let all: u64 = by_prefix.values().sum();
        let Some((prefix, bytes)) =
            by_prefix.into_iter().max_by_key(|(_, bytes)| *bytes).filter(|(_, bytes)| *bytes > 0)
        else {
            return Err("no connection of the scope sent anything".to_owned());
        };
        let own: Vec<&Interval> = self.intervals.iter().filter(|interval| interval.prefix == prefix).collect();
        let mut measured = summary(&own).ok_or("no connection was seen twice")?;
        prefix.clone_into(&mut measured.peer_prefix);
        measured.peer_share_pct = bytes as f64 * 100.0 / all as f64;
        Ok(measured)
    }
}

fn interval(socket: &Socket, before: &Seen, now: &Seen) -> Option<Interval> {
    let (old, new) = (&before.transport, &now.transport);
    let seconds = |new: u64, old: u64| new.saturating_sub(old) as f64 / 1e6;
    let count = |new: u32, old: u32| u64::from(new.saturating_sub(old));
    Some(Interval {
        at: now.at,
        prefix: prefix(&socket.destination)?,
        name: (socket.congestion_control.clone(), socket.algorithm.clone()),
        time_s: now.at.saturating_sub(before.at).as_secs_f64(),
        busy_s: seconds(new.busy_us, old.busy_us),
        receiver_s: seconds(new.rwnd_limited_us, old.rwnd_limited_us),
        send_buffer_s: seconds(new.sndbuf_limited_us, old.sndbuf_limited_us),
        has_backlog: new.unsent_bytes > 0,
        acked_bytes: new.acked_bytes.saturating_sub(old.acked_bytes),
        retransmits: count(new.retransmits_pkts, old.retransmits_pkts),
        data_segments: count(new.data_segments_sent_pkts, old.data_segments_sent_pkts),
        srtt_us: new.srtt_us,
        min_rtt_us: new.min_rtt_us,
        rate_bytes_per_s: new.delivery_rate_bytes_per_s.filter(|_| !new.is_rate_app_limited).unwrap_or(0),
        mss_bytes: new.mss_bytes,
    })
}

/// `192.0.2.0/24` of `192.0.2.1:443`.
fn prefix(destination: &str) -> Option<String> {
    let address: SocketAddr = destination.parse().ok()?;
    Some(match address.ip().to_canonical() {
        IpAddr::V4(address) => {
            let bits = u32::from(address) & (u32::MAX << (32 - PREFIX_BITS.0));
            format!("{}/{}", std::net::Ipv4Addr::from(bits), PREFIX_BITS.0)
        }
        IpAddr::V6(address) => {
            let bits = u128::from(address) & (u128::MAX << (128 - PREFIX_BITS.1));
            format!("{}/{}", std::net::Ipv6Addr::from(bits), PREFIX_BITS.1)
        }
    })
}

fn summary(intervals: &[&Interval]) -> Option<Measured> {
    let sum = |of: fn(&Interval) -> f64| -> f64 { intervals.iter().map(|interval| of(interval)).sum() };
    let last = intervals.iter().map(|interval| interval.at).max()?;
    let first =
        intervals.iter().map(|interval| interval.at.saturating_sub(Duration::from_secs_f64(interval.time_s))).min()?;
    let measured_s = last.saturating_sub(first).as_secs_f64();
    let total_s = sum(|interval| interval.time_s);
    if total_s <= 0.0 || measured_s <= 0.0 {
        return None;
    }
    let limited: Vec<&Interval> = intervals.iter().copied().filter(|interval| interval.network_s() > 0.0).collect();
    let (network_s, receiver_s) = (sum(Interval::network_s), sum(|interval| interval.receiver_s));
    let send_buffer_s = sum(|interval| interval.send_buffer_s);
    let share = |seconds: f64| (seconds * 100.0 / total_s).min(100.0);
    let limits = Limits {
        network_pct: share(network_s),
        receiver_pct: share(receiver_s),
        send_buffer_pct: share(send_buffer_s),
        application_pct: share((total_s - network_s - receiver_s - send_buffer_s).max(0.0)),
    };
    let segments = sum(|interval| interval.data_segments as f64);
    let mut srtts: Vec<f64> = limited.iter().filter_map(|interval| Some(interval.srtt_us? as f64)).collect();
    srtts.sort_by(f64::total_cmp);
    let half = first + last.saturating_sub(first) / 2;
    let (congestion_control, algorithm) = most_used(intervals)?;
    Some(Measured {
        measured_s,
        congestion_control,
        algorithm,
        limited_by: limits,
        limited_connection_count: network_s / measured_s,
        goodput_bytes_per_s: goodput(&limited, |_| true),
        goodput_halves_bytes_per_s: [goodput(&limited, |at| at <= half), goodput(&limited, |at| at > half)],
        retransmit_pct: if segments > 0.0 {
            sum(|interval| interval.retransmits as f64) * 100.0 / segments
        } else {
            0.0
        },
        min_rtt_us: intervals.iter().filter_map(|interval| interval.min_rtt_us).min()?,
        srtt_mean_us: if srtts.is_empty() { 0.0 } else { srtts.iter().sum::<f64>() / srtts.len() as f64 },
        srtt_p95_us: quantile(&srtts, 0.95),
        rate_bytes_per_s: rate(&limited),
        mss_bytes: intervals.iter().map(|interval| interval.mss_bytes).max()?,
        ..Measured::default()
    })
}

fn goodput(limited: &[&Interval], counts: impl Fn(Duration) -> bool) -> f64 {
    let counted = || limited.iter().filter(|interval| counts(interval.at));
    let seconds: f64 = counted().map(|interval| interval.network_s()).sum();
    let bytes: u64 = counted().map(|interval| interval.acked_bytes).sum();
    if seconds > 0.0 {
        bytes as f64 / seconds
    } else {
        0.0
    }
}

/// Of all connections together, look by look: of the delivery rates, or of the bytes where these are more.
fn rate(limited: &[&Interval]) -> f64 {
    let (mut delivered, mut acked): (BTreeMap<Duration, f64>, BTreeMap<Duration, f64>) = Default::default();
    for interval in limited {
        *delivered.entry(interval.at).or_default() += interval.rate_bytes_per_s as f64;
        *acked.entry(interval.at).or_default() += interval.acked_bytes as f64 / interval.time_s.max(1e-3);
    }
    let high = |rates: BTreeMap<Duration, f64>| {
        let mut rates: Vec<f64> = rates.into_values().collect();
        rates.sort_by(f64::total_cmp);
        quantile(&rates, 0.9)
    };
    high(delivered).max(high(acked))
}

/// By nearest rank; 0 of nothing.
fn quantile(sorted: &[f64], below: f64) -> f64 {
    let rank = (sorted.len() as f64 * below).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
}

fn most_used(intervals: &[&Interval]) -> Option<(String, Option<String>)> {
    let mut bytes: BTreeMap<&(String, Option<String>), u64> = BTreeMap::new();
    for interval in intervals {
        *bytes.entry(&interval.name).or_default() += interval.acked_bytes;
    }
    bytes.into_iter().max_by_key(|(_, bytes)| *bytes).map(|(name, _)| name.clone())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A connection that has sent for `seconds`; of each second it was busy for `busy`, and held back by the peer for `peer`.
    fn socket(cookie: u64, destination: &str, seconds: u64, [busy, peer]: [f64; 2], unsent_bytes: u32) -> Socket {
        let us = |share: f64| (seconds as f64 * share * 1e6) as u64;
        let text = serde_json::json!({
            "cookie": cookie, "namespace": "", "state": "established", "source": "10.0.0.1:80", "destination": destination,
            "congestion_control": "cubic", "algorithm": null, "map_id": null, "is_on_old_program": false, "cgroup": null,
            "cgroup_id": null, "owners": null, "algorithm_state": null,
            "transport": {
                "cwnd_pkts": 10, "ssthresh_pkts": null, "srtt_us": 44_000, "min_rtt_us": 40_000,
                "delivery_rate_bytes_per_s": 600_000, "is_rate_app_limited": false, "pacing_rate_bytes_per_s": null,
                "mss_bytes": 1448, "in_flight_pkts": 10, "in_flight_bytes": 14480, "unsent_bytes": unsent_bytes,
                "retransmits_in_flight_pkts": 0, "retransmits_pkts": 4 * seconds, "acked_bytes": 500_000 * seconds,
                "segments_sent_pkts": 400 * seconds, "data_segments_sent_pkts": 400 * seconds, "delivered_pkts": 400 * seconds,
                "lost_pkts": 0, "ca_state": "open", "rto_backoffs": 0,
                "busy_us": us(busy), "rwnd_limited_us": us(peer), "sndbuf_limited_us": 0,
            },
        });
        serde_json::from_value(text).unwrap()
    }

    fn measured(sockets: impl Fn(u64) -> Vec<Socket>) -> Measured {
        let mut watch = Watch::default();
        (0..=10).for_each(|second| watch.look(Duration::from_secs(second), &sockets(second)));
        watch.measured().unwrap()
    }

    #[test]
    fn two_bulk_connections_are_limited_by_the_network() {
        let both = |second| (1..=2).map(|cookie| socket(cookie, "192.0.2.7:443", second, [1.0, 0.0], 9000)).collect();
        let found = measured(both);
        assert_eq!((found.peer_prefix.as_str(), found.congestion_control.as_str()), ("192.0.2.0/24", "cubic"));
        let near = |value: f64, wanted: f64| (value - wanted).abs() < 1e-6;
        assert!(near(found.limited_by.network_pct, 100.0) && near(found.limited_connection_count, 2.0), "{found:?}");
        assert!(near(found.goodput_bytes_per_s, 500_000.0) && near(found.rate_bytes_per_s, 1_200_000.0), "{found:?}");
        assert!(near(found.retransmit_pct, 1.0) && found.min_rtt_us == 40_000, "{found:?}");
    }

    #[test]
    fn time_is_given_to_what_limits() {
        let peer = measured(|second| vec![socket(1, "[2001:db8:1:2::1]:443", second, [0.9, 0.8], 9000)]).limited_by;
        assert!((peer.receiver_pct - 80.0).abs() < 0.01 && (peer.network_pct - 10.0).abs() < 0.01, "{peer:?}");
        assert!(peer.other().0.starts_with("the receiver"));
        // all that it had is under way: busy, and still nothing that an algorithm holds back
        let slow = measured(|second| vec![socket(1, "192.0.2.7:443", second, [1.0, 0.0], 0)]).limited_by;
        assert!((slow.application_pct - 100.0).abs() < 0.01, "{slow:?}");
        let sum = peer.network_pct + peer.application_pct + peer.receiver_pct + peer.send_buffer_pct;
        assert!((sum - 100.0).abs() < 0.01);
    }

    #[test]
    fn peers_with_the_most_bytes_count_and_their_share_is_said() {
        let three = |second| {
            vec![
                socket(1, "192.0.2.7:443", second, [1.0, 0.0], 9000),
                socket(2, "192.0.2.8:443", second, [1.0, 0.0], 9000),
                socket(3, "198.51.100.1:443", second, [1.0, 0.0], 9000),
            ]
        };
        let found = measured(three);
        assert_eq!(found.peer_prefix, "192.0.2.0/24");
        assert!((found.peer_share_pct - 66.667).abs() < 0.01);
        assert!(Watch::default().measured().unwrap_err().contains("sent anything"));
    }
}
