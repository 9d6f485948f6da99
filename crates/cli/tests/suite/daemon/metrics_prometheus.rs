// SPDX-License-Identifier: MIT OR Apache-2.0
//! A real Prometheus scrapes the daemon, knows the alerts, and answers every query of the dashboard.

use crate::support;
use crate::support::metrics;
use std::io::Write as _;
use std::process::{Command, Stdio};

use ccctl_testbed::{run, Cgroup, Flows, Network, Receiver, SERVER_V4};
use metrics::{fetch, fetch_port, free_port, LIMIT};
use serde_json::Value;
use support::daemon::Daemon;
use support::prometheus::{configs, Prometheus};

/// Every query of the dashboard, and the metrics that its variables name, with the variables as Grafana would fill them.
fn queries() -> Vec<String> {
    let text = std::fs::read_to_string(configs().join("grafana/ccctl.json")).unwrap();
    let board: Value = serde_json::from_str(&text).unwrap();
    let panels = board["panels"].as_array().unwrap().iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().cloned().unwrap_or_default());
    let filled = |expression: &str| {
        let variables = ["$job", "$host", "$name", "$cgroup"];
        let expression = expression.replace("$__rate_interval", "30s");
        let filled = variables.iter().fold(expression, |filled, variable| filled.replace(variable, ".*"));
        assert!(!filled.contains('$'), "a variable that the dashboard does not have: {filled}");
        filled
    };
    targets.map(|target| filled(target["expr"].as_str().unwrap())).collect()
}

fn promtool(words: &[&str]) {
    let output = run(Command::new("promtool").args(words).current_dir(configs().join("prometheus")), LIMIT).unwrap();
    assert!(output.success(), "promtool {words:?}: {}{}", output.stdout, output.stderr);
}

/// Complaints about the text of a scrape, as promtool has them.
fn complaints(text: &str) -> String {
    let mut promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    promtool.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = promtool.wait_with_output().unwrap();
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn alerts_are_what_promtool_accepts_and_expects() {
    promtool(&["check", "rules", "ccctl.rules.yml"]);
    promtool(&["test", "rules", "ccctl.rules.test.yml"]);
}

#[test]
fn prometheus_scrapes_it_and_the_dashboard_finds_data() {
    support::test("prometheus", 240, || {
        let (port, cgroup) = (free_port(), Cgroup::new("prometheus").unwrap());
        let config = format!(
            "[instance.metr]\nalgorithm = \"cubic\"\n[[rule]]\ncgroup = \"{}\"\nuse = \"metr\"\n\
             [metrics]\nenabled = true\nlisten = \"127.0.0.1:{port}\"\nacks = [\"lo\"]\nbpf_stats = true\n[guard]\n",
            cgroup.path()
        );
        let mut daemon = Daemon::start("prometheus", &config);
        let prometheus = Prometheus::start(port, "");
        let network = Network::with_bottleneck(20, 30_000).unwrap();
        let receiver = Receiver::start(&network.server, "::").unwrap();
        let flows = Flows::start(&network.client, &support::steady(&receiver, SERVER_V4, "metr"), 3).unwrap();
        let (_, text) = fetch(&daemon, &[]);
        assert_eq!(complaints(&text), "", "promtool check metrics");
        assert!(!complaints("ccctl_x_ms 1\n").is_empty(), "promtool finds what is wrong");
        let (_, open) = fetch_port(port, &["--header", "Accept: application/openmetrics-text;version=1.0.0"]);
        assert!(open.ends_with("# EOF\n") && open.contains("# UNIT ccctl_rtt_seconds seconds\n"), "{open}");
        prometheus.finds("up{job=\"ccctl\"} == 1");
        answers(&prometheus);
        let acked = prometheus.query("ccctl_acked_bytes_total{name=\"metr\",cgroup=\"other\"}").unwrap();
        assert_eq!(acked.len(), 1, "{acked:?}");
        let rules = prometheus.ask("rules", &[]).unwrap();
        let bad: Vec<&Value> =
            rules["groups"][0]["rules"].as_array().unwrap().iter().filter(|rule| rule["health"] != "ok").collect();
        assert!(bad.is_empty(), "{bad:?}");
        flows.stop().unwrap();
        daemon.json(&["down", "--json"]);
        assert_eq!(daemon.ended(), Some(0));
    });
}

/// Each query is understood and finds something. Of what has not happened there is nothing to find: no drop by reason and no ACK
/// of the clock's interface is certain, so traffic over it is made meanwhile.
fn answers(prometheus: &Prometheus) {
    let queries = queries();
    assert!(queries.len() > 30, "{queries:?}");
    let (of_experiments, others): (Vec<_>, Vec<_>) =
        queries.into_iter().partition(|query| query.contains("ccctl_experiment_"));
    // none runs here; `experiment.rs` has one and looks for its metrics
    assert!(!of_experiments.is_empty() && of_experiments.iter().all(|query| prometheus.query(query).is_ok()));
    for query in others {
        prometheus.finds(&query);
    }
}
