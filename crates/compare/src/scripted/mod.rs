// SPDX-License-Identifier: GPL-2.0-only
//! Scripted connections: what packets come in, which packets go out, and which window there is, with Linux's module and with ours.

mod connection;
mod judge;
mod language;
mod packet;
mod peer;
mod scripts;

use std::time::Duration;

use anyhow::{Context as _, Result};
use connection::Timing;

pub use judge::judge;

/// Of the module and of ours.
const TIMING: Timing = Timing { after_tick: Duration::from_micros(500), late: Duration::ZERO };
/// Of more runs of the module, by what they are called in what is printed. Ticks are of 4 ms in Debian's kernels.
const AGAIN: [(&str, Timing); 2] = [
    ("again", Timing { after_tick: Duration::from_micros(1700), late: Duration::from_micros(10) }),
    ("again later", Timing { after_tick: Duration::from_micros(2900), late: Duration::from_micros(20) }),
];

/// Runs all scripts with Linux's module, with ours, and with the module twice more at other times, and prints what happened:
/// SCRIPT, NAME, LINE, with tabs between them.
///
/// # Errors
/// What could not be run.
pub fn run(algorithm: &str, ours: &str, only: &[String]) -> Result<()> {
    let wire = connection::Wire::new()?;
    let is_wanted = |script: &str| only.is_empty() || only.iter().any(|it| it == script);
    let both = [(algorithm, algorithm, TIMING), (ours, ours, TIMING)];
    let again = AGAIN.map(|(shown, timing)| (algorithm, shown, timing));
    for (name, shown, timing) in both.into_iter().chain(again) {
        for (script, text) in scripts::SCRIPTS.iter().filter(|(script, _)| is_wanted(script)) {
            let mut parsed = language::Script::parse(text).with_context(|| (*script).to_owned())?;
            if algorithm == "hybla" {
                parsed.settings.begin_as_hybla();
            }
            let lines = connection::run(&wire, &parsed, name, algorithm, timing);
            for line in lines.with_context(|| format!("{script} with {name}"))? {
                println!("{script}\t{shown}\t{line}");
            }
        }
    }
    Ok(())
}
