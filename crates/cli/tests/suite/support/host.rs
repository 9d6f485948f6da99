// SPDX-License-Identifier: MIT OR Apache-2.0
//! What this host can give. A test that needs what it cannot give is skipped with the reason, and not run until it passes:
//! guests, whose kernels call every hook, run it (`kernels/guest/suite`).

use std::sync::OnceLock;

use ccctl_testbed::nothing_is_skipped;

use super::json;

/// One probe calls a hook about 100,000 times; a kernel that leaves hooks out does so in bursts (docs/reference/kernel-matrix.md).
const PROBES: u32 = 5;

/// Why counts of BPF programs are not exact on this host, if they are not. Probed once, for about ten seconds.
pub fn leaves_hooks_out() -> Option<&'static str> {
    static REASON: OnceLock<Option<String>> = OnceLock::new();
    let probe = || (0..PROBES).find_map(|_| hooks_left_out());
    REASON.get_or_init(|| if nothing_is_skipped() { None } else { probe() }).as_deref()
}

fn hooks_left_out() -> Option<String> {
    let report = json(&["doctor", "--json"]);
    let checks = report["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["name"] == "hooks called").unwrap();
    (check["status"] == "warn").then(|| check["detail"].as_str().unwrap().to_owned())
}
