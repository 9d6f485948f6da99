// SPDX-License-Identifier: GPL-2.0-only
//! What is wrong gets one line of cause and one of what to try, before anything is run or written.

use std::fs;

use crate::scratch::{Scratch, SMALL};

/// Arguments, exit code, words of the message.
type Case = (&'static [&'static str], i32, &'static [&'static str]);

const CASES: &[Case] = &[
    (&["run", "s4-pair"], 2, &["there is no scenario \"s4-pair\"", "try: did you mean s4-pairs?"]),
    (&["show", "s4-pair"], 2, &["there is no scenario \"s4-pair\"", "try: did you mean s4-pairs?"]),
    (&["schema", "lits"], 2, &["there is no schema of \"lits\"", "try: ccctl-lab schema lists them"]),
    (&["run", "./missing.toml"], 2, &["cannot read the scenario ./missing.toml", "try: ccctl lab list"]),
    (&["run", "s4-pairs.toml"], 2, &["cannot read the scenario", "s4-pairs is a built-in scenario"]),
    (&["run", "./bad.toml"], 2, &["./bad.toml:5:1: unknown field `dealy`", "try: did you mean delay?"]),
    (&["run", "./no.toml"], 2, &["./no.toml:1:", "try: "]),
    (&["run"], 2, &["SCENARIO"]),
    (&["run", "./small.toml", "./bad.toml"], 2, &["./bad.toml:5:1"]),
    (&["run", "./small.toml", "--set", "link.m.rate=1 Gbit/s"], 2, &["there is no link \"m\"", "try: there are l"]),
    (&["run", "./small.toml", "--set", "link.l.rate=fast"], 2, &["\"fast\" is not a valid rate", "try: "]),
    (&["run", "./small.toml", "--set", "link.l.rate"], 2, &["it needs a =", "try: --set"]),
    (
        &["run", "./small.toml", "--set", "run.duration=6 s", "--only", "buffer=1"],
        2,
        &["no value \"1\"", "try: did you mean"],
    ),
    (&["run", "./small.toml", "--only", "bufer=20 % BDP"], 2, &["no axis \"bufer\"", "did you mean buffer?"]),
    (
        &["run", "s4-pairs", "--set", "run.duration=300 s", "--set", "run.window=[\"250 s\", \"300 s\"]"],
        2,
        &["--set contradicts the paper's values or statements", "try: leave them out with --no-paper"],
    ),
    (
        &["run", "./small.toml", "--beside", "s4-pair"],
        2,
        &["there is no scenario \"s4-pair\"", "did you mean s4-pairs?"],
    ),
    (
        &["run", "./small.toml", "--beside", "s4-pairs --only 'first=bic"],
        2,
        &["--beside", "a quotation mark is not closed"],
    ),
    (&["run", "./small.toml", "--beside", "s4-pairs --out x"], 2, &["--beside", "unexpected argument '--out'"]),
    (&["run", "./small.toml", "--beside", ""], 2, &["--beside", "<SCENARIO>"]),
    (
        &["run", "./small.toml", "--beside", "./small.toml --jobs 1"],
        2,
        &["another task already runs small", "try: use one task"],
    ),
    (
        &["run", "./small.toml", "--beside", "s4-pairs", "--backend", "both"],
        2,
        &["needs a single backend", "try: --backend netns"],
    ),
    (&["run", "./small.toml", "--shard", "5/4"], 2, &["there is no shard 5/4", "I from 1 to N"]),
    (&["run", "./small.toml", "--jobs", "0"], 2, &["0"]),
    (&["run", "./small.toml", "--backend", "ns3"], 2, &["ns3", "sim"]),
    (&["run", "./small.toml", "--late", "0s"], 2, &["--late", "from 1ns to 1min"]),
    (&["run", "./small.toml", "--late", "1h"], 2, &["--late", "from 1ns to 1min"]),
    (&["run", "./small.toml", "--out", "small.toml/x"], 2, &["cannot read small.toml/x/small", "try: choose a folder"]),
    (&["run", "./small.toml", "--out", "/proc/x"], 2, &["cannot create /proc/x/small", "try: choose a folder"]),
    (
        &["run", "./small.toml", "--out", "strange"],
        3,
        &["strange/small holds letter", "try: choose another folder: --out DIR"],
    ),
    (&["sweep", "./small.toml", "--axis", "link.l.delay"], 2, &["it needs a =", "try: --axis"]),
    (
        &["sweep", "./small.toml", "--axis", "link.l.dealy=1 ms,2 ms"],
        2,
        &["unknown field `dealy`", "did you mean delay?"],
    ),
    (&["sweep", "./small.toml", "--axis", "flows.a.algorithm=cubic,bic"], 2, &["set twice", "try: "]),
    (&["report", "strange/small"], 2, &["no runs of ccctl", "try: name a folder"]),
    (&["report", "missing"], 2, &["missing has no runs of ccctl"]),
    (&["merge", "merged", "strange/small"], 2, &["no runs of ccctl", "try: name a folder"]),
    (&["compare", "strange/small", "strange/small"], 2, &["no runs of ccctl", "try: name a folder"]),
    (&["reproduction", "strange/small"], 2, &["no runs of ccctl", "try: name a folder"]),
    (
        &["reproduction", "--record", "no.toml"],
        2,
        &["no.toml: ", "try: give a file that `ccctl lab reproduction --record`"],
    ),
];

#[test]
fn wrong_commands_are_refused_with_what_to_try() {
    let scratch = Scratch::new("bad");
    fs::write(scratch.path("bad.toml"), SMALL.replace("delay = \"5 ms\"\nqueue", "dealy = \"5 ms\"\nqueue")).unwrap();
    fs::write(scratch.path("no.toml"), "title = ").unwrap();
    fs::create_dir_all(scratch.path("strange/small")).unwrap();
    fs::write(scratch.path("strange/small/letter"), "").unwrap();
    let mut wrong = Vec::new();
    for (arguments, code, words) in CASES {
        let output = scratch.lab(arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        let is_short = said.lines().count() <= 2 && said.starts_with("ccctl-lab: ");
        if output.status.code() != Some(*code) || !is_short || !words.iter().all(|word| said.contains(word)) {
            wrong.push(format!("{arguments:?}: {:?}\n{said}", output.status.code()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(!scratch.path("ccctl-lab").exists(), "something was run");
}

#[test]
fn folders_of_other_experiments_stay_as_they_are() {
    let scratch = Scratch::new("foreign");
    let short = ["--repeats", "1", "--series", "none", "--only", "algorithm=cubic"];
    scratch.done(&[&["run", "./small.toml"], &short[..]].concat());
    fs::write(scratch.path("other.toml"), SMALL.replace("100 Mbit/s", "50 Mbit/s")).unwrap();
    fs::create_dir_all(scratch.path("out")).unwrap();
    scratch.done(&[&["run", "./other.toml", "--out", "out"], &short[..]].concat());
    let before = crate::scratch::files(&scratch.path("ccctl-lab/small"));

    let changed = scratch.lab(&[&["run", "./small.toml", "--set", "link.l.rate=50 Mbit/s"], &short[..]].concat());
    assert_eq!(changed.status.code(), Some(3));
    let merged = scratch.lab(&["merge", "merged", "ccctl-lab/small", "out/other"]);
    assert_eq!(merged.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&merged.stderr).contains("only shards of one can be merged"));
    let compared = scratch.lab(&["compare", "ccctl-lab/small", "out/other"]);
    assert_eq!(compared.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&compared.stderr).contains("compare two folders of the same scenario"));
    let unknown = scratch.lab(&["compare", "ccctl-lab/small", "ccctl-lab/small", "--measure", "goodputt:a"]);
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("did you mean goodput:a?"));
    assert!(before == crate::scratch::files(&scratch.path("ccctl-lab/small")));
}
