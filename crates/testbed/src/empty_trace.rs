// SPDX-License-Identifier: GPL-2.0-only
//! Programs that do nothing where the ACK clock has its own: what the kernel takes to get there and back.

use std::os::fd::{AsFd as _, AsRawFd as _};

use libbpf_rs::{Link, Object, ObjectBuilder};

use super::TestbedError;

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/empty_trace.bpf.o"));

/// Where one of them is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmptyAt {
    /// The entry of `tcp_ack()`.
    Entry,
    /// Its return.
    Return,
    /// The trace point `tcp_probe`.
    Probe,
}

/// Attached while it lives.
pub struct EmptyTrace {
    _object: Object,
    _links: Vec<Link>,
}

impl EmptyTrace {
    /// Does the kernel refuse programs there even to root, as some do at the entry and the return of functions?
    pub fn is_refused(places: &[EmptyAt]) -> Result<bool, TestbedError> {
        match Self::try_attach(places) {
            Err(error) if error.kind() == libbpf_rs::ErrorKind::PermissionDenied => Ok(true),
            attached => attached.map(|_| false).map_err(TestbedError::bpf("attach programs that do nothing")),
        }
    }

    /// Attaches those that are named.
    pub fn attach(places: &[EmptyAt]) -> Result<Self, TestbedError> {
        Self::try_attach(places).map_err(TestbedError::bpf("attach programs that do nothing"))
    }

    fn try_attach(places: &[EmptyAt]) -> libbpf_rs::Result<Self> {
        let mut object = ObjectBuilder::default().open_memory(OBJECT)?;
        for mut program in object.progs_mut() {
            let place = match program.name().to_str() {
                Some("empty_entry") => EmptyAt::Entry,
                Some("empty_return") => EmptyAt::Return,
                _ => EmptyAt::Probe,
            };
            program.set_autoload(places.contains(&place));
        }
        let object = object.load()?;
        let loaded = object.progs_mut().filter(|program| program.as_fd().as_raw_fd() >= 0);
        let links = loaded.map(|program| program.attach()).collect::<Result<_, _>>()?;
        Ok(Self { _object: object, _links: links })
    }
}
