// SPDX-License-Identifier: GPL-2.0-only
//! Flows with XCP's header need a router that reads it, and an algorithm that leaves the window to it.

use ccctl_sim::{Instance, Queue};

use super::super::file::File;
use super::super::point_spec::{Group, Link};
use super::super::source_text::{ScenarioError, SourceText};

pub(super) fn check(
    source: &SourceText<'_>,
    file: &File,
    groups: &[Group],
    links: &[Link],
) -> Result<(), ScenarioError> {
    for (spec, group) in file.flows.iter().zip(groups).filter(|(_, group)| group.tcp.xcp) {
        if !group.path.iter().any(|number| matches!(links[*number].spec.queue, Queue::Xcp(_))) {
            let cause = format!("{} has tcp.xcp, but no link of its path has an xcp queue", group.name);
            return Err(source.wrong(&spec.name.span(), cause, "use queue = { kind = \"xcp\", ... } for one of them"));
        }
        if Instance::with_defaults(&group.algorithm).is_ok_and(|instance| instance.controls_cwnd()) {
            let cause = format!("{} has tcp.xcp, but {} sets its window itself", group.name, group.algorithm);
            return Err(source.wrong(&spec.algorithm.span(), cause, "use algorithm = \"reno\""));
        }
    }
    Ok(())
}
