// SPDX-License-Identifier: MIT OR Apache-2.0
//! Disabling an instance without unloading it: its connections, its rules and the defaults that name it go to a fallback,
//! and a [`OwnerRecord`] records that until the instance is enabled again.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::default;
use crate::error::{Error, Result};
use crate::kernel::{available_algorithms, current_default, require_available};
use crate::lock::Lock;
use crate::migrate::{migrate, Migration};
use crate::netns::NamespaceScan;
use crate::owner_records::{self, OwnerRecord, RecordText};
use crate::rules;
use crate::sockets::SocketFilter;

/// A disabled instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trip {
    /// Its kernel name.
    pub name: String,
    /// What connections get instead.
    pub fallback: String,
    /// Since when, to the second.
    pub since: SystemTime,
    /// Why.
    pub why: String,
}

/// What was done at once; what a mark keeps from coming back.
#[derive(Debug, Default)]
pub struct Diverted {
    /// Connections.
    pub migration: Migration,
    /// Rules that name the fallback instead.
    pub rules: usize,
    /// Network namespaces whose default is the fallback instead.
    pub defaults: usize,
}

impl Trip {
    fn memo(&self) -> RecordText {
        let since_s = self.since.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        RecordText(format!("{} {since_s} {}", self.fallback, self.why))
    }

    fn of_memo(name: &str, memo: &RecordText) -> Self {
        let mut words = memo.0.splitn(3, ' ');
        let mut next = || words.next().unwrap_or_default().to_owned();
        let (fallback, since_s, why) = (next(), next(), next());
        let since = UNIX_EPOCH + Duration::from_secs(since_s.parse().unwrap_or(0));
        Self { name: name.to_owned(), fallback, since, why }
    }
}

/// The disabled instances, by name.
pub fn trips() -> Result<Vec<Trip>> {
    let marks = owner_records::all()?;
    let of_mark = |(mark, memo): (&OwnerRecord, &RecordText)| match mark {
        OwnerRecord::Tripped(name) => Some(Trip::of_memo(name, memo)),
        _ => None,
    };
    Ok(marks.iter().filter_map(of_mark).collect())
}

/// Records that an instance is disabled. Comes before [`divert`], so that the next poll repairs what a kill in between left.
pub fn set(lock: &Lock, trip: &Trip) -> Result<()> {
    require_available(&trip.fallback)?;
    owner_records::set(lock, &OwnerRecord::Tripped(trip.name.clone()), &trip.memo())
}

/// Moves what uses the instance: rules and defaults first, so that nothing new comes after its connections have gone.
/// It may be killed at any point and run again.
pub fn divert(lock: &Lock, trip: &Trip) -> Result<Diverted> {
    let (from, to) = (trip.name.as_str(), trip.fallback.as_str());
    require_available(to)?;
    let mut diverted = Diverted { rules: rules::rename(lock, from, to)?, ..Diverted::default() };
    let known = owner_records::all()?;
    let failed = NamespaceScan::all()?.each(|namespace| {
        if namespace.run(current_default)? != from {
            return Ok(());
        }
        if !known.contains_key(&OwnerRecord::default_of(namespace)?) {
            owner_records::set(lock, &OwnerRecord::Diverted(namespace.cookie()?), &RecordText(from.to_owned()))?;
        }
        diverted.defaults += usize::from(default::replace(lock, namespace, from, to)?);
        Ok(())
    });
    if available_algorithms()?.iter().any(|name| name == from) {
        diverted.migration = migrate(lock, &SocketFilter::of_kernel_name(from), to, false, |_, _| {})?;
    }
    diverted.migration.unreadable.extend(failed);
    Ok(diverted)
}

/// Ends it: defaults that no file had set are as they were. Those of a file, and its rules, are for who keeps the file;
/// connections stay where they are. True where it was disabled. An error in one network namespace does not keep it from
/// the others ([`Error::Partly`]).
pub fn rearm(lock: &Lock, name: &str) -> Result<bool> {
    let marks = owner_records::all()?;
    let tripped = OwnerRecord::Tripped(name.to_owned());
    let Some(memo) = marks.get(&tripped) else { return Ok(false) };
    let fallback = Trip::of_memo(name, memo).fallback;
    let is_there = available_algorithms()?.iter().any(|known| known == name);
    let causes = NamespaceScan::all()?.each(|namespace| {
        let diverted = OwnerRecord::Diverted(namespace.cookie()?);
        if marks.get(&diverted) != Some(&RecordText(name.to_owned())) {
            return Ok(());
        }
        if is_there {
            default::replace(lock, namespace, &fallback, name)?;
        }
        owner_records::remove(lock, &diverted)
    });
    owner_records::remove(lock, &tripped)?;
    if causes.is_empty() {
        Ok(true)
    } else {
        Err(Error::Partly { causes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_memo_is_read_back_and_one_cut_short_still_names_the_fallback() {
        let trip = Trip {
            name: "web".to_owned(),
            fallback: "fifteen_letters".to_owned(),
            since: UNIX_EPOCH + Duration::from_secs(1_800_000_000),
            why: "60 of 80 active connections are stalled".to_owned(),
        };
        assert_eq!(Trip::of_memo("web", &trip.memo()), trip);
        let cut = Trip::of_memo("web", &RecordText(trip.memo().0[..16].to_owned()));
        assert_eq!((cut.fallback, cut.since), (trip.fallback, UNIX_EPOCH));
    }
}
