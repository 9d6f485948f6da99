// SPDX-License-Identifier: GPL-2.0-only
//! The right of this process to run before others.
//!
//! Where the kernel groups processes by session (`sched_autogroup_enabled`), nice values order them only within their session:
//! a compiler in another terminal takes half of the processor from a router at nice -20. So the session is raised as well.

use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use ccctl_testbed::TestbedError;

const GROUP: &str = "/proc/self/autogroup";
const HIGHEST: &str = "-20";
const NORMAL: &str = "0";

static TAKEN: Mutex<Taken> = Mutex::new(Taken { times: 0, before: None });

/// By how many paths of this process, and the nice value from before the first.
struct Taken {
    times: u32,
    before: Option<String>,
}

/// This session runs before all others until the last of these is dropped.
#[derive(Debug)]
pub(super) struct Nice;

impl Nice {
    /// Raises the session, where the kernel has such a thing.
    pub(super) fn take() -> Result<Self, TestbedError> {
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.times == 0 && Path::new(GROUP).exists() {
            let text = fs::read_to_string(GROUP).map_err(TestbedError::io(format!("read {GROUP}")))?;
            if let Some(nice) = nice(&text) {
                write(HIGHEST)?;
                // A run that was killed has left it at the highest.
                taken.before = Some(if nice == HIGHEST { NORMAL } else { nice }.to_owned());
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
        if let Some(Err(error)) = taken.before.take().as_deref().map(write) {
            eprintln!("testbed: {error}");
        }
    }
}

fn write(nice: &str) -> Result<(), TestbedError> {
    fs::write(GROUP, nice).map_err(TestbedError::io(format!("write {nice} to {GROUP}")))
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
