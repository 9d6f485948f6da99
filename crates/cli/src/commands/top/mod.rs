// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl top`: the live screen.
//!
//! A worker looks ([`worker`], [`source`]), threads change what a reader has said yes to ([`errands`]), a model keeps what was seen and what is selected ([`model`]), and drawing
//! turns it into cells ([`screen`]). Only [`terminal`], [`raw_mode`] and [`tty`] touch the terminal, and [`shutdown`] sees to it
//! that all of it ends.

mod action;
mod backend;
mod clock;
mod errands;
mod follower;
mod keys;
mod listing;
mod model;
mod once;
mod rates;
mod raw_mode;
mod sample;
mod screen;
mod shutdown;
mod source;
mod terminal;
mod tty;
mod worker;

use std::io::IsTerminal as _;
use std::time::Duration;

pub use once::Answer;

use crate::arguments::Top;
use ccctl_console::{Exit, UsageError};
use clock::ClockChoice;
use model::Model;
use sample::Wish;
use screen::Look;
use worker::Worker;

/// Shorter, and looking is all that this machine does.
const EVERY_LEAST: Duration = Duration::from_millis(100);
/// Longer, and a mistake is likelier.
const EVERY_MOST: Duration = Duration::from_secs(3600);

pub fn run(arguments: &Top) -> anyhow::Result<Exit> {
    if !(EVERY_LEAST..=EVERY_MOST).contains(&arguments.every) {
        return Err(UsageError::new("--every is out of range", "use a time from 100ms to 1h").into());
    }
    let choice = ClockChoice { interfaces: arguments.interfaces.clone(), netns: arguments.netns.clone() };
    if arguments.once {
        return once::run(arguments, &choice);
    }
    require_screen(arguments.output.json)?;
    let mut source = source::open()?;
    let first = source.look(&Wish::Instances, true)?; // what does not work is said before the screen is taken
    let mut model = Model::new();
    model.clock_netns.clone_from(&choice.netns);
    model.take(first);
    let worker = Worker::new(source, arguments.every, choice);
    terminal::run(worker, model, arguments.acks, look())
}

fn require_screen(as_json: bool) -> Result<(), UsageError> {
    const REMEDY: &str = "ccctl top --once --json, ccctl sockets --json or ccctl status --json";
    if as_json {
        return Err(UsageError::new("the live screen cannot print JSON", REMEDY));
    }
    if !std::io::stdout().is_terminal() {
        return Err(UsageError::new("ccctl top needs a terminal, but stdout is not one", REMEDY));
    }
    if variable("TERM").is_none_or(|term| term == "dumb") {
        return Err(UsageError::new("this terminal (TERM) does not support full-screen programs", REMEDY));
    }
    Ok(())
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// A fault of this program, for tests of how it ends: not in what is shipped.
#[cfg(debug_assertions)]
fn panic_if_asked(place: &str) {
    assert!(variable("CCCTL_TOP_PANIC").is_none_or(|asked| asked != place), "while {place}, as asked");
}

#[cfg(not(debug_assertions))]
fn panic_if_asked(_: &str) {}

/// What the environment says of the terminal.
fn look() -> Look {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(variable).unwrap_or_default();
    Look {
        has_colour: variable("NO_COLOR").is_none() && has_colour(&variable("TERM").unwrap_or_default()),
        has_unicode: is_unicode(&locale),
    }
}

fn is_unicode(locale: &str) -> bool {
    let locale = locale.to_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

/// Of the old terminals, and of those that say that they are monochrome.
fn has_colour(term: &str) -> bool {
    let without = ["vt100", "vt102", "vt220", "vt320"];
    !without.contains(&term) && !term.ends_with("-m") && !term.ends_with("-mono")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminals_and_locales() {
        assert!(is_unicode("de_DE.UTF-8") && is_unicode("C.utf8"));
        assert!(!is_unicode("C") && !is_unicode("de_DE.ISO-8859-1") && !is_unicode(""));
        assert!(has_colour("xterm-256color") && has_colour("screen") && has_colour("linux"));
        assert!(!has_colour("vt100") && !has_colour("xterm-mono") && !has_colour("linux-m"));
    }
}
