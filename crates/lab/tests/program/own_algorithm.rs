// SPDX-License-Identifier: GPL-2.0-only
//! `ccctl-lab run --algorithm FILE`: a user's algorithm as C and as an object, and what is refused.

use std::fs;
use std::path::Path;

use ccctl_catalog::Target;
use serde_json::Value;

use crate::scratch::{assert_same_folders, Scratch, DUMBBELL};

/// Scalable TCP's law with a state of its own, under a name that the catalogue does not have.
pub const MINE: &str = r#"#include "cc.h"
#define MINE_PARAMS(P) P(CC_PARAM(acks_per_pkt, 100, 1, 1000, "pkts", "acknowledged per packet of growth"))
CC_PARAMS(mine, MINE_PARAMS);
struct mine_state { u32 losses; };
CC_STATE_STRUCT(mine);
void CC_HOOK(mine_cong_avoid, struct sock *sk, u32 ack, u32 acked_pkts)
{
	acked_pkts = cc_begin_growth(sk, acked_pkts);
	if (acked_pkts)
		tcp_cong_avoid_ai(tcp_sk(sk), mine_params()->acks_per_pkt, acked_pkts);
}
u32 CC_HOOK(mine_ssthresh, struct sock *sk)
{
	CC_STATE(mine, sk)->losses++;
	return cc_ssthresh_floor(tcp_sk(sk)->snd_cwnd - tcp_sk(sk)->snd_cwnd / 8);
}
CC_ALGORITHM(mine, .cong_avoid = CC_FN(mine_cong_avoid), .ssthresh = CC_FN(mine_ssthresh),
	     .undo_cwnd = CC_FN(tcp_reno_undo_cwnd));
"#;

fn scratch(name: &str) -> Scratch {
    let scratch = Scratch::new(name);
    fs::write(scratch.path("mine.bpf.c"), MINE).unwrap();
    fs::write(scratch.path("two.toml"), DUMBBELL).unwrap();
    compile(&scratch.path("mine.bpf.c"), &scratch.path("mine.o"));
    scratch
}

fn compile(source: &Path, object: &Path) {
    fs::write(object, ccctl_catalog::compile(source, Target::Bpf).unwrap()).unwrap();
}

/// The scenario does not name the algorithm: its first group uses it. It has the rates of the law: 1/100 of what is acknowledged,
/// where Scalable TCP with its defaults has the same.
#[test]
fn c_and_object_give_the_same_bytes_and_those_of_the_law() {
    let scratch = scratch("own");
    for (file, out) in [("./mine.bpf.c", "native"), ("mine.o", "bytecode")] {
        scratch.done(&["run", "./two.toml", "--algorithm", file, "--trust-writable", "--out", out]);
        let command = String::from_utf8(scratch.bytes(&format!("{out}/two/command.txt"))).unwrap();
        assert_eq!(command.trim(), format!("ccctl lab run ./two.toml --algorithm {file}"));
    }
    for folder in ["series", "units"] {
        assert_same_folders(
            &scratch.path(&format!("native/two/{folder}")),
            &scratch.path(&format!("bytecode/two/{folder}")),
        );
    }
    let versions = scratch.json("native/two/versions.json");
    let names: Vec<&String> = versions["algorithm_sha256"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["mine", "reno"], "the first group has it, the second its own");
    let text = "flows.a.algorithm=scalable";
    let set = ["--set", text, "--set", "flows.a.set={ low_window_pkts = 2 }", "--no-paper"];
    scratch.done(&[&["run", "./two.toml", "--out", "law"][..], &set].concat());
    let measures = |out: &str| scratch.json(&format!("{out}/two/units/p00001-r1.json"))["measures"].clone();
    assert_eq!(measures("native"), measures("law"));
}

/// An axis of algorithms has it as one more value, and other points as before.
#[test]
fn an_axis_of_algorithms_has_it_as_a_further_value() {
    let scratch = scratch("own-axis");
    let words = [
        "run",
        "./small.toml",
        "--algorithm",
        "mine.o",
        "--trust-writable",
        "--repeats",
        "1",
        "--set",
        "run.duration=6 s",
    ];
    let answer = scratch.done(&[&words[..], &["--only", "buffer=20 % BDP", "--json"]].concat());
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["results"][0]["ran"], 3, "{answer}");
    let only = scratch.done(&[&words[..], &["--only", "algorithm=mine", "--out", "only", "--json"]].concat());
    let only: Value = serde_json::from_str(&only).unwrap();
    assert_eq!(only["results"][0]["ran"], 2, "two buffers: {only}");
}

/// Words of the command line, exit code, and what the message has.
type Case = (&'static [&'static str], i32, &'static [&'static str]);

const REFUSED: &[Case] = &[
    (&["mine.c"], 2, &["mine.c: neither a C file nor an object", "try: name a C file"]),
    (&["none.bpf.c"], 2, &["cannot read none.bpf.c", "try: ccctl new NAME"]),
    (&["reno.bpf.c"], 2, &["there is another algorithm reno", "try: rename yours"]),
    (&["mine.o", "--algorithm", "other.bpf.c"], 2, &["there is another algorithm mine"]),
    (&["wrong.bpf.c"], 5, &["wrong.bpf.c:10:", "clang refused", "try: its messages above"]),
    (&["shared.o"], 5, &["shared.o: mine cannot be interpreted: it keeps global variables", "try: "]),
    (&["damaged.o"], 2, &["damaged.o"]),
    (&["mine.bpf.c", "--set", "flows.b.algorithm=mnie"], 2, &["\"mnie\"", "did you mean mine?"]),
];

#[test]
fn what_is_no_algorithm_is_refused_in_one_line_and_nothing_is_run() {
    let scratch = scratch("own-refused");
    let write = |name: &str, text: &str| fs::write(scratch.path(name), text).unwrap();
    write("mine.c", MINE);
    write("other.bpf.c", &MINE.replace("100, 1, 1000", "50, 1, 1000"));
    write("reno.bpf.c", &MINE.replace("mine", "reno"));
    write(
        "wrong.bpf.c",
        &MINE
            .replace("acked_pkts = cc_begin", "acked = cc_begin")
            .replace("struct mine_state", "\n\nstruct mine_state"),
    );
    write(
        "shared.bpf.c",
        &MINE.replace("void CC_HOOK", "u32 seen;\nvoid CC_HOOK").replace("if (acked_pkts)", "if (seen++ & acked_pkts)"),
    );
    compile(&scratch.path("shared.bpf.c"), &scratch.path("shared.o"));
    let mut object = scratch.bytes("mine.o");
    object.truncate(object.len() / 2);
    fs::write(scratch.path("damaged.o"), object).unwrap();
    for (words, code, parts) in REFUSED {
        let words = [&["run", "./two.toml", "--trust-writable", "--algorithm"], *words].concat();
        let output = scratch.lab(&words);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(*code), "{words:?}: {said}");
        for part in *parts {
            assert!(said.contains(part), "{words:?}: {part:?} is not in {said}");
        }
        assert!(!scratch.path("ccctl-lab").exists(), "{words:?}");
    }
}

/// What an object does that the verifier would have refused ends its run with its name; no result is kept.
#[test]
fn an_object_that_leaves_its_memory_fails_its_run() {
    let scratch = scratch("own-fault");
    let text = MINE.replace("CC_STATE(mine, sk)->losses++;", "((u32 *)CC_STATE(mine, sk))[100000] = 1;");
    fs::write(scratch.path("bad.bpf.c"), text).unwrap();
    compile(&scratch.path("bad.bpf.c"), &scratch.path("bad.o"));
    let output = scratch.lab(&["run", "./two.toml", "--trust-writable", "--algorithm", "bad.o"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(5), "{said}");
    assert!(
        said.contains("ssthresh of mine: out of bounds memory store") && said.contains("try: ccctl check"),
        "{said}"
    );
    assert_eq!(scratch.units("ccctl-lab/two"), 0);
}

/// Root would run what another user has written.
#[test]
fn attack_root_runs_no_algorithm_that_others_can_write() {
    if !nix::unistd::geteuid().is_root() {
        return;
    }
    let scratch = scratch("own-trust");
    for file in ["mine.bpf.c", "mine.o"] {
        std::os::unix::fs::chown(scratch.path(file), Some(65534), None).unwrap();
        let output = scratch.lab(&["run", "./two.toml", "--algorithm", file]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(said.contains("other users than root can write") && said.contains("--trust-writable"), "{said}");
    }
}
