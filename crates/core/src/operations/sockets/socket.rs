// SPDX-License-Identifier: MIT OR Apache-2.0
//! One socket as it is told.

use ccctl_loader::{CgroupPaths, Owners, ProgramLayouts, SocketRecord, Transport};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A TCP socket.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Socket {
    /// `SO_COOKIE`: never reused while the host runs.
    pub cookie: u64,
    /// Network namespace: its name, or the process that it was found through.
    pub namespace: String,
    /// State of the connection, as `ss` has it.
    pub state: String,
    /// Local address and port.
    pub source: String,
    /// Remote address and port.
    pub destination: String,
    /// Kernel name, as in `net.ipv4.tcp_congestion_control`.
    pub congestion_control: String,
    /// Algorithm, as `ccctl algorithms` lists it; none for what is built into the kernel or loaded by something else.
    pub algorithm: Option<String>,
    /// The kernel's id of the program's `struct_ops` map; none for built-in algorithms.
    pub map_id: Option<u32>,
    /// The name leads to another program now, or to none: it was swapped or unloaded under the socket.
    pub is_on_old_program: bool,
    /// Cgroup (v2) that the socket was made in; none when it was removed since.
    pub cgroup: Option<String>,
    /// Its id; none where the kernel does not tell.
    pub cgroup_id: Option<u64>,
    /// Processes that have it open; none where they were not asked for.
    pub owners: Option<Vec<Owner>>,
    /// What TCP knows of the connection; none for listening sockets.
    pub transport: Option<Transport>,
    /// What the algorithm keeps for this socket, by field; none for built-in algorithms or where it was not asked for.
    pub algorithm_state: Option<Map<String, Value>>,
}

/// A process that has a socket open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Owner {
    /// Process.
    pub pid: u32,
    /// Its name.
    pub command: String,
}

/// What is looked up once for many sockets.
pub struct LookUp {
    cgroups: CgroupPaths,
    programs: ProgramLayouts,
    owners: Option<Owners>,
    with_state: bool,
}

impl LookUp {
    /// Nothing looked up yet; owners, and what algorithms keep, only where asked for.
    pub fn new(owners: Option<Owners>, with_state: bool) -> Self {
        Self { cgroups: CgroupPaths::default(), programs: ProgramLayouts::default(), owners, with_state }
    }

    /// From now on these are the owners.
    pub fn set_owners(&mut self, owners: Option<Owners>) {
        self.owners = owners;
    }

    /// Tells all of a socket.
    pub fn describe(&mut self, namespace: &str, record: &SocketRecord) -> anyhow::Result<Socket> {
        let congestion_control = record.algorithm();
        let map_id = record.map_id();
        let program = self.programs.of(&congestion_control, map_id)?;
        let contents = program.and_then(|program| program.contents.as_ref());
        let state = contents.filter(|_| self.with_state).map(|(_, layout)| {
            let value =
                |field: &ccctl_catalog::Field| field.value(record.algorithm_state()).map_or(Value::Null, number);
            layout.state.iter().map(|field| (field.name.clone(), value(field))).collect()
        });
        let is_on_old_program = program.is_some_and(|program| program.is_old);
        Ok(Socket {
            cookie: record.cookie(),
            namespace: namespace.to_owned(),
            state: record.state().name().to_owned(),
            source: record.source().to_string(),
            destination: record.destination().to_string(),
            algorithm: contents.map(|(name, _)| name.clone()),
            map_id: Some(map_id).filter(|id| *id != 0),
            is_on_old_program,
            cgroup: self.cgroups.of(record.cgroup_id()).map(str::to_owned),
            cgroup_id: Some(record.cgroup_id()).filter(|id| *id != 0),
            owners: self.owners.as_ref().map(|owners| owners.of(record.cookie()).into_iter().map(owner).collect()),
            transport: record.transport(),
            algorithm_state: state,
            congestion_control,
        })
    }
}

/// Fields have at most 64 bits.
fn number(value: i128) -> Value {
    i64::try_from(value).map(Value::from).or_else(|_| u64::try_from(value).map(Value::from)).unwrap_or_default()
}

fn owner(owner: ccctl_loader::Owner) -> Owner {
    Owner { pid: owner.pid, command: owner.command }
}
