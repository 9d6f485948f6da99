// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl new`

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};

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
    /// The file.
    file: String,
}

pub fn run(arguments: &New) -> anyhow::Result<Exit> {
    let name = &arguments.name;
    require_name(name)?;
    let file = format!("{name}.bpf.c");
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&file)
        .and_then(|mut open| open.write_all(source(arguments.from, name).as_bytes()));
    match written {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let remedy = "choose another name, or remove the file";
            return Err(Fault::new(Exit::Refused, format!("there is a file {file} already"), remedy).into());
        }
        Err(error) => return Err(anyhow::Error::from(error).context(format!("write {file}"))),
    }
    if arguments.output.json {
        output::json(&Answer { algorithm: name.clone(), file })?;
    } else {
        output::line(&format!("wrote {file}; next: ccctl build {file}"))?;
    }
    Ok(Exit::Done)
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

fn source(template: Template, name: &str) -> String {
    let text = match template {
        Template::Reno => include_str!("../templates/reno.bpf.c.in"),
        Template::Cubic => include_str!("../templates/cubic.bpf.c.in"),
        Template::Delay => include_str!("../templates/delay.bpf.c.in"),
        Template::Rate => include_str!("../templates/rate.bpf.c.in"),
    };
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
            let source = source(*template, "mine");
            assert!(!source.contains('@'), "{source}");
            assert!(source.contains("CC_FN(mine_cong_") && source.contains(" * Mine: "), "{source}");
        }
    }

    /// The page prints what the command writes.
    #[test]
    fn the_page_has_the_file() {
        let page = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/first-algorithm.md"));
        assert!(page.contains(&source(Template::Reno, "mine")));
    }
}
