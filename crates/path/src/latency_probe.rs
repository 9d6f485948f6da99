// SPDX-License-Identifier: GPL-2.0-only
//! An echo through the whole path, all the time: what the router cannot see of its own lateness, and what lies beyond it.
//!
//! Echo requests go from each sender in turn to the receiver, whose kernel answers. They take no place in the queues: the
//! router carries them with the path's delay alone, so that what they need beyond it is the emulator's fault. The answer is
//! stamped by the kernel as it arrives; no process has to wake up for it.

use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use nix::poll::{poll, PollFd, PollFlags, PollTimeout};
use nix::sys::socket::sockopt::ReceiveTimestampns;
use nix::sys::socket::{recvmsg, setsockopt, ControlMessageOwned, MsgFlags};
use nix::sys::time::TimeSpec;
use socket2::{Domain, Protocol, Socket, Type};

use super::lateness::{Lateness, LatenessReport};
use super::plan::RECEIVER_V4;
use super::spec::PathSpec;
use super::Affinity;
use ccctl_testbed::{Namespace, TestbedError};

/// Ten in a window of lateness.
const INTERVAL: Duration = Duration::from_millis(10);
const TICK_MS: u16 = 20;
/// What the last echoes may be late beyond the delay of the path: a run that ends beside others, whose namespaces come and go.
const GRACE: Duration = Duration::from_secs(2);
/// How often it is asked whether all are back.
const ASKED: Duration = Duration::from_millis(10);

const IPV4_HEADER_BYTES: usize = 20;
const ICMP: u8 = 1;
const ECHO_REQUEST: u8 = 8;
const ECHO_REPLY: u8 = 0;
/// Tells these echoes from those of others.
const IDENTIFIER: [u8; 2] = [0xca, 0x7a];
/// Header of ICMP, number of the sender, time of departure.
const ECHO_BYTES: usize = 8 + 8 + 8;

/// Whether a packet is an echo of a latency probe. Its header was read.
pub(super) fn is_probe(packet: &[u8]) -> bool {
    let echo = [ECHO_REQUEST, ECHO_REPLY];
    packet.len() == IPV4_HEADER_BYTES + ECHO_BYTES
        && packet[0] == 0x45
        && packet[9] == ICMP
        && echo.contains(&packet[20])
        && packet[24..26] == IDENTIFIER
}

/// The echoes of a path.
#[derive(Debug)]
pub(super) struct LatencyProbe {
    no_more: Arc<AtomicBool>,
    stop: Arc<AtomicBool>,
    sending: JoinHandle<()>,
    receiving: JoinHandle<Lateness>,
    sent: Arc<AtomicU64>,
    came: Arc<AtomicU64>,
    grace: Duration,
    started: Instant,
}

/// What the echoes of a run say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProbeReport {
    /// How much longer than the path's delays an echo took, there and back.
    pub excess: LatenessReport,
    /// Requests that left.
    pub sent: u64,
}

impl ProbeReport {
    /// Echoes that did not come back.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.sent.saturating_sub(self.excess.count)
    }
}

impl LatencyProbe {
    pub(super) fn start(spec: &PathSpec, senders: &[Namespace], affinity: &Affinity) -> Result<Self, TestbedError> {
        let sockets: Result<Vec<Socket>, TestbedError> = senders.iter().map(|sender| sender.enter(socket)?).collect();
        let sockets = Arc::new(sockets?);
        let both = spec.delays().into_iter().zip(spec.delays_back());
        let rtts: Vec<Duration> = both.map(|(there, back)| there + back).collect();
        let grace = rtts.iter().max().copied().unwrap_or_default() + GRACE;
        let [no_more, stop] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
        let [sent, came] = [(); 2].map(|()| Arc::new(AtomicU64::new(0)));
        let started = Instant::now();
        let receiving = {
            let (sockets, stop, came, affinity) = (sockets.clone(), stop.clone(), came.clone(), affinity.clone());
            let mut lateness = Lateness::new(&spec.bounds);
            thread::spawn(move || {
                place(&affinity);
                while !stop.load(Ordering::Relaxed) {
                    receive(&sockets, &rtts, started, &mut lateness);
                    came.store(lateness.count(), Ordering::Relaxed);
                }
                lateness
            })
        };
        let sending = {
            let (no_more, sent, affinity) = (no_more.clone(), sent.clone(), affinity.clone());
            thread::spawn(move || {
                place(&affinity);
                send_until(&no_more, &sockets, &sent);
            })
        };
        Ok(Self { no_more, stop, sending, receiving, sent, came, grace, started })
    }

    /// Waits for the last echoes.
    pub(super) fn stop(self) -> ProbeReport {
        self.no_more.store(true, Ordering::Relaxed);
        let run = self.started.elapsed();
        let _ = self.sending.join(); // a panic there leaves echoes out, and too few are a fault of the run
        let asked_until = Instant::now() + self.grace;
        while self.came.load(Ordering::Relaxed) < self.sent.load(Ordering::Relaxed) && Instant::now() < asked_until {
            thread::sleep(ASKED);
        }
        self.stop.store(true, Ordering::Relaxed);
        let lateness = self.receiving.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        ProbeReport { excess: lateness.report(run), sent: self.sent.load(Ordering::Relaxed) }
    }
}

/// A latency probe elsewhere measures as well, only worse.
fn place(affinity: &Affinity) {
    if let Err(error) = affinity.become_endpoint() {
        eprintln!("testbed: {error}");
    }
}

fn socket() -> Result<Socket, TestbedError> {
    let step = || TestbedError::io("open a socket for echoes");
    let socket = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::ICMPV4)).map_err(step())?;
    socket.set_nonblocking(true).map_err(step())?;
    setsockopt(&socket, ReceiveTimestampns, &true).map_err(TestbedError::errno("have echoes stamped"))?;
    Ok(socket)
}

fn send_until(no_more: &AtomicBool, sockets: &[Socket], sent: &AtomicU64) {
    let to = SocketAddr::from((RECEIVER_V4, 0)).into();
    for sender in (0..sockets.len()).cycle() {
        if no_more.load(Ordering::Relaxed) {
            return;
        }
        if sockets[sender].send_to(&request(sender as u64, unix_ns()), &to).is_ok() {
            sent.fetch_add(1, Ordering::Relaxed);
        }
        thread::sleep(INTERVAL);
    }
}

/// An echo request (RFC 792) that carries its sender's number and its time.
fn request(sender: u64, unix_ns: u64) -> [u8; ECHO_BYTES] {
    let mut echo = [0; ECHO_BYTES];
    echo[0] = ECHO_REQUEST;
    echo[4..6].copy_from_slice(&IDENTIFIER);
    echo[8..16].copy_from_slice(&sender.to_be_bytes());
    echo[16..24].copy_from_slice(&unix_ns.to_be_bytes());
    let words = echo.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    let checksum = !((folded & 0xffff) + (folded >> 16)) as u16;
    echo[2..4].copy_from_slice(&checksum.to_be_bytes());
    echo
}

fn unix_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64)
}

fn receive(sockets: &[Socket], rtts: &[Duration], started: Instant, lateness: &mut Lateness) {
    let mut fds: Vec<PollFd> = sockets.iter().map(|socket| PollFd::new(socket.as_fd(), PollFlags::POLLIN)).collect();
    if poll(&mut fds, PollTimeout::from(TICK_MS)).is_err() {
        return; // interrupted; the caller comes again
    }
    for socket in sockets {
        while let Ok(Some((sender, sent_ns, arrived_ns))) = receive_one(socket) {
            let Some(rtt) = usize::try_from(sender).ok().and_then(|sender| rtts.get(sender)) else { continue };
            let excess_ns = arrived_ns.saturating_sub(sent_ns).saturating_sub(rtt.as_nanos() as u64);
            lateness.note(started.elapsed().as_nanos() as u64, excess_ns);
        }
    }
}

/// The next echo's sender, departure and arrival; none of a packet that is no echo of a latency probe ends the search as well.
fn receive_one(socket: &Socket) -> io::Result<Option<(u64, u64, u64)>> {
    let mut packet = [0; 256];
    let mut control = nix::cmsg_space!(TimeSpec);
    let mut slices = [IoSliceMut::new(&mut packet)];
    let message = recvmsg::<()>(socket.as_raw_fd(), &mut slices, Some(&mut control), MsgFlags::empty())?;
    let stamp = message.cmsgs()?.find_map(|item| match item {
        ControlMessageOwned::ScmTimestampns(stamp) => Some(Duration::from(stamp).as_nanos() as u64),
        _ => None,
    });
    let bytes = message.bytes;
    let number = |at: usize| packet[at..at + 8].try_into().map(u64::from_be_bytes).unwrap_or_default();
    let is_answer = bytes >= IPV4_HEADER_BYTES && is_probe(&packet[..bytes]) && packet[20] == ECHO_REPLY;
    Ok(stamp.filter(|_| is_answer).map(|stamp| (number(28), number(36), stamp)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 792: the ones' complement sum of all words, checksum included, is all ones.
    #[test]
    fn a_request_has_a_right_checksum() {
        let echo = request(0x1234_5678_9abc_def0, 0xffff_ffff_0000_0001);
        let mut sum: u32 = echo.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        assert_eq!(sum, 0xffff);
    }

    #[test]
    fn only_its_own_echoes_are_canaries() {
        let mut packet = vec![0; 20];
        (packet[0], packet[9]) = (0x45, ICMP);
        packet.extend(request(0, 0));
        assert!(is_probe(&packet));
        let mut foreign = packet.clone();
        foreign[24] = 0;
        assert!(!is_probe(&foreign) && !is_probe(&packet[..43]));
    }
}
