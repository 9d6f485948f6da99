// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl new`

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;

use ccctl_console::{output, Exit, Fault, UsageError};
use schemars::JsonSchema;
use serde::Serialize;

use crate::arguments::{New, Template};

/// `bpf_` and this must fit into the 15 letters of a kernel name.
const MOST_LETTERS: usize = 11;

/// What was written.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Answer {
    /// Algorithm, as `ccctl algorithms` lists it: here the one in the file.
    algorithm: String,
    /// The C file.
    file: String,
    /// Test vectors, a scenario and a page that says how to use them.
    companion_files: Vec<String>,
}

pub fn run(arguments: &New) -> anyhow::Result<Exit> {
    let name = &arguments.name;
    require_name(name)?;
    let files = files(arguments.from, name);
    // All of them, or none.
    if let Some((file, _)) = files.iter().find(|(file, _)| Path::new(file).symlink_metadata().is_ok()) {
        return Err(taken(file));
    }
    for (number, (file, text)) in files.iter().enumerate() {
        if let Err(error) = write(file, text) {
            for (written, _) in &files[..number] {
                // The first error is the one to tell.
                let _ = fs::remove_file(written);
            }
            return Err(error);
        }
    }
    let names: Vec<String> = files.into_iter().map(|(file, _)| file).collect();
    let (file, others) = names.split_first().expect("a C file and others");
    if arguments.output.json {
        output::json(&Answer { algorithm: name.clone(), file: file.clone(), companion_files: others.to_vec() })?;
    } else {
        output::line(&format!("wrote {}; next: ccctl build {file}", names.join(", ")))?;
    }
    Ok(Exit::Done)
}

fn write(file: &str, text: &str) -> anyhow::Result<()> {
    let failed = |error: io::Error| anyhow::Error::from(error).context(format!("write {file}"));
    let mut open = match OpenOptions::new().write(true).create_new(true).open(file) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Err(taken(file)),
        opened => opened.map_err(failed)?,
    };
    open.write_all(text.as_bytes()).map_err(|error| {
        let _ = fs::remove_file(file); // a part of it is of no use; the first error is the one to tell
        failed(error)
    })
}

fn taken(file: &str) -> anyhow::Error {
    let remedy = "choose another name, or remove the file";
    Fault::new(Exit::Refused, format!("there is a file {file} already"), remedy).into()
}

/// It becomes a part of names in C, and of the kernel name.
fn require_name(name: &str) -> anyhow::Result<()> {
    let is_letter = |letter: char| letter.is_ascii_lowercase() || letter == '_';
    let fits = name.len() <= MOST_LETTERS
        && name.starts_with(|letter: char| letter.is_ascii_lowercase())
        && name.chars().all(|letter| is_letter(letter) || letter.is_ascii_digit());
    if fits {
        return Ok(());
    }
    let cause = format!("{name:?} cannot be the name of an algorithm");
    let remedy = format!("a small letter, then small letters, digits or _, at most {MOST_LETTERS} in all");
    Err(UsageError::new(cause, remedy).into())
}

/// Names and texts, the C file first.
fn files(template: Template, name: &str) -> Vec<(String, String)> {
    let (source, vectors) = match template {
        Template::Reno => {
            (include_str!("../templates/reno.bpf.c.in"), include_str!("../templates/reno.vectors.json.in"))
        }
        Template::Cubic => {
            (include_str!("../templates/cubic.bpf.c.in"), include_str!("../templates/cubic.vectors.json.in"))
        }
        Template::Delay => {
            (include_str!("../templates/delay.bpf.c.in"), include_str!("../templates/delay.vectors.json.in"))
        }
        Template::Rate => {
            (include_str!("../templates/rate.bpf.c.in"), include_str!("../templates/rate.vectors.json.in"))
        }
    };
    let texts = [
        ("bpf.c", source),
        ("vectors.json", vectors),
        ("toml", include_str!("../templates/scenario.toml.in")),
        ("md", include_str!("../templates/readme.md.in")),
    ];
    texts.map(|(ending, text)| (format!("{name}.{ending}"), filled_in(text, name))).to_vec()
}

fn filled_in(text: &str, name: &str) -> String {
    let mut title = name.to_owned();
    title[..1].make_ascii_uppercase();
    let replaced = [("TITLE", title), ("NAME", name.to_uppercase()), ("name", name.to_owned())];
    replaced.iter().fold(text.to_owned(), |text, (word, by)| text.replace(&format!("@{word}@"), by))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use clap::ValueEnum as _;

    use super::*;

    #[test]
    fn names_that_c_or_the_kernel_refuses_are_refused() {
        for name in ["mine", "a", "m2_x", "eleven_char"] {
            require_name(name).unwrap();
        }
        for name in ["", "2mine", "_mine", "Mine", "mi-ne", "../mine", "twelve_chars"] {
            assert!(require_name(name).is_err(), "{name}");
        }
    }

    /// A test of the suite has the kernel check it.
    #[test]
    fn no_placeholder_is_left() {
        for template in Template::value_variants() {
            let files = files(*template, "mine");
            assert!(files.iter().all(|(_, text)| !text.contains('@')), "{files:?}");
            let source = &files[0].1;
            assert!(source.contains("CC_FN(mine_cong_") && source.contains(" * Mine: "), "{source}");
        }
    }

    /// The page prints what the command writes.
    #[test]
    fn the_page_has_the_file() {
        let page = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/first-algorithm.md"));
        assert!(page.contains(&files(Template::Reno, "mine")[0].1));
    }
}
