// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl acks`

mod rate;
mod text;

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use ccctl_console::{output, Exit, Stop};
use ccctl_loader::Namespace;
use ccctl_telemetry::{Clock, PointChoice, Settings};
use indicatif::{ProgressBar, ProgressStyle};

use crate::arguments::{Acks as Arguments, StampPlace};
use ccctl_core::operations::acks::Acks;
use rate::Rate;

const DEFAULT_TIME: Duration = Duration::from_secs(10);
/// Between two looks at the backlogs.
const TICK: Duration = Duration::from_millis(50);
const REFRESH: Duration = Duration::from_secs(1);

pub fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let rate = arguments.rate.as_deref().map(Rate::parse).transpose()?;
    let slow = rate.as_ref().map(Rate::packet_interval);
    if let Some(name) = &arguments.netns {
        enter(name)?;
    }
    let stop = Stop::listen()?;
    let settings = Settings {
        interfaces: arguments.interfaces.clone(),
        point: choice(arguments.place),
        slow,
        every_ack: arguments.every_ack,
    };
    let mut clock = Clock::start(&settings)?;
    let slow_ns = slow.map(|slow| slow.as_nanos() as u64);
    let time = arguments.time.or((!arguments.watch).then_some(DEFAULT_TIME));
    if arguments.watch {
        measure(&mut clock, time, &stop, |clock| redraw(&text::report(&Acks::read(clock, slow_ns)?, rate.as_ref())))?;
    } else {
        let progress = progress(time);
        measure(&mut clock, time, &stop, |_| {
            progress.inc(1);
            Ok(())
        })?;
        progress.finish_and_clear();
    }
    let acks = Acks::read(&clock, slow_ns)?;
    if arguments.output.json {
        output::json(&acks)?;
    } else if arguments.watch {
        redraw(&text::report(&acks, rate.as_ref()))?;
    } else {
        output::lines(text::report(&acks, rate.as_ref()).trim_end())?;
    }
    Ok(Exit::Done)
}

fn choice(place: StampPlace) -> PointChoice {
    match place {
        StampPlace::Auto => PointChoice::Auto,
        StampPlace::Native => PointChoice::Native,
        StampPlace::Generic => PointChoice::Generic,
        StampPlace::Tc => PointChoice::Tc,
    }
}

/// The thread that asks goes; that of the command is the only one of its process.
pub fn enter(name: &str) -> anyhow::Result<()> {
    Ok(Namespace::named(name)?.enter()?)
}

/// Until the time is over, or somebody wants it to end.
fn measure(
    clock: &mut Clock,
    time: Option<Duration>,
    stop: &Stop,
    mut each_refresh: impl FnMut(&Clock) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let started = Instant::now();
    let mut refreshed = started;
    while !stop.is_wanted()? {
        let left = time.map_or(TICK, |time| time.saturating_sub(started.elapsed()));
        if left.is_zero() {
            break;
        }
        std::thread::sleep(left.min(TICK));
        clock.sample()?;
        if refreshed.elapsed() >= REFRESH {
            refreshed += REFRESH;
            each_refresh(clock)?;
        }
    }
    Ok(())
}

/// A bar on stderr, where that is a terminal.
fn progress(time: Option<Duration>) -> ProgressBar {
    let Some(time) = time.filter(|_| std::io::stderr().is_terminal()) else { return ProgressBar::hidden() };
    let style = ProgressStyle::with_template("measuring {bar:30} {pos} of {len} s; Ctrl-C ends it");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(time.as_secs()).with_style(style)
}

/// On a terminal in place, elsewhere one after the other.
fn redraw(text: &str) -> anyhow::Result<()> {
    let mut stdout = std::io::stdout().lock();
    if stdout.is_terminal() {
        write!(stdout, "\x1b[H\x1b[2J")?;
    }
    writeln!(stdout, "{}\n", text.trim_end())?;
    stdout.flush()?;
    Ok(())
}
