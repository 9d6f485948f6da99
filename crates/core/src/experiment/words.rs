// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an experiment has shown, in sentences.

use super::analysis::{Analysis, ChangeLimits};
use super::hold_out;
use super::plan::Plan;
use super::store::{End, Ended};

/// A change in per cent.
#[must_use]
pub fn change(percent: Option<f64>) -> String {
    percent.map_or_else(|| "unknown".to_owned(), |percent| format!("{percent:+.1} %"))
}

/// From a lower to an upper change.
#[must_use]
pub fn range(limits: &ChangeLimits) -> String {
    let limit = |value: Option<f64>| value.map_or_else(|| "?".to_owned(), |value| format!("{value:+.1}"));
    format!("{} … {}", limit(limits.lower_pct), limit(limits.upper_pct))
}

/// The first lines of a report and of `status`.
#[must_use]
pub fn lines(plan: &Plan, analysis: &Analysis, end: Option<&End>) -> Vec<String> {
    let mut lines = vec![headline(plan, analysis, end)];
    if let Some(End { outcome, why, .. }) = end {
        lines.push(match outcome {
            Ended::Complete => "Complete: it has as many pairs as the plan wants.".to_owned(),
            Ended::Stopped => format!("Stopped before its end: {why}."),
            Ended::Harmful => format!(
                "Ended by a guard-rail: {why}. {} stays in force until ccctl experiment stop {}.",
                plan.arm_a, plan.name
            ),
            Ended::Void => format!("Void: {why}. The numbers mean nothing."),
        });
    }
    let is_void = end.is_some_and(|end| end.outcome == Ended::Void);
    for gate in analysis.gates.iter().filter(|gate| gate.is_void && !is_void) {
        lines.push(format!("Void, because a gate did not hold: {}.", gate.text));
    }
    lines.push(conclusion(plan, analysis, end));
    if let Some(hold_out) = &analysis.hold_out_info {
        lines.extend(hold_out::lines(hold_out, plan.metric));
    }
    for rail in &analysis.guard_rails {
        let values = format!("{}: {} ({})", capital(rail.metric.label()), rail.values_text, change(rail.estimate_pct));
        let verdict = if rail.is_harmful { "beyond the limit of" } else { "limit" };
        lines.push(format!("{values}; {verdict} {:.0} %: {}.", rail.margin_pct, rail.finding));
    }
    if let Some(share) = analysis.host_share_pct {
        lines.push(format!(
            "{} had {share:.0} % of the host's acknowledged bytes. Effects at bottlenecks shared with other hosts are not in \
             these numbers.",
            plan.scope
        ));
    }
    lines
}

fn headline(plan: &Plan, analysis: &Analysis, end: Option<&End>) -> String {
    let subject = format!("{} instead of {} for all of {}", plan.arm_b, plan.arm_a, plan.scope);
    let pairs = analysis.pairs.len();
    let estimate = change(analysis.estimate_pct);
    let (name, limits) = interval(analysis, end);
    format!(
        "{subject}: {} {estimate} ({name}: {}, {pairs} of {} pairs).",
        plan.metric.label(),
        range(&limits),
        plan.wanted_pairs
    )
}

/// The exact interval is for the size that was fixed before; whoever ends earlier has looked, and gets the sequence.
fn interval(analysis: &Analysis, end: Option<&End>) -> (&'static str, ChangeLimits) {
    let is_complete = end.is_some_and(|end| end.outcome == Ended::Complete);
    match analysis.final_interval.filter(|_| is_complete) {
        Some(interval) => ("95 %", interval),
        None => ("95 % at any time", analysis.sequence),
    }
}

fn conclusion(plan: &Plan, analysis: &Analysis, end: Option<&End>) -> String {
    let (_, limits) = interval(analysis, end);
    let metric = plan.metric.label();
    match (limits.lower_pct, limits.upper_pct) {
        (Some(lower), _) if lower > 0.0 => format!("B has more {metric}: a change of 0 is excluded."),
        (_, Some(upper)) if upper < 0.0 => format!("B has less {metric}: a change of 0 is excluded."),
        (Some(lower), Some(upper)) => format!(
            "No difference is shown. That does not make both equal: changes below {lower:+.1} % and above {upper:+.1} % are \
             excluded, those between are not."
        ),
        _ => "There are too few pairs to exclude anything.".to_owned(),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::super::analysis::tests::blocks;
    use super::super::{analyse, plan::tests::plan};
    use super::*;

    fn said(pairs: u64, effect: f64, ended: Option<Ended>) -> String {
        let analysis = analyse(&plan(), &blocks(pairs, effect, 10_000)).expect("numbers");
        let end = ended.map(|outcome| End { at: String::new(), outcome, why: "because".to_owned() });
        lines(&plan(), &analysis, end.as_ref()).join("\n")
    }

    #[test]
    fn the_first_line_has_the_effect_and_its_interval() {
        let text = said(8, 0.3, Some(Ended::Complete));
        assert!(text.starts_with("bbr instead of cubic for all of nginx.service: goodput +3"), "{text}");
        assert!(
            text.contains("(95 %: +") && text.contains("8 of 8 pairs)") && text.contains("B has more goodput"),
            "{text}"
        );
    }

    #[test]
    fn before_the_end_the_sequence_is_shown_and_few_pairs_exclude_nothing() {
        let text = said(3, 0.3, None);
        assert!(text.contains("95 % at any time: ? … ?") && text.contains("too few pairs"), "{text}");
    }

    #[test]
    fn no_difference_is_never_called_equal() {
        let text = said(8, 0.0, Some(Ended::Complete));
        assert!(text.contains("No difference is shown") && text.contains("are excluded"), "{text}");
    }
}
