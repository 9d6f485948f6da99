// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program that adds up all sockets, kept in the kernel as long as there are instances: to load it takes longer than
//! everything else that a command does, for libbpf then reads all types of the kernel.

use std::fs::File;
use std::os::fd::AsFd as _;
use std::path::PathBuf;

use libbpf_rs::{Link, MapCore as _, MapHandle};
use nix::fcntl::{Flock, FlockArg};

use super::filter::SocketFilter;
use super::iterator::{read_all, SocketIterator, SocketProgramName};
use super::raw::socket_record;
use crate::bpffs::{PinFolder, PIN_ROOT};
use crate::error::{Error, Result};
use crate::instance::{find_map, open_maps};
use crate::lock::Lock;
use crate::netns::Namespace;
use crate::sys;

/// The program that counts sockets.
pub(super) const TOTALS: SocketProgramName<socket_record> = SocketProgramName::new("totals");
/// Its map.
pub(super) const SUMS: &str = "sums";

/// The kept program, which nobody else runs meanwhile.
pub(super) struct Counter {
    link: Link,
    pub(super) sums: MapHandle,
    _alone: Flock<File>,
}

impl Counter {
    /// None where none is kept, where another process counts at this moment, or where it cannot be used.
    pub(super) fn take() -> Option<Self> {
        let path = pin().ok()?.filter(|path| path.exists())?;
        let alone = Flock::lock(File::open(PIN_ROOT).ok()?, FlockArg::LockExclusiveNonblock).ok()?;
        let link = Link::open(path).ok()?;
        let sums = sums_of(&link).ok()?;
        for key in sums.keys().collect::<Vec<_>>() {
            sums.delete(&key).ok()?;
        }
        Some(Self { link, sums, _alone: alone })
    }

    /// Adds up the sockets of a namespace.
    pub(super) fn add(&self, namespace: &Namespace) -> Result<()> {
        namespace.run(|| read_all(&self.link, |_| {}))
    }
}

/// Keeps the program where none of this build is kept.
pub(crate) fn keep(_lock: &Lock) -> Result<()> {
    let Some(path) = pin()?.filter(|path| !path.exists()) else { return Ok(()) };
    let iterator = SocketIterator::of(&TOTALS, &SocketFilter::default(), "")?;
    sys::pin(iterator.link(), &path).map_err(|error| Error::kernel("keep the program that counts sockets", error))
}

/// Where this build's program is pinned: another build may have another layout of its sums.
fn pin() -> Result<Option<PathBuf>> {
    Ok(PinFolder::find()?.map(|folder| folder.counter(ccctl_catalog::SOCKETS_HASH)))
}

fn sums_of(link: &Link) -> Result<MapHandle> {
    let failed = |error| Error::kernel("open the program that counts sockets", error);
    let info = link.info().map_err(|error| Error::libbpf("open the program that counts sockets", &error))?;
    let program = sys::program_by_id(info.prog_id).map_err(failed)?;
    let details = sys::program_details(program.as_fd()).map_err(failed)?;
    let maps = open_maps(&details.map_ids).map_err(failed)?;
    let sums = find_map(&maps, SUMS, "the program that counts sockets")?;
    let id = sys::map_info(sums.as_fd()).map_err(failed)?.id;
    MapHandle::from_map_id(id).map_err(|error| Error::libbpf("open the sums of sockets", &error))
}
