// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the command line offers besides its commands: help, completion, manual pages, JSON, colour, `--watch`, `--netns`.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use ccctl_testbed::{run, run_ok, Namespace};
use nix::sys::signal::{kill, Signal};
use nix::unistd::Pid;
use serde_json::Value;

use crate::support;
use support::{ccctl, code, json, names, succeeds, Folder, CCCTL};

const LIMIT: Duration = Duration::from_secs(20);

#[test]
fn ccctl_alone_and_help_list_the_commands_in_groups() {
    support::test("help", 60, || {
        for words in [&[][..], &["help"], &["--help"]] {
            let said = succeeds(words);
            for part in
                ["Instances:\n  load ", "Rules:\n  assign ", "Examples:\n  ccctl load cubic", "Exit codes: 0 done"]
            {
                assert!(said.contains(part), "{words:?} lacks {part:?}: {said}");
            }
        }
        assert!(succeeds(&["guard", "rearm", "--help"]).contains("--dry-run"));
        for command in ["sockets", "migrate", "trace"] {
            assert!(succeeds(&[command, "--help"]).contains("--algorithm <NAME>"), "{command}");
        }
        assert_eq!(succeeds(&["help", "load"]), succeeds(&["load", "--help"]));
        assert!(succeeds(&["load", "--help"]).contains("Examples:\n  ccctl load cubic --set beta=0.8"));
        for words in [&["version"][..], &["--version"]] {
            assert!(succeeds(words).starts_with(concat!("ccctl ", env!("CARGO_PKG_VERSION"))));
        }
    });
}

/// What bash gets for the last of these words.
fn completed(words: &[&str]) -> Vec<String> {
    let mut command = Command::new(CCCTL);
    command.env("COMPLETE", "bash").env("_CLAP_IFS", "\n").env("_CLAP_COMPLETE_COMP_TYPE", "9");
    command.env("_CLAP_COMPLETE_INDEX", words.len().to_string()).env("_CLAP_COMPLETE_SPACE", "true");
    let said = run_ok(command.args(["--", "ccctl"]).args(words), LIMIT).unwrap();
    said.lines().map(str::to_owned).collect()
}

#[test]
fn shells_complete_what_only_this_host_knows() {
    support::test("completion", 60, || {
        let namespace = Namespace::new("tab").unwrap();
        succeeds(&["load", "cubic", "--as", "tabbed"]);
        assert!(completed(&["load", "cub"]).contains(&"cubic".to_owned()));
        assert_eq!(completed(&["tune", "tabb"]), ["tabbed"]);
        assert_eq!(completed(&["migrate", "--instance", "tabb"]), ["tabbed"]);
        assert_eq!(completed(&["load", "cubic", "--profile", "cubic2"]), ["cubic2005"]);
        assert!(completed(&["load", "cubic", "--set", "bet"]).contains(&"beta=".to_owned()));
        assert_eq!(completed(&["sockets", "--netns", namespace.name()]), [namespace.name()]);
        for command in ["sockets", "migrate", "trace"] {
            assert_eq!(completed(&[command, "--algorithm", "ill"]), ["illinois"], "{command}");
        }
        assert_eq!(completed(&["guard", "rearm", "--dry"]), ["--dry-run"]);
        assert_eq!(
            (completed(&["plot", "--dr"]), completed(&["trace", "--dr"])),
            (["--draw".to_owned()].into(), ["--draw".to_owned()].into())
        );
        assert!(completed(&["sockets", "--sort", "retr"]).contains(&"retransmits".to_owned()));
        assert_eq!(completed(&["unl"]), ["unload"]);
        succeeds(&["unload", "tabbed"]);
        for shell in ["bash", "zsh", "fish"] {
            let script = succeeds(&["completions", shell]);
            assert!(script.contains("COMPLETE"), "{shell}: {script}");
        }
        run_ok(Command::new("bash").args(["-nc", &succeeds(&["completions", "bash"])]), LIMIT).unwrap();
        support::refuses(&["completions", "csh"], code::USAGE, &["csh", "bash"]);
    });
}

#[test]
fn each_command_has_a_manual_page() {
    support::test("manual pages", 60, || {
        let folder = Folder::new("man");
        succeeds(&["man", folder.path().to_str().unwrap()]);
        for page in ["ccctl.1", "ccctl-load.1", "ccctl-guard-rearm.1"] {
            let text = std::fs::read_to_string(folder.path().join(page)).unwrap();
            assert!(text.starts_with(".ie ") && text.contains("\n.SH SYNOPSIS\n"), "{page}: {text}");
        }
        support::refuses(&["man", "/proc/nowhere/man"], code::USAGE, &["/proc/nowhere/man", "try: choose a folder"]);
    });
}

#[test]
fn answers_are_as_their_schema_says() {
    support::test("schemas", 120, || {
        succeeds(&["load", "cubic", "--as", "schema"]);
        let fits = |name: &str, words: &[&str]| {
            let schema: Value = serde_json::from_str(&succeeds(&["schema", name])).unwrap();
            let answer = json(words);
            assert_eq!(answer["json_version"], 1, "{words:?}");
            let errors: Vec<String> = jsonschema::draft202012::new(&schema)
                .unwrap_or_else(|error| panic!("{name}: {error}"))
                .iter_errors(&answer)
                .map(|error| error.to_string())
                .collect();
            assert!(errors.is_empty(), "{name}: {errors:?}");
        };
        for name in ["algorithms", "list", "rules", "sockets", "guard", "metrics", "version"] {
            fits(name, &[name, "--json"]);
            fits(name, &["--json", name]);
        }
        fits("sockets", &["sockets", "--algorithm", "cubic", "--json"]);
        fits("show", &["show", "schema", "--json"]);
        fits("show", &["show", "bbr", "--json"]);
        fits("tune", &["tune", "schema", "beta=0.8", "--json"]);
        fits("unload", &["unload", "schema", "--json"]);
        support::refuses(&["schema", "lode"], code::USAGE, &["lode"]);
    });
}

#[test]
fn the_schema_of_the_file_takes_the_example_and_no_other_keys() {
    support::test("schema of ccctl.toml", 60, || {
        let schema: Value = serde_json::from_str(&succeeds(&["schema", "ccctl.toml"])).unwrap();
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../configs/ccctl.toml");
        let example: Value = toml::from_str(&std::fs::read_to_string(example).unwrap()).unwrap();
        assert!(
            validator.is_valid(&example),
            "{:?}",
            validator.iter_errors(&example).map(|one| one.to_string()).collect::<Vec<_>>()
        );
        for wrong in ["defualt = \"reno\"", "[[rule]]\nuse = \"reno\"\nport = \"http\"", "[log]\nlevel = \"loud\""] {
            let wrong: Value = toml::from_str(wrong).unwrap();
            assert!(!validator.is_valid(&wrong), "{wrong}");
        }
    });
}

#[test]
fn failures_are_json_where_json_is_asked_for() {
    support::test("failures as JSON", 60, || {
        for (words, exit) in [
            (&["load", "cubci", "--json"][..], code::USAGE),
            (&["--json", "load", "cubci"], code::USAGE),
            (&["lode", "--json"], code::USAGE),
            (&["tune", "--json"], code::USAGE),
            (&["unload", "nothing_like_it", "--json"], code::USAGE),
        ] {
            support::refuses(words, exit, &[]);
        }
    });
}

#[test]
fn words_that_are_no_text_are_refused() {
    use std::os::unix::ffi::OsStrExt as _;
    let wrong = std::ffi::OsStr::from_bytes(b"\xff");
    for words in [&[wrong][..], &["load".as_ref(), wrong], &["list".as_ref(), "--json".as_ref(), wrong]] {
        let output = run(Command::new(CCCTL).args(words), LIMIT).unwrap();
        let what = if words.len() == 3 { "--json" } else { "text" };
        support::is_refusal(what, &output, code::USAGE, &["try:"]);
    }
}

#[test]
fn colour_only_where_it_is_wanted() {
    support::test("colour", 120, || {
        let doctor = |words: &[&str]| ccctl(&[&["doctor"], words].concat()).stdout;
        assert!(!doctor(&[]).contains('\x1b'), "a pipe");
        let painted = doctor(&["--color", "always"]);
        assert!(painted.contains("\x1b[32mok") && painted.contains("kernel "), "{painted}");
        assert!(!doctor(&["--color", "never"]).contains('\x1b'));
        let mut command = Command::new(CCCTL);
        let failed = run(command.args(["load", "cubci", "--color", "always"]), LIMIT).unwrap();
        assert!(failed.stderr.starts_with("\x1b[1m\x1b[31mccctl:\x1b[0m "), "{:?}", failed.stderr);
    });
}

#[test]
fn watch_prints_again_until_it_is_interrupted() {
    support::test("--watch", 60, || {
        for command in ["list", "rules", "sockets", "status"] {
            let mut child = Command::new(CCCTL);
            child.args([command, "--watch=50ms", "--json"]).stdout(Stdio::piped()).stderr(Stdio::inherit());
            let mut child = child.spawn().unwrap();
            let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
            assert_eq!(lines.filter(|line| line == "}").take(3).count(), 3, "{command}");
            kill(Pid::from_raw(child.id().try_into().unwrap()), Signal::SIGINT).unwrap();
            let status = child.wait().unwrap();
            assert!(status.code().is_some(), "{command} ends by itself: {status}");
        }
        support::refuses(&["list", "--watch=2"], code::USAGE, &["no unit"]);
    });
}

#[test]
fn netns_says_where_a_command_acts() {
    support::test("--netns", 60, || {
        let namespace = Namespace::new("acts").unwrap();
        let here = json(&["default", "--json"])["congestion_control"].clone();
        succeeds(&["load", "reno", "--as", "nsreno", "--default", "--netns", namespace.name()]);
        assert_eq!(names(), ["nsreno"], "algorithms are the host's");
        assert_eq!(json(&["default", "--json"])["congestion_control"], here);
        let there = json(&["--netns", namespace.name(), "default", "--json"]);
        assert_eq!(there["congestion_control"], "nsreno");
        let path = format!("/run/netns/{}", namespace.name());
        assert_eq!(json(&["list", "--netns", &path, "--json"])["congestion_control"], "nsreno");
        support::refuses(&["default", "--netns", "no_such_netns"], code::USAGE, &["no_such_netns", "ip netns"]);
        succeeds(&["unload", "nsreno"]);
    });
}
