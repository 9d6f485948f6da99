// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loading, listing and showing: no-ops, names, files, several instances of one algorithm.

use crate::support;
use support::{available, code, json, listed, names, parameter, refuses, show, succeeds, Folder};

#[test]
fn the_same_program_and_parameters_again_change_nothing_and_say_so() {
    support::test("load again", 60, || {
        let first = json(&["load", "cubic", "--set", "beta=0.8", "--json"]);
        let before = show("bpf_cubic");
        let again = json(&["load", "cubic", "--set", "beta=0.8", "--json"]);
        assert_eq!((&first["changed"], &again["changed"]), (&true.into(), &false.into()));
        assert_eq!(show("bpf_cubic"), before, "a no-op must not load anew");
        let said = succeeds(&["load", "cubic", "--set", "beta=0.8"]);
        assert!(said.contains("bpf_cubic") && said.contains("nothing"), "{said}");
        // an equal value that is typed differently is the same
        assert_eq!(json(&["load", "cubic", "--set", "beta=80%", "--json"])["changed"], false);
        refuses(&["load", "cubic"], code::REFUSED, &["bpf_cubic", "other parameters", "ccctl tune"]);
        refuses(&["load", "reno", "--as", "bpf_cubic"], code::REFUSED, &["taken", "ccctl swap"]);
        assert_eq!(show("bpf_cubic"), before);
        succeeds(&["unload", "bpf_cubic"]);
    });
}

#[test]
fn loading_with_the_parameters_that_tune_has_set_is_a_no_op() {
    support::test("load after tune", 60, || {
        succeeds(&["load", "scalable"]);
        succeeds(&["tune", "bpf_scalable", "decrease_shift=4"]);
        assert_eq!(json(&["load", "scalable", "--set", "decrease_shift=4", "--json"])["changed"], false);
        refuses(&["load", "scalable"], code::REFUSED, &["other parameters"]);
        succeeds(&["unload", "bpf_scalable"]);
    });
}

#[test]
fn instances_of_one_algorithm_keep_their_own_parameters() {
    support::test("side by side", 60, || {
        succeeds(&["load", "cubic", "--as", "one", "--set", "beta=0.6"]);
        succeeds(&["load", "cubic", "--as", "two", "--set", "beta=0.9", "--set", "reno_friendly=off"]);
        assert_eq!((parameter("one", "beta"), parameter("two", "beta")), (0.6.into(), 0.9.into()));
        succeeds(&["tune", "one", "beta=0.75"]);
        assert_eq!((parameter("one", "beta"), parameter("two", "beta")), (0.75.into(), 0.9.into()));
        assert_eq!(parameter("two", "reno_friendly"), "off");
        succeeds(&["unload", "one"]);
        assert_eq!(parameter("two", "beta"), 0.9);
        assert_eq!(names(), ["two"]);
        succeeds(&["unload", "two"]);
    });
}

#[test]
fn names_at_the_limits_of_the_kernel() {
    support::test("names", 60, || {
        for name in ["a", "A.b_9", "fifteen_letters", "0", "-"] {
            if name == "-" {
                refuses(&["load", "reno", "--as", name], code::USAGE, &["kernel name"]);
                continue;
            }
            succeeds(&["load", "reno", "--as", name]);
            assert!(available(name) && listed(name).is_some(), "{name}");
            succeeds(&["unload", name]);
        }
        for name in ["sixteen_letters_", "", "a b", "a/b", "../up", "ä", "a\n", ".", "..", "bpf-cubic"] {
            refuses(&["load", "reno", "--as", name], code::USAGE, &["cannot be a kernel name"]);
        }
    });
}

#[test]
fn an_object_file_loads_like_a_built_in_algorithm() {
    support::test("object file", 60, || {
        let folder = Folder::new("object");
        let file = folder.file("mine.o", ccctl_catalog::algorithm("scalable").unwrap().object());
        let loaded = json(&["load", &file, "--as", "mine", "--set", "decrease_shift=2", "--json"]);
        assert_eq!((&loaded["name"], &loaded["algorithm"]), (&"mine".into(), &"scalable".into()));
        assert_eq!(parameter("mine", "decrease_shift"), 2);
        // the file is only read while loading
        drop(folder);
        assert_eq!(json(&["tune", "mine", "decrease_shift=3", "--json"])["changed"], true);
        succeeds(&["unload", "mine"]);
    });
}

#[test]
fn a_swap_keeps_parameters_of_the_same_algorithm_and_gives_defaults_to_another() {
    support::test("swap", 60, || {
        succeeds(&["load", "cubic", "--set", "beta=0.6"]);
        let link = show("bpf_cubic")["link_id"].clone();
        succeeds(&["swap", "bpf_cubic"]);
        assert_eq!(parameter("bpf_cubic", "beta"), 0.6);
        succeeds(&["swap", "bpf_cubic", "--set", "c=0.5"]);
        assert_eq!((parameter("bpf_cubic", "beta"), parameter("bpf_cubic", "c")), (0.6.into(), 0.5.into()));
        let said = succeeds(&["swap", "bpf_cubic", "--with", "scalable", "--set", "decrease_shift=5"]);
        assert!(said.contains("note: the name bpf_cubic, which ss and sysctl show, still says cubic"), "{said}");
        let shown = show("bpf_cubic");
        assert_eq!((&shown["algorithm"], &shown["link_id"]), (&"scalable".into(), &link), "the name stays registered");
        assert_eq!(parameter("bpf_cubic", "decrease_shift"), 5);
        assert!(!succeeds(&["swap", "bpf_cubic", "--with", "cubic"]).contains("note:"));
        assert_eq!(parameter("bpf_cubic", "beta"), 0.7);
        succeeds(&["unload", "bpf_cubic"]);
    });
}

#[test]
fn output_that_nobody_reads_is_no_failure() {
    support::test("closed pipe", 60, || {
        use ccctl_testbed::run;
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &format!("{} algorithms --json | head -c 1 >/dev/null; {0} list >&-", support::CCCTL)]);
        let output = run(&mut shell, std::time::Duration::from_secs(20)).unwrap();
        assert!(!output.stderr.contains("panicked"), "{}", output.stderr);
    });
}
