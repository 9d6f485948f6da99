// SPDX-License-Identifier: MIT OR Apache-2.0
//! What runs.

use ccctl_console::output;
use ccctl_loader::{
    available_algorithms, count_sockets, current_default, other_bpf_algorithms, Instance, SocketCounts,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::settings::ShownParameter;
use crate::Operation;

/// List instances, built-in algorithms, the default of the caller's network namespace, and the sockets of each.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct List {}

/// What runs.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Listing {
    /// Kernel name, as in `net.ipv4.tcp_congestion_control`: the default of the caller's network namespace.
    pub congestion_control: String,
    /// Instances.
    pub instances: Vec<ListedInstance>,
    /// Algorithms that the kernel has by itself.
    pub built_in: Vec<ListedName>,
    /// BPF algorithms that something else has loaded.
    pub others: Vec<ListedOther>,
    /// Network namespaces whose sockets could not be counted, and why.
    pub unreadable: Vec<String>,
}

/// An instance, in short.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ListedInstance {
    /// Kernel name.
    pub name: String,
    /// Sockets that use it.
    pub socket_count: usize,
    /// Is it the default of the caller's network namespace?
    pub is_default: bool,
    /// Algorithm, as `ccctl algorithms` lists it.
    pub algorithm: String,
    /// Profile that its first parameters came from; empty: none.
    pub profile: String,
    /// The kernel's id of its `struct_ops` map.
    pub map_id: u32,
    /// When its program was loaded, RFC 3339.
    pub loaded_at: String,
    /// Sockets that use a program from before a swap.
    pub sockets_on_old_program: usize,
    /// Parameters, in the order of their declaration.
    pub parameters: Vec<ShownParameter>,
}

/// An algorithm that the kernel has by itself.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ListedName {
    /// Kernel name.
    pub name: String,
    /// Sockets that use it.
    pub socket_count: usize,
    /// Is it the default of the caller's network namespace?
    pub is_default: bool,
}

/// A BPF algorithm that something else has loaded.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ListedOther {
    /// Kernel name.
    pub name: String,
    /// Sockets that use it.
    pub socket_count: usize,
    /// Is it the default of the caller's network namespace?
    pub is_default: bool,
    /// The kernel's id of its `struct_ops` map.
    pub map_id: u32,
}

impl Operation for List {
    type Answer = Listing;
    const NAME: &'static str = "list";
    const TITLE: &'static str = "List instances, built-in algorithms, the default, and the sockets of each";

    fn changes(&self) -> bool {
        false
    }

    fn run(&self) -> anyhow::Result<Listing> {
        let available = available_algorithms()?;
        let instances = Instance::all()?;
        let others = other_bpf_algorithms(&available, &instances)?;
        let counts = count_sockets("")?;
        let default = current_default()?;
        let is_bpf = |name: &String| {
            instances.iter().any(|instance| instance.name == *name) || others.iter().any(|other| other.name == *name)
        };
        let name = |name: &str| ListedName {
            name: name.to_owned(),
            socket_count: counts.of(name).sockets,
            is_default: name == default,
        };
        let other = |other: &ccctl_loader::OtherAlgorithm| {
            let ListedName { name, socket_count, is_default } = name(&other.name);
            ListedOther { name, socket_count, is_default, map_id: other.map_id }
        };
        Ok(Listing {
            instances: instances.iter().map(|instance| listed(instance, &counts, &default)).collect(),
            built_in: available.iter().filter(|name| !is_bpf(name)).map(|built_in| name(built_in)).collect(),
            others: others.iter().map(other).collect(),
            congestion_control: default,
            unreadable: counts.unreadable,
        })
    }
}

fn listed(instance: &Instance, counts: &SocketCounts, default: &str) -> ListedInstance {
    let usage = counts.of(&instance.name);
    ListedInstance {
        name: instance.name.clone(),
        socket_count: usage.sockets,
        is_default: instance.name == default,
        algorithm: instance.identity.algorithm.clone(),
        profile: instance.identity.profile.clone(),
        map_id: instance.map_id,
        loaded_at: output::time(instance.loaded_at),
        sockets_on_old_program: usage.on_other_map(instance.map_id),
        parameters: ShownParameter::all_in_force(&instance.parameters),
    }
}
