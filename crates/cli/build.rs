// SPDX-License-Identifier: MIT OR Apache-2.0
//! The version with the commit, of releases.
//!
//! In a checkout git says which commit it is; in a tree that `git archive` made, [`ARCHIVED`] does.

use std::env;
use std::fs;
use std::process::Command;

/// "COMMIT TIME", once git has archived it.
const ARCHIVED: &str = "../../packaging/commit";
const COMMIT_DIGITS: usize = 12;

fn main() {
    println!("cargo::rerun-if-env-changed=CCCTL_COMMIT");
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    // A program for tests is not built again for each commit.
    let is_release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let commit = env::var("CCCTL_COMMIT").ok().or_else(|| is_release.then(|| archived().or_else(commit)).flatten());
    let version = commit.map_or_else(|| version.clone(), |commit| format!("{version} ({commit})"));
    println!("cargo::rustc-env=CCCTL_VERSION={version}");
}

fn archived() -> Option<String> {
    println!("cargo::rerun-if-changed={ARCHIVED}");
    let text = fs::read_to_string(ARCHIVED).ok()?;
    let commit = text.split_whitespace().next()?.get(..COMMIT_DIGITS)?;
    commit.chars().all(|digit| digit.is_ascii_hexdigit()).then(|| commit.to_owned())
}

fn commit() -> Option<String> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
    };
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={log}");
    }
    git(&["rev-parse", "HEAD"])?.get(..COMMIT_DIGITS).map(str::to_owned)
}
