// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl top` over real traffic, in a terminal: its numbers against the sender's own count and against `ss`.

use crate::support;
use crate::support::acks;
use crate::support::top;
use std::time::{Duration, Instant};

use acks::Measurement;
use ccctl_testbed::{Flows, Network, Receiver, Sending, SERVER_V4};
use support::connection::used;
use support::listing::{ss, Line};
use support::{json, succeeds};
use top::{bit_per_s, Screen};

const NAME: &str = "bpf_cubic";

/// Throughput in the row of the instance: after name, algorithm and sockets.
fn throughput(text: &str) -> Result<f64, String> {
    let row = Screen::row(text, NAME).ok_or("no such row")?;
    match &row[..] {
        [_, algorithm, sockets, value, unit, ..] if (algorithm.as_str(), sockets.as_str()) == ("cubic", "1") => {
            Ok(bit_per_s(value, unit))
        }
        _ => Err(format!("{row:?}")),
    }
}

/// What the kernel counts as acknowledged, by `ss`, and when.
fn acked(network: &Network) -> (u64, Instant) {
    let line = ss(&network.client).into_values().next().unwrap();
    (line.value("bytes_acked").unwrap().parse().unwrap(), Instant::now())
}

/// The receiver's path carries 20 Mbit/s. What the sender hands over and what is acknowledged differ by at most the
/// socket's buffers; each value on the screen is over one second, and so is each of the intervals compared with it, but
/// they do not begin together: at a steady rate a quarter is far more than that makes.
#[test]
fn throughput_is_what_was_sent_and_one_can_look_into_it() {
    support::test("throughput", 300, || {
        succeeds(&["load", "cubic"]);
        let network = Network::with_bottleneck(20, 60_000).unwrap();
        let receiver = Receiver::start(&network.server, "::").unwrap();
        let screen = Screen::open(80, 24, "");
        screen.wait("an instance without sockets", |text| {
            Screen::row(text, NAME).is_some_and(|row| row[1..3] == ["cubic", "0"])
        });
        let sending = Sending { pause: Duration::ZERO, ..support::steady(&receiver, SERVER_V4, NAME) };
        let flows = Flows::start(&network.client, &sending, 1).unwrap();
        screen.wait_for("traffic", |text| {
            throughput(text).and_then(|rate| if rate > 10e6 { Ok(()) } else { Err("slow".to_owned()) })
        });
        let ((acked_before, began), sent_before) = (acked(&network), flows.bytes());
        let mut shown = Vec::new();
        for _ in 0..5 {
            std::thread::sleep(Duration::from_secs(1));
            shown.push(throughput(&screen.text()).unwrap());
        }
        let ((acked_after, ended), sent_after) = (acked(&network), flows.bytes());
        let seconds = (ended - began).as_secs_f64();
        let mean = shown.iter().sum::<f64>() / shown.len() as f64;
        let by_ss = (acked_after - acked_before) as f64 * 8.0 / seconds;
        let by_sender = (sent_after - sent_before) as f64 * 8.0 / seconds;
        assert!((0.75..1.33).contains(&(mean / by_ss)), "{shown:?}, by ss {by_ss}");
        assert!((0.67..1.5).contains(&(mean / by_sender)), "{shown:?}, by the sender {by_sender}");
        let total = Screen::row(&screen.text(), "all").unwrap();
        assert!(bit_per_s(&total[2], &total[3]) >= mean * 0.5, "{total:?}");

        looks_into(&screen, &network, receiver.address().port());
        flows.stop().unwrap();
        screen.wait("the end of the connection", |text| text.contains("CLOSED: these are its last values"));
        screen.press(&["Escape"]);
        screen.wait("no socket", |text| text.contains("no socket uses it"));
        screen.press(&["Escape", "q"]);
        assert_eq!(screen.ended(), "0");
        drop((receiver, network));
        succeeds(&["unload", NAME]);
    });
}

/// Down to the sockets, and to the one.
fn looks_into(screen: &Screen, network: &Network, port: u16) {
    screen.enter("/");
    screen.enter(NAME);
    screen.press(&["Enter", "Enter"]);
    let remote = format!("{SERVER_V4}:{port}");
    let text = screen.wait("the socket", |text| text.contains(&format!("> {NAME}")) && text.contains(&remote));
    let line = ss(&network.client).into_values().find(|line| line.remote == remote).unwrap();
    assert!(text.contains(&line.local), "{}\n{text}", line.local);
    screen.press(&["Enter"]);
    screen.resize(160, 50);
    let declared = json(&["show", "cubic", "--json"])["state_fields"].clone();
    let fields: Vec<String> =
        declared.as_array().unwrap().iter().map(|field| field["name"].as_str().unwrap().to_owned()).collect();
    assert!(fields.len() > 2, "{fields:?}");
    let is_listed =
        |text: &str, field: &str| text.lines().any(|line| line.split_whitespace().any(|word| word == field));
    let clocks = ["epoch_us", "last_active_us", "step_since_us", "round_end_seq", "round_start_us", "last_ack_us"];
    let is_clock = |field: &&String| clocks.contains(&field.rsplit('.').next().unwrap());
    let text = screen.wait("fields of the state", |text| {
        fields.iter().filter(|field| !is_clock(field)).all(|field| is_listed(text, field))
    });
    assert!(!fields.iter().filter(is_clock).any(|field| is_listed(&text, field)), "clocks say nothing: {text}");
    for part in
        ["cwnd, ssthresh (dashed): pkts", "smoothed RTT: ms", "cubic keeps", &format!("{} -> {remote}", line.local)]
    {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let drawn =
        |text: &str, field: &str| text.lines().any(|line| line.contains("(s: next field)") && line.contains(field));
    screen.wait("a window first", |text| drawn(text, "w_max_pkts"));
    screen.press(&["s"]);
    screen.wait("the next field", |text| drawn(text, "origin_pkts"));
    screen.press(&["S", "S"]);
    screen.wait("the field before", |text| drawn(text, "reno_credit_q10"));
    screen.press(&["c", "S"]);
    screen.wait("with clocks", |text| drawn(text, "epoch_us") && is_listed(text, "last_active_us"));
    screen.press(&["c"]);
    screen.resize(80, 24);
}

/// `ss` leaves zeros at the end away.
fn rtt_ms(line: &Line) -> String {
    format!("{:.3}", line.pair("rtt").unwrap().0.parse::<f64>().unwrap())
}

/// Retransmissions in percent, as `ss` has them.
fn retransmits_pct(line: &Line) -> String {
    let number = |text: &str| text.parse::<f64>().unwrap();
    let (_, retransmits) = line.pair("retrans").expect("the queue is short: something was lost");
    format!("{:.2}", number(retransmits) * 100.0 / number(line.value("data_segs_out").unwrap()))
}

/// One socket is its own mean, and both sides read the same fields: no tolerance but that of two decimals. The ratio is
/// over ten seconds, the transfer takes one, and the screen has run since before it: all of it is within, for as long as
/// it takes to look. After a second the socket is idle, and its RTT and window are nobody's.
#[test]
fn the_ratio_of_one_socket_is_that_of_ss_and_idle_sockets_have_no_mean() {
    support::test("columns", 300, || {
        succeeds(&["load", "cubic"]);
        let network = Network::with_bottleneck(40, 30_000).unwrap();
        let screen = Screen::open(80, 24, "");
        screen.wait("two looks", |text| Screen::row(text, NAME).is_some_and(|row| row[3] == "0"));
        let held = used(&network, SERVER_V4, NAME, 3_000_000);
        let to = held.0.peer_addr().unwrap().to_string();
        screen.wait_for("the ratio of ss, and no means", |text| {
            let line = ss(&network.client).into_values().find(|line| line.remote == to).ok_or("ss has none")?;
            let row = Screen::row(text, NAME).ok_or("no row")?;
            let right = ["1", &retransmits_pct(&line), "-", "-"].map(str::to_owned);
            let shown = [&row[2], &row[5], &row[6], &row[7]].map(Clone::clone);
            if shown == right {
                Ok(())
            } else {
                Err(format!("ss {right:?}"))
            }
        });
        screen.enter("/");
        screen.enter(NAME);
        screen.press(&["Enter", "Enter"]);
        let line = ss(&network.client).into_values().find(|line| line.remote == to).unwrap();
        let row = screen.wait_for("the socket, looked at twice", |text| {
            let row = Screen::row(text, &line.local).ok_or("no row")?;
            if row.len() > 6 {
                Ok(row)
            } else {
                Err("no throughput".to_owned())
            }
        });
        let (_, retransmits) = line.pair("retrans").unwrap();
        assert_eq!([&row[2], &row[3], &row[6]], [line.value("cwnd").unwrap(), &rtt_ms(&line), retransmits], "{row:?}");
        screen.press(&["C-c"]);
        assert_eq!(screen.ended(), "0");
        drop((held, network));
        succeeds(&["unload", NAME]);
    });
}

/// A sender that its application holds back keeps its window; next to it an idle socket with a larger one, and at the other
/// end of the path the two that receive. The smoothed RTT moves: a wrong unit is a thousand times.
#[test]
fn means_are_those_of_the_sender() {
    support::test("means", 300, || {
        succeeds(&["load", "cubic"]);
        let network = Network::with_bottleneck(40, 200_000).unwrap();
        let held = used(&network, SERVER_V4, NAME, 3_000_000);
        let idle = held.0.peer_addr().unwrap().to_string();
        let receiver = Receiver::start(&network.server, "::").unwrap();
        let flows = Flows::start(&network.client, &support::steady(&receiver, SERVER_V4, NAME), 1).unwrap();
        let remote = format!("{SERVER_V4}:{}", receiver.address().port());
        let line = |remote: &str| ss(&network.client).into_values().find(|line| line.remote == remote).unwrap();
        let number = |line: &Line, name: &str| line.value(name).unwrap().parse::<f64>().unwrap();
        let screen = Screen::open(100, 24, "");
        screen.wait_for("the sender's window and RTT", |text| {
            let (before, other) = (line(&remote), line(&idle));
            let row = Screen::row(text, NAME).ok_or("no row")?;
            let [senders, rtt, cwnd] = [4, 8, 9].map(|place| row.get(place).and_then(|word| word.parse::<f64>().ok()));
            let rtt_by_ss = before.pair("rtt").unwrap().0.parse::<f64>().unwrap();
            let is_rtt = rtt.is_some_and(|rtt| (0.05..20.0).contains(&(rtt / rtt_by_ss)));
            let is_cwnd = cwnd == Some(number(&before, "cwnd")) && cwnd != Some(number(&other, "cwnd"));
            if senders == Some(1.0) && is_rtt && is_cwnd {
                Ok(())
            } else {
                Err(format!(
                    "{row:?}; ss: {} and idle {}, {rtt_by_ss} ms",
                    before.value("cwnd").unwrap(),
                    number(&other, "cwnd")
                ))
            }
        });
        screen.press(&["q"]);
        assert_eq!(screen.ended(), "0");
        flows.stop().unwrap();
        drop((held, receiver, network));
        succeeds(&["unload", NAME]);
    });
}

/// Both measure the same traffic, but not the same ACKs: each times its own eighth, over its own while, and on a busy machine
/// one ACK in hundreds waits a hundred times as long as the others. Ten times more or less is no such difference; a wrong
/// unit is a thousand times, and a sum where a mean belongs grows with the ACKs, hundreds a second.
#[test]
fn the_time_of_an_ack_is_that_of_ccctl_acks() {
    support::test("ack times", 300, || {
        succeeds(&["load", "cubic"]);
        let network = Network::with_bottleneck(20, 60_000).unwrap();
        let receiver = Receiver::start(&network.server, "::").unwrap();
        let sending = Sending { pause: Duration::ZERO, ..support::steady(&receiver, SERVER_V4, NAME) };
        let flows = Flows::start(&network.client, &sending, 1).unwrap();
        let measurement = Measurement::of_a_share(&network.client, &["-i", "veth0"]);
        let screen = Screen::open(80, 24, &format!("--acks -i veth0 --netns {}", network.client.name()));
        let mut shown: Vec<f64> = Vec::new();
        screen.wait_for("five times of ACKs", |text| {
            let row = Screen::row(text, NAME).ok_or("no row")?;
            let time_us = row.last().and_then(|word| word.parse().ok()).ok_or(format!("{row:?}"))?;
            if row.len() > 8 && shown.last() != Some(&time_us) {
                shown.push(time_us);
            }
            if shown.len() == 5 {
                Ok(())
            } else {
                Err(format!("{shown:?}"))
            }
        });
        screen.press(&["q"]);
        assert_eq!(screen.ended(), "0");
        let report = measurement.stop();
        let of = |part: &str| report["acks_by_congestion_control"][NAME][part]["mean_ns"].as_f64().unwrap();
        let by_acks_us = (of("waiting") + of("processing")) / 1000.0;
        let mean_us = shown.iter().sum::<f64>() / shown.len() as f64;
        println!("{shown:?} us on the screen, {by_acks_us} us by ccctl acks");
        assert!((0.1..10.0).contains(&(mean_us / by_acks_us)), "{shown:?} us, by ccctl acks {by_acks_us} us");
        flows.stop().unwrap();
        drop((receiver, network));
        succeeds(&["unload", NAME]);
    });
}

/// Without a terminal there is one sample, and otherwise a refusal; neither leaves anything behind.
#[test]
fn scripts_get_one_sample_or_a_hint() {
    support::test("once", 120, || {
        let hint = "top --once --json";
        support::refuses(&["top"], support::code::USAGE, &["needs a terminal", hint]);
        support::refuses(&["top", "--json"], support::code::USAGE, &["cannot print JSON", hint]);
        support::refuses(&["top", "--once", "--every", "1ms"], support::code::USAGE, &["--every"]);
        succeeds(&["load", "cubic"]);
        let network = Network::new().unwrap();
        let held = used(&network, SERVER_V4, NAME, 100_000);
        let words = ["top", "--once", "--json", "--every", "300ms"];
        let once = json(&words);
        let row =
            once["usage"].as_array().unwrap().iter().find(|row| row["congestion_control"] == NAME).unwrap().clone();
        assert_eq!((&row["algorithm"], &row["socket_count"]), (&"cubic".into(), &1.into()), "{row}");
        assert_eq!(row["throughput_bit_per_s"], 0.0, "what was sent before the first look is not counted: {row}");
        assert!(once["elapsed_s"].as_f64().unwrap() >= 0.3);
        let with_acks = json(&[&words[..], &["--acks", "--netns", network.client.name()]].concat());
        assert_eq!(with_acks["acks_failed"], serde_json::Value::Null);
        let table = succeeds(&["top", "--once", "--every", "100ms"]);
        assert!(Screen::row(&table, NAME).is_some_and(|row| row[1..3] == ["cubic", "1"]), "{table}");
        drop((held, network));
        succeeds(&["unload", NAME]);
    });
}
