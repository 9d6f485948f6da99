// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `ccctl trace` tells of events: as many as the kernel's own counters, or it says how many it lost; and its end,
//! however it comes.

use crate::support;
use crate::support::acks;
use crate::support::trace;
use std::io::Write as _;
use std::process::Command;

use acks::nstat;
use ccctl_testbed::{cookie_of, eventually, run_ok, settled, HostState, Network, Offload, SERVER_V4};
use nix::sys::signal::Signal;
use serde_json::Value;
use support::connection::{carry, open, Endpoints};
use support::listing::ss;
use support::Folder;
use trace::{quiet, Tracing, LIMIT};

/// Without offloads: an ACK for two packets.
fn network() -> Network {
    let network = Network::new().unwrap();
    for offload in [Offload::Tso, Offload::Gso, Offload::Gro] {
        network.set_offload(offload, false).unwrap();
    }
    network
}

/// In pieces, so that some hundred ACKs come while no thread of a busy host sits on the socket and has them merged.
fn carry_pieces(connection: &mut Endpoints) {
    for _ in 0..300 {
        carry(connection, 100_000);
    }
}

/// Segments that reached the sender and were not merged before TCP looked at them.
fn arrived(network: &Network, work: impl FnOnce()) -> u64 {
    let before = nstat(&network.client);
    work();
    quiet(&network.client);
    let now = nstat(&network.client).since(&before);
    now.get("TcpInSegs") - now.get("TcpExtTCPBacklogCoalesce")
}

fn integer(row: &Value, key: &str) -> u64 {
    row[key].as_u64().unwrap_or_else(|| panic!("{key} of {row}"))
}

/// Each row is what an ACK meets: the first one meets what was there before anything was sent.
#[test]
fn each_ack_has_a_row() {
    support::test("rows of ACKs", 60, || {
        let folder = Folder::new("trace-acks");
        let network = network();
        let mut connection = open(&network, SERVER_V4, "cubic");
        carry(&mut connection, 1000);
        quiet(&network.client);
        let cookie = cookie_of(&connection.0).unwrap();
        let before = ss(&network.client)[&cookie].value("bytes_acked").unwrap().parse::<u64>().unwrap();
        let tracing = Tracing::start(&folder, &network.client, &["--each-ack"]);
        let arrived = arrived(&network, || carry_pieces(&mut connection));
        let traced = tracing.stop();
        let rows = traced.of_socket("ack", cookie);
        assert_eq!((rows.len() as u64, &traced.summary["lost_events"]), (arrived, &0.into()), "{}", traced.summary);
        assert!(arrived > 100, "{arrived} ACKs only");
        assert_eq!(integer(rows[0], "acked_bytes"), before, "{}", rows[0]);
        assert!(rows.is_sorted_by_key(|row| integer(row, "acked_bytes")));
        assert!(rows.iter().map(|row| row["time_s"].as_f64().unwrap()).is_sorted());
        let after = ss(&network.client)[&cookie].value("bytes_acked").unwrap().parse::<u64>().unwrap();
        let last = rows[rows.len() - 1];
        let rest = after - integer(last, "acked_bytes");
        assert!(rest > 0, "{last}");
        assert_eq!(rest, integer(last, "in_flight_bytes"), "the last ACK is for all that it meets in flight");
    });
}

/// A stopped reader and a small ring: rows that are there and rows that are lost are all ACKs.
#[test]
fn lost_events_are_counted() {
    support::test("lost events", 60, || {
        let folder = Folder::new("trace-lost");
        let network = network();
        let mut connection = open(&network, SERVER_V4, "cubic");
        let lost_before = ccctl_telemetry::lost_events::read().unwrap();
        let tracing = Tracing::start(&folder, &network.client, &["--each-ack", "--ring", "16384"]);
        tracing.signal(Signal::SIGSTOP);
        let arrived = arrived(&network, || carry_pieces(&mut connection));
        tracing.signal(Signal::SIGCONT);
        let traced = tracing.stop();
        let (lost, rows) = (integer(&traced.summary, "lost_events"), traced.rows.len() as u64);
        println!("{arrived} ACKs: {rows} rows, {lost} lost");
        assert!(lost > 100 && rows > 10, "{}", traced.summary);
        // Retransmissions and recovery take room, too.
        let acks = traced.of("ack").count() as u64;
        assert!(acks <= arrived && rows + lost >= arrived, "{arrived} ACKs: {acks} rows of {rows}, {lost} lost");
        if rows == acks && nstat(&network.client).get("TcpRetransSegs") == 0 {
            assert_eq!(acks + lost, arrived);
        }
        assert_eq!(traced.facts["lost_events"].as_str(), Some(&*lost.to_string()));
        assert_eq!(ccctl_telemetry::lost_events::read().unwrap() - lost_before, lost, "as the daemon exports it");
        assert!(
            traced.stderr.contains(&format!("{lost} events were dropped for lack of buffer space")),
            "{}",
            traced.stderr
        );
    });
}

/// Marks of losses: the counters in their rows are those of `ss`, timeouts are those of the kernel.
#[test]
fn losses_and_timeouts_are_those_of_the_kernel() {
    support::test("marks of losses", 90, || {
        let folder = Folder::new("trace-losses");
        let network = Network::with_bottleneck(30, 20_000).unwrap();
        let mut connection = open(&network, SERVER_V4, "reno");
        let cookie = cookie_of(&connection.0).unwrap();
        let tracing = Tracing::start(&folder, &network.client, &["--every", "50ms"]);
        let before = nstat(&network.client);
        carry(&mut connection, 4_000_000);
        quiet(&network.client);
        let recoveries = nstat(&network.client).since(&before);
        let cut = ["-n", network.server.name(), "link", "set", "veth0", "down"];
        run_ok(Command::new("ip").args(cut), LIMIT).unwrap();
        connection.0.write_all(b"into the void").unwrap();
        eventually(LIMIT, || match nstat(&network.client).since(&before).get("TcpExtTCPTimeouts") {
            0..=2 => Err("no timeouts yet"),
            _ => Ok(()),
        })
        .unwrap();
        let traced = tracing.stop();
        let line = ss(&network.client)[&cookie].clone();
        let now = nstat(&network.client).since(&before);
        let marks = traced.of_socket("retransmit", cookie);
        let counted: Vec<u64> = marks.iter().map(|row| integer(row, "retransmits_pkts")).collect();
        assert!(counted.len() > 5 && counted.is_sorted_by(|a, b| a < b), "{counted:?}");
        let all = line.pair("retrans").unwrap().1.parse::<u64>().unwrap();
        let last = counted[counted.len() - 1];
        assert!(last == all || last + 1 == all, "{last}, ss a moment later: {line:?}");
        // A tail loss probe and a timeout each retransmit once: no segment is without its mark.
        assert_eq!(counted[0], 1, "{counted:?}");
        let timeouts = traced.of_socket("timeout", cookie).len() as u64;
        let by_kernel = now.get("TcpExtTCPTimeouts");
        assert!(timeouts == by_kernel || timeouts + 1 == by_kernel, "{timeouts} of {by_kernel}");
        let entered = traced.of_socket("recovery", cookie).iter().filter(|row| row["ca_state"] == "recovery").count();
        let by_kernel = recoveries.get("TcpExtTCPSackRecovery") + recoveries.get("TcpExtTCPRenoRecovery");
        let entered = entered as u64;
        assert!(entered == by_kernel || entered + 1 == by_kernel, "{entered} of {by_kernel} fast recoveries");
        assert!(entered > 0, "no recovery");
    });
}

/// A connection that comes while the trace runs is traced, and its end too; then a trace of one cookie is over.
#[test]
fn connections_come_and_go() {
    support::test("sockets that come and go", 60, || {
        let folder = Folder::new("trace-come");
        let network = Network::new().unwrap();
        let tracing = Tracing::start(&folder, &network.client, &["--every", "10ms", "--dst", SERVER_V4]);
        let mut connection = open(&network, SERVER_V4, "cubic");
        let cookie = cookie_of(&connection.0).unwrap();
        let has_rows = || std::fs::read_to_string(tracing.part()).unwrap().contains(&format!("\"cookie\":{cookie},"));
        eventually(LIMIT, || if has_rows() { Ok(()) } else { Err("no row yet") }).unwrap();
        carry(&mut connection, 100_000);
        drop(connection);
        let traced = tracing.stop();
        assert!(traced.stderr.contains("no socket matches yet"), "{}", traced.stderr);
        let rows = traced.of_socket("sample", cookie);
        // Found before it carried anything but its SYN.
        assert!(rows.len() > 2 && integer(rows[0], "acked_bytes") <= 1, "{rows:?}");
        assert_eq!(traced.of_socket("closed", cookie).len(), 1, "{:?}", traced.rows.last());
        assert_eq!(traced.summary["socket_count"], 1, "{}", traced.summary);

        let connection = open(&network, SERVER_V4, "cubic");
        let cookie = cookie_of(&connection.0).unwrap();
        let one = Tracing::start(&folder, &network.client, &["--cookie", &cookie.to_string()]);
        drop(connection);
        let traced = one.wait(); // nobody stops it
        assert_eq!(traced.rows.last().unwrap()["event"], "closed");
    });
}

#[test]
fn a_killed_trace_leaves_its_rows_and_nothing_in_the_kernel() {
    support::test("a killed trace", 60, || {
        let folder = Folder::new("trace-killed");
        let network = Network::new().unwrap();
        let mut connection = open(&network, SERVER_V4, "cubic");
        let before = HostState::read().unwrap();
        let mut tracing = Tracing::start(&folder, &network.client, &["--each-ack"]);
        carry(&mut connection, 2_000_000);
        let part = tracing.part();
        eventually(LIMIT, || {
            carry(&mut connection, 20_000);
            let rows = std::fs::read_to_string(&part).unwrap_or_default().lines().count();
            if rows > 10 {
                Ok(())
            } else {
                Err(format!("{rows} rows"))
            }
        })
        .unwrap();
        tracing.kill();
        eventually(LIMIT, || settled(&before)).unwrap();
        let text = std::fs::read_to_string(&part).unwrap();
        let whole = text.lines().filter(|line| serde_json::from_str::<Value>(line).is_ok()).count();
        assert!(whole + 1 >= text.lines().count() && whole > 10, "{whole} whole lines");
        let table = ccctl_series::read(&part).unwrap();
        assert!(table.rows() + 2 >= whole, "{} rows of {whole} lines", table.rows());
    });
}
