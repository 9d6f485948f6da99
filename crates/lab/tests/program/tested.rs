// SPDX-License-Identifier: GPL-2.0-only
//! `ccctl-lab test`: what holds, what does not, what crashes, and files that are none.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::own_algorithm::MINE;
use crate::scratch::Scratch;

/// Kelly 2003: a packet per 100 acknowledged, an eighth given up.
const VECTORS: &str = r#"{"vectors": [
  {"id": "growth", "kind": "trace", "source": "Kelly 2003: 1000 + 1000 / 100", "initial": {"cwnd": 1000, "ssthresh": 500},
   "events": [{"ev": "rounds", "n": 1, "rtt_us": 100000}], "expected": {"cwnd": 1010}},
  {"id": "loss", "kind": "trace", "source": "Kelly 2003: 1000 - 1000 / 8", "initial": {"cwnd": 1000, "ssthresh": 500},
   "events": [{"ev": "loss"}, {"ev": "recovered"}], "expected": {"cwnd": 875, "losses": 1}}
]}"#;

/// Without the page: seconds of simulation.
const WORDS: [&str; 6] = ["--trust-writable", "--no-page", "--fuzz", "100ms", "--json", "test"];

fn scratch(name: &str, source: &str, vectors: &str) -> Scratch {
    let scratch = Scratch::new(name);
    fs::write(scratch.path("mine.bpf.c"), source).unwrap();
    fs::write(scratch.path("mine.vectors.json"), vectors).unwrap();
    scratch
}

/// Exit code, answer, and what was said on stderr.
fn tested(scratch: &Scratch, file: &str) -> (Option<i32>, Value, String) {
    let [options @ .., command] = WORDS;
    let output = scratch.lab(&[&[command, file][..], &options].concat());
    let said = String::from_utf8(output.stderr).unwrap();
    (output.status.code(), serde_json::from_slice(&output.stdout).unwrap_or_default(), said)
}

fn counterexamples(answer: &Value) -> Vec<(&str, &str)> {
    let all = answer["properties"].as_array().unwrap().iter();
    all.filter_map(|it| Some((it["property"].as_str()?, it["counterexample"].as_str()?))).collect()
}

#[test]
fn an_algorithm_that_keeps_its_law_passes_as_c_and_as_object() {
    let scratch = scratch("tested", MINE, VECTORS);
    let object = ccctl_catalog::compile(&scratch.path("mine.bpf.c"), ccctl_catalog::Target::Bpf).unwrap();
    fs::write(scratch.path("mine.bpf.o"), object).unwrap();
    for (file, compared) in [("./mine.bpf.c", "object-and-c"), ("./mine.bpf.o", "own-memory")] {
        let (code, answer, said) = tested(&scratch, file);
        assert_eq!((code, &answer["passed"]), (Some(0), &true.into()), "{answer} {said}");
        assert_eq!(answer["vectors"].as_array().unwrap().len(), 2, "{answer}");
        let properties = answer["properties"].as_array().unwrap();
        assert!(properties.len() >= 8 && properties.iter().any(|it| it["property"] == compared), "{answer}");
        assert_eq!((&answer["page"], &answer["crash"]), (&Value::Null, &Value::Null));
        assert!(answer["histories"].as_u64() > Some(0), "{answer}");
        assert_eq!(
            answer["unsanitized"].is_null(),
            file == "./mine.bpf.c",
            "this host's clang has its runtime: {answer}"
        );
        assert!(said.contains("compiling") && said.contains("vectors"), "{said}");
    }
}

#[test]
fn what_does_not_hold_is_named_with_the_shortest_history() {
    let grows = MINE
        .replace("acked_pkts = cc_begin_growth(sk, acked_pkts);", "acked_pkts = cc_min(acked_pkts, 1000);")
        .replace("snd_cwnd / 8", "snd_cwnd / 4");
    let (code, answer, _) = tested(&scratch("tested-wrong", &grows, VECTORS), "./mine.bpf.c");
    assert_eq!((code, &answer["passed"]), (Some(6), &false.into()), "{answer}");
    let broken = counterexamples(&answer);
    let [("unused-window", why)] = broken[..] else { panic!("{broken:?}") };
    assert!(why.contains("unused; shortest history:") && why.contains("window not filled;"), "{why}");
    assert_eq!(answer["vectors"][0]["mismatches"], Value::Array(Vec::new()));
    assert_eq!(answer["vectors"][1]["mismatches"][0], "at the end: cwnd is 750, expected 875");
}

#[test]
fn a_state_that_outlives_its_connection_and_a_reduction_that_cannot_be_undone_are_found() {
    let source = MINE
        .replace("struct mine_state {", "static u32 shared;\nstruct mine_state {")
        .replace("->losses++;", "->losses = ++shared;")
        .replace("CC_FN(tcp_reno_undo_cwnd)", "CC_FN(tcp_reno_ssthresh)");
    let (code, answer, _) = tested(&scratch("tested-shared", &source, VECTORS), "./mine.bpf.c");
    assert_eq!(code, Some(6), "{answer}");
    let names: Vec<&str> = counterexamples(&answer).into_iter().map(|(name, _)| name).collect();
    assert!(names.contains(&"own-state") && names.contains(&"undo"), "{answer}");
}

/// The process of the checks ends, this one does not; the line of C is in the answer.
#[test]
fn crashes_and_overflows_end_the_checks_and_are_named() {
    let line = "return cc_ssthresh_floor(tcp_sk(sk)->snd_cwnd - tcp_sk(sk)->snd_cwnd / 8);";
    assert!(MINE.contains(line));
    for (name, body, place, finding) in [
        ("zero", "return 1000 / (tcp_sk(sk)->snd_cwnd % 2);", "mine.bpf.c:15:", ": division by zero"),
        ("overflow", "return tcp_sk(sk)->snd_cwnd - 3;", "mine.bpf.c:15:", ": unsigned integer overflow: "),
        // The place is llvm-symbolizer's, which not every host has.
        ("null", "return *(volatile u32 *)(u64)(tcp_sk(sk)->snd_cwnd & 0);", "", "AddressSanitizer: SEGV"),
    ] {
        let scratch = scratch(&format!("tested-{name}"), &MINE.replace(line, body), r#"{"vectors": []}"#);
        let (code, answer, _) = tested(&scratch, "./mine.bpf.c");
        assert_eq!(code, Some(6), "{name}: {answer}");
        let found = answer["crash"]["finding"].as_str().unwrap();
        assert!(found.starts_with(place) && found.contains(finding), "{name}: {answer}");
        assert!(answer["crash"]["during"].as_str().unwrap().starts_with("property "), "{name}: {answer}");
    }
}

#[test]
fn files_that_are_none_are_refused_in_one_line() {
    let vectors = |text: &str| VECTORS.replace(r#""events": [{"ev": "loss"}"#, text);
    for (name, source, vectors, code, part) in [
        ("json", MINE, "{".to_owned(), 2, "mine.vectors.json: EOF"),
        ("event", MINE, vectors(r#""events": [{"ev": "lost"}"#), 2, "unknown variant `lost`"),
        ("twice", MINE, VECTORS.replace("\"growth\"", "\"loss\""), 2, "two vectors are called \"loss\""),
        ("clang", "int", VECTORS.to_owned(), 5, "clang refused ./mine.bpf.c"),
    ] {
        let scratch = scratch(&format!("tested-{name}"), source, &vectors);
        let (found, answer, said) = tested(&scratch, "./mine.bpf.c");
        assert_eq!((found, answer), (Some(code), Value::Null), "{name}: {said}");
        let mut end = said.lines().rev();
        assert!(end.next().unwrap().starts_with("  try: ") && end.next().unwrap().contains(part), "{name}: {said}");
    }
    let (code, _, said) = tested(&Scratch::new("tested-none"), "./none.bpf.c");
    assert!(code == Some(2) && said.contains("cannot read ./none.bpf.c"), "{said}");
    let unknown = VECTORS.replace("\"losses\": 1", "\"lossses\": 1");
    let (code, answer, _) = tested(&scratch("tested-unknown", MINE, &unknown), "./mine.bpf.c");
    assert_eq!(code, Some(6));
    assert_eq!(answer["vectors"][1]["mismatches"][0], "at the end: no state is called lossses");
}

/// Four algorithms on five paths. A second test replaces the folder; one that is something else stays.
#[test]
fn the_page_has_the_checks_and_the_algorithm_beside_others() {
    let scratch = scratch("tested-page", MINE, VECTORS);
    let words = ["test", "./mine.bpf.c", "--trust-writable", "--fuzz", "0s"];
    let text = scratch.done(&words);
    assert!(text.starts_with("mine: passed\n") && text.contains("2 of 2 hold"), "{text}");
    let page = fs::read_to_string(scratch.path("ccctl-lab/mine-test/index.html")).unwrap();
    for part in
        ["<h2 id=\"s0\">Checks</h2>", "object-and-c", "short transfers", "beside CUBIC", "ccctl lab test ./mine.bpf.c"]
    {
        assert!(page.contains(part), "{part}");
    }
    let summary = scratch.json("ccctl-lab/mine-test/summary.json");
    let algorithms: Vec<&str> = summary["points"]
        .as_array()
        .unwrap()
        .iter()
        .take(4)
        .map(|point| point["place"]["algorithm"].as_str().unwrap())
        .collect();
    assert_eq!((summary["points"].as_array().unwrap().len(), algorithms), (20, vec!["reno", "cubic", "bbr", "mine"]));
    fs::write(scratch.path("ccctl-lab/mine-test/command.txt"), "ccctl lab run x\n").unwrap();
    let output = scratch.lab(&words);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("ccctl-lab/mine-test is not the folder of an earlier test"), "{said}");
}

/// What `ccctl new` writes, for every `--from`: three vectors that hold, and a scenario that runs.
#[test]
fn templates_of_new_are_accepted_as_they_stand() {
    let templates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/src/templates");
    let scratch = Scratch::new("tested-templates");
    for name in ["reno", "cubic", "delay", "rate"] {
        let own = format!("my{name}");
        for (template, ending) in [(name, "bpf.c"), (name, "vectors.json"), ("scenario", "toml")] {
            let text = fs::read_to_string(templates.join(format!("{template}.{ending}.in"))).unwrap();
            let text = [("@name@", own.clone()), ("@NAME@", own.to_uppercase()), ("@TITLE@", own.clone())]
                .iter()
                .fold(text, |text, (word, by)| text.replace(word, by));
            fs::write(scratch.path(&format!("{own}.{ending}")), text).unwrap();
        }
        let source = format!("./{own}.bpf.c");
        let (code, answer, said) = tested(&scratch, &source);
        assert_eq!(code, Some(0), "{answer} {said}");
        assert_eq!(answer["vectors"].as_array().unwrap().len(), 3);
        scratch.done(&["run", &format!("./{own}.toml"), "--algorithm", &source, "--trust-writable"]);
        let measures = &scratch.json(&format!("ccctl-lab/{own}/summary.json"))["points"][0]["measures"];
        // Next to CUBIC, one that goes by delay gets little.
        assert!(measures["goodput:first"]["mean"].as_f64() > Some(0.2), "{measures}");
    }
}
