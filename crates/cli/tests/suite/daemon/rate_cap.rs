// SPDX-License-Identifier: MIT OR Apache-2.0
//! The cap on what all connections of an instance of `fixed` send together.

use crate::support;
use crate::support::policy::{listen, pair};
use std::io::Write as _;
use std::thread;
use std::time::{Duration, Instant};

use ccctl_testbed::{eventually, Amount, Cgroup, Flows, Network, Receiver, Sending, SERVER_V4};
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

/// Each has the smaller one of its own rate and of its part of the cap, 6 Mbit/s.
#[test]
fn rates_of_rules_stay_below_the_cap() {
    support::exact("rates of rules and a cap", 60, || {
        let network = Network::new().unwrap();
        let [slow, fast, other] = ["slow", "fast", "other"].map(|name| Cgroup::new(name).unwrap());
        let rule = |cgroup: &Cgroup, rate: &str| {
            format!(
                "[[rule]]\ncgroup = \"{}\"\ndst = \"{SERVER_V4}\"\nuse = \"bpf_fixed\"\nparameters = {{ rate = \"{rate}\" }}\n",
                cgroup.path()
            )
        };
        let file = format!(
            "{FILE}[instance.bpf_fixed]\nalgorithm = \"fixed\"\nset = {{ rate = \"8mbit\", max_sum_rate = \"12mbit\" }}\n{}{}",
            rule(&slow, "4mbit"),
            rule(&fast, "20mbit")
        );
        let daemon = Daemon::start("own-rates", &file);
        let listener = listen(&other, &network.server, SERVER_V4);
        let one = pair(&slow, &network, &listener, SERVER_V4);
        have_rates(&network, &[500_000]);
        let two = pair(&fast, &network, &listener, SERVER_V4);
        have_rates(&network, &[500_000, 750_000]);
        daemon.json(&["tune", "bpf_fixed", "max_sum_rate=0", "--json"]);
        let mut both = [one, two];
        for pair in &mut both {
            pair.client.write_all(b"x").unwrap();
        }
        have_rates(&network, &[500_000, 2_500_000]);
        drop((both, listener));
        daemon.json(&["down", "--json"]);
    });
}
