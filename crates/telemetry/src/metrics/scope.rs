// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sockets of a cgroup that are counted apart: those with these peers, or of this port.

use std::net::IpAddr;

use crate::bindings::metric_scope;

/// Sockets of a cgroup that have a number of their own.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Scope {
    /// Number of the cgroup.
    pub cgroup: u32,
    /// Their number.
    pub number: u32,
    /// First address of the prefix that their peers are in, and its length; None: any peer.
    pub prefix: Option<(IpAddr, u8)>,
    /// Port of the service: the remote one of connections that go out, the local one of those that come in; None: any.
    pub port: Option<u16>,
}

impl Scope {
    /// In this order the first one that a socket is in is the most specific one: by prefix, then by port.
    #[must_use]
    pub fn generality(&self) -> (i16, bool) {
        (self.prefix.map_or(1, |(_, bits)| -i16::from(bits)), self.port.is_none())
    }

    pub(super) fn record(&self) -> metric_scope {
        let mut record = metric_scope {
            cgroup: self.cgroup,
            number: self.number,
            port: self.port.unwrap_or(0).into(),
            ..metric_scope::default()
        };
        let Some((address, bits)) = self.prefix else { return record };
        record.prefix_bits = bits.into();
        let mut words = [[0; 4]; 4];
        match address {
            IpAddr::V4(v4) => (record.family, words[0]) = (4, v4.octets()),
            IpAddr::V6(v6) => {
                record.family = 6;
                words.as_flattened_mut().copy_from_slice(&v6.octets());
            }
        }
        record.address = words.map(u32::from_ne_bytes);
        record
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(prefix: Option<(&str, u8)>, port: Option<u16>) -> Scope {
        let prefix = prefix.map(|(address, bits)| (address.parse().expect("an address"), bits));
        Scope { cgroup: 3, number: 4, prefix, port }
    }

    #[test]
    fn longer_prefixes_come_first_and_then_those_with_a_port() {
        let mut scopes = [
            scope(None, None),
            scope(None, Some(80)),
            scope(Some(("::", 0)), None),
            scope(Some(("10.0.0.0", 8)), None),
            scope(Some(("10.0.0.0", 8)), Some(80)),
            scope(Some(("2001:db8::", 32)), None),
        ];
        let sorted: Vec<Scope> = scopes.iter().rev().cloned().collect();
        scopes.sort_by_key(Scope::generality);
        let by_hand = [5, 4, 3, 2, 1, 0].map(|index: usize| sorted[5 - index].clone());
        assert_eq!(scopes, by_hand);
    }

    #[test]
    fn addresses_are_in_network_order() {
        let v4 = scope(Some(("10.1.0.0", 16)), Some(443)).record();
        assert_eq!((v4.family, v4.prefix_bits, v4.port, v4.address[0].to_ne_bytes()), (4, 16, 443, [10, 1, 0, 0]));
        let v6 = scope(Some(("2001:db8:1::", 48)), None).record();
        assert_eq!((v6.family, v6.address[0].to_ne_bytes(), v6.port), (6, [0x20, 0x01, 0x0d, 0xb8], 0));
        assert_eq!(v6.address[1].to_ne_bytes(), [0, 1, 0, 0]);
    }
}
