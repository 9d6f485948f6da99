// SPDX-License-Identifier: MIT OR Apache-2.0
//! The iterators, loaded for one question.

use std::cell::RefCell;
use std::io::{ErrorKind, Read as _};
use std::marker::PhantomData;
use std::os::fd::{AsFd as _, BorrowedFd};

use bytemuck::{bytes_of, Pod};
use libbpf_rs::{Iter, Link, Map, MapCore as _, MapFlags, MapHandle, Object, ObjectBuilder, OpenObject};

use super::filter::SocketFilter;
use super::program::{algorithm_in, struct_ops_maps};
use super::raw::{socket_query, socket_record};
use crate::error::{privileges_missing, Error, Result};
use crate::netns::Namespace;
use crate::object::map_of;
use crate::pod::values_of;
use crate::sys;
use crate::verifier_log::last_words;

/// The iterator's own buffer in the kernel has half of this.
const READ_BYTES: usize = 1 << 16;
/// Sockets of one process that can be selected by `pid`; the kernel allows a process as many files.
const SELECTED_MOST: u32 = 1 << 20;

/// One of the programs in `sockets.bpf.c`, with the answer that it writes.
pub(crate) struct SocketProgramName<T>(pub(super) &'static str, PhantomData<fn() -> T>);

impl<T> SocketProgramName<T> {
    pub(crate) const fn new(name: &'static str) -> Self {
        Self(name, PhantomData)
    }
}

/// Instances in the kernel that can be told apart by their algorithm, old programs included.
const INSTANCES_MOST: u32 = 1 << 12;
const INSTANCES: &str = "instances";

const SHORT: SocketProgramName<socket_record> = SocketProgramName::new("sockets");
const OWNERS: &str = "owners";
/// Maps that are not even made for programs other than the one that needs them.
const MAPS_OF_ONE: [(&str, &str); 7] = [
    ("seen", "windows"),
    ("news", "windows"),
    ("rule_sockets", "windows"),
    ("rule_notes", "windows"),
    ("counted", "rates"),
    ("rated", "rates"),
    ("followed", "follow"),
];
/// Of a program that the kernel refused before its verifier looked at it.
const NOTHING_VERIFIED: &str = "processed 0 insns";
/// Goes over the sockets that `follow` has met.
pub(super) const SAMPLES: &str = "samples";
/// Goes over all sockets of a namespace for these.
pub(super) const SAMPLES_AMONG_ALL: &str = "samples_among_all";
const FOLLOWED: &str = "followed";

/// An iterator over TCP sockets; opened once in each namespace.
pub(crate) struct SocketIterator<T = socket_record> {
    link: Link,
    owners: Option<Link>,
    algorithm: Option<String>,
    object: Object,
    answer: PhantomData<fn() -> T>,
}

impl SocketIterator {
    /// The sockets that are selected, in short; moved to the algorithm `to` where that is not empty.
    pub(crate) fn load(filter: &SocketFilter, to: &str) -> Result<Self> {
        Self::of(&SHORT, filter, to)
    }
}

impl<T: Pod + Send> SocketIterator<T> {
    pub(super) fn of(program: &SocketProgramName<T>, filter: &SocketFilter, to: &str) -> Result<Self> {
        Self::with(program, &[], filter, to)
    }

    /// Loads these programs, too.
    pub(super) fn with(program: &SocketProgramName<T>, more: &[&str], filter: &SocketFilter, to: &str) -> Result<Self> {
        Self::on(program, more, &[], filter, to)
    }

    /// The same on maps that are there already, by name.
    pub(crate) fn on(
        program: &SocketProgramName<T>,
        more: &[&str],
        maps: &[(&str, &MapHandle)],
        filter: &SocketFilter,
        to: &str,
    ) -> Result<Self> {
        let query = filter.query(to)?;
        let owners = (query.pid != 0).then_some(OWNERS);
        let programs: Vec<&str> = std::iter::once(program.0).chain(more.iter().copied()).chain(owners).collect();
        let object = load(&query, &programs, maps)?;
        let owners = owners.map(|name| attach(&object, name)).transpose()?;
        let algorithm = filter.algorithm.clone();
        let iterator = Self { link: attach(&object, program.0)?, owners, algorithm, object, answer: PhantomData };
        iterator.select()?;
        Ok(iterator)
    }

    /// Where a process is asked for: notes which sockets it has open now, besides those that it had before. Where an
    /// algorithm is asked for: notes which instances there are now.
    pub(super) fn select(&self) -> Result<()> {
        self.owners.as_ref().map_or(Ok(()), |owners| read_all(owners, |_| {}))?;
        self.algorithm.as_deref().map_or(Ok(()), |algorithm| self.note_instances(algorithm))
    }

    /// Notes of each instance whether it is one of this algorithm.
    fn note_instances(&self, algorithm: &str) -> Result<()> {
        let instances = self.map(INSTANCES)?;
        for map_id in struct_ops_maps() {
            let is_known = instances.lookup(&map_id.to_ne_bytes(), MapFlags::ANY).is_ok_and(|value| value.is_some());
            let Some(name) = (if is_known { None } else { algorithm_in(map_id) }) else { continue };
            let value = [u8::from(name == algorithm)];
            let noted = instances.update(&map_id.to_ne_bytes(), &value, MapFlags::ANY);
            noted.map_err(|error| Error::libbpf("note which instances are of the algorithm", &error))?;
        }
        Ok(())
    }

    /// The iterator over the sockets that `follow` has met.
    pub(super) fn samples(&self) -> Result<SocketSamples> {
        let program = self.object.progs_mut().find(|program| program.name() == SAMPLES);
        let program = program.ok_or_else(|| Error::kernel(format!("find the iterator {SAMPLES}"), no_program()))?;
        let map = self.map(FOLLOWED)?;
        let link = program.attach_iter(map.as_fd());
        let buffer = RefCell::new(vec![0; READ_BYTES]);
        link.map(|link| SocketSamples { link, buffer })
            .map_err(|error| Error::libbpf(format!("attach the iterator {SAMPLES}"), &error))
    }

    /// The iterator that finds them among all.
    pub(super) fn samples_among_all(&self) -> Result<Link> {
        attach(&self.object, SAMPLES_AMONG_ALL)
    }

    /// Runs it over the sockets of a namespace; `tell` gets some of them at a time.
    pub(crate) fn each(&self, namespace: &Namespace, mut tell: impl FnMut(T) + Send) -> Result<()> {
        namespace.run(|| read_all(&self.link, |bytes| values_of(bytes).for_each(&mut tell)))
    }

    /// All sockets of a namespace.
    pub(crate) fn all(&self, namespace: &Namespace) -> Result<Vec<T>> {
        let mut records = Vec::new();
        self.each(namespace, |record| records.push(record))?;
        Ok(records)
    }

    pub(super) fn link(&self) -> BorrowedFd<'_> {
        self.link.as_fd()
    }

    pub(crate) fn map(&self, name: &str) -> Result<Map<'_>> {
        map_of(&self.object, name)
    }
}

/// The iterator `samples`, with a buffer that stays: it runs many times a second.
pub(super) struct SocketSamples {
    link: Link,
    buffer: RefCell<Vec<u8>>,
}

impl SocketSamples {
    /// Runs it once.
    pub(super) fn each<T: Pod>(&self, mut tell: impl FnMut(T)) -> Result<()> {
        read_into(&self.link, &mut self.buffer.borrow_mut(), |bytes| values_of(bytes).for_each(&mut tell))
    }
}

/// What `samples_among_all` finds in a namespace.
pub(super) fn samples_in<T: Pod + Send>(link: &Link, namespace: &Namespace) -> Result<Vec<T>> {
    let mut samples = Vec::new();
    namespace.run(|| read_all(link, |bytes| samples.extend(values_of::<T>(bytes))))?;
    Ok(samples)
}

/// Who has which socket open: `owners` by itself.
pub(super) struct OwnersIterator {
    link: Link,
    _object: Object,
}

impl OwnersIterator {
    pub(super) fn load() -> Result<Self> {
        let object = load(&socket_query::default(), &[OWNERS], &[])?;
        Ok(Self { link: attach(&object, OWNERS)?, _object: object })
    }

    pub(super) fn each<T: Pod>(&self, mut tell: impl FnMut(T)) -> Result<()> {
        read_all(&self.link, |bytes| values_of(bytes).for_each(&mut tell))
    }
}

fn load(query: &socket_query, programs: &[&str], maps: &[(&str, &MapHandle)]) -> Result<Object> {
    let (result, log) = sys::with_log(|| prepare(query, programs, maps)?.load());
    result.map_err(|error| {
        if log.contains("PROG LOAD LOG") && !log.contains(NOTHING_VERIFIED) {
            let cause = std::io::Error::other(last_words(&log, &error.to_string()));
            return Error::kernel("verify the socket iterator", cause);
        }
        if error.kind() == libbpf_rs::ErrorKind::PermissionDenied {
            return privileges_missing("list TCP sockets");
        }
        Error::libbpf(format!("load the socket iterator ({})", log.lines().last().unwrap_or_default()), &error)
    })
}

fn prepare(query: &socket_query, programs: &[&str], maps: &[(&str, &MapHandle)]) -> libbpf_rs::Result<OpenObject> {
    let mut open = ObjectBuilder::default().open_memory(ccctl_catalog::SOCKETS_OBJECT)?;
    for mut map in open.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        if name == ".rodata.query" {
            map.set_initial_value(bytes_of(query))?;
        } else if name == "selected" && query.pid != 0 {
            map.set_max_entries(SELECTED_MOST)?;
        } else if name == INSTANCES && query.algorithm[0] != 0 {
            map.set_max_entries(INSTANCES_MOST)?;
        } else if let Some((_, present)) = maps.iter().find(|(map, _)| *map == name) {
            map.reuse_fd(present.as_fd())?;
        } else if let Some((_, user)) = MAPS_OF_ONE.iter().find(|(map, _)| *map == name) {
            map.set_autocreate(programs.contains(user))?;
        }
    }
    for mut program in open.progs_mut() {
        let wanted = programs.iter().any(|name| program.name() == *name);
        program.set_autoload(wanted);
    }
    Ok(open)
}

fn attach(object: &Object, name: &str) -> Result<Link> {
    let program = object.progs_mut().find(|program| program.name() == name);
    let program = program.ok_or_else(|| Error::kernel(format!("find the iterator {name}"), no_program()))?;
    program.attach().map_err(|error| Error::libbpf(format!("attach the iterator {name}"), &error))
}

fn no_program() -> std::io::Error {
    std::io::Error::other("the object has no such program")
}

pub(super) fn read_all(link: &Link, tell: impl FnMut(&[u8])) -> Result<()> {
    read_into(link, &mut vec![0; READ_BYTES], tell)
}

fn read_into(link: &Link, buffer: &mut [u8], mut tell: impl FnMut(&[u8])) -> Result<()> {
    let mut iterator = Iter::new(link).map_err(|error| Error::libbpf("open the socket iterator", &error))?;
    loop {
        match iterator.read(buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => tell(&buffer[..count]),
            // A signal; or a million sockets for which nothing was written (MAX_ITER_OBJECTS), behind which the next read goes on.
            Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {}
            Err(error) => return Err(Error::kernel("read the socket iterator", error)),
        }
    }
}
