// SPDX-License-Identifier: MIT OR Apache-2.0
//! The page of an experiment: what it has shown, what holds it up, and every block, so that others can compute it again.

use ccctl_series::{Axis, Cell, Figure, Grid, Line, Page, Panel, Part, Point, Scale, Style};

use super::analysis::Analysis;
use super::completion::{CompletionInfo, CompletionTimes};
use super::words::{change, range};
use super::{Block, Metric, Plan, Sums};
use crate::operations::experiment::ExperimentInfo;

/// The page, as HTML.
#[must_use]
pub fn page(info: &ExperimentInfo) -> String {
    let (plan, analysis) = (&info.plan, &info.analysis);
    let mut parts = vec![Part::Text(info.summary.join("\n\n")), Part::Heading("Pairs".to_owned())];
    parts.push(Part::Figure(over_pairs(plan, analysis)));
    parts.push(Part::Figure(per_arm(plan, &info.blocks)));
    parts.push(Part::Heading("What must hold".to_owned()));
    let gates =
        analysis.gates.iter().enumerate().map(|(number, gate)| (format!("gate {}", number + 1), gate.text.clone()));
    parts.push(Part::Facts(gates.collect()));
    parts.push(Part::Heading("Other metrics".to_owned()));
    parts.push(Part::Text(OTHERS.to_owned()));
    parts.push(Part::Facts(others(analysis)));
    parts.push(Part::Heading("Completion times of connections".to_owned()));
    parts.push(Part::Text(completion_text(&info.blocks)));
    parts.push(Part::Grid(completion_times(analysis)));
    parts.push(Part::Heading("Blocks".to_owned()));
    parts.push(Part::Text(BLOCKS.to_owned()));
    parts.push(Part::Grid(blocks(&info.blocks)));
    parts.push(Part::Heading("The frozen plan".to_owned()));
    parts.push(Part::Facts(vec![("SHA-256".to_owned(), info.plan_hash.clone())]));
    parts.push(Part::Verbatim(plan.text().unwrap_or_default()));
    let title = format!("{}: {} instead of {}", plan.name, plan.arm_b, plan.arm_a);
    let progress =
        info.progress.as_ref().map_or_else(String::new, |progress| format!(", started {}", progress.started_at));
    let subtitle = format!("{}, {}{progress}", plan.scope, info.phase);
    ccctl_series::page(&Page { title, subtitle, parts })
}

const OTHERS: &str =
    "These metrics neither decide nor guard. Their p is corrected for their number (Holm); a small one is a reason \
for another experiment, not a result.";

const BLOCKS: &str = "The metrics of a block are ratios of these sums: goodput is acked bytes per second in which the network \
limited; the retransmitted share is (retransmitted + 1448) / (acked + retransmitted) bytes; timeouts are (timeouts + 1) per \
million segments. With a hold-out they include it, and the difference of a pair is divided by 1 - 2e, where e is its share. A pair is an even block and the next one; its difference is the logarithm of B's value less that of A's. \
The same numbers and times in queues are in ccctl experiment report --json.";

fn others(analysis: &Analysis) -> Vec<(String, String)> {
    let one = |other: &super::analysis::OtherMetric| {
        let p = other.p_holm.map_or_else(|| "unknown".to_owned(), |p| format!("{p:.3}"));
        (other.metric.label().to_owned(), format!("{} (p = {p})", change(Some(other.estimate_pct))))
    };
    analysis.other_metrics.iter().map(one).collect()
}

/// What the times are of. Those of connections that outlive their block are not known in it.
fn completion_text(blocks: &[Block]) -> String {
    let counting = || blocks.iter().filter(|block| block.problem.is_none());
    let opened: u64 = counting().map(|block| block.sums.opened).sum();
    let held_out: u64 = counting().filter_map(|block| block.held_out.as_ref()).map(|sums| sums.opened).sum();
    let completed: u64 = counting().flat_map(|block| block.completions.by_size.iter().flatten()).sum();
    format!(
        "From the end of the handshake to the last acknowledgement, of connections that were opened and closed in one block, after \
its burn-in: {completed} of {} that were opened on their block's arm. Sizes are bytes that the peers acknowledged. These numbers \
neither decide nor guard; p is that of the medians of blocks, corrected for the number of sizes (Holm).",
        opened.saturating_sub(held_out)
    )
}

fn completion_times(analysis: &Analysis) -> Grid {
    let head = ["size", "arm", "connections", "median, ms", "P95, ms", "P99, ms", "change of the median", "p"];
    let number =
        |value: Option<f64>, digits: usize| value.map_or_else(String::new, |value| format!("{value:.digits$}"));
    let row = |size: &str, arm: &str, times: &CompletionTimes, change: [String; 2]| {
        let mut cells: Vec<Cell> =
            vec![size.to_owned().into(), arm.to_owned().into(), times.completed.to_string().into()];
        cells.extend([times.median_ms, times.p95_ms, times.p99_ms].map(|ms| Cell::from(number(ms, 1))));
        cells.extend(change.map(Cell::from));
        cells
    };
    let of_size = |info: &CompletionInfo| {
        let change = [change(info.median_change_pct), number(info.p_holm, 3)];
        [row(&info.size_text, "A", &info.with_a, Default::default()), row(&info.size_text, "B", &info.with_b, change)]
    };
    let rows = analysis.completion_times.iter().flat_map(of_size).collect();
    Grid { caption: String::new(), head: head.iter().map(ToString::to_string).collect(), rows }
}

fn axis(label: &str, unit: &str) -> Axis {
    Axis { label: label.to_owned(), unit: unit.to_owned(), scale: Scale::Linear }
}

fn line(label: &str, style: Style, points: Vec<Point>) -> Line {
    Line { label: label.to_owned(), style, points }
}

/// Each pair, and the sequence after it.
fn over_pairs(plan: &Plan, analysis: &Analysis) -> Figure {
    let pairs = || analysis.pairs.iter().enumerate().map(|(number, pair)| (number as f64 + 1.0, pair));
    let change = pairs().map(|(x, pair)| Point::at(x, pair.difference.exp_m1() * 100.0)).collect();
    let limit = |of: fn(&super::analysis::ChangeLimits) -> Option<f64>| {
        pairs().filter_map(|(x, pair)| Some(Point::at(x, of(&pair.sequence)?))).collect()
    };
    let panel = |label: &str, lines| Panel { y: axis(label, "%"), lines, marks: Vec::new() };
    let last = analysis.pairs.len().max(1) as f64;
    let zero = || line("no change", Style::Dashed, vec![Point::at(1.0, 0.0), Point::at(last, 0.0)]);
    Figure {
        title: format!("Change of {} from A to B", plan.metric.label()),
        subtitle: format!("95 % at any time: {}", range(&analysis.sequence)),
        x: axis("pair", ""),
        panels: vec![
            panel("change of a pair", vec![line("pair", Style::Points, change), zero()]),
            panel(
                "95 % at any time",
                vec![
                    line("upper limit", Style::Steps, limit(|limits| limits.upper_pct)),
                    line("lower limit", Style::Steps, limit(|limits| limits.lower_pct)),
                    zero(),
                ],
            ),
        ],
    }
}

/// Shares of the blocks of each arm up to a value.
fn per_arm(plan: &Plan, blocks: &[Block]) -> Figure {
    let (factor, unit) = match plan.metric {
        Metric::Goodput => (8e-6, "Mbit/s"),
        Metric::Retransmits => (100.0, "%"),
        Metric::Timeouts => (1.0, "per million"),
        Metric::QueueingP50 | Metric::QueueingP95 => (1e-3, "ms"),
    };
    let of_arm = |is_treated: bool| {
        let own = blocks.iter().filter(|block| block.is_treated == is_treated && block.problem.is_none());
        let mut values: Vec<f64> =
            own.filter_map(|block| plan.metric.log(&block.sums).ok()).map(|log| log.exp() * factor).collect();
        values.sort_by(f64::total_cmp);
        let count = values.len() as f64;
        values.iter().enumerate().map(|(rank, value)| Point::at(*value, (rank as f64 + 1.0) * 100.0 / count)).collect()
    };
    let arms = vec![
        line(&format!("A: {}", plan.arm_a), Style::Steps, of_arm(false)),
        line(&format!("B: {}", plan.arm_b), Style::Steps, of_arm(true)),
    ];
    Figure {
        title: format!("Distribution of {} over the blocks of each arm", plan.metric.label()),
        subtitle: String::new(),
        x: axis(plan.metric.label(), unit),
        panels: vec![Panel { y: axis("blocks up to here", "%"), lines: arms, marks: Vec::new() }],
    }
}

fn blocks(blocks: &[Block]) -> Grid {
    let head = [
        "block",
        "began",
        "arm",
        "opened",
        "acked bytes",
        "retransmitted bytes",
        "segments",
        "on arm",
        "timeouts",
        "network limited, s",
        "acked bytes, held out",
        "opened, held out",
        "does not count because",
    ];
    let row = |block: &Block| -> Vec<Cell> {
        let sums = &block.sums;
        let arm = format!("{}: {}", if block.is_treated { "B" } else { "A" }, block.congestion_control);
        let numbers = [
            sums.opened,
            sums.acked_bytes,
            sums.retransmitted_bytes,
            sums.data_segments,
            block.segments_on_arm,
            sums.timeouts,
        ];
        let mut cells: Vec<Cell> = vec![block.block.to_string().into(), block.began_at.clone().into(), arm.into()];
        cells.extend(numbers.iter().map(|number| Cell::from(number.to_string())));
        cells.push(format!("{:.3}", sums.network_limited_s).into());
        let held_out =
            |of: fn(&Sums) -> u64| block.held_out.as_ref().map_or_else(String::new, |sums| of(sums).to_string());
        cells.push(held_out(|sums| sums.acked_bytes).into());
        cells.push(held_out(|sums| sums.opened).into());
        cells.push(block.problem.clone().unwrap_or_default().into());
        cells
    };
    let head = head.iter().map(ToString::to_string).collect();
    Grid { caption: String::new(), head, rows: blocks.iter().map(row).collect() }
}
