// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every number of `/metrics` that tells of connections, against another source: `ss`, the counters of the network namespace, the
//! bytes that the test itself has sent, and the ACK clock.

use crate::support;
use crate::support::acks;
use crate::support::metrics;
use crate::support::policy;
use std::time::Duration;

use acks::{nstat, Counters, Measurement};
use ccctl_testbed::{run_ok, Amount, Cgroup, Flows, Network, Receiver, Sending, SERVER_V4};
use metrics::{scrape, until, Scrape, LABELS, LIMIT};
use policy::{listen, pair};
use support::daemon::Daemon;
use support::listing::{ss, Line as SsLine};

const CONFIG: &str = "[instance.metr]\nalgorithm = \"cubic\"\n[metrics]\nenabled = true\n";
const OWN: [(&str, &str); 2] = [("name", "metr"), ("cgroup", "other")];
const FLOWS: usize = 4;
const BYTES: u64 = 1_500_000;

fn sending(receiver: &Receiver, amount: Amount) -> Sending {
    Sending { to: receiver.at(SERVER_V4), algorithm: Some("metr".to_owned()), amount, pause: Duration::ZERO }
}

/// Off and on again after a moment: what is on the way is lost, and timeouts come.
fn interrupt(network: &Network) {
    let set = |state| {
        let mut ip = std::process::Command::new("ip");
        run_ok(ip.args(["-n", network.server.name(), "link", "set", "veth0", state]), LIMIT).unwrap();
    };
    set("down");
    std::thread::sleep(Duration::from_millis(900));
    set("up");
}

#[test]
fn what_connections_did_is_what_the_namespace_counted() {
    support::exact("metrics of lossy connections", 180, count_lossy_connections);
}

fn count_lossy_connections() {
    let daemon = Daemon::start("metrics", CONFIG);
    let network = Network::with_bottleneck(20, 30_000).unwrap();
    let receiver = Receiver::start(&network.server, "::").unwrap();
    let before = nstat(&network.client);
    let clock = Measurement::start(&network.client, &["--interface", "veth0"]);
    let flows = Flows::start(&network.client, &sending(&receiver, Amount::Bytes(BYTES)), FLOWS).unwrap();
    std::thread::sleep(Duration::from_millis(700));
    interrupt(&network);
    flows.wait().unwrap();
    let closed = |scrape: &Scrape| scrape.count("ccctl_connections_closed_total", &OWN) == FLOWS as u64;
    let scrape = until(&daemon, "all closed", closed);
    let counted = nstat(&network.client).since(&before);
    compare(&scrape, &counted, FLOWS as u64);
    let clock = &clock.stop()["acks_by_congestion_control"]["metr"];
    let sacks: u64 = clock["sack_blocks"].as_array().unwrap()[1..].iter().map(|count| count.as_u64().unwrap()).sum();
    let counted_sacks = scrape.count("ccctl_sack_acks_total", &OWN);
    println!("SACK {counted_sacks}, the clock has {sacks}");
    assert!(sacks > 50 && sacks.abs_diff(counted_sacks) * 50 <= sacks, "{counted_sacks} and {sacks} with SACK blocks");
    down(daemon);
}

fn compare(scrape: &Scrape, counted: &Counters, flows: u64) {
    let own = |name: &str| scrape.count(name, &OWN);
    assert_eq!(own("ccctl_connections_opened_total"), flows, "connections");
    // tcpi_bytes_acked (RFC 4898) counts the SYN, and the FIN where its ACK comes before the end.
    let (acked, sent) = (own("ccctl_acked_bytes_total"), flows * BYTES);
    assert!((sent..=sent + 2 * flows).contains(&acked), "{acked} acknowledged of {sent}");
    let (lost, timeouts) = (own("ccctl_loss_events_total"), own("ccctl_retransmission_timeouts_total"));
    println!("{lost} loss events, {timeouts} timeouts, {} retransmitted", own("ccctl_retransmitted_packets_total"));
    assert_eq!(own("ccctl_retransmitted_packets_total"), counted.get("TcpRetransSegs"), "retransmissions");
    assert_eq!(lost, counted.get("TcpExtTCPSackRecovery") + counted.get("TcpExtTCPRenoRecovery"), "losses");
    assert_eq!(timeouts, counted.get("TcpExtTCPTimeouts"), "timeouts");
    assert!(lost > 0 && timeouts > 0, "the path was to lose packets, and to be away for a while");
    // Segments of 1448 bytes, and shorter ones at the ends.
    let (bytes, packets) = (own("ccctl_retransmitted_bytes_total"), own("ccctl_retransmitted_packets_total"));
    assert!(bytes <= packets * 1448 && bytes > packets * 1000, "{bytes} bytes in {packets} packets");
    let (acks, known) = (own("ccctl_acks_total"), counted.get("TcpExtTCPHPAcks") + counted.get("TcpExtTCPPureAcks"));
    println!("ACKs {acks}, the namespace has {known}");
    // The namespace also has those of what was in the buffers when the application ended its side: FIN_WAIT1.
    assert!(acks <= known, "{acks} ACKs, the namespace counted {known}");
    assert!(acks >= known * 8 / 10, "{acks} ACKs, the namespace counted {known}");
    for name in ["ccctl_rtt_seconds", "ccctl_cwnd_packets"] {
        let count = own(&format!("{name}_count"));
        assert_eq!(count, acks, "{name}");
        let infinite = scrape.count(&format!("{name}_bucket"), &[OWN[0], OWN[1], ("le", "+Inf")]);
        assert_eq!(infinite, count, "{name}");
    }
}

/// Nothing of a test stays.
fn down(mut daemon: Daemon) {
    daemon.json(&["down", "--json"]);
    assert_eq!(daemon.ended(), Some(0));
}

fn number(line: &SsLine, key: &str) -> f64 {
    line.value(key).unwrap_or_else(|| panic!("no {key}: {line:?}")).parse().unwrap()
}

#[test]
fn gauges_and_histograms_hold_what_ss_shows() {
    support::test("metrics beside ss", 180, || {
        let network = Network::with_bottleneck(20, 200_000).unwrap();
        let receiver = Receiver::start(&network.server, "::").unwrap();
        support::succeeds(&["load", "cubic", "--as", "metr"]);
        // These are older than the daemon.
        let flows = Flows::start(&network.client, &sending(&receiver, Amount::UntilStopped), 3).unwrap();
        std::thread::sleep(Duration::from_millis(1500));
        let daemon = Daemon::start("metrics-ss", CONFIG);
        let more = Flows::start(&network.client, &sending(&receiver, Amount::UntilStopped), 2).unwrap();
        let scrape = until(&daemon, "five connections", |scrape| scrape.count("ccctl_connections", &OWN) == 5);
        assert_eq!(support::established(&network.client, "metr"), 5);
        assert_eq!(scrape.count("ccctl_connections_opened_total", &OWN), 2, "three are older");
        let mut rates = 0.0;
        for line in ss(&network.client).values().filter(|line| line.state == "ESTAB") {
            let rtt_s = number_before_slash(line, "rtt") / 1e3;
            let (low, high) = scrape.range("ccctl_rtt_seconds", &OWN);
            assert!((low / 2.0..=high * 2.0).contains(&rtt_s), "{rtt_s} s, and the histogram has {low} to {high}");
            let (low, high) = scrape.range("ccctl_cwnd_packets", &OWN);
            let cwnd = number(line, "cwnd");
            assert!((low / 2.0..=high * 2.0).contains(&cwnd), "{cwnd} packets, and the histogram has {low} to {high}");
            let rate = line.value("delivery_rate").unwrap().trim_end_matches("bps").parse::<f64>().unwrap();
            rates += rate / 8.0;
        }
        let exported = scrape.sum("ccctl_delivery_rate_bytes_per_second", &OWN);
        println!("delivery rates: {exported:.0}, ss has {rates:.0} bytes/s");
        assert!(exported > rates / 3.0 && exported < rates * 3.0, "{exported} and {rates}");
        more.stop().unwrap();
        flows.stop().unwrap();
        until(&daemon, "none", |scrape| scrape.count("ccctl_connections", &OWN) == 0);
        down(daemon);
    });
}

fn number_before_slash(line: &SsLine, key: &str) -> f64 {
    line.pair(key).unwrap_or_else(|| panic!("no {key}: {line:?}")).0.parse().unwrap()
}

#[test]
fn marks_are_those_that_the_namespace_was_told_of() {
    support::test("metrics of marks", 120, || {
        let daemon = Daemon::start("metrics-ecn", CONFIG);
        let network = Network::with_bottleneck(100, 2_000_000).unwrap();
        network.have_ecn().unwrap();
        network.mark_every(20).unwrap();
        let receiver = Receiver::start(&network.server, "::").unwrap();
        let before = nstat(&network.client);
        Flows::start(&network.client, &sending(&receiver, Amount::Bytes(BYTES)), 1).unwrap().wait().unwrap();
        let scrape = until(&daemon, "closed", |scrape| scrape.count("ccctl_connections_closed_total", &OWN) == 1);
        let counted = nstat(&network.client).since(&before);
        let marked = scrape.count("ccctl_ecn_marked_packets_total", &OWN);
        println!("{marked} marked packets");
        assert!(marked > 10, "one in 20 of a thousand");
        assert_eq!(marked, counted.get("TcpExtTCPDeliveredCE"));
        assert!(scrape.count("ccctl_window_reductions_total", &OWN) > 0);
        down(daemon);
    });
}

/// Two connections without ECN and one with it, which `ss` tells as well.
#[test]
fn connections_are_counted_by_what_they_agreed_to_on_marks() {
    support::test("metrics of ECN", 120, || {
        let daemon = Daemon::start("metrics-modes", CONFIG);
        let network = Network::new().unwrap();
        network.client.set_sysctl("net/ipv4/tcp_congestion_control", "metr").unwrap();
        let cgroup = Cgroup::new("modes").unwrap();
        let listener = listen(&cgroup, &network.server, SERVER_V4);
        let open = |ecn: &str| {
            for end in [&network.client, &network.server] {
                end.set_sysctl("net/ipv4/tcp_ecn", ecn).unwrap();
            }
            pair(&cgroup, &network, &listener, SERVER_V4)
        };
        let pairs = ["0", "1", "0"].map(open);
        let has_ecn = |line: &SsLine| line.value("ecn").is_some();
        let established = ss(&network.client);
        let marked = established.values().filter(|line| line.state == "ESTAB" && has_ecn(line)).count();
        let modes = [("disabled", 2), ("rfc3168", marked as u64), ("accecn", 0), ("pending", 0)];
        assert_eq!(marked, 1, "{established:?}");
        let is_so = |scrape: &Scrape| {
            modes.iter().all(|(mode, count)| {
                let labels = [OWN[0], OWN[1], ("ecn_mode", mode)];
                let lines = scrape.lines("ccctl_ecn_connections", &labels);
                lines.len() == 1 && lines[0].value as u64 == *count
            })
        };
        until(&daemon, "two without and one with ECN", is_so);
        drop(pairs);
        down(daemon);
    });
}

/// Only cgroups of rules have a label; it follows the rules.
#[test]
fn cgroups_that_rules_name_have_a_label_and_no_other_label_is_there() {
    support::test("metrics of cgroups", 120, || {
        let (named, other) = (Cgroup::new("named").unwrap(), Cgroup::new("other").unwrap());
        let below = named.child("below").unwrap();
        let rule = format!("[[rule]]\ncgroup = \"{}\"\nuse = \"metr\"\n", named.path());
        let daemon = Daemon::start("metrics-cgroup", &format!("{CONFIG}{rule}"));
        let network = Network::new().unwrap();
        network.client.set_sysctl("net/ipv4/tcp_congestion_control", "metr").unwrap();
        let listener = listen(&other, &network.server, SERVER_V4);
        let pairs = [&named, &below, &other].map(|cgroup| pair(cgroup, &network, &listener, SERVER_V4));
        let labelled = [("name", "metr"), ("cgroup", named.path())];
        let is_so = |scrape: &Scrape| {
            scrape.count("ccctl_connections", &labelled) == 2 && scrape.count("ccctl_connections", &OWN) == 1
        };
        let scrape = until(&daemon, "two named, one other", is_so);
        assert_eq!(scrape.count("ccctl_connections_opened_total", &labelled), 2);
        for line in &scrape.0 {
            let is_bound = |label: &String| label == "le" && line.name.ends_with("_bucket");
            let strange: Vec<_> =
                line.labels.keys().filter(|label| !LABELS.contains(&label.as_str()) && !is_bound(label)).collect();
            assert!(strange.is_empty(), "{line:?}");
            if let Some(cgroup) = line.labels.get("cgroup") {
                assert!(cgroup == "other" || cgroup == named.path(), "{line:?}");
            }
        }
        daemon.reload(CONFIG);
        until(&daemon, "three others", |scrape| {
            scrape.count("ccctl_connections", &OWN) == 3 && scrape.lines("ccctl_connections", &labelled).is_empty()
        });
        drop(pairs);
        down(daemon);
    });
}

/// What the daemon has done itself, from the API's answers; and run times, which the kernel counts while they are wanted.
#[test]
fn operations_are_counted_and_programs_timed() {
    support::test("metrics of operations", 120, || {
        let daemon = Daemon::start("metrics-work", &format!("{CONFIG}bpf_stats = true\n"));
        let network = Network::new().unwrap();
        let receiver = Receiver::start(&network.server, "::").unwrap();
        let flows = Flows::start(&network.client, &support::steady(&receiver, SERVER_V4, "metr"), 3).unwrap();
        let moved =
            daemon.json(&["migrate", "--instance", "metr", "--to", "reno", "--netns", network.client.name(), "--json"]);
        assert_eq!(moved["moved"], 3, "{moved}");
        daemon.json(&["migrate", "--instance", "reno", "--to", "metr", "--netns", network.client.name(), "--json"]);
        assert!(!daemon
            .ccctl(&["migrate", "--instance", "metr", "--to", "nosuch", "--netns", network.client.name()])
            .success());
        daemon.json(&["swap", "metr", "--json"]);
        assert!(!daemon.ccctl(&["swap", "nosuch"]).success());
        let scrape = scrape(&daemon);
        for (name, expected) in [
            ("ccctl_migrations_total", 3),
            ("ccctl_migration_failures_total", 1),
            ("ccctl_migrated_sockets_total", 6),
            ("ccctl_unmigrated_sockets_total", 0),
            ("ccctl_swaps_total", 1),
            ("ccctl_guard_trips_total", 0),
        ] {
            assert_eq!(scrape.count(name, &[]), expected, "{name}");
        }
        assert_eq!(scrape.count("ccctl_instance_info", &[("name", "metr"), ("algorithm", "cubic")]), 1);
        let shown = support::show("metr");
        let programs = shown["instances"]
            .as_array()
            .into_iter()
            .flatten()
            .chain(shown["programs"].as_array().into_iter().flatten());
        let names: Vec<&str> = programs.filter_map(|program| program["name"].as_str()).collect();
        for line in scrape.lines("ccctl_bpf_run_seconds_total", &[("name", "metr")]) {
            assert!(names.contains(&line.labels["program"].as_str()), "{line:?}: {names:?}");
        }
        assert!(scrape.sum("ccctl_bpf_run_seconds_total", &[("name", "other")]) > 0.0);
        flows.stop().unwrap();
        down(daemon);
    });
}

/// What is counted is shown without a restart of the daemon, and nothing of it is in the kernel when it is off.
#[test]
fn they_are_off_by_default_and_leave_nothing_in_the_kernel() {
    support::test("metrics on and off", 120, || {
        let daemon = Daemon::start("metrics-off", "");
        let (status, body) = metrics::fetch(&daemon, &[]);
        assert!(status == 404 && body.contains("enabled = true"), "{status} {body}");
        let programs = || {
            let all = aya::programs::loaded_programs().flatten();
            all.filter(|program| program.name_as_str() == Some("ack_arrives")).count()
        };
        assert_eq!(programs(), 0);
        daemon.reload(CONFIG);
        assert_eq!(scrape(&daemon).count("ccctl_scrape_success", &[]), 1);
        assert_eq!(programs(), 1);
        let status = daemon.reload("[metrics]\nenabled = true\nlisten = \"0.0.0.0:9877\"\n");
        assert!(status["error"]["cause"].as_str().unwrap().contains("0.0.0.0:9877"), "{status}");
        assert_eq!(scrape(&daemon).count("ccctl_scrape_success", &[]), 1, "a bad file changes nothing");
        daemon.reload("");
        assert_eq!((metrics::fetch(&daemon, &[]).0, programs()), (404, 0));
        down(daemon);
    });
}
