// SPDX-License-Identifier: GPL-2.0-only
//! Whose an instance of the lab is. It is written into the instance, so that the kernel holds it and nobody has to remember.

use std::fs;
use std::io;

/// No profile of a user's can have this name.
const MARK: &str = "lab run of ";

/// A process, told from a later one of the same number by when it began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    pid: u32,
    began: u64, // ticks since boot
}

impl Owner {
    /// This process.
    pub fn this() -> io::Result<Self> {
        let pid = std::process::id();
        let began = began(pid).ok_or_else(|| io::Error::other("/proc/self/stat has no start time"))?;
        Ok(Self { pid, began })
    }

    /// The process that has loaded an instance with this profile, if it was a run of the lab.
    pub fn of_profile(text: &str) -> Option<Self> {
        let (pid, began) = text.strip_prefix(MARK)?.split_once('/')?;
        Some(Self { pid: pid.parse().ok()?, began: began.parse().ok()? })
    }

    /// What stands where instances have their profile.
    pub fn profile(&self) -> String {
        format!("{MARK}{}/{}", self.pid, self.began)
    }

    /// Does it still run?
    pub fn is_alive(&self) -> bool {
        began(self.pid) == Some(self.began)
    }
}

/// When a process began; none where there is none.
fn began(pid: u32) -> Option<u64> {
    start_time(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// proc(5): the 22nd field; the second is a name in brackets, which may have spaces and brackets in it.
fn start_time(stat: &str) -> Option<u64> {
    let (_, rest) = stat.rsplit_once(") ")?;
    rest.split(' ').nth(22 - 3)?.parse().ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_start_time_is_found_behind_any_name() {
        let line = "42 (a ) b) S 1 42 42 0 -1 4194560 1 0 0 0 1 2 3 4 20 0 1 0 987654 1000 100";
        assert_eq!(start_time(line), Some(987_654));
        assert_eq!(start_time("42 (a"), None);
    }

    #[test]
    fn an_owner_is_read_back_and_is_not_who_comes_later() {
        let this = Owner::this().unwrap();
        assert!(this.is_alive());
        assert_eq!(Owner::of_profile(&this.profile()), Some(this.clone()));
        assert!(this.profile().len() < 32, "struct cc_identity has 31 letters for it");
        assert!(!Owner { began: this.began + 1, ..this }.is_alive());
        assert_eq!(Owner::of_profile("linux"), None);
        assert_eq!(Owner::of_profile(""), None);
    }

    #[test]
    fn the_longest_owner_has_room() {
        // The largest process number of Linux; ticks of a machine that is up for 300 years.
        let owner = Owner { pid: 4_194_304, began: 999_999_999_999 };
        assert!(owner.profile().len() < 32, "{}", owner.profile());
    }
}
