// SPDX-License-Identifier: GPL-2.0-only
//! `ccctl lab clean`

use std::collections::BTreeMap;

use ccctl_console::{arguments::Output, output, Exit, Fault};
use ccctl_testbed::{require_root, Namespace};
use schemars::JsonSchema;
use serde::Serialize;

use super::kernel;

/// What was taken away, and what was not.
#[derive(Serialize, JsonSchema)]
pub struct Cleaned {
    removed_instances: Vec<String>,
    removed_namespaces: Vec<String>,
    /// Namespaces of each process that is there: it works, or was killed and has not ended yet.
    running: BTreeMap<u32, usize>,
}

pub fn run(arguments: &Output) -> anyhow::Result<Exit> {
    require_root().map_err(|error| Fault::new(Exit::Host, error.to_string(), "run as root"))?;
    let cleaned = Cleaned {
        removed_instances: kernel::remove_leftovers()?,
        removed_namespaces: Namespace::remove_abandoned(),
        running: Namespace::owners(),
    };
    if arguments.json {
        output::json(&cleaned)?;
    } else {
        cleaned.lines().iter().try_for_each(|text| output::line(text))?;
    }
    Ok(Exit::Done)
}

impl Cleaned {
    fn lines(&self) -> Vec<String> {
        let instances = self.removed_instances.iter().map(|name| format!("removed: instance {name}"));
        let namespaces = self.removed_namespaces.iter().map(|name| format!("removed: namespace {name}"));
        let mut lines: Vec<String> = instances.chain(namespaces).collect();
        if lines.is_empty() {
            lines.push("there is nothing to clean up".to_owned());
        }
        let running = self.running.iter();
        lines.extend(running.map(|(pid, number)| {
            format!("kept: {} of process {pid}, which is still running", output::count(*number, "namespace"))
        }));
        lines
    }
}
