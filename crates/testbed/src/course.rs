// SPDX-License-Identifier: GPL-2.0-only
//! A connection over a path with a fixed course of delays and losses, served by hand in one thread.
//!
//! What an algorithm does with an ACK depends on the delays and losses before it. On a path where these are chance, a
//! connection may stay on one branch of its algorithm for as long as it lives. Here every connection meets the same ones at the
//! same moments, so that the branches are walked in the same proportion. Delays differ by milliseconds, work by microseconds.

use std::collections::VecDeque;
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

use nix::poll::{ppoll, PollFd, PollFlags};
use nix::sys::time::TimeSpec;

use super::lockstep::{on_own_thread, unless_busy, HandPath, Lockstep, PACKET_BYTES};
use super::TestbedError;

/// A header without data is shorter.
const LEAST_DATA_PACKET_BYTES: usize = 200;
/// An ACK is due at every second packet.
const PACKETS_PER_ACK: usize = 2;

/// A part of a course.
#[derive(Debug, Clone, Copy)]
pub struct Stretch {
    /// How long it lasts.
    pub lasts: Duration,
    /// From the client to the server; ACKs take no time.
    pub delay: Duration,
    /// Its first data packet is lost.
    pub begins_with_loss: bool,
}

impl Lockstep {
    /// Sends as much as the window allows while the course lasts, and ends the connection with a reset. Gives its window and
    /// threshold at the end of each stretch, as [`Lockstep::windows_pkts`] does.
    pub fn follow(mut self, path: &HandPath, course: &[Stretch]) -> Result<Vec<[u32; 2]>, TestbedError> {
        let windows_pkts = on_own_thread(|| {
            let mut line = Line { path, under_way: VecDeque::new(), delay: Duration::ZERO, loses_next: false };
            let follow_next = |stretch| {
                self.follow_stretch(&mut line, stretch).map_err(step())?;
                self.windows_pkts()
            };
            course.iter().map(follow_next).collect::<Result<_, _>>()
        })?;
        self.reset(path).map_err(step())?;
        Ok(windows_pkts)
    }

    fn follow_stretch(&mut self, line: &mut Line<'_>, stretch: &Stretch) -> io::Result<()> {
        let end = Instant::now() + stretch.lasts;
        line.delay = stretch.delay;
        line.loses_next = stretch.begins_with_loss;
        while Instant::now() < end {
            while unless_busy(self.sender.write(&self.buffer))?.is_some() {}
            line.take_up()?;
            line.deliver_due(&mut self.receiver, &mut self.buffer)?;
            line.wait(end)?;
        }
        Ok(())
    }
}

fn step() -> impl FnOnce(io::Error) -> TestbedError {
    TestbedError::io("follow a course by hand")
}

/// Packets on their way to the server, and when each one arrives.
struct Line<'a> {
    path: &'a HandPath,
    under_way: VecDeque<(Instant, Vec<u8>)>,
    delay: Duration,
    loses_next: bool,
}

impl Line<'_> {
    /// What the client has sent sets out.
    fn take_up(&mut self) -> io::Result<()> {
        let mut packet = [0; PACKET_BYTES];
        while let Some(bytes) = unless_busy((&self.path.at_client).read(&mut packet))? {
            if self.loses_next && bytes >= LEAST_DATA_PACKET_BYTES {
                self.loses_next = false;
                continue;
            }
            self.under_way.push_back((Instant::now() + self.delay, packet[..bytes].to_vec()));
        }
        Ok(())
    }

    /// What is due arrives, and each ACK for it goes back at once: the client never finds two.
    fn deliver_due(&mut self, receiver: &mut TcpStream, buffer: &mut [u8]) -> io::Result<()> {
        while self.next_due().is_some_and(|due| due <= Instant::now()) {
            for (_, packet) in self.under_way.drain(..self.under_way.len().min(PACKETS_PER_ACK)) {
                (&self.path.at_server).write_all(&packet)?;
            }
            while unless_busy(receiver.read(buffer))?.is_some() {}
            self.path.forward_acks()?;
            self.take_up()?;
        }
        Ok(())
    }

    fn next_due(&self) -> Option<Instant> {
        self.under_way.front().map(|(due, _)| *due)
    }

    /// Until the next packet arrives, the client sends one or the stretch ends.
    fn wait(&self, end: Instant) -> io::Result<()> {
        let until = self.next_due().map_or(end, |due| due.min(end));
        let left = TimeSpec::from_duration(until.saturating_duration_since(Instant::now()));
        ppoll(&mut [PollFd::new(self.path.at_client.as_fd(), PollFlags::POLLIN)], Some(left), None)?;
        Ok(())
    }
}
