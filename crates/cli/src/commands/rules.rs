//! `ccctl rules`

use crate::arguments::Output;
use crate::engine;
use crate::exit::Exit;
use crate::output;

pub fn run(arguments: &Output) -> anyhow::Result<Exit> {
    let list = engine::ask(&engine::Rules {})?;
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
            listed.sockets.to_string(),
            if listed.cgroup_exists { String::new() } else { "no such cgroup now".to_owned() },
        ]
    });
    output::table(&["ID", "CGROUP", "TO", "PORT", "TARGETS", "SOCKETS", ""], rows.collect())?;
    Ok(Exit::Done)
}
