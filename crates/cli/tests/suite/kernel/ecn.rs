// SPDX-License-Identifier: MIT OR Apache-2.0
//! Congestion marks on a real path: what DCTCP and Reno make of them. Expected values are those of RFC 8257 and RFC 3168.

use crate::support;
use std::thread::sleep;
use std::time::Duration;

use ccctl_catalog::kernel::TCP_INFINITE_SSTHRESH;
use ccctl_testbed::{eventually, Amount, Flows, Network, Receiver, Sending, TcpState, TcpStates, SERVER_V4, SERVER_V6};
use support::{default_name, succeeds};

const LIMIT: Duration = Duration::from_secs(20);
/// Slower than the sender, so that it is the window that limits what is in flight; the queue never fills.
const RATE_MBIT_PER_S: u32 = 200;
const QUEUE_BYTES: u32 = 2_000_000;
/// Enough for alpha to forget where it began: at g = 1/16, (15/16)^100 = 0.002 of it is left.
const SETTLED_WINDOWS: u32 = 100;
const SAMPLES: usize = 20;
/// alpha is kept in 1/1024 and each step of its average may round by one: 16 of these in all, with g = 1/16. As much
/// again for windows that do not hold a whole number of marks.
const ALPHA_TOLERANCE: f64 = 2.0 * 16.0 / 1024.0;

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
    let network = network();
    let seen = states_of(&network, algorithm, address, every);
    for state in &seen {
        assert!((2..=TCP_INFINITE_SSTHRESH).contains(&state.ssthresh_pkts), "{state:?}");
        assert!(state.cwnd_pkts <= IMPOSSIBLE_CWND_PKTS, "{state:?}");
        assert!(!network.has_bottleneck() || state.retransmitted_pkts == 0, "{state:?}");
    }
    seen
}

fn states_of(network: &Network, algorithm: &str, address: &str, every: u32) -> Vec<TcpState> {
    let name = default_name(algorithm);
    for end in [&network.client, &network.server] {
        end.set_sysctl("net/ipv4/tcp_ecn", "1").unwrap();
        end.set_sysctl("net/ipv4/tcp_early_retrans", "0").unwrap(); // no probes when the machine is late
    }
    network.mark_every(every).unwrap();
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

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / count
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

/// RFC 8257 section 3.3 step 7: alpha is the average of the marked share F; step 9: a reduction leaves (1 - alpha / 2).
#[test]
fn dctcp_alpha_settles_at_the_share_of_marks_and_cuts_by_half_of_it() {
    support::exact("DCTCP's alpha", 120, || {
        succeeds(&["load", "dctcp"]);
        let layout = ccctl_catalog::algorithm("dctcp").unwrap().layout();
        let alpha = layout.state.iter().find(|field| field.name == "alpha_q10").unwrap();
        for (address, every) in [(SERVER_V4, 16), (SERVER_V6, 16), (SERVER_V4, 4), (SERVER_V6, 1)] {
            let what = format!("every {every}-th packet to {address}");
            let share = 1.0 / f64::from(every);
            let seen = observe(path, "dctcp", address, every);
            let mean_alpha = mean(seen.iter().map(|state| alpha.read(&state.private).unwrap() as f64 / 1024.0));
            println!("{what}: alpha {mean_alpha:.4}");
            assert!((mean_alpha - share).abs() <= ALPHA_TOLERANCE, "{what}: alpha is {mean_alpha}");
            for state in &seen {
                let kept_pkts = f64::from(state.prior_cwnd_pkts) * (1.0 - share / 2.0);
                let rounding_pkts = 1.0 + f64::from(state.prior_cwnd_pkts) * ALPHA_TOLERANCE;
                let off_pkts = (f64::from(state.ssthresh_pkts) - kept_pkts.max(2.0)).abs();
                assert!(off_pkts <= rounding_pkts, "{what}: {kept_pkts} packets were to be kept: {state:?}");
            }
        }
        succeeds(&["unload", "bpf_dctcp", "--force"]);
    });
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
