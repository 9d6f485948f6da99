// SPDX-License-Identifier: GPL-2.0-only
//! Both ends of a flow: who writes and who reads.
//!
//! What TCP sends, and when, is not to depend on when these threads get a processor. So the writer keeps as much written and unsent
//! as goes out in [`RESERVE`]. The reader takes what has come every [`READING`], and the receiver acknowledges without it: with a
//! mark (`SO_RCVLOWAT`) below which nothing is worth reading, the kernel does not put ACKs off until somebody reads.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::socket::setsockopt;
use nix::{libc, setsockopt_impl, sockopt_impl};
use socket2::SockRef;

use super::content::{Content, CHUNK_BYTES};
use super::moment::moment;
use ccctl_testbed::{algorithm_of, connect, Namespace, TestbedError};

const CONNECTING: Duration = Duration::from_secs(20);
const NAP: Duration = Duration::from_millis(1);
/// Longer than what keeps a thread from its processor now and then.
const RESERVE: Duration = Duration::from_millis(100);
/// What a flow that is to stop may still send afterwards.
const LEAST_RESERVE_BYTES: u64 = 128 * 1024;
const READING: Duration = Duration::from_millis(10);

sockopt_impl!(
    /// `SO_RCVLOWAT`
    WorthReading,
    SetOnly,
    libc::SOL_SOCKET,
    libc::SO_RCVLOWAT,
    i32
);

/// Both ends of a connection.
pub(super) struct Endpoints {
    pub(super) sender: TcpStream,
    pub(super) receiver: TcpStream,
}

/// What a flow carries.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    /// Until it is stopped, if nothing is said.
    pub(super) bytes: Option<u64>,
    /// Written ahead.
    pub(super) reserve_bytes: u32,
}

impl Load {
    /// Of a flow that goes over a link of this rate; one `with_stop` keeps little that is still sent then.
    pub(super) fn new(bytes: Option<u64>, bits_per_s: u64, with_stop: bool) -> Self {
        let wanted = u128::from(bits_per_s) * RESERVE.as_millis() / 8000;
        let most = if with_stop { LEAST_RESERVE_BYTES } else { u64::from(u32::MAX) };
        let reserve_bytes = u64::try_from(wanted).unwrap_or(most).clamp(LEAST_RESERVE_BYTES, most);
        Self { bytes, reserve_bytes: u32::try_from(reserve_bytes).unwrap_or(u32::MAX) }
    }
}

impl Endpoints {
    /// A socket that waits in `namespace` for one connection to `address`, with an algorithm of the kernel's.
    pub(super) fn listen(
        namespace: &Namespace,
        address: Ipv4Addr,
        algorithm: &str,
    ) -> Result<TcpListener, TestbedError> {
        let listener = namespace
            .enter(|| TcpListener::bind((address, 0)).map_err(TestbedError::io(format!("listen on {address}"))))??;
        // Some algorithms need both ends (DCTCP's echoes); the accepted socket inherits the listener's.
        SockRef::from(&listener)
            .set_tcp_congestion(algorithm.as_bytes())
            .map_err(TestbedError::io(format!("set {algorithm} on a listener")))?;
        Ok(listener)
    }

    /// Connects to who waits, from the namespace of this thread.
    pub(super) fn connect(listener: &TcpListener, algorithm: &str, load: &Load) -> Result<Self, TestbedError> {
        let step = |what: &'static str| TestbedError::io(what);
        let to = listener.local_addr().map_err(step("ask for a listener's port"))?;
        let sender = connect(&to.to_string(), Some(algorithm), CONNECTING)?;
        let used = algorithm_of(&sender).map_err(step("ask for a socket's algorithm"))?;
        if used != algorithm {
            return Err(TestbedError::Unexpected(format!("{algorithm} was requested, but the kernel uses {used}")));
        }
        SockRef::from(&sender).set_tcp_notsent_lowat(load.reserve_bytes).map_err(step("limit unsent data"))?;
        let (receiver, _) = listener.accept().map_err(step("accept a connection"))?;
        receiver.set_read_timeout(Some(READING)).map_err(step("set a reader's timeout"))?;
        let worth_reading = i32::try_from(load.reserve_bytes).unwrap_or(i32::MAX);
        setsockopt(&receiver, WorthReading, &worth_reading).map_err(TestbedError::errno("set SO_RCVLOWAT"))?;
        Ok(Self { sender, receiver })
    }

    /// The same sockets, for somebody else.
    pub(super) fn copy(&self) -> Result<Self, TestbedError> {
        let copies = || Ok(Self { sender: self.sender.try_clone()?, receiver: self.receiver.try_clone()? });
        copies().map_err(TestbedError::io("copy a socket"))
    }

    /// Writes and reads; `finished` is when all of it was acknowledged, and is not set if it was stopped before.
    pub(super) fn carry(
        self,
        load: &Load,
        stop: &AtomicBool,
        finished: &OnceLock<Instant>,
    ) -> Result<(), TestbedError> {
        let Self { sender, receiver } = self;
        let reading = thread::spawn(move || read(receiver));
        if let Some(at) = write(sender, load, stop) {
            let _ = finished.set(at); // nobody else does
        }
        reading.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// An error is the end that was asked for, or a reset; samples show that nothing comes any more.
fn write(mut sender: TcpStream, load: &Load, stop: &AtomicBool) -> Option<Instant> {
    let content = Content::new();
    let (all_bytes, mut position) = (load.bytes.unwrap_or(u64::MAX), 0);
    while position < all_bytes && !stop.load(Ordering::Relaxed) {
        position += sender.write(content.at(position, all_bytes - position)).ok()? as u64;
    }
    let finished = if position == all_bytes { wait_for_acks(&sender, stop) } else { None };
    let _ = sender.shutdown(Shutdown::Write); // it may be closed already
    finished
}

fn wait_for_acks(sender: &TcpStream, stop: &AtomicBool) -> Option<Instant> {
    while !stop.load(Ordering::Relaxed) {
        let info = moment(sender).ok()?;
        if info.in_flight_pkts == 0 && info.unsent_bytes == 0 {
            return Some(Instant::now());
        }
        thread::sleep(NAP);
    }
    None
}

/// Until the end, or a reset.
fn read(mut receiver: TcpStream) -> Result<(), TestbedError> {
    let content = Content::new();
    let (mut buffer, mut position) = (vec![0; CHUNK_BYTES], 0);
    loop {
        match receiver.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(bytes) if buffer[..bytes] == *content.at(position, bytes as u64) => position += bytes as u64,
            Ok(bytes) => {
                let what = format!("some of the {bytes} bytes after byte {position} differ from those that were sent");
                return Err(TestbedError::Unexpected(what));
            }
            Err(error) if [ErrorKind::WouldBlock, ErrorKind::Interrupted].contains(&error.kind()) => {}
            Err(_) => return Ok(()),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// 100 ms of 100 Mbit/s are 1.25 MB.
    #[test]
    fn the_reserve_goes_by_the_rate_but_where_a_flow_is_stopped() {
        assert_eq!(Load::new(None, 100_000_000, false).reserve_bytes, 1_250_000);
        assert_eq!(Load::new(None, 100_000_000, true).reserve_bytes, 131_072);
        assert_eq!(Load::new(None, 1_000_000, false).reserve_bytes, 131_072);
    }

    /// What a receiver says of a stream.
    fn received(bytes: &[u8]) -> Result<(), TestbedError> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (receiver, _) = listener.accept().unwrap();
        receiver.set_read_timeout(Some(READING)).unwrap();
        let reading = thread::spawn(move || read(receiver));
        sender.write_all(bytes).unwrap();
        drop(sender);
        reading.join().unwrap()
    }

    #[test]
    fn a_byte_that_is_wrong_missing_or_doubled_is_seen() {
        let content = Content::new();
        let sent: Vec<u8> = (0..3).flat_map(|chunk| content.at(chunk * 50_000, 50_000).to_vec()).collect();
        received(&sent).unwrap();
        let mut wrong = sent.clone();
        wrong[120_000] ^= 1;
        assert!(received(&wrong).unwrap_err().to_string().contains("differ from those that were sent"));
        assert!(received(&[&sent[..70_000], &sent[70_001..]].concat()).is_err());
        assert!(received(&[&sent[..70_001], &sent[70_000..]].concat()).is_err());
    }
}
