//! `ccctl lab compare`

use std::path::Path;

use ccctl_lab::report::{compare, compare_page, Comparison, Difference};
use ccctl_lab::run::{load, summarise, Summary};

use super::fault;
use crate::arguments::LabCompare as Arguments;
use crate::exit::{Exit, UsageError};
use crate::output;

pub fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let (first, second) = (summary(&arguments.first)?, summary(&arguments.second)?);
    let (a, b) = (&first.versions.scenario, &second.versions.scenario);
    if a != b {
        let cause = format!("{} is of {a}, {} of {b}", arguments.first.display(), arguments.second.display());
        return Err(UsageError::new(cause, "two folders of one scenario").into());
    }
    for name in &arguments.measure {
        check_measure(name, &first)?;
    }
    let comparison = compare(&first, &second, &arguments.measure, arguments.tolerance);
    if let Some(path) = &arguments.page {
        let names = (arguments.first.display().to_string(), arguments.second.display().to_string());
        let page = compare_page(&comparison, &first, &second, (&names.0, &names.1));
        let cannot = |error| UsageError::new(format!("cannot write {}: {error}", path.display()), "--page FILE");
        std::fs::write(path, ccctl_lab::report::html(&page)).map_err(cannot)?;
    }
    if arguments.output.json {
        output::json(&comparison)?;
    } else {
        print(&comparison)?;
    }
    let differs = comparison.differing() > 0 || !comparison.only_in_one.is_empty();
    Ok(if arguments.fail && differs { Exit::Partly } else { Exit::Done })
}

fn summary(folder: &Path) -> anyhow::Result<Summary> {
    load(folder).and_then(|scenario| summarise(folder, &scenario)).map_err(fault::of_run)
}

fn check_measure(name: &str, summary: &Summary) -> anyhow::Result<()> {
    if summary.measures.contains_key(name) {
        return Ok(());
    }
    let known = summary.measures.keys().map(String::as_str);
    let remedy = match ccctl_catalog::closest(name, known.clone()) {
        Some(similar) => format!("did you mean {similar}?"),
        None => format!("there are {}", known.collect::<Vec<_>>().join(", ")),
    };
    Err(UsageError::new(format!("the folders have no measure {name:?}"), remedy).into())
}

fn print(comparison: &Comparison) -> anyhow::Result<()> {
    let rows = comparison.rows.iter().map(cells).collect();
    output::table(&["PLACE", "MEASURE", "FIRST", "SECOND", "DIFFERENCE", "VERDICT"], rows)?;
    for text in &comparison.only_in_one {
        output::line(text)?;
    }
    output::line(&format!("{} of {} differ", comparison.differing(), comparison.rows.len()))
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
        row.verdict.to_string(),
    ]
}
