// SPDX-License-Identifier: GPL-2.0-only
//! The comparison with mutant errors in our C files: it has to catch each of them on the same recordings.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::build;
use crate::counterpart::Counterpart;
use crate::file::Recording;
use crate::mutant::Mutant;
use crate::native::Algorithm;
use crate::replay::{self, Mode};

/// The errors planted in this algorithm that a replay does not catch.
pub fn missed(
    recording: &Recording,
    counterpart: &'static Counterpart,
    work: &Path,
) -> Result<(usize, Vec<&'static Mutant>)> {
    let mut missed = Vec::new();
    let mut count = 0;
    for planted in counterpart.mutants {
        count += 1;
        let folder = work.join(format!("{}-{count}", counterpart.name));
        let (source, library) = (plant(counterpart.name, planted, &folder)?, folder.join("planted.so"));
        build::compile(&source, &folder.join("include"), &library, false)
            .with_context(|| format!("planted {:?}", planted.wrong))?;
        let load = |more: &[(&str, &str)]| {
            Algorithm::load(&library, counterpart.name, &replay::parameters(counterpart, more)?)
        };
        let tally =
            replay::replay(recording, counterpart, &load(&[])?, &load(counterpart.other)?, Mode::UntilMismatch)?;
        if tally.mismatches == 0 {
            missed.push(planted);
        }
    }
    Ok((count, missed))
}

/// Copies an algorithm's C file and the headers, into `include`, with the error in them. Gives the copy of the file.
pub fn plant(algorithm: &str, planted: &Mutant, folder: &Path) -> Result<PathBuf> {
    let bpf = build::bpf_folder();
    let include = folder.join("include");
    copy_folder(&bpf.join("include"), &include)?;
    let source = folder.join(format!("{algorithm}.bpf.c"));
    fs::copy(bpf.join(format!("algorithms/{algorithm}.bpf.c")), &source)?;
    let changed = if planted.header.is_empty() { source.clone() } else { include.join(planted.header) };
    let text = fs::read_to_string(&changed)?;
    fs::write(&changed, planted.in_text(&text)?)?;
    Ok(source)
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let copy = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &copy)?;
        } else {
            fs::copy(entry.path(), copy)?;
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::counterparts::COUNTERPARTS;

    #[test]
    fn each_error_has_its_place() {
        let bpf = build::bpf_folder();
        for counterpart in COUNTERPARTS {
            assert!(!counterpart.mutants.is_empty(), "{} has none", counterpart.name);
            for planted in counterpart.mutants {
                let file = match planted.header {
                    "" => bpf.join(format!("algorithms/{}.bpf.c", counterpart.name)),
                    header => bpf.join("include").join(header),
                };
                let text = fs::read_to_string(file).unwrap();
                assert_ne!(planted.in_text(&text).unwrap(), text, "{}", counterpart.name);
            }
        }
    }
}
