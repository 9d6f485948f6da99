// SPDX-License-Identifier: GPL-2.0-only
//! Scripted connections: what packets come in, which packets go out, and which window there is, with Linux's module and with ours.

mod connection;
mod judge;
mod language;
mod packet;
mod peer;
mod scripts;

use anyhow::{Context as _, Result};

pub use judge::judge;

/// What a second run of the module is called in what is printed: what differs there is a matter of the clock.
const AGAIN: &str = "again";

/// Runs all scripts with Linux's module, with ours, and with the module once more, and prints what happened: SCRIPT, NAME, LINE,
/// with tabs between them.
///
/// # Errors
/// What could not be run.
pub fn run(algorithm: &str, ours: &str, only: &[String]) -> Result<()> {
    let wire = connection::Wire::new()?;
    let is_wanted = |script: &str| only.is_empty() || only.iter().any(|it| it == script);
    for (name, shown) in [(algorithm, algorithm), (ours, ours), (algorithm, AGAIN)] {
        for (script, text) in scripts::SCRIPTS.iter().filter(|(script, _)| is_wanted(script)) {
            let mut parsed = language::Script::parse(text).with_context(|| (*script).to_owned())?;
            if algorithm == "hybla" {
                parsed.settings.begin_as_hybla();
            }
            let lines = connection::run(&wire, &parsed, name, algorithm);
            for line in lines.with_context(|| format!("{script} with {name}"))? {
                println!("{script}\t{shown}\t{line}");
            }
        }
    }
    Ok(())
}
