// SPDX-License-Identifier: GPL-2.0-only
//! One file a command. Only `--backend netns` asks the kernel for anything, and `clean` for what it left; they need privileges.

mod browser;
mod clean;
mod command;
mod compare;
mod convert;
mod effort;
mod fault;
mod kernel;
mod kernel_plan;
mod list;
mod load;
mod measures;
mod merge;
mod own_algorithm;
mod plan;
mod progress;
mod repeat;
mod report;
mod reproduction;
mod run;
mod runner;
mod schema;
mod show;
mod task;
mod test;
mod text;

use ccctl_console::Exit;
use clap::CommandFactory as _;

#[cfg(test)]
pub use {
    clean::Cleaned, list::Answer as ListAnswer, plan::Answer as PlanAnswer, repeat::Answer as RepeatAnswer,
    report::Answer as ReportAnswer, reproduction::Answer as ReproductionAnswer, run::Results,
    show::Answer as ShowAnswer, test::Answer as TestAnswer, text::Outcome,
};

use crate::arguments::{Arguments, Command};

pub fn run(command: Command) -> anyhow::Result<Exit> {
    match command {
        Command::List(output) => list::run(&output),
        Command::Show(show) => show::run(&show),
        Command::Run(run) => run::run(&run),
        Command::Sweep(sweep) => run::sweep(&sweep),
        Command::Test(test) => test::run(&test),
        Command::Judge(judge) => test::judge(&judge),
        Command::Merge(merge) => merge::run(&merge),
        Command::Report(report) => report::run(&report),
        Command::Compare(compare) => compare::run(&compare),
        Command::Convert(convert) => convert::run(&convert),
        Command::Reproduction(reproduction) => reproduction::run(&reproduction),
        Command::Plan(plan) => plan::run(&plan),
        Command::Repeat(repeat) => repeat::run(&repeat),
        Command::Modules(command) => ccctl_compare::run(command).map(|()| Exit::Done),
        Command::Clean(output) => clean::run(&output),
        Command::Schema(schema) => schema::run(&schema),
        Command::Look(look) => Ok(ccctl_core::object_scan::run(&look)),
        Command::Man(man) => man.write(Arguments::command()),
    }
}
