// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sockets as `ccctl sockets` lists them, and as `ss` does: two witnesses of the same.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::time::Duration;

use ccctl_testbed::Namespace;
use serde_json::{Map, Value};

use super::{ccctl, json};

const LIMIT: Duration = Duration::from_secs(60);

/// What `ccctl sockets` with these words tells.
#[track_caller]
pub fn listed(words: &[&str]) -> Vec<Value> {
    let answer = json(&[&["sockets", "--json"], words].concat());
    assert_eq!(answer["unreadable"], serde_json::json!([]), "{words:?}");
    answer["sockets"].as_array().unwrap().clone()
}

/// Cookies of sockets; each may appear once only.
#[track_caller]
pub fn cookies(sockets: &[Value]) -> BTreeSet<u64> {
    let all: BTreeSet<u64> = sockets.iter().map(|socket| socket["cookie"].as_u64().unwrap()).collect();
    assert_eq!(all.len(), sockets.len(), "a socket is listed twice");
    all
}

/// A line of `ss`.
#[derive(Debug, Clone)]
pub struct Line {
    pub state: String,
    pub local: String,
    pub remote: String,
    words: Vec<String>,
}

impl Line {
    /// What follows `KEY:`, or the word after `KEY`.
    pub fn value(&self, key: &str) -> Option<&str> {
        let prefix = format!("{key}:");
        let after = self.words.iter().skip_while(|word| *word != key).nth(1).map(String::as_str);
        self.words.iter().find_map(|word| word.strip_prefix(&prefix)).or(after)
    }

    /// `a/b` as two numbers.
    pub fn pair(&self, key: &str) -> Option<(&str, &str)> {
        self.value(key)?.split_once('/')
    }

    /// What it tells of the connection, under the names that `ccctl` has for it.
    #[track_caller]
    pub fn values(&self) -> Map<String, Value> {
        let whole = |key: &str| self.value(key).map(|text| text.parse::<u64>().unwrap());
        let us = |text: &str| (text.parse::<f64>().unwrap() * 1000.0).round() as u64;
        let bytes_per_s =
            |key: &str| self.value(key).map(|bits| bits.trim_end_matches("bps").parse::<u64>().unwrap() / 8);
        let retransmits = self.pair("retrans").unwrap_or(("0", "0"));
        let values: [(&str, Value); 12] = [
            ("cwnd_pkts", whole("cwnd").into()),
            ("ssthresh_pkts", whole("ssthresh").into()),
            ("srtt_us", self.pair("rtt").map(|(srtt, _)| us(srtt)).into()),
            ("min_rtt_us", self.value("minrtt").map(us).into()),
            ("delivery_rate_bytes_per_s", bytes_per_s("delivery_rate").into()),
            ("pacing_rate_bytes_per_s", bytes_per_s("pacing_rate").into()),
            ("mss_bytes", whole("mss").into()),
            ("in_flight_pkts", whole("unacked").unwrap_or(0).into()),
            ("retransmits_in_flight_pkts", retransmits.0.parse::<u64>().unwrap().into()),
            ("retransmits_pkts", retransmits.1.parse::<u64>().unwrap().into()),
            ("delivered_pkts", whole("delivered").unwrap_or(0).into()),
            ("acked_bytes", whole("bytes_acked").unwrap_or(0).into()),
        ];
        values.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }

    /// The number after `KEY:`; 0 without one.
    #[track_caller]
    pub fn number(&self, key: &str) -> u64 {
        self.value(key).map_or(0, |text| text.parse().unwrap())
    }

    /// Processes that have it open.
    pub fn pids(&self) -> BTreeSet<u64> {
        let users = self.value("users").unwrap_or_default();
        users.split("pid=").skip(1).map(|rest| rest.split(',').next().unwrap().parse().unwrap()).collect()
    }
}

/// What `ss` tells of the TCP sockets of a namespace that have an algorithm, by cookie.
#[track_caller]
pub fn ss(namespace: &Namespace) -> BTreeMap<u64, Line> {
    let output = namespace.run(Command::new("ss").args(["-H", "-O", "-tanpie"]), LIMIT).unwrap();
    assert!(output.success(), "{}", output.stderr);
    let lines = output.stdout.lines().filter_map(|line| {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let line = Line {
            state: words[0].clone(),
            local: words[3].clone(),
            remote: words[4].clone(),
            words: words[5..].to_vec(),
        };
        let cookie = u64::from_str_radix(line.value("sk")?, 16).unwrap();
        (!["TIME-WAIT", "SYN-RECV"].contains(&line.state.as_str())).then_some((cookie, line))
    });
    lines.collect()
}

/// Expects that the words select those sockets of the namespaces for which `holds`, by `ss`, and gives their number.
#[track_caller]
pub fn selects(namespaces: &[&Namespace], words: &[&str], holds: impl Fn(&Line) -> bool) -> usize {
    let expected: BTreeSet<u64> =
        namespaces.iter().flat_map(|one| ss(one)).filter(|(_, line)| holds(line)).map(|(cookie, _)| cookie).collect();
    assert_eq!(cookies(&listed(words)), expected, "ccctl sockets {}", words.join(" "));
    let table = ccctl(&[&["sockets", "--columns", "cookie"], words].concat());
    let lines: BTreeSet<String> = table.stdout.lines().skip(1).map(str::to_owned).collect();
    assert_eq!(lines, expected.iter().map(u64::to_string).collect(), "ccctl sockets {}: the table", words.join(" "));
    expected.len()
}
