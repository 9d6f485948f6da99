// SPDX-License-Identifier: MIT OR Apache-2.0
//! For whom a rule is, from the words of a request.

use ccctl_console::UsageError;
use ccctl_loader::{cgroup_of_unit, is_unit_name, CgroupPath, CgroupTree, Conditions, Prefix, Selector};

/// A cgroup by one of its names, and which of its connections.
#[derive(Debug, Clone, Copy)]
pub struct RuleTarget<'a> {
    /// A path, or the name of a systemd unit.
    pub cgroup: Option<&'a str>,
    /// The name of a systemd unit.
    pub unit: Option<&'a str>,
    /// A process in it.
    pub pid: Option<u32>,
    /// Prefix of the peer's address.
    pub dst: Option<&'a str>,
    /// Port of the service.
    pub port: Option<u16>,
    /// What else it must meet.
    pub conditions: Conditions,
}

impl RuleTarget<'_> {
    /// The selector. A path must lead to a cgroup unless `absent_ok`: a mistyped one would match nothing, and nobody
    /// would be told. A unit's cgroup may come later: systemd knows the unit.
    pub fn selector(&self, absent_ok: bool) -> anyhow::Result<Selector> {
        let to = self.dst.map(str::parse::<Prefix>).transpose()?;
        if self.port == Some(0) {
            return Err(UsageError::new(
                "port 0 is not a service",
                "use a port of 1 to 65535, or leave it out for all ports",
            )
            .into());
        }
        let cgroup = self.cgroup(absent_ok)?;
        Ok(Selector { cgroup, to, to_port: self.port, conditions: self.conditions })
    }

    fn cgroup(&self, absent_ok: bool) -> anyhow::Result<CgroupPath> {
        let tree = CgroupTree::find()?;
        match (self.cgroup, self.unit, self.pid) {
            (Some(word), None, None) if is_unit_name(word) => Ok(cgroup_of_unit(&tree, word)?),
            (Some(word), None, None) => {
                let path = tree.path(word)?;
                if !absent_ok {
                    tree.require(&path)?;
                }
                Ok(path)
            }
            (None, Some(unit), None) => Ok(cgroup_of_unit(&tree, unit)?),
            (None, None, Some(pid)) => of_process(pid),
            _ => Err(UsageError::new(
                "a rule needs exactly one of cgroup, unit and pid",
                "use --cgroup PATH, --unit UNIT or --pid PID",
            )
            .into()),
        }
    }
}

fn of_process(pid: u32) -> anyhow::Result<CgroupPath> {
    let path = CgroupTree::of_process(pid)?;
    if path == CgroupPath::root() {
        let cause = format!("process {pid} is in the root cgroup, which contains the whole host");
        return Err(UsageError::new(cause, "use --cgroup / if you mean the whole host").into());
    }
    Ok(path)
}
