// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl rules`

use ccctl_console::{output, Exit};

use ccctl_core::operations;

use crate::arguments::Viewed;
use crate::client;

/// Place of the column of conditions, which is there if a rule has some.
const BEFORE_TARGETS: usize = 4;

pub fn run(arguments: &Viewed) -> anyhow::Result<Exit> {
    let list = client::ask(&operations::Rules {})?;
    if arguments.output.json {
        output::json(&list)?;
        return Ok(Exit::Done);
    }
    if list.rules.is_empty() {
        output::line("there are no rules")?;
        return Ok(Exit::Done);
    }
    let has_conditions = list.rules.iter().any(|listed| !listed.rule.conditions().is_empty());
    let rows = list.rules.iter().map(|listed| {
        let rule = &listed.rule;
        let mut row = vec![
            rule.id.to_string(),
            rule.cgroup.clone(),
            rule.dst.clone().unwrap_or_else(|| "any".to_owned()),
            rule.port.map_or("any".to_owned(), |port| port.to_string()),
            rule.gives(),
            listed.socket_count.to_string(),
            if listed.cgroup_exists { String::new() } else { "cgroup does not exist".to_owned() },
        ];
        if has_conditions {
            row.insert(
                BEFORE_TARGETS,
                Some(rule.conditions()).filter(|text| !text.is_empty()).unwrap_or("any".to_owned()),
            );
        }
        row
    });
    let mut headings = vec!["ID", "CGROUP", "DST", "PORT", "TARGETS", "SOCKETS", ""];
    if has_conditions {
        headings.insert(BEFORE_TARGETS, "CONDITIONS");
    }
    output::table(&headings, rows.collect())?;
    Ok(Exit::Done)
}
