// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mistakes in a C file: `check` and `load` say the same of each, and name what is wrong where it is.

use crate::support;
use support::compile::compile;
use support::{ccctl, code, is_refusal, names, refuses, Folder};

/// AIMD with one parameter: no mistake in it.
const WHOLE: &str = r#"#include "cc.h"
#define AIMD_PARAMS(P) P(CC_PARAM(steps, 2, 1, 64, "pkts", "packets a round trip"))
CC_PARAMS(aimd, AIMD_PARAMS);

void CC_HOOK(aimd_cong_avoid, struct sock *sk, u32 ack, u32 acked_pkts)
{
	tcp_sk(sk)->snd_cwnd += aimd_params()->steps;
}

u32 CC_HOOK(aimd_ssthresh, struct sock *sk)
{
	return cc_max(tcp_sk(sk)->snd_cwnd / 2, 2);
}

CC_ALGORITHM(aimd,
	.cong_avoid = CC_FN(aimd_cong_avoid),
	.ssthresh = CC_FN(aimd_ssthresh),
	.undo_cwnd = CC_FN(tcp_reno_undo_cwnd),
);
"#;

/// The file with one part of it replaced.
fn with(part: &str, other: &str) -> String {
    assert!(WHOLE.contains(part), "{part}");
    WHOLE.replace(part, other)
}

/// Both commands refuse the object with the code and the words, and nothing is registered.
fn both_refuse(folder: &Folder, label: &str, source: &str, code: i32, words: &[&str]) {
    let object = compile(folder, source, label);
    for command in [&["check", &object][..], &["load", &object, "--as", "refused"]] {
        let output = ccctl(command);
        is_refusal(&format!("{label}: {command:?}"), &output, code, words);
        assert!(output.stderr.contains("try: "), "{label}: no remedy: {}", output.stderr);
        remove_log(&output.stderr);
    }
    assert!(names().is_empty(), "{label}");
}

/// The verifier's log that a message names is this test's.
fn remove_log(message: &str) {
    let log = message.split_whitespace().find(|word| word.starts_with("/run/ccctl/verifier-"));
    if let Some(log) = log {
        let _ = std::fs::remove_file(log.trim_end_matches([',', ';', ')']));
    }
}

/// `tcp_validate_congestion_control()`: `ssthresh`, `undo_cwnd`, and one of `cong_avoid` and `cong_control` are required.
#[test]
fn check_and_load_name_the_hook_that_is_missing() {
    support::test("missing hooks", 120, || {
        let folder = Folder::new("hooks");
        let whole = compile(&folder, WHOLE, "whole");
        assert!(ccctl(&["check", &whole]).success());
        let ssthresh =
            "u32 CC_HOOK(aimd_ssthresh, struct sock *sk)\n{\n\treturn cc_max(tcp_sk(sk)->snd_cwnd / 2, 2);\n}\n";
        let no_ssthresh = with(ssthresh, "").replace("\t.ssthresh = CC_FN(aimd_ssthresh),\n", "");
        both_refuse(&folder, "none", &no_ssthresh, code::PROGRAM, &["it has no ssthresh", ".ssthresh = CC_FN("]);
        let left_out = with("\t.ssthresh = CC_FN(aimd_ssthresh),\n", "");
        let words = &["no ssthresh", "although there is a program aimd_ssthresh", ".ssthresh = CC_FN(aimd_ssthresh)"];
        both_refuse(&folder, "left_out", &left_out, code::PROGRAM, words);
        let no_undo = with("\t.undo_cwnd = CC_FN(tcp_reno_undo_cwnd),\n", "");
        both_refuse(&folder, "undo", &no_undo, code::PROGRAM, &["it has no undo_cwnd", "CC_FN(tcp_reno_undo_cwnd)"]);
        let no_growth = with("\t.cong_avoid = CC_FN(aimd_cong_avoid),\n", "");
        let words = &["no cong_avoid and no cong_control", ".cong_avoid = CC_FN(aimd_cong_avoid)"];
        both_refuse(&folder, "growth", &no_growth, code::PROGRAM, words);
    });
}

/// Only the kernel can tell, and only when the table is registered.
#[test]
fn a_flag_that_the_kernel_does_not_know_is_named() {
    support::test("unknown flag", 60, || {
        let folder = Folder::new("flag");
        let source = with("CC_ALGORITHM(aimd,", "CC_REGISTER(aimd, \"bpf_aimd\", 0x100,");
        let object = compile(&folder, &source, "flag");
        let words = ["the kernel refuses", "does not know all flags", "(0x101)", ".flags"];
        refuses(&["load", &object], code::PROGRAM, &words);
        assert!(ccctl(&["load", "reno", "--as", "working"]).success());
        refuses(&["swap", "working", "--with", &object], code::PROGRAM, &words);
        assert!(ccctl(&["unload", "working"]).success());
    });
}

#[test]
fn a_program_that_no_table_names_and_a_hook_that_is_no_program_are_named() {
    support::test("stray programs", 60, || {
        let folder = Folder::new("stray");
        let init = "void CC_HOOK(aimd_init, struct sock *sk)\n{\n\ttcp_sk(sk)->snd_cwnd = 3;\n}\n\nCC_ALGORITHM(aimd,";
        let words = &["the program aimd_init is in no table", "CC_FN(aimd_init)"];
        both_refuse(&folder, "stray", &with("CC_ALGORITHM(aimd,", init), code::PROGRAM, words);
        let plain = with("CC_HOOK(aimd_ssthresh, struct sock *sk)", "aimd_ssthresh(struct sock *sk)");
        both_refuse(
            &folder,
            "plain",
            &plain,
            code::USAGE,
            &["aimd_ssthresh", "without CC_HOOK", "CC_HOOK(aimd_ssthresh"],
        );
    });
}

/// The line of C, also where the loop is on one line and the verifier's log has no line of C at its end.
#[test]
fn a_loop_without_a_visible_bound_is_named_with_its_line() {
    support::test("loops", 600, || {
        let folder = Folder::new("loops");
        let growth = "\ttcp_sk(sk)->snd_cwnd += aimd_params()->steps;\n";
        let looping = |body: &str| with(growth, &format!("{growth}{body}"));
        let branch = "\n\twhile (ack != 0) {\n\t\tif (tcp_sk(sk)->snd_cwnd == ack)\n\t\t\ttcp_sk(sk)->snd_cwnd = 3;\n\t\tack -= 1;\n\t}\n";
        let words =
            &["no bound of the loop at branch.bpf.c:9 in aimd_cong_avoid: while (ack != 0) {", "constant bound"];
        both_refuse(&folder, "branch", &looping(branch), code::PROGRAM, words);
        let line = "\tfor (u32 i = 0; i != ack; i++) { if (tcp_sk(sk)->snd_cwnd == i) tcp_sk(sk)->snd_cwnd = 3; }\n";
        let words = &["no bound of the loop at line.bpf.c:8 in aimd_cong_avoid: for ("];
        both_refuse(&folder, "line", &looping(line), code::PROGRAM, words);
    });
}

#[test]
fn an_index_without_bound_is_named_with_its_line() {
    support::test("index", 60, || {
        let folder = Folder::new("index");
        let growth = "\ttcp_sk(sk)->snd_cwnd += aimd_params()->steps;\n";
        let body =
            "\tstatic u32 table[16];\n\n\ttable[acked_pkts & 15] = ack;\n\ttcp_sk(sk)->snd_cwnd += table[ack];\n";
        let words =
            &["unbounded memory access", "index.bpf.c:10 in aimd_cong_avoid: tcp_sk(sk)->snd_cwnd += table[ack];"];
        both_refuse(&folder, "index", &with(growth, body), code::PROGRAM, words);
    });
}

/// Of these sizes clang makes sections of their own, which libbpf does not open.
#[test]
fn a_small_constant_table_is_named_with_its_section() {
    support::test("constant tables", 60, || {
        let folder = Folder::new("tables");
        let growth = "\ttcp_sk(sk)->snd_cwnd += aimd_params()->steps;\n";
        for bytes in [4_u32, 8, 16, 32] {
            let values = (0..bytes).map(|value| (value * 7 + 1).to_string()).collect::<Vec<_>>().join(", ");
            let table = |kind: &str| {
                let table = format!("\t{kind} u8 table[{bytes}] = {{ {values} }};\n");
                with(growth, &format!("{table}{growth}\ttcp_sk(sk)->snd_cwnd += table[ack & {}];\n", bytes - 1))
            };
            let section = format!(".rodata.cst{bytes}");
            let words = &["a constant table", section.as_str(), "static const volatile"];
            both_refuse(&folder, "table", &table("static const"), code::USAGE, words);
            let object = compile(&folder, &table("static const volatile"), "volatile");
            assert!(ccctl(&["check", &object]).success(), "what the remedy says is accepted");
        }
    });
}

#[test]
fn parameters_that_cannot_be_are_named() {
    support::test("declarations", 60, || {
        let folder = Folder::new("declarations");
        let range = with("steps, 2, 1, 64", "steps, 100, 1, 64");
        both_refuse(&folder, "range", &range, code::USAGE, &["parameter steps: default 100 is outside 1 .. 64"]);
        let expression = with("steps, 2, 1, 64", "steps, (1 + 1), 1, 64");
        both_refuse(
            &folder,
            "sum",
            &expression,
            code::USAGE,
            &["parameter steps: default \"(1 + 1)\" is not a whole number"],
        );
        let two = "\"packets a round trip\")) P(CC_PARAM(steps_us, 2, 1, 64, \"us\", \"pace\"))";
        let alike = with("\"packets a round trip\"))", two);
        let words = &["the members steps and steps_us are both parameter steps", "another name for steps_us"];
        both_refuse(&folder, "alike", &alike, code::USAGE, words);
        let other = WHOLE.replace("CC_PARAMS(aimd,", "CC_PARAMS(other,").replace("aimd_params()", "other_params()");
        let words = &["CC_PARAMS names the algorithm other, and CC_ALGORITHM names it aimd", "CC_PARAMS(aimd, ...)"];
        both_refuse(&folder, "other", &other, code::USAGE, words);
    });
}

/// Each of these once had a cause and nothing to try.
#[test]
fn refusals_have_a_remedy() {
    support::test("remedies", 60, || {
        for (words, remedy) in [
            (&["check", "nothere.o"][..], "ccctl algorithms"),
            (&["load", "/no/such/file.o"], "ccctl algorithms"),
            (&["load", "cubic", "--profile", "cubic205"], "cubic2005"),
            (&["load", "cubic", "--as", "a-name-that-is-too-long"], "such as a_name_that_is_"),
            (&["load", "CUBIC"], "did you mean cubic?"),
        ] {
            refuses(words, code::USAGE, &["try: ", remedy]);
        }
    });
}
