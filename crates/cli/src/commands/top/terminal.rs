//! The terminal and the loop. Whatever happens, the terminal is given back as it was.

use std::sync::mpsc::{sync_channel, Receiver, Sender, SyncSender, TryRecvError};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use nix::sys::signal::Signal;
use ratatui::crossterm::event::{self, Event};
use ratatui::Terminal;

use super::backend::Quiet;
use super::keys;
use super::model::{Effect, Model};
use super::sample::Sample;
use super::screen::{self, Look};
use super::worker::{migrate, News, Order, Worker};
use crate::commands::acks::stop::Stop;
use crate::exit::Exit;

/// Between two looks at signals and news.
const TURN: Duration = Duration::from_millis(50);
/// Samples that wait for a terminal that does not read.
const NEWS_WAITING: usize = 4;
/// For the worker to end, and take the ACK clock out of the kernel.
const FAREWELL: Duration = Duration::from_secs(2);

/// Gives the terminal back when dropped; a panic gives it back before its message is printed.
struct Screen(Terminal<Quiet>);

impl Screen {
    fn take() -> anyhow::Result<Self> {
        let taken = ratatui::try_init().and_then(|_| Terminal::new(Quiet::new()));
        match taken {
            Ok(terminal) => Ok(Self(terminal)),
            Err(error) => {
                let _ = ratatui::try_restore(); // half of it may have been done
                Err(error).context("take the terminal")
            }
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.0.show_cursor(); // the terminal may be gone
        let _ = ratatui::try_restore();
    }
}

/// Shows the screen until somebody wants it to end.
pub fn run(worker: Worker, first: Sample, with_clock: bool, look: Look) -> anyhow::Result<Exit> {
    // before any thread is started: they leave these signals to this one
    let stop = Stop::listen_to(&[Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP])?;
    let mut model = Model::new();
    model.take(first);
    let mut screen = Screen::take()?;
    let (order, orders) = std::sync::mpsc::channel();
    let (tell, news) = sync_channel(NEWS_WAITING);
    let telling = tell.clone();
    let thread = std::thread::spawn(move || worker.run(&orders, &telling));
    if with_clock {
        order.send(Order::Clock(true)).context("the worker has ended")?;
    }
    let outcome = turn(&mut model, &mut screen.0, &stop, look, &Channels { order, tell, news });
    drop(screen);
    let ends = Instant::now() + FAREWELL;
    while !thread.is_finished() && Instant::now() < ends {
        std::thread::sleep(Duration::from_millis(10));
    }
    outcome.map(|()| Exit::Done)
}

struct Channels {
    order: Sender<Order>,
    tell: SyncSender<News>,
    news: Receiver<News>,
}

fn turn(
    model: &mut Model,
    terminal: &mut Terminal<Quiet>,
    stop: &Stop,
    look: Look,
    channels: &Channels,
) -> anyhow::Result<()> {
    let mut is_new = true;
    while !stop.is_wanted()? {
        if std::mem::take(&mut is_new) {
            terminal.draw(|frame| {
                screen::fit(model, frame.area());
                screen::draw(model, look, frame.area(), frame.buffer_mut());
            })?;
        }
        let mut waits = TURN;
        while event::poll(waits)? {
            waits = Duration::ZERO;
            is_new = true;
            let Event::Key(key) = event::read()? else { continue };
            let effect = keys::action(&model.mode, key).and_then(|action| model.act(action));
            if effect.is_some_and(|effect| !bring_about(effect, channels)) {
                return Ok(());
            }
        }
        is_new |= take_news(model, channels)?;
    }
    Ok(())
}

/// False: the end.
fn bring_about(effect: Effect, channels: &Channels) -> bool {
    let order = match effect {
        Effect::Quit => return false,
        Effect::Look(wish) => Order::Look(wish),
        Effect::Pause(is_paused) => Order::Pause(is_paused),
        Effect::Clock(is_wanted) => Order::Clock(is_wanted),
        Effect::Migrate(migration) => {
            let tell = channels.tell.clone();
            std::thread::spawn(move || tell.send(News::Moved(migrate(&migration))));
            return true;
        }
    };
    channels.order.send(order).is_ok()
}

fn take_news(model: &mut Model, channels: &Channels) -> anyhow::Result<bool> {
    let mut is_new = false;
    loop {
        match channels.news.try_recv() {
            Ok(News::Sample(sample)) => model.take(*sample),
            Ok(News::Failed(why)) => model.failed(why),
            Ok(News::Moved(outcome)) => model.moved(outcome),
            Err(TryRecvError::Empty) => return Ok(is_new),
            Err(TryRecvError::Disconnected) => anyhow::bail!("the thread that looks has ended"),
        }
        is_new = true;
    }
}
