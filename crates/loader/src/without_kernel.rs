// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is done with object files and rules before and after the kernel sees them, without the kernel: fuzz targets call it with
//! what may be anything.

use crate::error::Result;
use crate::object::{fit_object, Program};
use crate::refusal::unloaded;
use crate::rules::{compile, parse_choices, Names};
use crate::{Choice, RuleTable};

/// Fits an object to the running kernel, as [`crate::check`] does it, and loads nothing. Reads the kernel's BTF.
pub fn fit(program: &Program) -> Result<()> {
    fit_object(program, &program.default_name()?, "", None).map(drop)
}

/// What is said of an object that the kernel refused with this log.
#[must_use]
pub fn refusal(program: &Program, log: &str) -> String {
    let refusal = unloaded(program.object(), log, "");
    format!("{}; {}", refusal.cause, refusal.remedy)
}

/// [`crate::parse_targets`] for a kernel that has these algorithms.
pub fn parse_targets(text: &str, available: &[String]) -> Result<Vec<Choice>> {
    parse_choices(text, &Names::of(available))
}

/// Makes the maps of rules, and puts them nowhere. Refused are rules that are nested too deeply.
pub fn compile_rules(table: &RuleTable) -> Result<()> {
    compile(table).map(drop)
}
