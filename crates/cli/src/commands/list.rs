// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl list`

use ccctl_console::{output, Exit};

use ccctl_core::operations::{self, Listing};
use ccctl_core::settings::changed;

use crate::arguments::Viewed;
use crate::client;

pub fn run(arguments: &Viewed) -> anyhow::Result<Exit> {
    let listing = client::ask(&operations::List {})?;
    if arguments.output.json {
        output::json(&listing)?;
    } else {
        print(&listing)?;
    }
    Ok(Exit::Done)
}

fn print(listing: &Listing) -> anyhow::Result<()> {
    let mut rows = Vec::new();
    for instance in &listing.instances {
        let (sockets, old) = (instance.socket_count, instance.sockets_on_old_program);
        let sockets = if old > 0 { format!("{sockets} ({old} on the old program)") } else { sockets.to_string() };
        rows.push(vec![
            instance.name.clone(),
            instance.algorithm.clone(),
            sockets,
            output::age(&instance.loaded_at),
            changed(&instance.parameters),
            mark(instance.is_default),
        ]);
    }
    let plain = |name: &str, what: &str, sockets: usize, is_default| {
        vec![name.to_owned(), what.to_owned(), sockets.to_string(), String::new(), String::new(), mark(is_default)]
    };
    for other in &listing.others {
        rows.push(plain(&other.name, "BPF, not loaded by ccctl", other.socket_count, other.is_default));
    }
    for built_in in &listing.built_in {
        rows.push(plain(&built_in.name, "built into the kernel", built_in.socket_count, built_in.is_default));
    }
    output::table(&["NAME", "ALGORITHM", "SOCKETS", "AGE", "CHANGED PARAMETERS", "DEFAULT"], rows)?;
    for reason in &listing.unreadable {
        output::line(&format!("not counted: {reason}"))?;
    }
    Ok(())
}

fn mark(is_default: bool) -> String {
    if is_default { "*" } else { "" }.to_owned()
}
