// SPDX-License-Identifier: GPL-2.0-only
//! Time in one of the kernel's functions, by programs where it begins and where it returns.

use libbpf_rs::{Link, Object, ObjectBuilder};

use super::{global_words, TestbedError};

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/function_time.bpf.o"));

/// Counts while it lives. For kernels that allow fentry and fexit, on one processor.
pub struct FunctionTime {
    object: Object,
    _links: Vec<Link>,
}

impl FunctionTime {
    /// Attaches to `function`, which may be a module's and must not call itself.
    pub fn attach(function: &str) -> Result<Self, TestbedError> {
        Self::try_attach(function).map_err(TestbedError::bpf(format!("attach to the kernel's {function}")))
    }

    fn try_attach(function: &str) -> libbpf_rs::Result<Self> {
        let mut object = ObjectBuilder::default().open_memory(OBJECT)?;
        for mut program in object.progs_mut() {
            program.set_attach_target(0, Some(function.to_owned()))?;
        }
        let object = object.load()?;
        let links = object.progs_mut().map(|program| program.attach()).collect::<Result<_, _>>()?;
        Ok(FunctionTime { object, _links: links })
    }

    /// ns for each call so far: with the way between the clocks, and what is inside of the function.
    pub fn ns_per_call(&self) -> Result<f64, TestbedError> {
        match global_words(&self.object)? {
            [0, _] => Err(TestbedError::Unexpected("no call of the function".to_owned())),
            [calls, ns] => Ok(ns as f64 / calls as f64),
        }
    }
}
