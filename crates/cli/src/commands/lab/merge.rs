//! `ccctl lab merge`

use ccctl_lab::run::{merge, Report};

use super::{fault, text};
use crate::arguments::LabMerge as Arguments;
use crate::exit::Exit;
use crate::output;

pub fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let summary = merge(&arguments.folders, &arguments.out).map_err(fault::of_run)?;
    let cancelled = summary.runs_done < summary.runs;
    let report = Report { ran: 0, kept: summary.runs_done, cancelled, summary };
    let result = text::Outcome::new(&report, &arguments.out, None, None);
    if arguments.output.json {
        output::json(&result)?;
    } else {
        output::line(&result.text())?;
    }
    Ok(Exit::Done)
}
