// SPDX-License-Identifier: GPL-2.0-only
//! `ccctl lab compare`

use std::io::Write as _;
use std::path::{Path, PathBuf};

use ccctl_console::{output, Exit, UsageError};
use ccctl_lab::measures::definition;
use ccctl_lab::report::{
    compare, compare_page, side_by_side, write_pictures, Comparison, Difference, Side, Tolerances,
};
use ccctl_lab::run::{load, summarise, Summary};

use super::fault;
use crate::arguments::Compare as Arguments;

pub fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let (first, second) = (summary(&arguments.first)?, summary(&arguments.second)?);
    let (a, b) = (&first.versions.scenario, &second.versions.scenario);
    if a != b {
        let cause = format!("{} has results of {a}, {} of {b}", arguments.first.display(), arguments.second.display());
        return Err(UsageError::new(cause, "compare two folders of the same scenario").into());
    }
    for name in &arguments.measure {
        check_measure(name, &first)?;
    }
    let tolerances = tolerances(&arguments.tolerance, &first, &second)?;
    let comparison = compare(&first, &second, &arguments.measure, &tolerances);
    let side = |folder, summary| Side { folder, summary };
    let (first, second) = (side(&arguments.first, &first), side(&arguments.second, &second));
    if let Some(path) = &arguments.page {
        write_page(path, &comparison, &first, &second)?;
    }
    if let Some(folder) = &arguments.pictures {
        let page = compare_page(&comparison, &first, &second).map_err(fault::of_run)?;
        write_pictures(&page, folder).map_err(fault::of_run)?;
    }
    if arguments.output.json {
        output::json(&comparison)?;
    } else if arguments.markdown {
        std::io::stdout().lock().write_all(side_by_side(&comparison).as_bytes())?;
    } else {
        print(&comparison)?;
    }
    let differs = comparison.differing() > 0 || !comparison.only_in_one.is_empty();
    Ok(if arguments.fail && differs { Exit::Partial } else { Exit::Done })
}

/// Writes the page of a scenario that was run in two backends, beside the folder of the first.
pub fn page_of_both(first: &Path, second: &Path) -> anyhow::Result<PathBuf> {
    let summaries = (summary(first)?, summary(second)?);
    let tolerances = Tolerances::between(&summaries.0.versions, &summaries.1.versions);
    let comparison = compare(&summaries.0, &summaries.1, &[], &tolerances);
    let mut path = first.as_os_str().to_owned();
    path.push("-both.html");
    let path = PathBuf::from(path);
    let side = |folder, summary| Side { folder, summary };
    write_page(&path, &comparison, &side(first, &summaries.0), &side(second, &summaries.1))?;
    Ok(path)
}

fn write_page(path: &Path, comparison: &Comparison, first: &Side<'_>, second: &Side<'_>) -> anyhow::Result<()> {
    let page = compare_page(comparison, first, second).map_err(fault::of_run)?;
    let cannot = |error| UsageError::new(format!("cannot write {}: {error}", path.display()), "--page FILE");
    std::fs::write(path, ccctl_lab::report::html(&page)).map_err(cannot)?;
    Ok(())
}

/// `PCT` or `MEASURE=PCT`.
fn tolerances(texts: &[String], first: &Summary, second: &Summary) -> anyhow::Result<Tolerances> {
    let mut tolerances = Tolerances::between(&first.versions, &second.versions);
    for text in texts {
        let (measure, pct) = match text.rsplit_once('=') {
            Some((measure, pct)) => (Some(measure.trim()), pct),
            None => (None, text.as_str()),
        };
        let wrong =
            || UsageError::new(format!("--tolerance {text}: {pct:?} is not a percentage"), "--tolerance goodput=3");
        let number: f64 = pct.trim().trim_end_matches('%').trim_end().parse().map_err(|_| wrong())?;
        if !(number >= 0.0 && number.is_finite()) {
            return Err(wrong().into());
        }
        if let Some(measure) = measure.filter(|measure| definition(measure).is_none()) {
            check_measure(measure, first)?;
        }
        tolerances.set(measure, number);
    }
    Ok(tolerances)
}

fn summary(folder: &Path) -> anyhow::Result<Summary> {
    load(folder).and_then(|scenario| summarise(folder, &scenario)).map_err(fault::of_run)
}

fn check_measure(name: &str, summary: &Summary) -> anyhow::Result<()> {
    if summary.measures.contains_key(name) {
        return Ok(());
    }
    let known: Vec<&str> = summary.measures.keys().map(String::as_str).collect();
    let all = || format!("there are {}", known.join(", "));
    let remedy = ccctl_catalog::did_you_mean(name, known.iter().copied(), all);
    Err(UsageError::new(format!("neither folder has a measure {name:?}"), remedy).into())
}

fn print(comparison: &Comparison) -> anyhow::Result<()> {
    let rows = comparison.differences.iter().map(cells).collect();
    output::table(&["PLACE", "MEASURE", "FIRST", "SECOND", "DIFFERENCE", "TOLERANCE", "VERDICT"], rows)?;
    for text in &comparison.only_in_one {
        output::line(text)?;
    }
    output::line(&format!("{} of {} differ", comparison.differing(), comparison.differences.len()))
}

fn cells(row: &Difference) -> Vec<String> {
    let place: Vec<&str> = row.place.values().map(String::as_str).collect();
    let pct = row.difference_pct.map_or_else(String::new, |pct| format!("{pct:+.2} %"));
    vec![
        place.join(", "),
        row.measure.clone(),
        ccctl_lab::report::estimate(&row.first),
        ccctl_lab::report::estimate(&row.second),
        pct,
        format!("{} %", row.tolerance_pct),
        row.verdict.to_string(),
    ]
}
