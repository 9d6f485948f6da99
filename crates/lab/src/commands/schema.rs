// SPDX-License-Identifier: GPL-2.0-only
//! `ccctl-lab schema`: what the JSON of each command looks like.

use ccctl_console::schema::{of, print, Schemas};
use ccctl_console::Exit;
use ccctl_lab::report::Comparison;

use super::run::Results;
use super::{clean, list, plan, repeat, report, reproduction, show, test, text};
use crate::arguments::Schema;
use crate::PROGRAM;

pub fn run(arguments: &Schema) -> anyhow::Result<Exit> {
    print(PROGRAM, &all(), arguments.name.as_deref())
}

/// By the name of the command.
pub fn all() -> Schemas {
    Schemas::from([
        ("list", of::<list::Answer>()),
        ("show", of::<show::Answer>()),
        ("run", of::<Results>()),
        ("sweep", of::<Results>()),
        ("test", of::<test::Answer>()),
        ("merge", of::<text::Outcome>()),
        ("report", of::<report::Answer>()),
        ("compare", of::<Comparison>()),
        ("reproduction", of::<reproduction::Answer>()),
        ("plan", of::<plan::Answer>()),
        ("repeat", of::<repeat::Answer>()),
        ("clean", of::<clean::Cleaned>()),
    ])
}
