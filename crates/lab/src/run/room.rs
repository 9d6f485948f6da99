// SPDX-License-Identifier: GPL-2.0-only
//! Whether runs fit into the memory of the host, asked before the first is begun.

use super::error::RunError;
use crate::scenario::Scenario;

/// So many runs at once must find room.
pub fn check(scenario: &Scenario, jobs: usize) -> Result<(), RunError> {
    let Some(available) = available_bytes() else { return Ok(()) };
    check_against(scenario, jobs, available)
}

fn check_against(scenario: &Scenario, jobs: usize, available_bytes: u64) -> Result<(), RunError> {
    let largest = scenario.points.iter().map(|point| point.setup.run_bytes()).max().unwrap_or_default();
    let need = largest.saturating_mul(jobs as u64);
    if need <= available_bytes {
        return Ok(());
    }
    let remedy = if jobs > 1 { "use --jobs 1" } else { "use a longer sample_interval or fewer flows" };
    Err(RunError::Memory { jobs, need_mb: need >> 20, available_mb: available_bytes >> 20, remedy })
}

/// `MemAvailable` of the kernel: what can be had without swapping.
fn available_bytes() -> Option<u64> {
    let table = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = table.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test fails by panicking
mod tests {
    use super::*;
    use std::path::Path;

    /// Two flows and a thousand samples a run: a few MB each, and never more than the machine has.
    #[test]
    fn many_runs_at_once_must_fit() {
        let text = include_str!("../../../../configs/scenarios/example-dumbbell.toml");
        let scenario = Scenario::of_text(Path::new("example.toml"), text, &[]).unwrap();
        assert!(available_bytes().unwrap() > 1 << 20);
        assert!(check_against(&scenario, 2, 64 << 20).is_ok());
        let error = check_against(&scenario, 1000, 64 << 20).unwrap_err().to_string();
        assert!(
            error.starts_with("1000 parallel runs need") && error.contains("64 MB are free; use --jobs 1"),
            "{error}"
        );
    }
}
