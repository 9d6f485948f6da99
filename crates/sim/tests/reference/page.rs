// SPDX-License-Identifier: GPL-2.0-only
//! The tables of `docs/internals/second-implementations.md`, printed of what the replays found.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::cases::{Subject, SUBJECTS};

const BEGIN: &str = "<!-- printed by `CCCTL_WRITE=1 cargo test -p ccctl-sim --test reference -- page` -->\n";
const END: &str = "<!-- end -->\n";

fn page_path() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/internals/second-implementations.md")
}

fn tolerance(subject: &Subject) -> String {
    let tolerance = subject.tolerance;
    let packets = if tolerance.pkts == 1.0 { "packet" } else { "packets" };
    match (tolerance.pkts == 0.0, tolerance.share == 0.0) {
        (true, _) => "none".to_owned(),
        (false, true) => format!("{} {packets}", tolerance.pkts),
        (false, false) => format!("{} {packets} and {} %", tolerance.pkts, tolerance.share * 100.0),
    }
}

/// As one would set it.
fn written(algorithm: &str, member: &str, integer: u32) -> String {
    let layout = ccctl_catalog::algorithm(algorithm).unwrap().layout();
    let parameter = layout.parameters.iter().find(|parameter| parameter.member == member).unwrap();
    format!("{}={}", parameter.name, parameter.format(integer))
}

fn tables() -> String {
    let mut text = String::from(
        "| algorithm | formulas | calls | losses | timeouts | tolerance | because | widest, packets | on the edge |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for subject in &SUBJECTS {
        let outcome = &subject.findings().outcome;
        let count = |branch: &str| outcome.branches.get(branch).copied().unwrap_or_default();
        writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            subject.algorithm,
            subject.source,
            outcome.calls,
            count("loss"),
            count("timeout"),
            tolerance(subject),
            subject.why,
            outcome.widest_pkts,
            outcome.edges
        )
        .unwrap();
    }
    text += "\n| algorithm | variants | branches, and how often taken | planted, and the call at which it shows |\n\
             | --- | --- | --- | --- |\n";
    for subject in &SUBJECTS {
        let findings = subject.findings();
        let variants: Vec<String> = subject.variants.iter().map(crate::cases::Variant::name).collect();
        let branches: Vec<String> = subject
            .branches
            .iter()
            .filter(|(branch, _)| !["loss", "timeout"].contains(branch))
            .map(|(branch, _)| format!("{branch} {}", findings.outcome.branches.get(branch).copied().unwrap_or(0)))
            .collect();
        let planted: Vec<String> = subject
            .planted
            .iter()
            .zip(&findings.planted)
            .map(|((_, member, integer), call)| {
                let planted = written(subject.algorithm, member, *integer);
                format!("`{planted}`: {}", call.map_or("not noticed".to_owned(), |call| call.to_string()))
            })
            .collect();
        writeln!(
            text,
            "| {} | {} | {} | {} |",
            subject.algorithm,
            variants.join("; "),
            branches.join(", "),
            planted.join(", ")
        )
        .unwrap();
    }
    text
}

/// Every algorithm has its row; with `CCCTL_WRITE` the figures are written anew.
#[test]
fn the_page_names_every_algorithm() {
    let page = fs::read_to_string(page_path()).unwrap();
    let (head, rest) = page.split_once(BEGIN).unwrap();
    let (printed, tail) = rest.split_once(END).unwrap();
    if std::env::var_os("CCCTL_WRITE").is_some() {
        return fs::write(page_path(), format!("{head}{BEGIN}{}{END}{tail}", tables())).unwrap();
    }
    for subject in &SUBJECTS {
        let start = format!("| {} | {} | ", subject.algorithm, subject.source);
        assert!(printed.contains(&start), "no row that begins with {start:?}");
    }
}
