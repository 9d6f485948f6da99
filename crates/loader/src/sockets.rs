//! TCP sockets, through the BPF iterator in `bpf/policy/sockets.bpf.c`.

use std::collections::{BTreeMap, HashMap};
use std::io::Read as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use libbpf_rs::{Iter, Link, Object, ObjectBuilder};
use serde::Serialize;

use crate::error::{Error, Result};
use crate::netns::{Namespace, NamespaceScan};
use crate::{features, sys};

pub(crate) use record::{socket_query, socket_record};

#[allow(clippy::all, clippy::pedantic, missing_docs, non_camel_case_types, unsafe_code, dead_code)]
mod record {
    include!(concat!(env!("OUT_DIR"), "/socket_record.rs"));
}

const PROGRAM: &str = "sockets";
const AF_INET: u16 = 2;
const READ_BYTES: usize = 1 << 16;

/// The iterator, loaded for one question; opened once in each namespace.
pub(crate) struct SocketIterator {
    link: Link,
    _object: Object,
}

impl SocketIterator {
    /// Sockets of algorithm `from` (all where empty); moved to `to` where that is not empty.
    pub(crate) fn load(from: &str, to: &str) -> Result<Self> {
        let mut query = socket_query::default();
        sys::copy_name(&mut query.from, from);
        sys::copy_name(&mut query.to, to);
        let (result, log) = sys::with_log(|| Self::load_logged(sys::query_bytes(&query)));
        result.map_err(|error| {
            if error.kind() == libbpf_rs::ErrorKind::PermissionDenied {
                return features::privileges_missing("list TCP sockets");
            }
            Error::libbpf(format!("load the socket iterator ({})", log.lines().last().unwrap_or_default()), &error)
        })
    }

    fn load_logged(query: &[u8]) -> libbpf_rs::Result<Self> {
        let mut open = ObjectBuilder::default().open_memory(ccctl_catalog::SOCKETS_OBJECT)?;
        for mut map in open.maps_mut() {
            if map.name().to_string_lossy().ends_with(".rodata") {
                map.set_initial_value(query)?;
            }
        }
        let object = open.load()?;
        let program = object.progs_mut().find(|program| program.name() == PROGRAM);
        let program = program.ok_or_else(|| libbpf_rs::Error::from(std::io::Error::other("no program")))?;
        let link = program.attach()?;
        Ok(Self { link, _object: object })
    }

    /// Runs it over the sockets of a namespace.
    pub(crate) fn run(&self, namespace: &Namespace) -> Result<Vec<socket_record>> {
        namespace.run(|| {
            let mut iterator =
                Iter::new(&self.link).map_err(|error| Error::libbpf("open the socket iterator", &error))?;
            let mut bytes = Vec::new();
            let mut buffer = vec![0; READ_BYTES];
            loop {
                match iterator.read(&mut buffer) {
                    Ok(0) => break,
                    Ok(count) => bytes.extend_from_slice(&buffer[..count]),
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(Error::kernel("read the socket iterator", error)),
                }
            }
            Ok(sys::records_of(&bytes))
        })
    }
}

impl socket_record {
    /// Algorithm before any move.
    pub(crate) fn algorithm_name(&self) -> String {
        let bytes = self.algorithm.iter().take_while(|byte| **byte != 0).map(|byte| *byte as u8);
        String::from_utf8_lossy(&bytes.collect::<Vec<_>>()).into_owned()
    }

    /// `source -> destination` as a person would look for it.
    pub(crate) fn label(&self) -> String {
        let address = |bytes: &[u8; 16]| -> IpAddr {
            if self.family == AF_INET {
                Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3]).into()
            } else {
                Ipv6Addr::from(*bytes).into()
            }
        };
        let source = SocketAddr::new(address(&self.source), self.source_port);
        let destination = SocketAddr::new(address(&self.destination), self.destination_port);
        format!("{source} -> {destination}")
    }
}

/// How many sockets use one algorithm.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// Established, listening, closing: all that have an algorithm.
    pub sockets: usize,
    /// By the `struct_ops` map of the program that they use; 0: built-in.
    #[serde(skip)]
    pub by_map: HashMap<u32, usize>,
}

impl Usage {
    /// Sockets whose program is not the one behind the name now.
    #[must_use]
    pub fn on_other_map(&self, map_id: u32) -> usize {
        self.by_map.iter().filter(|(id, _)| **id != map_id).map(|(_, count)| count).sum()
    }
}

/// Sockets of all namespaces that may be entered, by algorithm.
#[derive(Debug, Default)]
pub struct SocketCounts {
    by_algorithm: BTreeMap<String, Usage>,
    /// Namespaces that could not be counted, and why.
    pub unreadable: Vec<String>,
}

impl SocketCounts {
    /// Usage of one algorithm.
    #[must_use]
    pub fn of(&self, algorithm: &str) -> Usage {
        self.by_algorithm.get(algorithm).cloned().unwrap_or_default()
    }

    /// All algorithms in use.
    pub fn algorithms(&self) -> impl Iterator<Item = &str> {
        self.by_algorithm.keys().map(String::as_str)
    }
}

/// Counts sockets by algorithm; only those of `algorithm` where it is not empty.
pub fn count(algorithm: &str) -> Result<SocketCounts> {
    let scan = NamespaceScan::all()?;
    let iterator = SocketIterator::load(algorithm, "")?;
    let mut counts = SocketCounts { unreadable: scan.unreadable, ..SocketCounts::default() };
    for namespace in &scan.found {
        match iterator.run(namespace) {
            Ok(records) => counts.add(&records),
            Err(error) => counts.unreadable.push(error.to_string()),
        }
    }
    Ok(counts)
}

impl SocketCounts {
    fn add(&mut self, records: &[socket_record]) {
        for record in records {
            let usage = self.by_algorithm.entry(record.algorithm_name()).or_default();
            usage.sockets += 1;
            *usage.by_map.entry(record.map_id).or_default() += 1;
        }
    }
}
