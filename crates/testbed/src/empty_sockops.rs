// SPDX-License-Identifier: GPL-2.0-only
//! A sockops program that does nothing: what connections pay to the kernel for calling one.

use std::fs::File;
use std::os::fd::AsRawFd as _;

use libbpf_rs::{Link, ObjectBuilder};

use super::cgroup::mount;
use super::TestbedError;

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/empty_sockops.bpf.o"));

/// Attached to the root of the cgroup tree, until it is dropped.
#[derive(Debug)]
pub struct EmptySockops {
    _link: Link,
}

impl EmptySockops {
    /// Loads and attaches it.
    pub fn attach() -> Result<Self, TestbedError> {
        let step = || TestbedError::bpf("attach a sockops program that does nothing".to_owned());
        let root = mount()?;
        let root = File::open(&root).map_err(TestbedError::io(format!("open {}", root.display())))?;
        let object =
            ObjectBuilder::default().open_memory(OBJECT).and_then(libbpf_rs::OpenObject::load).map_err(step())?;
        let program = object.progs_mut().next();
        let program = program.ok_or_else(|| TestbedError::Unexpected("no sockops program".to_owned()))?;
        Ok(EmptySockops { _link: program.attach_cgroup(root.as_raw_fd()).map_err(step())? })
    }
}
