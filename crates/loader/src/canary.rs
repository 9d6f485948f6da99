// SPDX-License-Identifier: MIT OR Apache-2.0
//! Giving a share of an instance's new connections to another one, the candidate, for a time. An [`OwnerRecord`] comes first and goes
//! last, and a lock that the process holds tells whether somebody still watches: what a killed one has left is taken back by
//! whoever changes something next.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{Error, Result};
use crate::instance::Instance;
use crate::kernel::{available_algorithms, check_name};
use crate::load::{load, LoadRequest};
use crate::lock::Lock;
use crate::migrate::{migrate, Migration};
use crate::owner_records::{self, OwnerRecord, RecordText};
use crate::retire::retire;
use crate::rules::{self, join_choices, split_choices, Choice, RuleTable};
use crate::sockets::SocketFilter;
use crate::unload::{unload, UnloadOptions};

/// Shares that make sense: with more, it is the candidate that is compared.
pub const SHARES_PCT: std::ops::RangeInclusive<u32> = 1..=50;

/// Somebody may only look whether it is watched.
const PATIENCE: Duration = Duration::from_millis(100);

/// An instance of which a share of the new connections goes to another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Canary {
    /// Kernel name of the instance.
    pub name: String,
    /// Kernel name of the candidate, which is loaded and unloaded with it.
    pub candidate: String,
    /// So many of 100 new connections that would get `name` get `candidate`.
    pub share_pct: u32,
}

impl Canary {
    /// The candidate's name is made from the instance's: at most 15 letters.
    #[must_use]
    pub fn of(name: &str, share_pct: u32) -> Self {
        let short: String = name.chars().take(12).collect();
        Self { name: name.to_owned(), candidate: format!("{short}_cy"), share_pct }
    }

    fn memo(&self) -> RecordText {
        RecordText(format!("{} {}", self.candidate, self.share_pct))
    }

    fn of_memo(name: &str, memo: &RecordText) -> Option<Self> {
        let (candidate, share_pct) = memo.0.split_once(' ')?;
        Some(Self { name: name.to_owned(), candidate: candidate.to_owned(), share_pct: share_pct.parse().ok()? })
    }

    /// What a rule gives to connections while it has its share; None where that is the same.
    pub fn split(&self, choices: &[Choice]) -> Result<Option<Vec<Choice>>> {
        split_choices(choices, &self.name, (&self.candidate, self.share_pct))
    }

    /// Removes the file of its lock: who watches still has the lock, and who comes next makes a new file.
    pub fn remove_lock(&self) -> Result<()> {
        Ok(ccctl_runfiles::remove(&self.lock_path())?)
    }

    fn lock_path(&self) -> PathBuf {
        Path::new(ccctl_runfiles::FOLDER).join(format!("canary-{}.lock", self.name))
    }
}

/// The right to watch a canary; the kernel releases it when the process ends, however that happens.
#[derive(Debug)]
pub struct Watch {
    canary: Canary,
    _lock: ccctl_runfiles::Lock,
}

impl Watch {
    /// None where somebody has it.
    pub fn take(canary: &Canary) -> Result<Option<Self>> {
        check_name(&canary.name)?; // it is a part of a file's name
        ccctl_runfiles::make_folder()?;
        match ccctl_runfiles::Lock::take(&canary.lock_path(), PATIENCE) {
            Ok(lock) => Ok(Some(Self { canary: canary.clone(), _lock: lock })),
            Err(ccctl_runfiles::Error::Held { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// Nobody watches any more.
impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.canary.remove_lock(); // an empty file that stays does no harm
    }
}

/// Those that there are, watched or not.
pub fn all() -> Result<Vec<Canary>> {
    let of_mark = |(mark, memo): (&OwnerRecord, &RecordText)| match mark {
        OwnerRecord::Canary(name) => Canary::of_memo(name, memo),
        _ => None,
    };
    Ok(owner_records::all()?.iter().filter_map(of_mark).collect())
}

/// Those that nobody watches any more.
pub fn abandoned() -> Result<Vec<Canary>> {
    let mut left = Vec::new();
    for canary in all()? {
        if ccctl_runfiles::Lock::held(&canary.lock_path())?.is_none() {
            left.push(canary);
        }
    }
    Ok(left)
}

/// Loads the candidate and gives it its share in every rule that names the instance first; gives the number of rules. Nothing
/// is changed where it fails.
pub fn begin(lock: &Lock, _watch: &Watch, canary: &Canary, request: &LoadRequest<'_>) -> Result<usize> {
    check_name(&canary.candidate)?;
    Instance::named(&canary.name)?;
    let (table, changed) = split(&rules::read_rules()?, canary)?;
    if available_algorithms()?.contains(&canary.candidate) {
        let (name, by) = (canary.candidate.clone(), "an algorithm that the kernel has".to_owned());
        return Err(Error::Taken { name: name.clone(), by, hint: format!("ccctl unload {name}") });
    }
    owner_records::set(lock, &OwnerRecord::Canary(canary.name.clone()), &canary.memo())?;
    let begun = load(lock, request).and_then(|_| rules::put_all(lock, &table));
    if let Err(error) = begun {
        end(lock, canary)?;
        return Err(error);
    }
    Ok(changed)
}

/// The number of rules of which it would have a share.
pub fn preview(canary: &Canary) -> Result<usize> {
    Instance::named(&canary.name)?;
    split(&rules::read_rules()?, canary).map(|(_, changed)| changed)
}

fn split(table: &RuleTable, canary: &Canary) -> Result<(RuleTable, usize)> {
    let mut table = table.clone();
    let mut failed = None;
    let changed = table.change(|rule| match canary.split(&rule.content.choices) {
        Ok(choices) => choices,
        Err(error) => {
            failed.get_or_insert(error);
            None
        }
    });
    match failed {
        Some(error) => Err(error),
        None if changed > 0 => Ok((table, changed)),
        None => Err(Error::Request {
            cause: format!("no rule gives {} first to connections: there is nothing to split", canary.name),
            remedy: format!("ccctl assign {} --cgroup /PATH, or --unit NAME", canary.name),
        }),
    }
}

/// Takes it back: rules are as they were, connections of the candidate go to the instance, and the candidate is unloaded. It
/// may be killed at any point and run again.
pub fn end(lock: &Lock, canary: &Canary) -> Result<Migration> {
    let mut table = rules::read_rules()?;
    if table.change(|rule| join_choices(&rule.content.choices, &canary.candidate)) > 0 {
        rules::put_all(lock, &table)?;
    }
    let available = available_algorithms()?;
    let candidate = std::slice::from_ref(&canary.candidate);
    let mut moved = Migration::default();
    if available.contains(&canary.candidate) {
        if available.contains(&canary.name) {
            moved = migrate(lock, &SocketFilter::of_kernel_name(&canary.candidate), &canary.name, false, |_, _| {})?;
        } else {
            retire(lock, candidate)?;
        }
    }
    if Instance::names()?.contains(&canary.candidate) {
        unload(lock, candidate, &UnloadOptions { migrate_to: None, force: true })?;
    }
    owner_records::remove(lock, &OwnerRecord::Canary(canary.name.clone()))?;
    Ok(moved)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_read_back_and_names_have_at_most_15_letters() {
        let canary = Canary::of("fifteen_letters", 5);
        assert_eq!(canary.candidate, "fifteen_lett_cy");
        assert_eq!(Canary::of_memo("fifteen_letters", &canary.memo()), Some(canary));
        assert_eq!(Canary::of_memo("web", &RecordText("web_cy".to_owned())), None);
    }
}
