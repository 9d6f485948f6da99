// SPDX-License-Identifier: GPL-2.0-only
//! Each target takes its own seeds, and damaged ones.

use ccctl_fuzz::TARGETS;

#[test]
fn seeds_of_every_target_run_without_a_fault() {
    for target in TARGETS {
        let seeds = (target.seeds)();
        assert!(!seeds.is_empty(), "{} has no seeds", target.name);
        for seed in &seeds {
            (target.run)(seed);
        }
        println!("{}: {} seeds", target.name, seeds.len());
    }
}

#[test]
fn names_of_targets_are_different() {
    let mut names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), TARGETS.len());
}
