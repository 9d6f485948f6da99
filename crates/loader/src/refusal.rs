// SPDX-License-Identifier: MIT OR Apache-2.0
//! What it means for who wrote the C file that the kernel, or libbpf, refuses an object.

use std::collections::BTreeSet;

use ccctl_catalog::LayoutError;
use object::{Object as _, ObjectSection as _};

use crate::kernel_ops::Member;
use crate::source_lines::{SourceLine, SourceLines};

/// A cause, and what to change.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) cause: String,
    pub(crate) remedy: String,
}

/// Hooks of which the kernel wants one each (`tcp_validate_congestion_control`).
const REQUIRED: [&[&str]; 3] = [&["ssthresh"], &["undo_cwnd"], &["cong_avoid", "cong_control"]];
/// Prefixes of the hooks of cc.h, which every object has.
const SHARED: [&str; 2] = ["cc_", "tcp_reno_"];
/// Instructions that the verifier follows before it gives up (`BPF_COMPLEXITY_LIMIT_INSNS`).
const MOST_STEPS: &str = "1,000,000";
/// Longest part of a C line in a message.
const LINE_CHARACTERS: usize = 80;

/// The first required hook that an object's struct of hooks leaves empty; of the programs, those of its own file can be it.
pub(crate) fn missing_hook(ops: &[u8], own: &[(String, Member)], programs: &[String]) -> Option<Refusal> {
    let is_set = |hook: &&str| {
        let member = own.iter().find(|(name, member)| name == hook && member.is_hook);
        let slot = member.and_then(|(_, member)| ops.get(member.offset..member.offset + 8));
        slot.is_some_and(|slot| slot.iter().any(|byte| *byte != 0))
    };
    let hooks = REQUIRED.into_iter().find(|hooks| !hooks.iter().any(is_set))?;
    let named = hooks.join(" and no ");
    let is_hook = |program: &str| hooks.iter().any(|hook| program.ends_with(&format!("_{hook}")));
    let program =
        programs.iter().find(|program| !SHARED.iter().any(|shared| program.starts_with(shared)) && is_hook(program));
    let hook = hooks[0];
    Some(match program {
        Some(program) => Refusal {
            cause: format!(
                "its table has no {named}, which the kernel requires, although there is a program {program}"
            ),
            remedy: format!("add .{hook} = CC_FN({program}) to CC_ALGORITHM"),
        },
        None => Refusal {
            cause: format!("it has no {named}, which the kernel requires of every algorithm"),
            remedy: remedy_of_missing(hook),
        },
    })
}

/// cc.h has hooks that are as in Reno.
fn remedy_of_missing(hook: &str) -> String {
    match hook {
        "ssthresh" => "add .ssthresh = CC_FN(tcp_reno_ssthresh) to CC_ALGORITHM, or write its own hook".to_owned(),
        "undo_cwnd" => "add .undo_cwnd = CC_FN(tcp_reno_undo_cwnd) to CC_ALGORITHM, or write its own hook".to_owned(),
        _ => format!("write CC_HOOK(NAME_{hook}, ...) and add .{hook} = CC_FN(NAME_{hook}) to CC_ALGORITHM"),
    }
}

/// Why libbpf cannot open an object, from what it printed, or from the object where it printed nothing.
pub(crate) fn unopened(object: &[u8], log: &str) -> LayoutError {
    let last = log.lines().last().unwrap_or_default().trim_start_matches("libbpf: ").trim();
    if last.contains("BTF is required") {
        return LayoutError::NoBtf(last.to_owned());
    }
    let (cause, remedy) = match between(last, "prog ", " is not struct_ops BPF program") {
        Some(function) => (
            format!("{function} is registered as a hook, but written without CC_HOOK"),
            format!("write it as CC_HOOK({function}, ...), with its arguments"),
        ),
        None if last.contains("is not a valid eBPF object file") => {
            ("it is not a BPF object file".to_owned(), "compile it with clang -g -target bpf".to_owned())
        }
        None => match merged_constants(object) {
            Some(section) => (
                format!("clang has put a constant table into the section {section}, which libbpf cannot open"),
                "declare the table static const volatile".to_owned(),
            ),
            None if last.is_empty() => {
                ("it is damaged or not a BPF object file".to_owned(), "compile it again".to_owned())
            }
            None => (format!("it is damaged or not a BPF object file ({last})"), "compile it again".to_owned()),
        },
    };
    LayoutError::Unreadable { cause, remedy }
}

/// The first of clang's sections for constants that a linker may merge (`.rodata.cst32`, `.rodata.str1.1`). BTF does not know
/// their variables.
fn merged_constants(object: &[u8]) -> Option<String> {
    let file = object::File::parse(object).ok()?;
    let is_merged = |name: &&str| name.starts_with(".rodata.cst") || name.starts_with(".rodata.str");
    let mut names = file.sections().filter_map(|section| section.name().ok().map(str::to_owned));
    names.find(|name| is_merged(&name.as_str()))
}

/// Why the kernel did not load an object, from the verifier's log and libbpf's messages around it.
pub(crate) fn unloaded(object: &[u8], log: &str, otherwise: &str) -> Refusal {
    if let Some(program) = log.lines().find_map(|line| between(line, "prog '", "': SEC(\"struct_ops\") program isn't"))
    {
        return Refusal {
            cause: format!("the program {program} is in no table of hooks"),
            remedy: format!("name it in CC_ALGORITHM, such as .init = CC_FN({program}), or remove it"),
        };
    }
    let program = log.lines().rev().find_map(|line| between(line, "libbpf: prog '", "': ")).unwrap_or_default();
    let trail = Trail { lines: SourceLines::of(object), program, log };
    if is_endless(log) {
        return trail.endless();
    }
    let place = trail.last_line().map_or(String::new(), |line| format!(" ({})", trail.told(&line)));
    let cause = format!("{}{place}", crate::verifier_log::last_words(log, otherwise));
    let remedy = if cause.contains("bounds check") || cause.contains("invalid access to map value") {
        "bound the index before it is used: i & (SIZE - 1), or if (i < SIZE)"
    } else {
        "read the end of the log: it has the instruction and the state of the registers"
    };
    Refusal { cause, remedy: remedy.to_owned() }
}

/// The verifier followed a program until it gave up.
fn is_endless(log: &str) -> bool {
    let words =
        ["failed to load: -E2BIG", "BPF program is too large", "jumps is too complex", "infinite loop detected"];
    words.iter().any(|words| log.contains(words))
}

fn between<'a>(line: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let rest = line.split_once(before)?.1;
    rest.split_once(after).map(|(name, _)| name)
}

/// The instructions that the verifier followed, and where they come from.
struct Trail<'a> {
    lines: Option<SourceLines<'a>>,
    program: &'a str,
    log: &'a str,
}

impl Trail<'_> {
    fn endless(&self) -> Refusal {
        let Some(line) = self.loop_line() else {
            return Refusal {
                cause: format!("{} takes more than the {MOST_STEPS} steps that the verifier follows", self.program),
                remedy: "make it shorter: move long calculations to a CC_SUBPROGRAM".to_owned(),
            };
        };
        Refusal {
            cause: format!("the verifier sees no bound of the loop at {}", self.told(&line)),
            remedy: format!(
                "give the loop a constant bound, such as i < 64, or write it with CC_LOOP: the verifier follows {MOST_STEPS} steps in all"
            ),
        }
    }

    /// The line that begins the outermost loop, which the jumps that go furthest back close; or else the first of the
    /// lines of these jumps and of their target.
    fn loop_line(&self) -> Option<SourceLine> {
        let jumps: BTreeSet<(u32, u32)> = self.log.lines().filter_map(jump_back).collect();
        let target = jumps.first()?.0;
        let back_there: Vec<u32> = jumps.iter().filter(|(place, _)| *place == target).map(|(_, jump)| *jump).collect();
        let inside = (target..=*back_there.last()?).filter_map(|instruction| self.line(instruction));
        let begins = |line: &SourceLine| ["for", "while", "do"].iter().any(|word| line.text.starts_with(word));
        let ends = back_there.iter().chain([&target]).filter_map(|instruction| self.line(*instruction));
        let first = inside.filter(begins).min_by_key(|line| line.number);
        first.or_else(|| ends.min_by_key(|line| line.number)).or_else(|| self.commented())
    }

    /// The line of the last instruction in the log.
    fn last_line(&self) -> Option<SourceLine> {
        let instruction = self.log.lines().rev().find_map(|line| Some(instruction(line)?.0))?;
        self.line(instruction).or_else(|| self.commented())
    }

    fn line(&self, instruction: u32) -> Option<SourceLine> {
        self.lines.as_ref()?.at(self.program, instruction)
    }

    /// The last line of C that the verifier printed itself, as `; TEXT @ FILE:LINE` since Linux 6.9.
    fn commented(&self) -> Option<SourceLine> {
        self.log.lines().rev().find_map(|line| {
            let (text, place) = line.strip_prefix("; ")?.rsplit_once(" @ ")?;
            let (file, number) = place.rsplit_once(':')?;
            Some(SourceLine { file: file.to_owned(), number: number.parse().ok()?, text: text.trim().to_owned() })
        })
    }

    fn told(&self, line: &SourceLine) -> String {
        let mut text: String = line.text.chars().take(LINE_CHARACTERS).collect();
        if text.len() < line.text.len() {
            text.push_str("...");
        }
        format!("{}:{} in {}: {text}", line.file, line.number, self.program)
    }
}

/// `12: (05) goto pc-3 ; REGISTERS`: number and operation of an instruction.
fn instruction(line: &str) -> Option<(u32, &str)> {
    let (number, rest) = line.split_once(": (")?;
    let operation = rest.split_once(") ")?.1;
    Some((number.trim().parse().ok()?, operation.split(';').next().unwrap_or(operation)))
}

/// Target and place of a jump to before itself.
fn jump_back(line: &str) -> Option<(u32, u32)> {
    let (number, operation) = instruction(line)?;
    let distance: u32 = operation.split_once("goto pc-")?.1.trim().parse().ok()?;
    Some((number.checked_add(1)?.checked_sub(distance)?, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines as Linux 6.18 prints them.
    #[test]
    fn instructions_and_jumps_are_read_from_the_log() {
        let jump = "19: (56) if w2 != 0x0 goto pc-6       ; R1=trusted_ptr_tcp_sock() R2=scalar(smin=umin=1)";
        assert_eq!(jump_back(jump), Some((14, 19)));
        assert_eq!(jump_back("29: (05) goto pc-13"), Some((17, 29)));
        assert_eq!(jump_back("19: (56) if w2 != 0x0 goto pc+1"), None);
        assert_eq!(jump_back("0: (05) goto pc-13"), None, "before the program");
        assert_eq!(instruction("; for (u32 i = 0; i != ack; i++) { @ loop2.bpf.c:8"), None);
        assert_eq!(instruction("from 19 to 21: R0=7"), None);
    }

    #[test]
    fn what_libbpf_says_of_a_function_without_cc_hook() {
        let log = "libbpf: struct_ops reloc aimd: prog aimd_ssthresh is not struct_ops BPF program\n";
        assert!(unopened(&[], log)
            .to_string()
            .starts_with("aimd_ssthresh is registered as a hook, but written without CC_HOOK"));
        assert!(unopened(&[], log).remedy().contains("CC_HOOK(aimd_ssthresh"));
        assert!(matches!(
            unopened(&[], "libbpf: BTF is required, but is missing or corrupted.\n"),
            LayoutError::NoBtf(_)
        ));
        assert!(matches!(unopened(&[], ""), LayoutError::Unreadable { .. }));
    }
}
