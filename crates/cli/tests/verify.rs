// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl verify`: what a kernel in an emulated machine says of objects. Needs QEMU, and no privileges.
#![allow(clippy::unwrap_used)] // a test fails by panicking

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use ccctl_catalog::{algorithm, compile, Target};
use ccctl_testbed::skip;
use serde_json::Value;
use tempfile::TempDir;

/// Exit codes as the manual has them.
const USAGE: i32 = 2;
const HOST: i32 = 4;
const PROGRAM: i32 = 5;

fn ccctl(folder: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ccctl")).arg("verify").args(words).current_dir(folder).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// With an object that is accepted, and one that writes a field that BPF programs may write on no kernel.
fn objects() -> TempDir {
    let folder = TempDir::new().unwrap();
    let scalable = algorithm("scalable").unwrap();
    fs::write(folder.path().join("good.o"), scalable.object()).unwrap();
    let growth = "acked_pkts = cc_begin_growth(sk, acked_pkts);";
    assert!(scalable.source().contains(growth));
    let source = folder.path().join("bad.bpf.c");
    fs::write(&source, scalable.source().replace(growth, "tp->snd_una = acked_pkts;")).unwrap();
    fs::write(folder.path().join("bad.o"), compile(&source, Target::Bpf).unwrap()).unwrap();
    folder
}

/// One that the tests of other kernels have unpacked, or else a version, which is downloaded.
fn kernel() -> String {
    let home = PathBuf::from(std::env::var_os("HOME").unwrap_or_else(|| "/root".into())).join(".cache");
    let cache = std::env::var_os("XDG_CACHE_HOME").map_or(home, PathBuf::from).join("ccctl-kernels/releases");
    let entries = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten();
    let releases = entries(cache).filter(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        name.starts_with("6.12.") && name.ends_with("-cloud-amd64")
    });
    let images = releases.flat_map(|release| entries(release.path().join("files/boot")));
    let mut images = images.filter(|entry| entry.file_name().to_string_lossy().starts_with("vmlinuz"));
    images.next().map_or_else(|| "6.12".to_owned(), |image| image.path().display().to_string())
}

#[test]
fn a_guest_accepts_what_is_right_and_names_what_is_not() {
    const TEST: &str = "verify in a guest";
    if !Command::new("qemu-system-x86_64").arg("--version").output().is_ok_and(|output| output.status.success()) {
        return skip(TEST, "QEMU for x86-64 is not installed");
    }
    let (folder, kernel) = (objects(), kernel());
    let output = ccctl(folder.path(), &["good.o", "--kernels", &kernel, "--json"]);
    if text(&output.stdout).contains("cannot be had") {
        return skip(TEST, "no kernel 6.12 was fetched before, and none can be fetched now");
    }
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let verdict = &answer["verdicts"][0];
    assert_eq!((output.status.code(), &verdict["accepted"]), (Some(0), &true.into()), "{answer}");
    assert!(verdict["release"].as_str().unwrap().starts_with("6.12."), "{answer}");
    let hooks = verdict["verified"].as_array().unwrap();
    let names: Vec<&str> = hooks.iter().filter_map(|hook| hook["name"].as_str()).collect();
    assert!(names.contains(&"scalable_cong_avoid") && names.contains(&"scalable_ssthresh"), "{answer}");
    assert!(hooks.iter().all(|hook| hook["verified_instructions"].as_u64().unwrap() > 0), "{answer}");

    let output = ccctl(folder.path(), &["bad.o", "--kernels", &kernel]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(PROGRAM), "{said}");
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines[0].contains("(6.12.") && lines[0].contains("refused: it writes snd_una"), "{said}");
    assert!(lines.len() == 2 && lines[1].starts_with("  try: do not write snd_una"), "{said}");
}

#[test]
fn what_is_missing_is_named_in_one_line() {
    let folder = objects();
    let output = ccctl(folder.path(), &["none.o"]);
    assert_eq!(output.status.code(), Some(USAGE));
    assert!(text(&output.stderr).contains("none.o") && text(&output.stderr).contains("ccctl build"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_ccctl"));
    command.args(["verify", "good.o"]).current_dir(folder.path()).env("PATH", "/nowhere");
    let output = command.output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(HOST), "{said}");
    assert!(said.lines().count() == 2 && said.contains("try: apt-get install --no-install-recommends qemu-"), "{said}");
    if Command::new("qemu-system-x86_64").arg("--version").output().is_ok_and(|output| output.status.success()) {
        for (kernel, part) in [("6.x;id", "is not a version of Linux"), ("./none", "./none is not a file")] {
            let output = ccctl(folder.path(), &["good.o", "--kernels", kernel]);
            assert_eq!(output.status.code(), Some(USAGE));
            assert!(text(&output.stdout).contains(part), "{}", text(&output.stdout));
        }
    }
}
