// SPDX-License-Identifier: MIT OR Apache-2.0
//! May this process run the clock, a trace, or the metrics?

use std::fs;

use crate::error::{Error, Result};

const NEEDED: &str = "CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN";
/// Bits of include/uapi/linux/capability.h
const SYS_ADMIN: u32 = 21;
const CAPABILITIES: [(u32, &str); 3] = [(39, "CAP_BPF"), (38, "CAP_PERFMON"), (12, "CAP_NET_ADMIN")];

/// Fails unless it may.
pub(crate) fn require(what: &'static str) -> Result<()> {
    refuse(what, &lacking_here()?)
}

/// Fails unless it may load programs that only trace, and touch no interface.
pub(crate) fn require_tracing(what: &'static str) -> Result<()> {
    let mut lacking = lacking_here()?;
    lacking.retain(|name| *name != "CAP_NET_ADMIN");
    refuse(what, &lacking)
}

fn lacking_here() -> Result<Vec<&'static str>> {
    let status = fs::read_to_string("/proc/self/status").map_err(Error::io("read /proc/self/status"))?;
    Ok(lacking(&status))
}

fn refuse(what: &'static str, lacking: &[&str]) -> Result<()> {
    if lacking.is_empty() {
        return Ok(());
    }
    Err(Error::Privileges { what, needed: NEEDED, lacking: lacking.join(", ") })
}

/// `CAP_SYS_ADMIN` stands for `CAP_BPF` and `CAP_PERFMON`, not for `CAP_NET_ADMIN`.
fn lacking(status: &str) -> Vec<&'static str> {
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:")).unwrap_or_default();
    let held = u64::from_str_radix(line.trim(), 16).unwrap_or(0);
    let has = |bit: u32| held >> bit & 1 == 1;
    let missing = CAPABILITIES.iter().filter(|(bit, _)| !has(*bit) && (*bit == 12 || !has(SYS_ADMIN)));
    missing.map(|(_, name)| *name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named() {
        assert_eq!(lacking("CapEff:\t000001ffffffffff\n"), [""; 0]);
        assert_eq!(lacking("CapEff:\t0000000000000000\n"), ["CAP_BPF", "CAP_PERFMON", "CAP_NET_ADMIN"]);
        assert_eq!(lacking(&format!("CapEff:\t{:016x}\n", 1 << 21)), ["CAP_NET_ADMIN"]);
        assert_eq!(lacking(&format!("CapEff:\t{:016x}\n", 1u64 << 39 | 1 << 12)), ["CAP_PERFMON"]);
    }
}
