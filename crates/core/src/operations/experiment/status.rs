// SPDX-License-Identifier: MIT OR Apache-2.0
//! What experiments are and have shown.

use std::time::{SystemTime, UNIX_EPOCH};

use ccctl_console::output;
use ccctl_inference::schedule::Arm;
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::experiment::{analyse, store, summary, Analysis, Block, Ended, Kept, Plan, Progress};
use crate::Operation;

/// Show experiments: what runs, what the pairs say so far, guard-rails and gates.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
#[group(skip)]
pub struct ExperimentStatus {
    /// Only this experiment
    pub name: Option<String>,
    /// Also every block
    #[serde(default)]
    #[arg(long)]
    pub blocks: bool,
}

/// Experiments.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ExperimentAnswer {
    /// By name.
    pub experiments: Vec<ExperimentInfo>,
}

/// An experiment.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ExperimentInfo {
    /// Name of the experiment.
    pub name: String,
    /// In a word: planned, running, complete, stopped, harmful or void.
    pub phase: String,
    /// The frozen plan.
    pub plan: Plan,
    /// SHA-256 of the plan's file.
    pub plan_hash: String,
    /// How far it is; null: planned only.
    pub progress: Option<Progress>,
    /// What runs at this moment; null before the first block and after the end.
    pub current_block: Option<RunningBlock>,
    /// What has been shown, in sentences.
    pub summary: Vec<String>,
    /// What the blocks say.
    pub analysis: Analysis,
    /// Every block; empty unless asked for.
    pub blocks: Vec<Block>,
}

/// The block of this moment.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RunningBlock {
    /// Its number, counted from the epoch.
    pub block: u64,
    /// Kernel name, as in `net.ipv4.tcp_congestion_control`, of its arm.
    pub congestion_control: String,
    /// Is it a block of arm B?
    pub is_treated: bool,
    /// Is the burn-in over?
    pub counts: bool,
    /// When it ends, RFC 3339.
    pub ends_at: String,
}

impl ExperimentInfo {
    /// Has a guard-rail ended it, and is arm A held in force?
    #[must_use]
    pub fn is_held(&self) -> bool {
        let ended = self.progress.as_ref().filter(|progress| !progress.is_settled);
        ended.and_then(|progress| progress.ending.as_ref()).is_some_and(|end| end.outcome == Ended::Harmful)
    }

    /// One, as it is now.
    pub fn of(kept: &Kept, blocks: Vec<Block>) -> anyhow::Result<Self> {
        let analysis = analyse(&kept.plan, &blocks)?;
        let end = kept.progress.as_ref().and_then(|progress| progress.ending.as_ref());
        let now = SystemTime::now();
        let place = if kept.runs() { kept.place(now)? } else { None };
        let phase = match (&kept.progress, end) {
            (None, _) => "planned".to_owned(),
            (Some(_), None) => "running".to_owned(),
            (Some(_), Some(end)) => format!("{:?}", end.outcome).to_lowercase(),
        };
        Ok(Self {
            name: kept.plan.name.clone(),
            phase,
            plan_hash: kept.plan.hash()?,
            current_block: place.map(|place| RunningBlock {
                block: place.block,
                congestion_control: kept.plan.algorithm(place.arm).to_owned(),
                is_treated: place.arm == Arm::Treated,
                counts: place.counts,
                ends_at: output::time(UNIX_EPOCH + place.ends),
            }),
            summary: if kept.progress.is_some() { summary(&kept.plan, &analysis, end) } else { Vec::new() },
            plan: kept.plan.clone(),
            progress: kept.progress.clone(),
            analysis,
            blocks,
        })
    }
}

impl Operation for ExperimentStatus {
    type Answer = ExperimentAnswer;
    const NAME: &'static str = "experiment-status";
    const TITLE: &'static str = "Show experiments";

    fn changes(&self) -> bool {
        false
    }

    fn run(&self) -> anyhow::Result<ExperimentAnswer> {
        let all = match &self.name {
            Some(name) => vec![store::named(name)?],
            None => store::all()?,
        };
        let info = |kept: &Kept| {
            let mut info = ExperimentInfo::of(kept, store::blocks(&kept.plan.name)?)?;
            if !self.blocks {
                info.blocks.clear();
            }
            Ok(info)
        };
        Ok(ExperimentAnswer { experiments: all.iter().map(info).collect::<anyhow::Result<_>>()? })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use super::*;
    use crate::experiment::tests::{blocks, plan};
    use crate::experiment::End;

    fn answer(pairs: u64) -> ExperimentAnswer {
        let end = End { at: "2026-11-25T00:00:00Z".to_owned(), outcome: Ended::Complete, why: String::new() };
        let progress = Progress {
            started_at: "2026-11-25T00:00:00Z".to_owned(),
            first_pair: 100,
            ending: Some(end),
            is_of_file: false,
            is_settled: true,
        };
        let kept = Kept { plan: plan(), progress: Some(progress) };
        ExperimentAnswer { experiments: vec![ExperimentInfo::of(&kept, blocks(pairs, 0.3, 12_000)).unwrap()] }
    }

    #[test]
    fn another_program_computes_the_same_from_the_table() {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recompute.py");
        assert!(std::fs::read_to_string(script).unwrap().lines().count() <= 60);
        let mut damaged = answer(8);
        damaged.experiments[0].blocks[2].sums.acked_bytes += 1000;
        let mut held_out = answer(8);
        let plan = Plan { hold_out_pct: Some(10.0), ..plan() };
        let mut counted = blocks(8, 0.3, 12_000);
        for block in &mut counted {
            block.held_out = Some(block.sums.clone());
        }
        held_out.experiments[0].analysis = analyse(&plan, &counted).unwrap();
        held_out.experiments[0].plan = plan;
        for (answer, is_same) in [(answer(8), true), (answer(12), true), (held_out, true), (damaged, false)] {
            let mut python = Command::new("python3");
            python.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let mut child = python.spawn().unwrap();
            child.stdin.take().unwrap().write_all(&serde_json::to_vec(&answer).unwrap()).unwrap();
            let output = child.wait_with_output().unwrap();
            assert_eq!(output.status.success(), is_same, "{}", String::from_utf8_lossy(&output.stderr));
        }
    }

    #[test]
    fn the_page_has_the_sentence_the_plan_its_hash_and_every_block() {
        let answer = answer(8);
        let info = &answer.experiments[0];
        let page = crate::experiment::report::page(info);
        assert!(page.contains("bbr instead of cubic for all of nginx.service") && page.contains(&info.plan_hash));
        assert!(page.contains("Completion times of connections") && page.contains("150 kB to 1.5 MB"));
        assert!(info.blocks.iter().all(|block| page.contains(&format!(">{}<", block.block))));
        assert!(
            page.contains("95 % at any time") && !page.contains("http://") && !page.contains("src="),
            "self-contained"
        );
    }
}
