// SPDX-License-Identifier: MIT OR Apache-2.0
//! The dashboard and the alerts in `configs/` fit the metrics and the pages. Needs no privileges, Grafana or Prometheus.
#![allow(clippy::unwrap_used)] // a test fails by panicking

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

fn file(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)).unwrap()
}

fn dashboard() -> Value {
    serde_json::from_str(&file("configs/grafana/ccctl.json")).unwrap()
}

/// Names that a query may use; a histogram has three.
fn metrics() -> BTreeSet<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_ccctl")).args(["metrics", "--json"]).output().unwrap();
    let listed: Value = serde_json::from_slice(&output.stdout).unwrap();
    let names = listed["metrics"].as_array().unwrap().iter().flat_map(|metric| {
        let ends: &[&str] = if metric["kind"] == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
        ends.iter().map(|end| format!("{}{end}", metric["name"].as_str().unwrap()))
    });
    names.collect()
}

/// The metrics of an expression, each with its matchers.
fn selectors(expression: &str) -> Vec<(&str, &str)> {
    let starts = expression.match_indices("ccctl_").map(|(start, _)| &expression[start..]);
    starts
        .map(|text| {
            let end = text.find(|letter: char| !letter.is_ascii_lowercase() && letter != '_').unwrap_or(text.len());
            let (name, rest) = text.split_at(end);
            let matchers =
                rest.strip_prefix('{').and_then(|rest| rest.split_once('}')).map_or("", |(inside, _)| inside);
            (name, matchers)
        })
        .collect()
}

fn panels(board: &Value) -> &Vec<Value> {
    board["panels"].as_array().unwrap()
}

fn expressions(panel: &Value) -> Vec<&str> {
    panel["targets"]
        .as_array()
        .map_or(vec![], |all| all.iter().map(|target| target["expr"].as_str().unwrap()).collect())
}

#[test]
fn every_query_of_the_dashboard_has_known_metrics_and_is_filtered_by_job_and_host() {
    let (board, known) = (dashboard(), metrics());
    let all: Vec<&str> = panels(&board).iter().flat_map(expressions).collect();
    assert!(all.len() > 30, "{all:?}");
    for expression in all {
        let selectors = selectors(expression);
        assert!(!selectors.is_empty(), "{expression}");
        for (name, matchers) in selectors {
            assert!(known.contains(name), "there is no metric {name}: {expression}");
            for wanted in ["job=~\"$job\"", "instance=~\"$host\""] {
                assert!(matchers.split(',').any(|matcher| matcher == wanted), "{name} without {wanted}: {expression}");
            }
        }
    }
}

/// What is added up without `instance` mixes the hosts of a fleet.
#[test]
fn panels_that_add_up_hosts_say_so() {
    let board = dashboard();
    for panel in panels(&board) {
        let title = panel["title"].as_str().unwrap();
        let is_sum = |expression: &&str| {
            let sums = expression.matches("sum by (").count() + expression.matches("sum(").count();
            sums > expression.matches("sum by (job, instance").count()
        };
        let adds_up = expressions(panel).iter().any(is_sum);
        assert_eq!(adds_up, title.ends_with("sum over the selected hosts"), "{title}");
    }
}

#[test]
fn the_dashboard_has_a_variable_for_each_name_that_it_uses() {
    let board = dashboard();
    let variables = board["templating"]["list"].as_array().unwrap();
    let names: Vec<&str> = variables.iter().map(|variable| variable["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["datasource", "job", "host", "name", "cgroup"]);
    let known = metrics();
    for variable in &variables[1..] {
        let query = variable["query"]["query"].as_str().unwrap();
        assert!(selectors(query).iter().all(|(name, _)| known.contains(*name)), "{query}");
        assert_eq!(query, variable["definition"]);
    }
}

/// As Grafana's "Export for sharing externally" writes it; grafana.com refuses a file without.
#[test]
fn the_dashboard_can_be_imported() {
    let board = dashboard();
    assert!(board["id"].is_null());
    let inputs = board["__inputs"].as_array().unwrap();
    assert_eq!(inputs.len(), 1);
    assert_eq!((&inputs[0]["type"], &inputs[0]["pluginId"]), (&"datasource".into(), &"prometheus".into()));
    let input = format!("${{{}}}", inputs[0]["name"].as_str().unwrap());
    assert_eq!(board["templating"]["list"][0]["current"]["value"], input.as_str());
    let required = board["__requires"].as_array().unwrap();
    let ids: BTreeSet<&str> = required.iter().map(|one| one["id"].as_str().unwrap()).collect();
    let kinds = panels(&board).iter().map(|panel| panel["type"].as_str().unwrap()).filter(|kind| *kind != "row");
    let used: BTreeSet<&str> = kinds.chain(["grafana", "prometheus"]).collect();
    assert_eq!(ids, used);
}

/// Headings get their anchors from mdbook, lower case, which renderers of Markdown find as well.
#[test]
fn every_alert_has_a_runbook_that_exists() {
    let (rules, page) = (file("configs/prometheus/ccctl.rules.yml"), file("docs/guide/runbooks.md"));
    assert!(file("docs/SUMMARY.md").contains("(guide/runbooks.md)"), "the page is in the book");
    let values = |key: &'static str| rules.lines().filter_map(move |line| line.trim().strip_prefix(key));
    let alerts: Vec<&str> = values("- alert: ").collect();
    let urls: Vec<&str> = values("runbook_url: ").collect();
    assert!(alerts.len() >= 8, "{alerts:?}");
    let expected = |alert: &&str| {
        let anchor = alert.to_lowercase();
        format!("'{{{{ or $externalLabels.ccctl_runbooks \"file:///usr/share/doc/ccctl/runbooks.md\" }}}}#{anchor}'")
    };
    assert_eq!(urls, alerts.iter().map(expected).collect::<Vec<_>>());
    let headings: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    assert_eq!(headings, alerts, "docs/guide/runbooks.md");
    for section in page.split("\n## ").skip(1) {
        for part in ["\n**Means.** ", "\n**Look at.** ", "\n**Do.** "] {
            assert!(section.contains(part), "no {part:?}: {section}");
        }
    }
}
