// SPDX-License-Identifier: MIT OR Apache-2.0
//! A key of the JSON that `ccctl` prints, and of the API's answers, has one shape wherever it stands, and every answer is
//! an object. `docs/reference/json.md` says what the keys mean.

use ccctl_core::advise::Advice;
use ccctl_core::daemon::Event;
use ccctl_core::operations::{acks, canary, trace, Socket};
use ccctl_series::columns::{self, Kind};
use ccctl_series::Values;
use ccctl_testbed::json_keys::{commands_with_json, Answers, Keys};
use clap::CommandFactory as _;

use crate::api::{operations, ErrorAnswer};
use crate::arguments::Arguments;
use crate::commands::{build, metrics, new, plot, top, verify, version};

fn answers() -> Answers {
    let mut answers = Answers::new();
    for entry in operations() {
        let schema = (entry.answer)(&mut answers.generator).to_value();
        answers.by_command.insert(entry.name.to_owned(), schema);
    }
    answers.add::<ErrorAnswer>("any command that fails");
    answers.add::<canary::CanaryAnswer>("canary");
    answers.add::<Event>("events");
    answers.add::<acks::Acks>("acks");
    answers.add::<Advice>("advise");
    answers.add::<trace::Summary>("trace");
    answers.add::<new::Answer>("new");
    answers.add::<build::Answer>("build");
    answers.add::<plot::Answer>("plot");
    answers.add::<top::Answer>("top");
    answers.add::<metrics::Answer>("metrics");
    answers.add::<verify::Answer>("verify");
    answers.add::<version::Answer>("version");
    answers
}

/// Those of all answers, and of a trace's rows.
fn keys() -> Keys {
    let mut keys = answers().walk();
    for column in trace::fixed_columns(true).unwrap().columns() {
        let shape = match column.values {
            Values::Text(_) => "string",
            Values::Integer(_) | Values::Float(_) => "number",
        };
        keys.note(&column.name, shape.to_owned());
    }
    keys
}

/// They print the answers of guard and of experiment status, and a log.
const OF_OTHERS: [&str; 4] = ["guard rearm", "experiment list", "experiment report", "daemon"];

#[test]
fn every_command_with_json_has_its_answer_here() {
    let known = answers().by_command;
    let mut missing = commands_with_json(Arguments::command());
    missing.retain(|name| !known.contains_key(&name.replace(' ', "-")));
    missing.retain(|name| !OF_OTHERS.contains(&name.as_str()));
    assert_eq!(missing, Vec::<String>::new(), "commands whose answer has no schema here");
}

#[test]
fn every_answer_is_an_object() {
    assert_eq!(keys().not_objects, Vec::<String>::new());
}

#[test]
fn every_key_has_one_shape() {
    assert_eq!(keys().changing(), Vec::<String>::new());
}

/// Keys of a socket that hold other keys, or one for each field of a state.
const CONTAINERS: [&str; 3] = ["owners", "transport", "algorithm_state"];

#[test]
fn keys_of_sockets_are_columns() {
    let mut answers = Answers::new();
    answers.add::<Socket>("sockets");
    let mut keys = answers.walk().by_key;
    keys.retain(|key, _| !CONTAINERS.contains(&key.as_str()));
    assert!(keys.len() > 30, "{keys:?}");
    for (key, shapes) in keys {
        let column = columns::SOCKET.iter().find(|column| column.name == key);
        let shape = match column.unwrap_or_else(|| panic!("{key} is not a column")).kind {
            Kind::Integer | Kind::Float => "number",
            Kind::Text => "string",
            Kind::Flag => "boolean",
        };
        assert!(shapes.into_keys().eq([shape.to_owned()]), "{key} is not a {shape}");
    }
}

#[test]
fn columns_of_traces_are_in_the_table() {
    for column in trace::fixed_columns(true).unwrap().columns() {
        let mut known = columns::SOCKET.iter().chain(columns::HOST);
        assert!(known.any(|known| known.empty() == *column), "{column:?}");
    }
}

/// What a key of this name says, in all places: the beginning of its description.
const MEANINGS: [(&str, &str); 3] = [
    ("algorithm", "Algorithm, as `ccctl algorithms` lists it"),
    ("congestion_control", "Kernel name, as in `net.ipv4.tcp_congestion_control`"),
    ("parameters", "Parameters, in the order of their declaration"),
];

#[test]
fn keys_of_names_have_one_meaning() {
    let keys = keys();
    for (key, meaning) in MEANINGS {
        let said = &keys.descriptions[key];
        assert!(said.len() > 3, "{key} is not walked: {said:?}");
        let others: Vec<_> = said.iter().filter(|(text, _)| !text.starts_with(meaning)).collect();
        assert!(others.is_empty(), "{key} also means: {others:?}");
    }
    for gone in ["program", "kernel_name", "by_algorithm"] {
        assert!(!keys.by_key.contains_key(gone), "{gone} is algorithm or congestion_control");
    }
}
