// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rules' program and their iterator, from object to kernel.

use std::os::fd::{AsFd as _, OwnedFd};

use bytemuck::{bytes_of, Pod};
use libbpf_rs::{MapCore as _, MapFlags, Object, ObjectBuilder, OpenMapMut, OpenObject};

use super::compile::Compiled;
use super::installed::Installed;
use crate::error::{privileges_missing, Error, Result};
use crate::kernel::available_algorithms;
use crate::own_params::{self, OWN_PARAMS_MAP};
use crate::sys;
use crate::verifier_log::{last_words, write_log};

/// The maps in which sockets remember which algorithm rules have given them.
pub(super) const ALGORITHM_MEMORY_MAPS: [&str; 2] = ["rule_sockets", "rule_notes"];
/// The maps in which sockets remember what they have met: they go from one program to the next.
const MEMORY_MAPS: [&str; 3] = [ALGORITHM_MEMORY_MAPS[0], ALGORITHM_MEMORY_MAPS[1], SETTINGS_NOTES];
/// What sockets had before rules gave them settings.
const SETTINGS_NOTES: &str = "settings_notes";
/// The other maps that an iterator shares with the program.
const SHARED_MAPS: [&str; 11] = [
    "rules_header",
    "rules",
    "rule_settings",
    "rule_conditions",
    "rule_parameters",
    "cgroup_nodes",
    "rule_scopes",
    "rule_prefixes",
    "rule_sets",
    "rule_ports",
    "scope_cache",
];
const SETTINGS_OF_RULES: &str = ".rodata.settings";
const HAS_SETTINGS: &str = ".rodata.has_settings";
const HAS_CONDITIONS: &str = ".rodata.has_conditions";
const HAS_PARAMETERS: &str = ".rodata.has_parameters";
const TASK: &str = ".rodata.task";

/// Loads the program with these rules in its maps. Nothing calls it yet.
pub(crate) fn load_program(compiled: &Compiled, before: Option<&Installed>) -> Result<Object> {
    let settings = compiled.settings_of_rules(&available_algorithms()?);
    let has_settings = u32::from(settings.has != 0 || before.is_some_and(had_settings));
    let has_conditions = compiled.conditions_of_rules();
    let own = OwnParams::of(!compiled.parameters.is_empty())?;
    let object = load("the program of the rules", ccctl_catalog::RULES_OBJECT, |open| {
        for mut map in open.maps_mut() {
            let name = map.name().to_string_lossy().into_owned();
            let kept = before.filter(|_| MEMORY_MAPS.contains(&name.as_str())).and_then(|before| before.map(&name));
            if let Some(kept) = kept {
                map.reuse_fd(kept.as_fd())?;
            } else if name == SETTINGS_OF_RULES {
                map.set_initial_value(bytes_of(&settings))?;
            } else if name == HAS_SETTINGS {
                map.set_initial_value(bytes_of(&has_settings))?;
            } else if name == HAS_CONDITIONS {
                map.set_initial_value(bytes_of(&has_conditions))?;
            } else if own.prepare(&name, &mut map)? {
            } else if let Some(entries) = compiled.entries_of(&name) {
                map.set_max_entries(entries.max(1) as u32)?;
            }
        }
        Ok(())
    })?;
    compiled.fill(&object).map_err(|error| Error::libbpf("write the rules", &error))?;
    Ok(object)
}

/// Loads the iterator for a `rule_task`, on the maps of the rules in force.
pub(crate) fn load_iterator(installed: Option<&Installed>, task: u32) -> Result<Object> {
    let has_settings = u32::from(installed.is_some_and(|installed| has_settings(installed) || had_settings(installed)));
    let has_conditions = u32::from(installed.is_some_and(Installed::has_conditions));
    let own = OwnParams::of(installed.is_some_and(Installed::has_parameters))?;
    load("the iterator of the rules", ccctl_catalog::RULE_SOCKETS_OBJECT, |open| {
        for mut map in open.maps_mut() {
            let name = map.name().to_string_lossy().into_owned();
            if name == TASK {
                map.set_initial_value(bytes_of(&task))?;
            } else if name == HAS_SETTINGS {
                map.set_initial_value(bytes_of(&has_settings))?;
            } else if name == HAS_CONDITIONS {
                map.set_initial_value(bytes_of(&has_conditions))?;
            } else if own.prepare(&name, &mut map)? {
            } else if SHARED_MAPS.iter().chain(&MEMORY_MAPS).any(|shared| *shared == name) {
                if let Some(shared) = installed.and_then(|installed| installed.map(&name)) {
                    map.reuse_fd(shared.as_fd())?;
                }
            }
        }
        Ok(())
    })
}

/// The map of connections' own parameters, where rules have some or have had.
struct OwnParams(Option<OwnedFd>);

impl OwnParams {
    fn of(rules_have_some: bool) -> Result<Self> {
        let pinned = own_params::pinned()?;
        let had = match &pinned {
            Some(map) => own_params::has_any(map)?,
            None => false,
        };
        Ok(Self(pinned.filter(|_| rules_have_some || had)))
    }

    /// True where the map of this name is one of the two that this is about.
    fn prepare(&self, name: &str, map: &mut OpenMapMut<'_>) -> libbpf_rs::Result<bool> {
        match (name, &self.0) {
            (OWN_PARAMS_MAP, Some(shared)) => map.reuse_fd(shared.as_fd())?,
            (HAS_PARAMETERS, own) => map.set_initial_value(bytes_of(&u32::from(own.is_some())))?,
            _ => return Ok(name == OWN_PARAMS_MAP),
        }
        Ok(true)
    }
}

/// A rule has settings. The first element of their map stands for none.
fn has_settings(installed: &Installed) -> bool {
    installed.map("rule_settings").is_some_and(|settings| settings.max_entries() > 1)
}

/// A socket may have been given some, by a rule of now or of before.
fn had_settings(installed: &Installed) -> bool {
    installed.map(SETTINGS_NOTES).is_some_and(|notes| notes.keys().next().is_some())
}

fn load(what: &str, bytes: &[u8], prepare: impl FnOnce(&mut OpenObject) -> libbpf_rs::Result<()>) -> Result<Object> {
    let (loaded, log) = sys::with_log(|| {
        let mut open = ObjectBuilder::default().open_memory(bytes)?;
        prepare(&mut open)?;
        open.load()
    });
    loaded.map_err(|error| load_error(what, &error, &log))
}

fn load_error(what: &str, error: &libbpf_rs::Error, log: &str) -> Error {
    let refused = log.contains("PROG LOAD LOG");
    if !refused && error.kind() == libbpf_rs::ErrorKind::PermissionDenied {
        return privileges_missing(&format!("load {what}"));
    }
    // What libbpf puts in the place of fields that the kernel does not have.
    if log.contains("CO-RE relocation") || log.contains("unknown func") || log.contains("invalid func unknown") {
        return Error::Host {
            cause: "this kernel does not support rules: it lacks BPF features".to_owned(),
            remedy: "use Linux 6.1 or newer".to_owned(),
        };
    }
    let written = write_log("rules", log);
    if refused {
        let cause = last_words(log, &error.to_string());
        let remedy = "report it with the log: these programs are part of ccctl".to_owned();
        return Error::Refused { object: what.to_owned(), cause, remedy, log: written };
    }
    Error::libbpf(format!("load {what} ({})", log.lines().last().unwrap_or_default()), error)
}

impl Compiled {
    /// How many entries the map of this name needs; None where its size is fixed.
    fn entries_of(&self, map: &str) -> Option<usize> {
        Some(match map {
            "rules" => self.rules.len(),
            "rule_settings" => self.settings.len(),
            "rule_conditions" => self.conditions.len(),
            "rule_parameters" => self.parameters.len(),
            "cgroup_nodes" => self.nodes.len(),
            "rule_scopes" => self.scopes.len(),
            "rule_prefixes" => self.prefixes.len(),
            "rule_sets" => self.sets.len(),
            "rule_ports" => self.ports.len(),
            _ => return None,
        })
    }

    fn fill(&self, object: &Object) -> libbpf_rs::Result<()> {
        for map in object.maps() {
            let put = |key: &[u8], value: &[u8]| map.update(key, value, MapFlags::ANY);
            match map.name().to_string_lossy().as_ref() {
                "rules_header" => put(&0_u32.to_le_bytes(), bytes_of(&self.header))?,
                "rules" => fill_array(&self.rules, put)?,
                "rule_settings" => fill_array(&self.settings, put)?,
                "rule_conditions" => fill_array(&self.conditions, put)?,
                "rule_parameters" => {
                    self.parameters.iter().try_for_each(|(id, one)| put(&id.to_le_bytes(), bytes_of(one)))?;
                }
                "rule_scopes" => fill_array(&self.scopes, put)?,
                "rule_sets" => fill_array(&self.sets, put)?,
                "cgroup_nodes" => self.nodes.iter().try_for_each(|(key, node)| put(bytes_of(key), bytes_of(node)))?,
                "rule_prefixes" => {
                    self.prefixes.iter().try_for_each(|(key, set)| put(bytes_of(key), &set.to_le_bytes()))?;
                }
                "rule_ports" => {
                    self.ports.iter().try_for_each(|(key, rule)| put(bytes_of(key), &rule.to_le_bytes()))?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn fill_array<T: Pod>(elements: &[T], put: impl Fn(&[u8], &[u8]) -> libbpf_rs::Result<()>) -> libbpf_rs::Result<()> {
    elements.iter().enumerate().try_for_each(|(index, element)| put(&(index as u32).to_le_bytes(), bytes_of(element)))
}
