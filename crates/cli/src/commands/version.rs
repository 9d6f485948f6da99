// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl version`

use ccctl_console::{arguments::Output, output, Exit};
use ccctl_core::configuration::FILE_FORMAT;
use schemars::JsonSchema;
use serde::Serialize;

use crate::client::{self, DaemonState};
use crate::VERSION;

/// The versions.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Answer {
    /// Version and commit of this program.
    version: String,
    /// Formats of what outlives a program. An upgrade that changes one says how (docs/reference/upgrades.md).
    formats: Formats,
    /// Is there a daemon of the same version?
    is_daemon_usable: bool,
    /// Why there is one that cannot be used.
    daemon_problem: Option<String>,
}

/// Formats by number.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[allow(clippy::struct_field_names)] // a key of the JSON has one shape, and "rules" is a list elsewhere
pub struct Formats {
    /// What is pinned in the BPF file system.
    pin_format: u32,
    /// The maps of the rules.
    rules_format: u32,
    /// The configuration file.
    file_format: u32,
    /// The JSON of answers and of the API: `json_version`.
    json_format: u32,
}

/// Those of this program.
pub const FORMATS: Formats = Formats {
    pin_format: ccctl_loader::PIN_FORMAT,
    rules_format: ccctl_loader::RULES_FORMAT,
    file_format: FILE_FORMAT,
    json_format: output::JSON_VERSION,
};

impl std::fmt::Display for Formats {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { pin_format, rules_format, file_format, json_format } = self;
        write!(
            formatter,
            "formats: pins {pin_format}, rules {rules_format}, ccctl.toml {file_format}, JSON {json_format}"
        )
    }
}

pub fn run(arguments: &Output) -> anyhow::Result<Exit> {
    let (is_daemon_usable, daemon_problem) = match client::connect() {
        DaemonState::Daemon(_) => (true, None),
        DaemonState::None => (false, None),
        DaemonState::Busy(fault) => (false, Some(fault.cause)),
        DaemonState::Unusable(why) => (false, Some(why)),
    };
    let answer = Answer { version: VERSION.to_owned(), formats: FORMATS, is_daemon_usable, daemon_problem };
    if arguments.json {
        output::json(&answer)?;
        return Ok(Exit::Done);
    }
    output::line(&format!("ccctl {}", answer.version))?;
    output::line(&FORMATS.to_string())?;
    match (&answer.daemon_problem, answer.is_daemon_usable) {
        (Some(problem), _) => output::line(problem)?,
        (None, true) => output::line("the daemon runs, and has the same version")?,
        (None, false) => output::line("no daemon runs")?,
    }
    Ok(Exit::Done)
}
