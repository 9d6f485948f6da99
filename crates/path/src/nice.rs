// SPDX-License-Identifier: GPL-2.0-only
//! The right of this process to run before others.
//!
//! Where the kernel groups processes by session (`sched_autogroup_enabled`), nice values order them only within their session:
//! a compiler in another terminal takes half of the processor from a router at nice -20. So the session is raised as well.
//! Another process lowers it again, which outlives this one: a session that stays raised after `kill -9` would keep the
//! processor from the rest of the host.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use ccctl_testbed::TestbedError;

const GROUP: &str = "/proc/self/autogroup";
const HIGHEST: &str = "-20";
const NORMAL: &str = "0";

static TAKEN: Mutex<Taken> = Mutex::new(Taken { times: 0, guard: None });

/// By how many paths of this process, and what undoes it.
struct Taken {
    times: u32,
    guard: Option<Guard>,
}

/// This session runs before all others until the last of these is dropped. Of two processes of one session the first that
/// ends lowers it for both.
#[derive(Debug)]
pub(super) struct Nice;

impl Nice {
    /// Raises the session, where the kernel has such a thing.
    pub(super) fn take() -> Result<Self, TestbedError> {
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.times == 0 && Path::new(GROUP).exists() {
            let text = fs::read_to_string(GROUP).map_err(TestbedError::io(format!("read {GROUP}")))?;
            if let Some(nice) = nice(&text) {
                // At the highest: another process of the session has raised it.
                let guard = Guard::start(if nice == HIGHEST { NORMAL } else { nice })?;
                fs::write(GROUP, HIGHEST).map_err(TestbedError::io(format!("write {HIGHEST} to {GROUP}")))?;
                taken.guard = Some(guard);
            }
        }
        taken.times += 1;
        Ok(Self)
    }
}

impl Drop for Nice {
    fn drop(&mut self) {
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        taken.times -= 1;
        if taken.times > 0 {
            return;
        }
        if let Some(Err(error)) = taken.guard.take().map(Guard::end) {
            eprintln!("testbed: {error}");
        }
    }
}

/// A shell of this session that lowers it when its input ends, as it does with this process. It has a process group of its
/// own: a terminal's Ctrl-C does not reach it.
struct Guard {
    shell: Child,
}

impl Guard {
    fn start(nice: &str) -> Result<Self, TestbedError> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "read -r _; echo \"$1\" > \"$2\"", "ccctl-nice", nice, GROUP]).process_group(0);
        let shell = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        Ok(Self { shell: shell.map_err(TestbedError::io("start /bin/sh"))? })
    }

    /// Closes its input, and waits for it.
    fn end(mut self) -> Result<(), TestbedError> {
        let failed = || TestbedError::io(format!("write to {GROUP}"));
        match self.shell.wait().map_err(failed())? {
            status if status.success() => Ok(()),
            status => Err(failed()(std::io::Error::other(status.to_string()))),
        }
    }
}

/// proc(5): `/autogroup-25 nice 0`
fn nice(text: &str) -> Option<&str> {
    text.split_once(" nice ").map(|(_, nice)| nice.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nice_value_of_a_session_is_read() {
        assert_eq!(nice("/autogroup-106 nice 0\n"), Some("0"));
        assert_eq!(nice("/autogroup-3 nice -5\n"), Some("-5"));
        assert_eq!(nice(""), None);
    }
}
