// SPDX-License-Identifier: MIT OR Apache-2.0
//! The right side of a rule, from words: `yeah`, `yeah|cubic`, `yeah=10,cubic=90`.

use ccctl_catalog::{algorithm, did_you_mean, names};

use super::record::{RULE_CHOICES, RULE_FALLBACKS};
use super::table::Choice;
use super::MOST_WEIGHT;
use crate::error::{Error, Result};
use crate::kernel::available_algorithms;
use crate::object::Program;

/// What the kernel has, and what ccctl could load.
pub(crate) struct Names {
    available: Vec<String>,
}

impl Names {
    /// Of this kernel.
    pub(crate) fn now() -> Result<Self> {
        Ok(Self { available: available_algorithms()? })
    }

    /// Of a kernel that has these.
    pub(crate) fn of(available: &[String]) -> Self {
        Self { available: available.to_vec() }
    }

    /// With others that it will have.
    pub(crate) fn with(mut self, coming: &[String]) -> Self {
        self.available.extend_from_slice(coming);
        self
    }

    /// Does the kernel have it?
    pub(crate) fn has(&self, name: &str) -> bool {
        self.available.iter().any(|known| known == name)
    }

    /// Kernel name of a word: the word itself, or the instance that `ccctl load WORD` makes.
    fn kernel_name(&self, word: &str) -> Result<String> {
        if self.has(word) || algorithm(word).is_none() {
            return Ok(word.to_owned());
        }
        Program::named(word)?.default_name()
    }

    /// The same, of a name that must be there now.
    fn present(&self, word: &str) -> Result<String> {
        let name = self.kernel_name(word)?;
        if self.has(&name) {
            return Ok(name);
        }
        let mut known = self.available.clone();
        known.extend(names().into_iter().map(str::to_owned));
        let hint = if algorithm(word).is_some() {
            format!("ccctl load {word}")
        } else {
            let there_are = || format!("the kernel has {}", self.available.join(", "));
            did_you_mean(word, known.iter().map(String::as_str), there_are)
        };
        Err(Error::Unknown { kind: "algorithm in the kernel", name: word.to_owned(), hint })
    }

    /// Refuses a choice of which no name is there.
    pub(crate) fn require(&self, choice: &Choice) -> Result<()> {
        if !choice.names.iter().any(|name| self.has(name)) {
            self.present(&choice.names[0])?; // which says what is wrong with it
        }
        Ok(())
    }
}

fn wrong(text: &str, hint: impl Into<String>) -> Error {
    Error::Request { cause: format!("{text:?} is not a valid target"), remedy: hint.into() }
}

/// Choices from words, with the names that the kernel knows them by.
pub(crate) fn parse_choices(text: &str, names: &Names) -> Result<Vec<Choice>> {
    let words: Vec<&str> = text.split(',').collect();
    if words.len() > RULE_CHOICES as usize {
        return Err(wrong(text, format!("use at most {RULE_CHOICES} alternatives")));
    }
    let weighted = words.iter().filter(|word| word.contains('=')).count();
    if words.len() > 1 && weighted < words.len() {
        let bare: Vec<&str> = words.iter().map(|word| word.split('=').next().unwrap_or_default()).collect();
        let (split, list) = (format!("{}=50", bare.join("=50,")), bare.join("|"));
        return Err(wrong(
            text,
            format!("write a weight for each ({split}), or a list in order of preference ({list})"),
        ));
    }
    let mut choices: Vec<Choice> = Vec::new();
    for word in &words {
        let choice = parse_choice(word, words.len() > 1, names)?;
        if choices.iter().any(|known| known.names[0] == choice.names[0]) {
            return Err(wrong(text, format!("write {} once, with the sum of the weights", choice.names[0])));
        }
        choices.push(choice);
    }
    Ok(choices)
}

fn parse_choice(word: &str, weighted: bool, names: &Names) -> Result<Choice> {
    let (list, weight) = match word.split_once('=') {
        Some((list, weight)) => (list, parse_weight(word, weight)?),
        None => (word, 1),
    };
    let members: Vec<&str> = list.split('|').collect();
    if members.len() > RULE_FALLBACKS as usize {
        return Err(wrong(word, format!("use at most {RULE_FALLBACKS} names in a list")));
    }
    if members.iter().any(|member| member.is_empty()) {
        return Err(wrong(word, "ALGORITHM, ALGORITHM|FALLBACK, or ALGORITHM=WEIGHT,OTHER=WEIGHT"));
    }
    let mut found: Vec<String> = Vec::new();
    for member in &members {
        let name = if members.len() > 1 { names.kernel_name(member)? } else { names.present(member)? };
        crate::kernel::check_name(&name)?;
        if found.contains(&name) {
            return Err(wrong(word, format!("{name} once")));
        }
        found.push(name);
    }
    if !found.iter().any(|name| names.has(name)) {
        names.present(members[0])?; // which says what is wrong with it
    }
    Ok(Choice { names: found, weight: if weighted { weight } else { 1 } })
}

fn parse_weight(word: &str, weight: &str) -> Result<u32> {
    let parsed = weight.parse().ok().filter(|weight| (1..=MOST_WEIGHT).contains(weight));
    parsed.ok_or_else(|| wrong(word, format!("write a weight of 1 to {MOST_WEIGHT} after =")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::table::format_choices;

    fn parse(text: &str) -> Result<String> {
        let available = ["reno", "cubic", "bpf_cubic", "bpf_yeah", "mine"];
        let names = Names::of(&available.map(str::to_owned));
        parse_choices(text, &names).map(|choices| format_choices(&choices))
    }

    #[test]
    fn words_become_kernel_names() {
        for (typed, meant) in [
            ("cubic", "cubic"),
            ("bpf_cubic", "bpf_cubic"),
            ("yeah", "bpf_yeah"),
            ("mine", "mine"),
            ("yeah=7", "bpf_yeah"),
            ("yeah|cubic", "bpf_yeah|cubic"),
            ("highspeed_lp|reno", "bpf_hstcp_lp|reno"),
            ("not_there|reno", "not_there|reno"),
            ("yeah=10,cubic=90", "bpf_yeah=10,cubic=90"),
            ("yeah|reno=1,cubic=1000000", "bpf_yeah|reno=1,cubic=1000000"),
        ] {
            assert_eq!(parse(typed).expect(typed), meant);
        }
    }

    #[test]
    fn what_makes_no_choice_says_what_would() {
        for (typed, hint) in [
            ("htcp", "ccctl load htcp"),
            ("bpf_cubci", "did you mean bpf_cubic"),
            ("zzz|htcp", "the kernel has"),
            ("yeah,cubic", "yeah=50,cubic=50"),
            ("yeah=1,cubic", "yeah|cubic"),
            ("cubic=1,cubic=2", "cubic once"),
            ("yeah|bpf_yeah", "bpf_yeah once"),
            ("yeah=0", "a weight of 1"),
            ("yeah=many", "a weight of 1"),
            ("yeah|", "ALGORITHM"),
            ("", "ALGORITHM"),
            ("a|b|c|d|reno", "at most 4"),
        ] {
            let error = parse(typed).expect_err(typed);
            assert!(error.remedy().is_some_and(|remedy| remedy.contains(hint)), "{typed}: {:?}", error.remedy());
        }
        assert!(parse("seventeen_letters|reno").is_err());
    }
}
