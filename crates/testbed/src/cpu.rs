// SPDX-License-Identifier: GPL-2.0-only
//! How long the processors of this machine were busy.

use std::fs;
use std::time::Duration;

use super::TestbedError;

/// Busy and idle time of all processors since boot.
#[derive(Debug, Clone, Copy)]
pub struct CpuTime {
    /// All but idle, waiting for I/O, and stolen by the hypervisor.
    pub busy: Duration,
    /// Taken by the hypervisor: a measure of how disturbed the machine is.
    pub stolen: Duration,
}

impl CpuTime {
    /// Reads `/proc/stat`.
    pub fn now() -> Result<Self, TestbedError> {
        let text = fs::read_to_string("/proc/stat").map_err(TestbedError::io("read /proc/stat"))?;
        let tick = nix::unistd::sysconf(nix::unistd::SysconfVar::CLK_TCK)
            .ok()
            .flatten()
            .and_then(|ticks_per_s| u32::try_from(ticks_per_s).ok())
            .map_or(Duration::from_millis(10), |ticks_per_s| Duration::from_secs(1) / ticks_per_s);
        parse(&text, tick).ok_or_else(|| TestbedError::Unexpected("/proc/stat does not begin with cpu".to_owned()))
    }

    /// What was used since `before`.
    #[must_use]
    pub fn since(self, before: CpuTime) -> CpuTime {
        CpuTime { busy: self.busy.saturating_sub(before.busy), stolen: self.stolen.saturating_sub(before.stolen) }
    }
}

/// proc(5): user nice system idle iowait irq softirq steal guest `guest_nice`; guests are counted in user and nice.
fn parse(stat: &str, tick: Duration) -> Option<CpuTime> {
    let fields: Vec<u32> =
        stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace().map_while(|field| field.parse().ok()).collect();
    let busy: u32 = fields.get(..3)?.iter().sum::<u32>() + fields.get(5..7)?.iter().sum::<u32>();
    Some(CpuTime { busy: tick * busy, stolen: tick * *fields.get(7)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_iowait_and_steal_are_not_busy() {
        let time = parse("cpu  1 2 3 1000 500 4 5 77 0 0\ncpu0 ...", Duration::from_millis(10));
        assert_eq!(time.map(|t| (t.busy.as_millis(), t.stolen.as_millis())), Some((150, 770)));
    }
}
