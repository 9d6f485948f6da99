// SPDX-License-Identifier: GPL-2.0-only
//! The recorder: runs in the guest, attaches to a module's functions, and writes their calls to a file.

use std::cell::RefCell;
use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use anyhow::{ensure, Context as _, Result};
use libbpf_rs::{MapCore as _, ObjectBuilder, OpenObject, RingBufferBuilder};

use crate::btf::{Member, Types};
use crate::file::Header;
use crate::hooks::{Module, HOOK_NAMES};

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/record.bpf.o"));
const POLL: Duration = Duration::from_millis(100);

/// Records calls until `stop` exists. Says "ready" when it has begun.
pub fn record(module: &Module, to: &Path, stop: &Path, jiffies_per_s: u64) -> Result<()> {
    let state = private_state(module)?;
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease")?;
    let mut file = BufWriter::new(File::create(to).with_context(|| format!("cannot write {}", to.display()))?);
    Header::new(module.name, kernel.trim(), jiffies_per_s, state.clone()).write(&mut file)?;
    let mut open = ObjectBuilder::default().open_memory(OBJECT)?;
    configure(&mut open, module, &state)?;
    let missing = aim(&mut open, module)?;
    let object = open.load().context("cannot load the recorder")?;
    let mut links = Vec::new();
    for program in object.progs_mut() {
        if program.autoload() {
            links.push(program.attach().with_context(|| format!("cannot attach {}", program.name().display()))?);
        }
    }
    let written = Rc::new(RefCell::new((file, 0_u64)));
    let mut ring = RingBufferBuilder::new();
    let records = object.maps().find(|map| map.name() == "records").context("the object has a map of records")?;
    let sink = Rc::clone(&written);
    ring.add(&records, move |bytes| {
        let (file, count) = &mut *sink.borrow_mut();
        *count += 1;
        if file.write_all(bytes).is_err() {
            return 1;
        }
        0
    })?;
    let ring = ring.build()?;
    println!(
        "ready: {} of {} hooks; not in this kernel: {}",
        links.len() / 2,
        module.functions.len(),
        missing.join(" ")
    );
    while !stop.exists() {
        ring.poll(POLL)?;
    }
    ring.consume()?;
    drop(links);
    ring.consume()?;
    let (file, count) = &mut *written.borrow_mut();
    file.flush()?;
    println!("recorded {count}");
    Ok(())
}

fn private_state(module: &Module) -> Result<Vec<Member>> {
    if module.state.is_empty() {
        return Ok(Vec::new());
    }
    let with = (module.state == "bictcp").then_some(if module.name == "cubic" { "bic_K" } else { "delayed_ack" });
    Types::of_module(module.object)?.members(module.state, with)
}

fn configure(open: &mut OpenObject, module: &Module, state: &[Member]) -> Result<()> {
    let mut rodata = open
        .maps_mut()
        .find(|map| map.name().to_string_lossy().ends_with(".rodata"))
        .context("the object has read-only data")?;
    let data = rodata.initial_value_mut().context("read-only data has a value")?;
    data[..16].fill(0);
    data[..module.name.len()].copy_from_slice(module.name.as_bytes());
    if let Some(pointer) = module.pointer {
        let member = state.iter().find(|member| member.name == pointer);
        let member = member.with_context(|| format!("struct {} has no {pointer}", module.state))?;
        data[16..20].copy_from_slice(&(member.bit_offset / 64).to_ne_bytes());
    }
    Ok(())
}

/// Aims each pair of programs at its function; leaves out those of hooks that the module does not have. Returns the
/// functions that this kernel lacks, of which only those of a hook that came later may be.
fn aim(open: &mut OpenObject, module: &Module) -> Result<Vec<String>> {
    let symbols = fs::read_to_string("/proc/kallsyms")?;
    let wanted = |symbol: &&str| module.functions.iter().any(|(_, function)| function == symbol);
    let found: HashSet<&str> =
        symbols.lines().filter_map(|line| line.split_whitespace().nth(2)).filter(wanted).collect();
    let has = |function: &str| found.contains(function);
    let mut missing = Vec::new();
    for mut program in open.progs_mut() {
        let name = program.name().to_string_lossy().into_owned();
        let hook = name.split_once('_').map(|(_, hook)| hook).unwrap_or_default();
        let hook = if hook == "tx_start" { "cwnd_event_tx_start" } else { hook };
        let wanted = module.functions.iter().find(|(number, _)| HOOK_NAMES[*number as usize] == hook);
        match wanted {
            Some((_, function)) if has(function) => {
                program.set_attach_target(0, Some((*function).to_owned()))?;
            }
            Some((_, function)) => {
                ensure!(hook == "cwnd_event_tx_start" || hook == "cwnd_event", "this kernel has no {function}");
                missing.push((*function).to_owned());
                program.set_autoload(false);
            }
            None => program.set_autoload(false),
        }
    }
    missing.sort();
    missing.dedup();
    Ok(missing)
}
