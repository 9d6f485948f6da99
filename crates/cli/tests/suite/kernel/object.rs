// SPDX-License-Identifier: MIT OR Apache-2.0
//! Object files that are no algorithm, are damaged, or are refused by the verifier.

use crate::support;
use ccctl_testbed::Output;
use support::compile::compile;
use support::{ccctl, code, is_refusal, names, refuses, show, succeeds, Folder};

#[test]
fn files_that_are_no_algorithm() {
    support::test("wrong files", 60, || {
        let folder = Folder::new("files");
        let good = ccctl_catalog::algorithm("cubic").unwrap().object().to_vec();
        let mut files = vec![
            ("text.o".to_owned(), b"this is no object file\n".to_vec()),
            ("empty.o".to_owned(), Vec::new()),
            ("program.o".to_owned(), std::fs::read("/bin/true").unwrap()),
        ];
        for share in 1..16 {
            files.push((format!("cut{share}.o"), good[..good.len() * share / 16].to_vec()));
        }
        for (name, bytes) in files {
            let path = folder.file(&name, bytes);
            refuses(&["load", &path, "--as", "wrong"], code::USAGE, &[&name]);
        }
        refuses(&["load", "/no/such/file.o"], code::USAGE, &["/no/such/file.o"]);
        refuses(&["load", "./missing.o"], code::USAGE, &["missing.o"]);
        let directory = folder.path().join("folder.o");
        std::fs::create_dir(&directory).unwrap();
        refuses(&["load", directory.to_str().unwrap()], code::USAGE, &["folder.o"]);
    });
}

/// One byte changed at a time: it loads, or it is refused in the house format; never a crash, never a trace.
#[test]
fn damaged_object_files_never_crash() {
    support::test("damaged files", 120, || {
        let folder = Folder::new("damaged");
        let good = ccctl_catalog::algorithm("scalable").unwrap().object().to_vec();
        let mut random = support::Random(0xdead_beef_cafe);
        let (mut loaded, mut refused) = (0, 0);
        for round in 0..150 {
            let mut bytes = good.clone();
            for _ in 0..=random.below(3) {
                let position = random.below(bytes.len() as u64) as usize;
                bytes[position] ^= 1 << random.below(8);
            }
            let file = folder.file("damaged.o", &bytes);
            let output = ccctl(&["load", &file, "--as", "damaged"]);
            match output.code {
                Some(0) => {
                    loaded += 1;
                    let out = ccctl(&["unload", "damaged"]);
                    assert!(out.success(), "round {round}: {}", out.stderr);
                }
                Some(other @ (code::USAGE | code::PROGRAM)) => {
                    is_refusal(&format!("round {round}"), &output, other, &[]);
                    refused += 1;
                }
                other => {
                    let kept = std::env::temp_dir().join("ccctl-damaged.o");
                    std::fs::copy(&file, &kept).unwrap();
                    panic!("round {round}: {other:?}: {}{} (kept as {})", output.stdout, output.stderr, kept.display());
                }
            }
        }
        println!("{loaded} damaged objects loaded, {refused} were refused");
    });
}

/// The verifier refuses a loop without end and a read beyond the socket; both are whole algorithms otherwise.
#[test]
fn the_verifiers_refusal_names_its_log() {
    support::test("verifier", 60, || {
        let folder = Folder::new("verifier");
        for (label, fault) in [
            ("wild", "u32 divisor = *(volatile u32 *)((char *)sk + (1 << 20) + acked_pkts);\n"),
            ("null", "u32 divisor = *(volatile u32 *)0;\n"),
            ("write", "u32 divisor = p->acks_per_pkt; *(volatile u32 *)((char *)tp + 16) = 1;\n"),
        ] {
            let object = compile(&folder, &scalable_with(fault), label);
            let output = ccctl(&["load", &object, "--as", "refused"]);
            is_refusal(label, &output, code::PROGRAM, &["log"]);
            let log = log_of(&output, &object);
            let text = std::fs::read_to_string(&log).unwrap_or_else(|error| panic!("{log}: {error}"));
            assert!(text.contains("R1") || text.contains("processed"), "{log} is no verifier log: {text}");
            assert!(names().is_empty());
            succeeds(&["load", "reno", "--as", "working"]);
            let before = show("working");
            is_refusal(label, &ccctl(&["swap", "working", "--with", &object]), code::PROGRAM, &["log"]);
            assert_eq!(show("working"), before, "a refused swap leaves the program before");
            succeeds(&["unload", "working"]);
            let _ = std::fs::remove_file(log); // it is this test's
        }
    });
}

/// A field that no kernel lets BPF write is named, with the file that says which may be written.
#[test]
fn a_write_that_the_kernel_does_not_allow_is_named() {
    support::test("unwritable", 60, || {
        let folder = Folder::new("unwritable");
        for field in ["tp->snd_cwnd_clamp", "tp->prior_cwnd", "sk->sk_max_pacing_rate", "tp->rx_opt.rcv_tsval"] {
            let fault = format!("u32 divisor = p->acks_per_pkt;\n\t{field} = acked_pkts;\n");
            let object = compile(&folder, &scalable_with(&fault), "write");
            let name = field.rsplit(['.', '>']).next().unwrap();
            let output = ccctl(&["load", &object, "--as", "refused"]);
            is_refusal(
                field,
                &output,
                code::PROGRAM,
                &[
                    &format!("writes {name},"),
                    "algorithms may write snd_cwnd, snd_cwnd_cnt, snd_ssthresh,",
                    "app_limited (from 6.12)",
                    "/verifier-",
                ],
            );
            std::fs::remove_file(log_of(&output, &object)).unwrap();
        }
        assert!(names().is_empty());
    });
}

/// Its map of parameters is none of its programs' maps unless the loader sees to it, and then nothing could be listed.
#[test]
fn an_algorithm_that_uses_no_parameter_is_an_instance_like_others() {
    support::test("no parameter used", 60, || {
        let folder = Folder::new("unused");
        let path = format!("{}/../../kernels/guest/write.bpf.c", env!("CARGO_MANIFEST_DIR"));
        let source = std::fs::read_to_string(path).unwrap().replace("FIELD", "snd_cwnd_cnt");
        let object = compile(&folder, &source, "unused");
        succeeds(&["load", &object, "--as", "unused"]);
        assert_eq!(names(), ["unused"]);
        succeeds(&["tune", "unused", "unused=on"]);
        assert_eq!(show("unused")["parameters"][0]["value"], "on");
        succeeds(&["swap", "unused", "--with", &object]);
        succeeds(&["unload", "unused"]);
    });
}

/// The algorithm with `fault` instead of one of its lines
pub fn scalable_with(fault: &str) -> String {
    let path = format!("{}/../../bpf/algorithms/scalable.bpf.c", env!("CARGO_MANIFEST_DIR"));
    let source = std::fs::read_to_string(path).unwrap();
    let hook = "u32 divisor = p->acks_per_pkt;\n";
    assert!(source.contains(hook), "scalable.bpf.c has changed: adapt this test");
    source.replace(hook, fault)
}

/// The file that a refusal of `object` names
fn log_of(output: &Output, object: &str) -> String {
    let mut words = output.stderr.split_whitespace().map(|word| word.trim_matches([',', ';', ':', ')', '(']));
    let log = words.find(|word| word.starts_with('/') && *word != object);
    log.unwrap_or_else(|| panic!("no log is named: {}", output.stderr)).to_owned()
}
