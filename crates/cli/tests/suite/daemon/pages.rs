// SPDX-License-Identifier: MIT OR Apache-2.0
//! The listings of the guide and of the reference: shell commands run, configurations are accepted, C compiles.
//!
//! The `sh` blocks of a page are one script, which stops at the first command that fails. It runs in a folder that has the page's first
//! `c` block as `mine.bpf.c`, with the repository in `$REPOSITORY`. A comment of Markdown before a block changes what is done with it:
//!
//! - `<!-- before: COMMANDS -->`: they run first; readers do not see them
//! - `<!-- part of FILE -->`: a part of this file of the repository, with `...` for what is left out
//! - `<!-- not run: REASON -->`

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use ccctl_testbed::run;

use crate::support::compile::compile;
use crate::support::{self, ccctl, claim, claim_rules, Folder, CCCTL};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
/// Its blocks are run by another test, which knows what they print.
const TOLD_ELSEWHERE: &str = "two-services.md";
/// What the pages' commands load; anything else that they leave behind fails the test.
const INSTANCES: [&str; 5] = ["web", "mine", "bpf_cubic", "bpf_lp", "bpf_bbr"];
const LIMIT: Duration = Duration::from_secs(60);

/// A listing of a page.
#[derive(Debug, PartialEq)]
struct Block {
    language: String,
    /// Where it begins.
    line: usize,
    text: String,
    /// The comment before it.
    note: Note,
}

#[derive(Debug, PartialEq)]
enum Note {
    None,
    Before(String),
    PartOf(String),
    NotRun,
}

/// The listings of a page of Markdown.
fn blocks(page: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let (mut comment, mut inside) = (String::new(), false);
    for (number, line) in page.lines().enumerate() {
        let fence = line.trim_start().strip_prefix("```");
        match (inside, fence) {
            (false, Some(language)) => {
                let note = note(&std::mem::take(&mut comment));
                blocks.push(Block { language: language.to_owned(), line: number + 1, text: String::new(), note });
                inside = true;
            }
            (true, Some("")) => inside = false,
            (true, _) => {
                let block = blocks.last_mut().unwrap();
                block.text += line.trim_start_matches("   ");
                block.text.push('\n');
            }
            // A comment goes on to its end; any other line between it and the block means that it is not of the block
            (false, None) if line.starts_with("<!--") => line.clone_into(&mut comment),
            (false, None) if !comment.is_empty() && !comment.ends_with("-->") => comment.extend(["\n", line]),
            (false, None) => comment.clear(),
        }
    }
    blocks
}

fn note(comment: &str) -> Note {
    let text = comment.strip_prefix("<!--").and_then(|text| text.strip_suffix("-->")).unwrap_or_default().trim();
    match text.split_once(char::is_whitespace) {
        Some(("before:", commands)) => Note::Before(commands.to_owned()),
        Some(("part", file)) => Note::PartOf(file.strip_prefix("of ").expect("part of FILE").to_owned()),
        Some(("not", reason)) => {
            assert!(reason.strip_prefix("run: ").is_some_and(|reason| !reason.is_empty()), "not run: without a reason");
            Note::NotRun
        }
        _ => Note::None,
    }
}

fn pages() -> Vec<PathBuf> {
    let folder = |name: &str| fs::read_dir(format!("{ROOT}/docs/{name}")).unwrap();
    let files = folder("guide").chain(folder("reference")).map(|entry| entry.unwrap().path());
    let mut pages: Vec<_> = files.filter(|path| path.extension().is_some_and(|end| end == "md")).collect();
    pages.sort();
    pages
}

/// Runs the shell blocks of a page as one script.
fn run_script(blocks: &[Block], folder: &Folder) -> Result<(), String> {
    if let Some(first) = blocks.iter().find(|block| block.language == "c") {
        folder.file("mine.bpf.c", &first.text);
    }
    let script: String = blocks
        .iter()
        .filter(|block| block.language == "sh" && block.note != Note::NotRun)
        .map(|block| match &block.note {
            Note::Before(commands) => format!("{commands}\n{}", block.text),
            _ => block.text.clone(),
        })
        .collect();
    let programs = Path::new(CCCTL).parent().unwrap().display().to_string();
    let mut bash = Command::new("bash");
    bash.args(["-c", &format!("set -euo pipefail\n{script}")]).current_dir(folder.path());
    bash.env("PATH", format!("{programs}:{}", std::env::var("PATH").unwrap())).env("REPOSITORY", ROOT);
    let output = run(&mut bash, LIMIT).map_err(|error| error.to_string())?;
    if output.success() {
        return Ok(());
    }
    Err(format!("its commands fail:\n{}{}", output.stdout, output.stderr))
}

/// A configuration is one that the daemon would take: 6 means that it would change something.
fn check_configuration(block: &Block, folder: &Folder) -> Result<(), String> {
    let file = folder.file(&format!("line-{}.toml", block.line), &block.text);
    let output = ccctl(&["apply", &file, "--dry-run"]);
    match output.code {
        Some(0 | support::code::PARTLY) => Ok(()),
        _ => Err(format!("line {}: {}", block.line, output.stderr)),
    }
}

/// Each line of the block is in the file, in the same order, whatever white space is between its words.
fn check_part(block: &Block, file: &str) -> Result<(), String> {
    let words = |text: &str| text.split_whitespace().flat_map(|word| [word, " "]).collect::<String>();
    let text = words(&fs::read_to_string(format!("{ROOT}/{file}")).map_err(|error| format!("{file}: {error}"))?);
    let mut rest = text.as_str();
    for line in block.text.lines() {
        for part in line.split("...").map(words).filter(|part| !part.is_empty()) {
            let part = part.trim_end();
            let at = rest.find(part).ok_or_else(|| format!("line {}: {file} has no {part:?} there", block.line))?;
            rest = &rest[at + part.len()..];
        }
    }
    Ok(())
}

fn check(page: &Path) -> Result<(), String> {
    let text = fs::read_to_string(page).map_err(|error| error.to_string())?;
    let blocks = blocks(&text);
    let folder = Folder::new("pages");
    let name = page.file_name().unwrap().to_str().unwrap();
    if name != TOLD_ELSEWHERE {
        run_script(&blocks, &folder)?;
    }
    for block in &blocks {
        match (&block.note, block.language.as_str()) {
            (Note::NotRun, _) => {}
            (Note::PartOf(file), _) => check_part(block, file)?,
            (_, "toml") => check_configuration(block, &folder)?,
            (_, "c") => drop(compile(&folder, &block.text, &format!("line-{}", block.line))),
            _ => {}
        }
    }
    Ok(())
}

#[test]
fn listings_of_the_pages_work() {
    support::test("pages", 300, || {
        for name in INSTANCES {
            claim(name);
        }
        claim_rules();
        let pages = pages();
        assert!(pages.len() > 20, "{pages:?}");
        let failed: Vec<String> = pages
            .iter()
            .filter_map(|page| check(page).err().map(|error| format!("{}: {error}", page.display())))
            .collect();
        assert!(failed.is_empty(), "{}", failed.join("\n"));
    });
}

#[test]
fn notes_belong_to_the_block_that_follows() {
    let page = "<!-- not run: needs a network -->\n```sh\nfalse\n```\n<!-- before: a\nb -->\n```sh\nc\n```\n<!-- part of d.c -->\n\n```c\ne\n```\n";
    let found: Vec<_> = blocks(page).into_iter().map(|block| (block.text, block.note)).collect();
    assert_eq!(
        found,
        [
            ("false\n".to_owned(), Note::NotRun),
            ("c\n".to_owned(), Note::Before("a\nb".to_owned())),
            ("e\n".to_owned(), Note::None),
        ]
    );
}

/// The commands of a listing, each with its options: of lines that call `ccctl`, also after a prompt. Where the next line is an error
/// of `ccctl`, the page shows a mistake. `ccctl lab` has another program's options.
fn commands(block: &str) -> Vec<(&str, Vec<&str>)> {
    let lines: Vec<&str> = block.lines().collect();
    let is_mistake = |number: usize| lines.get(number + 1).is_some_and(|next| next.starts_with("ccctl: "));
    let mut commands = Vec::new();
    for (_, line) in lines.iter().enumerate().filter(|(number, _)| !is_mistake(*number)) {
        let line = line.trim_start_matches(['$', '#', ' ']);
        let Some(call) = line.strip_prefix("ccctl ").map(|call| call.split(" | ").next().unwrap()) else { continue };
        let mut words = call.split_whitespace().take_while(|word| *word != "#");
        let is_no_command = |name: &str| name == "lab" || name.starts_with(|first: char| !first.is_alphabetic()); // a version
        let Some(name) = words.next().filter(|name| !is_no_command(name)) else { continue };
        let is_option = |word: &&str| word.len() > 2 && word.starts_with("--");
        commands.push((name, words.filter(is_option).map(|word| word.split('=').next().unwrap()).collect()));
    }
    commands
}

/// The help of a command, and of its own commands.
fn help_of(name: &str) -> String {
    let of =
        |words: &[&str]| run(Command::new(CCCTL).args(words), LIMIT).map(|output| output.stdout).unwrap_or_default();
    let mut help = of(&[name, "--help"]);
    let list = help.split_once("Commands:\n").map_or("", |(_, rest)| rest.split("\n\n").next().unwrap_or_default());
    let names: Vec<String> = list.lines().filter_map(|line| Some(line.split_whitespace().next()?.to_owned())).collect();
    names.iter().filter(|own| *own != "help").for_each(|own| help += &of(&[name, own, "--help"]));
    help
}

/// Listings that show output are not run, as they depend on the host: their commands and options exist.
#[test]
fn commands_of_the_listings_exist() {
    let mut help: BTreeMap<String, String> = BTreeMap::new();
    let (mut seen, mut wrong) = (0, Vec::new());
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for block in blocks(&text) {
            for (name, options) in commands(&block.text) {
                let known = help.entry(name.to_owned()).or_insert_with(|| help_of(name));
                seen += 1;
                let unknown = options.iter().find(|option| !known.contains(**option));
                if known.is_empty() || unknown.is_some() {
                    wrong.push(format!("{}: ccctl {name} {}", page.display(), unknown.unwrap_or(&"")));
                }
            }
        }
    }
    assert!(seen > 80, "only {seen} commands");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The text of a picture that scripts/pictures has made, without white space: a heading can be several texts, as one of its letters
/// is underlined.
fn text_of(picture: &str) -> String {
    let svg = fs::read_to_string(format!("{ROOT}/docs/images/{picture}.svg")).unwrap();
    let texts =
        svg.split("<text ").skip(1).map(|text| text.split_once('>').unwrap().1.split("</text>").next().unwrap());
    texts.flat_map(str::split_whitespace).collect()
}

/// Columns that are renamed, added or removed make a picture stale: `scripts/pictures` takes it again.
#[test]
fn pictures_have_the_headings_of_the_program() {
    support::test("pictures", 60, || {
        for (picture, words) in [("list", &["list"][..]), ("top", &["top", "--once"])] {
            let output = support::succeeds(words);
            let text = text_of(picture);
            for heading in output.lines().next().unwrap().split("  ").filter(|heading| !heading.is_empty()) {
                let heading: String = heading.split_whitespace().collect();
                assert!(text.contains(&heading), "docs/images/{picture}.svg has no {heading:?}: {text}");
            }
        }
    });
}
