// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who is at the other end, and what they may do.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

use ccctl_console::{Exit, Fault};
use nix::sched::{setns, CloneFlags};
use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::{PeerCredentials, PeerPidfd};
use nix::unistd::Group;

use super::request::Role;
use ccctl_core::sys;

/// The group that may read: its id, where the system has it.
#[derive(Debug, Clone, Default)]
pub struct ReadGroup(Option<u32>);

impl ReadGroup {
    /// The group of this name; None where there is none, which leaves reading to root.
    pub fn named(name: &str) -> Option<Self> {
        let group = Group::from_name(name).ok().flatten()?;
        Some(Self(Some(group.gid.as_raw())))
    }
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
