// SPDX-License-Identifier: MIT OR Apache-2.0
//! The terminal's descriptors: is there anything to read, and is it still there?

use std::fs::File;
use std::io::{self, IsTerminal as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{poll, PollFd, PollFlags, PollTimeout};
use nix::sys::termios::{tcflow, tcflush, FlowArg, FlushArg};

/// What came of waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ready {
    /// Time is over.
    Nothing,
    /// A key, perhaps.
    Input,
    /// The terminal was closed; nothing will ever come from it.
    Gone,
}

/// Where keys come from and where the screen goes: one terminal, as a rule.
pub struct Tty {
    input: OwnedFd,
    output: OwnedFd,
}

impl Tty {
    /// Stdin, or the controlling terminal where stdin is none, as crossterm does; and stdout.
    pub fn open() -> io::Result<Self> {
        let stdin = io::stdin();
        let input =
            if stdin.is_terminal() { stdin.as_fd().try_clone_to_owned()? } else { File::open("/dev/tty")?.into() };
        Ok(Self { input, output: io::stdout().as_fd().try_clone_to_owned()? })
    }

    /// Waits for a key.
    pub fn wait(&self, limit: Duration) -> io::Result<Ready> {
        let timeout = PollTimeout::try_from(limit).unwrap_or(PollTimeout::MAX);
        self.poll(PollFlags::POLLIN, None, timeout)
    }

    /// Waits for nothing but the end of the terminal, or for `other` to have something to read.
    pub fn wait_for_end(&self, other: BorrowedFd<'_>) -> io::Result<Ready> {
        self.poll(PollFlags::empty(), Some(other), PollTimeout::NONE)
    }

    /// Drops what it has not read, and lets whoever waits to write to it go on: room alone wakes nobody, a restart does.
    pub fn forget_unread(&self) {
        // it may be gone
        let _ = tcflush(&self.output, FlushArg::TCOFLUSH);
        let _ = tcflow(&self.output, FlowArg::TCOOFF);
        let _ = tcflow(&self.output, FlowArg::TCOON);
    }

    fn poll(&self, wanted: PollFlags, other: Option<BorrowedFd<'_>>, timeout: PollTimeout) -> io::Result<Ready> {
        let mut descriptors =
            vec![PollFd::new(self.input.as_fd(), wanted), PollFd::new(self.output.as_fd(), PollFlags::empty())];
        descriptors.extend(other.map(|other| PollFd::new(other, PollFlags::POLLIN)));
        match poll(&mut descriptors, timeout) {
            Ok(_) => {}
            Err(Errno::EINTR) => return Ok(Ready::Nothing), // another size, for one
            Err(error) => return Err(error.into()),
        }
        let mut happened = descriptors.iter().map(|descriptor| descriptor.revents().unwrap_or(PollFlags::POLLERR));
        let is_gone = happened.clone().any(|what| what.intersects(!PollFlags::POLLIN));
        let is_input = happened.any(|what| what.contains(PollFlags::POLLIN));
        Ok(match (is_gone, is_input) {
            (true, _) => Ready::Gone,
            (false, true) => Ready::Input,
            (false, false) => Ready::Nothing,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use nix::pty::openpty;

    use super::*;

    fn terminal() -> (File, Tty) {
        let both = openpty(None, None).unwrap();
        (both.master.into(), Tty { input: both.slave.try_clone().unwrap(), output: both.slave })
    }

    #[test]
    fn a_line_is_input_and_a_closed_terminal_is_gone() {
        let (mut master, tty) = terminal();
        assert_eq!(tty.wait(Duration::ZERO).unwrap(), Ready::Nothing);
        master.write_all(b"a line\n").unwrap();
        assert_eq!(tty.wait(Duration::from_secs(60)).unwrap(), Ready::Input);
        drop(master);
        assert_eq!(tty.wait(Duration::from_secs(60)).unwrap(), Ready::Gone, "whatever is left to be read");
    }

    #[test]
    fn the_end_is_waited_for_without_regard_to_keys() {
        let (mut master, tty) = terminal();
        let (signals, mut raised) = io::pipe().unwrap();
        master.write_all(b"a line\n").unwrap();
        raised.write_all(b"1").unwrap();
        assert_eq!(tty.wait_for_end(signals.as_fd()).unwrap(), Ready::Input, "the other one's");
        let (quiet, _kept) = io::pipe().unwrap();
        drop(master);
        assert_eq!(tty.wait_for_end(quiet.as_fd()).unwrap(), Ready::Gone);
    }
}
