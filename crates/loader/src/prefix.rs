// SPDX-License-Identifier: MIT OR Apache-2.0
//! Prefixes of peers' addresses. An IPv4-mapped IPv6 address is the IPv4 address: a dual-stack socket sees its IPv4
//! peers that way, and no rule should depend on which kind of socket a program happens to use.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use crate::error::Error;

/// Bits before the IPv4 address in a mapped one.
const MAPPED_BITS: u8 = 96;

/// A prefix of IPv4 or IPv6 addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Prefix {
    address: IpAddr,
    bits: u8,
}

impl Prefix {
    /// The prefix of so many bits that the address is in.
    ///
    /// # Panics
    /// With more bits than the address has.
    #[must_use]
    pub fn of(address: IpAddr, bits: u8) -> Self {
        assert!(bits <= width(address), "{bits} bits of {address}");
        let masked = match address {
            IpAddr::V4(v4) => {
                Ipv4Addr::from(u32::from(v4) & u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0)).into()
            }
            IpAddr::V6(v6) => {
                Ipv6Addr::from(u128::from(v6) & u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0)).into()
            }
        };
        Self { address: masked, bits }
    }

    /// Its first address.
    #[must_use]
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// How many bits addresses must share with it.
    #[must_use]
    pub fn bits(&self) -> u8 {
        self.bits
    }

    /// Do both have addresses in common?
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        self.contains(other.address) && self.bits <= other.bits
            || other.contains(self.address) && other.bits <= self.bits
    }

    /// Is this address in it?
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        address.is_ipv4() == self.address.is_ipv4() && Self::of(address, self.bits) == *self
    }

    /// 4 or 6.
    pub(crate) fn family(&self) -> u8 {
        if self.address.is_ipv4() {
            4
        } else {
            6
        }
    }

    /// As maps have it: IPv4 in the first four bytes.
    pub(crate) fn octets(&self) -> [u8; 16] {
        let mut octets = [0; 16];
        match self.address {
            IpAddr::V4(v4) => octets[..4].copy_from_slice(&v4.octets()),
            IpAddr::V6(v6) => octets = v6.octets(),
        }
        octets
    }

    /// From what maps have; None for what is no prefix.
    pub(crate) fn of_octets(family: u8, octets: [u8; 16], bits: u8) -> Option<Self> {
        let address: IpAddr = match family {
            4 => Ipv4Addr::new(octets[0], octets[1], octets[2], octets[3]).into(),
            6 => Ipv6Addr::from(octets).into(),
            _ => return None,
        };
        (bits <= width(address)).then(|| Self::of(address, bits))
    }
}

fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() {
        32
    } else {
        128
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.address, self.bits)
    }
}

impl FromStr for Prefix {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = |remedy: String| Error::Request { cause: format!("{text:?} is not an address prefix"), remedy };
        let (address, bits) = text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let mut address: IpAddr =
            address.parse().map_err(|_| wrong("write 10.0.0.0/8, fd00::/8, or a single address".to_owned()))?;
        let most = width(address);
        let mut bits = match bits {
            None => most,
            Some(bits) => bits
                .parse()
                .ok()
                .filter(|bits| *bits <= most && !text.ends_with("/+"))
                .ok_or_else(|| wrong(format!("write a length of 0 to {most} after the slash")))?,
        };
        if address.to_canonical() != address && bits >= MAPPED_BITS {
            (address, bits) = (address.to_canonical(), bits - MAPPED_BITS);
        }
        let prefix = Self::of(address, bits);
        if prefix.address != address {
            return Err(wrong(format!("{prefix}: bits after the first {bits} are set")));
        }
        Ok(prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefix(text: &str) -> Prefix {
        text.parse().expect("a prefix")
    }

    #[test]
    fn a_mapped_address_is_its_ipv4_address() {
        assert_eq!(prefix("::ffff:10.0.0.0/104"), prefix("10.0.0.0/8"));
        assert_eq!(prefix("::ffff:10.1.2.3"), prefix("10.1.2.3/32"));
        assert!(prefix("10.0.0.0/8").contains("::ffff:10.9.9.9".parse().expect("an address")));
        assert!(!prefix("::/0").contains("10.0.0.1".parse().expect("an address")));
        assert!(!prefix("0.0.0.0/0").contains("::1".parse().expect("an address")));
    }

    #[test]
    fn prefixes_overlap_where_one_is_in_the_other() {
        for (one, other, overlap) in [
            ("10.0.0.0/8", "10.1.0.0/16", true),
            ("10.1.0.0/16", "10.1.0.0/16", true),
            ("10.1.0.0/16", "10.2.0.0/16", false),
            ("0.0.0.0/0", "10.1.2.3", true),
            ("0.0.0.0/0", "::/0", false),
            ("fd00::/8", "fd77::2", true),
        ] {
            assert_eq!(prefix(one).overlaps(&prefix(other)), overlap, "{one} {other}");
            assert_eq!(prefix(other).overlaps(&prefix(one)), overlap, "{other} {one}");
        }
    }

    #[test]
    fn what_is_no_prefix_is_refused() {
        for text in ["", "10.0.0.0/33", "fd00::/129", "10.0.0.1/8", "10.0.0/8", "host", "10.0.0.0/", "10.0.0.0/-1"] {
            assert!(text.parse::<Prefix>().is_err(), "{text}");
        }
        let error = "10.0.0.1/8".parse::<Prefix>().expect_err("host bits");
        assert!(error.remedy().is_some_and(|remedy| remedy.starts_with("10.0.0.0/8")));
    }

    #[test]
    fn a_prefix_survives_printing_and_maps() {
        for text in ["0.0.0.0/0", "::/0", "10.0.0.0/8", "10.1.2.3/32", "fd00::/8", "fd77::2/128"] {
            assert_eq!(prefix(text).to_string(), text);
            let (family, octets, bits) = (prefix(text).family(), prefix(text).octets(), prefix(text).bits());
            assert_eq!(Prefix::of_octets(family, octets, bits), Some(prefix(text)));
        }
    }
}
