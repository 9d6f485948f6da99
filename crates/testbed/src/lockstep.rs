// SPDX-License-Identifier: GPL-2.0-only
//! Connections over a path that one thread serves by hand, packet by packet: for measuring TCP itself, without chance.
//!
//! Sender, receiver, path and all that the kernel does for them run inside the system calls of that thread. Its own clock
//! therefore holds all of the work and nothing of other processes. A window is in flight as a whole before its first ACK
//! comes, and each ACK finds the socket free, so that none is merged with others: the work is the same each time. Two
//! threads on two processors differ by a factor of two between equal runs.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::thread;
use std::time::{Duration, Instant};

use nix::poll::{poll, PollFd, PollFlags, PollTimeout};
use nix::sched::{sched_setaffinity, CpuSet};
use nix::time::{clock_gettime, ClockId};
use nix::unistd::Pid;
use socket2::{Domain, Protocol, SockRef, Socket, Type};

use super::namespace::ip;
use super::socket::{algorithm_of, close_with_reset};
use super::tcp_info::tcp_info;
use super::tun::tun;
use super::{Namespace, TestbedError, CLIENT_V4, SERVER_V4};

const BUFFER_BYTES: usize = 256 * 1024;
pub(crate) const PACKET_BYTES: usize = 2048;
const SILENCE: Duration = Duration::from_secs(10);

/// A client and a server with a path between them that carries packets only inside of its functions.
#[derive(Debug)]
pub struct HandPath {
    /// Where connections come from.
    pub client: Namespace,
    server: Namespace,
    pub(crate) at_client: File,
    pub(crate) at_server: File,
}

impl HandPath {
    /// Makes it. The client's windows begin at `window_pkts`, out of slow start, and can grow no further: growth is due at
    /// each ACK and never takes place.
    pub fn new(window_pkts: u32) -> Result<Self, TestbedError> {
        let (client, server) = (Namespace::new("client")?, Namespace::new("server")?);
        let (at_client, at_server) = (tun(&client)?, tun(&server)?);
        for (end, address) in [(&client, CLIENT_V4), (&server, SERVER_V4)] {
            ip(&["-n", end.name(), "addr", "add", &format!("{address}/24"), "dev", "tun0"])?;
            ip(&["-n", end.name(), "link", "set", "tun0", "up"])?;
        }
        client.set_sysctl("net/ipv4/tcp_no_ssthresh_metrics_save", "0")?;
        let (cwnd, ssthresh) = (window_pkts.to_string(), (window_pkts / 2).to_string());
        let route = ["-n", client.name(), "route", "change", "10.77.0.0/24", "dev", "tun0"];
        ip(&[&route[..], &["ssthresh", "lock", &ssthresh, "cwnd", "lock", &cwnd, "initcwnd", &cwnd]].concat())?;
        let path = HandPath { client, server, at_client, at_server };
        // the kernel takes up a route's limits from what it keeps of the peer, which begins with a connection's end
        Lockstep::open(&path, "reno")?.close(&path)?;
        Ok(path)
    }

    /// From the next connection on, the server offers a window of so many bytes at most; 0: as many as it likes.
    pub fn offer(&self, bytes: usize) -> Result<(), TestbedError> {
        let route = ["-n", self.server.name(), "route", "change", "10.77.0.0/24", "dev", "tun0"];
        ip(&[&route[..], &["window", &bytes.to_string()]].concat()).map(drop)
    }

    /// Carries what waits at either end to the other; true if there was anything.
    fn forward(&self) -> io::Result<bool> {
        let there = forward(&self.at_client, &self.at_server)?;
        let back = self.forward_acks()?;
        Ok(there || back)
    }

    /// Carries what waits at the server.
    pub(crate) fn forward_acks(&self) -> io::Result<bool> {
        forward(&self.at_server, &self.at_client)
    }

    fn forward_until<T>(&self, mut done: impl FnMut() -> io::Result<Option<T>>) -> io::Result<T> {
        let started = Instant::now();
        loop {
            self.forward()?;
            if let Some(value) = done()? {
                return Ok(value);
            }
            if started.elapsed() > SILENCE {
                return Err(ErrorKind::TimedOut.into());
            }
        }
    }
}

fn forward(mut from: &File, mut to: &File) -> io::Result<bool> {
    let (mut packet, mut any) = ([0; PACKET_BYTES], false);
    while let Some(bytes) = unless_busy(from.read(&mut packet))? {
        to.write_all(&packet[..bytes])?;
        any = true;
    }
    Ok(any)
}

/// One connection, both ends held here.
#[derive(Debug)]
pub struct Lockstep {
    pub(crate) sender: TcpStream,
    pub(crate) receiver: TcpStream,
    pub(crate) buffer: Vec<u8>,
}

impl Lockstep {
    /// Connects. The receiver keeps the namespace's algorithm; what listens has the sender's, as one that needs ECN gets it only so.
    pub fn open(path: &HandPath, algorithm: &str) -> Result<Self, TestbedError> {
        let step = || TestbedError::io(format!("connect by hand with {algorithm}"));
        let listener = path.server.enter(|| TcpListener::bind((SERVER_V4, 0)).map_err(step()))??;
        listener.set_nonblocking(true).map_err(step())?;
        let usual = algorithm_of(&listener).map_err(step())?;
        SockRef::from(&listener).set_tcp_congestion(algorithm.as_bytes()).map_err(step())?;
        let to = listener.local_addr().map_err(step())?;
        let socket =
            path.client.enter(|| Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP)).map_err(step()))??;
        socket.set_tcp_congestion(algorithm.as_bytes()).map_err(step())?;
        socket.set_nonblocking(true).map_err(step())?;
        let _ = socket.connect(&to.into()); // in progress; if it fails, nothing arrives
        let receiver =
            path.forward_until(|| unless_busy(listener.accept().map(|(stream, _)| stream))).map_err(step())?;
        receiver.set_nonblocking(true).map_err(step())?;
        SockRef::from(&receiver).set_tcp_congestion(usual.as_bytes()).map_err(step())?;
        let sender = TcpStream::from(socket);
        let used = algorithm_of(&sender).map_err(step())?;
        if used != algorithm {
            return Err(TestbedError::Unexpected(format!("{algorithm} was requested, but the kernel uses {used}")));
        }
        Ok(Lockstep { sender, receiver, buffer: vec![0x5a; BUFFER_BYTES] })
    }

    /// The sender's window and its threshold, packets; a threshold that was never set is `TCP_INFINITE_SSTHRESH`.
    pub fn windows_pkts(&self) -> Result<[u32; 2], TestbedError> {
        let info = tcp_info(&self.sender).map_err(TestbedError::io("look at the window of a connection by hand"))?;
        Ok([info.tcpi_snd_cwnd, info.tcpi_snd_ssthresh])
    }

    /// Sends `bytes` and receives them; gives the processor time that this took.
    pub fn carry(&mut self, path: &HandPath, bytes: u64) -> Result<Duration, TestbedError> {
        on_own_thread(|| self.take_turns(path, bytes).map_err(TestbedError::io(format!("carry {bytes} bytes by hand"))))
    }

    /// Ends the connection without a word of what is under way.
    pub(crate) fn reset(self, path: &HandPath) -> io::Result<()> {
        close_with_reset(&self.sender)?;
        drop(self.sender);
        path.forward()?;
        Ok(())
    }

    /// Ends the connection in order, so that the kernel keeps what it learned of the peer.
    pub fn close(self, path: &HandPath) -> Result<(), TestbedError> {
        let step = || TestbedError::io("close a connection by hand");
        self.sender.shutdown(std::net::Shutdown::Write).map_err(step())?;
        let (mut receiver, mut sender) = (self.receiver, self.sender);
        let mut rest = self.buffer;
        path.forward_until(|| Ok(unless_busy(receiver.read(&mut rest))?.filter(|count| *count == 0))).map_err(step())?;
        drop(receiver);
        path.forward_until(|| Ok(unless_busy(sender.read(&mut rest))?.filter(|count| *count == 0))).map_err(step())?;
        drop(sender);
        path.forward().map_err(step())?;
        Ok(())
    }

    fn take_turns(&mut self, path: &HandPath, bytes: u64) -> io::Result<Duration> {
        let (mut unsent, mut unreceived) = (bytes, bytes);
        let (before, mut progress) = (thread_time()?, Instant::now());
        while unreceived > 0 {
            let most = unsent.min(BUFFER_BYTES as u64) as usize;
            let sent = if most > 0 { unless_busy(self.sender.write(&self.buffer[..most]))?.unwrap_or(0) } else { 0 };
            let forwarded = path.forward()?;
            let received = unless_busy(self.receiver.read(&mut self.buffer))?.unwrap_or(0);
            unsent -= sent as u64;
            unreceived -= received as u64;
            if forwarded || sent + received > 0 {
                progress = Instant::now();
            } else if progress.elapsed() > SILENCE {
                return Err(io::Error::new(ErrorKind::TimedOut, format!("{unreceived} bytes did not arrive")));
            } else {
                wait(path)?;
            }
        }
        Ok(thread_time()?.saturating_sub(before))
    }
}

/// Until there is a packet: the sender paces itself, or an ACK is held back.
fn wait(path: &HandPath) -> io::Result<()> {
    let ends = &mut [&path.at_client, &path.at_server].map(|end| PollFd::new(end.as_fd(), PollFlags::POLLIN));
    poll(ends, PollTimeout::from(1000_u16))?;
    Ok(())
}

/// Runs on one processor, in a thread that has done nothing else.
pub(crate) fn on_own_thread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let work = || {
        keep_to_one_processor();
        work()
    };
    thread::scope(|scope| scope.spawn(work).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
}

pub(crate) fn unless_busy<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
        result => result.map(Some),
    }
}

/// Processor time of this thread, with the interrupts that it was interrupted by.
fn thread_time() -> io::Result<Duration> {
    Ok(clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)?.into())
}

fn keep_to_one_processor() {
    let last = thread::available_parallelism().map_or(0, |count| count.get() - 1);
    let mut set = CpuSet::new();
    if set.set(last).is_ok() {
        let _ = sched_setaffinity(Pid::from_raw(0), &set); // where it may not be used, any other is as good
    }
}
