// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl experiment`

use std::path::Path;

use anyhow::Context as _;
use ccctl_console::{output, Exit};
use ccctl_core::experiment::completion::{CompletionInfo, CompletionTimes};
use ccctl_core::experiment::{change, range};
use ccctl_core::operations::experiment::{ExperimentAnswer, ExperimentInfo, PlannedExperiment};
use ccctl_core::operations::ExperimentStatus;

use crate::arguments::{Experiment, ExperimentCommand, Report};
use crate::client;

pub fn run(experiment: &Experiment) -> anyhow::Result<Exit> {
    match &experiment.command {
        ExperimentCommand::Plan(asked) => {
            let answer = client::ask(&asked.request)?;
            if asked.output.json {
                output::json(&answer)?;
            } else {
                print_plan(&answer)?;
            }
        }
        ExperimentCommand::Start(asked) => {
            let answer = client::ask(&asked.request)?;
            if asked.output.json {
                output::json(&answer)?;
            } else {
                let starts = if answer.dry_run { "can be started" } else { "started" };
                let (begins, completes) = (&answer.begins_at, &answer.completes_at);
                output::line(&format!("{} {starts}: first block at {begins}, complete at {completes}", answer.name))?;
            }
        }
        ExperimentCommand::Stop(asked) => {
            let answer = client::ask(&asked.request)?;
            if asked.output.json {
                output::json(&answer)?;
            } else {
                let is = if answer.dry_run { "would be" } else { "is" };
                output::line(&format!("{} {is} stopped, with {} in force", answer.name, answer.congestion_control))?;
            }
        }
        ExperimentCommand::Status(asked) => {
            let answer = client::ask(&asked.request)?;
            if asked.output.json {
                output::json(&answer)?;
            } else {
                print_status(&answer)?;
            }
        }
        ExperimentCommand::List(output) => {
            let answer = client::ask(&ExperimentStatus::default())?;
            if output.json {
                output::json(&answer)?;
            } else {
                print_list(&answer)?;
            }
        }
        ExperimentCommand::Report(report) => write_report(report)?,
    }
    Ok(Exit::Done)
}

fn print_plan(planned: &PlannedExperiment) -> anyhow::Result<()> {
    let plan = &planned.plan;
    output::line(&format!("{}: {} (B) against {} (A) for {}", plan.name, plan.arm_b, plan.arm_a, plan.scope))?;
    let blocks = humantime::format_duration(plan.block());
    output::line(&format!(
        "{} pairs of blocks of {blocks}, which take {}; {} of each block do not count",
        plan.wanted_pairs,
        planned.takes,
        humantime::format_duration(plan.burn_in())
    ))?;
    output::line(&format!(
        "finds a change of {} of {:.1} % or more in four of five cases; two equal algorithms differ by {:.1} % per pair ({})",
        plan.metric.label(),
        planned.detectable_pct,
        plan.sigma.exp_m1() * 100.0,
        plan.sigma_origin
    ))?;
    if let Some(percent) = plan.hold_out_pct {
        output::line(&format!("{percent} % of the connections have the other arm in each block"))?;
    }
    for rail in &plan.guard_rail_plans {
        let margin = rail.margin.exp_m1() * 100.0;
        output::line(&format!("ends where {} is worse by more than {margin:.0} %", rail.metric.label()))?;
    }
    let row = |length: &ccctl_core::experiment::planning::Length| {
        let block = humantime::format_duration(std::time::Duration::from_millis(length.block_ms)).to_string();
        vec![block, format!("{:.1} %", length.sigma.exp_m1() * 100.0), format!("{:.1} %", length.detectable_pct)]
    };
    if !planned.lengths.is_empty() {
        output::table(&["BLOCK", "SPREAD", "A DAY SHOWS"], planned.lengths.iter().map(row).collect())?;
    }
    output::line(&format!("plan {}", planned.plan_hash))?;
    let then = if planned.dry_run { "nothing was kept" } else { "ccctl experiment start" };
    output::line(&if planned.dry_run { then.to_owned() } else { format!("{then} {}", plan.name) })
}

fn print_list(answer: &ExperimentAnswer) -> anyhow::Result<()> {
    let row = |info: &ExperimentInfo| {
        let plan = &info.plan;
        vec![
            info.name.clone(),
            info.phase.clone(),
            plan.arm_a.clone(),
            plan.arm_b.clone(),
            plan.scope.clone(),
            format!("{} of {}", info.analysis.pairs.len(), plan.wanted_pairs),
            change(info.analysis.estimate_pct),
        ]
    };
    let rows: Vec<_> = answer.experiments.iter().map(row).collect();
    if rows.is_empty() {
        return output::line("there are no experiments: ccctl experiment plan");
    }
    output::table(&["NAME", "STATE", "A", "B", "SCOPE", "PAIRS", "CHANGE"], rows)
}

fn print_status(answer: &ExperimentAnswer) -> anyhow::Result<()> {
    if answer.experiments.is_empty() {
        return output::line("there are no experiments: ccctl experiment plan");
    }
    for info in &answer.experiments {
        output::line(&format!("{}: {}", info.name, info.phase))?;
        if let Some(running) = &info.current_block {
            let burn_in = if running.counts { "" } else { ", burn-in" };
            let (block, arm) = (running.block, &running.congestion_control);
            output::line(&format!("block {block}: {arm} until {}{burn_in}", running.ends_at))?;
        }
        for line in &info.summary {
            output::line(line)?;
        }
        for gate in info.analysis.gates.iter().filter(|gate| !gate.is_void) {
            output::line(&format!("gate {}", gate.text))?;
        }
        for dropped in &info.analysis.dropped_pairs {
            output::line(&format!("pair {} does not count: {}", dropped.pair, dropped.why))?;
        }
        print_completion_times(info)?;
        print_blocks(info)?;
    }
    Ok(())
}

fn print_completion_times(info: &ExperimentInfo) -> anyhow::Result<()> {
    let arms = |info: &CompletionInfo| [info.with_a.clone(), info.with_b.clone()];
    let row = |info: &CompletionInfo| {
        let both = |of: fn(&CompletionTimes) -> Option<f64>| {
            arms(info).map(|times| of(&times).map_or_else(|| "-".to_owned(), |ms| format!("{ms:.0} ms"))).join(" → ")
        };
        let connections = arms(info).map(|times| times.completed.to_string()).join(" → ");
        vec![
            info.size_text.clone(),
            connections,
            both(|times| times.median_ms),
            both(|times| times.p95_ms),
            both(|times| times.p99_ms),
        ]
    };
    let has_some = |info: &&CompletionInfo| arms(info).iter().any(|times| times.completed > 0);
    let rows: Vec<_> = info.analysis.completion_times.iter().filter(has_some).map(row).collect();
    if rows.is_empty() {
        return Ok(());
    }
    output::table(&["CONNECTIONS OF", "NUMBER", "MEDIAN TIME", "P95", "P99"], rows)
}

fn print_blocks(info: &ExperimentInfo) -> anyhow::Result<()> {
    if info.blocks.is_empty() {
        return Ok(());
    }
    let row = |block: &ccctl_core::experiment::Block| {
        let metric = info.plan.metric;
        let value = metric.log(&block.sums).map_or_else(|_| "-".to_owned(), |log| metric.text(log));
        let problem = block.problem.clone().unwrap_or_default();
        vec![block.block.to_string(), block.began_at.clone(), block.congestion_control.clone(), value, problem]
    };
    output::table(&["BLOCK", "BEGAN", "ARM", "VALUE", ""], info.blocks.iter().map(row).collect())?;
    output::line(&format!("95 % at any time: {}", range(&info.analysis.sequence)))
}

fn write_report(report: &Report) -> anyhow::Result<()> {
    let request = ExperimentStatus { name: Some(report.name.clone()), blocks: true };
    let answer = client::ask(&request)?;
    if report.output.json {
        return output::json(&answer);
    }
    let file = report.output_file.clone().unwrap_or_else(|| format!("{}.html", report.name).into());
    for info in &answer.experiments {
        write(&file, &ccctl_core::experiment::report::page(info))?;
        output::line(&format!("{}: written", file.display()))?;
    }
    Ok(())
}

fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(file, text).with_context(|| format!("write {}", file.display()))
}
