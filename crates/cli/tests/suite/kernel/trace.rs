// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl trace` at intervals: its values are those of `ss` and of `ccctl sockets`, its filters choose what `ss` finds, all
//! formats hold the same, and pictures show what the trace has.

use crate::support;
use crate::support::trace;
use std::collections::BTreeSet;
use std::process::Command;

use ccctl_series::Table;
use ccctl_testbed::{cookie_of, run_ok, Cgroup, Namespace, Network, SERVER_V4, SERVER_V6};
use serde_json::{json as value, Map, Value};
use support::connection::{carry, open};
use support::listing::{listed, ss, Line};
use support::{ccctl, code, json, refuses, succeeds, Folder};
use trace::{lines, quiet, Tracing, LIMIT};

/// What `ss` shows of a connection, as a trace names it.
fn by_ss(line: &Line) -> Map<String, Value> {
    let mut values = line.values();
    let rttvar_us = line.pair("rtt").map(|(_, ms)| (ms.parse::<f64>().unwrap() * 1000.0).round() as u64);
    values.insert("rttvar_us".to_owned(), rttvar_us.into());
    values
}

#[test]
fn quiet_connections_show_what_ss_and_sockets_show() {
    support::test("trace values", 120, || {
        succeeds(&["load", "compound"]);
        succeeds(&["load", "yeah"]);
        let folder = Folder::new("trace-values");
        let network = Network::with_bottleneck(40, 30_000).unwrap();
        let uses = [(SERVER_V4, "bpf_compound"), (SERVER_V6, "bpf_yeah"), (SERVER_V4, "cubic"), (SERVER_V6, "bbr")];
        let mut held = uses.map(|(address, algorithm)| open(&network, address, algorithm));
        for connection in &mut held {
            carry(connection, 2_000_000);
        }
        quiet(&network.client);
        let lines = ss(&network.client);
        let sockets = listed(&["--netns", network.client.name()]);
        let tracing = Tracing::start(&folder, &network.client, &["--every", "20ms"]);
        let traced = tracing.stop();
        assert!(traced.stderr.is_empty(), "{}", traced.stderr);
        for (client, _) in &held {
            let cookie = cookie_of(client).unwrap();
            let rows = traced.of_socket("sample", cookie);
            assert!(rows.len() >= 2, "{} rows", rows.len());
            let expected = by_ss(&lines[&cookie]);
            let socket = sockets.iter().find(|socket| socket["cookie"] == cookie).unwrap();
            for row in rows {
                for (key, expected) in &expected {
                    if key == "ssthresh_pkts" && expected.is_null() {
                        // ss shows none from here on
                        assert!(row[key].as_u64().is_none_or(|pkts| pkts >= 0xffff), "{key} of {row}");
                        continue;
                    }
                    assert_eq!(&row[key], expected, "{key} of {row}; {:?}", lines[&cookie]);
                }
                holds_state(row, socket);
            }
        }
        let lost =
            lines.values().map(|line| line.pair("retrans").map_or(0, |(_, all)| all.parse().unwrap())).sum::<u64>();
        assert!(lost > 0, "a bottleneck without loss shows little");
        drop((held, network));
        succeeds(&["unload", "bpf_compound", "bpf_yeah"]);
    });
}

/// State fields of the algorithm are those of `ccctl sockets`; all other state columns are empty.
fn holds_state(row: &Value, socket: &Value) {
    let none = serde_json::Map::new();
    let state = socket["algorithm_state"].as_object().unwrap_or(&none);
    let expected: serde_json::Map<_, _> = state.clone().into_iter().filter(|(_, value)| !value.is_null()).collect();
    assert_eq!(row["congestion_control"], socket["congestion_control"]);
    assert_eq!(row["algorithm"], socket["algorithm"]);
    let columns =
        row.as_object().unwrap().iter().filter_map(|(name, value)| Some((name.strip_prefix("state.")?, value)));
    let present = columns.filter(|(_, value)| !value.is_null());
    let found: serde_json::Map<_, _> = present.map(|(name, value)| (name.to_owned(), value.clone())).collect();
    assert_eq!(found, expected, "{row}");
    assert_eq!(row["algorithm"].is_null(), state.is_empty(), "{row}");
}

/// Counters of a busy flow only grow, and lie between those that `ss` saw before and after.
#[test]
fn a_busy_flow_lies_between_what_ss_saw_before_and_after() {
    support::test("trace of a busy flow", 60, || {
        let folder = Folder::new("trace-busy");
        let network = Network::with_bottleneck(20, 30_000).unwrap();
        let mut connection = open(&network, SERVER_V4, "cubic");
        let cookie = cookie_of(&connection.0).unwrap();
        carry(&mut connection, 100_000);
        let before = by_ss(&ss(&network.client)[&cookie]);
        let tracing = Tracing::start(&folder, &network.client, &["--every", "10ms"]);
        carry(&mut connection, 3_000_000);
        let traced = tracing.stop();
        let after = by_ss(&ss(&network.client)[&cookie]);
        let rows = traced.of_socket("sample", cookie);
        assert!(rows.len() > 20, "{} rows", rows.len());
        for key in ["delivered_pkts", "acked_bytes", "retransmits_pkts"] {
            let mut values = vec![before[key].as_i64().unwrap()];
            values.extend(rows.iter().map(|row| row[key].as_i64().unwrap()));
            values.push(after[key].as_i64().unwrap());
            assert!(values.is_sorted(), "{key}: {values:?}");
        }
        let times: Vec<f64> = rows.iter().map(|row| row["time_s"].as_f64().unwrap()).collect();
        assert!(times.is_sorted_by(|a, b| a < b), "{times:?}");
        let windows: BTreeSet<i64> = rows.iter().map(|row| row["cwnd_pkts"].as_i64().unwrap()).collect();
        assert!(windows.len() > 3, "cubic moves its window: {windows:?}");
        assert!(rows.iter().any(|row| row["in_flight_bytes"].as_i64() > Some(0)));
    });
}

/// Traces with these words for a moment, and expects rows of those sockets for which `holds`.
#[track_caller]
fn chooses(folder: &Folder, namespace: &Namespace, words: &[&str], holds: impl Fn(&Line) -> bool) {
    let expected: BTreeSet<u64> = ss(namespace)
        .into_iter()
        .filter(|(_, line)| line.state == "ESTAB" && holds(line))
        .map(|(cookie, _)| cookie)
        .collect();
    let file = folder.path().join("chosen.jsonl");
    let all = [&["trace", "--every", "20ms", "--for", "60ms", "-o", file.to_str().unwrap()], words].concat();
    let output = ccctl(&all);
    assert!(output.success(), "{words:?}: {}", output.stderr);
    let found: BTreeSet<u64> = lines(&file).0.iter().map(|row| row["cookie"].as_u64().unwrap()).collect();
    assert_eq!(found, expected, "{words:?}");
    assert_eq!(output.stderr.contains("no socket matches yet"), expected.is_empty(), "{}", output.stderr);
}

#[test]
fn filters_choose_what_ss_finds() {
    support::test("trace filters", 90, || {
        let folder = Folder::new("trace-filters");
        let network = Network::new().unwrap();
        let cgroup = Cgroup::new("trace").unwrap();
        let mine = cgroup.enter(|| open(&network, SERVER_V4, "reno")).unwrap();
        let others = [open(&network, SERVER_V4, "cubic"), open(&network, SERVER_V6, "cubic")];
        let name = network.client.name();
        let port = mine.0.peer_addr().unwrap().port().to_string();
        let local = mine.0.local_addr().unwrap().to_string();
        let cookie = format!("{:#x}", cookie_of(&mine.0).unwrap());
        let me = std::process::id();
        let peer = |line: &Line| line.remote.ends_with(&format!(":{port}"));
        let traced = |words: &[&str], holds: &dyn Fn(&Line) -> bool| {
            chooses(&folder, &network.client, &[&["--netns", name], words].concat(), holds);
        };
        traced(&[], &|_| true);
        traced(&["--port", &port], &peer);
        traced(&["--dst", SERVER_V4], &|line| line.remote.starts_with(SERVER_V4));
        traced(&["--src", &local], &|line| line.local == local);
        traced(&["--cookie", &cookie], &peer);
        traced(&["--instance", "reno"], &peer);
        traced(&["--algorithm", "cubic"], &|line| !peer(line));
        traced(&["--cgroup", cgroup.path()], &peer);
        traced(&["--pid", &me.to_string()], &|line| line.pids().contains(&me.into()));
        traced(&["--pid", &me.to_string(), "--instance", "cubic"], &|line| !peer(line));
        traced(&["--port", "1"], &|_| false);
        chooses(&folder, &network.server, &["--netns", network.server.name(), "--port", &port], |line| {
            line.local.ends_with(&format!(":{port}"))
        });
        drop((mine, others));
    });
}

/// What is loaded while a trace runs is an instance of the algorithm as well.
#[test]
fn an_instance_that_is_loaded_meanwhile_is_traced() {
    support::test("trace of a new instance", 60, || {
        let folder = Folder::new("trace-new-instance");
        let network = Network::new().unwrap();
        let tracing = Tracing::start(&folder, &network.client, &["--every", "20ms", "--algorithm", "vegas"]);
        succeeds(&["load", "vegas", "--as", "later"]);
        let held = ["later", "reno"].map(|name| open(&network, SERVER_V4, name));
        let [later, reno] = [&held[0].0, &held[1].0].map(|client| cookie_of(client).unwrap());
        std::thread::sleep(std::time::Duration::from_secs(2)); // sockets that match only now are found within 1 s
        let traced = tracing.stop();
        assert!(!traced.of_socket("sample", later).is_empty(), "{}", traced.stderr);
        assert!(traced.of_socket("sample", reno).is_empty());
        drop((held, network));
        succeeds(&["unload", "later"]);
    });
}

/// The same quiet socket in three files: the same columns and, but for times, the same rows.
#[test]
fn all_formats_hold_the_same() {
    support::test("trace formats", 60, || {
        succeeds(&["load", "yeah"]);
        let folder = Folder::new("trace-formats");
        let network = Network::new().unwrap();
        let mut connection = open(&network, SERVER_V4, "bpf_yeah");
        carry(&mut connection, 500_000);
        quiet(&network.client);
        let tables = ["jsonl", "csv"].map(|extension| {
            let file = folder.path().join(format!("trace.{extension}"));
            let words = ["trace", "--netns", network.client.name(), "--every", "20ms", "--for", "200ms", "-o"];
            let said = succeeds(&[&words[..], &[file.to_str().unwrap()]].concat());
            assert!(said.starts_with("1 socket traced") && said.contains(file.to_str().unwrap()), "{said}");
            ccctl_series::read(&file).unwrap()
        });
        for table in &tables {
            assert!(table.rows() >= 2, "{} rows", table.rows());
            assert_eq!(table.facts["lost_events"], "0", "{:?}", table.facts);
            assert_eq!(without_time(table), without_time(&tables[0]));
        }
        drop((connection, network));
        succeeds(&["unload", "bpf_yeah"]);
    });
}

/// Names, units and the first and last row's values of all columns but the time.
fn without_time(table: &Table) -> Vec<(String, String, [Option<ccctl_series::Value>; 2])> {
    let columns = table.columns().iter().filter(|column| column.name != "time_s");
    let ends = [0, table.rows() - 1];
    columns.map(|column| (column.name.clone(), column.unit.clone(), ends.map(|row| column.values.get(row)))).collect()
}

#[test]
fn a_migrated_socket_changes_its_columns() {
    support::test("trace of a migration", 60, || {
        succeeds(&["load", "compound"]);
        succeeds(&["load", "yeah"]);
        let folder = Folder::new("trace-migrate");
        let network = Network::new().unwrap();
        let mut connection = open(&network, SERVER_V4, "bpf_yeah");
        let cookie = cookie_of(&connection.0).unwrap();
        let tracing = Tracing::start(&folder, &network.client, &["--every", "10ms"]);
        for to in ["bpf_compound", "reno"] {
            carry(&mut connection, 200_000);
            std::thread::sleep(std::time::Duration::from_millis(100));
            succeeds(&["migrate", "--cookie", &cookie.to_string(), "--to", to]);
        }
        let traced = tracing.stop();
        let rows = traced.of_socket("sample", cookie);
        let mut programs: Vec<&Value> = rows.iter().map(|row| &row["algorithm"]).collect();
        programs.dedup();
        assert_eq!(programs, [&value!("yeah"), &value!("compound"), &Value::Null]);
        for row in rows {
            let has = |field: &str| !row[format!("state.{field}")].is_null();
            let is_compound = row["congestion_control"] == "bpf_compound";
            assert_eq!(has("dwnd_q8"), is_compound, "{row}");
        }
        drop((connection, network));
        succeeds(&["unload", "bpf_compound", "bpf_yeah"]);
    });
}

#[test]
fn pictures_show_what_the_trace_has() {
    support::test("pictures of a trace", 60, || {
        succeeds(&["load", "compound"]);
        let folder = Folder::new("trace-plot");
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let network = Network::with_bottleneck(20, 20_000).unwrap();
        let mut connection = open(&network, SERVER_V4, "bpf_compound");
        let (file, picture) = (path("trace.jsonl"), path("live.svg"));
        let tracing = Tracing::start(&folder, &network.client, &["--backlog", "--plot", &picture]);
        carry(&mut connection, 1_500_000);
        let summary = tracing.stop().summary;
        assert_eq!(
            (&summary["socket_count"], &summary["file"], &summary["plot"]),
            (&value!(1), &value!(file), &value!(picture))
        );
        is_picture(
            &picture,
            &["cwnd", "ssthresh", "smoothed", "minimum", "retransmission", "delivery rate", "waiting"],
        );
        let answer = json(&["plot", &file, "--draw", "dwnd_q8,gamma_q8", "--json"]);
        assert_eq!(
            (answer["traced_sockets"].as_array().unwrap().len(), &answer["lost_events"]),
            (1, &value!(0)),
            "{answer}"
        );
        let panels = value!(["window (packets)", "RTT (ms)", "state", "rate (Mbit/s)"]);
        assert_eq!((&answer["panels"], &answer["plot"]), (&panels, &value!(path("trace.svg"))), "{answer}");
        is_picture(&path("trace.svg"), &["cwnd", "dwnd_q8 / 2^8", "gamma_q8 / 2^8", "bpf_compound"]);
        let cookie = cookie_of(&connection.0).unwrap().to_string();
        let by_cookie = json(&["plot", &file, "--socket", &cookie, "--backlog", "--json", "-o", &path("by.svg")]);
        assert_eq!(by_cookie["traced_sockets"][0]["cookie"].to_string(), cookie);
        assert_eq!(by_cookie["panels"].as_array().unwrap().last(), Some(&value!("backlogs of the host (packets)")));
        drop((connection, network));
        succeeds(&["unload", "bpf_compound"]);
        refuses(&["plot", &file, "--draw", "dwnd"], code::USAGE, &["dwnd", "dwnd_q8"]);
        refuses(&["plot", &file, "--socket", "2"], code::USAGE, &["no socket \"2\"", "from 1 to 1", "--list"]);
        refuses(&["plot", &path("none.csv")], code::USAGE, &["none.csv"]);
        refuses(&["plot", &folder.file("empty.xlsx", "")], code::USAGE, &["empty.xlsx"]);
        refuses(&["plot", &folder.file("table.csv", "a,b\n1,2\n")], code::USAGE, &["no column time_s"]);
        refuses(&["plot", &file, "-o", &path("x.gif")], code::USAGE, &[".svg, .png or .pdf"]);
        refuses(&["plot", &file, "-o", &path("no/x.svg")], code::USAGE, &["cannot write"]);
    });
}

/// Well-formed by xmllint's word where that is to be had, and with all of these words in it.
#[track_caller]
fn is_picture(file: &str, words: &[&str]) {
    let text = std::fs::read_to_string(file).unwrap();
    assert!(text.starts_with("<svg") || text.starts_with("<?xml"), "{}", &text[..text.len().min(80)]);
    assert!(text.trim_end().ends_with("</svg>"));
    for word in words {
        assert!(text.contains(word), "{word} is not in {file}");
    }
    run_ok(
        Command::new("python3").args(["-c", "import sys, xml.dom.minidom as dom; dom.parse(sys.argv[1])", file]),
        LIMIT,
    )
    .unwrap();
}

#[test]
fn wrong_words_are_refused_before_anything_starts() {
    support::test("trace refusals", 60, || {
        let folder = Folder::new("trace-refusals");
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        refuses(&["trace", "-o", &path("trace.txt")], code::USAGE, &[".jsonl or .csv", "trace.jsonl"]);
        refuses(&["trace", "-o", &path("trace.parquet")], code::USAGE, &[".jsonl or .csv", "trace.csv"]);
        refuses(&["trace", "-o", &path("no/trace.csv")], code::USAGE, &["no/trace"]);
        refuses(&["trace", "--plot", &path("trace.gif")], code::USAGE, &[".svg"]);
        refuses(&["trace", "--plot", &path("no/trace.svg")], code::USAGE, &["cannot write"]);
        refuses(&["trace", "--every", "10us"], code::USAGE, &["1ms", "--each-ack"]);
        refuses(&["trace", "--every", "10ms", "--each-ack"], code::USAGE, &["--each-ack"]);
        refuses(&["trace", "--instance", "bpf_none"], code::USAGE, &["bpf_none"]);
        refuses(&["trace", "--pid", "4294967295"], code::USAGE, &["no process"]);
        refuses(&["trace", "--netns", "no-such-namespace"], code::USAGE, &["no-such-namespace"]);
        refuses(&["trace", "--json"], code::USAGE, &["-o FILE"]);
        refuses(&["trace", "--ring", "5000"], code::USAGE, &["power of two"]);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "something was left");
    });
}
