// SPDX-License-Identifier: GPL-2.0-only
//! Scenarios of the laboratory: TOML, quantities, sweeps, measures and statements, and behind a zero byte values of `--set`.

use std::path::Path;

use ccctl_lab::scenario::Scenario;

/// As scenarios of the repository are named; traces are found beside it.
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../configs/scenarios/fuzzed.toml");
/// Larger sweeps are left out: each point is read by itself, and 100,000 are allowed.
const POINTS_MAX: usize = 64;

/// Reads a scenario, and what it was read from again.
///
/// # Panics
/// Where an error names a place that is not there, or the same text means something else the second time.
pub(crate) fn run(bytes: &[u8]) {
    let Ok(input) = std::str::from_utf8(bytes) else { return };
    let mut parts = input.split('\0');
    let text = parts.next().unwrap_or_default();
    if points(text) > POINTS_MAX {
        return;
    }
    let overrides: Vec<_> = parts.filter_map(|part| part.split_once('=')).collect();
    let overrides: Vec<_> = overrides.iter().map(|(path, value)| ((*path).to_owned(), (*value).to_owned())).collect();
    if overrides.iter().any(|(path, _)| path.starts_with("sweep")) {
        return;
    }
    match Scenario::of_text(Path::new(FILE), text, &overrides) {
        Err(error) => {
            assert!(!error.cause.is_empty() && !error.remedy.is_empty(), "{error:?}");
            let lines = input.matches(['\n', '\0']).count() + 1;
            assert!((1..=lines).contains(&error.line) && error.column >= 1, "{error:?}");
        }
        Ok(scenario) => {
            let again = Scenario::of_text(Path::new(FILE), &scenario.text, &[]).expect("it was read before");
            assert_eq!(scenario.canonical, again.canonical);
            assert_eq!(scenario.points.len(), again.points.len());
            for point in &scenario.points {
                let _ = (scenario.place_text(&point.position), scenario.place(&point.position));
            }
        }
    }
}

/// Points of the sweep, if it can be read.
fn points(text: &str) -> usize {
    let Ok(table) = text.parse::<toml::Table>() else { return 0 };
    let axes = table.get("sweep").and_then(toml::Value::as_array).into_iter().flatten();
    let values = axes.filter_map(|axis| axis.get("values")?.as_array().map(Vec::len));
    values.fold(1, usize::saturating_mul)
}
