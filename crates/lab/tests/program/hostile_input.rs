// SPDX-License-Identifier: GPL-2.0-only
//! Scenarios and folders made to cost memory or time, or to lead a run that is made as root elsewhere.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::scratch::{Scratch, PROGRAM, SMALL};

/// Address space of the program, in kB, and seconds of the processor. Without limits, what is tried here took 0.8 to 8 GB.
const MEMORY_KB: &str = "700000";
const CPU_S: &str = "20";
/// What waits for ever is ended, however busy the host is.
const TIME: Duration = Duration::from_secs(180);

/// `ccctl lab` in the folder, with little memory and time.
fn bounded(folder: &Scratch, arguments: &[&str]) -> Output {
    let start = Instant::now();
    let mut child = Command::new("sh")
        .args(["-c", "ulimit -v \"$1\"; ulimit -t \"$2\"; shift 2; exec \"$@\"", "sh", MEMORY_KB, CPU_S, PROGRAM])
        .args(arguments)
        .current_dir(folder.path(""))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > TIME {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{arguments:?} went on after {TIME:?}");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.wait_with_output().unwrap()
}

fn refused(folder: &Scratch, arguments: &[&str], code: i32, words: &[&str]) {
    let output = bounded(folder, arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
    for word in words {
        assert!(said.contains(word), "{arguments:?}: {word:?} is not in {said}");
    }
}

#[test]
fn attack_scenarios_that_ask_for_much_memory() {
    let folder = Scratch::new("attack-memory");
    fs::write(folder.path("small.toml"), SMALL).unwrap();
    let cases: [(&str, &[&str]); 4] = [
        (
            "run.repeats=1000000000",
            &["4000000000 runs", "the limit of a scenario is 1000000", "try: use fewer repeats"],
        ),
        ("run.repeats=4294967295", &["17179869180 runs"]),
        ("flows.a.count=100000", &["MB of memory", "100001 flows", "try: use a smaller count"]),
        ("run.sample_interval=\"1 us\"", &["MB of memory", "60000000 samples of 2 flows", "try: use a longer sample"]),
    ];
    for (change, words) in cases {
        refused(&folder, &["run", "./small.toml", "--no-paper", "--set", change], 2, words);
        assert!(!folder.path("ccctl-lab").exists(), "{change}: nothing is made before it is checked");
    }
}

/// Each point holds its flows: 8000 points of 20,000 flows were 5 GB before the first run.
#[test]
fn attack_sweep_of_many_flows() {
    let folder = Scratch::new("attack-sweep");
    let seeds: Vec<String> = (0..2_000).map(|number| format!("\"{} us\"", number + 1)).collect();
    let axis =
        format!("[[sweep]]\nname = \"delay\"\nvalues = [{}]\nset = [\"link.l.delay\"]\n[measures]", seeds.join(","));
    let text = SMALL.replace("[measures]", &axis).replace("name = \"a\"\n", "name = \"a\"\ncount = 20000\n");
    let text = text.replace("duration = \"30 s\"", "duration = \"30 s\"\nsample_interval = \"5 s\"");
    fs::write(folder.path("many.toml"), text).unwrap();
    refused(&folder, &["run", "./many.toml", "--no-paper"], 2, &["MB of memory", "try: "]);
}

#[test]
fn attack_scenario_that_is_no_file() {
    let folder = Scratch::new("attack-fifo");
    nix::unistd::mkfifo(&folder.path("fifo.toml"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    refused(&folder, &["run", "./fifo.toml"], 2, &["fifo.toml", "not a regular file", "try: "]);
    symlink("/dev/zero", folder.path("zero.toml")).unwrap();
    refused(&folder, &["run", "./zero.toml"], 2, &["not a regular file"]);
    fs::File::create(folder.path("hole.toml")).unwrap().set_len(4 << 30).unwrap();
    refused(&folder, &["run", "./hole.toml"], 2, &["the limit is 1048576 bytes"]);
}

/// Results are written by root, too: a link in a folder of results must not say where.
#[test]
fn attack_links_in_a_folder_of_results() {
    let folder = Scratch::new("attack-links");
    fs::write(folder.path("small.toml"), SMALL).unwrap();
    let run = ["run", "./small.toml", "--no-paper", "--repeats", "1", "--only", "buffer=20 % BDP", "--out", "out"];
    let run = [&run[..], &["--only", "algorithm=cubic", "--set", "run.duration=6 s"]].concat();
    for name in ["units", "series"] {
        let (root, elsewhere) = (folder.path("out/small"), folder.path(&format!("elsewhere-{name}")));
        fs::create_dir_all(&root).unwrap();
        fs::create_dir(&elsewhere).unwrap();
        symlink(&elsewhere, root.join(name)).unwrap();
        refused(&folder, &run, 3, &[name, "is a link or a file where a folder must be", "try: remove it"]);
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0, "{name}");
        fs::remove_dir_all(&root).unwrap();
    }
    // Nor are links with the names of files that are still being written.
    let (root, kept) = (folder.path("out/small"), folder.path("kept"));
    fs::create_dir_all(root.join("units")).unwrap();
    fs::write(&kept, "kept").unwrap();
    symlink(&kept, root.join("scenario.part")).unwrap();
    symlink(&kept, root.join("units/p00001-r1.part")).unwrap();
    let output = bounded(&folder, &run);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(fs::read_to_string(&kept).unwrap(), "kept");
    fs::remove_dir_all(&root).unwrap();
    fs::create_dir_all(&root).unwrap();
    symlink(&kept, root.join(".lock")).unwrap();
    let output = bounded(&folder, &run);
    assert!(!output.status.success());
    assert_eq!(fs::read_to_string(&kept).unwrap(), "kept");
}
