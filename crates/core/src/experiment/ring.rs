// SPDX-License-Identifier: MIT OR Apache-2.0
//! The counters of the last day, minute by minute and by cgroup: what a plan knows of a service before anything changes.
//!
//! Two files, of which one grows until it has a day; then it takes the place of the other. So there are always one to two
//! days, and never more.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{lines, store, Sums};

/// Length of a step, s.
pub const STEP_S: u64 = 60;
/// Steps of a file: a day.
const STEPS: u64 = 86_400 / STEP_S;
/// Cgroups of a step: those that have carried most.
const CGROUPS: usize = 16;

/// A minute.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Its number, counted from the epoch.
    pub step: u64,
    /// What sockets did in it, by the path of the cgroup that a rule names.
    pub cgroups: BTreeMap<String, Sums>,
    /// What all sockets of the host did.
    pub host: Sums,
}

fn paths(folder: &Path) -> [PathBuf; 2] {
    ["counters.old.jsonl", "counters.jsonl"].map(|name| folder.join(name))
}

/// Adds a minute.
pub fn add(step: Step) -> std::io::Result<()> {
    add_to(&store::folder(), step, STEPS)
}

fn add_to(folder: &Path, mut step: Step, most_steps: u64) -> std::io::Result<()> {
    let [old, new] = paths(folder);
    if step.cgroups.len() > CGROUPS {
        let mut by_bytes: Vec<(u64, String)> =
            step.cgroups.iter().map(|(path, sums)| (sums.acked_bytes, path.clone())).collect();
        by_bytes.sort_unstable_by(|a, b| b.cmp(a));
        by_bytes[CGROUPS..].iter().for_each(|(_, path)| drop(step.cgroups.remove(path)));
    }
    std::fs::create_dir_all(folder)?;
    if lines::count(&new)? >= most_steps {
        std::fs::rename(&new, &old)?;
    }
    lines::append(&new, &step)
}

/// The steps that there are, in order; of two with one number, which a clock that was set back makes, the later one.
pub fn read() -> std::io::Result<Vec<Step>> {
    read_from(&store::folder())
}

fn read_from(folder: &Path) -> std::io::Result<Vec<Step>> {
    let mut by_number = BTreeMap::new();
    for path in paths(folder) {
        by_number.extend(lines::read::<Step>(&path)?.into_iter().map(|step| (step.step, step)));
    }
    Ok(by_number.into_values().collect())
}

/// The longest stretch without a gap, up to now: what the sockets of a cgroup did in each step, or those of the host.
#[must_use]
pub fn series(steps: &[Step], cgroup: &str) -> Vec<Sums> {
    let last_day = steps.len().saturating_sub(STEPS as usize);
    let mut longest: &[Step] = &[];
    let runs = steps[last_day..].chunk_by(|one, next| next.step == one.step + 1);
    for run in runs {
        if run.len() >= longest.len() {
            longest = run;
        }
    }
    let of = |step: &Step| match cgroup {
        "/" => Some(step.host.clone()),
        path => step.cgroups.get(path).cloned(),
    };
    longest.iter().map(|step| of(step).unwrap_or_default()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(number: u64) -> Step {
        let sums = Sums { acked_bytes: number, ..Sums::default() };
        Step { step: number, cgroups: [("/a".to_owned(), sums.clone())].into(), host: sums }
    }

    #[test]
    fn two_files_have_the_latest_steps_and_never_more_and_few_cgroups() {
        let folder = std::env::temp_dir().join(format!("ccctl-ring-{}", std::process::id()));
        for number in 0..25 {
            let mut step = step(number);
            let cgroups = (0..40).map(|cgroup| (format!("/{cgroup}"), Sums { acked_bytes: cgroup, ..Sums::default() }));
            step.cgroups.extend(cgroups);
            add_to(&folder, step, 10).expect("it is written");
        }
        let steps = read_from(&folder).expect("it is read");
        let numbers: Vec<u64> = steps.iter().map(|step| step.step).collect();
        assert_eq!(numbers, (10..25).collect::<Vec<_>>());
        assert!(steps.iter().all(|step| step.cgroups.len() == CGROUPS && step.cgroups.contains_key("/39")));
        std::fs::remove_dir_all(&folder).expect("it is there");
    }

    #[test]
    fn the_longest_stretch_without_a_gap_is_taken() {
        let steps: Vec<Step> = [1, 2, 10, 11, 12, 20].map(step).into();
        let bytes = |cgroup| series(&steps, cgroup).iter().map(|sums| sums.acked_bytes).collect::<Vec<_>>();
        assert_eq!(bytes("/a"), [10, 11, 12]);
        assert_eq!(bytes("/"), [10, 11, 12]);
        assert_eq!(bytes("/b"), [0, 0, 0]);
    }
}
