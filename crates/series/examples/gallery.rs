// SPDX-License-Identifier: MIT OR Apache-2.0
//! Draws one of each kind of picture into the folder that is named, for looking at them: no test sees what is ugly.

use std::error::Error;
use std::path::Path;

use ccctl_series::{
    matrix_svg, page, svg, Axis, Cell, Figure, Grid, Line, Mark, Matrix, Page, Panel, Part, Point, Scale, Style,
};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("name the folder to draw into")?;
    let folder = Path::new(&folder);
    for (name, figure) in [("trace", trace()), ("response", response()), ("bars", bars()), ("odd", odd())] {
        std::fs::write(folder.join(format!("{name}.svg")), svg(&figure))?;
    }
    std::fs::write(folder.join("matrix.svg"), matrix_svg(&matrix()))?;
    std::fs::write(folder.join("page.html"), page(&all()))?;
    Ok(())
}

/// Everything that a page can hold.
fn all() -> Page {
    let claim = |flows: &str, ratio: &str, paper: &str, holds| -> Vec<Cell> {
        vec![
            flows.into(),
            ratio.into(),
            paper.into(),
            Cell::verdict(if holds { "holds" } else { "does not hold" }, holds),
        ]
    };
    let grid = Grid {
        caption: "What the paper says and what was measured".into(),
        head: ["algorithm", "ratio", "paper", "verdict"].map(str::to_owned).to_vec(),
        rows: vec![
            claim("reno", "0.98 ± 0.02", "1.00", true),
            claim("scalable", "0.11 ± 0.09", "0.05", true),
            claim("htcp", "0.71 ± 0.10", "1.00", false),
        ],
    };
    let facts = [("kernel", "6.18.0"), ("command", "ccctl lab run <scenario> --seed 1"), ("lost events", "0")];
    let facts = facts.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let folded = vec![Part::Verbatim("reno  10  180\nbic   20  200".into()), Part::Figure(odd())];
    Page {
        title: "Gallery".into(),
        subtitle: "one of each <kind> & nothing measured".into(),
        parts: vec![
            Part::Heading("A trace".into()),
            Part::Text("A saw of a law, not of a network.\n\nA second paragraph.".into()),
            Part::Facts(facts),
            Part::Figure(trace()),
            Part::Heading("Claims".into()),
            Part::Grid(grid),
            Part::Matrix(matrix()),
            Part::Heading("Other pictures".into()),
            Part::Figure(response()),
            Part::Figure(bars()),
            Part::Group { title: "What is odd".into(), is_open: false, parts: folded },
        ],
    }
}

fn axis(label: &str, unit: &str, scale: Scale) -> Axis {
    Axis { label: label.into(), unit: unit.into(), scale }
}

fn line(label: &str, style: Style, points: impl Iterator<Item = (f64, f64)>) -> Line {
    Line { label: label.into(), style, points: points.map(|(x, y)| Point::at(x, y)).collect() }
}

/// The saw of a Reno flow, from the law: half at a loss, one packet more a round trip; a timeout at 42 s.
fn trace() -> Figure {
    let (mut cwnd_pkts, mut ssthresh_pkts) = (10.0, 1000.0);
    let (mut cwnd, mut ssthresh, mut srtt, mut state, mut marks) = (vec![], vec![], vec![], vec![], vec![]);
    for ack in 0..60_000 {
        let time_s = f64::from(ack) / 1000.0;
        let is_timeout = ack == 42_000;
        let is_loss = cwnd_pkts > 180.0;
        if is_loss || is_timeout {
            ssthresh_pkts = cwnd_pkts / 2.0;
            cwnd_pkts = if is_timeout { 1.0 } else { ssthresh_pkts };
            marks.push(Mark { x: time_s, label: if is_timeout { "RTO" } else { "loss" }.into() });
        }
        let grown = if cwnd_pkts < ssthresh_pkts { cwnd_pkts / 40.0 } else { 1.0 / 40.0 };
        cwnd_pkts += grown;
        cwnd.push((time_s, cwnd_pkts));
        ssthresh.push((time_s, if ssthresh_pkts > 900.0 { f64::NAN } else { ssthresh_pkts }));
        srtt.push((time_s, 40_000.0 + 300.0 * (cwnd_pkts - 100.0).max(0.0) + f64::from(ack % 97) * 20.0));
        state.push((
            time_s,
            if is_timeout {
                4.0
            } else if is_loss {
                3.0
            } else {
                0.0
            },
        ));
    }
    let names = ["Open", "Disorder", "CWR", "Recovery", "Loss"].map(str::to_owned).to_vec();
    let panel = |label: &str, unit: &str, scale, lines, marks| Panel { y: axis(label, unit, scale), lines, marks };
    Figure {
        title: "One flow of reno over 10 Mbit/s, 40 ms".into(),
        subtitle: "drop-tail queue of 100 packets, Linux 6.18, 60 s".into(),
        x: axis("time", "s", Scale::Linear),
        panels: vec![
            panel(
                "window",
                "packets",
                Scale::Linear,
                vec![
                    line("cwnd", Style::Straight, cwnd.into_iter()),
                    line("ssthresh", Style::Steps, ssthresh.into_iter()),
                ],
                marks.clone(),
            ),
            panel("srtt", "us", Scale::Linear, vec![line("srtt", Style::Straight, srtt.into_iter())], marks),
            panel("state", "", Scale::Names(names), vec![line("state", Style::Steps, state.into_iter())], vec![]),
        ],
    }
}

/// Windows over loss rates: response functions, and measures with errors beside them.
fn response() -> Figure {
    let rates = || (0..=40).map(|step| 10f64.powf(-7.0 + f64::from(step) * 0.15));
    let measured = (0..9).map(|step| {
        let rate = 10f64.powf(-6.5 + f64::from(step) * 0.6);
        let y = 1.22 / rate.sqrt() * (1.0 + 0.2 * f64::from(step % 3 - 1));
        Point { x: rate, y, error: y * 0.25 }
    });
    let dashed = |label: &str, law: fn(f64) -> f64| line(label, Style::Dashed, rates().map(|rate| (rate, law(rate))));
    Figure {
        title: "Response functions".into(),
        subtitle: String::new(),
        x: axis("loss rate", "", Scale::Logarithmic),
        panels: vec![Panel {
            y: axis("mean window", "packets", Scale::Logarithmic),
            lines: vec![
                Line { label: "reno".into(), style: Style::Points, points: measured.collect() },
                dashed("reno (1.22/√p)", |rate| 1.22 / rate.sqrt()),
                dashed("highspeed (RFC 3649)", |rate| 0.12 / rate.powf(0.835)),
                dashed("scalable (0.08/p)", |rate| 0.08 / rate),
            ],
            marks: vec![],
        }],
    }
}

fn bars() -> Figure {
    let names = ["reno", "bic", "cubic", "highspeed", "scalable", "htcp", "illinois", "vegas", "fast", "compound"];
    let goodput = |place: usize| 4e6 + 5e5 * ((place * 7) % 10) as f64;
    let bar = |label: &str, share: f64| {
        let point = |place: usize| Point { x: place as f64, y: goodput(place) * share, error: 2e5 };
        Line { label: label.into(), style: Style::Bars, points: (0..names.len()).map(point).collect() }
    };
    Figure {
        title: "Goodput of two flows of one algorithm".into(),
        subtitle: "10 Mbit/s; the second flow has four times the round trip time".into(),
        x: axis("algorithm", "", Scale::Names(names.map(str::to_owned).to_vec())),
        panels: vec![Panel {
            y: axis("goodput", "bit/s", Scale::Linear),
            lines: vec![
                bar("40 ms", 1.0),
                bar("160 ms", 0.4),
                line("fair share", Style::Dashed, [(-0.5, 5e6), (9.5, 5e6)].into_iter()),
            ],
            marks: vec![],
        }],
    }
}

/// Nothing, one point, all equal, gaps, more lines than colours, words that need care.
fn odd() -> Figure {
    let panel = |label: &str, lines| Panel { y: axis(label, "a & b", Scale::Linear), lines, marks: vec![] };
    let gaps = (0..200).map(|step| (f64::from(step), if step % 50 < 10 { f64::NAN } else { f64::from(step * step) }));
    let many = (0..10).map(|number| {
        let points = (0..200).map(move |step| (f64::from(step), f64::from(number) + (f64::from(step) / 9.0).sin()));
        line(&format!("flow {number} with a long label"), Style::Straight, points)
    });
    Figure {
        title: "<Odd> \"figures\" & others".into(),
        subtitle: "none of this may look broken".into(),
        x: axis("x", "", Scale::Linear),
        panels: vec![
            panel("nothing", vec![line("empty", Style::Straight, [].into_iter())]),
            panel("one point", vec![line("one", Style::Straight, [(100.0, 3.0)].into_iter())]),
            panel("equal", vec![line("equal", Style::Steps, (0..200).map(|step| (f64::from(step), 7.0)))]),
            panel("gaps", vec![line("gaps", Style::Straight, gaps)]),
            panel("many", many.collect()),
        ],
    }
}

fn matrix() -> Matrix {
    let names = ["reno", "bic", "cubic", "highspeed", "scalable", "fast"].map(str::to_owned).to_vec();
    let value = |row: usize, column: usize| (row != 5 || column != 4).then_some((row as f64 - column as f64) * 0.19);
    Matrix {
        title: "Asymmetry of pairs".into(),
        subtitle: "250 Mbit/s, 42 ms, mean from 250 s to 500 s".into(),
        row_label: "first flow".into(),
        rows: names.clone(),
        column_label: "second flow".into(),
        columns: names,
        value_label: "asymmetry".into(),
        values: (0..6).map(|row| (0..6).map(|column| value(row, column)).collect()).collect(),
        middle: Some(0.0),
        range: Some((-1.0, 1.0)),
        ..Matrix::default()
    }
}
