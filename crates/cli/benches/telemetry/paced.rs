// SPDX-License-Identifier: MIT OR Apache-2.0
//! A connection that sends at a given rate, and the processor time of both of its ends.
#![allow(dead_code)] // each benchmark uses its part

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use ccctl_testbed::{connect, Network, SERVER_V4};
use nix::sched::{sched_setaffinity, CpuSet};
use nix::time::{clock_gettime, ClockId};
use nix::unistd::Pid;

const CHUNK_BYTES: usize = 32 * 1024;
const LIMIT: Duration = Duration::from_secs(10);
/// A connection's beginning is not counted: its slow start, and what others do once when they first see it.
pub const LEAD: Duration = Duration::from_millis(400);

/// What one run carried and cost.
#[derive(Debug, Clone, Copy)]
pub struct Cost {
    pub bytes: u64,
    pub elapsed: Duration,
    /// Of both threads, with the softirqs that ran in them, and of ksoftirqd, which takes over when there are many.
    pub cpu: Duration,
}

impl Cost {
    pub fn seconds_per_gigabyte(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e9 / self.bytes as f64
    }

    pub fn gbit_per_s(&self) -> f64 {
        self.bytes as f64 * 8e-9 / self.elapsed.as_secs_f64()
    }
}

/// Sends for `time` after [`LEAD`]; without a rate as fast as it goes.
pub fn run(network: &Network, algorithm: &str, mbit_per_s: Option<f64>, time: Duration) -> Cost {
    let listener = network.server.enter(|| TcpListener::bind((SERVER_V4, 0)).unwrap()).unwrap();
    let to = listener.local_addr().unwrap().to_string();
    let receiver = std::thread::spawn(move || receive(&listener));
    let sent = network.client.enter(|| send(connect(&to, Some(algorithm), LIMIT).unwrap(), mbit_per_s, time)).unwrap();
    let (bytes, reading) = receiver.join().unwrap();
    let softirqs = ksoftirqd().saturating_sub(sent.softirqs_before);
    Cost { bytes, elapsed: sent.counted_from.elapsed(), cpu: sent.cpu + reading + softirqs }
}

/// What the sender's thread has seen since [`LEAD`] was over.
struct Sent {
    counted_from: Instant,
    softirqs_before: Duration,
    cpu: Duration,
}

fn send(mut stream: TcpStream, mbit_per_s: Option<f64>, time: Duration) -> Sent {
    keep_to(0);
    write(&mut stream, mbit_per_s, LEAD);
    let softirqs_before = ksoftirqd();
    let (counted_from, before) = (Instant::now(), thread_time());
    write(&mut stream, mbit_per_s, time);
    Sent { counted_from, softirqs_before, cpu: thread_time().saturating_sub(before) }
}

fn write(stream: &mut TcpStream, mbit_per_s: Option<f64>, time: Duration) {
    let buffer = vec![0x5a; CHUNK_BYTES];
    let started = Instant::now();
    let mut bytes = 0.0;
    while started.elapsed() < time {
        stream.write_all(&buffer).unwrap();
        bytes += CHUNK_BYTES as f64;
        if let Some(rate) = mbit_per_s {
            let due = Duration::from_secs_f64(bytes * 8.0 / (rate * 1e6));
            std::thread::sleep(due.saturating_sub(started.elapsed()));
        }
    }
}

/// Bytes and processor time since [`LEAD`] was over.
fn receive(listener: &TcpListener) -> (u64, Duration) {
    keep_to(1);
    let (mut stream, _) = listener.accept().unwrap();
    let started = Instant::now();
    let mut buffer = vec![0; 256 * 1024];
    let mut lead_end = None;
    let mut bytes = 0;
    loop {
        let count = stream.read(&mut buffer).unwrap();
        match lead_end {
            None if started.elapsed() >= LEAD => lead_end = Some(thread_time()),
            Some(_) => bytes += count as u64,
            None => {}
        }
        if count == 0 {
            return (bytes, thread_time().saturating_sub(lead_end.unwrap()));
        }
    }
}

fn keep_to(processor: usize) {
    let mut set = CpuSet::new();
    set.set(processor).unwrap();
    let _ = sched_setaffinity(Pid::from_raw(0), &set); // with one processor only there is nothing to choose
}

fn thread_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).unwrap().into()
}

/// Run time of all ksoftirqd threads, from their schedstat.
fn ksoftirqd() -> Duration {
    let processes = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let threads = processes
        .filter(|path| std::fs::read_to_string(path.join("comm")).is_ok_and(|name| name.starts_with("ksoftirqd/")));
    let times = threads.filter_map(|path| {
        let text = std::fs::read_to_string(path.join("schedstat")).ok()?;
        text.split(' ').next()?.parse().ok().map(Duration::from_nanos)
    });
    times.sum()
}
