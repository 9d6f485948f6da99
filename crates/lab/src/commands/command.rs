// SPDX-License-Identifier: GPL-2.0-only
//! The command that makes a folder's runs, as its page shows it: what decides about results, not where and how fast.

use ccctl_lab::backend::{Backend, Sim};

use super::task::Task;
use crate::arguments::PathChoice;

/// Of this scenario, over this path.
pub fn text(task: &Task<'_>, backend: &dyn Backend, path: PathChoice) -> String {
    let Task { name, axes, own, part } = *task;
    let verb = if axes.is_empty() { "run" } else { "sweep" };
    let mut words = vec!["ccctl".to_owned(), "lab".to_owned(), verb.to_owned(), quoted(name)];
    let mut add = |option: &str, value: &str| words.extend([option.to_owned(), quoted(value)]);
    if backend.name() != Sim.name() {
        add("--backend", backend.name());
        if path == PathChoice::Netem {
            add("--path", "netem");
        }
    }
    for own in own {
        add("--algorithm", &own.file);
    }
    for (option, values) in [("--axis", axes), ("--set", part.set.as_slice()), ("--only", part.only.as_slice())] {
        for value in values {
            add(option, value);
        }
    }
    if let Some(seed) = part.seed {
        add("--seed", &seed.to_string());
    }
    if let Some(repeats) = part.repeats {
        add("--repeats", &repeats.to_string());
    }
    if part.testbed {
        words.push("--testbed".to_owned());
    }
    if part.no_paper && axes.is_empty() && own.is_empty() {
        words.push("--no-paper".to_owned());
    }
    words.join(" ")
}

/// As a shell reads it back.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=:+,".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_shell_reads_words_back() {
        assert_eq!(quoted("run.seed=1"), "run.seed=1");
        assert_eq!(quoted("buffer=20 % BDP"), "'buffer=20 % BDP'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert_eq!(quoted(""), "''");
    }
}
