// SPDX-License-Identifier: GPL-2.0-only
//! The page of docs: one table of all algorithms, then for each what differs on purpose and what was not reached.

use std::fmt::Write as _;

use crate::counterpart::{Counterpart, Rule, NO_PARAMETER};
use crate::coverage::Branch;
use crate::mutant::Mutant;
use crate::replay::Tally;
use crate::uncovered;

/// What was found for one algorithm.
pub struct Finding {
    /// Algorithm.
    pub counterpart: &'static Counterpart,
    /// Kernel of the recording.
    pub kernel: String,
    /// Replay.
    pub tally: Tally,
    /// Branches of the C file.
    pub branches: Vec<Branch>,
    /// Errors planted, and those of them not caught.
    pub planted: (usize, Vec<&'static Mutant>),
}

impl Finding {
    /// Is all as it is meant to be?
    pub fn verdict(&self) -> &'static str {
        if self.tally.mismatches > 0 {
            "differs"
        } else if self.tally.intended.iter().any(|count| *count > 0) {
            "same except intended differences"
        } else {
            "same"
        }
    }

    /// Mutants that had to be caught and were not.
    pub fn escaped(&self) -> impl Iterator<Item = &'static Mutant> + '_ {
        self.planted.1.iter().copied().filter(|error| error.unreachable.is_empty())
    }

    fn branches_taken(&self) -> usize {
        self.branches.iter().filter(|branch| branch.count > 0).count()
    }
}

/// The table and the sections, between the page's own words.
pub fn page(findings: &[Finding]) -> String {
    let mut text = String::from(
        "| algorithm | kernel | connections | calls compared | same answer | intended differences | mismatches | branches taken | \
         mutants caught | verdict |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for finding in findings {
        let tally = &finding.tally;
        let (planted, missed) = (finding.planted.0, finding.planted.1.len());
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} | {} of {} | {} of {planted} | {} |",
            finding.counterpart.name,
            finding.kernel.split(['+', '-']).next().unwrap_or_default(),
            if tally.connections > 0 { tally.connections.to_string() } else { String::new() }, // without init, not known
            tally.calls(),
            tally.equal,
            tally.intended.iter().sum::<u64>(),
            tally.mismatches,
            finding.branches_taken(),
            finding.branches.len(),
            planted - missed,
            finding.verdict(),
        );
    }
    for finding in findings {
        section(&mut text, finding);
    }
    text
}

fn section(text: &mut String, finding: &Finding) {
    let counterpart = finding.counterpart;
    let _ = writeln!(text, "\n### {}\n", counterpart.name);
    let hooks: Vec<String> = finding.tally.by_hook.iter().map(|(hook, count)| format!("`{hook}` {count}")).collect();
    let _ = writeln!(
        text,
        "Calls recorded: {}; {} of them have no answer to compare.\n",
        hooks.join(", "),
        finding.tally.without_answer
    );
    if !counterpart.rules.is_empty() {
        text.push_str("| the module | calls | why ours does not | parameter |\n| --- | --- | --- | --- |\n");
        for (rule, count) in counterpart.rules.iter().zip(&finding.tally.intended) {
            let parameter = parameter(rule);
            let _ = writeln!(text, "| {} | {count} | {} | {parameter} |", rule.module, rule.reason);
        }
        text.push('\n');
    }
    for note in counterpart.notes {
        let _ = writeln!(text, "- {note}");
    }
    branches(text, finding);
    for error in &finding.planted.1 {
        let (wrong, right) = (one_line(error.wrong), one_line(error.right));
        let reason = if error.unreachable.is_empty() { "not intended" } else { error.unreachable };
        let _ = writeln!(text, "- Mutant not caught: `{wrong}` for `{right}`: {reason}.");
    }
    for example in &finding.tally.examples {
        let _ = writeln!(text, "\n```text\n{example}\n```");
    }
}

/// Its name, or why there is none
fn parameter(rule: &Rule) -> String {
    if rule.parameter.starts_with(NO_PARAMETER) {
        rule.parameter.to_owned()
    } else {
        format!("`{}`", rule.parameter)
    }
}

fn branches(text: &mut String, finding: &Finding) {
    let mut counts: Vec<&Branch> = finding.branches.iter().collect();
    counts.sort_by_key(|branch| (branch.line, !branch.held));
    let missing: Vec<&&Branch> = counts.iter().filter(|branch| branch.count == 0).collect();
    for branch in &missing {
        let reason = uncovered::reason(finding.counterpart.name, &branch.text);
        let _ =
            writeln!(text, "- Not taken: line {}, {}: `{}`: {reason}.", branch.line, word(branch.held), branch.text);
    }
    if counts.len() > missing.len() {
        text.push_str("\n<details><summary>Count of each branch</summary>\n\n| line | condition | held | did not |\n| --- | --- | --- | --- |\n");
        for pair in counts.chunks(2) {
            if let [held, not] = pair {
                let condition = held.text.replace('|', "\\|");
                let _ = writeln!(text, "| {} | `{condition}` | {} | {} |", held.line, held.count, not.count);
            }
        }
        text.push_str("\n</details>\n");
    }
}

fn word(held: bool) -> &'static str {
    if held {
        "condition holds"
    } else {
        "condition does not hold"
    }
}

fn one_line(code: &str) -> String {
    code.split_whitespace().collect::<Vec<_>>().join(" ")
}
