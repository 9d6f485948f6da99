// SPDX-License-Identifier: GPL-2.0-only
//! A sweep in parts, each in a process of its own, by the commands of `configs/cluster/`: merged, it is what one process gives.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::scratch::{assert_same_folders, Scratch, PROGRAM};

/// Parts.
const SHARDS: usize = 3;

fn cluster_file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/cluster").join(name)
}

/// With the program under test in PATH, as an image or a node has it.
fn with_program(mut command: Command, scratch: &Scratch) -> Command {
    let folder = Path::new(PROGRAM).parent().unwrap().display().to_string();
    command.env("PATH", format!("{folder}:{}", std::env::var("PATH").unwrap())).current_dir(scratch.path(""));
    command
}

/// Runs all parts at once, and expects each to end well.
fn run_parts(command: impl Fn(usize) -> Command) {
    let parts: Vec<_> = (0..SHARDS).map(|index| command(index).spawn().unwrap()).collect();
    for mut part in parts {
        assert!(part.wait().unwrap().success());
    }
}

fn assert_merges_to_the_whole(scratch: &Scratch) {
    let parts: Vec<String> = (0..SHARDS).map(|index| format!("parts/shard-{index}/small")).collect();
    // Twelve runs in three parts.
    assert!(parts.iter().all(|part| scratch.units(part) == 4));
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let text = scratch.done(&[&["merge", "merged/small"], &parts[..]].concat());
    assert!(text.contains("merged/small/index.html"), "{text}");
    scratch.done(&["run", "./small.toml", "--out", "whole"]);
    assert_same_folders(&scratch.path("whole/small"), &scratch.path("merged/small"));
}

#[test]
fn an_array_job_of_slurm() {
    let scratch = Scratch::new("slurm");
    run_parts(|index| {
        let mut command = with_program(Command::new("sh"), &scratch);
        command.arg(cluster_file("slurm-array.sh")).env("SCENARIO", "./small.toml").env("OUT", "parts");
        command.env("SLURM_ARRAY_TASK_ID", index.to_string()).env("SLURM_ARRAY_TASK_MIN", "0");
        command.env("SLURM_ARRAY_TASK_COUNT", SHARDS.to_string()).env("SLURM_CPUS_PER_TASK", "1");
        command
    });
    assert_merges_to_the_whole(&scratch);
}

#[test]
fn an_indexed_job_of_kubernetes() {
    let scratch = Scratch::new("kubernetes");
    let file = std::fs::read_to_string(cluster_file("kubernetes-indexed-job.yaml")).unwrap();
    assert!(file.contains("completionMode: Indexed") && file.contains("command: [\"sh\", \"-c\"]"));
    // The argument is a folded text: its lines are joined by spaces, up to the next key.
    let (_, after) = file.split_once("- >-\n").unwrap();
    let script: Vec<&str> = after.lines().map(str::trim).take_while(|line| *line != "env:").collect();
    let script = script.join(" ");
    assert!(script.starts_with("exec ccctl-lab run "), "{script}");
    run_parts(|index| {
        let mut command = with_program(Command::new("sh"), &scratch);
        command.args(["-c", &script]).env("SCENARIO", "./small.toml").env("OUT", "parts");
        command.env("SHARDS", SHARDS.to_string()).env("JOB_COMPLETION_INDEX", index.to_string());
        command
    });
    assert_merges_to_the_whole(&scratch);
}
