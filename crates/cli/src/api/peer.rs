// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who is at the other end, and what they may do.

use std::fs::{self, File};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::process::Command;

use ccctl_console::{Exit, Fault};
use nix::sched::{setns, CloneFlags};
use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::{PeerCredentials, PeerPidfd};

use super::request::Role;
use ccctl_core::sys;

/// The groups of this host.
const GROUPS: &str = "/etc/group";

/// The group that may read: its id, where the system has it.
#[derive(Debug, Clone, Default)]
pub struct ReadGroup(Option<u32>);

impl ReadGroup {
    /// The group of this name; None where there is none, which leaves reading to root.
    pub fn named(name: &str) -> Option<Self> {
        let here = fs::read_to_string(GROUPS).ok().and_then(|groups| id_of(name, &groups));
        let id = here.or_else(|| id_of(name, &directory_entry(name)?))?;
        Some(Self(Some(id)))
    }
}

/// The id of the group of this name, in the form of `/etc/group`.
fn id_of(name: &str, groups: &str) -> Option<u32> {
    groups.lines().find_map(|line| {
        let mut fields = line.split(':');
        (fields.next() == Some(name)).then(|| fields.nth(1)?.parse().ok()).flatten()
    })
}

/// The line of a group that a directory such as LDAP has. A static program cannot load the modules of `nsswitch.conf`.
fn directory_entry(name: &str) -> Option<String> {
    let found = Command::new("getent").args(["group", "--", name]).output().ok()?;
    String::from_utf8(found.stdout).ok()
}

/// The process that has connected.
#[derive(Debug)]
pub struct Peer {
    /// Its user.
    pub uid: u32,
    /// Its id; 0 where it lives in a pid namespace that is not ours or below.
    pub pid: i32,
    /// What it may do.
    pub role: Role,
    /// A handle that cannot come to mean another process (6.5).
    handle: Option<OwnedFd>,
}

impl Peer {
    /// As the kernel noted it when it connected.
    pub fn of(socket: &impl AsFd, group: &ReadGroup) -> std::io::Result<Self> {
        let credentials = getsockopt(socket, PeerCredentials)?;
        let groups = || sys::peer_groups(socket.as_fd()).unwrap_or_default();
        let reads = |group: u32| credentials.gid() == group || groups().contains(&group);
        let role = match group.0 {
            _ if credentials.uid() == 0 => Role::Change,
            Some(group) if reads(group) => Role::Read,
            _ => Role::Nothing,
        };
        let handle = getsockopt(socket, PeerPidfd).ok();
        Ok(Self { uid: credentials.uid(), pid: credentials.pid(), role, handle })
    }

    /// Takes the calling thread into the peer's network namespace.
    pub fn enter_namespace(&self) -> Result<(), Fault> {
        let entered = match &self.handle {
            Some(handle) => setns(handle, CloneFlags::CLONE_NEWNET).map_err(std::io::Error::from),
            None => File::open(self.namespace_file())
                .and_then(|file| setns(file, CloneFlags::CLONE_NEWNET).map_err(std::io::Error::from)),
        };
        entered.map_err(|error| {
            let cause = format!("cannot enter the network namespace of the client, process {}: {error}", self.pid);
            Fault::new(Exit::Host, cause, "keep the client running and connected until the answer arrives")
        })
    }

    fn namespace_file(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/ns/net", self.pid))
    }
}

impl std::fmt::Display for Peer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "user {}, process {}", self.uid, self.pid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_found_by_its_whole_name() {
        let groups = "root:x:0:\nccctl2:x:7:\nccctl:x:998:alice,bob\nbroken:x\nodd:x:-1:\n";
        for (name, id) in [("root", Some(0)), ("ccctl", Some(998)), ("ccct", None), ("broken", None), ("odd", None)] {
            assert_eq!(id_of(name, groups), id, "{name}");
        }
    }
}
