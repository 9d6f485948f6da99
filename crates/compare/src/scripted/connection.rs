// SPDX-License-Identifier: GPL-2.0-only
//! A scripted connection: the kernel's TCP at one end, the peer of the script at the other, and a TUN device between them. One
//! thread does everything in turn, and what the kernel does in answer to a packet is done when the write returns.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::os::fd::AsFd as _;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{bail, ensure, Context as _, Result};
use ccctl_catalog::kernel::{TCP_CA_Loss, TCP_INFINITE_SSTHRESH};
use ccctl_testbed::{close_with_reset, ip, tcp_info, tun, Namespace};
use nix::poll::{poll, PollFd, PollFlags, PollTimeout};
use nix::sys::socket::{setsockopt, sockopt};
use nix::time::{clock_gettime, ClockId};
use socket2::{Domain, Protocol, Socket, Type};

use super::language::{Expectation, Numbers, Script, Settings, Step};
use super::packet::{segment_bytes, Sent, ToKernel, KERNEL, NETWORK, PEER, PEER_PORT};
use super::peer::{Acknowledgement, Peer, Segment};

/// The kernel's retransmission timer ends well before.
const PATIENCE: Duration = Duration::from_secs(20);
/// Nothing that is due without a timer takes so long.
const SILENCE: Duration = Duration::from_secs(2);
/// Between two acknowledgements at least: longer than what is done for one of them, so that time is what the script says and not
/// what the processor takes.
const SPACING: Duration = Duration::from_micros(500);
/// A sleep ends so much late at most, without slack for timers; the rest is waited for awake.
const LATE: Duration = Duration::from_micros(50);
const PACKET_BYTES: usize = 2048;
/// All that a script writes.
const BUFFER_BYTES: usize = 64 << 20;
const WINDOW_PKTS: u32 = 10_000;
const STATES: [&str; 5] = ["open", "disorder", "cwr", "recovery", "loss"];

/// A namespace with a device whose other end is here.
pub struct Wire {
    namespace: Namespace,
    device: File,
}

impl Wire {
    /// Makes it.
    pub fn new() -> Result<Self> {
        let namespace = Namespace::new("scripted")?;
        let device = tun(&namespace)?;
        let address = format!("{}/24", Ipv4Addr::from(KERNEL));
        ip(&["-n", namespace.name(), "addr", "add", &address, "dev", "tun0"])?;
        namespace.set_sysctl("net/ipv6/conf/all/disable_ipv6", "1")?; // its own packets would come in between
                                                                      // Packet by packet: how long several are held back to go out as one is a matter of the clock.
        let link = ["-n", namespace.name(), "link", "set", "tun0", "up", "txqueuelen", "20000", "gso_max_segs", "1"];
        ip(&link)?;
        namespace.set_sysctl("net/ipv4/tcp_no_metrics_save", "1")?;
        Ok(Self { namespace, device })
    }

    fn prepare(&self, settings: &Settings) -> Result<()> {
        let switch = |on: bool| if on { "1" } else { "0" };
        self.namespace.set_sysctl("net/ipv4/tcp_sack", switch(settings.sack))?;
        self.namespace.set_sysctl("net/ipv4/tcp_dsack", switch(settings.duplicate_sack))?;
        // 2: without a random offset, the same each time
        self.namespace.set_sysctl("net/ipv4/tcp_timestamps", if settings.timestamps { "2" } else { "0" })?;
        self.namespace.set_sysctl("net/ipv4/tcp_ecn", if settings.ecn { "1" } else { "2" })?;
        let window = settings.initial_window_pkts.unwrap_or(10).to_string();
        let route = ["-n", self.namespace.name(), "route", "change", NETWORK, "dev", "tun0", "initcwnd", &window];
        ip(&route)?;
        Ok(())
    }

    fn receive(&self) -> Result<Option<Sent>> {
        let mut packet = [0; PACKET_BYTES];
        loop {
            match (&self.device).read(&mut packet) {
                Ok(bytes) => {
                    if let Some(sent) = Sent::read(&packet[..bytes]) {
                        return Ok(Some(sent));
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error).context("read from the device"),
            }
        }
    }

    /// Waits for a packet; false if none comes.
    fn wait(&self, most: Duration) -> Result<bool> {
        let ends = &mut [PollFd::new(self.device.as_fd(), PollFlags::POLLIN)];
        let ms = u16::try_from(most.as_millis()).unwrap_or(u16::MAX);
        Ok(poll(ends, PollTimeout::from(ms))? > 0)
    }
}

/// What is to happen to the next round.
#[derive(Default)]
struct Plan {
    lost: Numbers,
    marked: Numbers,
    acks_lost: Numbers,
    moved: Option<(u32, u32)>,
    delay: Duration,
}

/// How a run lies in time. A module that does otherwise at another time does so by the clock, and not by what its script says.
#[derive(Debug, Clone, Copy)]
pub struct Timing {
    /// From the kernel's tick to the SYN.
    pub after_tick: Duration,
    /// Answers to data come so much later than that to the SYN, beyond the round trip.
    pub late: Duration,
}

/// A connection that runs.
struct Connection<'a> {
    wire: &'a Wire,
    late: Duration,
    settings: &'a Settings,
    algorithm: &'a str,
    socket: TcpStream,
    peer: Peer,
    to_kernel: ToKernel,
    began: Instant,
    highest_byte: u32,
    /// What was sent, and when.
    under_way: Vec<(Instant, Segment)>,
    /// When what is done now was due.
    now: Instant,
    plan: Plan,
    /// Since the last round began.
    sent_pkts: u32,
    retransmitted_pkts: u32,
    lines: Vec<String>,
}

/// Runs a script with what the kernel knows as `name`, which `algorithm` is a form of; a line for each thing that happened.
///
/// # Errors
/// What the kernel refused, or a step that cannot be.
pub fn run(wire: &Wire, script: &Script, name: &str, algorithm: &str, timing: Timing) -> Result<Vec<String>> {
    nix::sys::prctl::set_timerslack(1)?; // ns
    wire.prepare(&script.settings)?;
    let mut connection = Connection::open(wire, &script.settings, name, algorithm, timing)?;
    for step in &script.steps {
        connection.take(step).with_context(|| format!("{step:?}"))?;
    }
    close_with_reset(&connection.socket)?;
    Ok(connection.lines)
}

impl<'a> Connection<'a> {
    fn open(wire: &'a Wire, settings: &'a Settings, name: &str, algorithm: &'a str, timing: Timing) -> Result<Self> {
        while wire.receive()?.is_some() {} // of the last connection
        let socket = wire.namespace.enter(|| Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP)))??;
        socket.set_tcp_congestion(name.as_bytes()).with_context(|| format!("there is no algorithm {name}"))?;
        socket.set_tcp_nodelay(true)?;
        setsockopt(&socket, sockopt::SndBufForce, &BUFFER_BYTES)?;
        socket.set_nonblocking(true)?;
        wait_until(next_tick()? + timing.after_tick);
        let _ = socket.connect(&SocketAddrV4::new(PEER.into(), PEER_PORT).into()); // in progress
        let began = Instant::now();
        let syn = loop {
            ensure!(wire.wait(SILENCE)?, "the kernel sends no SYN");
            if let Some(sent) = wire.receive()? {
                break sent;
            }
        };
        ensure!(syn.is_syn, "the kernel's first packet is no SYN: {syn:?}");
        let to_kernel = ToKernel {
            port: syn.source_port,
            first: syn.sequence.wrapping_add(1),
            timestamps: settings.timestamps,
            window_pkts: WINDOW_PKTS,
        };
        let mut peer = Peer::new(settings);
        peer.note_timestamp(syn.timestamp.unwrap_or_default());
        let mut connection = Self {
            wire,
            late: timing.late,
            settings,
            algorithm,
            socket: socket.into(),
            peer,
            to_kernel,
            began,
            highest_byte: 0,
            under_way: Vec::new(),
            now: began,
            plan: Plan::default(),
            sent_pkts: 0,
            retransmitted_pkts: 0,
            lines: Vec::new(),
        };
        connection.pass(connection.rtt());
        let accept =
            connection.to_kernel.accept(settings, connection.timestamp(), syn.timestamp.unwrap_or_default())?;
        connection.give(&accept)?;
        connection.collect()?;
        // the window of a SYN has no scale: the first acknowledgement of data would be the first to offer more
        let offer =
            Acknowledgement { echoed_timestamp: syn.timestamp.unwrap_or_default(), ..Acknowledgement::default() };
        let offer = connection.to_kernel.acknowledge(&offer, connection.timestamp())?;
        connection.give(&offer)?;
        Ok(connection)
    }

    fn rtt(&self) -> Duration {
        Duration::from_millis(self.settings.rtt_ms)
    }

    /// The peer's clock, in ms.
    fn timestamp(&self) -> u32 {
        1 + (self.now - self.began).as_millis() as u32
    }

    /// Time goes on.
    fn pass(&mut self, time: Duration) {
        self.pass_until(self.now + time);
    }

    /// To this time, exactly.
    fn pass_until(&mut self, time: Instant) {
        wait_until(time);
        self.now = self.now.max(time);
    }

    fn give(&self, packet: &[u8]) -> Result<()> {
        (&self.wire.device).write_all(packet).context("write to the device")
    }

    /// Takes what the kernel has sent; how it is written down.
    fn collect(&mut self) -> Result<String> {
        let mut text = String::new();
        while let Some(sent) = self.wire.receive()? {
            if sent.data_bytes == 0 {
                continue;
            }
            let segment = sent.segment(self.to_kernel.first, self.highest_byte);
            self.highest_byte = self.highest_byte.max(segment.end_byte);
            self.sent_pkts += 1;
            self.retransmitted_pkts += u32::from(segment.is_retransmission);
            self.under_way.push((self.now, segment));
            text.push(' ');
            text.push_str(&named(&segment, sent.ecn, self.segment_bytes()));
        }
        Ok(text)
    }

    /// Writes down what came of something, and how the connection stands.
    fn note(&mut self, what: &str, sent: &str) -> Result<()> {
        let info = tcp_info(&self.socket)?;
        let ssthresh = match info.tcpi_snd_ssthresh {
            TCP_INFINITE_SSTHRESH.. => "-".to_owned(),
            pkts => pkts.to_string(),
        };
        let state = STATES.get(usize::from(info.tcpi_ca_state)).unwrap_or(&"?");
        let sent = if sent.is_empty() { " nothing" } else { sent };
        self.lines.push(format!("{what} ->{sent} | cwnd {} ssthresh {ssthresh} {state}", info.tcpi_snd_cwnd));
        Ok(())
    }

    fn take(&mut self, step: &Step) -> Result<()> {
        match step {
            Step::Write(pkts) => return self.write(*pkts),
            Step::Round(count) => return (0..*count).try_for_each(|_| self.round()),
            Step::Timeout(count) => return (0..*count).try_for_each(|_| self.timeout()),
            Step::WaitMs(ms) => return self.wait(*ms),
            Step::Expect(expected) => return self.expect(expected),
            Step::Lose(numbers) => self.plan.lost = numbers.clone(),
            Step::Mark(numbers) => self.plan.marked = numbers.clone(),
            Step::LoseAcks(numbers) => self.plan.acks_lost = numbers.clone(),
            Step::Move { packet, after } => self.plan.moved = Some((*packet, *after)),
            Step::DelayMs(ms) => self.plan.delay = Duration::from_millis(*ms),
            Step::AckEvery(pkts) => self.peer.ack_every_pkts = *pkts,
            Step::Window(pkts) => self.to_kernel.window_pkts = *pkts,
        }
        Ok(())
    }

    fn wait(&mut self, ms: u64) -> Result<()> {
        self.pass(Duration::from_millis(ms));
        let sent = self.collect()?;
        self.note(&format!("wait {ms} ms"), &sent)
    }

    /// First what the window lets go: to take all of a long write costs the kernel milliseconds, and what it sends meanwhile
    /// would have a time of its own. That is sent when the write ends, as the SYN is when the connection is asked for: no RTT is
    /// shorter than it should be.
    fn write(&mut self, pkts: u32) -> Result<()> {
        let info = tcp_info(&self.socket)?;
        let first_pkts = info.tcpi_snd_cwnd.saturating_sub(info.tcpi_unacked).min(pkts);
        self.write_some(first_pkts)?;
        self.now = self.now.max(Instant::now());
        let sent = self.collect()?;
        self.write_some(pkts - first_pkts)?;
        let sent = sent + &self.collect()?;
        self.note(&format!("write {pkts}"), &sent)
    }

    fn write_some(&mut self, pkts: u32) -> Result<()> {
        let data = vec![0x5a; pkts as usize * self.segment_bytes() as usize];
        let written = self.socket.write(&data).or_else(|error| match error.kind() {
            ErrorKind::WouldBlock => Ok(0),
            _ => Err::<usize, io::Error>(error),
        })?;
        ensure!(written == data.len(), "the kernel took {written} of {} bytes", data.len());
        Ok(())
    }

    fn segment_bytes(&self) -> u32 {
        segment_bytes(self.settings.timestamps)
    }

    fn round(&mut self) -> Result<()> {
        if self.under_way.is_empty() {
            self.wire.wait(SILENCE)?;
            self.now = Instant::now();
            let sent = self.collect()?;
            self.note("silence", &sent)?;
        }
        let plan = std::mem::take(&mut self.plan);
        let arriving = arranged(std::mem::take(&mut self.under_way), &plan);
        (self.sent_pkts, self.retransmitted_pkts) = (0, 0);
        let (mut number, mut due) = (0, self.now);
        for (sent_at, segment) in &arriving {
            due = *sent_at + self.rtt() + plan.delay + self.late;
            for answer in self.peer.receive(segment) {
                number += 1;
                self.answer_at(due, &answer, plan.acks_lost.contains(number))?;
            }
        }
        if let Some(answer) = self.peer.delayed() {
            self.answer_at(due, &answer, plan.acks_lost.contains(number + 1))?;
        }
        Ok(())
    }

    /// When it is due, but not too soon after the last one.
    fn answer_at(&mut self, due: Instant, answer: &Acknowledgement, is_lost: bool) -> Result<()> {
        self.pass_until(due.max(self.now + SPACING));
        let sent = self.collect()?;
        if !sent.is_empty() {
            self.note("meanwhile", &sent)?;
        }
        self.answer(answer, is_lost)
    }

    fn answer(&mut self, answer: &Acknowledgement, is_lost: bool) -> Result<()> {
        let what = self.told(answer);
        if is_lost {
            self.lines.push(format!("{what} is lost"));
            return Ok(());
        }
        let packet = self.to_kernel.acknowledge(answer, self.timestamp())?;
        self.give(&packet)?;
        let sent = self.collect()?;
        self.note(&what, &sent)
    }

    fn told(&self, answer: &Acknowledgement) -> String {
        let number = |byte: u32| byte / self.segment_bytes();
        let mut text = format!("ack {}", number(answer.next_byte));
        for (place, (first, end)) in answer.blocks.iter().enumerate() {
            let kind = if place == 0 && answer.has_duplicate { "dsack" } else { "sack" };
            let _ = write!(text, " {kind} {}", range(number(*first) + 1, number(*end)));
            // a String takes all
        }
        if answer.echoes_mark {
            text.push_str(" ece");
        }
        text
    }

    /// Nothing that is under way arrives until the timer has ended once more.
    fn timeout(&mut self) -> Result<()> {
        let timeouts = |socket: &TcpStream| tcp_info(socket).map(|info| (info.tcpi_ca_state, info.tcpi_retransmits));
        let (_, before) = timeouts(&self.socket)?;
        let until = Instant::now() + PATIENCE;
        loop {
            self.under_way.clear();
            (self.sent_pkts, self.retransmitted_pkts) = (0, 0);
            if !self.wire.wait(PATIENCE)? || Instant::now() > until {
                bail!("the retransmission timer does not end");
            }
            self.now = Instant::now();
            let sent = self.collect()?;
            let (state, now) = timeouts(&self.socket)?;
            if u32::from(state) == TCP_CA_Loss && now > before {
                return self.note("timeout", &sent);
            }
            if !sent.is_empty() {
                self.note("meanwhile", &sent)?;
            }
        }
    }

    fn expect(&mut self, expected: &Expectation) -> Result<()> {
        if !expected.algorithms.is_empty() && !expected.algorithms.iter().any(|it| it == self.algorithm) {
            return Ok(());
        }
        let info = tcp_info(&self.socket)?;
        let found = match expected.what.as_str() {
            "cwnd" => info.tcpi_snd_cwnd.to_string(),
            "ssthresh" => info.tcpi_snd_ssthresh.to_string(),
            "sent" => self.sent_pkts.to_string(),
            "retransmitted" => self.retransmitted_pkts.to_string(),
            _ => (*STATES.get(usize::from(info.tcpi_ca_state)).unwrap_or(&"?")).to_owned(),
        };
        if found != expected.value {
            self.lines.push(format!("not as expected: {} is {found} instead of {}", expected.what, expected.value));
        }
        Ok(())
    }
}

/// Sleeps first, and waits for the rest awake.
fn wait_until(time: Instant) {
    thread::sleep(time.saturating_duration_since(Instant::now()).saturating_sub(LATE));
    while Instant::now() < time {
        std::hint::spin_loop();
    }
}

/// Waits for the kernel's next tick: its coarse clock goes on with it.
fn next_tick() -> Result<Instant> {
    let coarse = || clock_gettime(ClockId::CLOCK_MONOTONIC_COARSE);
    let before = coarse()?;
    while coarse()? == before {
        std::hint::spin_loop();
    }
    Ok(Instant::now())
}

/// What arrives, in the order in which it does.
fn arranged(sent: Vec<(Instant, Segment)>, plan: &Plan) -> Vec<(Instant, Segment)> {
    type Numbered = (u32, (Instant, Segment));
    let mut numbered: Vec<Numbered> = (1..).zip(sent).collect();
    if let Some((packet, after)) = plan.moved {
        let place = |list: &[Numbered], number| list.iter().position(|(it, _)| *it == number);
        if let Some(from) = place(&numbered, packet) {
            let moved = numbered.remove(from);
            let to = place(&numbered, after).map_or(numbered.len(), |place| place + 1);
            numbered.insert(to, moved);
        }
    }
    let arrives = numbered.into_iter().filter(|(number, _)| !plan.lost.contains(*number));
    let marked = |(number, (sent_at, segment)): Numbered| {
        let is_marked = segment.is_marked || plan.marked.contains(number);
        (sent_at, Segment { is_marked, ..segment })
    };
    arrives.map(marked).collect()
}

/// `7`, `7-9` where several were sent at once, `r` before what was sent before, `,cwr` and the ECN bits behind.
fn named(segment: &Segment, ecn: u8, segment_bytes: u32) -> String {
    let number = |byte: u32| byte / segment_bytes;
    let again = if segment.is_retransmission { "r" } else { "" };
    let reduced = if segment.congestion_window_reduced { ",cwr" } else { "" };
    let capable = if ecn == 0 { String::new() } else { format!(",ect{ecn}") };
    format!("{again}{}{reduced}{capable}", range(number(segment.first_byte) + 1, number(segment.end_byte).max(1)))
}

fn range(first: u32, last: u32) -> String {
    if first >= last {
        first.to_string()
    } else {
        format!("{first}-{last}")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn sent(pkts: u32) -> Vec<(Instant, Segment)> {
        let bytes = segment_bytes(true);
        let segment = |number: u32| Segment {
            first_byte: number * bytes,
            end_byte: (number + 1) * bytes,
            timestamp: None,
            is_marked: false,
            congestion_window_reduced: false,
            is_retransmission: false,
        };
        (0..pkts).map(|number| (Instant::now(), segment(number))).collect()
    }

    fn arriving(plan: &str) -> Vec<String> {
        let script = Script::parse(&format!("title t\n{plan}\n")).unwrap();
        let mut plan = Plan::default();
        match script.steps.into_iter().next().unwrap() {
            Step::Lose(numbers) => plan.lost = numbers,
            Step::Mark(numbers) => plan.marked = numbers,
            Step::Move { packet, after } => plan.moved = Some((packet, after)),
            other => panic!("{other:?}"),
        }
        let ecn = |segment: &Segment| if segment.is_marked { 3 } else { 0 };
        arranged(sent(5), &plan).iter().map(|(_, it)| named(it, ecn(it), segment_bytes(true))).collect()
    }

    #[test]
    fn packets_are_lost_marked_and_late_as_the_script_says() {
        assert_eq!(arriving("lose 2,4-5"), ["1", "3"]);
        assert_eq!(arriving("mark 2"), ["1", "2,ect3", "3", "4", "5"]);
        assert_eq!(arriving("move 2 after 4"), ["1", "3", "4", "2", "5"]);
        assert_eq!(arriving("move 2 after 9"), ["1", "3", "4", "5", "2"]);
    }
}
