#![allow(clippy::unwrap_used)]
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::tests::{counters, inside, instance, of, socket, sockets, SECOND};
use super::*;
use crate::commands::top::action::Action;
use crate::commands::top::sample::{InstanceSample, Kind, SocketRow};

fn question(model: &Model) -> &Question {
    let Mode::Asking(question) = &model.mode else { panic!("{:?}", model.mode) };
    question
}

fn choice(key: &str, more: &str) -> Choice {
    Choice { key: key.to_owned(), more: more.to_owned(), note: String::new() }
}

fn names(question: &Question) -> Vec<&str> {
    question.choices.iter().map(|choice| choice.key.as_str()).collect()
}

/// One instance `a` of cubic with three sockets, and the built-in reno.
fn outside() -> Model {
    let mut model = Model::new();
    let reno = InstanceSample { kind: Kind::BuiltIn, ..instance("reno", counters(0, 0, 0)) };
    model.take(of(SECOND, vec![instance("a", counters(1000, 1, 0)), reno]));
    model
}

#[test]
fn nothing_is_moved_without_a_yes() {
    let (mut model, _) = inside();
    model.act(Action::Mark);
    model.act(Action::Mark);
    assert_eq!(model.act(Action::Migrate), None);
    assert_eq!(names(question(&model)), ["b", "reno"], "not to itself");
    model.act(Action::Down);
    for action in [Action::Yes, Action::Enter, Action::Enter, Action::Down] {
        assert_eq!(model.act(action), None, "{action:?}");
    }
    assert_eq!(question(&model).change().unwrap().question().0, "Move 2 sockets of a to reno?");
    let mut other = inside().0;
    other.mode.clone_from(&model.mode);
    assert_eq!(other.act(Action::No), None);
    assert_eq!((&other.mode, other.message.unwrap().text.as_str()), (&Mode::Normal, "nothing was moved"));
    let Some(Effect::Change(Change::Migrate(migration))) = model.act(Action::Yes) else { panic!("{:?}", model.mode) };
    let cookies: Vec<_> = migration.requests().iter().map(|request| request.filter.cookie).collect();
    assert_eq!(cookies, [Some(2), Some(3)]);
    assert!(model.sockets.marks().is_empty());
    model.act(Action::First);
    model.act(Action::Migrate);
    let (_, addresses) = question(&model).change().unwrap().question();
    assert_eq!(addresses, "10.0.0.1:102 -> 10.0.0.2:80", "without marks the one under the cursor");
}

#[test]
fn all_of_an_instance_is_one_request() {
    let mut model = Model::new();
    model.take(of(SECOND, vec![instance("a", counters(0, 0, 0))]));
    model.act(Action::Migrate);
    model.act(Action::Enter);
    let Some(Effect::Change(Change::Migrate(migration))) = model.act(Action::Yes) else { panic!("{:?}", model.mode) };
    assert_eq!(migration.label(), "3 sockets of a (all) to b");
    let requests = migration.requests();
    assert_eq!((requests.len(), requests[0].filter.instance.as_deref(), requests[0].all), (1, Some("a"), false));
}

#[test]
fn an_algorithm_is_chosen_before_it_is_loaded() {
    let mut model = outside();
    assert_eq!(model.act(Action::Load), Some(Effect::Lookup(Lookup::Algorithms)));
    assert_eq!(model.act(Action::Enter), None, "nothing to choose yet");
    assert_eq!(question(&model).stage, Stage::Waiting);
    let offered = vec![choice("cubic", "bpf_cubic"), choice("yeah", "bpf_yeah")];
    model.offer(&Lookup::Disabled, Ok(offered.clone()));
    assert_eq!(question(&model).stage, Stage::Waiting, "the answer to another question");
    model.offer(&Lookup::Algorithms, Ok(offered));
    model.act(Action::Down);
    model.act(Action::Enter);
    let change = question(&model).change().unwrap();
    assert_eq!(change.question().0, "Load yeah as bpf_yeah?");
    assert_eq!(model.act(Action::Enter), None, "Enter is no yes");
    assert_eq!(model.act(Action::Yes), Some(Effect::Change(change)));
    assert_eq!(model.message.unwrap().text, "loading yeah ...");
}

#[test]
fn a_swap_says_how_many_sockets_stay() {
    let mut model = outside();
    assert_eq!(model.act(Action::Swap), Some(Effect::Lookup(Lookup::Algorithms)));
    model.offer(&Lookup::Algorithms, Ok(vec![choice("htcp", "bpf_htcp")]));
    model.act(Action::Enter);
    let (text, more) = question(&model).change().unwrap().question();
    assert_eq!(text, "Swap a to htcp?");
    assert_eq!(more, "New connections use it; 3 sockets stay on the previous program until m moves them.");
    assert_eq!(model.act(Action::No), None);
    assert_eq!((&model.mode, model.message.unwrap().text.as_str()), (&Mode::Normal, "nothing was changed"));
}

#[test]
fn a_parameter_is_edited_from_its_present_value() {
    let mut model = outside();
    assert_eq!(model.act(Action::Tune), Some(Effect::Lookup(Lookup::Parameters("a".to_owned()))));
    model.offer(&Lookup::Parameters("a".to_owned()), Ok(vec![choice("beta", "0.7"), choice("c", "0.4")]));
    model.act(Action::Enter);
    assert_eq!(question(&model).stage, Stage::Typing("0.7".to_owned()));
    model.act(Action::Erase);
    model.act(Action::Character('8'));
    model.act(Action::Enter);
    let (text, more) = question(&model).change().unwrap().question();
    assert_eq!((text.as_str(), more.as_str()), ("Set beta=0.8 in a (now 0.7)?", "3 sockets use it."));
    let Some(Effect::Change(Change::Tune { name, key, value, .. })) = model.act(Action::Yes) else { panic!() };
    assert_eq!([name, key, value], ["a", "beta", "0.8"]);
}

#[test]
fn a_rule_is_for_the_cgroup_of_the_socket() {
    let mut model = outside();
    assert_eq!(model.act(Action::Assign), None);
    assert!(model.message.clone().unwrap().text.contains("choose a socket first"));
    let (mut model, later) = inside();
    assert_eq!(model.act(Action::Assign), None);
    assert_eq!(model.message.clone().unwrap().text, "the cgroup of this socket is not known");
    let in_web = |cookie| SocketRow { cgroup: Some("/web".into()), ..socket(cookie, 0) };
    model.take(sockets(later, vec![in_web(1), in_web(2), socket(3, 0)]));
    model.act(Action::First);
    model.act(Action::Assign);
    assert_eq!(names(question(&model)), ["a", "b", "reno"]);
    model.act(Action::Last);
    model.act(Action::Enter);
    let change = question(&model).change().unwrap();
    assert_eq!(change.question().0, "Assign reno to new connections of /web?");
    assert_eq!(change.question().1, "2 sockets stay as they are (m moves them).");
    assert_eq!(model.act(Action::Yes), Some(Effect::Change(change)));
}

#[test]
fn what_the_guard_disabled_is_enabled_again() {
    let mut model = outside();
    model.act(Action::Rearm);
    model.offer(&Lookup::Disabled, Ok(Vec::new()));
    assert_eq!(
        (&model.mode, model.message.clone().unwrap().text.as_str()),
        (&Mode::Normal, "the guard has disabled nothing")
    );
    model.act(Action::Rearm);
    let disabled = Choice { note: "stalled 60 %".to_owned(), ..choice("a", "for 2s, reno in its place") };
    model.offer(&Lookup::Disabled, Ok(vec![disabled]));
    model.act(Action::Enter);
    let (text, more) = question(&model).change().unwrap().question();
    assert_eq!((text.as_str(), more.as_str()), ("Enable a again?", "The guard has disabled it: stalled 60 %"));
}

#[test]
fn what_is_not_ccctls_cannot_be_tuned() {
    let mut model = outside();
    model.act(Action::Last);
    for action in [Action::Tune, Action::Swap] {
        assert_eq!(model.act(action), None);
        assert!(model.message.clone().unwrap().text.starts_with("reno is built-in"));
    }
    model.act(Action::Load);
    model.offer(&Lookup::Algorithms, Err("permission denied".to_owned()));
    assert_eq!((&model.mode, model.message.unwrap().is_error), (&Mode::Normal, true));
}

#[test]
fn a_view_is_written_in_the_format_of_its_name() {
    let mut model = outside();
    let write = |model: &mut Model, name: &str| {
        model.act(Action::Write);
        while matches!(&model.mode, Mode::Writing(text) if !text.is_empty()) {
            model.act(Action::Erase);
        }
        name.chars().for_each(|character| drop(model.act(Action::Character(character))));
        model.act(Action::Enter)
    };
    let Some(Effect::Write(export)) = write(&mut model, "x.csv") else { panic!("{:?}", model.message) };
    assert_eq!((export.path.as_str(), export.rows), ("x.csv", 2));
    let lines: Vec<&str> = export.text.lines().collect();
    assert!(lines[0].starts_with("congestion_control,algorithm,map_id,socket_count,sender_count,"), "{}", lines[0]);
    assert!(lines[1].starts_with("a,cubic,,3,2,") && lines.len() == 3, "{lines:?}");
    assert_eq!(write(&mut model, "x.txt"), None);
    assert!(model.message.as_ref().unwrap().text.contains(".csv or .json"));
    let (mut model, _) = inside();
    let Some(Effect::Write(export)) = write(&mut model, "x.json") else { panic!("{:?}", model.message) };
    let document: serde_json::Value = serde_json::from_str(&export.text).unwrap();
    assert_eq!((&document["view"], &document["congestion_control"]), (&"sockets".into(), &"a".into()));
    assert_eq!(
        (&document["rows"][0]["cookie"], &document["rows"][0]["throughput_bit_per_s"]),
        (&2.into(), &1e6.into())
    );
}
