// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl rules`

use ccctl_console::{arguments::Output, output, Exit};

use ccctl_core::operations;

use crate::client;

pub fn run(arguments: &Output) -> anyhow::Result<Exit> {
    let list = client::ask(&operations::Rules {})?;
    if arguments.json {
        output::json(&list)?;
        return Ok(Exit::Done);
    }
    if list.rules.is_empty() {
        output::line("there are no rules")?;
        return Ok(Exit::Done);
    }
    let rows = list.rules.iter().map(|listed| {
        let rule = &listed.rule;
        vec![
            rule.id.to_string(),
            rule.cgroup.clone(),
            rule.to.clone().unwrap_or_else(|| "any".to_owned()),
            rule.to_port.map_or("any".to_owned(), |port| port.to_string()),
            rule.targets.clone(),
            listed.socket_count.to_string(),
            if listed.cgroup_exists { String::new() } else { "no such cgroup now".to_owned() },
        ]
    });
    output::table(&["ID", "CGROUP", "TO", "PORT", "TARGETS", "SOCKETS", ""], rows.collect())?;
    Ok(Exit::Done)
}
