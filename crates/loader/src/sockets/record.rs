// SPDX-License-Identifier: MIT OR Apache-2.0
//! One socket.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use ccctl_catalog::kernel::{c_text, socket_stats, AF_INET};

use super::filter::SocketState;
use super::raw::{socket_detail, socket_record};
use super::transport::Transport;

/// A socket at the moment when the kernel showed it, locked.
#[derive(Debug, Clone)]
pub struct SocketRecord(pub(super) socket_detail);

impl SocketRecord {
    /// `SO_COOKIE`; never reused while the host runs.
    #[must_use]
    pub fn cookie(&self) -> u64 {
        self.0.socket.cookie
    }

    /// State of the connection.
    #[must_use]
    pub fn state(&self) -> SocketState {
        SocketState::of_kernel(self.0.socket.state)
    }

    /// Local end.
    #[must_use]
    pub fn source(&self) -> SocketAddr {
        self.0.socket.source_address()
    }

    /// Remote end; unspecified for a listening socket.
    #[must_use]
    pub fn destination(&self) -> SocketAddr {
        self.0.socket.destination_address()
    }

    /// Kernel name of its algorithm.
    #[must_use]
    pub fn algorithm(&self) -> String {
        self.0.socket.algorithm_name()
    }

    /// `struct_ops` map of the program that it uses; 0: built-in.
    #[must_use]
    pub fn map_id(&self) -> u32 {
        self.0.socket.map_id
    }

    /// Id of the cgroup that it was made in; 0: not known.
    #[must_use]
    pub fn cgroup_id(&self) -> u64 {
        self.0.cgroup_id
    }

    /// What its algorithm keeps: `icsk_ca_priv`.
    #[must_use]
    pub fn algorithm_state(&self) -> &[u8] {
        &self.0.stats.icsk_ca_priv
    }

    /// The kernel's record of the connection.
    #[must_use]
    pub fn stats(&self) -> &socket_stats {
        &self.0.stats
    }

    /// What TCP knows of the connection; None of a listening socket.
    #[must_use]
    pub fn transport(&self) -> Option<Transport> {
        if self.state() == SocketState::Listen {
            return None;
        }
        Some(Transport::of(&self.0.stats))
    }
}

impl socket_record {
    /// Algorithm before any move.
    pub(crate) fn algorithm_name(&self) -> String {
        c_text(&self.algorithm)
    }

    /// `source -> destination` as a person would look for it.
    pub(crate) fn label(&self) -> String {
        format!("{} -> {}", self.source_address(), self.destination_address())
    }

    fn source_address(&self) -> SocketAddr {
        SocketAddr::new(self.address(&self.source), self.source_port)
    }

    fn destination_address(&self) -> SocketAddr {
        SocketAddr::new(self.address(&self.destination), self.destination_port)
    }

    /// An IPv6 socket keeps the mapped form, as in `ss`.
    fn address(&self, bytes: &[u8; 16]) -> IpAddr {
        let address = Ipv6Addr::from(*bytes);
        match address.to_ipv4_mapped() {
            Some(v4) if u32::from(self.family) == AF_INET => v4.into(),
            _ => address.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_both_families() {
        let mut record = socket_record { source_port: 80, family: AF_INET as u16, ..Default::default() };
        record.source = Ipv6Addr::from([0, 0, 0, 0, 0, 0xffff, 0x0a00, 0x0001]).octets();
        assert_eq!(record.source_address().to_string(), "10.0.0.1:80");
        record.family = 10;
        assert_eq!(record.source_address().to_string(), "[::ffff:10.0.0.1]:80");
    }
}
