#![allow(clippy::unwrap_used)]
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::time::{Duration, Instant};

use super::*;
use crate::commands::top::sample::{Counters, InstanceSample, Instances, Kind, OneSocket, SocketList, SocketRow};

const SECOND: Option<Duration> = Some(Duration::from_secs(1));

fn counters(acked_bytes: u64, data_segments: u64, retransmits_pkts: u64) -> Counters {
    Counters { acked_bytes, data_segments, retransmits_pkts }
}

fn instance(name: &str, counters: Counters) -> InstanceSample {
    let kind = Kind::Instance("cubic".to_owned());
    let (sockets, connections, cwnd_pkts, measured, srtt_us) = (3, 2, 30, 2, 5000);
    InstanceSample {
        name: name.to_owned(),
        kind,
        sockets,
        connections,
        cwnd_pkts,
        measured,
        srtt_us,
        counters,
        ..InstanceSample::default()
    }
}

fn of(elapsed: Option<Duration>, rows: Vec<InstanceSample>) -> Sample {
    let targets = ["a", "b", "reno"].map(str::to_owned).into();
    Sample { instances: Some(Instances { elapsed, rows, targets, ..Instances::default() }), ..Sample::default() }
}

fn socket(cookie: u64, acked_bytes: u64) -> SocketRow {
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

fn sockets(at: Instant, rows: Vec<SocketRow>) -> Sample {
    let list = SocketList { instance: "a".to_owned(), at: Some(at), rows };
    Sample { sockets: Some(list), ..Sample::default() }
}

/// Looking into `a`, with three sockets of which the second sends.
fn inside() -> (Model, Instant) {
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

fn order(model: &Model) -> Vec<u64> {
    model.sockets.visible().map(|row| row.cookie).collect()
}

/// 125,000 bytes a second are 1 Mbit/s, two means of two are 15 and 2.5 ms; the ratio is over all windows: 3 of 300.
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
    model.instances.fit(10, vec![InstanceColumn::Name, InstanceColumn::Throughput]);
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
    assert_eq!((model.instances.column, names(&model)), (InstanceColumn::Name, "ab".to_owned()));
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
    let rates: Vec<_> = model.sockets.visible().map(|row| model.sockets.bit_per_s(row)).collect();
    assert_eq!(rates, [Some(1e6), Some(2000.0), Some(0.0)]);
    model.act(Action::Direction);
    assert_eq!(order(&model), [1, 3, 2]);
    model.sockets.shown = vec![SocketColumn::Cwnd, SocketColumn::Throughput];
    model.act(Action::Sort);
    assert_eq!(order(&model), [3, 2, 1], "by window, the largest first");
    // one has closed, one is new, and one's count went back
    let rows = vec![socket(1, 0), socket(3, 100), socket(4, 77)];
    model.take(sockets(later + Duration::from_secs(1), rows));
    let rates: Vec<_> = model.sockets.visible().map(|row| (row.cookie, model.sockets.bit_per_s(row))).collect();
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

#[test]
fn nothing_is_moved_without_a_yes() {
    let (mut model, _) = inside();
    model.act(Action::Mark);
    model.act(Action::Mark);
    assert_eq!(model.act(Action::Migrate), None);
    let Mode::Asking(question) = &model.mode else { panic!("{:?}", model.mode) };
    assert_eq!(question.targets, ["b", "reno"], "not to itself");
    model.act(Action::Down);
    for action in [Action::Yes, Action::Enter, Action::Enter, Action::Down] {
        assert_eq!(model.act(action), None, "{action:?}");
    }
    let Mode::Asking(question) = &model.mode else { panic!("{:?}", model.mode) };
    assert_eq!(question.migration().label(), "2 sockets of a to reno");
    let mut other = Model { mode: model.mode.clone(), ..inside().0 };
    assert_eq!(other.act(Action::No), None);
    assert_eq!((&other.mode, other.message.unwrap().text.as_str()), (&Mode::Normal, "nothing was moved"));
    let Some(Effect::Migrate(migration)) = model.act(Action::Yes) else { panic!("{:?}", model.mode) };
    let cookies: Vec<_> = migration.requests().iter().map(|request| request.filter.cookie).collect();
    assert_eq!(cookies, [Some(2), Some(3)]);
    assert_eq!(model.sockets.marked(), 0);
    model.act(Action::First);
    model.act(Action::Migrate);
    let Mode::Asking(question) = &model.mode else { panic!("{:?}", model.mode) };
    assert_eq!(question.what.addresses(), "10.0.0.1:102 -> 10.0.0.2:80", "without marks the one under the cursor");
}

#[test]
fn all_of_an_instance_is_one_request() {
    let mut model = Model::new();
    model.take(of(SECOND, vec![instance("a", counters(0, 0, 0))]));
    model.act(Action::Migrate);
    model.act(Action::Enter);
    let Some(Effect::Migrate(migration)) = model.act(Action::Yes) else { panic!("{:?}", model.mode) };
    assert_eq!(migration.label(), "3 sockets of a (all) to b");
    let requests = migration.requests();
    assert_eq!((requests.len(), requests[0].filter.instance.as_deref(), requests[0].all), (1, Some("a"), false));
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
    model.moved(Ok("moved 1".to_owned()));
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
