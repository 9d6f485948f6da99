// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel tests share: the built `ccctl`, a host that must be left as it was, and the shape of a refusal.
//!
//! They change what the whole machine shares: `--test-threads=1` within a binary, and a lock between binaries. Each removes only
//! what it has loaded itself: see `kernel_test` of the testbed.
#![allow(dead_code)] // each benchmark uses its part

pub mod acks;
pub mod attacks;
pub mod backlog;
pub mod compile;
pub mod connection;
pub mod daemon;
pub mod ecn_fields;
pub mod host;
pub mod listing;
pub mod metrics;
pub mod packets;
pub mod policy;
pub mod process;
pub mod prometheus;
pub mod top;
pub mod trace;
pub mod verified;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

pub use ccctl_testbed::claim;
use ccctl_testbed::{
    kernel_test, require_no_others, run, settled, skip, sockets, Amount, HostState, Namespace, Output, Receiver,
    Sending, RULES,
};
use serde_json::Value;

/// Path of the program under test.
pub const CCCTL: &str = env!("CARGO_BIN_EXE_ccctl");

/// Longest time that any one command may take on a loaded machine.
const COMMAND_LIMIT: Duration = Duration::from_secs(60);

/// Exit codes as the manual has them.
pub mod code {
    /// Unknown name or parameter, bad value, wrong usage.
    pub const USAGE: i32 = 2;
    /// In use, or the name is taken.
    pub const REFUSED: i32 = 3;
    /// The host lacks privileges, a file system or a kernel feature.
    pub const HOST: i32 = 4;
    /// The kernel refused the program.
    pub const PROGRAM: i32 = 5;
    /// Some of it could not be done, or the host differs from the file.
    pub const PARTLY: i32 = 6;
}

/// How often a test does again what it has done before: `often` where `CCCTL_LONG` is set, as in `just test-long`.
pub fn times(seldom: usize, often: usize) -> usize {
    if std::env::var_os("CCCTL_LONG").is_some() {
        often
    } else {
        seldom
    }
}

/// Runs `body` with the kernel to itself, within `limit_s` (on a busy host within three times that), and expects the host
/// to be as before afterwards.
pub fn test(what: &str, limit_s: u64, body: impl FnOnce()) {
    kernel_test(what, limit_s, remove, body);
}

/// The same, of what can be told only where the kernel calls every hook: elsewhere the test is skipped.
pub fn exact(what: &str, limit_s: u64, body: impl FnOnce()) {
    let reason = host::leaves_hooks_out();
    test(what, limit_s, || reason.map_or_else(body, |reason| skip(what, reason)));
}

/// Takes out an instance, or all rules.
fn remove(name: &str) -> Result<(), String> {
    let words: &[&str] = if name == RULES { &["unassign", "--all"] } else { &["unload", name, "--force"] };
    run(Command::new(CCCTL).args(words), COMMAND_LIMIT).map(|_| ()).map_err(|error| error.to_string())
}

/// Notes that all rules will be the test's; stops if there are some that are not.
#[track_caller]
pub fn claim_rules() {
    claim(RULES);
}

/// Looks at a command before it runs: what it loads becomes the test's, and what is not the test's stays out of reach.
#[track_caller]
pub fn prepare(words: &[&str]) {
    match words {
        ["load", algorithm, rest @ ..] => {
            let position = rest.iter().position(|word| *word == "--as");
            match position.and_then(|position| rest.get(position + 1)) {
                Some(name) => claim(name),
                None => claim(&default_name(algorithm)),
            }
        }
        ["unload", rest @ ..] if rest.contains(&"--all") => require_no_others("unload --all"),
        ["down", ..] => require_no_others("take everything down"),
        ["assign", ..] => claim_rules(),
        _ => {}
    }
}

/// Runs `ccctl` with these words, whatever its end.
#[track_caller]
pub fn ccctl(words: &[&str]) -> Output {
    prepare(words);
    run(Command::new(CCCTL).args(words), COMMAND_LIMIT).unwrap()
}

/// Runs `ccctl` inside a namespace.
#[track_caller]
pub fn ccctl_in(namespace: &Namespace, words: &[&str]) -> Output {
    prepare(words);
    namespace.run(Command::new(CCCTL).args(words), COMMAND_LIMIT).unwrap()
}

/// Runs `ccctl`, expects success, and gives its stdout.
#[track_caller]
pub fn succeeds(words: &[&str]) -> String {
    succeeded(words, ccctl(words))
}

/// Runs `ccctl`, expects success, and reads its stdout as JSON.
#[track_caller]
pub fn json(words: &[&str]) -> Value {
    parsed(words, &succeeds(words))
}

/// Runs `ccctl`, expects this code and nothing on stderr, and reads its stdout as JSON.
#[track_caller]
pub fn json_with_code(words: &[&str], code: i32) -> Value {
    let output = ccctl(words);
    assert_eq!(output.code, Some(code), "ccctl {}: {}{}", words.join(" "), output.stdout, output.stderr);
    assert!(output.stderr.is_empty(), "ccctl {} wrote to stderr: {}", words.join(" "), output.stderr);
    parsed(words, &output.stdout)
}

/// The same inside a namespace.
#[track_caller]
pub fn json_in(namespace: &Namespace, words: &[&str]) -> Value {
    parsed(words, &succeeded(words, ccctl_in(namespace, words)))
}

#[track_caller]
fn succeeded(words: &[&str], output: Output) -> String {
    assert!(output.success(), "ccctl {}: {:?}\n{}{}", words.join(" "), output.code, output.stdout, output.stderr);
    assert!(output.stderr.is_empty(), "ccctl {} wrote to stderr: {}", words.join(" "), output.stderr);
    output.stdout
}

#[track_caller]
pub fn parsed(words: &[&str], stdout: &str) -> Value {
    serde_json::from_str(stdout).unwrap_or_else(|error| panic!("ccctl {}: {error}: {stdout}", words.join(" ")))
}

/// Runs `ccctl` and expects a refusal: this code, a cause with all of `parts` in its one or two lines, nothing on
/// stdout, and a kernel as before.
#[track_caller]
pub fn refuses(words: &[&str], code: i32, parts: &[&str]) {
    let before = HostState::read().unwrap();
    let output = ccctl(words);
    is_refusal(&format!("ccctl {}", words.join(" ")), &output, code, parts);
    if let Err(complaint) = settled(&before) {
        panic!("ccctl {}: {complaint}", words.join(" "));
    }
}

/// The house format: `ccctl: CAUSE`, then perhaps `  try: REMEDY`, and nothing else.
#[track_caller]
pub fn is_refusal(what: &str, output: &Output, code: i32, parts: &[&str]) {
    let lines: Vec<&str> = output.stderr.lines().collect();
    let shown = format!("{what}: code {:?}\n{}{}", output.code, output.stdout, output.stderr);
    assert_eq!(output.code, Some(code), "{shown}");
    if what.contains("--json") {
        let said: Value = serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {shown}"));
        assert_eq!(said["error"]["exit"], code, "{shown}");
        assert!(output.stderr.contains(said["error"]["cause"].as_str().unwrap()), "the same as on stderr: {shown}");
    } else {
        assert!(output.stdout.is_empty(), "stdout of a refusal is empty: {shown}");
    }
    assert!(!lines.is_empty() && lines.len() <= 2, "one line of cause, one of remedy: {shown}");
    assert!(lines[0].starts_with("ccctl: ") && lines[0].len() > 12, "{shown}");
    assert!(lines.get(1).is_none_or(|line| line.starts_with("  try: ") && line.len() > 9), "{shown}");
    for part in parts {
        assert!(output.stderr.contains(part), "{part:?} is not said: {shown}");
    }
}

/// Kernel names of all instances.
#[track_caller]
pub fn names() -> Vec<String> {
    let list = json(&["list", "--json"]);
    let instances = list["instances"].as_array().unwrap();
    instances.iter().map(|instance| instance["name"].as_str().unwrap().to_owned()).collect()
}

/// What `ccctl list` says of an instance.
#[track_caller]
pub fn listed(name: &str) -> Option<Value> {
    let list = json(&["list", "--json"]);
    list["instances"].as_array().unwrap().iter().find(|instance| instance["name"] == name).cloned()
}

/// What `ccctl show` says of an instance.
#[track_caller]
pub fn show(name: &str) -> Value {
    let shown = json(&["show", name, "--json"]);
    assert_eq!(shown["kind"], "instance", "{shown}");
    shown
}

/// Value of a parameter of an instance, read back from the kernel, in its unit.
#[track_caller]
pub fn parameter(name: &str, key: &str) -> Value {
    of_parameter(name, key, "value")
}

/// The same as text.
#[track_caller]
pub fn parameter_text(name: &str, key: &str) -> String {
    of_parameter(name, key, "value_text").as_str().unwrap().to_owned()
}

#[track_caller]
fn of_parameter(name: &str, key: &str, what: &str) -> Value {
    let shown = show(name);
    let parameters = shown["parameters"].as_array().unwrap();
    let found = parameters.iter().find(|parameter| parameter["name"] == key);
    found.unwrap_or_else(|| panic!("{name} has no {key}: {shown}"))[what].clone()
}

/// Names of all algorithms of the catalogue that kernels run and anybody may have: `kernel/prague.rs` and `daemon/fence.rs` are about
/// the others.
#[track_caller]
pub fn catalogue() -> Vec<String> {
    let all = json(&["algorithms", "--json"]);
    let names = all["algorithms"].as_array().unwrap().iter().map(|algorithm| algorithm["name"].as_str().unwrap());
    let is_open = |name: &&str| ccctl_catalog::algorithm(name).is_some_and(|known| known.layout().fence.is_none());
    names.filter(|name| *name != "prague").filter(is_open).map(str::to_owned).collect()
}

/// A connection to `receiver` that sends until stopped, at no more than about 30 Mbit/s.
pub fn steady(receiver: &Receiver, address: &str, algorithm: &str) -> Sending {
    Sending {
        to: receiver.at(address),
        algorithm: Some(algorithm.to_owned()),
        amount: Amount::UntilStopped,
        pause: Duration::from_millis(8),
    }
}

/// How many established sockets of a namespace use which algorithm, as `ss` has it.
#[track_caller]
pub fn established(namespace: &Namespace, algorithm: &str) -> usize {
    let all = sockets(namespace, "established").unwrap();
    all.iter().filter(|socket| socket.algorithm.as_deref() == Some(algorithm)).count()
}

/// Whether the kernel gives the name to sockets.
pub fn available(name: &str) -> bool {
    let text = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap();
    text.split_whitespace().any(|known| known == name)
}

/// A folder for the files of one test, removed with it.
pub struct Folder(std::path::PathBuf);

impl Folder {
    /// Makes it.
    pub fn new(label: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ccctl-test-{}-{label}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    /// Writes a file and gives its path.
    pub fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0); // what stays is in the folder for temporary files
    }
}

/// Numbers that look random and are the same in each run.
pub struct Random(pub u64);

impl Random {
    /// The next number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// The kernel name that `load` gives an algorithm without `--as`: 15 characters are the most that the kernel takes.
pub fn default_name(algorithm: &str) -> String {
    match algorithm {
        "highspeed_lp" => "bpf_hstcp_lp".to_owned(),
        _ => format!("bpf_{algorithm}"),
    }
}
