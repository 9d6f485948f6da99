// SPDX-License-Identifier: MIT OR Apache-2.0
//! Processes that end with their test.

use std::process::{Child, Command, Stdio};

/// One that is killed when dropped, with its children, if it has not ended by then.
pub struct Process(pub Child);

impl Process {
    /// Starts it, without input.
    #[track_caller]
    pub fn start(command: &mut Command) -> Self {
        Self(command.stdin(Stdio::null()).spawn().unwrap())
    }

    /// Its number.
    pub fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Ok(None) = self.0.try_wait() {
            let _ = Command::new("pkill").args(["-P", &self.id().to_string()]).status(); // it may have none
            let _ = self.0.kill(); // it may be gone
            let _ = self.0.wait();
        }
    }
}
