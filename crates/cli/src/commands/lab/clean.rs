//! `ccctl lab clean`

use std::collections::BTreeMap;

use ccctl_lab::testbed::{require_root, Namespace};
use serde::Serialize;

use super::kernel;
use crate::api::Fault;
use crate::arguments::Output;
use crate::exit::Exit;
use crate::output;

/// What was taken away, and what was not.
#[derive(Serialize)]
struct Removed {
    instances: Vec<String>,
    namespaces: Vec<String>,
    /// Namespaces of each process that is there: it works, or was killed and has not ended yet.
    running: BTreeMap<u32, usize>,
}

pub fn run(arguments: &Output) -> anyhow::Result<Exit> {
    require_root().map_err(|error| Fault::new(Exit::Host, error.to_string(), "run as root"))?;
    let instances = kernel::remove_leftovers()?;
    let removed = Removed { instances, namespaces: Namespace::remove_abandoned(), running: Namespace::owners() };
    if arguments.json {
        output::json(&removed)?;
    } else {
        removed.lines().iter().try_for_each(|text| output::line(text))?;
    }
    Ok(Exit::Done)
}

impl Removed {
    fn lines(&self) -> Vec<String> {
        let instances = self.instances.iter().map(|name| format!("removed: instance {name}"));
        let namespaces = self.namespaces.iter().map(|name| format!("removed: namespace {name}"));
        let mut lines: Vec<String> = instances.chain(namespaces).collect();
        if lines.is_empty() {
            lines.push("nothing is left of killed runs".to_owned());
        }
        let running = self.running.iter();
        lines.extend(running.map(|(pid, number)| {
            format!("left: {} of process {pid}, as it runs", output::count(*number, "namespace"))
        }));
        lines
    }
}
