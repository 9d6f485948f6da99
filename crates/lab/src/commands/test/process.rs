// SPDX-License-Identifier: GPL-2.0-only
//! The other side of `judge`: starts the process, hears what it says, and says why it ended early.

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use nix::sys::signal::Signal;

use super::judge::{Step, CHECKS_AT_MOST};
use crate::arguments::JUDGE;

/// Options of `AddressSanitizer`. Algorithms are never unloaded, which would be leaks.
const ASAN_OPTIONS: &str = "detect_leaks=0:hard_rss_limit_mb=2048:allocator_may_return_null=1:exitcode=99";
/// Of what the process says on stderr.
const MOST_ERROR_BYTES: u64 = 1 << 16;

/// What is to be checked.
pub struct Task<'a> {
    pub algorithm: &'a str,
    pub object: PathBuf,
    /// Compiled for this machine, and the sanitizers' library where it has sanitizers.
    pub library: Option<PathBuf>,
    pub sanitizers: Option<&'a Path>,
    pub vectors: Option<&'a Path>,
    pub fuzz: Duration,
}

/// How it ended.
pub struct Ended {
    pub steps: Vec<Step>,
    /// The check during which the process ended, and why.
    pub crash: Option<(String, String)>,
}

/// Runs the checks.
pub fn run(task: &Task<'_>) -> anyhow::Result<Ended> {
    let mut child = start(task).context("start the process that checks the algorithm")?;
    let stdout = child.stdout.take().context("no stdout of a child")?;
    let stderr = child.stderr.take().context("no stderr of a child")?;
    let said = thread::spawn(move || {
        let mut text = String::new();
        // What is no text is nothing that a sanitizer says.
        let _ = stderr.take(MOST_ERROR_BYTES).read_to_string(&mut text);
        text
    });
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        let lines = BufReader::new(stdout).lines().map_while(Result::ok);
        // The other side may have stopped listening.
        lines.map_while(|line| sender.send(line).ok()).for_each(drop);
    });
    // Processor time is what is limited; on a busy host that is long.
    let deadline = Instant::now() + 10 * (CHECKS_AT_MOST + task.fuzz);
    let (mut steps, mut is_late) = (Vec::new(), false);
    loop {
        match lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(line) => steps.push(serde_json::from_str(&line).context("read what the checks say")?),
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                is_late = true;
                break;
            }
        }
    }
    if is_late {
        child.kill()?;
    }
    let status = child.wait()?;
    let said = said.join().unwrap_or_default();
    let is_done = matches!(steps.last(), Some(Step::Done));
    let crash = (!is_done).then(|| (during(&steps), reason(status, is_late, &said)));
    Ok(Ended { steps, crash })
}

fn start(task: &Task<'_>) -> std::io::Result<Child> {
    // The link leads to the running program also where its file was replaced.
    let mut command = Command::new("/proc/self/exe");
    command.arg(JUDGE).arg(std::process::id().to_string()).arg(task.algorithm).arg(&task.object);
    command.arg("--fuzz").arg(format!("{}us", task.fuzz.as_micros()));
    for (option, file) in [("--library", task.library.as_deref()), ("--vectors", task.vectors)] {
        if let Some(file) = file {
            command.arg(option).arg(file);
        }
    }
    command.env_clear().envs(std::env::vars_os().filter(|(name, _)| name == "PATH" || name == "TMPDIR"));
    if let Some(runtime) = task.sanitizers {
        command.env("LD_PRELOAD", runtime).env("ASAN_OPTIONS", ASAN_OPTIONS);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
}

fn during(steps: &[Step]) -> String {
    let begun = steps.iter().rev().find_map(|step| match step {
        Step::Begun(check) => Some(check.clone()),
        _ => None,
    });
    begun.unwrap_or_else(|| "the start".to_owned())
}

/// In one line.
fn reason(status: ExitStatus, is_late: bool, said: &str) -> String {
    if is_late || status.signal() == Some(Signal::SIGXCPU as i32) {
        return "it takes too long: an endless loop, or one with a very large bound".to_owned();
    }
    let of_sanitizer = said.lines().find_map(|line| {
        let found = line.split_once(": runtime error: ").map(|(place, what)| format!("{place}: {what}"));
        found.or_else(|| line.strip_prefix("SUMMARY: ").map(str::to_owned))
    });
    if let Some(found) = of_sanitizer {
        return found;
    }
    match status.signal().map(Signal::try_from) {
        Some(Ok(Signal::SIGFPE)) => "a division by zero, or of the smallest number by -1".to_owned(),
        Some(Ok(Signal::SIGSEGV | Signal::SIGBUS)) => "an access outside of its memory".to_owned(),
        Some(Ok(signal)) => format!("the process was ended by {signal}"),
        _ => {
            let mut lines = said.lines().filter(|line| !line.trim().is_empty());
            lines.next_back().map_or_else(|| format!("the process ended: {status}"), |line| line.trim().to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_finding_of_a_sanitizer_is_the_reason() {
        let ended = ExitStatus::from_raw(99 << 8);
        let undefined = "mine.bpf.c:12:5: runtime error: division by zero\n    #0 0x1\n";
        assert_eq!(reason(ended, false, undefined), "mine.bpf.c:12:5: division by zero");
        let address =
            "==1==ERROR: AddressSanitizer: x\n#0\nSUMMARY: AddressSanitizer: heap-buffer-overflow mine.bpf.c:9 in f\n";
        assert_eq!(reason(ended, false, address), "AddressSanitizer: heap-buffer-overflow mine.bpf.c:9 in f");
        assert!(reason(ExitStatus::from_raw(8), false, "").contains("division by zero"));
        assert!(reason(ExitStatus::from_raw(24), false, "").contains("endless loop"));
        assert!(reason(ExitStatus::from_raw(9), true, "").contains("endless loop"));
    }
}
