// SPDX-License-Identifier: MIT OR Apache-2.0
//! The loop: keys and news in, pictures out.

use std::sync::mpsc::{sync_channel, Receiver, Sender, SyncSender, TryRecvError};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use ccctl_console::Exit;
use ratatui::crossterm::event::{self, Event};

use super::errands;
use super::follower;
use super::keys;
use super::model::{Effect, Model};
use super::raw_mode::{self, Screen};
use super::screen::{self, Look};
use super::shutdown::Shutdown;
use super::tty::{Ready, Tty};
use super::worker::{News, Order, Worker};

/// Between two looks at signals and news.
const TURN: Duration = Duration::from_millis(50);
/// Samples that wait for a terminal that does not read.
const NEWS_WAITING: usize = 4;
/// For the worker to end, and take the ACK clock out of the kernel.
const FAREWELL: Duration = Duration::from_secs(2);

/// Shows the screen until somebody wants it to end.
pub fn run(worker: Worker, mut model: Model, with_clock: bool, look: Look) -> anyhow::Result<Exit> {
    let shutdown = Shutdown::watch()?; // before any other thread is started
    let mut screen = Screen::take()?;
    let (order, orders) = std::sync::mpsc::channel();
    let (tell, news) = sync_channel(NEWS_WAITING);
    let telling = tell.clone();
    let thread = std::thread::spawn(move || worker.run(&orders, &telling));
    if with_clock {
        order.send(Order::Clock(true)).context("the worker has ended")?;
    }
    let outcome = turn(&mut model, &mut screen, &shutdown, look, &Channels { order, tell, news });
    let is_gone = matches!(screen.tty.wait(Duration::ZERO), Ok(Ready::Gone));
    drop(screen);
    let ends = Instant::now() + FAREWELL;
    while !thread.is_finished() && Instant::now() < ends {
        std::thread::sleep(Duration::from_millis(10));
    }
    match outcome {
        Err(error) if !is_gone => Err(error),
        _ => Ok(Exit::Done), // a terminal that is closed is an end like others
    }
}

struct Channels {
    order: Sender<Order>,
    tell: SyncSender<News>,
    news: Receiver<News>,
}

/// What came of the keys.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keys {
    None,
    Taken,
    End,
}

fn turn(
    model: &mut Model,
    screen: &mut Screen,
    shutdown: &Shutdown,
    look: Look,
    channels: &Channels,
) -> anyhow::Result<()> {
    let mut is_new = true;
    while !shutdown.is_wanted() {
        anyhow::ensure!(!raw_mode::has_panicked(), "a part of this program has panicked");
        if std::mem::take(&mut is_new) {
            screen.terminal.draw(|frame| {
                super::panic_if_asked("drawing");
                screen::fit(model, frame.area());
                screen::draw(model, look, frame.area(), frame.buffer_mut());
            })?;
        }
        match take_keys(model, &screen.tty, channels)? {
            Keys::None => {}
            Keys::Taken => is_new = true,
            Keys::End => return Ok(()),
        }
        is_new |= take_news(model, channels)?;
    }
    Ok(())
}

/// crossterm is asked only of a terminal that is there, and never waits: it would not come back from one that goes.
fn take_keys(model: &mut Model, tty: &Tty, channels: &Channels) -> anyhow::Result<Keys> {
    let (mut keys, mut waits) = (Keys::None, TURN);
    loop {
        let ready = tty.wait(waits)?;
        if ready == Ready::Gone {
            return Ok(Keys::End);
        }
        if !event::poll(Duration::ZERO)? {
            if (ready, keys) == (Ready::Input, Keys::None) {
                std::thread::sleep(TURN); // it is told of input only once: what it left over has to wait for more
            }
            return Ok(keys);
        }
        (keys, waits) = (Keys::Taken, Duration::ZERO);
        let action = match event::read()? {
            Event::Key(key) => keys::action(&model.mode, key),
            Event::Mouse(mouse) => keys::mouse(&model.mode, mouse),
            _ => None,
        };
        let effect = action.and_then(|action| model.act(action));
        if effect.is_some_and(|effect| !bring_about(effect, channels)) {
            return Ok(Keys::End);
        }
    }
}

/// False: the end.
fn bring_about(effect: Effect, channels: &Channels) -> bool {
    let order = match effect {
        Effect::Quit => return false,
        Effect::Look(wish) => Order::Look(wish),
        Effect::Pause(is_paused) => Order::Pause(is_paused),
        Effect::Clock(is_wanted) => Order::Clock(is_wanted),
        Effect::Follow => {
            let tell = channels.tell.clone();
            std::thread::spawn(move || follower::follow(&tell));
            return true;
        }
        Effect::Lookup(lookup) => {
            return run_errand(channels, move || {
                let found = errands::look_up(&lookup);
                News::Offer(lookup, found)
            })
        }
        Effect::Change(change) => return run_errand(channels, move || News::Done(errands::carry_out(&change))),
        Effect::Write(export) => return run_errand(channels, move || News::Done(errands::write(&export))),
    };
    channels.order.send(order).is_ok()
}

/// In a thread of its own: keys are answered meanwhile.
fn run_errand(channels: &Channels, errand: impl FnOnce() -> News + Send + 'static) -> bool {
    let tell = channels.tell.clone();
    std::thread::spawn(move || tell.send(errand()));
    true
}

fn take_news(model: &mut Model, channels: &Channels) -> anyhow::Result<bool> {
    let mut is_new = false;
    loop {
        match channels.news.try_recv() {
            Ok(News::Sample(sample)) => model.take(*sample),
            Ok(News::Failed(why)) => model.failed(why),
            Ok(News::Offer(lookup, found)) => model.offer(&lookup, found),
            Ok(News::Done(outcome)) => model.done(outcome),
            Ok(News::Event(event)) => model.events.take(event),
            Ok(News::NoEvents(why)) => model.events.fail(why),
            Err(TryRecvError::Empty) => return Ok(is_new),
            Err(TryRecvError::Disconnected) => anyhow::bail!("the sampling thread has ended"),
        }
        is_new = true;
    }
}
