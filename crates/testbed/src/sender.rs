// SPDX-License-Identifier: GPL-2.0-only
//! Sends a payload over many connections, and compares what arrived.

use std::io::{self, Read, Write};
use std::mem;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::receiver::SILENCE;
use super::socket::{algorithm_of, connect};
use super::{eventually, Digest, Namespace, Payload, TestbedError};

/// How much a connection carries.
#[derive(Debug, Clone, Copy)]
pub enum Amount {
    /// So many bytes.
    Bytes(u64),
    /// As much as goes in this time.
    For(Duration),
    /// Until [`Flows::stop`].
    UntilStopped,
}

/// What to send, and how.
#[derive(Debug, Clone)]
pub struct Sending {
    /// Where to: `ADDRESS:PORT`.
    pub to: String,
    /// Algorithm asked for with `TCP_CONGESTION`; without one, the default of the namespace.
    pub algorithm: Option<String>,
    /// How much.
    pub amount: Amount,
    /// Pause after each 32 KiB, so that a test need not take the whole machine.
    pub pause: Duration,
}

/// A connection whose payload arrived whole.
#[derive(Debug, Clone)]
pub struct Delivered {
    /// Bytes that arrived.
    pub bytes: u64,
    /// Their SHA-256, the same at both ends.
    pub digest: Digest,
    /// Algorithm of the sending socket at its end, read from the socket.
    pub algorithm: String,
    /// From connect to the receiver's answer.
    pub elapsed: Duration,
}

/// What the threads of some connections share with the test.
#[derive(Debug, Default)]
struct Progress {
    stop: AtomicBool,
    connected: AtomicUsize,
    bytes: AtomicU64,
}

/// Connections that send at the same time.
#[derive(Debug)]
pub struct Flows {
    progress: Arc<Progress>,
    threads: Vec<JoinHandle<Result<Delivered, TestbedError>>>,
}

impl Flows {
    /// Starts `count` connections from `namespace`, each with a payload of its own.
    pub fn start(namespace: &Namespace, sending: &Sending, count: usize) -> Result<Self, TestbedError> {
        let mut flows = Flows { progress: Arc::default(), threads: Vec::with_capacity(count) };
        for seed in 0..count {
            let (sending, progress) = (sending.clone(), flows.progress.clone());
            let thread = namespace.spawn(move || send(&sending, seed as u64, &progress))?;
            flows.threads.push(thread);
        }
        Ok(flows)
    }

    /// Bytes that all of them have handed to the kernel so far.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.progress.bytes.load(Ordering::Relaxed)
    }

    /// Waits until each has connected, which it does in a thread of its own, and they have handed `bytes` to the kernel.
    ///
    /// # Panics
    /// If that takes more than a minute.
    #[track_caller]
    pub fn carry(&self, bytes: u64) {
        let all = self.threads.len();
        let carried = eventually(Duration::from_secs(60), || {
            match (self.progress.connected.load(Ordering::Relaxed), self.bytes()) {
                (connected, sum) if connected == all && sum >= bytes => Ok(()),
                (connected, sum) => Err(format!("{connected} of {all} connections, {sum} of {bytes} bytes")),
            }
        });
        carried.unwrap_or_else(|complaint| panic!("{complaint}"));
    }

    /// Tells those that send until stopped to stop, and waits for the receiver's answers.
    pub fn stop(self) -> Result<Vec<Delivered>, TestbedError> {
        self.end();
        self.wait()
    }

    fn end(&self) {
        self.progress.stop.store(true, Ordering::Relaxed);
    }

    /// Waits for all; an error if one of them was reset, stalled or corrupted.
    pub fn wait(mut self) -> Result<Vec<Delivered>, TestbedError> {
        let threads = mem::take(&mut self.threads);
        let all = threads.len();
        let (mut delivered, mut failures) = (Vec::with_capacity(all), Vec::new());
        for thread in threads {
            match thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)) {
                Ok(report) => delivered.push(report),
                Err(error) => failures.push(error),
            }
        }
        let failed = failures.len();
        match failures.into_iter().next() {
            None => Ok(delivered),
            Some(first) => Err(TestbedError::Flows { failed, all, first: Box::new(first) }),
        }
    }
}

/// Nobody asks what they delivered: they end by themselves.
impl Drop for Flows {
    fn drop(&mut self) {
        self.end();
    }
}

fn send(sending: &Sending, seed: u64, progress: &Progress) -> Result<Delivered, TestbedError> {
    let started = Instant::now();
    let mut stream = connect(&sending.to, sending.algorithm.as_deref(), SILENCE)?;
    let peer = stream.peer_addr().map_err(TestbedError::io("ask for the peer"))?;
    progress.connected.fetch_add(1, Ordering::Relaxed);
    let mut payload = Payload::new(seed);
    let sent = transmit(&mut stream, sending, &mut payload, progress);
    let (bytes, digest) = payload.end();
    let answer = sent.and_then(|()| answer(&mut stream)).map_err(|cause| match cause.kind() {
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe | io::ErrorKind::NotConnected => {
            TestbedError::Reset { peer, bytes }
        }
        _ => TestbedError::Io { step: format!("send to {peer} (after {bytes} bytes)"), cause },
    })?;
    let algorithm = algorithm_of(&stream).map_err(TestbedError::io("ask for a socket's algorithm"))?;
    if answer != (bytes, digest) {
        return Err(TestbedError::Corrupted {
            peer,
            sent: bytes,
            received: answer.0,
            digests_equal: answer.1 == digest,
        });
    }
    Ok(Delivered { bytes, digest, algorithm, elapsed: started.elapsed() })
}

fn transmit(stream: &mut TcpStream, sending: &Sending, payload: &mut Payload, progress: &Progress) -> io::Result<()> {
    stream.set_write_timeout(Some(SILENCE))?;
    stream.set_read_timeout(Some(SILENCE))?;
    let (mut left, deadline) = match sending.amount {
        Amount::Bytes(bytes) => (bytes, None),
        Amount::For(time) => (u64::MAX, Some(Instant::now() + time)),
        Amount::UntilStopped => (u64::MAX, None),
    };
    while left > 0
        && !progress.stop.load(Ordering::Relaxed)
        && deadline.is_none_or(|deadline| Instant::now() < deadline)
    {
        let chunk = payload.next(left);
        stream.write_all(chunk)?;
        left -= chunk.len() as u64;
        progress.bytes.fetch_add(chunk.len() as u64, Ordering::Relaxed);
        if !sending.pause.is_zero() {
            thread::sleep(sending.pause);
        }
    }
    stream.shutdown(Shutdown::Write)
}

/// What the receiver counted.
fn answer(stream: &mut TcpStream) -> io::Result<(u64, Digest)> {
    let (mut bytes, mut digest) = ([0; 8], Digest::default());
    stream.read_exact(&mut bytes)?;
    stream.read_exact(&mut digest)?;
    Ok((u64::from_le_bytes(bytes), digest))
}
