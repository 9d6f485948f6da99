// SPDX-License-Identifier: GPL-2.0-only
//! External programs, each with a time limit.

use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{channel, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use super::TestbedError;

/// What is left to a killed program to be gone, and to its pipes to be closed.
const GRACE: Duration = Duration::from_secs(2);

/// What a program left behind.
#[derive(Debug, Clone)]
pub struct Output {
    /// Exit code; none if a signal ended it.
    pub code: Option<i32>,
    /// What it wrote to stdout.
    pub stdout: String,
    /// What it wrote to stderr.
    pub stderr: String,
    /// From its start to its end.
    pub elapsed: Duration,
}

impl Output {
    /// Whether the program ended with code 0.
    #[must_use]
    pub fn success(&self) -> bool {
        self.code == Some(0)
    }
}

/// The command as a reader would type it.
fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

/// Runs `command` to its end, whatever that is, or kills it after `limit`.
pub fn run(command: &mut Command, limit: Duration) -> Result<Output, TestbedError> {
    let started = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|cause| TestbedError::Spawn { command: line(command), cause })?;
    let stdout = collect(child.stdout.take());
    let stderr = collect(child.stderr.take());
    let status = wait_until(&mut child, started + limit);
    let elapsed = started.elapsed();
    let killed = status.is_some() || kill(&mut child);
    let (stdout, stderr) = (text(&stdout), text(&stderr));
    match status {
        Some(status) => Ok(Output { code: status.code(), stdout, stderr, elapsed }),
        None => Err(TestbedError::Timeout { command: line(command), limit, killed, stdout, stderr }),
    }
}

/// Runs `command` and takes any end but success for an error; gives its stdout.
pub fn run_ok(command: &mut Command, limit: Duration) -> Result<String, TestbedError> {
    let output = run(command, limit)?;
    if output.success() {
        return Ok(output.stdout);
    }
    let said = format!("{}{}", output.stdout, output.stderr).trim().to_owned();
    Err(TestbedError::Failed { command: line(command), code: output.code, output: said })
}

fn collect(pipe: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut bytes); // what was read until the failure is still worth showing
        }
        let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    receiver
}

fn text(pipe: &Receiver<String>) -> String {
    pipe.recv_timeout(GRACE).unwrap_or_else(|_| "(the pipe is still open)".to_owned())
}

/// How the child ended, if it did in time.
fn wait_until(child: &mut Child, deadline: Instant) -> Option<ExitStatus> {
    let mut pause = Duration::from_micros(200);
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        if Instant::now() >= deadline {
            return None;
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(5));
    }
}

/// Whether the child is gone: one that hangs inside the kernel stays.
fn kill(child: &mut Child) -> bool {
    let _ = child.kill(); // an error means that it is gone already, which the wait below confirms
    wait_until(child, Instant::now() + GRACE).is_some()
}

/// A program in the background, killed when dropped.
#[derive(Debug)]
pub struct Background {
    child: Child,
    command: String,
}

impl Background {
    /// Starts `command`; what it prints is dropped.
    pub fn start(command: &mut Command) -> Result<Self, TestbedError> {
        let line = line(command);
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|cause| TestbedError::Spawn { command: line.clone(), cause })?;
        Ok(Background { child, command: line })
    }

    /// Sends SIGKILL now; false if the program had ended by itself before.
    pub fn kill(&mut self) -> bool {
        if let Ok(Some(_)) = self.child.try_wait() {
            return false;
        }
        kill(&mut self.child)
    }

    /// Waits for the end; the code is none if a signal ended it.
    pub fn wait(&mut self, limit: Duration) -> Result<Option<i32>, TestbedError> {
        let status = wait_until(&mut self.child, Instant::now() + limit);
        status.map(|status| status.code()).ok_or_else(|| TestbedError::Timeout {
            command: self.command.clone(),
            limit,
            killed: kill(&mut self.child),
            stdout: String::new(),
            stderr: String::new(),
        })
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.kill();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_program_is_killed_and_named() {
        let error = run(Command::new("sleep").arg("30"), Duration::from_millis(50)).unwrap_err();
        assert!(error.to_string().starts_with("`sleep 30` did not end within 50ms; it was killed"), "{error}");
    }

    #[test]
    fn failure_carries_what_the_program_said() {
        let error = run_ok(Command::new("sh").args(["-c", "echo no >&2; exit 3"]), GRACE).unwrap_err();
        assert_eq!(error.to_string(), "`sh -c echo no >&2; exit 3` failed with Some(3): no");
    }
}
