// SPDX-License-Identifier: MIT OR Apache-2.0
//! The terminal taken, and given back once: by its owner, by a panic in any thread, or by force.

use std::fs::OpenOptions;
use std::io::{self, stdout, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;
use nix::fcntl::OFlag;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::DisableMouseCapture;
use ratatui::crossterm::execute;
use ratatui::crossterm::style::Print;
use ratatui::crossterm::terminal::{disable_raw_mode, enable_raw_mode, EnterAlternateScreen, LeaveAlternateScreen};
use ratatui::Terminal;

use super::backend::Quiet;
use super::tty::Tty;

/// Buttons and wheel, in numbers of any size. crossterm would ask for each movement, too, of which nothing is made.
const MOUSE_CLICKS: &str = "\x1b[?1000h\x1b[?1006h";

static IS_TAKEN: AtomicBool = AtomicBool::new(false);
static HAS_PANICKED: AtomicBool = AtomicBool::new(false);

/// Gives the terminal back when dropped; a panic in any thread gives it back before its message is printed.
pub struct Screen {
    /// To draw on.
    pub terminal: Terminal<Quiet>,
    /// To ask for keys.
    pub tty: Tty,
}

impl Screen {
    /// Takes it, and the hook for panics.
    pub fn take() -> anyhow::Result<Self> {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            HAS_PANICKED.store(true, Ordering::SeqCst);
            give_back();
            before(panic);
        }));
        Self::try_take().inspect_err(|_| give_back()).context("set up the terminal")
    }

    fn try_take() -> io::Result<Self> {
        IS_TAKEN.store(true, Ordering::SeqCst); // half of it may fail
        enable_raw_mode()?;
        execute!(stdout(), EnterAlternateScreen, Print(MOUSE_CLICKS))?;
        Ok(Self { terminal: Terminal::new(Quiet::new())?, tty: Tty::open()? })
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// A thread's panic ends that thread alone.
pub fn has_panicked() -> bool {
    HAS_PANICKED.load(Ordering::SeqCst)
}

/// A second time would move the cursor of the screen that is shown again.
fn give_back() {
    if IS_TAKEN.swap(false, Ordering::SeqCst) {
        let _ = disable_raw_mode(); // the terminal may be gone
        let _ = execute!(stdout(), DisableMouseCapture, LeaveAlternateScreen, Show);
    }
}

/// The same without waiting for anything: another thread may hold stdout, and the terminal may not read. What it has of a
/// sequence that was cut is cancelled.
pub fn give_back_by_force() {
    if !IS_TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let _ = disable_raw_mode(); // the terminal may be gone
    let flags = (OFlag::O_NONBLOCK | OFlag::O_NOCTTY).bits();
    let Ok(mut terminal) = OpenOptions::new().write(true).custom_flags(flags).open("/dev/tty") else { return };
    let _ = terminal.write_all(b"\x18");
    let _ = execute!(terminal, DisableMouseCapture, LeaveAlternateScreen, Show);
}
