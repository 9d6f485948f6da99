// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl new` and `ccctl build`: from an empty folder to an instance, with nothing but `ccctl` and clang.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use ccctl_testbed::{eventually, run, Output};

use crate::support::process::Process;
use crate::support::{self, claim, code, is_refusal, listed, parsed, succeeds, Folder, CCCTL};

const LIMIT: Duration = Duration::from_secs(60);
const NOBODY: u32 = 65534;

/// In this folder, and without a folder of headers that clang would look at by itself.
fn ccctl_in(folder: &Path, words: &[&str]) -> Output {
    run(Command::new(CCCTL).args(words).current_dir(folder).env_remove("CPATH"), LIMIT).unwrap()
}

#[track_caller]
fn done(folder: &Path, words: &[&str]) -> String {
    let output = ccctl_in(folder, words);
    assert_eq!(output.code, Some(0), "{words:?}: {}", output.stderr);
    output.stdout
}

#[test]
fn what_new_writes_is_built_accepted_and_loaded() {
    support::test("new and build", 120, || {
        let folder = Folder::new("build");
        for (name, template, hooks) in
            [("kmine", "reno", 3), ("kcube", "cubic", 4), ("kwait", "delay", 6), ("krate", "rate", 4)]
        {
            let words = ["new", name, "--from", template, "--json"];
            let written = parsed(&words, &done(folder.path(), &words));
            let others = [".vectors.json", ".toml", ".md"].map(|ending| format!("{name}{ending}"));
            assert_eq!(
                (&written["file"], &written["companion_files"]),
                (&format!("{name}.bpf.c").into(), &others.to_vec().into())
            );
            let words = ["build", &format!("{name}.bpf.c"), "--json"];
            let answer = parsed(&words, &done(folder.path(), &words));
            assert_eq!((&answer["algorithm"], &answer["is_verified"]), (&name.into(), &true.into()));
            assert!(answer["verified"].as_array().unwrap().len() >= hooks, "{answer}");
            let object = folder.path().join(answer["file"].as_str().unwrap());
            claim(name);
            succeeds(&["load", object.to_str().unwrap(), "--as", name, "--trust-writable"]);
            assert_eq!(listed(name).unwrap()["algorithm"], name);
            succeeds(&["unload", name]);
        }
    });
}

#[test]
fn mistakes_are_named_and_leave_no_object() {
    support::test("mistakes in C", 120, || {
        let folder = Folder::new("mistakes");
        let refused = |words: &[&str], code: i32, parts: &[&str]| {
            is_refusal(&words.join(" "), &ccctl_in(folder.path(), words), code, parts);
        };
        refused(&["new", "Mine"], code::USAGE, &["cannot be the name", "small letter"]);
        refused(&["new", "twelve_chars"], code::USAGE, &["at most 11"]);
        done(folder.path(), &["new", "kmine"]);
        refused(&["new", "kmine"], code::REFUSED, &["kmine.bpf.c already"]);
        folder.file("kother.vectors.json", "mine");
        refused(&["new", "kother"], code::REFUSED, &["kother.vectors.json already"]);
        assert!(!folder.path().join("kother.bpf.c").exists(), "all files or none");
        refused(&["build", "kmine.c"], code::USAGE, &["ends in .bpf.c"]);
        refused(&["build", "none.bpf.c"], code::USAGE, &["none.bpf.c"]);

        let good = std::fs::read_to_string(folder.path().join("kmine.bpf.c")).unwrap();
        let spoilt = |what: &str, by: &str| {
            assert!(good.contains(what), "{what}");
            folder.file("kbad.bpf.c", good.replace(what, by));
        };
        spoilt("acked_pkts = cc_begin_growth(sk, acked_pkts);", "acked = cc_begin_growth(sk, acked_pkts);");
        let output = ccctl_in(folder.path(), &["build", "kbad.bpf.c"]);
        assert_eq!(output.code, Some(code::PROGRAM), "{}", output.stderr);
        assert!(
            output.stderr.contains("kbad.bpf.c:26:") && output.stderr.contains("clang refused"),
            "{}",
            output.stderr
        );

        spoilt("if (!acked_pkts)\n\t\treturn;", "for (u32 i = 0; i != ack; i++)\n\t\ttp->snd_cwnd++;");
        refused(&["build", "kbad.bpf.c"], code::PROGRAM, &["no bound of the loop at kbad.bpf.c:", "CC_LOOP"]);
        spoilt("acked_pkts = cc_begin_growth(sk, acked_pkts);", "tp->snd_una = 0;");
        refused(
            &["build", "kbad.bpf.c"],
            code::PROGRAM,
            &["writes snd_una", "may write snd_cwnd,", "app_limited (from 6.12)"],
        );
        spoilt("\t.undo_cwnd = CC_FN(tcp_reno_undo_cwnd),\n", "");
        refused(&["build", "kbad.bpf.c"], code::PROGRAM, &["undo_cwnd"]);
        let many = "for (u32 i = 0; i < 100000; i++)\n\t\ttp->snd_cwnd_cnt += (ack >> (i & 31)) & 1 ? 1 : 2;";
        spoilt("acked_pkts = cc_begin_growth(sk, acked_pkts);", many);
        refused(&["build", "kbad.bpf.c"], code::PROGRAM, &["the loop at kbad.bpf.c:26", "1,000,000 steps in all"]);
        assert!(!folder.path().join("kbad.bpf.o").exists(), "what is refused leaves no object");
    });
}

/// What clang finds: its own message with the line, and below it what to do.
#[test]
fn mistakes_that_clang_finds_are_named_by_line_with_what_to_do() {
    support::test("mistakes that clang finds", 120, || {
        let folder = Folder::new("clang-mistakes");
        done(folder.path(), &["new", "kmine"]);
        let good = std::fs::read_to_string(folder.path().join("kmine.bpf.c")).unwrap();
        let growth = "acked_pkts = cc_begin_growth(sk, acked_pkts);";
        let parameters = "CC_PARAMS(kmine, KMINE_PARAMS);";
        let state = format!("{parameters}\nstruct kmine_state {{ u64 samples[14]; }};\nCC_STATE_STRUCT(kmine);");
        for (what, by, line, remedy) in [
            (growth, "acked_pkts = cc_begin_growth(sk, acked_pkts) / 0;", 26, "cc_div(a, b)"),
            (growth, "acked_pkts = (s32)(ack - tp->snd_una) / (s32)tp->snd_cwnd;", 26, "from Linux 6.6 on only"),
            (parameters, state.as_str(), 22, "a socket has 104 bytes"),
            ("kmine", "kmine_that_has_a_long_name", 39, "at most 11 characters"),
        ] {
            assert!(good.contains(what), "{what}");
            folder.file("kbad.bpf.c", good.replace(what, by));
            let output = ccctl_in(folder.path(), &["build", "kbad.bpf.c"]);
            assert_eq!(output.code, Some(code::PROGRAM), "{by}: {}", output.stderr);
            let said = &output.stderr;
            assert!(said.contains(&format!("kbad.bpf.c:{line}:")), "{by}: {said}");
            let end: Vec<&str> = said.lines().rev().take(2).collect();
            assert!(end[1].ends_with("clang refused kbad.bpf.c") && end[0].contains(remedy), "{by}: {said}");
            assert!(!said.contains("PLEASE") && !said.contains("0x"), "{by}: {said}");
        }
        assert!(!folder.path().join("kbad.bpf.o").exists());
    });
}

#[test]
fn without_root_it_builds_and_says_that_the_kernel_was_not_asked() {
    support::test("build without root", 60, || {
        let folder = Folder::new("unprivileged");
        done(folder.path(), &["new", "kmine"]);
        std::os::unix::fs::chown(folder.path(), Some(NOBODY), None).unwrap();
        let program = folder.path().join("ccctl"); // the folder of the build may be root's alone
        std::fs::copy(CCCTL, &program).unwrap();
        let mut command = Command::new("setpriv");
        command.args(["--reuid", &NOBODY.to_string(), "--clear-groups"]).arg(program).args(["build", "kmine.bpf.c"]);
        let output = run(command.current_dir(folder.path()), LIMIT).unwrap();
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        assert!(output.stdout.contains("the kernel was not asked"), "{}", output.stdout);
    });
}

/// The link that another user put there keeps pointing to what it points to.
#[test]
fn a_link_in_place_of_the_object_is_replaced_and_not_followed() {
    support::test("build over a link", 60, || {
        let folder = Folder::new("link");
        done(folder.path(), &["new", "kmine"]);
        let other = folder.file("other", "as before");
        std::os::unix::fs::symlink(&other, folder.path().join("kmine.bpf.o")).unwrap();
        done(folder.path(), &["build", "kmine.bpf.c"]);
        assert_eq!(std::fs::read_to_string(&other).unwrap(), "as before");
        assert!(!folder.path().join("kmine.bpf.o").is_symlink());
    });
}

#[test]
fn watch_builds_again_at_each_save() {
    support::test("build --watch", 90, || {
        let folder = Folder::new("watch");
        done(folder.path(), &["new", "kmine"]);
        let mut command = Command::new(CCCTL);
        command.args(["build", "kmine.bpf.c", "--watch"]).current_dir(folder.path());
        let watch = Process::start(command.stdout(Stdio::null()).stderr(Stdio::null()));
        let object = folder.path().join("kmine.bpf.o");
        let built = || std::fs::read(&object).map_err(|error| error.to_string());
        let first = eventually(LIMIT, built).unwrap();
        let source = std::fs::read_to_string(folder.path().join("kmine.bpf.c")).unwrap();
        folder.file("kmine.bpf.c", source.replace("step_pkts, 1, 1, 16", "step_pkts, 2, 1, 16"));
        let changed = || (built()? != first).then_some(()).ok_or_else(|| "the object is as before".to_owned());
        eventually(LIMIT, changed).unwrap();
        drop(watch);
    });
}
