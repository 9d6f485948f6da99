// SPDX-License-Identifier: GPL-2.0-only
//! Time in one of the kernel's functions, by programs where it begins and where it returns.

use libbpf_rs::{Link, MapCore as _, MapFlags, Object, ObjectBuilder};

use super::TestbedError;

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/function_time.bpf.o"));
const WORD: usize = size_of::<u64>();

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
        let step = || TestbedError::bpf("read the time in a function");
        let missing = || TestbedError::Unexpected("no call of the function".to_owned());
        let map = self.object.maps().find(|map| map.name().to_string_lossy().ends_with(".bss")).ok_or_else(missing)?;
        let bytes = map.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY).map_err(step())?.ok_or_else(missing)?;
        let word = |index: usize| {
            bytes
                .get(index * WORD..(index + 1) * WORD)
                .and_then(|bytes| Some(u64::from_ne_bytes(bytes.try_into().ok()?)))
        };
        match (word(0), word(1)) {
            (Some(calls), Some(ns)) if calls > 0 => Ok(ns as f64 / calls as f64),
            _ => Err(missing()),
        }
    }
}
