// SPDX-License-Identifier: MIT OR Apache-2.0
//! Does this kernel call every hook? Some leave BPF programs out where a softirq interrupts certain tasks
//! (docs/reference/kernel-matrix.md); their trampoline then returns what lies on the stack.
//!
//! An algorithm that only counts is put on sockets in a network namespace of its own. What it was told is compared with what
//! the kernel has counted itself. All of it is gone afterwards, however this process ends.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use libbpf_rs::{Link, MapCore as _, MapFlags, Object, ObjectBuilder};
use nix::sched::{sched_getaffinity, sched_setaffinity, unshare, CloneFlags, CpuSet};
use nix::sys::socket::{setsockopt, sockopt};
use nix::unistd::Pid;

use crate::check::{Check, Status};
use crate::kernel_ops::KernelOps;
use crate::sys;

const NAME: &str = "hooks called";
const REMEDY: &str = "use another kernel: windows and counts of BPF algorithms are not reliable on this one";
/// Name of the algorithm in `bpf/policy/left_out.bpf.c`.
const ALGORITHM: &str = "ccctl_doctor";
const COUNTS_MAP: &str = ".data.counts";
/// Sockets in all; each has some 1,000 calls a second.
const SOCKETS: usize = 64;
const TIME: Duration = Duration::from_millis(1500);
/// The last packets' ACKs.
const DRAIN: Duration = Duration::from_millis(50);
/// How often a thread writes and reads; a socket keeps data for longer.
const PERIOD: Duration = Duration::from_millis(10);
const AHEAD_BYTES: usize = 8192;
const SEGMENT_BYTES: u32 = 88;
/// Fewer calls show nothing.
const LEAST_CALLS: u64 = 1000;
const PROCESSORS_MOST: usize = 8;

/// What the algorithm has counted: `struct left_out_counts`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Counts {
    calls: u64,
    told_pkts: u64,
    delivered_pkts: u64,
}

/// Compares calls with the kernel's own count, once in the life of this process. Takes about two seconds.
#[must_use]
pub fn check_calls() -> Check {
    static CHECK: OnceLock<Check> = OnceLock::new();
    CHECK.get_or_init(probe).clone()
}

fn probe() -> Check {
    let unknown =
        |detail: String| Check::new(NAME, Status::Unknown, detail, "run ccctl doctor as root, on Linux 6.4 or newer");
    if !KernelOps::get().is_ok_and(|ops| ops.has_links) {
        return unknown("not counted: this kernel has no struct_ops links".to_owned());
    }
    match count() {
        Ok(counts) => judge(counts),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            unknown("not counted without privileges".to_owned())
        }
        Err(error) => unknown(format!("not counted: {error}")),
    }
}

fn judge(counts: Counts) -> Check {
    let Counts { calls, told_pkts, delivered_pkts } = counts;
    if calls < LEAST_CALLS {
        let detail =
            format!("not counted: only {calls} calls on connections without a loss came in {} ms", TIME.as_millis());
        return Check::new(NAME, Status::Unknown, detail, "run ccctl doctor again when the host is less busy");
    }
    let left_out = delivered_pkts.saturating_sub(told_pkts);
    if left_out == 0 {
        return Check::new(NAME, Status::Ok, format!("all of {calls}"), "");
    }
    let share = (left_out * 100_000).div_ceil(delivered_pkts);
    let detail = format!(
        "this kernel leaves BPF hooks out: {share} of 100,000 ({left_out} of {delivered_pkts} packets did not reach a hook); \
         a window may be wrong until the next ACK"
    );
    Check::new(NAME, Status::Warn, detail, REMEDY)
}

fn count() -> io::Result<Counts> {
    let (object, link) = sys::with_log(register).0.map_err(|error| of_libbpf(&error))?;
    let allowed = sched_getaffinity(Pid::from_raw(0))?;
    let processors: Vec<usize> =
        (0..CpuSet::count()).filter(|cpu| allowed.is_set(*cpu).unwrap_or(false)).take(PROCESSORS_MOST).collect();
    let sockets = SOCKETS / processors.len().max(1);
    let threads: Vec<_> = processors
        .iter()
        .map(|cpu| {
            let cpu = *cpu;
            thread::spawn(move || send(cpu, sockets))
        })
        .collect();
    let mut result = Ok(());
    for sender in threads {
        let ended = sender.join().unwrap_or_else(|_| Err(io::Error::other("a sender has failed")));
        result = result.and(ended);
    }
    let counts = result.and_then(|()| read(&object));
    drop(link);
    counts
}

fn register() -> libbpf_rs::Result<(Object, Link)> {
    let mut object = ObjectBuilder::default().open_memory(ccctl_catalog::LEFT_OUT_OBJECT)?.load()?;
    let link = {
        let map = object.maps_mut().find(|map| map.name() == "left_out");
        map.ok_or_else(|| libbpf_rs::Error::from(io::Error::other("no struct_ops map")))?.attach_struct_ops()?
    };
    Ok((object, link))
}

fn of_libbpf(error: &libbpf_rs::Error) -> io::Error {
    match error.kind() {
        libbpf_rs::ErrorKind::PermissionDenied => ErrorKind::PermissionDenied.into(),
        libbpf_rs::ErrorKind::AlreadyExists => io::Error::other("another ccctl doctor is counting at the moment"),
        _ => io::Error::other(error.to_string()),
    }
}

fn read(object: &Object) -> io::Result<Counts> {
    let map = object.maps().find(|map| map.name() == COUNTS_MAP).ok_or(ErrorKind::NotFound)?;
    let bytes = map.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY).map_err(|error| of_libbpf(&error))?.unwrap_or_default();
    let word = |index: usize| {
        bytes.get(index * 8..).and_then(|rest| rest.first_chunk()).map_or(0, |word| u64::from_ne_bytes(*word))
    };
    Ok(Counts { calls: word(0), told_pkts: word(1), delivered_pkts: word(2) })
}

/// A connection on the loopback device: who sends, and who reads.
struct Pair {
    sender: TcpStream,
    reader: TcpStream,
}

/// One thread's share: on a processor of its own, so that timers fire on each, and in a network namespace of its own.
fn send(processor: usize, sockets: usize) -> io::Result<()> {
    let mut only = CpuSet::new();
    only.set(processor)?;
    sched_setaffinity(Pid::from_raw(0), &only)?;
    unshare(CloneFlags::CLONE_NEWNET)?;
    sys::raise_loopback()?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    setsockopt(&listener, sockopt::TcpMaxSeg, &SEGMENT_BYTES)?;
    let pairs: Vec<Pair> = (0..sockets).map(|_| connect(&listener)).collect::<io::Result<_>>()?;
    let started = Instant::now();
    while started.elapsed() < TIME {
        for pair in &pairs {
            pair.exchange(AHEAD_BYTES)?;
        }
        thread::sleep(PERIOD);
    }
    let drained = Instant::now() + DRAIN;
    while Instant::now() < drained {
        for pair in &pairs {
            pair.exchange(0)?;
        }
        thread::sleep(PERIOD);
    }
    for pair in &pairs {
        setsockopt(&pair.sender, sockopt::TcpCongestion, &"reno".into())?;
    }
    Ok(())
}

fn connect(listener: &TcpListener) -> io::Result<Pair> {
    let sender = TcpStream::connect(listener.local_addr()?)?;
    let (reader, _) = listener.accept()?;
    sender.set_nonblocking(true)?;
    reader.set_nonblocking(true)?;
    setsockopt(&sender, sockopt::TcpCongestion, &ALGORITHM.into())?;
    Ok(Pair { sender, reader })
}

impl Pair {
    fn exchange(&self, bytes: usize) -> io::Result<()> {
        let mut room = [0; AHEAD_BYTES];
        when_ready((&self.sender).write(&room[..bytes]))?;
        when_ready((&self.reader).read(&mut room))
    }
}

fn when_ready(result: io::Result<usize>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() != ErrorKind::WouldBlock => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn counted(calls: u64, told_pkts: u64, delivered_pkts: u64) -> Check {
        judge(Counts { calls, told_pkts, delivered_pkts })
    }

    #[test]
    fn one_packet_not_told_is_a_warning_with_a_remedy() {
        let check = counted(50_000, 99_999, 100_000);
        assert_eq!(check.status, Status::Warn);
        assert!(check.detail.contains("1 of 100,000"), "{}", check.detail);
        assert!(check.remedy.is_some());
        assert_eq!(counted(50_000, 100_000, 100_000).status, Status::Ok);
        assert!(counted(900_000, 1_999_999, 2_000_000).detail.contains(": 1 of 100,000"), "never 0");
    }

    #[test]
    fn too_few_calls_tell_nothing() {
        assert_eq!(counted(999, 999, 2_000).status, Status::Unknown);
    }
}
