// SPDX-License-Identifier: GPL-2.0-only
//! What the kernel's devices have dropped: it would be missing from the router's counters.

use std::fs;

use ccctl_testbed::{Namespace, TestbedError};

/// Inside a namespace's thread; `/proc/net` would show that of the process.
const TABLE: &str = "/proc/thread-self/net/dev";

/// Counters of a device since it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeviceCounters {
    /// Packets that the kernel received of the device.
    pub received_pkts: u64,
    /// Packets that the kernel has sent there.
    pub sent_pkts: u64,
    /// Dropped, lost or broken, in either direction.
    pub dropped_pkts: u64,
}

/// Reads the counters of a device.
pub(super) fn counters(namespace: &Namespace, device: &str) -> Result<DeviceCounters, TestbedError> {
    let table = namespace.enter(|| fs::read_to_string(TABLE).map_err(TestbedError::io(format!("read {TABLE}"))))??;
    parse(&table, device).ok_or_else(|| TestbedError::Unexpected(format!("{TABLE} has no {device}:\n{table}")))
}

/// proc(5): received bytes packets errs drop fifo frame compressed multicast, sent bytes packets errs drop fifo colls
/// carrier compressed.
fn parse(table: &str, device: &str) -> Option<DeviceCounters> {
    let line = table.lines().find_map(|line| line.trim_start().strip_prefix(device)?.strip_prefix(':'))?;
    let fields: Option<Vec<u64>> = line.split_whitespace().map(|field| field.parse().ok()).collect();
    let fields = fields.filter(|fields| fields.len() >= 16)?;
    let dropped_pkts = [2, 3, 4, 5, 10, 11, 12, 14].into_iter().map(|field| fields[field]).sum();
    Some(DeviceCounters { received_pkts: fields[1], sent_pkts: fields[9], dropped_pkts })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_of_both_directions_are_added() {
        let table = "Inter-| Receive | Transmit\n face |bytes packets\n    lo: 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n  \
             tun0: 100 7 1 2 4 8 900 900 200 9 16 32 64 900 128 900\n";
        let expected = DeviceCounters { received_pkts: 7, sent_pkts: 9, dropped_pkts: 255 };
        assert_eq!(parse(table, "tun0"), Some(expected));
        assert_eq!(parse(table, "tun"), None);
    }
}
