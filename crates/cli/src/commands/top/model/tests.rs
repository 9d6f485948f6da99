#![allow(clippy::unwrap_used)]
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::time::{Duration, Instant};

use super::*;
use crate::commands::top::action::Action;
use crate::commands::top::sample::{
    Counters, InstanceSample, Instances, Kind, OneSocket, Senders, SocketList, SocketRow, Wish,
};

pub const SECOND: Option<Duration> = Some(Duration::from_secs(1));

pub fn counters(acked_bytes: u64, data_segments: u64, retransmits_pkts: u64) -> Counters {
    Counters { acked_bytes, data_segments, retransmits_pkts }
}

pub fn instance(name: &str, counters: Counters) -> InstanceSample {
    let kind = Kind::Instance("cubic".to_owned());
    let senders = Senders { count: 2, acked_pkts: 100, acked_cwnd: 1500, acked_srtt_us: 250_000 };
    InstanceSample { name: name.to_owned(), kind, sockets: 3, senders, counters, ..InstanceSample::default() }
}

pub fn of(elapsed: Option<Duration>, rows: Vec<InstanceSample>) -> Sample {
    let targets = ["a", "b", "reno"].map(str::to_owned).into();
    Sample { instances: Some(Instances { elapsed, rows, targets, ..Instances::default() }), ..Sample::default() }
}

pub fn socket(cookie: u64, acked_bytes: u64) -> SocketRow {
    SocketRow {
        cookie,
        acked_bytes,
        source: format!("10.0.0.1:{}", 100 + cookie),
        destination: "10.0.0.2:80".to_owned(),
        process: Some(format!("{cookie}/curl").as_str().into()),
        cwnd_pkts: Some(10 * cookie as u32),
        ..SocketRow::default()
    }
}

pub fn sockets(at: Instant, rows: Vec<SocketRow>) -> Sample {
    let list = SocketList { instance: "a".to_owned(), at: Some(at), rows };
    Sample { sockets: Some(list), ..Sample::default() }
}

/// Looking into `a`, with three sockets of which the second sends.
pub fn inside() -> (Model, Instant) {
    let mut model = Model::new();
    model.take(of(SECOND, vec![instance("a", counters(0, 0, 0))]));
    let effect = model.act(Action::Enter);
    assert_eq!(effect, Some(Effect::Look(Wish::Sockets("a".to_owned()))));
    model.sockets.fit(20);
    let start = Instant::now();
    model.take(sockets(start, vec![socket(1, 0), socket(2, 1000), socket(3, 0)]));
    let later = start + Duration::from_secs(2);
    model.take(sockets(later, vec![socket(1, 0), socket(2, 251_000), socket(3, 500)]));
    (model, later)
}

pub fn order(model: &Model) -> Vec<u64> {
    model.sockets.listed().map(|row| row.cookie).collect()
}

/// 125,000 bytes a second are 1 Mbit/s; 1500 by 100 packets is a window of 15, and 250,000 us 2.5 ms; the ratio is over
/// all looks: 3 of 300.
#[test]
fn rates_means_and_the_ratio_over_several_looks() {
    let mut model = Model::new();
    model.take(of(None, vec![instance("a", counters(0, 0, 0))]));
    assert_eq!(model.instances.rows[0].bit_per_s, None, "one look has no rate");
    model.take(of(SECOND, vec![instance("a", counters(125_000, 100, 3))]));
    model.take(of(SECOND, vec![instance("a", counters(125_000, 200, 0))]));
    let row = &model.instances.rows[0];
    assert_eq!((row.bit_per_s, row.retransmits_pct), (Some(1e6), Some(1.0)));
    assert_eq!((row.cwnd_pkts, row.rtt_us), (Some(15.0), Some(2500.0)));
    assert_eq!(model.instances.trend(Some("a")), [1000, 1000]);
    for _ in 0..9 {
        model.take(of(SECOND, vec![instance("a", counters(0, 100, 0))]));
    }
    // ten looks of a second each are kept: the first has left
    assert_eq!(model.instances.rows[0].retransmits_pct, Some(0.0));
    model.take(of(SECOND, Vec::new()));
    model.take(of(SECOND, vec![instance("a", counters(0, 0, 0))]));
    assert_eq!(model.instances.trend(Some("a")), [0], "unloaded and loaded again: a new history");
}

#[test]
fn totals_are_of_all_and_the_cursor_stays_with_its_name() {
    let mut model = Model::new();
    let rows = |a, b| vec![instance("a", counters(a, 0, 0)), instance("b", counters(b, 0, 0))];
    model.instances.fit(10);
    model.instances.columns.shown = vec![(InstanceColumn::Name, 0, 15), (InstanceColumn::Throughput, 16, 27)];
    model.take(of(SECOND, rows(2000, 1000)));
    assert_eq!(model.instances.total.bit_per_s, Some(24_000.0));
    let names = |model: &Model| model.instances.rows.iter().map(|row| row.sample.name.clone()).collect::<String>();
    let selected = |model: &Model| model.instances.selected().unwrap().sample.name.clone();
    assert_eq!((names(&model), selected(&model)), ("ab".to_owned(), "a".to_owned()));
    model.take(of(SECOND, rows(1000, 2000)));
    assert_eq!((names(&model), selected(&model)), ("ba".to_owned(), "b".to_owned()), "at the top until it is moved");
    model.act(Action::Down);
    model.take(of(SECOND, rows(2000, 1000)));
    assert_eq!((names(&model), selected(&model)), ("ab".to_owned(), "a".to_owned()), "then with its name");
    model.take(of(SECOND, rows(1000, 2000)));
    assert_eq!((names(&model), selected(&model)), ("ba".to_owned(), "a".to_owned()));
    model.act(Action::Sort);
    assert_eq!((model.instances.columns.sorted, names(&model)), (InstanceColumn::Name, "ab".to_owned()));
    model.act(Action::Direction);
    assert_eq!(names(&model), "ba");
    model.act(Action::Filter);
    model.act(Action::Character('A'));
    assert_eq!((names(&model), model.instances.total.sample.sockets), ("a".to_owned(), 6), "sums are of all");
    model.act(Action::Back);
    assert_eq!((names(&model), &model.mode), ("ba".to_owned(), &Mode::Normal));
}

#[test]
fn sockets_have_rates_from_the_second_look_and_an_order() {
    let (mut model, later) = inside();
    assert_eq!(order(&model), [2, 3, 1], "250,000 and 500 bytes in 2 s, and none");
    let rates: Vec<_> = model.sockets.listed().map(|row| model.sockets.bit_per_s(row)).collect();
    assert_eq!(rates, [Some(1e6), Some(2000.0), Some(0.0)]);
    model.act(Action::Direction);
    assert_eq!(order(&model), [1, 3, 2]);
    model.sockets.columns.shown = vec![(SocketColumn::Cwnd, 0, 6), (SocketColumn::Throughput, 7, 18)];
    model.act(Action::Sort);
    assert_eq!(order(&model), [3, 2, 1], "by window, the largest first");
    // one has closed, one is new, and one's count went back
    let rows = vec![socket(1, 0), socket(3, 100), socket(4, 77)];
    model.take(sockets(later + Duration::from_secs(1), rows));
    let rates: Vec<_> = model.sockets.listed().map(|row| (row.cookie, model.sockets.bit_per_s(row))).collect();
    assert_eq!(rates, [(4, None), (3, None), (1, Some(0.0))]);
}

#[test]
fn a_filter_matches_while_it_is_typed() {
    let (mut model, _) = inside();
    model.act(Action::Filter);
    for (character, left) in [(':', 3), ('1', 3), ('0', 3), ('2', 1)] {
        model.act(Action::Character(character));
        assert_eq!(model.sockets.counts(), (left, 3), "{}", model.filter());
    }
    model.act(Action::Enter);
    assert_eq!(order(&model), [2]);
    assert_eq!(model.act(Action::Back), None, "the filter goes first");
    assert_eq!(model.sockets.counts(), (3, 3));
    assert_eq!(model.act(Action::Back), Some(Effect::Look(Wish::Instances)));
    let (mut model, _) = inside();
    model.act(Action::Filter);
    "3/CURL".chars().for_each(|character| drop(model.act(Action::Character(character))));
    assert_eq!(order(&model), [3], "by process, whatever the case");
}

/// 300 packets at 40 and 100 at 20 in one look; then a look of a tenth of a second without any.
#[test]
fn means_are_of_senders_of_the_last_second() {
    let tenth = Some(Duration::from_millis(100));
    let mut model = Model::new();
    model.take(of(None, vec![instance("a", counters(0, 0, 0))]));
    assert_eq!(model.instances.rows[0].cwnd_pkts, None, "nobody is known to send before the second look");
    let mut sending = instance("a", counters(400_000, 400, 0));
    sending.senders = Senders::one(300_000, 1000, 40, 20_000);
    sending.senders.add(Senders::one(100_000, 1000, 20, 60_000));
    model.take(of(tenth, vec![sending]));
    let idle = InstanceSample { senders: Senders::default(), ..instance("a", counters(0, 0, 0)) };
    model.take(of(tenth, vec![idle.clone()]));
    let row = &model.instances.rows[0];
    assert_eq!((row.cwnd_pkts, row.rtt_us, row.sample.senders.count), (Some(35.0), Some(30_000.0), 0));
    for _ in 0..9 {
        model.take(of(tenth, vec![idle.clone()]));
    }
    assert_eq!(model.instances.rows[0].cwnd_pkts, None, "a second later nobody sends");
    assert_eq!(model.instances.total.cwnd_pkts, None);
}

#[test]
fn only_senders_are_shown_when_asked_for() {
    let (mut model, _) = inside();
    model.act(Action::SendersOnly);
    assert_eq!(order(&model), [2, 3], "the first one has sent nothing");
    model.act(Action::Back);
    let idle = InstanceSample { senders: Senders::default(), ..instance("b", counters(0, 0, 0)) };
    model.take(of(SECOND, vec![instance("a", counters(1000, 1, 0)), idle]));
    assert_eq!(model.instances.rows.len(), 1);
    model.act(Action::SendersOnly);
    assert_eq!(model.instances.rows.len(), 2);
}

#[test]
fn letters_and_clicks_sort_and_choose() {
    let (mut model, _) = inside();
    model.act(Action::SortBy('C'));
    assert_eq!((model.sockets.columns.sorted, order(&model)), (SocketColumn::Cwnd, vec![3, 2, 1]));
    model.act(Action::SortBy('C'));
    assert_eq!(order(&model), [1, 2, 3], "again: the other way round");
    model.act(Action::SortBy('Z'));
    assert_eq!(model.sockets.columns.sorted, SocketColumn::Cwnd, "no column has this letter");
    model.sockets.columns.shown = vec![(SocketColumn::Local, 0, 20), (SocketColumn::Throughput, 21, 32)];
    model.act(Action::Click(25, 1));
    assert_eq!(model.sockets.columns.sorted, SocketColumn::Throughput);
    assert_eq!(model.act(Action::Click(3, 4)), None);
    assert_eq!(model.sockets.selected().unwrap().cookie, 1, "the third row");
    assert_eq!(model.act(Action::Click(3, 9)), None, "below the last row is nothing");
    assert_eq!(model.act(Action::Click(3, 4)), Some(Effect::Look(Wish::Socket(1))));
    assert_eq!(model.act(Action::Click(3, 4)), None, "a chart");
}

fn in_cgroup(cookie: u64, cgroup: &str) -> SocketRow {
    SocketRow { cgroup: Some(cgroup.into()), ..socket(cookie, 0) }
}

#[test]
fn a_tree_folds_and_marks_whole_cgroups() {
    let (mut model, later) = inside();
    let rows = vec![in_cgroup(1, "/web/a"), in_cgroup(2, "/web/b"), in_cgroup(3, "/web/a"), in_cgroup(4, "/ssh")];
    model.take(sockets(later, rows));
    model.act(Action::Tree);
    let lines = |model: &Model| -> Vec<String> {
        let text = |line: Line<'_>| match line {
            Line::Branch(branch) => branch.label.clone(),
            Line::Socket(row) => row.cookie.to_string(),
        };
        model.sockets.visible().map(text).collect()
    };
    assert_eq!(lines(&model), ["/", "/ssh", "4", "/web", "/a", "1", "3", "/b", "2"]);
    (0..3).for_each(|_| drop(model.act(Action::Down)));
    assert_eq!(model.act(Action::Enter), None);
    assert_eq!(lines(&model), ["/", "/ssh", "4", "/web"], "folded");
    model.act(Action::Mark);
    assert_eq!(model.sockets.marks().iter().copied().collect::<Vec<_>>(), [1, 2, 3]);
    model.act(Action::Mark);
    assert!(model.sockets.marks().is_empty());
    model.act(Action::Tree);
    assert_eq!(lines(&model).len(), 4);
    model.act(Action::Back);
    model.act(Action::Tree);
    assert!(model.message.as_ref().unwrap().is_error, "algorithms have no cgroup");
}

#[test]
fn columns_are_hidden_and_shown() {
    let mut model = Model::new();
    model.act(Action::Columns);
    model.act(Action::Mark);
    model.act(Action::Down);
    model.act(Action::Mark);
    let hidden = |model: &Model| -> Vec<_> {
        InstanceColumn::ALL.iter().copied().filter(|column| model.instances.columns.is_hidden(*column)).collect()
    };
    assert_eq!(hidden(&model), [InstanceColumn::Algorithm], "the name always stays");
    model.act(Action::Last);
    assert_eq!(model.mode, Mode::Columns(InstanceColumn::ALL.len() - 1));
    model.act(Action::Back);
    assert_eq!(model.mode, Mode::Normal);
}

#[test]
fn the_help_scrolls_where_it_does_not_fit() {
    let mut model = Model::new();
    model.instances.fit(2);
    model.act(Action::Help);
    model.act(Action::Down);
    assert_eq!(model.mode, Mode::Help(1));
    model.act(Action::Last);
    let Mode::Help(first) = model.mode else { panic!("{:?}", model.mode) };
    assert!(first > 10, "{first}");
    model.act(Action::Down);
    assert_eq!(model.mode, Mode::Help(first), "the end");
    model.act(Action::Enter);
    assert_eq!(model.mode, Mode::Normal);
}

#[test]
fn the_clock_says_whose_acks_it_times() {
    let mut model = Model::new();
    let sending = || instance("a", counters(1000, 1, 0));
    let look = |rows| {
        let mut sample = of(SECOND, rows);
        sample.instances.as_mut().unwrap().clock = ClockState::On;
        sample
    };
    model.take(of(SECOND, vec![sending()]));
    assert_eq!(model.clock_hint(), None, "it is off");
    model.take(look(vec![sending()]));
    assert_eq!(model.clock_hint().unwrap(), "ACK clock: this namespace only; --netns NAME times another");
    model.clock_netns = Some("client".to_owned());
    assert_eq!(model.clock_hint().unwrap(), "ACK clock: namespace client only");
    model.take(look(vec![InstanceSample { ack_time: SECOND, ..sending() }]));
    assert_eq!(model.clock_hint(), None, "the column is filled");
}

#[test]
fn a_socket_that_closes_keeps_its_past_and_cannot_be_moved() {
    let (mut model, later) = inside();
    model.act(Action::Enter);
    assert_eq!(model.view, View::Socket("a".to_owned(), 2));
    let closed = |cookie| Sample { socket: Some(OneSocket { cookie, at: later, socket: None }), ..Sample::default() };
    model.take(closed(7));
    assert!(!model.socket.is_closed, "another socket");
    model.take(closed(2));
    assert!(model.socket.is_closed);
    model.act(Action::Migrate);
    assert_eq!((&model.mode, model.message.clone().unwrap().text.as_str()), (&Mode::Normal, "this socket is closed"));
    assert_eq!(model.act(Action::Back), Some(Effect::Look(Wish::Sockets("a".to_owned()))));
}

#[test]
fn what_comes_late_or_fails_does_no_harm() {
    let (mut model, later) = inside();
    model.act(Action::Back);
    model.take(sockets(later, vec![socket(9, 0)]));
    assert_eq!(model.sockets.counts(), (3, 3), "the view was left");
    model.failed("the kernel says no".to_owned());
    assert!(model.message.as_ref().unwrap().is_error);
    model.take(of(SECOND, Vec::new()));
    assert_eq!(model.message, None, "it works again");
    model.done(Ok("moved 1".to_owned()));
    model.take(of(SECOND, Vec::new()));
    assert!(model.message.is_some(), "stays until a key");
    assert_eq!(model.act(Action::Enter), None, "no row, nothing to look into");
    assert_eq!(model.act(Action::Pause), Some(Effect::Pause(true)));
}

#[test]
fn tables_scroll_as_little_as_they_must() {
    assert_eq!(scrolled(0, 4, 5, 100), 0);
    assert_eq!(scrolled(0, 5, 5, 100), 1);
    assert_eq!(scrolled(10, 9, 5, 100), 9);
    assert_eq!(scrolled(10, 12, 5, 13), 8, "no empty rows at the end");
    assert_eq!(scrolled(3, 0, 0, 0), 0);
}
