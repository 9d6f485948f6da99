// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rules through a sockops program at the root of the cgroup tree.

use std::collections::BTreeMap;
use std::fs;
use std::os::fd::AsRawFd as _;
use std::path::Path;

use libbpf_rs::{Object, Program};

use super::cgroup::CgroupTree;
use super::compile::compile;
use super::installed::Installed;
use super::live::{self, Changer, Moved, RuleSocket};
use super::object::load_program;
use super::record::{RULE_FOLLOW, RULE_MOVE, RULE_RELEASE, RULE_RESTORE};
use super::table::RuleTable;
use super::{Assignment, Live};
use crate::bpffs::{self, PinFolder};
use crate::error::{Error, Result};
use crate::lock::Lock;
use crate::own_params;

/// There while sockets may still have what rules that are gone have given them; says which.
const UNSETTLED_FILE: &str = "/run/ccctl/unsettled-rules";

/// The way that all kernels since 6.1 have.
pub(crate) struct Sockops;

impl Assignment for Sockops {
    fn read(&self) -> Result<RuleTable> {
        Installed::open()?.map_or_else(|| Ok(RuleTable::default()), |installed| installed.table())
    }

    /// All rules are replaced at one instant, by another program with maps of its own. A kill before it leaves the old
    /// ones, and one after it the new ones, and a note of what is left to do.
    fn replace(&self, lock: &Lock, table: &RuleTable, live: Live) -> Result<Moved> {
        let installed = Installed::open()?;
        if installed.is_none() && table.rules().is_empty() {
            return Ok(Moved::default());
        }
        let compiled = compile(table)?;
        if !compiled.parameters.is_empty() {
            own_params::require(lock)?;
        }
        let object = load_program(&compiled, installed.as_ref())?;
        note(&live)?;
        let switched = match installed {
            Some(mut installed) => program(&object).and_then(|program| {
                let updated = installed.link.update_prog(&program);
                updated.map_err(|error| Error::libbpf("replace the rules", &error))
            }),
            None => attach(&object),
        };
        if let Err(error) = switched {
            forget_note()?;
            return Err(error);
        }
        settle()
    }

    fn usage(&self) -> Result<BTreeMap<u32, usize>> {
        live::usage(Installed::open()?.as_ref())
    }

    fn sockets(&self, is_wanted: &dyn Fn(&RuleSocket) -> bool) -> Result<Vec<RuleSocket>> {
        live::sockets(Installed::open()?.as_ref(), is_wanted)
    }
}

/// Writes down what there will be to do once the rules are in force.
fn note(live: &Live) -> Result<()> {
    let changes: Vec<(u32, u32)> = match live {
        Live::Keep => Vec::new(),
        Live::Move(ids) => ids.iter().map(|id| (RULE_MOVE, *id)).collect(),
        Live::Release(id) => vec![(RULE_RELEASE, *id)],
        Live::Restore => vec![(RULE_RESTORE, 0)],
    };
    let lines: Vec<String> = changes.iter().map(|(change, rule_id)| format!("{change} {rule_id}")).collect();
    Ok(ccctl_runfiles::write(Path::new(UNSETTLED_FILE), lines.join("\n").as_bytes())?)
}

fn forget_note() -> Result<()> {
    Ok(ccctl_runfiles::remove(Path::new(UNSETTLED_FILE))?)
}

/// The changes that are noted, each with its rule's id. A kill may have come before the rules changed: sockets are given back what
/// they had only if there are none. One while writing came before that, too.
fn noted_changes(is_empty: bool) -> Vec<(u32, u32)> {
    let text = ccctl_runfiles::read(Path::new(UNSETTLED_FILE)).ok().flatten().unwrap_or_default();
    let numbers =
        |line: &str| line.split_once(' ').and_then(|(change, id)| Some((change.parse().ok()?, id.parse().ok()?)));
    text.lines().filter_map(numbers).filter(|(change, _)| *change != RULE_RESTORE || is_empty).collect()
}

fn program(object: &Object) -> Result<Program<'_>> {
    let found = object.progs().find(|program| program.name() == "ccctl_assign");
    found.ok_or_else(|| Error::kernel("find the program of the rules", std::io::Error::other("no program")))
}

/// The first rules: until the pin is made, a kill undoes all of it.
fn attach(object: &Object) -> Result<()> {
    let tree = CgroupTree::find()?;
    let root = tree.open_root()?;
    let found = object.progs_mut().find(|program| program.name() == "ccctl_assign");
    let missing = || Error::kernel("find the program of the rules", std::io::Error::other("no program"));
    let attached = found.ok_or_else(missing)?.attach_cgroup(root.as_raw_fd());
    let mut link = attached.map_err(|error| match error.kind() {
        libbpf_rs::ErrorKind::PermissionDenied => Error::Host {
            cause: "the root of the cgroup tree takes no further sockops program".to_owned(),
            remedy: "another program is attached exclusively: bpftool cgroup show shows it".to_owned(),
        },
        _ => Error::libbpf(format!("attach the rules to {}", tree.mount().display()), &error),
    })?;
    let path = PinFolder::make()?.rules();
    let pinned = link.pin(&path).map_err(|error| Error::libbpf(format!("pin {}", path.display()), &error));
    if pinned.is_err() {
        bpffs::remove_empty_folders();
    }
    pinned
}

/// Finishes what a replacement leaves to do: sockets that are to change with it, listeners, which follow in any case, and
/// with the last rule the link. Whoever takes the lock next does it where a kill has come between.
pub(crate) fn settle() -> Result<Moved> {
    let mut moved = Moved::default();
    if let Some(installed) = Installed::open()? {
        let is_empty = installed.table()?.rules().is_empty();
        let changer = Changer::load(&installed)?;
        for (change, rule_id) in noted_changes(is_empty) {
            moved.add(changer.change(change, rule_id)?);
        }
        changer.change(RULE_FOLLOW, 0)?;
        if is_empty {
            if let Some(path) = PinFolder::find()?.map(|folder| folder.rules()) {
                fs::remove_file(&path).map_err(|error| Error::kernel(format!("remove {}", path.display()), error))?;
            }
            drop(installed); // the last descriptor: the kernel takes the link down before the close returns
            bpffs::remove_empty_folders();
        }
    }
    forget_note()?;
    Ok(moved)
}

/// Has a kill left something to do?
pub(crate) fn is_unsettled() -> bool {
    Path::new(UNSETTLED_FILE).exists()
}
