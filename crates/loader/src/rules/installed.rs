// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rules in the kernel: link -> program -> maps -> rules. Only the link is pinned.

use std::collections::HashMap;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

use bytemuck::Pod;
use ccctl_catalog::kernel::c_text;
use libbpf_rs::{Link, MapCore as _, MapFlags, MapHandle};

use super::cgroup::CgroupPath;
use super::conditions::Conditions;
use super::parameters::RuleParameters;
use super::record::{self, RULES_FORMAT, RULES_FORMAT_OF_ALGORITHMS};
use super::settings::SocketSettings;
use super::table::{Choice, Rule, RuleContent, RuleTable, Selector};
use crate::bpffs::PinFolder;
use crate::error::{Error, Result};
use crate::pod::first_of;
use crate::prefix::Prefix;
use crate::sys;

/// Replacements that one reading may meet.
const READ_ATTEMPTS: usize = 5;

/// Id of the program that holds the rules in force; each change of them makes another one.
pub(crate) fn program_id() -> Result<Option<u32>> {
    let Some(path) = pin()? else { return Ok(None) };
    let link = Link::open(&path).and_then(|link| link.info());
    link.map(|info| Some(info.prog_id)).map_err(|error| Error::libbpf(format!("inspect {}", path.display()), &error))
}

/// What is attached now.
pub(crate) struct Installed {
    pub(crate) link: Link,
    /// Of the program behind the link.
    maps: HashMap<String, MapHandle>,
    header: record::rules_header,
}

impl Installed {
    /// None where there are no rules.
    pub(crate) fn open() -> Result<Option<Self>> {
        for _ in 1..READ_ATTEMPTS {
            let Some(path) = pin()? else { return Ok(None) };
            match Self::read(&path) {
                Ok(installed) => return Ok(Some(installed)),
                Err(error @ Error::Host { .. }) => return Err(error),
                Err(_) => {} // replaced or removed at this moment
            }
        }
        let Some(path) = pin()? else { return Ok(None) };
        Self::read(&path).map(Some)
    }

    fn read(path: &Path) -> Result<Self> {
        let failed = |error: libbpf_rs::Error| Error::libbpf(format!("open {}", path.display()), &error);
        let link = Link::open(path).map_err(failed)?;
        let id = link.info().map_err(failed)?.prog_id;
        let failed = |error| Error::kernel(format!("read program {id} of the rules"), error);
        let program = sys::program_by_id(id).map_err(failed)?;
        let mut maps = HashMap::new();
        for id in sys::program_details(program.as_fd()).map_err(failed)?.map_ids {
            let map = MapHandle::from_map_id(id)
                .map_err(|error| Error::libbpf(format!("open map {id} of the rules"), &error))?;
            maps.insert(map.name().to_string_lossy().into_owned(), map);
        }
        let mut installed = Self { link, maps, header: record::rules_header::default() };
        installed.header = installed.element("rules_header", 0)?;
        let found = installed.header.format;
        if !(RULES_FORMAT_OF_ALGORITHMS..=RULES_FORMAT).contains(&found) {
            return Err(Error::Host {
                cause: format!(
                    "the rules in the kernel have format {found}, but this ccctl reads up to {RULES_FORMAT}"
                ),
                remedy: format!("run ccctl unassign --all with the ccctl that set them, or rm {}", path.display()),
            });
        }
        Ok(installed)
    }

    /// The maps that a new program or an iterator takes over, by name.
    pub(crate) fn map(&self, name: &str) -> Option<&MapHandle> {
        self.maps.get(name)
    }

    /// Does a rule have conditions? The first element of their map stands for none.
    pub(crate) fn has_conditions(&self) -> bool {
        self.map("rule_conditions").is_some_and(|conditions| conditions.max_entries() > 1)
    }

    fn element<T: Pod>(&self, map: &str, index: u32) -> Result<T> {
        let missing = || Error::kernel(format!("read {map} of the rules"), std::io::Error::other("no such element"));
        let bytes = self.map(map).ok_or_else(missing)?.lookup(&index.to_le_bytes(), MapFlags::ANY);
        let bytes = bytes.map_err(|error| Error::libbpf(format!("read {map} of the rules"), &error))?;
        bytes.and_then(|bytes| first_of(&bytes)).ok_or_else(missing)
    }

    /// The rules.
    pub(crate) fn table(&self) -> Result<RuleTable> {
        let paths = self.paths()?;
        let mut rules = Vec::new();
        for index in 1..=self.header.rules {
            let record: record::rule = self.element("rules", index)?;
            let unreadable =
                || Error::kernel(format!("read rule {}", record.id), std::io::Error::other("its contents are invalid"));
            let mut rule = rule_of(&record, &paths).ok_or_else(unreadable)?;
            if record.settings != 0 {
                rule.content.settings = SocketSettings::of_record(&self.element("rule_settings", record.settings)?);
            }
            if self.has_conditions() {
                rule.selector.conditions = Conditions::of_record(&self.element("rule_conditions", index)?);
            }
            if let Some(parameters) = self.parameters(record.id)? {
                rule.content.parameters = parameters;
            }
            rules.push(rule);
        }
        Ok(RuleTable::of_parts(rules, self.header.next_id))
    }

    /// Those of a rule; None where it has none, or is of a format without any.
    fn parameters(&self, id: u32) -> Result<Option<RuleParameters>> {
        let Some(map) = self.map("rule_parameters") else { return Ok(None) };
        let bytes = map.lookup(&id.to_le_bytes(), MapFlags::ANY);
        let bytes = bytes.map_err(|error| Error::libbpf("read the parameters of the rules", &error))?;
        Ok(bytes.and_then(|bytes| first_of(&bytes)).as_ref().map(RuleParameters::of_record))
    }

    /// Has a rule parameters?
    pub(crate) fn has_parameters(&self) -> bool {
        self.header.format == RULES_FORMAT
    }

    /// Paths of the cgroups that rules name, by node.
    fn paths(&self) -> Result<HashMap<u32, CgroupPath>> {
        let failed = |error: libbpf_rs::Error| Error::libbpf("read the cgroups of the rules", &error);
        let mut parents = HashMap::new();
        if let Some(nodes) = self.map("cgroup_nodes") {
            for key in nodes.keys() {
                let Some(value) = nodes.lookup(&key, MapFlags::ANY).map_err(failed)? else { continue };
                if let (Some(key), Some(node)) =
                    (first_of::<record::cgroup_key>(&key), first_of::<record::cgroup_node>(&value))
                {
                    parents.insert(node.id, (key.parent, c_text(&key.name)));
                }
            }
        }
        let path = |node: u32| {
            let mut names = Vec::new();
            let mut at = node;
            while let Some((parent, name)) = parents.get(&at) {
                names.push(name.as_str());
                at = *parent;
            }
            CgroupPath::of_components(names.into_iter().rev())
        };
        let nodes = parents.keys().copied().chain([0]);
        Ok(nodes.map(|node| (node, path(node))).collect())
    }
}

/// Where the link is pinned; None where there are no rules. Only those who may look know that there is nothing.
fn pin() -> Result<Option<PathBuf>> {
    let Some(path) = PinFolder::find()?.map(|folder| folder.rules()) else { return Ok(None) };
    match path.try_exists() {
        Ok(exists) => Ok(exists.then_some(path)),
        Err(error) => Err(Error::kernel(format!("look for {}", path.display()), error)),
    }
}

fn rule_of(record: &record::rule, paths: &HashMap<u32, CgroupPath>) -> Option<Rule> {
    let to = match record.family {
        0 => None,
        family => Some(Prefix::of_octets(family, record.address, record.prefix_bits)?),
    };
    let to_port = Some(record.port).filter(|port| *port != 0);
    let cgroup = paths.get(&record.node)?.clone();
    let selector = Selector { cgroup, to, to_port, conditions: Conditions::default() };
    let names = |choice: &record::rule_choice| {
        choice.names.iter().map(|name| c_text(name)).filter(|name| !name.is_empty()).collect::<Vec<_>>()
    };
    let choices = record.choice.get(..record.choices as usize)?;
    let choices: Vec<Choice> =
        choices.iter().map(|choice| Choice { names: names(choice), weight: choice.weight }).collect();
    Some(Rule { id: record.id, selector, content: RuleContent::from(choices), added_ns: record.added_ns })
}
