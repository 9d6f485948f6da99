// SPDX-License-Identifier: GPL-2.0-only
//! The recorder: runs in the guest, attaches to a module's functions or to an algorithm's programs, and writes their calls
//! to a file.

use std::cell::RefCell;
use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use anyhow::{ensure, Context as _, Result};
use ccctl_catalog::Field;
use ccctl_testbed::global_words;
use libbpf_rs::{MapCore as _, ObjectBuilder, OpenObject, RingBufferBuilder};

use crate::btf::{Member, Types};
use crate::file::{Header, MODULE, PROGRAM};
use crate::hooks::{Module, HOOK_NAMES};
use crate::native::{CALL_CWND_EVENT, CALL_TX_START};
use crate::programs::{self, HookProgram};

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/record.bpf.o"));
const POLL: Duration = Duration::from_millis(100);

/// What the recorder attaches to.
struct Recorded {
    /// Its sockets have this algorithm.
    name: String,
    header: Header,
    /// First word of `ca_priv` that points to memory of its own.
    pointer_word: Option<u32>,
    functions: Vec<Function>,
}

/// The function of a hook: the kernel's, or a BPF program's.
struct Function {
    hook: u32,
    name: String,
    program: Option<OwnedFd>,
}

/// Records a module's calls until `stop` exists. Says "ready" when it has begun.
pub fn record(module: &Module, to: &Path, stop: &Path, jiffies_per_s: u64) -> Result<()> {
    let state = private_state(module)?;
    let mut pointer_word = None;
    if let Some(pointer) = module.pointer {
        let member = state.iter().find(|member| member.name == pointer);
        let member = member.with_context(|| format!("struct {} has no {pointer}", module.state))?;
        pointer_word = Some(member.bit_offset / 64);
    }
    let function = |(hook, name): &(u32, &str)| Function { hook: *hook, name: (*name).to_owned(), program: None };
    let recorded = Recorded {
        name: module.name.to_owned(),
        header: Header::new(module.name, MODULE, &kernel()?, jiffies_per_s, state),
        pointer_word,
        functions: module.functions.iter().map(function).collect(),
    };
    run(&recorded, to, stop)
}

/// The same of the programs of an algorithm, which ccctl has loaded as `instance`.
pub fn record_programs(algorithm: &str, instance: &str, to: &Path, stop: &Path, jiffies_per_s: u64) -> Result<()> {
    let programs = programs::of_loaded(algorithm)?.into_iter();
    let function = |it: HookProgram| Function { hook: it.hook, name: it.function, program: Some(it.fd) };
    let layout = ccctl_catalog::algorithm(algorithm).context("not an algorithm of ccctl")?.layout();
    let member = |field: &Field| Member {
        name: field.name.clone(),
        bit_offset: 8 * field.offset as u32,
        bits: 8 * field.size as u32,
    };
    let state = layout.state.iter().map(member).collect();
    let recorded = Recorded {
        name: instance.to_owned(),
        header: Header::new(algorithm, PROGRAM, &kernel()?, jiffies_per_s, state),
        pointer_word: None,
        functions: programs.map(function).collect(),
    };
    run(&recorded, to, stop)
}

fn kernel() -> Result<String> {
    Ok(fs::read_to_string("/proc/sys/kernel/osrelease")?.trim().to_owned())
}

fn run(recorded: &Recorded, to: &Path, stop: &Path) -> Result<()> {
    let mut file = BufWriter::new(File::create(to).with_context(|| format!("cannot write {}", to.display()))?);
    recorded.header.write(&mut file)?;
    let mut open = ObjectBuilder::default().open_memory(OBJECT)?;
    configure(&mut open, recorded)?;
    let missing = aim(&mut open, recorded)?;
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
        recorded.functions.len(),
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
    let [without_room, torn] = global_words(&object)?;
    println!("recorded {count}; dropped {without_room} for lack of room and {torn} of two calls' halves");
    Ok(())
}

fn private_state(module: &Module) -> Result<Vec<Member>> {
    if module.state.is_empty() {
        return Ok(Vec::new());
    }
    let with = (module.state == "bictcp").then_some(if module.name == "cubic" { "bic_K" } else { "delayed_ack" });
    Types::of_module(module.object)?.members(module.state, with)
}

fn configure(open: &mut OpenObject, recorded: &Recorded) -> Result<()> {
    let mut rodata = open
        .maps_mut()
        .find(|map| map.name().to_string_lossy().ends_with(".rodata"))
        .context("the object has read-only data")?;
    let data = rodata.initial_value_mut().context("read-only data has a value")?;
    data[..16].fill(0);
    data[..recorded.name.len()].copy_from_slice(recorded.name.as_bytes());
    if let Some(word) = recorded.pointer_word {
        data[16..20].copy_from_slice(&word.to_ne_bytes());
    }
    let of_programs = recorded.functions.iter().any(|function| function.program.is_some());
    data[20..24].copy_from_slice(&u32::from(of_programs).to_ne_bytes());
    Ok(())
}

/// Aims each pair of programs at its function; leaves out those of hooks that there are none of. Returns the functions that
/// this kernel lacks, of which only those of a hook that came later may be.
fn aim(open: &mut OpenObject, recorded: &Recorded) -> Result<Vec<String>> {
    let symbols = fs::read_to_string("/proc/kallsyms")?;
    let wanted = |symbol: &&str| recorded.functions.iter().any(|function| function.name == *symbol);
    let found: HashSet<&str> =
        symbols.lines().filter_map(|line| line.split_whitespace().nth(2)).filter(wanted).collect();
    let mut missing = Vec::new();
    for mut program in open.progs_mut() {
        let name = program.name().to_string_lossy().into_owned();
        let hook = name.split_once('_').map(|(_, hook)| hook).unwrap_or_default();
        let hook = if hook == "tx_start" { "cwnd_event_tx_start" } else { hook };
        match recorded.functions.iter().find(|function| HOOK_NAMES[function.hook as usize] == hook) {
            Some(function) if function.program.is_some() || found.contains(function.name.as_str()) => {
                let of_program = function.program.as_ref().map_or(0, AsRawFd::as_raw_fd);
                program.set_attach_target(of_program, Some(function.name.clone()))?;
            }
            Some(Function { hook, name, .. }) => {
                ensure!([CALL_CWND_EVENT, CALL_TX_START].contains(hook), "this kernel has no {name}");
                missing.push(name.clone());
                program.set_autoload(false);
            }
            None => program.set_autoload(false),
        }
    }
    missing.sort();
    missing.dedup();
    Ok(missing)
}
