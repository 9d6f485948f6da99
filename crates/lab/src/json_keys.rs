// SPDX-License-Identifier: GPL-2.0-only
//! The same of `ccctl-lab` as of `ccctl`: a key of its JSON has one shape, and every answer is an object.

use ccctl_lab::report::Comparison;
use ccctl_testbed::json_keys::{commands_with_json, Answers};
use clap::CommandFactory as _;

use crate::arguments::Arguments;
use crate::commands::{
    Cleaned, ListAnswer, Outcome, PlanAnswer, RepeatAnswer, ReportAnswer, ReproductionAnswer, Results, ShowAnswer,
    TestAnswer,
};

fn answers() -> Answers {
    let mut answers = Answers::new();
    answers.add::<ListAnswer>("list");
    answers.add::<ShowAnswer>("show");
    answers.add::<Results>("run");
    answers.add::<Results>("sweep");
    answers.add::<TestAnswer>("test");
    answers.add::<Outcome>("merge");
    answers.add::<ReportAnswer>("report");
    answers.add::<Comparison>("compare");
    answers.add::<ReproductionAnswer>("reproduction");
    answers.add::<PlanAnswer>("plan");
    answers.add::<RepeatAnswer>("repeat");
    answers.add::<Cleaned>("clean");
    answers
}

#[test]
fn every_command_with_json_has_its_answer_here() {
    let known = answers().by_command;
    let mut missing = commands_with_json(Arguments::command());
    missing.retain(|name| !known.contains_key(name));
    assert_eq!(missing, Vec::<String>::new(), "commands whose answer has no schema here");
}

#[test]
fn every_key_has_one_shape_and_every_answer_is_an_object() {
    let keys = answers().walk();
    assert_eq!(keys.not_objects, Vec::<String>::new());
    assert_eq!(keys.changing(), Vec::<String>::new());
}
