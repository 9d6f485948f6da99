// SPDX-License-Identifier: MIT OR Apache-2.0
//! `--watch`: the same command again and again.

use std::io::{self, IsTerminal as _, Write as _};
use std::os::fd::AsFd as _;
use std::time::{Duration, SystemTime};

use ccctl_console::arguments::words;
use ccctl_console::{output, Exit, Stop};
use nix::poll::{poll, PollFd, PollFlags, PollTimeout};

/// Top left, and nothing below.
const CLEAR: &str = "\x1b[H\x1b[2J";

/// Runs `command` once, or every so often until Ctrl-C. A terminal shows the last answer alone, under a line with the time.
pub fn repeat(every: Option<Duration>, command: impl Fn() -> anyhow::Result<Exit>) -> anyhow::Result<Exit> {
    let Some(every) = every else { return command() };
    let stop = Stop::listen()?;
    loop {
        if io::stdout().is_terminal() {
            let words: Vec<String> = words().into_iter().filter(|word| !word.starts_with("--watch")).collect();
            let head = format!(
                "every {}: ccctl {}    {}",
                output::span(every),
                words.join(" "),
                output::time(SystemTime::now())
            );
            io::stdout().write_all(CLEAR.as_bytes())?;
            output::line(&head)?;
            output::line("")?;
        }
        let exit = command()?;
        io::stdout().flush()?;
        let mut waiting = [PollFd::new(stop.as_fd(), PollFlags::POLLIN)];
        poll(&mut waiting, PollTimeout::try_from(every).unwrap_or(PollTimeout::MAX))?;
        if stop.is_wanted()? {
            return Ok(exit);
        }
    }
}
