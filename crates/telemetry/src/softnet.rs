// SPDX-License-Identifier: MIT OR Apache-2.0
//! `/proc/net/softnet_stat`: what the kernel itself says of each processor's backlog.

use std::fs;

use crate::error::{Error, Result};

const PATH: &str = "/proc/net/softnet_stat";

/// One processor, since boot. Of the whole machine: the file knows no network namespaces.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Softnet {
    /// Number of the processor.
    pub cpu: u32,
    /// Packets processed.
    pub processed: u64,
    /// Packets dropped because the backlog was full (`net.core.netdev_max_backlog`).
    pub dropped: u64,
    /// Rounds of the receive softirq that ended with work left: throttled.
    pub time_squeezed: u64,
    /// Packets that another processor steered here.
    pub received_rps: u64,
    /// Packets that wait in the backlog now; none where the kernel does not tell (before 5.10).
    pub backlog_pkts: Option<u64>,
}

impl Softnet {
    /// All processors that are online.
    pub fn read() -> Result<Vec<Self>> {
        let text = fs::read_to_string(PATH).map_err(Error::io(format!("read {PATH}")))?;
        Ok(parse(&text))
    }

    /// What was added since `before`; the backlog is that of now.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            cpu: self.cpu,
            processed: wrapping(self.processed, before.processed),
            dropped: wrapping(self.dropped, before.dropped),
            time_squeezed: wrapping(self.time_squeezed, before.time_squeezed),
            received_rps: wrapping(self.received_rps, before.received_rps),
            backlog_pkts: self.backlog_pkts,
        }
    }
}

/// The counters have 32 bits.
fn wrapping(now: u64, before: u64) -> u64 {
    u64::from((now as u32).wrapping_sub(before as u32))
}

/// net/core/net-procfs.c: columns in hexadecimal; the number of columns grew over time.
fn parse(text: &str) -> Vec<Softnet> {
    let lines = text.lines().enumerate().map(|(line, text)| {
        let columns: Vec<u64> = text.split_whitespace().map_while(|word| u64::from_str_radix(word, 16).ok()).collect();
        let column = |number: usize| columns.get(number).copied();
        Softnet {
            cpu: column(12).map_or(line as u32, |cpu| cpu as u32),
            processed: column(0).unwrap_or(0),
            dropped: column(1).unwrap_or(0),
            time_squeezed: column(2).unwrap_or(0),
            received_rps: column(9).unwrap_or(0),
            backlog_pkts: column(11),
        }
    });
    lines.collect()
}

/// How long a processor's backlog was, over time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Times that it was looked at.
    pub samples: u64,
    /// Packets in all of them together.
    pub sum_pkts: u64,
    /// Longest one seen.
    pub max_pkts: u64,
}

impl Backlog {
    /// Adds what one look saw.
    pub fn add(&mut self, softnet: &Softnet) {
        let Some(pkts) = softnet.backlog_pkts else { return };
        self.samples += 1;
        self.sum_pkts += pkts;
        self.max_pkts = self.max_pkts.max(pkts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "0001d4c0 00000007 00000003 00000000 00000000 00000000 00000000 00000000 00000000 0000000a \
        00000000 00000005 00000001 00000004 00000001\n";

    #[test]
    fn columns_as_the_kernel_writes_them() {
        let expected = Softnet {
            cpu: 1,
            processed: 120_000,
            dropped: 7,
            time_squeezed: 3,
            received_rps: 10,
            backlog_pkts: Some(5),
        };
        assert_eq!(parse(LINE), [expected]);
    }

    #[test]
    fn old_kernels_have_fewer_columns_and_counters_wrap() {
        let old = parse("ffffffff 0 0 0 0 0 0 0 0 0 0\n00000002 0 0 0 0 0 0 0 0 0 0\n");
        assert_eq!((old[1].cpu, old[1].backlog_pkts), (1, None));
        assert_eq!(old[1].since(&old[0]).processed, 3);
    }
}
