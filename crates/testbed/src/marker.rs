// SPDX-License-Identifier: GPL-2.0-only
//! A path that marks packets instead of dropping them: no queueing discipline here does, a BPF program on the device can.

use libbpf_rs::{ObjectBuilder, TcHookBuilder, TC_INGRESS};
use nix::net::if_::if_nametoindex;
use std::os::fd::AsFd as _;

use super::{Namespace, TestbedError};

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/marker.bpf.o"));

/// From now on every `every`-th data packet of an ECN-capable flow that `device` receives has "congestion experienced". It
/// ends with the namespace.
///
/// On arrival, because a device is given segments for sending that are cut to packets only after all programs have run.
pub(super) fn mark_every(namespace: &Namespace, device: &str, every: u32) -> Result<(), TestbedError> {
    let step = || TestbedError::bpf(format!("mark packets on {device}"));
    let mut open = ObjectBuilder::default().open_memory(OBJECT).map_err(step())?;
    for mut map in open.maps_mut() {
        if map.name().to_string_lossy().ends_with(".rodata") {
            map.set_initial_value(&every.to_ne_bytes()).map_err(step())?;
        }
    }
    let object = open.load().map_err(step())?;
    let program = object.progs_mut().next().ok_or_else(|| TestbedError::Unexpected("no marker".to_owned()))?;
    let program = program.as_fd();
    namespace.enter(|| {
        let index = if_nametoindex(device).map_err(TestbedError::errno(format!("find {device}")))?;
        let mut hook = TcHookBuilder::new(program).ifindex(index as i32).hook(TC_INGRESS);
        hook.create().and_then(|mut hook| hook.attach()).map_err(step())?;
        Ok(())
    })?
}
