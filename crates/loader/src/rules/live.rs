// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rules and the sockets that are alive, through the iterator in `bpf/policy/rule_sockets.bpf.c`.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use bytemuck::bytes_of;
use ccctl_catalog::kernel::{c_text, text, AF_INET};
use libbpf_rs::{Iter, Link, MapCore as _, MapFlags, Object};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cgroup::CgroupPath;
use super::installed::Installed;
use super::object::load_iterator;
use super::record::{self, rule_query, rule_report, RULE_CGROUP_NAME_BYTES};
use crate::error::{Error, Result};
use crate::netns::{Namespace, NamespaceScan};
use crate::object::map_of;
use crate::pod::first_of;
use crate::sockets::{reason, Failure, MOST_PASSES};

const READ_BYTES: usize = 1 << 16;

/// What was done to live sockets.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Moved {
    /// Sockets that the change concerned.
    pub found: usize,
    /// Those that use another program now.
    pub moved: usize,
    /// Those of which the kernel has other settings now.
    #[serde(default)]
    pub settings_changed: usize,
    /// Those that have other parameters of their own now, or none any more.
    #[serde(default)]
    pub parameters_changed: usize,
    /// Those that could not be changed.
    pub failed: Vec<Failure>,
    /// Namespaces that could not be entered, and why.
    pub unreadable: Vec<String>,
}

impl Moved {
    /// What another change did besides.
    pub(super) fn add(&mut self, other: Self) {
        self.found += other.found;
        self.add_changes(&other);
        self.failed.extend(other.failed);
        self.unreadable = other.unreadable; // each change looks into all namespaces
    }

    fn add_changes(&mut self, other: &Self) {
        self.moved += other.moved;
        self.settings_changed += other.settings_changed;
        self.parameters_changed += other.parameters_changed;
    }

    fn changed(&self) -> usize {
        self.moved + self.settings_changed + self.parameters_changed
    }
}

/// A socket, what it met, and what it would meet now.
pub(crate) struct RuleSocket {
    pub(crate) report: rule_report,
    /// Of one socket that was asked for by its cookie; otherwise the root.
    pub(crate) cgroup: CgroupPath,
    pub(crate) namespace: String,
}

impl RuleSocket {
    pub(crate) fn source(&self) -> SocketAddr {
        SocketAddr::new(self.report.address(&self.report.source), self.report.source_port)
    }

    pub(crate) fn destination(&self) -> SocketAddr {
        SocketAddr::new(self.report.address(&self.report.destination), self.report.destination_port)
    }
}

impl rule_report {
    fn address(&self, bytes: &[u8; 16]) -> IpAddr {
        if u32::from(self.family) == AF_INET {
            Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3]).into()
        } else {
            Ipv6Addr::from(*bytes).into()
        }
    }
}

const QUERY: &str = ".data.query";

/// The iterator, loaded for one task. The verifier takes longer than a run does, so it is loaded once for many.
struct RuleIterator {
    link: Link,
    object: Object,
}

impl RuleIterator {
    fn load(installed: Option<&Installed>, task: u32) -> Result<Self> {
        let object = load_iterator(installed, task)?;
        let missing = || Error::kernel("find the iterator of the rules", std::io::Error::other("no program"));
        let program = object.progs_mut().find(|program| program.name() == "visit");
        let link = program.ok_or_else(missing)?.attach();
        let link = link.map_err(|error| Error::libbpf("open the iterator of the rules", &error))?;
        Ok(Self { link, object })
    }

    /// Runs it in every namespace; what cannot be entered is named in the second list.
    fn run(&self, query: &rule_query) -> Result<(Vec<RuleSocket>, Vec<String>)> {
        self.put(QUERY, 0, bytes_of(query))?;
        for what in 0..record::RULE_TALLIES {
            self.put("rule_tallies", what, &0_u64.to_le_bytes())?;
        }
        let scan = NamespaceScan::all()?;
        let (mut sockets, mut unreadable) = (Vec::new(), scan.unreadable);
        for namespace in &scan.found {
            match self.run_in(namespace) {
                Ok(bytes) => sockets.extend(parse(&bytes, &namespace.label)),
                Err(Error::Gone { .. }) => {}
                Err(error) => unreadable.push(error.to_string()),
            }
        }
        Ok((sockets, unreadable))
    }

    fn run_in(&self, namespace: &Namespace) -> Result<Vec<u8>> {
        namespace.run(|| {
            let failed = |error| Error::kernel("read the iterator of the rules", error);
            let mut iterator =
                Iter::new(&self.link).map_err(|error| Error::libbpf("open the iterator of the rules", &error))?;
            let mut bytes = Vec::new();
            let mut buffer = vec![0; READ_BYTES];
            loop {
                match iterator.read(&mut buffer) {
                    Ok(0) => return Ok(bytes),
                    Ok(count) => bytes.extend_from_slice(&buffer[..count]),
                    Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {}
                    Err(error) => return Err(failed(error)),
                }
            }
        })
    }

    fn tally(&self, what: u32) -> Result<usize> {
        let count = self.number("rule_tallies", &what.to_le_bytes())?;
        Ok(count.unwrap_or(0) as usize)
    }

    fn put(&self, map: &str, key: u32, value: &[u8]) -> Result<()> {
        let put = map_of(&self.object, map)?.update(&key.to_le_bytes(), value, MapFlags::ANY);
        put.map_err(|error| Error::libbpf("tell the iterator of the rules what to do", &error))
    }

    fn number(&self, map: &str, key: &[u8]) -> Result<Option<u64>> {
        let value = map_of(&self.object, map)?.lookup(key, MapFlags::ANY);
        let value = value.map_err(|error| Error::libbpf("read the iterator's counts", &error))?;
        Ok(value.and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes))
    }
}

fn parse(bytes: &[u8], namespace: &str) -> Vec<RuleSocket> {
    const NAME_BYTES: usize = RULE_CGROUP_NAME_BYTES as usize;
    let mut found = Vec::new();
    let mut rest = bytes;
    while let Some(report) = first_of::<rule_report>(rest) {
        rest = &rest[size_of::<rule_report>()..];
        let mut names = Vec::new();
        for _ in 0..report.depth {
            let Some((name, after)) = rest.split_at_checked(NAME_BYTES) else { break };
            names.push(text(name));
            rest = after;
        }
        let cgroup = CgroupPath::of_components(names.iter().map(String::as_str));
        found.push(RuleSocket { report, cgroup, namespace: namespace.to_owned() });
    }
    found
}

/// Changes live sockets.
pub(super) struct Changer(RuleIterator);

impl Changer {
    pub(super) fn load(installed: &Installed) -> Result<Self> {
        RuleIterator::load(Some(installed), record::RULE_CHANGE).map(Self)
    }

    /// Makes one `rule_change`, of the rule with this id where it is of one. Passes again until nothing is found to change.
    pub(super) fn change(&self, change: u32, rule_id: u32) -> Result<Moved> {
        let query = rule_query { cookie: 0, change, rule_id };
        let mut all = self.pass(&query)?;
        let mut changed_now = all.changed();
        for _ in 1..MOST_PASSES {
            if changed_now == 0 {
                break;
            }
            let more = self.pass(&query)?;
            changed_now = more.changed();
            all.add_changes(&more);
            let most = all.moved.max(all.settings_changed).max(all.parameters_changed);
            all.found = all.found.max(more.found).max(most);
            (all.failed, all.unreadable) = (more.failed, more.unreadable);
        }
        Ok(all)
    }

    fn pass(&self, query: &rule_query) -> Result<Moved> {
        let (failed, unreadable) = self.0.run(query)?;
        let failure = |socket: &RuleSocket| Failure {
            socket: format!("{} -> {}", socket.source(), socket.destination()),
            reason: match socket.report.error {
                0 => format!("settings: {}", reason(socket.report.settings_error)),
                error => reason(error),
            },
        };
        Ok(Moved {
            found: self.0.tally(record::RULE_FOUND)?,
            moved: self.0.tally(record::RULE_MOVED)?,
            settings_changed: self.0.tally(record::RULE_SET)?,
            parameters_changed: self.0.tally(record::RULE_PARAMETERS)?,
            failed: failed.iter().map(failure).collect(),
            unreadable,
        })
    }
}

/// How many live sockets have met each rule.
pub(crate) fn usage(installed: Option<&Installed>) -> Result<BTreeMap<u32, usize>> {
    let mut counts = BTreeMap::new();
    let Some(installed) = installed else { return Ok(counts) };
    let iterator = RuleIterator::load(Some(installed), record::RULE_COUNT)?;
    iterator.run(&rule_query::default())?;
    for rule in installed.table()?.rules() {
        if let Some(count) = iterator.number("rule_usage", &rule.id.to_le_bytes())? {
            counts.insert(rule.id, count as usize);
        }
    }
    Ok(counts)
}

/// The sockets that `is_wanted`, each with its cgroup.
pub(crate) fn sockets(
    installed: Option<&Installed>,
    is_wanted: impl Fn(&RuleSocket) -> bool,
) -> Result<Vec<RuleSocket>> {
    let iterator = RuleIterator::load(installed, record::RULE_REPORT)?;
    let (all, _) = iterator.run(&rule_query::default())?;
    let mut found = Vec::new();
    for socket in all.iter().filter(|socket| is_wanted(socket)) {
        // Once more, alone: paths of cgroups are long, and nobody reads those of all sockets. It may be gone by now.
        found.extend(iterator.run(&rule_query { cookie: socket.report.cookie, ..Default::default() })?.0);
    }
    Ok(found)
}

impl record::rule_assignment {
    pub(crate) fn names(&self) -> [String; 3] {
        [c_text(&self.wanted), c_text(&self.given), c_text(&self.before)]
    }
}
