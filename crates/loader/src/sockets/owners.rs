// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which processes have which socket open.

use ccctl_catalog::kernel::c_text;

use std::collections::HashMap;

use super::iterator::OwnersIterator;
use super::raw::socket_owner;
use crate::error::Result;

/// A process that has a socket open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// Process.
    pub pid: u32,
    /// Its name, as `ps` has it.
    pub command: String,
}

/// The owners of all TCP sockets at one moment; a socket that nobody has open any more has none.
#[derive(Debug, Default)]
pub struct Owners {
    by_cookie: HashMap<u64, Held>,
}

/// Nearly every socket has one owner: no allocation for it but its name.
#[derive(Debug)]
struct Held {
    first: (u32, [std::ffi::c_char; 16]),
    more: Vec<(u32, [std::ffi::c_char; 16])>,
}

/// Asks the kernel for owners, with an iterator over all open files that stays loaded: to load it takes longer than to ask.
pub struct OwnersReader(OwnersIterator);

impl OwnersReader {
    /// Loads it.
    pub fn load() -> Result<Self> {
        OwnersIterator::load().map(Self)
    }

    /// Those of this moment.
    pub fn read(&self) -> Result<Owners> {
        let mut owners = Owners::default();
        self.0.each(|owner: socket_owner| owners.add(&owner))?;
        Ok(owners)
    }
}

impl Owners {
    /// Asks the kernel once.
    pub fn read() -> Result<Self> {
        OwnersReader::load()?.read()
    }

    fn add(&mut self, owner: &socket_owner) {
        let entry = (owner.pid, owner.comm);
        let held = self.by_cookie.entry(owner.cookie).or_insert_with(|| Held { first: entry, more: Vec::new() });
        let is_known = held.first.0 == owner.pid || held.more.iter().any(|(pid, _)| *pid == owner.pid);
        if !is_known {
            held.more.push(entry);
        }
    }

    /// Owners of the socket with this cookie, in the order of their process ids.
    #[must_use]
    pub fn of(&self, cookie: u64) -> Vec<Owner> {
        let Some(held) = self.by_cookie.get(&cookie) else { return Vec::new() };
        let all = std::iter::once(&held.first).chain(&held.more);
        let mut found: Vec<Owner> = all.map(|(pid, comm)| Owner { pid: *pid, command: c_text(comm) }).collect();
        found.sort_by_key(|owner| owner.pid);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(cookie: u64, pid: u32) -> socket_owner {
        socket_owner { cookie, pid, ..socket_owner::default() }
    }

    #[test]
    fn a_process_counts_once_and_forked_ones_each() {
        let mut owners = Owners::default();
        for (cookie, pid) in [(1, 30), (1, 20), (1, 30), (1, 20), (2, 20)] {
            owners.add(&owner(cookie, pid));
        }
        let pids = |cookie| owners.of(cookie).iter().map(|owner| owner.pid).collect::<Vec<_>>();
        assert_eq!((pids(1), pids(2), pids(3)), (vec![20, 30], vec![20], vec![]));
    }
}
