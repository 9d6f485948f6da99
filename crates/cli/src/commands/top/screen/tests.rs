#![allow(clippy::unwrap_used)]
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::time::{Duration, Instant};

use ratatui::backend::TestBackend;
use ratatui::Terminal;

use super::*;
use crate::commands::top::action::Action;
use crate::commands::top::model::Effect;
use crate::commands::top::sample::{
    Counters, InstanceSample, Instances, Kind, OneSocket, Sample, Senders, SocketList, SocketRow,
};
use ccctl_core::daemon::{Event, EventKind};
use ccctl_core::operations::{CaState, EcnMode, Socket, Transport};

const PLAIN: Look = Look { has_colour: false, has_unicode: true };

fn drawn(model: &mut Model, look: Look, columns: u16, rows: u16) -> (Vec<String>, Buffer) {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    terminal
        .draw(|frame| {
            fit(model, frame.area());
            draw(model, look, frame.area(), frame.buffer_mut());
        })
        .unwrap();
    let buffer = terminal.backend().buffer().clone();
    let line = |y| (0..columns).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
    ((0..rows).map(line).collect(), buffer)
}

fn busy() -> Model {
    let mut model = Model::new();
    let counters = Counters { acked_bytes: 4_775_000, data_segments: 1000, retransmits_pkts: 15 };
    let cubic = InstanceSample {
        name: "bpf_cubic".to_owned(),
        kind: Kind::Instance("cubic".to_owned()),
        program: Some(4711),
        sockets: 12,
        senders: Senders { count: 10, acked_pkts: 100, acked_cwnd: 4250, acked_srtt_us: 4_012_300 },
        counters,
        ..InstanceSample::default()
    };
    let reno = InstanceSample { name: "reno".to_owned(), kind: Kind::BuiltIn, sockets: 1, ..InstanceSample::default() };
    let targets = vec!["bpf_cubic".to_owned(), "reno".to_owned()];
    let elapsed = Some(Duration::from_secs(1));
    for _ in 0..2 {
        let rows = vec![cubic.clone(), reno.clone()];
        let instances = Instances { elapsed, rows, targets: targets.clone(), ..Instances::default() };
        model.take(Sample { instances: Some(instances), ..Sample::default() });
    }
    model
}

#[test]
fn the_pane_of_events_has_the_latest_and_why_there_are_no_more() {
    let mut model = busy();
    assert_eq!(model.act(Action::Events), Some(Effect::Follow));
    for number in 1..=20 {
        let at = format!("2026-11-23T10:00:{number:02}Z");
        let (kind, name) = (EventKind::Loaded, format!("web{number}"));
        model.events.take(Event { number, at, kind, name, text: "runs cubic (map 7)".to_owned() });
    }
    let (lines, _) = drawn(&mut model, PLAIN, 80, 24);
    assert_eq!(lines[15], "EVENTS");
    assert_eq!(lines[16], "10:00:14Z  loaded      web14: runs cubic (map 7)");
    assert_eq!(lines[22], "10:00:20Z  loaded      web20: runs cubic (map 7)");
    assert!(lines[1].contains("INSTANCE") || lines[1].contains("NAME"), "{lines:?}");
    model.events.fail("the daemon has ended".to_owned());
    assert_eq!(drawn(&mut model, PLAIN, 80, 24).0[15], "EVENTS: the daemon has ended");
    assert_eq!(model.act(Action::Events), None, "it is followed already");
    assert!(!drawn(&mut model, PLAIN, 80, 24).0.iter().any(|line| line.starts_with("EVENTS")));
}

fn with_sockets(count: u64) -> Model {
    let mut model = busy();
    model.act(Action::Enter);
    let row = |cookie: u64| SocketRow {
        cookie,
        source: format!("10.77.0.1:{}", 40_000 + cookie),
        destination: "10.77.0.2:443".to_owned(),
        cwnd_pkts: Some(cookie as u32),
        srtt_us: Some(40_123),
        ..SocketRow::default()
    };
    let rows = (1..=count).map(row).collect();
    let list = SocketList { instance: "bpf_cubic".to_owned(), at: Some(Instant::now()), rows };
    model.take(Sample { sockets: Some(list), ..Sample::default() });
    model
}

fn with_one_socket() -> Model {
    let mut model = with_sockets(1);
    model.act(Action::Enter);
    let at = Instant::now();
    let transport = |cwnd_pkts| Transport {
        cwnd_pkts,
        ssthresh_pkts: None,
        is_window_impossible: false,
        srtt_us: Some(40_123),
        rttvar_us: Some(500),
        min_rtt_us: Some(40_000),
        delivery_rate_bytes_per_s: Some(1_250_000),
        is_rate_app_limited: false,
        pacing_rate_bytes_per_s: None,
        mss_bytes: 1448,
        in_flight_pkts: 9,
        in_flight_bytes: 9 * 1448,
        unsent_bytes: 0,
        retransmits_in_flight_pkts: 0,
        retransmits_pkts: 3,
        acked_bytes: 77_000,
        segments_sent_pkts: 60,
        data_segments_sent_pkts: 59,
        timeouts: 0,
        busy_us: 40_000,
        rwnd_limited_us: 0,
        sndbuf_limited_us: 0,
        delivered_pkts: 50,
        delivered_ce_pkts: 0,
        lost_pkts: 3,
        ca_state: CaState::Open,
        rto_backoffs: 0,
        ecn_mode: EcnMode::Rfc3168,
    };
    for second in 0..40 {
        let state = serde_json::json!({ "min_rtt_us": 40_000, "alpha_q10": 512 + second });
        let socket = Socket {
            cookie: 1,
            namespace: "client".to_owned(),
            state: "established".to_owned(),
            source: "10.77.0.1:40001".to_owned(),
            destination: "10.77.0.2:443".to_owned(),
            congestion_control: "bpf_cubic".to_owned(),
            algorithm: Some("cubic".to_owned()),
            map_id: Some(4711),
            is_on_old_program: false,
            cgroup: None,
            cgroup_id: None,
            owners: None,
            transport: Some(transport(10 + second)),
            algorithm_state: state.as_object().cloned(),
        };
        let at = at + Duration::from_secs(second.into());
        model.take(Sample { socket: Some(OneSocket { cookie: 1, at, socket: Some(socket) }), ..Sample::default() });
    }
    model
}

/// 4,775,000 bytes a second are 38.2 Mbit/s; 15 of 1000 are 1.5 %; 42.5 and 40.123 ms by 100 packets.
#[test]
fn instances_at_80_columns() {
    let (lines, buffer) = drawn(&mut busy(), PLAIN, 80, 24);
    assert_eq!(lines[0], "ccctl top");
    assert_eq!(lines[1], "NAME            ALGORITHM   SOCKETS THROUGHPUTv  RETRANS SRTT MS    CWND  ACK US");
    assert_eq!(lines[2], "bpf_cubic       cubic            12 38.2 Mbit/s     1.50  40.123    42.5 off (a)");
    assert_eq!(lines[3], "reno            built-in          1     0 bit/s        -       -       - off (a)");
    assert_eq!(lines[22], "all                              13 38.2 Mbit/s     1.50  40.123    42.5");
    assert!(lines[23].starts_with("? help  q quit") && lines.len() == 24, "{}", lines[23]);
    assert!(buffer[(0, 2)].modifier.contains(Modifier::REVERSED), "the cursor is seen without colour");
    assert!(!buffer[(0, 3)].modifier.contains(Modifier::REVERSED));
    assert!(buffer.content().iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset));
}

#[test]
fn columns_come_and_go_with_the_width() {
    let header = |columns| drawn(&mut busy(), PLAIN, columns, 10).0[1].clone();
    assert!(header(160).contains("PROGRAM") && header(160).contains("TREND"));
    assert!(!header(79).contains("ALGORITHM") && header(79).contains("ACK US"));
    let mut sorted = busy();
    sorted.act(Action::SortBy('K'));
    assert!(drawn(&mut sorted, PLAIN, 160, 10).0[1].contains(" SOCKETSv "), "a mark has its own room");
    assert!(header(80).contains("RETRANS ") && header(160).contains("RETRANS %"), "units where there is room");
    assert!(header(30).starts_with("NAME") && header(30).contains("SOCKETS"));
    let (lines, _) = drawn(&mut busy(), PLAIN, 160, 10);
    assert!(lines[2].contains("4711") && lines[2].ends_with('█'), "{}", lines[2]);
}

/// Idle connections are in no mean.
#[test]
fn an_impossible_window_of_an_idle_connection_is_marked() {
    let mut model = Model::new();
    let wild = InstanceSample { name: "wild".to_owned(), sockets: 1, impossible: 1, ..InstanceSample::default() };
    let instances = Instances { elapsed: Some(Duration::from_secs(1)), rows: vec![wild], ..Instances::default() };
    model.take(Sample { instances: Some(instances), ..Sample::default() });
    let (lines, _) = drawn(&mut model, PLAIN, 80, 24);
    assert!(lines[2].starts_with("wild") && lines[2].contains(" -! "), "{}", lines[2]);
}

/// Without colour and in ASCII, too: it is an attribute.
#[test]
fn the_letter_that_sorts_is_underlined() {
    let (lines, buffer) = drawn(&mut busy(), PLAIN, 80, 24);
    let is_underlined = |x: &usize| buffer[(*x as u16, 1)].modifier.contains(Modifier::UNDERLINED);
    let letters: String = (0..80).filter(is_underlined).map(|x| lines[1].as_bytes()[x] as char).collect();
    assert_eq!(letters, "NAKTRMCU");
}

#[test]
fn columns_are_chosen_from_a_list() {
    let mut model = busy();
    model.act(Action::Columns);
    let text = drawn(&mut model, PLAIN, 80, 24).0.join("\n");
    assert!(text.contains("[x] N NAME") && text.contains("[x]   TREND  (no room)"), "{text}");
    (0..2).for_each(|_| drop(model.act(Action::Down)));
    model.act(Action::Mark);
    assert!(drawn(&mut model, PLAIN, 80, 24).0.join("\n").contains("[ ] P PROGRAM"));
    model.act(Action::Back);
    assert!(!drawn(&mut model, PLAIN, 160, 24).0[1].contains("PROGRAM"));
}

#[test]
fn a_tree_has_a_line_per_cgroup() {
    let mut model = with_sockets(0);
    let row = |cookie: u64, cgroup: &str| SocketRow {
        cookie,
        source: format!("10.77.0.1:{}", 40_000 + cookie),
        cgroup: Some(cgroup.into()),
        ..SocketRow::default()
    };
    let rows = vec![row(1, "/system.slice/web"), row(2, "/system.slice/ssh"), row(3, "/system.slice/web")];
    let list = SocketList { instance: "bpf_cubic".to_owned(), at: Some(Instant::now()), rows };
    model.take(Sample { sockets: Some(list), ..Sample::default() });
    model.act(Action::Tree);
    let (lines, _) = drawn(&mut model, PLAIN, 80, 24);
    assert_eq!(lines[2], "- /system.slice   3 sockets, 0 bit/s");
    assert_eq!(lines[3], "  - /ssh   1 socket, 0 bit/s");
    assert!(lines[4].starts_with(" 10.77.0.1:40002"), "{}", lines[4]);
    assert_eq!(lines[22], "line 1 of 6, 3 shown, 3 in all");
    model.act(Action::Enter);
    let (lines, _) = drawn(&mut model, PLAIN, 80, 24);
    assert_eq!((lines[2].as_str(), lines[3].as_str()), ("+ /system.slice   3 sockets, 0 bit/s", ""));
}

#[test]
fn hints_and_filters_are_said() {
    let mut model = busy();
    model.act(Action::SendersOnly);
    assert_eq!(drawn(&mut model, PLAIN, 80, 24).0[0], "ccctl top  SENDERS ONLY (o)");
    model.clock = ClockState::On;
    let hint = "ACK clock: this namespace only; --netns NAME times another";
    assert_eq!(drawn(&mut model, PLAIN, 80, 24).0[23], hint);
    model.act(Action::Write);
    assert!(drawn(&mut model, PLAIN, 80, 24).0[23].starts_with("write to: ccctl-top-2"));
}

#[test]
fn lines_of_keys_fit_into_80_columns() {
    for model in [busy(), with_sockets(1), with_one_socket()] {
        assert!(keys_text(&model.view).len() <= 80, "{}", keys_text(&model.view));
    }
}

/// What one looks for first has a place on the smallest screen, and a question is never cut.
#[test]
fn small_screens_show_what_matters() {
    let text = drawn(&mut with_one_socket(), PLAIN, 30, 6).0.join("\n");
    assert!(text.contains("cwnd") && text.contains("49 pkts") && text.contains("srtt"), "{text}");
    let mut model = busy();
    model.act(Action::Swap);
    let choice = crate::commands::top::model::Choice { key: "htcp".to_owned(), ..Default::default() };
    model.offer(&crate::commands::top::model::Lookup::Algorithms, Ok(vec![choice]));
    model.act(Action::Enter);
    let text = drawn(&mut model, PLAIN, 60, 15).0.join("\n");
    for part in ["Swap bpf_cubic to htcp?", "12 sockets stay on the previous", "program until m moves them.", "y: yes"]
    {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

/// The window is 10 to 49; the threshold of 1000 is a number in the title and not on the scale.
#[test]
fn a_far_threshold_does_not_flatten_the_window() {
    let mut model = with_one_socket();
    for point in &mut model.socket.points {
        point.ssthresh_pkts = Some(1000.0);
    }
    let all = drawn(&mut model, PLAIN, 100, 50).0.join("\n");
    assert!(all.contains("cwnd, ssthresh (dashed): pkts (1000: above)") && all.contains("min 10, max 49"), "{all}");
    for tick in ["0│", "20│", "40│", "50│"] {
        assert!(all.contains(tick), "{tick}\n{all}");
    }
    assert!(all.contains("-60 s") && all.contains("-30 ") && all.contains("now"), "{all}");
    for point in &mut model.socket.points {
        point.ssthresh_pkts = Some(30.0);
    }
    assert!(!drawn(&mut model, PLAIN, 100, 50).0.join("\n").contains("above"));
}

#[test]
fn sockets_are_drawn_from_where_the_cursor_is() {
    let mut model = with_sockets(10_000);
    let (lines, _) = drawn(&mut model, PLAIN, 80, 24);
    assert_eq!(lines[0], "ccctl top > bpf_cubic");
    assert_eq!(lines[2], " 10.77.0.1:40001       10.77.0.2:443              1  40.123           -        0");
    assert_eq!(lines[22], "line 1 of 10000, 10000 shown, 10000 in all");
    model.act(Action::Last);
    let (lines, _) = drawn(&mut model, PLAIN, 80, 24);
    assert!(lines[21].contains("10.77.0.1:50000"), "{}", lines[21]);
    assert_eq!(lines[22], "line 10000 of 10000, 10000 shown, 10000 in all");
    model.act(Action::Mark);
    assert!(drawn(&mut model, PLAIN, 80, 24).0[21].starts_with("*10.77.0.1:50000"));
    let (lines, _) = drawn(&mut model, PLAIN, 200, 24);
    for title in ["SSTHRESH", "STATE", "PROCESS", "CGROUP", "NETNS"] {
        assert!(lines[1].contains(title), "{}", lines[1]);
    }
}

#[test]
fn one_socket_with_the_state_in_its_units() {
    let mut model = with_one_socket();
    let (lines, _) = drawn(&mut model, PLAIN, 100, 40);
    let all = lines.join("\n");
    for part in
        ["cwnd, ssthresh (dashed): pkts", "smoothed RTT: ms", "min_rtt_us: us  (s: next field)", "- cubic keeps -"]
    {
        assert!(all.contains(part), "{part}\n{all}");
    }
    let value = |name: &str| lines.iter().any(|line| line.contains(name) && line.ends_with(name));
    assert!(lines.iter().any(|line| line.contains("min_rtt_us") && line.ends_with("40000 us")), "{all}");
    // 551 / 1024
    assert!(lines.iter().any(|line| line.contains("alpha_q10") && line.ends_with("0.538")), "{all}");
    assert!(lines.iter().any(|line| line.contains("retransmits") && line.ends_with("3 of 59 pkts")), "{all}");
    assert!(value("10.0 Mbit/s"), "{all}");
    assert!(all.chars().any(|character| ('\u{2801}'..='\u{28ff}').contains(&character)), "a curve\n{all}");
    model.act(Action::Sort);
    assert!(drawn(&mut model, PLAIN, 100, 40).0.join("\n").contains("alpha_q10  (s: next field)"));
}

#[test]
fn ascii_where_nothing_else_is_shown() {
    let look = Look { has_colour: true, has_unicode: false };
    for mut model in [busy(), with_sockets(5), with_one_socket()] {
        for help in [false, true] {
            if help {
                model.act(Action::Help);
            }
            let (lines, _) = drawn(&mut model, look, 120, 30);
            assert!(lines.iter().all(|line| line.is_ascii()), "{lines:#?}");
        }
    }
    let (lines, _) = drawn(&mut with_one_socket(), look, 120, 30);
    assert!(lines.iter().filter(|line| line.contains('*')).count() > 2, "a curve: {lines:#?}");
}

#[test]
fn questions_and_messages() {
    let mut model = busy();
    model.act(Action::Migrate);
    let text = drawn(&mut model, PLAIN, 80, 24).0.join("\n");
    assert!(text.contains("Move 12 sockets of bpf_cubic (all) to:") && text.contains(" reno "), "{text}");
    model.act(Action::Enter);
    let text = drawn(&mut model, PLAIN, 80, 24).0.join("\n");
    assert!(text.contains("Move 12 sockets of bpf_cubic (all) to reno?"), "{text}");
    model.act(Action::No);
    assert_eq!(drawn(&mut model, PLAIN, 80, 24).0[23], "nothing was moved");
    model.failed("the kernel says no".to_owned());
    assert_eq!(drawn(&mut model, PLAIN, 80, 24).0[23], "the kernel says no");
}

#[test]
fn no_size_is_too_small() {
    for mut model in [Model::new(), busy(), with_sockets(50), with_one_socket()] {
        let modes = [Action::Help, Action::Migrate, Action::Columns, Action::Write, Action::Load, Action::Tree];
        for mode in [None].into_iter().chain(modes.map(Some)) {
            mode.map(|action| model.act(action));
            for (columns, rows) in [(1, 1), (2, 2), (5, 3), (10, 4), (20, 8), (40, 8), (300, 5), (5, 100)] {
                drawn(&mut model, PLAIN, columns, rows);
            }
            model.mode = Mode::Normal;
        }
    }
}
