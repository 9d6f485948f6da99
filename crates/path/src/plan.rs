// SPDX-License-Identifier: GPL-2.0-only
//! Addresses of a path's ends.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Address of the receiver.
pub const RECEIVER_V4: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
/// IPv6 address of the receiver.
pub const RECEIVER_V6: Ipv6Addr = Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 2);

/// Address of a sender; they are counted from 0.
#[must_use]
pub fn sender_v4(sender: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 77, (sender + 1) as u8, 1)
}

/// IPv6 address of a sender.
#[must_use]
pub fn sender_v6(sender: usize) -> Ipv6Addr {
    Ipv6Addr::new(0xfd77, 0, 0, (sender + 1) as u16, 0, 0, 0, 1)
}

/// Whose address it is.
pub(super) fn sender_of(address: IpAddr) -> Option<usize> {
    let number = match address {
        IpAddr::V4(address) => usize::from(address.octets()[2]),
        IpAddr::V6(address) => usize::from(address.segments()[3]),
    };
    let sender = number.checked_sub(1)?;
    let is_its = address == IpAddr::V4(sender_v4(sender)) || address == IpAddr::V6(sender_v6(sender));
    is_its.then_some(sender)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_sender_is_found_by_its_addresses() {
        for sender in [0, 1, 249] {
            assert_eq!(sender_of(sender_v4(sender).into()), Some(sender));
            assert_eq!(sender_of(sender_v6(sender).into()), Some(sender));
        }
        for other in ["10.77.0.2", "10.77.1.2", "10.78.1.1", "fd77::2", "fd77:0:0:1::2", "ff02::16", "224.0.0.1"] {
            assert_eq!(other.parse().ok().and_then(sender_of), None, "{other}");
        }
    }
}
