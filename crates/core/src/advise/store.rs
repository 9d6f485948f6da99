// SPDX-License-Identifier: MIT OR Apache-2.0
//! Advice is kept, so that it can be compared with what experiments find later.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use ccctl_console::{Exit, Fault};
use nix::unistd::AccessFlags;

use super::Advice;
use crate::experiment::store::folder;

/// So much advice is kept; the oldest goes first.
const MOST: usize = 100;

fn kept_in() -> PathBuf {
    folder().join("advice")
}

/// Refuses, before anything is measured, what could not be kept in the end.
pub fn require() -> anyhow::Result<()> {
    let folder = kept_in();
    let may_write = || nix::unistd::access(&folder, AccessFlags::W_OK).map_err(std::io::Error::from);
    fs::create_dir_all(&folder).and_then(|()| may_write()).map_err(|error| {
        let cause = format!("cannot keep advice in {}: {error}", folder.display());
        Fault::new(Exit::Host, cause, "run as root, or with --no-keep").into()
    })
}

/// Keeps it, and notes where.
pub fn keep(advice: &mut Advice) -> anyhow::Result<()> {
    keep_in(&kept_in(), advice)
}

fn keep_in(folder: &Path, advice: &mut Advice) -> anyhow::Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
    let name = advice.at.replace(':', "-") + ".json";
    let file = folder.join(name);
    advice.file = Some(file.display().to_string());
    let text = serde_json::to_string_pretty(advice)? + "\n";
    ccctl_runfiles::write(&file, text.as_bytes()).map_err(ccctl_loader::Error::from)?;
    let mut kept: Vec<PathBuf> = fs::read_dir(folder)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    kept.sort(); // times in their names
    for old in kept.iter().rev().skip(MOST) {
        fs::remove_file(old).with_context(|| format!("remove {}", old.display()))?;
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_advice_is_kept_and_read_again() {
        let folder = std::env::temp_dir().join(format!("ccctl-advice-{}", std::process::id()));
        let at = |number: usize| format!("2026-11-25T{:02}:{:02}:00Z", number / 60, number % 60);
        let mut last = Advice::abstained(at(0), "web".to_owned(), "nothing");
        for number in 0..MOST + 5 {
            last = Advice::abstained(at(number), "web".to_owned(), "nothing");
            keep_in(&folder, &mut last).unwrap();
        }
        assert_eq!(fs::read_dir(&folder).unwrap().count(), MOST);
        let text = fs::read_to_string(last.file.as_ref().unwrap()).unwrap();
        assert_eq!(serde_json::from_str::<Advice>(&text).unwrap(), last);
        fs::remove_dir_all(folder).unwrap();
    }
}
