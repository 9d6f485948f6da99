// SPDX-License-Identifier: MIT OR Apache-2.0
//! Experiments: planning, starting, watching and stopping them. The daemon carries them out.

mod host;
mod lifecycle;
mod status;

use std::time::{SystemTime, UNIX_EPOCH};

use ccctl_console::{output, Exit, Fault};
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::experiment::planning::{self, Length};
use crate::experiment::{store, Design, Ended, Kept, Plan, Progress};
use crate::fence::Fence;
use crate::{daemon, request, Operation};
use host::host;
pub use lifecycle::{end, follow_file, lacks, settle, stop_all, stop_gone};
pub use status::{ExperimentAnswer, ExperimentInfo, ExperimentStatus, RunningBlock};

/// Plan an experiment: how long it takes, what it will find, or why it cannot be decided.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
#[group(skip)]
pub struct ExperimentPlan {
    /// What is asked for.
    #[command(flatten)]
    pub design: Design,
    /// Only print the plan, and keep nothing
    #[serde(default)]
    #[arg(long)]
    pub dry_run: bool,
}

/// A plan.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct PlannedExperiment {
    /// The plan, which is frozen with the start.
    pub plan: Plan,
    /// SHA-256 of the plan's file.
    pub plan_hash: String,
    /// How long it takes, in words.
    pub takes: String,
    /// Smallest change that it finds in four of five cases, %.
    pub detectable_pct: f64,
    /// What other lengths of blocks would show.
    pub lengths: Vec<Length>,
    /// Was it only printed, and not kept?
    pub dry_run: bool,
}

impl Operation for ExperimentPlan {
    type Answer = PlannedExperiment;
    const NAME: &'static str = "experiment-plan";
    const TITLE: &'static str = "Plan an experiment";

    fn changes(&self) -> bool {
        true
    }

    fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    fn run(&self) -> anyhow::Result<PlannedExperiment> {
        if let Some(kept) = store::find(&self.design.name)?.filter(|kept| kept.progress.is_some()) {
            let cause = format!("experiment {} has been started: its plan is frozen", kept.plan.name);
            return Err(Fault::new(Exit::Refused, cause, "give the new one another name").into());
        }
        Fence::of_named(self.design.a.iter().chain([&self.design.b]))?.require_arms(&self.design)?;
        let (plan, lengths) = planning::freeze(&self.design, &host(&self.design, &[])?)?;
        if !self.dry_run {
            store::freeze(&plan)?;
        }
        Ok(PlannedExperiment {
            plan_hash: plan.hash()?,
            takes: output::span(plan.duration()),
            detectable_pct: ccctl_inference::pairs::percent(plan.detectable),
            lengths,
            dry_run: self.dry_run,
            plan,
        })
    }
}

/// Start a planned experiment; the daemon carries it out.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
#[group(skip)]
pub struct ExperimentStart {
    /// Planned experiment
    pub name: String,
    /// Only check that it can be started
    #[serde(default)]
    #[arg(long)]
    pub dry_run: bool,
}

/// What was started.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct StartedExperiment {
    /// Name of the experiment.
    pub name: String,
    /// SHA-256 of the plan's file.
    pub plan_hash: String,
    /// When its first pair begins, RFC 3339.
    pub begins_at: String,
    /// When it is complete if no pair is dropped, RFC 3339.
    pub completes_at: String,
    /// Was it only checked?
    pub dry_run: bool,
}

impl Operation for ExperimentStart {
    type Answer = StartedExperiment;
    const NAME: &'static str = "experiment-start";
    const TITLE: &'static str = "Start a planned experiment";

    fn changes(&self) -> bool {
        true
    }

    fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    fn run(&self) -> anyhow::Result<StartedExperiment> {
        ccctl_loader::require_bpffs()?; // arms are pinned there
        if daemon::here().is_none() {
            let cause = "no daemon runs: nothing would carry the experiment out";
            return Err(Fault::new(Exit::Refused, cause, "systemctl start ccctl").into());
        }
        let _lock = request::lock()?; // two starts at once
        let kept = store::named(&self.name)?;
        start(&kept, false, self.dry_run)
    }
}

/// Starts what was planned. The host may have changed since: scope and arms are checked again.
fn start(kept: &Kept, is_of_file: bool, dry_run: bool) -> anyhow::Result<StartedExperiment> {
    let plan = &kept.plan;
    if kept.progress.is_some() {
        let cause = format!("experiment {} has been started before", plan.name);
        return Err(Fault::new(Exit::Refused, cause, "plan a new one under another name").into());
    }
    let design = plan.design()?;
    planning::require(&design, &host(&design, &[plan.arm_a.clone(), plan.arm_b.clone()])?)?;
    if let Some(lack) = lacks(plan)? {
        let cause = format!("experiment {} cannot start: {}", plan.name, lack.why);
        return Err(Fault::new(Exit::Refused, cause, lack.remedy).into());
    }
    let now = SystemTime::now();
    let schedule = plan.schedule()?;
    let first_pair = schedule.first_pair(store::since_epoch(now) + planning::LEAD);
    let begins = UNIX_EPOCH + schedule.start(2 * first_pair);
    if !dry_run {
        let progress =
            Progress { started_at: output::time(now), first_pair, ending: None, is_of_file, is_settled: false };
        store::note(&plan.name, &progress)?;
    }
    Ok(StartedExperiment {
        name: plan.name.clone(),
        plan_hash: plan.hash()?,
        begins_at: output::time(begins),
        completes_at: output::time(begins + plan.duration()),
        dry_run,
    })
}

/// Stop an experiment: arm A for its scope, then what the file says.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
#[group(skip)]
pub struct ExperimentStop {
    /// Experiment that runs, or that a guard-rail has ended
    pub name: String,
    /// Only check that there is something to stop
    #[serde(default)]
    #[arg(long)]
    pub dry_run: bool,
}

/// What was stopped.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct StoppedExperiment {
    /// Name of the experiment.
    pub name: String,
    /// Kernel name, as in `net.ipv4.tcp_congestion_control`, that its connections have now.
    pub congestion_control: String,
    /// Was it only checked?
    pub dry_run: bool,
}

impl Operation for ExperimentStop {
    type Answer = StoppedExperiment;
    const NAME: &'static str = "experiment-stop";
    const TITLE: &'static str = "Stop an experiment";

    fn changes(&self) -> bool {
        true
    }

    fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    fn run(&self) -> anyhow::Result<StoppedExperiment> {
        let _lock = request::lock()?; // the daemon ends experiments, too
        let kept = store::named(&self.name)?;
        if !kept.is_in_force() {
            let cause = format!("experiment {} does not run", self.name);
            return Err(Fault::new(Exit::Refused, cause, "ccctl experiment list").into());
        }
        if !self.dry_run {
            stop(&kept, "by hand")?;
        }
        let congestion_control = kept.plan.arm_a.clone();
        Ok(StoppedExperiment { name: self.name.clone(), congestion_control, dry_run: self.dry_run })
    }
}

/// One that a guard-rail has ended keeps its end: its rule goes.
fn stop(kept: &Kept, why: &str) -> anyhow::Result<()> {
    match &kept.progress {
        Some(progress) if progress.ending.is_some() => {
            store::note(&kept.plan.name, &Progress { is_settled: true, ..progress.clone() })
        }
        _ => end(kept, Ended::Stopped, why),
    }
}
