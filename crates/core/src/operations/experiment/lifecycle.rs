// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the daemon does with experiments: those of its file, and their ends.

use std::time::SystemTime;

use ccctl_console::{output, Exit, Fault};
use ccctl_loader::{available_algorithms, CgroupTree};

use super::host::host;
use super::{start, stop};
use crate::experiment::{planning, store, Design, End, Ended, Kept, Overlay, Plan, Progress};

/// Plans and starts what a file asks for. One that exists already goes on; a changed one is refused.
#[must_use]
pub fn follow_file(designs: &[Design]) -> Vec<(String, anyhow::Result<Option<String>>)> {
    designs.iter().map(|design| (design.name.clone(), follow(design))).collect()
}

fn follow(design: &Design) -> anyhow::Result<Option<String>> {
    let kept = match store::find(&design.name)? {
        Some(kept) if kept.progress.is_some() && kept.plan.design().is_ok_and(|frozen| frozen != *design) => {
            let cause = format!("[[experiment]] {} differs from its frozen plan", design.name);
            return Err(Fault::new(Exit::Refused, cause, "give the changed one another name").into());
        }
        Some(kept) if kept.progress.is_some() => return Ok(None),
        _ => {
            let (plan, _) = planning::freeze(design, &host(design, &[])?)?;
            store::freeze(&plan)?;
            Kept { plan, progress: None }
        }
    };
    let started = start(&kept, true, false)?;
    Ok(Some(format!("started; its first block begins at {}", started.begins_at)))
}

/// Stops experiments that a file had asked for and asks for no more.
pub fn stop_gone(designs: &[Design]) -> anyhow::Result<()> {
    for kept in store::all()? {
        let is_of_file = kept.progress.as_ref().is_some_and(|progress| progress.is_of_file);
        if is_of_file && kept.is_in_force() && designs.iter().all(|design| design.name != kept.plan.name) {
            stop(&kept, "the configuration has it no more")?;
        }
    }
    Ok(())
}

/// Ends one that runs.
pub fn end(kept: &Kept, ended: Ended, why: &str) -> anyhow::Result<()> {
    let Some(progress) = &kept.progress else { return Ok(()) };
    let end = End { at: output::time(SystemTime::now()), outcome: ended, why: why.to_owned() };
    store::note(&kept.plan.name, &Progress { ending: Some(end), ..progress.clone() })
}

/// The rules of those that have ended may go, except where a guard-rail has ended them. `in_force` says what was set last:
/// arm A has to be among it, so that live connections have it.
pub fn settle(in_force: &[Overlay]) -> anyhow::Result<bool> {
    let mut has_settled = false;
    for kept in store::all()?.iter().filter(|kept| kept.is_in_force()) {
        let Some(progress) = &kept.progress else { continue };
        let selector = kept.plan.selector()?;
        let is_arm_a = |set: &&Overlay| set.arm == kept.plan.arm_a && set.held_out.is_none();
        let has_arm_a = in_force.iter().filter(is_arm_a).any(|set| set.selector == selector);
        if has_arm_a && progress.ending.as_ref().is_some_and(|end| end.outcome != Ended::Harmful) {
            store::note(&kept.plan.name, &Progress { is_settled: true, ..progress.clone() })?;
            has_settled = true;
        }
    }
    Ok(has_settled)
}

/// Ends all, and forgets their rules: everything is being undone.
pub fn stop_all(why: &str) -> anyhow::Result<()> {
    for kept in store::all()?.iter().filter(|kept| kept.is_in_force()) {
        stop(kept, why)?;
        if let Some(progress) = store::named(&kept.plan.name)?.progress {
            store::note(&kept.plan.name, &Progress { is_settled: true, ..progress })?;
        }
    }
    Ok(())
}

/// What an experiment needs and does not have.
#[derive(Debug)]
pub struct Lack {
    /// What is missing.
    pub why: String,
    /// What would do.
    pub remedy: String,
}

impl Lack {
    fn new(why: String, remedy: String) -> Self {
        Self { why, remedy }
    }
}

/// Is what an experiment needs still there? Otherwise what is not.
pub fn lacks(plan: &Plan) -> anyhow::Result<Option<Lack>> {
    let available = available_algorithms()?;
    if let Some(arm) = [&plan.arm_a, &plan.arm_b].into_iter().find(|arm| !available.contains(arm)) {
        let remedy = format!("ccctl load ALGORITHM --as {arm}, or plan with an arm of ccctl list");
        return Ok(Some(Lack::new(format!("{arm} is not loaded"), remedy)));
    }
    let trips = ccctl_loader::guard::trips()?;
    if let Some(trip) = trips.iter().find(|trip| [&plan.arm_a, &plan.arm_b].contains(&&trip.name)) {
        let remedy = format!("ccctl guard rearm {}, if its cause is gone", trip.name);
        return Ok(Some(Lack::new(format!("the guard has disabled {}: {}", trip.name, trip.why), remedy)));
    }
    if CgroupTree::find()?.has(&plan.selector()?.cgroup) {
        return Ok(None);
    }
    Ok(Some(Lack::new(format!("there is no cgroup {}", plan.cgroup), "start the service before".to_owned())))
}
