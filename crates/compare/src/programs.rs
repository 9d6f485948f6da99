// SPDX-License-Identifier: GPL-2.0-only
//! Which BPF program of an algorithm that ccctl has loaded runs for which hook.

use std::fs;
use std::os::fd::OwnedFd;

use anyhow::{bail, ensure, Context as _, Result};
use libbpf_rs::btf::types::Func;
use libbpf_rs::btf::TypeId;
use libbpf_rs::query::{ProgInfoIter, ProgInfoQueryOptions, ProgramInfo};
use libbpf_rs::{Btf, Program, ProgramType};

use crate::hooks::HOOK_NAMES;

/// Since then `cong_control` has four arguments, of which the recorder reads the last.
const OLDEST_KERNEL: (u32, u32) = (6, 10);
/// A hook that is asked when the send buffer grows, and has nothing to do with the window.
const NOT_RECORDED: &str = "sndbuf_expand";

/// A program of the algorithm.
pub struct HookProgram {
    /// Number of its hook.
    pub hook: u32,
    /// Its function, whose name the kernel cuts off after 15 characters.
    pub function: String,
    /// The program.
    pub fd: OwnedFd,
}

/// The programs of this algorithm, of which one instance may be loaded, and no other algorithm beside it.
///
/// # Errors
/// None or two are loaded; a program belongs to no hook that is known here; the kernel is too old.
pub fn of_loaded(algorithm: &str) -> Result<Vec<HookProgram>> {
    ensure!(
        version()? >= OLDEST_KERNEL,
        "programs are recorded on Linux {}.{} and newer",
        OLDEST_KERNEL.0,
        OLDEST_KERNEL.1
    );
    let options = ProgInfoQueryOptions::default().include_func_info(true);
    let infos = ProgInfoIter::with_query_opts(options).filter(|info| info.ty == ProgramType::StructOps);
    let infos: Vec<ProgramInfo> = infos.collect();
    ensure!(!infos.is_empty(), "no algorithm is loaded: run ccctl load {algorithm}");
    ensure!(infos.iter().all(|info| info.btf_id == infos[0].btf_id), "two algorithms are loaded: unload one");
    let mut programs = Vec::new();
    for info in infos {
        let function = function_of(&info)?;
        if function.ends_with(NOT_RECORDED) {
            continue;
        }
        let hook = hook_of(algorithm, &function).with_context(|| format!("{function} is of no hook of {algorithm}"))?;
        programs.push(HookProgram { hook, function, fd: Program::fd_from_id(info.id)? });
    }
    Ok(programs)
}

fn version() -> Result<(u32, u32)> {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease")?;
    let mut numbers = release.split(['.', '-']).map_while(|part| part.parse().ok());
    match (numbers.next(), numbers.next()) {
        (Some(major), Some(minor)) => Ok((major, minor)),
        _ => bail!("cannot read the kernel's version out of {release:?}"),
    }
}

fn function_of(info: &ProgramInfo) -> Result<String> {
    let first = info.func_info.first().with_context(|| format!("{} has no types", info.name.display()))?;
    let btf = Btf::from_prog_id(info.id)?;
    let function: Func<'_> = btf.type_by_id(TypeId::from(first.type_id)).context("its type is of a function")?;
    let name = function.name().context("a function has a name")?;
    Ok(name.to_string_lossy().into_owned())
}

/// `ALGORITHM_HOOK`, `tcp_reno_HOOK`, or what stands in for `pkts_acked` where an algorithm has none.
fn hook_of(algorithm: &str, function: &str) -> Option<u32> {
    let name = match function {
        "cc_repair_per_ack" => "pkts_acked",
        _ => function.strip_prefix("tcp_reno_").or_else(|| function.strip_prefix(algorithm)?.strip_prefix('_'))?,
    };
    let number = HOOK_NAMES.iter().position(|hook| *hook == name)?;
    u32::try_from(number).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::{CALL_CONG_AVOID, CALL_PKTS_ACKED, CALL_TX_START, CALL_UNDO_CWND};

    #[test]
    fn a_function_is_of_the_hook_that_it_is_named_after() {
        assert_eq!(hook_of("reno", "reno_cong_avoid"), Some(CALL_CONG_AVOID));
        assert_eq!(hook_of("reno", "tcp_reno_undo_cwnd"), Some(CALL_UNDO_CWND));
        assert_eq!(hook_of("reno", "cc_repair_per_ack"), Some(CALL_PKTS_ACKED));
        assert_eq!(hook_of("cubic", "cubic_cwnd_event_tx_start"), Some(CALL_TX_START));
        assert_eq!(hook_of("cubic", "reno_cong_avoid"), None);
        assert_eq!(hook_of("cubic", "cubic_growth"), None);
    }
}
