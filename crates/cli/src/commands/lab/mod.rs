//! `ccctl lab`: experiments. Only `--backend netns` asks the kernel for anything, and `clean` for what it left; they need privileges.

mod browser;
mod clean;
mod command;
mod compare;
mod effort;
mod fault;
mod kernel;
mod list;
mod load;
mod merge;
mod progress;
mod report;
mod reproduction;
mod run;
mod show;
mod task;
mod text;

use crate::arguments::{Lab as Arguments, LabCommand};
use crate::exit::Exit;

pub fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    match &arguments.command {
        LabCommand::List(output) => list::run(output),
        LabCommand::Show(show) => show::run(show),
        LabCommand::Run(run) => run::run(run),
        LabCommand::Sweep(sweep) => run::sweep(sweep),
        LabCommand::Merge(merge) => merge::run(merge),
        LabCommand::Report(report) => report::run(report),
        LabCommand::Compare(compare) => compare::run(compare),
        LabCommand::Reproduction(reproduction) => reproduction::run(reproduction),
        LabCommand::Clean(output) => clean::run(output),
    }
}
