// SPDX-License-Identifier: GPL-2.0-only
//! The backlog of received packets: short on purpose, on one processor, and what it has dropped.

use std::process::Command;
use std::time::Duration;

use super::command::run_ok;
use super::error::TestbedError;
use super::namespace::Namespace;

const LIMIT: &str = "/proc/sys/net/core/netdev_max_backlog";
const STATISTICS: &str = "/proc/net/softnet_stat";
const SHORT_PKTS: u32 = 4;
const COMMAND_LIMIT: Duration = Duration::from_secs(20);

/// The machine's backlogs, short until dropped, also by a failing test.
pub struct ShortBacklog(String);

impl ShortBacklog {
    /// Lets each processor's backlog hold four packets.
    pub fn set() -> Result<Self, TestbedError> {
        let before = std::fs::read_to_string(LIMIT).map_err(TestbedError::io(format!("read {LIMIT}")))?;
        std::fs::write(LIMIT, SHORT_PKTS.to_string()).map_err(TestbedError::io(format!("write {LIMIT}")))?;
        Ok(Self(before))
    }
}

impl Drop for ShortBacklog {
    fn drop(&mut self) {
        if let Err(error) = std::fs::write(LIMIT, &self.0) {
            eprintln!("{LIMIT}: {error}");
        }
    }
}

/// Packets that full backlogs have dropped, by processor: the second column, hexadecimal.
pub fn backlog_drops() -> Result<Vec<u64>, TestbedError> {
    let text = std::fs::read_to_string(STATISTICS).map_err(TestbedError::io(format!("read {STATISTICS}")))?;
    Ok(text.lines().filter_map(|line| u64::from_str_radix(line.split_whitespace().nth(1)?, 16).ok()).collect())
}

/// Every packet that arrives at `veth0` there is handed to the first processor. `ip netns exec` shows the namespace's own
/// /sys; the setting goes with the namespace.
pub fn steer_to_first_cpu(namespace: &Namespace) -> Result<(), TestbedError> {
    let write = "echo 1 > /sys/class/net/veth0/queues/rx-0/rps_cpus";
    let mut command = Command::new("ip");
    command.args(["netns", "exec", namespace.name(), "sh", "-c", write]);
    run_ok(&mut command, COMMAND_LIMIT).map(drop)
}
