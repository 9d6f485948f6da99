// SPDX-License-Identifier: MIT OR Apache-2.0
//! Everything about an algorithm or an instance.

use ccctl_catalog::{algorithm, Algorithm, Field, Profile};
use ccctl_console::output;
use ccctl_loader::{count_sockets, current_default, Error, Instance, ProgramInfo};
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::algorithms::{file_of, needs, title};
use crate::local_algorithms;
use crate::settings::ShownParameter;
use crate::Operation;

/// Show an algorithm or a running instance.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[group(skip)]
#[serde(deny_unknown_fields)]
pub struct Show {
    /// An algorithm (cubic) or a running instance (`bpf_cubic`)
    pub name: String,
}

/// What it is.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Shown {
    /// What can be loaded.
    Algorithm(Box<ShownAlgorithm>),
    /// What runs.
    Instance(ShownInstance),
}

/// An algorithm: what its C file says of it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ShownAlgorithm {
    /// Name.
    pub name: String,
    /// Name and purpose.
    pub title: String,
    /// `production`, or `study` for what has no maintained deployment.
    pub purpose: String,
    /// What it is good for, in a few words.
    pub good_for: String,
    /// When to use it.
    pub use_when: String,
    /// When not to use it.
    pub not_when: String,
    /// Papers and RFCs.
    pub papers: String,
    /// The law in equations, one line each.
    pub law: Vec<String>,
    /// Why the law is as it is.
    pub why: String,
    /// Differences from the paper and from Linux.
    pub differs: String,
    /// Range in which the arithmetic is exact.
    pub range: String,
    /// Kernel features that it needs.
    pub needs: String,
    /// Why it is fenced: only for named destinations, and only while the guard watches it; none: anybody may have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<String>,
    /// Parameters, in the order of their declaration.
    pub parameters: Vec<ShownParameter>,
    /// What is kept per socket.
    pub state_fields: Vec<Field>,
    /// Size of that.
    pub state_bytes: usize,
    /// Profiles with values for it.
    #[serde(default)]
    pub profiles: Vec<String>,
    /// Of one that does not come with ccctl: its object file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

/// An instance, as the kernel shows it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ShownInstance {
    /// Kernel name.
    pub name: String,
    /// Algorithm, as `ccctl algorithms` lists it.
    pub algorithm: String,
    /// Profile that its first parameters came from; empty: none.
    pub profile: String,
    /// The ccctl that loaded it.
    pub ccctl_version: String,
    /// The kernel's id of its `struct_ops` map.
    pub map_id: u32,
    /// The kernel's id of its link; none on kernels without links.
    pub link_id: Option<u32>,
    /// When its program was loaded, RFC 3339.
    pub loaded_at: String,
    /// Is it the default of the caller's network namespace?
    pub is_default: bool,
    /// Parameters, in the order of their declaration.
    pub parameters: Vec<ShownParameter>,
    /// Sockets that use it.
    pub socket_count: usize,
    /// Sockets that use a program from before a swap.
    pub sockets_on_old_program: usize,
    /// Its programs.
    pub programs: Vec<ProgramInfo>,
    /// Does the kernel count calls and time?
    pub statistics_enabled: bool,
}

impl Operation for Show {
    type Answer = Shown;
    const NAME: &'static str = "show";
    const TITLE: &'static str =
        "Show an algorithm (law, source, parameters) or a running instance (parameters, programs, sockets)";

    fn changes(&self) -> bool {
        false
    }

    fn run(&self) -> anyhow::Result<Shown> {
        match Instance::named(&self.name) {
            Ok(instance) => Ok(Shown::Instance(shown_instance(&instance)?)),
            Err(error) => {
                local_algorithms::refresh();
                match (algorithm(&self.name), local_algorithms::refusal_of(&self.name)) {
                    (Some(algorithm), _) => Ok(Shown::Algorithm(Box::new(shown_algorithm(algorithm)))),
                    (None, Some(fault)) => Err(fault.into()),
                    (None, None) => Err(neither(&self.name, error).into()),
                }
            }
        }
    }
}

/// The message that helps most: about algorithms, unless the name looks like an instance's.
fn neither(name: &str, instance_error: Error) -> Error {
    match (ccctl_catalog::closest(name, ccctl_catalog::names()), instance_error) {
        (Some(similar), Error::Unknown { .. }) if !name.starts_with("bpf_") => Error::Unknown {
            kind: "algorithm or instance",
            name: name.to_owned(),
            hint: format!("did you mean {similar}? ccctl algorithms and ccctl list show all"),
        },
        (_, Error::Unknown { hint, .. }) => {
            Error::Unknown { kind: "algorithm or instance", name: name.to_owned(), hint }
        }
        (_, other) => other,
    }
}

fn shown_algorithm(algorithm: &Algorithm) -> ShownAlgorithm {
    let description = algorithm.description();
    let layout = algorithm.layout();
    ShownAlgorithm {
        name: algorithm.name().to_owned(),
        title: title(algorithm, &description),
        purpose: description.purpose,
        good_for: description.good_for,
        use_when: description.use_when,
        not_when: description.not_when,
        papers: description.source,
        law: description.law,
        why: description.why,
        differs: description.differs,
        range: description.range,
        needs: needs(&description.needs),
        fence: layout.fence.clone(),
        parameters: layout.parameters.iter().map(ShownParameter::declared).collect(),
        state_fields: layout.state,
        state_bytes: layout.state_bytes,
        profiles: Profile::names_for(algorithm.name()),
        file: file_of(algorithm),
    }
}

fn shown_instance(instance: &Instance) -> anyhow::Result<ShownInstance> {
    let usage = count_sockets(&instance.name)?.of(&instance.name);
    let statistics = std::fs::read_to_string("/proc/sys/kernel/bpf_stats_enabled");
    Ok(ShownInstance {
        name: instance.name.clone(),
        algorithm: instance.identity.algorithm.clone(),
        profile: instance.identity.profile.clone(),
        ccctl_version: instance.identity.ccctl_version.clone(),
        map_id: instance.map_id,
        link_id: instance.link_id(),
        loaded_at: output::time(instance.loaded_at),
        is_default: current_default()? == instance.name,
        parameters: ShownParameter::all_in_force(&instance.parameters),
        socket_count: usage.sockets,
        sockets_on_old_program: usage.on_other_map(instance.map_id),
        programs: instance.programs.clone(),
        statistics_enabled: statistics.is_ok_and(|text| text.trim() == "1"),
    })
}
