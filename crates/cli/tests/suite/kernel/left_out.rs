// SPDX-License-Identifier: MIT OR Apache-2.0
//! What becomes of windows where the kernel leaves hooks out (docs/reference/kernel-matrix.md): five streams through a bottleneck that
//! holds 40 packets, so that there are some hundred recoveries in a few seconds. A kernel that leaves nothing out passes, too.

use std::collections::BTreeMap;
use std::thread::sleep;
use std::time::Duration;

use ccctl_testbed::{Amount, Flows, Network, Receiver, Sending, TcpStates, SERVER_V4};

use crate::support::trace::{Traced, Tracing};
use crate::support::{self, succeeds, times, Folder};

const RATE_MBIT_PER_S: u32 = 20;
const QUEUE_BYTES: u32 = 60_000;
const STREAMS: usize = 5;
const TIME: Duration = Duration::from_secs(4);
/// Above this window the algorithms are not exact; path and queue hold 1/20,000 of it.
const IMPOSSIBLE_CWND_PKTS: u64 = 1 << 20;
/// Two round trips with the queue full. A wild stream keeps its window for as long as its recovery lasts: 800 ms and more.
const LONGEST: Duration = Duration::from_millis(50);
/// ACKs in a row of one socket that meet an impossible window: the hooks of some may be left out, too.
const MOST_WILD_ACKS: usize = 5;
/// The kernel's own cubic sends 60 to 232 packets of a stream again, a wild stream 1,000 and more. Each stream's share is 1,700.
const MOST_RETRANSMITTED_PKTS: u32 = 500;

/// Sends again nothing but what was lost, and no window is wild after the next hook.
#[test]
fn five_streams_keep_their_windows() {
    for algorithm in ["cubic", "reno"] {
        support::test("five streams", 90, || {
            let name = format!("five_{algorithm}");
            succeeds(&["load", algorithm, "--as", &name]);
            for run in 0..times(3, 10) {
                one_run(&name, run);
            }
            succeeds(&["unload", &name]);
        });
    }
}

fn one_run(name: &str, run: usize) {
    let folder = Folder::new("five-streams");
    let network = Network::with_bottleneck(RATE_MBIT_PER_S, QUEUE_BYTES).unwrap();
    let receiver = Receiver::start(&network.server, "0.0.0.0").unwrap();
    let states = TcpStates::load().unwrap();
    let sending = Sending {
        to: receiver.at(SERVER_V4),
        algorithm: Some(name.to_owned()),
        amount: Amount::UntilStopped,
        pause: Duration::ZERO,
    };
    let tracing = Tracing::start(&folder, &network.client, &["--each-ack"]);
    let flows = Flows::start(&network.client, &sending, STREAMS).unwrap();
    sleep(TIME);
    let ended: Vec<u32> = states.read(&network.client).unwrap().iter().map(|state| state.retransmitted_pkts).collect();
    let traced = tracing.stop();
    flows.stop().unwrap();
    let (wild, most, longest) = wild_acks(&traced);
    println!("{name}, run {run}: sent again {ended:?}; {wild} ACKs met a wild window, {most} in a row at most, in {longest:?}");
    assert_eq!(ended.len(), STREAMS);
    assert!(ended.iter().sum::<u32>() > 50, "no losses, no recoveries: {ended:?}");
    assert!(longest <= LONGEST, "a window above 2^20 for {longest:?}");
    assert!(most <= MOST_WILD_ACKS, "a window above 2^20 at {most} ACKs in a row");
    assert!(ended.iter().all(|pkts| *pkts <= MOST_RETRANSMITTED_PKTS), "{ended:?}");
}

/// ACKs that met an impossible window; of those in a row of one socket the most, and the longest time from the first to the last. A
/// row is written when the ACK arrives, before its hooks: after the last one that met such a window the hooks have repaired it,
/// however long the next ACK takes.
fn wild_acks(traced: &Traced) -> (usize, usize, Duration) {
    let mut in_a_row: BTreeMap<u64, (usize, f64)> = BTreeMap::new();
    let (mut wild, mut most, mut longest_s) = (0, 0, 0.0_f64);
    for row in traced.of("ack") {
        let (cookie, time_s) = (row["cookie"].as_u64().unwrap(), row["time_s"].as_f64().unwrap());
        if row["cwnd_pkts"].as_u64().unwrap() > IMPOSSIBLE_CWND_PKTS {
            let (count, since_s) = in_a_row.entry(cookie).or_insert((0, time_s));
            *count += 1;
            wild += 1;
            most = most.max(*count);
            longest_s = longest_s.max(time_s - *since_s);
        } else {
            in_a_row.remove(&cookie);
        }
    }
    (wild, most, Duration::from_secs_f64(longest_s))
}
