// SPDX-License-Identifier: MIT OR Apache-2.0
//! Congestion marks on a real path: what DCTCP and Reno make of them. Expected values are those of RFC 8257 and RFC 3168.

use crate::support;
use std::thread::sleep;
use std::time::Duration;

use ccctl_catalog::kernel::TCP_INFINITE_SSTHRESH;
use ccctl_testbed::{
    cookie_of, eventually, Amount, Flows, Network, Receiver, Sending, TcpState, TcpStates, SERVER_V4, SERVER_V6,
};
use serde_json::Value;
use support::connection::{carry, open};
use support::ecn_fields::ecn_fields;
use support::trace::Tracing;
use support::{default_name, succeeds, Folder};

const LIMIT: Duration = Duration::from_secs(20);
/// Slower than the sender, so that it is the window that limits what is in flight; the queue never fills.
const RATE_MBIT_PER_S: u32 = 200;
const QUEUE_BYTES: u32 = 2_000_000;
/// Enough for a window to forget where it began.
const SETTLED_WINDOWS: u32 = 100;
const SAMPLES: usize = 20;
/// g of RFC 8257, as the RFC recommends it.
const GAIN: f64 = 1.0 / 16.0;
/// alpha is kept in units of this: each step may round by one.
const ALPHA_UNIT: f64 = 1.0 / 1024.0;
const TRACED_BYTES: usize = 10_000_000;

/// Several times what path and queue hold: where marks arrive all the time no window gets there.
const IMPOSSIBLE_CWND_PKTS: u32 = 5_000;

/// A path that keeps the order: without a bottleneck two processors deliver at once, and a sender takes what is overtaken
/// for lost.
fn path() -> Network {
    Network::with_bottleneck(RATE_MBIT_PER_S, QUEUE_BYTES).unwrap()
}

/// A flow from a path on which every `every`-th packet is marked, seen several times once it has settled. Thresholds are of two
/// packets at least (RFC 5681 section 3.1). A mark is no loss: where the order is kept nothing is retransmitted.
fn observe(network: fn() -> Network, algorithm: &str, address: &str, every: u32) -> Vec<TcpState> {
    let network = marking(network(), every);
    let seen = states_of(&network, algorithm, address);
    for state in &seen {
        assert!((2..=TCP_INFINITE_SSTHRESH).contains(&state.ssthresh_pkts), "{state:?}");
        assert!(state.cwnd_pkts <= IMPOSSIBLE_CWND_PKTS, "{state:?}");
        assert!(!network.has_bottleneck() || state.retransmitted_pkts == 0, "{state:?}");
    }
    seen
}

/// Both ends speak ECN, and every `every`-th packet to the server is marked.
fn marking(network: Network, every: u32) -> Network {
    network.have_ecn().unwrap();
    for end in [&network.client, &network.server] {
        end.set_sysctl("net/ipv4/tcp_early_retrans", "0").unwrap(); // no probes when the machine is late
    }
    network.mark_every(every).unwrap();
    network
}

fn states_of(network: &Network, algorithm: &str, address: &str) -> Vec<TcpState> {
    let name = default_name(algorithm);
    let receiver = Receiver::start(&network.server, "::").unwrap();
    receiver.set_algorithm(&name).unwrap();
    let to = receiver.at(address);
    let sending = Sending { to, algorithm: Some(name), amount: Amount::UntilStopped, pause: Duration::ZERO };
    let flows = Flows::start(&network.client, &sending, 1).unwrap();
    let states = TcpStates::load().unwrap();
    let settled = || match states.read(&network.client).unwrap().as_slice() {
        [state] if is_settled(state) => Ok(()),
        others => Err(format!("not settled: {others:?}")),
    };
    eventually(LIMIT, settled).unwrap();
    let mut seen = Vec::new();
    for _ in 0..SAMPLES {
        sleep(Duration::from_millis(5));
        seen.extend(states.read(&network.client).unwrap());
    }
    flows.stop().unwrap();
    assert!(receiver.failures().is_empty(), "{:?}", receiver.failures());
    seen
}

fn is_settled(state: &TcpState) -> bool {
    let window_pkts = state.cwnd_pkts.max(state.prior_cwnd_pkts);
    state.delivered_ce_pkts > 0 && state.delivered_pkts >= SETTLED_WINDOWS.saturating_mul(window_pkts)
}

/// RFC 3168 section 6.1: packets are ECN-capable where both ends agreed, and only there. RFC 8257 section 3.1: a SYN of DCTCP is so, too.
#[test]
fn dctcp_without_ecn_sends_packets_that_no_queue_marks() {
    support::test("ECT of DCTCP", 60, || {
        succeeds(&["load", "dctcp"]);
        let network = Network::new().unwrap();
        assert_eq!(ecn_fields(&network.client, "bpf_dctcp", "bpf_dctcp"), "2 then 2", "both ends asked");
        assert_eq!(ecn_fields(&network.client, "bpf_dctcp", "reno"), "0 2 then 0", "one end asked");
        drop(network);
        succeeds(&["unload", "bpf_dctcp"]);
    });
}

/// RFC 8257 section 3.2: the receiver tells of exactly the packets that were marked; section 3.3 step 9: a reduction leaves
/// (1 - alpha / 2) of the window, and alpha is 1 where every packet is marked.
#[test]
fn dctcp_tells_of_every_mark() {
    support::exact("DCTCP's marks", 120, || {
        succeeds(&["load", "dctcp"]);
        for (address, every) in [(SERVER_V4, 16), (SERVER_V6, 16), (SERVER_V4, 4), (SERVER_V6, 1)] {
            let seen = observe(|| Network::new().unwrap(), "dctcp", address, every);
            let last = seen.last().unwrap();
            let told = f64::from(last.delivered_ce_pkts) / f64::from(last.delivered_pkts);
            let share = 1.0 / f64::from(every);
            assert!((told - share).abs() <= 0.02 * share, "every {every}-th packet to {address}: told of {told}");
            if every == 1 {
                assert!(seen.iter().all(|state| state.ssthresh_pkts == 2), "{last:?}");
            }
        }
        succeeds(&["unload", "bpf_dctcp", "--force"]);
    });
}

/// RFC 8257 section 3.3: with each window (step 4) alpha takes a sixteenth of the share of packets that were marked in it (steps
/// 5 to 7); step 9: a reduction leaves (1 - alpha / 2) of the window. Computed again from what each ACK met.
#[test]
fn dctcp_alpha_is_the_average_of_marked_shares_and_a_reduction_leaves_1_less_half_of_it() {
    support::exact("DCTCP's alpha", 180, || {
        succeeds(&["load", "dctcp"]);
        for (address, every) in [(SERVER_V4, 16), (SERVER_V6, 16), (SERVER_V4, 4), (SERVER_V6, 1)] {
            let acks = acks_of_dctcp(address, every);
            let what = format!("every {every}-th packet to {address}");
            let (mut window, mut windows, mut reductions) = (acks[0].window, 0, 0);
            for [ack, next] in acks.windows(2).map(|pair| [&pair[0], &pair[1]]) {
                let expected = match window.share_at(ack, next) {
                    Some(share) => {
                        windows += 1;
                        ack.alpha * (1.0 - GAIN) + share * GAIN
                    }
                    None => ack.alpha,
                };
                // A sixteenth of less than 16 units rounds to nothing: without marks alpha goes to zero from there.
                let is_zero = next.alpha == 0.0 && expected < ALPHA_UNIT / GAIN;
                assert!(
                    (next.alpha - expected).abs() <= ALPHA_UNIT || is_zero,
                    "{what}: {expected} of {ack:?}: {next:?}"
                );
                // A reduction begins with CWR (tcp_enter_cwr()). One that follows in the ACK that ended another is seen where it
                // leaves another threshold.
                let is_reduced = next.is_reducing && !ack.is_reducing;
                if is_reduced || next.ssthresh_pkts != ack.ssthresh_pkts {
                    let ssthresh_pkts = next.ssthresh_pkts.unwrap_or_else(|| panic!("{what}: no threshold: {next:?}"));
                    let kept_pkts = (ack.cwnd_pkts * (1.0 - next.alpha / 2.0)).max(2.0);
                    let off_pkts = (f64::from(ssthresh_pkts) - kept_pkts).abs();
                    assert!(off_pkts <= 1.0, "{what}: {kept_pkts} of {ack:?}: {next:?}");
                    reductions += 1;
                }
            }
            println!("{what}: {} ACKs, {windows} windows, {reductions} reductions", acks.len());
            assert!(windows >= 50, "{what}: {windows} windows only");
            assert!(reductions >= 10 || every == 1, "{what}: {reductions} reductions only");
        }
        succeeds(&["unload", "bpf_dctcp", "--force"]);
    });
}

/// What an ACK met.
#[derive(Debug)]
struct Ack {
    una: u32,
    nxt: u32,
    delivered_pkts: u32,
    delivered_ce_pkts: u32,
    cwnd_pkts: f64,
    /// None before the first reduction.
    ssthresh_pkts: Option<u32>,
    /// Is the window being reduced for a mark?
    is_reducing: bool,
    alpha: f64,
    /// Where the algorithm's own window ends, and what was delivered when it began.
    window: Window,
}

/// `WindowEnd` of the RFC, and the counts at its start.
#[derive(Debug, Clone, Copy)]
struct Window {
    end: u32,
    delivered_pkts: u32,
    delivered_ce_pkts: u32,
}

impl Ack {
    fn of_row(row: &Value) -> Self {
        let whole = |key: &str| row[key].as_u64().unwrap_or_else(|| panic!("{key} of {row}")) as u32;
        let una = whole("snd_una");
        Self {
            una,
            nxt: una.wrapping_add(whole("in_flight_bytes")),
            delivered_pkts: whole("delivered_pkts"),
            delivered_ce_pkts: whole("delivered_ce_pkts"),
            cwnd_pkts: whole("cwnd_pkts").into(),
            ssthresh_pkts: row["ssthresh_pkts"].as_u64().map(|pkts| pkts as u32),
            is_reducing: row["ca_state"] == "cwr",
            alpha: f64::from(whole("state.alpha_q10")) * ALPHA_UNIT,
            window: Window {
                end: whole("state.window_end_seq"),
                delivered_pkts: whole("state.window_delivered"),
                delivered_ce_pkts: whole("state.window_delivered_ce"),
            },
        }
    }
}

impl Window {
    /// The share of marks if `ack` is the first for data behind the window's end, which begins another one. The window has the
    /// packets of this ACK (steps 1 to 4); Linux before 6.15 counts them for the next one.
    fn share_at(&mut self, ack: &Ack, next: &Ack) -> Option<f64> {
        let is_over = (next.una.wrapping_sub(self.end) as i32) > 0;
        let share = is_over.then(|| {
            let delivered_pkts = next.delivered_pkts.wrapping_sub(self.delivered_pkts).max(1);
            f64::from(next.delivered_ce_pkts.wrapping_sub(self.delivered_ce_pkts)) / f64::from(delivered_pkts)
        });
        let is_idle = next.una == ack.nxt; // the kernel begins anew with the next packet: CA_EVENT_TX_START
        if is_over || is_idle {
            let Ack { delivered_pkts, delivered_ce_pkts, .. } = *next;
            *self = Self { end: ack.nxt, delivered_pkts, delivered_ce_pkts };
        }
        share
    }
}

/// A flow from end to end, on a path where every `every`-th packet is marked.
fn acks_of_dctcp(address: &str, every: u32) -> Vec<Ack> {
    let folder = Folder::new("dctcp-acks");
    let network = marking(path(), every);
    network.server.set_sysctl("net/ipv4/tcp_congestion_control", "bpf_dctcp").unwrap();
    let mut connection = open(&network, address, "bpf_dctcp");
    let cookie = cookie_of(&connection.0).unwrap();
    let tracing = Tracing::start(&folder, &network.client, &["--each-ack", "--ring", "16777216"]);
    carry(&mut connection, TRACED_BYTES);
    let traced = tracing.stop();
    assert_eq!(traced.summary["lost_events"], 0, "{}", traced.summary);
    let rows = traced.of_socket("ack", cookie);
    assert_eq!(rows[rows.len() - 1]["retransmits_pkts"], 0, "the path was to lose nothing");
    rows.into_iter().map(Ack::of_row).collect()
}

/// RFC 3168 section 6.1.2: a mark halves the window as a loss does (RFC 5681: to no less than two packets).
#[test]
fn reno_halves_at_a_mark() {
    support::exact("Reno under marks", 60, || {
        succeeds(&["load", "reno"]);
        for address in [SERVER_V4, SERVER_V6] {
            let seen = observe(path, "reno", address, 256);
            assert!(seen.last().unwrap().delivered_ce_pkts > 0, "no mark was told of: {:?}", seen.last());
            for state in seen {
                assert_eq!(state.ssthresh_pkts, (state.prior_cwnd_pkts / 2).max(2), "{state:?}");
            }
        }
        succeeds(&["unload", "bpf_reno", "--force"]);
    });
}
