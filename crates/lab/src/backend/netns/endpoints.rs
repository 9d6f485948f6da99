// SPDX-License-Identifier: GPL-2.0-only
//! Both ends of a flow: who writes and who reads.
//!
//! What TCP sends, and when, is not to depend on when these threads get a processor. So the writer keeps as much written and unsent
//! as goes out in [`RESERVE`]. The reader takes what has come every [`READING`], and the receiver acknowledges without it: with a
//! mark (`SO_RCVLOWAT`) below which nothing is worth reading, the kernel does not put ACKs off until somebody reads. Nor does it send
//! one because somebody has: a byte is always left, as who has read all asks for the ACK of a packet that waits for the next one.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::socket::setsockopt;
use nix::{libc, setsockopt_impl, sockopt_impl};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use socket2::SockRef;

use super::application::{wait_for_more, Clocked};
use super::content::{CHUNK_BYTES, CONTENT};
use super::moment::moment;
use ccctl_sim::BitRate;
use ccctl_testbed::{algorithm_of, connect, Namespace, TestbedError};

const CONNECTING: Duration = Duration::from_secs(20);
/// A receiver to which the last packet of a handshake never came gives up after 63 s (`tcp_synack_retries` is 5), and tells nobody.
const GIVING_UP: Duration = Duration::from_secs(70);
/// So often it is looked whether a flow that waits for its receiver is to stop.
const LOOKING: Duration = Duration::from_millis(100);
/// The end of a transfer is looked for so often in a round trip,
const NAPS_PER_RTT: u32 = 20;
/// but no more and no less often than this.
const NAP: std::ops::RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_millis(10);
/// Longer than what keeps a thread from its processor now and then.
const RESERVE: Duration = Duration::from_millis(100);
/// What a flow that is to stop may still send afterwards.
const LEAST_RESERVE_BYTES: u64 = 128 * 1024;
const READING: Duration = Duration::from_millis(10);
/// A flow that its application limits is sent at so much of the application's rate, or it would never make up for a delay.
const CATCHING_UP_PCT: u64 = 125;
/// What the reader leaves: a receiver that has nothing unread acknowledges a packet with PSH that waits for the next one.
const LEFT_BYTES: usize = 1;
/// Of a flow that is mostly limited by its application: what comes between two readings is little.
const READING_OF_LITTLE: Duration = Duration::from_millis(50);

sockopt_impl!(
    /// `SO_MAX_PACING_RATE`: bytes a second
    MaxPacingRate,
    SetOnly,
    libc::SOL_SOCKET,
    libc::SO_MAX_PACING_RATE,
    u64
);
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
    /// The application writes at this rate, and so the kernel is not to send much faster.
    pub(super) rate: Option<BitRate>,
    pub(super) reading: Duration,
}

impl Load {
    /// Of a flow that goes over a link of this rate; one `with_stop` keeps little that is still sent then.
    pub(super) fn new(bytes: Option<u64>, bits_per_s: u64, with_stop: bool) -> Self {
        let wanted = u128::from(bits_per_s) * RESERVE.as_millis() / 8000;
        let most = if with_stop { LEAST_RESERVE_BYTES } else { u64::from(u32::MAX) };
        let reserve_bytes = u64::try_from(wanted).unwrap_or(most).clamp(LEAST_RESERVE_BYTES, most);
        let reserve_bytes = u32::try_from(reserve_bytes).unwrap_or(u32::MAX);
        Self { bytes, reserve_bytes, rate: None, reading: READING }
    }

    /// Of a flow that has little to send: at a rate, or one connection after the other.
    pub(super) fn of_little(rate: Option<BitRate>) -> Self {
        Self { rate, reading: READING_OF_LITTLE, ..Self::new(None, 0, true) }
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

    /// Connects to who waits, from the namespace of this thread, and again where the receiver gave up; nothing where it was
    /// stopped before.
    pub(super) fn connect(
        listener: &TcpListener,
        algorithm: &str,
        load: &Load,
        stop: &AtomicBool,
    ) -> Result<Option<Self>, TestbedError> {
        while !stop.load(Ordering::Relaxed) {
            let sender = open(listener, algorithm, load)?;
            let Some(receiver) = accept(listener, GIVING_UP, stop)? else { continue };
            let worth_reading = i32::try_from(load.reserve_bytes).unwrap_or(i32::MAX);
            setsockopt(&receiver, WorthReading, &worth_reading).map_err(TestbedError::errno("set SO_RCVLOWAT"))?;
            return Ok(Some(Self { sender, receiver }));
        }
        Ok(None)
    }

    /// The same sockets, for somebody else.
    pub(super) fn copy(&self) -> Result<Self, TestbedError> {
        let copies = || Ok(Self { sender: self.sender.try_clone()?, receiver: self.receiver.try_clone()? });
        copies().map_err(TestbedError::io("copy a socket"))
    }

    /// Writes and reads: what `clocked` has written by its time, if there is one. Gives when all was acknowledged, and nothing if it
    /// was stopped before.
    pub(super) fn carry(
        self,
        load: &Load,
        clocked: Option<&mut Clocked>,
        stop: &AtomicBool,
    ) -> Result<Option<Instant>, TestbedError> {
        let Self { sender, receiver } = self;
        let every = load.reading;
        let reading = thread::spawn(move || read(receiver, every));
        let finished = write(sender, load, clocked, stop);
        reading.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).map(|()| finished)
    }
}

/// The sending end of a connection to who waits.
fn open(listener: &TcpListener, algorithm: &str, load: &Load) -> Result<TcpStream, TestbedError> {
    let step = |what: &'static str| TestbedError::io(what);
    let to = listener.local_addr().map_err(step("ask for a listener's port"))?;
    let sender = connect(&to.to_string(), Some(algorithm), CONNECTING)?;
    let used = algorithm_of(&sender).map_err(step("ask for a socket's algorithm"))?;
    if used != algorithm {
        return Err(TestbedError::Unexpected(format!("{algorithm} was requested, but the kernel uses {used}")));
    }
    SockRef::from(&sender).set_tcp_notsent_lowat(load.reserve_bytes).map_err(step("limit unsent data"))?;
    if let Some(rate) = load.rate {
        let bytes_per_s = rate.as_bits_per_s() / 8 * CATCHING_UP_PCT / 100;
        setsockopt(&sender, MaxPacingRate, &bytes_per_s).map_err(TestbedError::errno("set SO_MAX_PACING_RATE"))?;
    }
    Ok(sender)
}

/// The receiving end; nothing where it has not come by then, or the flow is to stop.
fn accept(listener: &TcpListener, longest: Duration, stop: &AtomicBool) -> Result<Option<TcpStream>, TestbedError> {
    let began = Instant::now();
    while began.elapsed() < longest && !stop.load(Ordering::Relaxed) {
        if wait_for(listener, PollFlags::IN, LOOKING)? {
            let (receiver, _) = listener.accept().map_err(TestbedError::io("accept a connection"))?;
            return Ok(Some(receiver));
        }
    }
    Ok(None)
}

/// An error is the end that was asked for, or a reset; samples show that nothing comes any more.
fn write(mut sender: TcpStream, load: &Load, mut clocked: Option<&mut Clocked>, stop: &AtomicBool) -> Option<Instant> {
    let (all_bytes, mut position) = (load.bytes.unwrap_or(u64::MAX), 0);
    while position < all_bytes && !stop.load(Ordering::Relaxed) {
        let until = clocked.as_deref_mut().map_or(all_bytes, Clocked::written_bytes);
        if position == until {
            wait_for_more();
            continue;
        }
        position += sender.write(CONTENT.at(position, until - position)).ok()? as u64;
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
        let rtt = Duration::from_micros(info.srtt_us.into());
        thread::sleep((rtt / NAPS_PER_RTT).clamp(*NAP.start(), *NAP.end()));
    }
    None
}

/// Until the end, or a reset.
fn read(mut receiver: TcpStream, every: Duration) -> Result<(), TestbedError> {
    let (mut buffer, mut position, mut has_ended) = (vec![0; CHUNK_BYTES], 0, false);
    loop {
        let most = if has_ended { CHUNK_BYTES } else { unread_bytes(&receiver)?.saturating_sub(LEFT_BYTES) };
        if most == 0 {
            // Of the peer's, or by a reset: data does not end the wait.
            has_ended = wait_for(&receiver, PollFlags::RDHUP, every)?;
            continue;
        }
        match receiver.read(&mut buffer[..most.min(CHUNK_BYTES)]) {
            Ok(0) => return Ok(()),
            Ok(bytes) if buffer[..bytes] == *CONTENT.at(position, bytes as u64) => position += bytes as u64,
            Ok(bytes) => {
                let what = format!("some of the {bytes} bytes after byte {position} differ from those that were sent");
                return Err(TestbedError::Unexpected(what));
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return Ok(()),
        }
    }
}

/// Whether it has come.
fn wait_for(socket: &impl AsFd, what: PollFlags, longest: Duration) -> Result<bool, TestbedError> {
    let mut polled = [PollFd::new(socket, what)];
    let longest = Timespec::try_from(longest).map_err(|_| TestbedError::Unexpected("too long a wait".to_owned()))?;
    match poll(&mut polled, Some(&longest)) {
        Ok(0) | Err(rustix::io::Errno::INTR) => Ok(false),
        Ok(_) => Ok(true),
        Err(error) => Err(TestbedError::io("wait for a socket")(error.into())),
    }
}

fn unread_bytes(receiver: &TcpStream) -> Result<usize, TestbedError> {
    let bytes = rustix::io::ioctl_fionread(receiver);
    let bytes = bytes.map_err(|error| TestbedError::io("ask how much is unread")(error.into()))?;
    Ok(usize::try_from(bytes).unwrap_or(usize::MAX))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    sockopt_impl!(
        /// `TCP_DEFER_ACCEPT`: without data the last packet of a handshake is as if it had not come
        DeferAccept,
        SetOnly,
        libc::IPPROTO_TCP,
        libc::TCP_DEFER_ACCEPT,
        i32
    );

    #[test]
    fn a_receiver_that_never_comes_is_not_waited_for_without_end() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        setsockopt(&listener, DeferAccept, &60).unwrap();
        let (stop, load) = (AtomicBool::new(false), Load::new(None, 1_000_000, false));
        let _sender = open(&listener, "reno", &load).unwrap();
        assert!(accept(&listener, Duration::from_millis(300), &stop).unwrap().is_none());
        thread::scope(|scope| {
            let waiting = scope.spawn(|| Endpoints::connect(&listener, "reno", &load, &stop));
            thread::sleep(Duration::from_millis(300));
            assert!(!waiting.is_finished());
            stop.store(true, Ordering::Relaxed);
            assert!(waiting.join().unwrap().unwrap().is_none());
        });
    }

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
        let reading = thread::spawn(move || read(receiver, READING));
        sender.write_all(bytes).unwrap();
        drop(sender);
        reading.join().unwrap()
    }

    #[test]
    fn a_byte_that_is_wrong_missing_or_doubled_is_seen() {
        let sent: Vec<u8> = (0..3).flat_map(|chunk| CONTENT.at(chunk * 50_000, 50_000).to_vec()).collect();
        received(&sent).unwrap();
        let mut wrong = sent.clone();
        wrong[120_000] ^= 1;
        assert!(received(&wrong).unwrap_err().to_string().contains("differ from those that were sent"));
        assert!(received(&[&sent[..70_000], &sent[70_001..]].concat()).is_err());
        assert!(received(&[&sent[..70_001], &sent[70_000..]].concat()).is_err());
    }

    /// `tcp_cleanup_rbuf` acknowledges what was pushed only for a reader that has left nothing.
    #[test]
    fn a_byte_is_left_until_the_end() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (receiver, _) = listener.accept().unwrap();
        let seen = receiver.try_clone().unwrap();
        let reading = thread::spawn(move || read(receiver, READING));
        for chunk in 0..3 {
            sender.write_all(CONTENT.at(chunk * 50_000, 50_000)).unwrap();
            let written = Instant::now();
            while unread_bytes(&seen).unwrap() > LEFT_BYTES && written.elapsed() < Duration::from_secs(10) {
                thread::sleep(READING);
            }
            thread::sleep(3 * READING);
            assert_eq!(unread_bytes(&seen).unwrap(), LEFT_BYTES);
        }
        drop(sender);
        reading.join().unwrap().unwrap();
        assert_eq!(unread_bytes(&seen).unwrap(), 0);
    }
}
