// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl trace` beside traffic, and the rows that it has written.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use ccctl_testbed::{eventually, Namespace};
use nix::sys::signal::{kill, Signal};
use nix::unistd::Pid;
use serde_json::Value;

use crate::support::{Folder, CCCTL};

/// Longest time that any one step may take on a loaded machine.
pub const LIMIT: Duration = Duration::from_secs(30);

/// A trace in the background; killed when dropped.
pub struct Tracing {
    process: Child,
    file: PathBuf,
}

/// What it left.
pub struct Traced {
    /// Rows, as JSON.
    pub rows: Vec<Value>,
    /// The last of the facts.
    pub facts: Value,
    /// The summary.
    pub summary: Value,
    /// What was said on stderr.
    pub stderr: String,
}

impl Tracing {
    /// Starts one that writes JSON lines, and waits until it is attached and has looked for sockets.
    #[track_caller]
    pub fn start(folder: &Folder, namespace: &Namespace, words: &[&str]) -> Self {
        let file = folder.path().join("trace.jsonl");
        let mut command = Command::new(CCCTL);
        command.args(["trace", "--netns", namespace.name(), "--json", "-o"]).arg(&file).args(words);
        let process = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut tracing = Self { process, file };
        eventually(LIMIT, || tracing.is_tracing()).unwrap();
        tracing
    }

    /// Its file is the last thing that it makes.
    fn is_tracing(&mut self) -> Result<(), String> {
        if let Ok(Some(status)) = self.process.try_wait() {
            let mut said = String::new();
            self.process.stderr.take().map(|mut pipe| pipe.read_to_string(&mut said));
            panic!("ccctl trace ended with {status}: {said}");
        }
        if self.part().exists() {
            Ok(())
        } else {
            Err("it has no file yet".to_owned())
        }
    }

    /// Where rows are until the file is whole.
    pub fn part(&self) -> PathBuf {
        self.file.with_file_name("trace.part-0.jsonl")
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.process.id() as i32), signal).unwrap();
    }

    /// Ctrl-C, and what it wrote.
    #[track_caller]
    pub fn stop(self) -> Traced {
        std::thread::sleep(Duration::from_millis(200)); // what is on the way
        self.signal(Signal::SIGINT);
        self.wait()
    }

    /// What it wrote when it has ended by itself.
    #[track_caller]
    pub fn wait(mut self) -> Traced {
        let read = |pipe: Option<&mut dyn std::io::Read>| {
            let mut text = String::new();
            pipe.unwrap().read_to_string(&mut text).unwrap();
            text
        };
        let stdout = read(self.process.stdout.as_mut().map(|pipe| pipe as &mut dyn std::io::Read));
        let stderr = read(self.process.stderr.as_mut().map(|pipe| pipe as &mut dyn std::io::Read));
        let status = self.process.wait().unwrap();
        assert!(status.success(), "{status}: {stderr}");
        let (rows, facts) = lines(&self.file);
        Traced { rows, facts, summary: serde_json::from_str(&stdout).unwrap(), stderr }
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Tracing {
    fn drop(&mut self) {
        let _ = self.process.kill(); // mostly it has ended
        let _ = self.process.wait();
    }
}

/// Rows of a file of JSON lines, and the last facts, read without the code under test.
#[track_caller]
pub fn lines(file: &Path) -> (Vec<Value>, Value) {
    let text = std::fs::read_to_string(file).unwrap();
    let mut rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let facts = rows.iter().rev().find_map(|row| row.get("facts").cloned()).unwrap_or_default();
    rows.retain(|row| row.get("facts").is_none());
    (rows, facts)
}

impl Traced {
    /// Rows of this event.
    pub fn of<'a>(&'a self, event: &'a str) -> impl Iterator<Item = &'a Value> {
        self.rows.iter().filter(move |row| row["event"] == event)
    }

    /// Of these, those of a socket.
    pub fn of_socket<'a>(&'a self, event: &'a str, cookie: u64) -> Vec<&'a Value> {
        self.of(event).filter(|row| row["cookie"] == cookie).collect()
    }
}

/// Until everything that a connection has sent is acknowledged, and nothing more comes.
pub fn quiet(namespace: &Namespace) {
    let segments = || {
        let text = namespace.enter(|| std::fs::read_to_string("/proc/thread-self/net/snmp").unwrap()).unwrap();
        text.lines().filter(|line| line.starts_with("Tcp:")).nth(1).unwrap().to_owned()
    };
    let mut before = segments();
    eventually(LIMIT, || {
        std::thread::sleep(Duration::from_millis(400));
        let now = segments();
        let is_quiet = if now == before { Ok(()) } else { Err("segments still come and go") };
        before = now;
        is_quiet
    })
    .unwrap();
}
