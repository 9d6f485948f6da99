// SPDX-License-Identifier: MIT OR Apache-2.0
//! The cap on what all connections of an instance of `fixed` send together.

use crate::support;
use std::thread;
use std::time::{Duration, Instant};

use ccctl_testbed::{eventually, Amount, Flows, Network, Receiver, Sending, SERVER_V4};
use serde_json::Value;
use support::daemon::Daemon;
use support::listing::listed;

const FILE: &str = "[guard]\nfallback = \"reno\"\n";
const PARAMETERS: [&str; 4] = ["--set", "rate=8mbit", "--set", "max_sum_rate=12mbit"];
/// 12 Mbit/s
const CAP_BYTES_PER_S: f64 = 1_500_000.0;
const LIMIT: Duration = Duration::from_secs(20);

fn connections(network: &Network) -> Vec<Value> {
    let all = listed(&["--netns", network.client.name(), "--instance", "bpf_fixed", "--tcp-state", "established"]);
    all.into_iter().map(|socket| socket["transport"].clone()).collect()
}

/// Waits until the kernel paces the connections at these rates, in bytes per second.
#[track_caller]
fn have_rates(network: &Network, expected: &[u64]) {
    let rates = eventually(LIMIT, || {
        let found = connections(network);
        let mut rates: Vec<u64> = found.iter().filter_map(|it| it["pacing_rate_bytes_per_s"].as_u64()).collect();
        rates.sort_unstable();
        if rates == expected {
            Ok(())
        } else {
            Err(format!("{rates:?}, expected {expected:?}"))
        }
    });
    rates.unwrap_or_else(|error| panic!("{error}"));
}

/// What arrives of all connections together, as a share of the cap, in two seconds.
fn share_of_cap(network: &Network) -> f64 {
    let acked = || connections(network).iter().filter_map(|it| it["acked_bytes"].as_u64()).sum::<u64>();
    let (began, before) = (Instant::now(), acked());
    thread::sleep(Duration::from_secs(2));
    (acked() - before) as f64 / began.elapsed().as_secs_f64() / CAP_BYTES_PER_S
}

/// A socket whose end the kernel does not tell of keeps its part of the cap.
#[test]
fn connections_of_fixed_stay_below_their_cap_together() {
    support::exact("cap of fixed", 180, || {
        let network = Network::with_bottleneck(100, 1_000_000).unwrap();
        let receiver = Receiver::start(&network.server, "::").unwrap();
        let daemon = Daemon::start("rate-cap", FILE);
        let loaded = daemon.ccctl(&[&["load", "fixed"][..], &PARAMETERS].concat());
        assert!(loaded.success(), "{}", loaded.stderr);
        let send = |count| {
            let sending = Sending {
                to: receiver.at(SERVER_V4),
                algorithm: Some("bpf_fixed".to_owned()),
                amount: Amount::UntilStopped,
                pause: Duration::ZERO,
            };
            Flows::start(&network.client, &sending, count).unwrap()
        };
        let three = send(3);
        have_rates(&network, &[500_000; 3]);
        let one = send(1);
        have_rates(&network, &[375_000; 4]);
        let share = share_of_cap(&network);
        assert!((0.7..1.1).contains(&share), "{share} of the cap");

        // those that stay have the share of those that end, up to the rate
        three.stop().unwrap();
        have_rates(&network, &[1_000_000]);
        let more = send(1);
        have_rates(&network, &[750_000; 2]);
        daemon.json(&["tune", "bpf_fixed", "max_sum_rate=8mbit", "--json"]);
        have_rates(&network, &[500_000; 2]);
        daemon.json(&["tune", "bpf_fixed", "max_sum_rate=0", "--json"]);
        have_rates(&network, &[1_000_000; 2]);

        // another program counts anew, and those that move to it leave the one before
        daemon.json(&[&["swap", "bpf_fixed", "--json"][..], &PARAMETERS].concat());
        let new = send(3);
        have_rates(&network, &[500_000, 500_000, 500_000, 1_000_000, 1_000_000]);
        let to = ["migrate", "--instance", "bpf_fixed", "--to", "bpf_fixed", "--dst", SERVER_V4, "--json"];
        assert_eq!(daemon.json(&to)["moved"], 2);
        have_rates(&network, &[300_000; 5]);
        let share = share_of_cap(&network);
        assert!((0.7..1.1).contains(&share), "{share} of the cap");
        // to another algorithm and back
        daemon.json(&["migrate", "--instance", "bpf_fixed", "--to", "reno", "--dst", SERVER_V4, "--json"]);
        let last = send(1);
        have_rates(&network, &[1_000_000]);
        for flows in [one, more, new, last] {
            flows.stop().unwrap();
        }
        daemon.json(&["down", "--json"]);
    });
}
