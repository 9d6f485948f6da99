// SPDX-License-Identifier: GPL-2.0-only
//! Length of a run, its window, its intervals.

use std::time::Duration;

use ccctl_sim::Stall;
use toml::Spanned;

use super::super::file::{File, Run};
use super::super::memory::{run_bytes, RUN_BYTES_MAX};
use super::super::quantity::Time;
use super::super::source_text::{ScenarioError, SourceText};

/// The shortest interval of samples unless another is asked for.
const DEFAULT_INTERVAL: Duration = Duration::from_millis(10);

pub(super) struct Times {
    pub(super) duration: Duration,
    pub(super) window: (Duration, Duration),
    pub(super) sample_interval: Duration,
    pub(super) rate_interval: Duration,
    pub(super) stalls: Vec<Stall>,
}

pub(super) fn times(source: &SourceText<'_>, run: &Run) -> Result<Times, ScenarioError> {
    let duration = run.duration.get_ref().0;
    if duration.is_zero() {
        return Err(source.wrong(&run.duration.span(), "the duration is 0", "use duration = \"60 s\""));
    }
    if *run.repeats.get_ref() == 0 {
        return Err(source.wrong(&run.repeats.span(), "repeats is 0", "use repeats = 1"));
    }
    let window = window(source, run, duration)?;
    let length = window.1.saturating_sub(window.0);
    let sample_interval = interval(source, run.sample_interval.as_ref(), length)?;
    let sample_interval = sample_interval.unwrap_or((duration / 1000).max(DEFAULT_INTERVAL)).min(length);
    let rate_interval = interval(source, run.rate_interval.as_ref(), length)?;
    let rate_interval = rate_interval.unwrap_or(sample_interval * 10).min(length);
    if rate_interval < sample_interval {
        let span = run.rate_interval.as_ref().map_or(0..0, Spanned::span);
        return Err(source.wrong(&span, "rate_interval is shorter than sample_interval", "make it at least as long"));
    }
    Ok(Times { duration, window, sample_interval, rate_interval, stalls: stalls(source, run)? })
}

/// A run must fit into memory: its flows, and the samples of them that are kept until it ends.
pub(super) fn check_memory(
    source: &SourceText<'_>,
    file: &File,
    times: &Times,
    flows: usize,
) -> Result<(), ScenarioError> {
    let each = u64::try_from(times.duration.as_nanos() / times.sample_interval.as_nanos().max(1)).unwrap_or(u64::MAX);
    let bytes = run_bytes(flows as u64, file.link.len() as u64, each);
    if bytes <= RUN_BYTES_MAX {
        return Ok(());
    }
    let samples = each.saturating_mul(flows as u64);
    let cause = format!(
        "a run would need about {} MB of memory, for {samples} samples of {flows} flows; the limit is {} MB",
        bytes >> 20,
        RUN_BYTES_MAX >> 20
    );
    let without_samples = run_bytes(flows as u64, file.link.len() as u64, 0);
    let most = file.flows.iter().max_by_key(|it| it.count.get_ref());
    let (span, remedy) = match most {
        Some(group) if without_samples > RUN_BYTES_MAX / 2 => (group.count.span(), "use a smaller count"),
        _ => (
            file.run.sample_interval.as_ref().map_or(file.run.duration.span(), Spanned::span),
            "use a longer sample_interval",
        ),
    };
    Err(source.wrong(&span, cause, remedy))
}

fn window(source: &SourceText<'_>, run: &Run, duration: Duration) -> Result<(Duration, Duration), ScenarioError> {
    match (&run.warm_up, &run.window) {
        (Some(warm_up), Some(_)) => Err(source.wrong(
            &warm_up.span(),
            "the run has both warm_up and window",
            "window = [\"FROM\", \"TO\"] alone",
        )),
        (Some(warm_up), None) if warm_up.get_ref().0 >= duration => {
            let cause = format!("warm_up ends at {:?}, but the run at {duration:?}", warm_up.get_ref().0);
            Err(source.wrong(&warm_up.span(), cause, "use a shorter warm_up or a longer duration"))
        }
        (Some(warm_up), None) => Ok((warm_up.get_ref().0, duration)),
        (None, None) => Ok((Duration::ZERO, duration)),
        (None, Some(window)) => {
            let [from, to] = window.get_ref();
            if from.get_ref().0 >= to.get_ref().0 {
                let cause = "the window ends before it begins";
                return Err(source.wrong(&window.span(), cause, "[\"FROM\", \"TO\"], FROM before TO"));
            }
            if to.get_ref().0 > duration {
                let cause = format!("the window ends at {:?}, but the run at {duration:?}", to.get_ref().0);
                return Err(source.wrong(&to.span(), cause, "use a window inside the duration"));
            }
            Ok((from.get_ref().0, to.get_ref().0))
        }
    }
}

fn stalls(source: &SourceText<'_>, run: &Run) -> Result<Vec<Stall>, ScenarioError> {
    let mut stalls: Vec<Stall> = Vec::new();
    for asked in &run.stalls {
        let [at, length, made_up] = asked.get_ref().map(|time| time.0);
        if let Some(last) = stalls.last().filter(|last| at < last.at + last.made_up) {
            let cause = format!("a stall at {at:?} is not after that at {:?} and what it makes up for", last.at);
            return Err(source.wrong(&asked.span(), cause, "use the order of their times"));
        }
        if made_up > length {
            let cause = format!("a stall of {length:?} is made up for by {made_up:?}");
            return Err(source.wrong(&asked.span(), cause, "use at most its length"));
        }
        stalls.push(Stall { at, length, made_up });
    }
    Ok(stalls)
}

fn interval(
    source: &SourceText<'_>,
    interval: Option<&Spanned<Time>>,
    longest: Duration,
) -> Result<Option<Duration>, ScenarioError> {
    let Some(interval) = interval else { return Ok(None) };
    let length = interval.get_ref().0;
    if length.is_zero() || length > longest {
        let cause = format!("an interval of {length:?} in a window of {longest:?}");
        return Err(source.wrong(&interval.span(), cause, "use more than 0 and at most the window"));
    }
    Ok(Some(length))
}
