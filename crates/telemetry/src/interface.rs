// SPDX-License-Identifier: MIT OR Apache-2.0
//! The interfaces of the network namespace of this thread.

use std::path::Path;

use nix::ifaddrs::getifaddrs;
use nix::net::if_::{if_nametoindex, InterfaceFlags};

use crate::error::{Error, Result};

/// An interface that is up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Name.
    pub name: String,
    /// Number.
    pub index: u32,
    /// A driver of a real or paravirtual device is behind it, so that XDP runs before the network stack at no price. Told
    /// by `/sys/class/net`, which shows the namespace that it was mounted in: in others every interface counts as virtual.
    pub is_hardware: bool,
}

impl Interface {
    /// All that are up, loopback included, sorted by name; or those named, which must be up.
    pub fn choose(names: &[String]) -> Result<Vec<Self>> {
        let up = Self::all_up()?;
        if names.is_empty() {
            return Ok(up);
        }
        let mut chosen: Vec<Self> = Vec::new();
        for name in names {
            match up.iter().find(|interface| &interface.name == name) {
                Some(interface) if chosen.contains(interface) => {}
                Some(interface) => chosen.push(interface.clone()),
                None => {
                    let known = up.iter().map(|interface| interface.name.clone()).collect();
                    return Err(Error::Interface { name: name.clone(), known });
                }
            }
        }
        Ok(chosen)
    }

    fn all_up() -> Result<Vec<Self>> {
        let addresses = getifaddrs().map_err(|errno| Error::io("list the interfaces")(errno.into()))?;
        let up = addresses.filter(|address| address.flags.contains(InterfaceFlags::IFF_UP));
        let mut names: Vec<String> = up.map(|address| address.interface_name).collect();
        names.sort();
        names.dedup();
        // An interface that has just gone has no number any more.
        Ok(names.into_iter().filter_map(Self::named).collect())
    }

    fn named(name: String) -> Option<Self> {
        let index = if_nametoindex(name.as_str()).ok()?;
        let is_hardware = Path::new("/sys/class/net").join(&name).join("device").exists();
        Some(Self { name, index, is_hardware })
    }
}
