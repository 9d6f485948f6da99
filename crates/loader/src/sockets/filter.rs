// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which sockets.

use std::fs;
use std::net::IpAddr;
use std::path::PathBuf;

use super::cgroup::cgroup_id;
use super::raw::socket_query;
use crate::error::{Error, Result};
use crate::netns::{Namespace, NamespaceScan};
use crate::prefix::Prefix;
use crate::sys;

/// Which sockets: those for which all that is set holds. The default is all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SocketFilter {
    /// Kernel name of their algorithm.
    pub kernel_name: Option<String>,
    /// Their algorithm: that of the instance whose program they use, under whatever name, or the kernel's own of this name.
    pub algorithm: Option<String>,
    /// Made in this cgroup (v2) or below: a path from the root of the hierarchy, or of its mount.
    pub cgroup: Option<PathBuf>,
    /// Open in this process.
    pub pid: Option<u32>,
    /// Port of either end.
    pub port: Option<u16>,
    /// Local address or prefix; one of IPv4 also stands for its form in IPv6 sockets.
    pub source: Option<Prefix>,
    /// Local port.
    pub source_port: Option<u16>,
    /// Remote address or prefix.
    pub destination: Option<Prefix>,
    /// Remote port.
    pub destination_port: Option<u16>,
    /// In one of these states; empty: any.
    pub states: Vec<SocketState>,
    /// `SO_COOKIE`.
    pub cookie: Option<u64>,
    /// Of this network namespace: a name in /run/netns, or the path of a namespace file.
    pub namespace: Option<String>,
}

/// State of a TCP connection, of those in which a socket has an algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)] // RFC 9293, section 3.3.2
pub enum SocketState {
    Established = 1,
    SynSent = 2,
    SynReceived = 3,
    FinWait1 = 4,
    FinWait2 = 5,
    Closed = 7,
    CloseWait = 8,
    LastAck = 9,
    Listen = 10,
    Closing = 11,
}

impl SocketState {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Established,
        Self::SynSent,
        Self::SynReceived,
        Self::FinWait1,
        Self::FinWait2,
        Self::Closed,
        Self::CloseWait,
        Self::LastAck,
        Self::Listen,
        Self::Closing,
    ];

    pub(super) fn of_kernel(number: u8) -> Self {
        Self::ALL.into_iter().find(|state| *state as u8 == number).unwrap_or(Self::Closed)
    }

    /// As `ss` takes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Established => "established",
            Self::SynSent => "syn-sent",
            Self::SynReceived => "syn-recv",
            Self::FinWait1 => "fin-wait-1",
            Self::FinWait2 => "fin-wait-2",
            Self::Closed => "closed",
            Self::CloseWait => "close-wait",
            Self::LastAck => "last-ack",
            Self::Listen => "listen",
            Self::Closing => "closing",
        }
    }
}

impl SocketFilter {
    /// The sockets that use an algorithm under this kernel name; all sockets where it is empty.
    #[must_use]
    pub fn of_kernel_name(name: &str) -> Self {
        Self { kernel_name: Some(name.to_owned()).filter(|name| !name.is_empty()), ..Self::default() }
    }

    /// Selects all sockets?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The question to the BPF program; checks that process and cgroup exist.
    pub(super) fn query(&self, to: &str) -> Result<socket_query> {
        let mut query = socket_query {
            cookie: self.cookie.unwrap_or_default(),
            cgroup_id: self.cgroup.as_deref().map(cgroup_id).transpose()?.unwrap_or_default(),
            pid: self.pid.map(require_process).transpose()?.unwrap_or_default(),
            states: self.states.iter().fold(0, |bits, state| bits | 1 << *state as u32),
            port: self.port.unwrap_or_default(),
            source_port: self.source_port.unwrap_or_default(),
            destination_port: self.destination_port.unwrap_or_default(),
            source_mask: self.source.map(mask).unwrap_or_default(),
            destination_mask: self.destination.map(mask).unwrap_or_default(),
            source: self.source.map(octets).unwrap_or_default(),
            destination: self.destination.map(octets).unwrap_or_default(),
            ..socket_query::default()
        };
        let from = self.kernel_name.as_deref().unwrap_or_default();
        if from.len() >= query.from.len() {
            return Err(Error::BadName { name: from.to_owned() });
        }
        sys::copy_name(&mut query.from, from);
        sys::copy_name(&mut query.algorithm, self.algorithm.as_deref().unwrap_or_default());
        sys::copy_name(&mut query.to, to);
        Ok(query)
    }

    /// The namespaces to look into.
    pub(crate) fn scan(&self) -> Result<NamespaceScan> {
        match &self.namespace {
            Some(name) => Ok(NamespaceScan { found: vec![Namespace::named(name)?], unreadable: Vec::new() }),
            None => NamespaceScan::all(),
        }
    }
}

/// As IPv6 sockets write it.
fn octets(prefix: Prefix) -> [u8; 16] {
    match prefix.address() {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}

/// Those of the bits that must be the same
fn mask(prefix: Prefix) -> [u8; 16] {
    let mapped_bits = if prefix.address().is_ipv4() { 96 } else { 0 };
    let bits = mapped_bits + u32::from(prefix.bits());
    u128::MAX.checked_shl(128 - bits).unwrap_or(0).to_be_bytes()
}

fn require_process(pid: u32) -> Result<u32> {
    // A thread has a folder, too, that is not listed; its files are its process's.
    let is_process = fs::read_to_string(format!("/proc/{pid}/status"))
        .is_ok_and(|status| status.lines().any(|line| line == format!("Tgid:\t{pid}")));
    if is_process {
        return Ok(pid);
    }
    Err(Error::Unknown {
        kind: "process",
        name: pid.to_string(),
        hint: "ps or pidof NAME shows process ids".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_set_asks_for_all() {
        let query = SocketFilter::default().query("").expect("there is nothing to look up");
        assert!(bytemuck::bytes_of(&query).iter().all(|byte| *byte == 0));
        assert!(SocketFilter::of_kernel_name("").is_empty());
    }

    #[test]
    fn ipv4_is_asked_for_in_its_mapped_form() {
        let source = Some("10.1.2.3".parse().expect("an address"));
        let filter = SocketFilter { source, states: vec![SocketState::Listen], ..SocketFilter::default() };
        let query = filter.query("").expect("there is nothing to look up");
        assert_eq!(query.source, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 1, 2, 3]);
        assert_eq!((query.source_mask, query.destination_mask, query.states), ([255; 16], [0; 16], 1 << 10));
        let destination = Some("2001:db8::/33".parse().expect("a prefix"));
        let filter = SocketFilter { source: Some("10.0.0.0/9".parse().expect("a prefix")), destination, ..filter };
        let query = filter.query("").expect("there is nothing to look up");
        assert_eq!(query.source_mask[11..], [255, 255, 0x80, 0, 0]);
        assert_eq!(query.destination_mask[..6], [255, 255, 255, 255, 0x80, 0]);
    }

    #[test]
    fn a_process_that_is_not_there_is_named() {
        let filter = SocketFilter { pid: Some(u32::MAX), ..SocketFilter::default() };
        let error = filter.query("").expect_err("there is no such process");
        assert_eq!(error.to_string(), "there is no process \"4294967295\"");
    }
}
