//! `ccctl lab clean`

use ccctl_lab::testbed::{require_root, Namespace};
use serde::Serialize;

use super::kernel;
use crate::api::Fault;
use crate::arguments::Output;
use crate::exit::Exit;
use crate::output;

/// What was taken away.
#[derive(Serialize)]
struct Removed {
    instances: Vec<String>,
    namespaces: Vec<String>,
}

pub fn run(arguments: &Output) -> anyhow::Result<Exit> {
    require_root().map_err(|error| Fault::new(Exit::Host, error.to_string(), "run as root"))?;
    let removed = Removed { instances: kernel::remove_leftovers()?, namespaces: Namespace::remove_abandoned() };
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
        let lines: Vec<String> = instances.chain(namespaces).collect();
        if lines.is_empty() {
            return vec!["nothing is left of killed runs".to_owned()];
        }
        lines
    }
}
