// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the processor time of commands grows with the number of sockets: from 1,000 to 1,000,000 of one namespace, or as
//! many as a guest in virtual time has room for.

use std::process::{Command, Stdio};

use ccctl_series::{svg, Axis, Figure, Line, Panel, Point, Scale, Style};
use ccctl_testbed::{run_ok, Namespace};

use crate::held::{end, open, ENDS};
use crate::measure::{aim, aims, figure_file, machine, note, processor_ms, Sample};
use crate::{support, LIMIT};

pub struct Plan {
    pub rounds: usize,
    /// From few to many: what is left of a namespace is removed a while after it.
    pub sizes: &'static [usize],
}

pub const FULL: Plan = Plan { rounds: 5, sizes: &[1000, 10_000, 100_000, 1_000_000] };
pub const EXACT: Plan = Plan { rounds: 2, sizes: &[1000, 10_000] };

const COMMANDS: [&str; 5] =
    ["ccctl sockets", "ccctl list", "ccctl migrate --dry-run", "ccctl migrate", "ss -tin, to compare with"];
/// Of these, those of ccctl.
const OURS: usize = 4;

/// Processor time of each command at one number of sockets.
struct Size {
    sockets: usize,
    commands: [Sample; COMMANDS.len()],
}

pub fn measure(plan: &Plan) {
    println!(
        "{}; idle sockets of one namespace, {} rounds; ms of processor time: median (min to max).\n",
        machine(),
        plan.rounds
    );
    println!("| sockets | {} |", COMMANDS.join(" | "));
    println!("| ---: |{}", " --- |".repeat(COMMANDS.len()));
    let sizes: Vec<Size> = plan.sizes.iter().map(|sockets| at(plan.rounds, *sockets)).collect();
    aims();
    for (index, what) in COMMANDS[..OURS].iter().enumerate() {
        for pair in sizes.windows(2) {
            let (few, many) = (&pair[0], &pair[1]);
            let growth = many.commands[index].median() / few.commands[index].median();
            let of_sockets = many.sockets as f64 / few.sockets as f64;
            aim(&format!("{what}, {} to {} sockets", few.sockets, many.sockets), growth, of_sockets, " times");
        }
    }
    for Size { sockets, commands } in &sizes {
        for (what, sample) in COMMANDS[..OURS].iter().zip(commands) {
            note(&format!("processor time, {what}, {sockets} sockets"), sample.median(), "ms");
        }
    }
    if let Some(file) = figure_file() {
        std::fs::write(&file, svg(&figure(&sizes))).unwrap();
        println!("\n{} is drawn.", file.display());
    }
}

fn at(rounds: usize, sockets: usize) -> Size {
    let namespace = Namespace::new("growth").unwrap();
    let holders = open(&namespace, sockets / ENDS);
    let mut size = Size { sockets, commands: std::array::from_fn(|_| Sample::default()) };
    for round in 0..rounds {
        let (from, to) = if round % 2 == 0 { ("reno", "bpf_cubic") } else { ("bpf_cubic", "reno") };
        let name = namespace.name();
        let migrate = ["migrate", "--netns", name, "--instance", from, "--to", to];
        let dry_run = [&migrate[..], &["--dry-run"]].concat();
        let commands: [&[&str]; OURS] = [&["sockets", "--netns", name], &["list"], &dry_run, &migrate];
        for (words, sample) in commands.iter().zip(&mut size.commands) {
            sample.add(processor_ms(|| succeeds(Command::new(support::CCCTL).args(*words))));
        }
        let listing = || namespace.enter(|| succeeds(Command::new("ss").arg("-tin"))).unwrap();
        size.commands[OURS].add(processor_ms(listing));
        assert_eq!(using(&namespace, to), sockets, "{to}");
    }
    let cells: Vec<String> = size.commands.iter().map(|sample| sample.cell(1)).collect();
    println!("| {sockets} | {} |", cells.join(" | "));
    end(holders);
    size
}

fn succeeds(command: &mut Command) {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status().unwrap();
    assert!(status.success(), "{command:?}: {status}");
}

/// How many sockets use an algorithm, as `ss` says.
fn using(namespace: &Namespace, algorithm: &str) -> usize {
    let script = format!("ss -H -O -tin | grep -cw {algorithm}");
    let count = namespace.enter(|| run_ok(Command::new("sh").args(["-c", &script]), LIMIT).unwrap()).unwrap();
    count.trim().parse().unwrap()
}

fn figure(sizes: &[Size]) -> Figure {
    let line = |index: usize, of: fn(f64, f64) -> f64| Line {
        label: COMMANDS[index].to_owned(),
        style: if index < OURS { Style::Straight } else { Style::Dashed },
        points: sizes
            .iter()
            .map(|size| (size.sockets as f64, size.commands[index].median()))
            .map(|(sockets, ms)| Point::at(sockets, of(ms, sockets)))
            .collect(),
    };
    let panel = |label: &str, unit: &str, of: fn(f64, f64) -> f64| Panel {
        y: Axis { label: label.to_owned(), unit: unit.to_owned(), scale: Scale::Logarithmic },
        lines: (0..COMMANDS.len()).map(|index| line(index, of)).collect(),
        marks: Vec::new(),
    };
    Figure {
        title: "Processor time of commands beside many sockets".to_owned(),
        subtitle: machine(),
        x: Axis { label: "sockets".to_owned(), unit: String::new(), scale: Scale::Logarithmic },
        panels: vec![
            panel("processor time", "ms", |ms, _| ms),
            panel("of each socket", "us", |ms, sockets| 1e3 * ms / sockets),
        ],
    }
}
