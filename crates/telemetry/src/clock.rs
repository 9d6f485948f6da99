// SPDX-License-Identifier: MIT OR Apache-2.0
//! The whole clock: arrival on each interface, start and end of TCP input, drops.

use std::collections::BTreeMap;
use std::fmt;
use std::os::linux::fs::MetadataExt as _;
use std::time::{Duration, Instant};

use aya::maps::{PerCpuArray, PerCpuHashMap};
use aya::programs::tp_btf::BtfTracePointLinkId;
use aya::programs::{BtfTracePoint, FEntry, FExit, ProgramError};
use aya::{Btf, Ebpf, EbpfLoader};

use ccctl_catalog::kernel::c_text;

use crate::arrival::{Arrival, Attached, InterfaceCounts, PointChoice};
use crate::bindings::{algorithm_counts, clock_settings, drop_key, ACK_ALGORITHM_SLOTS, ACK_SACK_KINDS};
use crate::cost::{self, ProgramCost};
use crate::drops::{self, Drops};
use crate::error::{Error, Result};
use crate::histogram::Times;
use crate::interface::Interface;
use crate::kernel_types::KernelTypes;
use crate::privileges;
use crate::softnet::{Backlog, Softnet};

static CLOCK_OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/clock.bpf.o"));

const START_BY_CALL: &str = "ack_enters";
const START_BY_INPUT: &str = "input_starts";
const END_BY_RETURN: &str = "ack_returns";
/// What the two of them trace.
const FUNCTION: &str = "tcp_ack";
const END_BY_FREE: &str = "ack_freed";
const DROP: &str = "packet_dropped";
/// One in so many turns listens for ends.
const TURNS: u32 = 8;

/// What to measure.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Interfaces; all that are up where empty.
    pub interfaces: Vec<String>,
    /// Where to stamp.
    pub point: PointChoice,
    /// Count times longer than this.
    pub slow: Option<Duration>,
    /// Time every ACK; otherwise one in 8 is, which costs far less. All are counted either way.
    pub every_ack: bool,
}

/// What ends the processing of an ACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// `tcp_ack()` returns (fexit): exact. The start is then its entry.
    AckReturns,
    /// The ACK's buffer is freed, right after `tcp_ack()`.
    AckFreed,
}

impl fmt::Display for End {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::AckReturns => "fexit/tcp_ack",
            Self::AckFreed => "tp_btf/kmem_cache_free",
        })
    }
}

/// What one algorithm's sockets did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AlgorithmCounts {
    /// ACKs that TCP input worked on; merged ones count once.
    pub acks: u64,
    /// ACKs merged into those while they waited in a socket's backlog.
    pub coalesced: u64,
    /// Duplicate ACKs (RFC 5681).
    pub duplicate_acks: u64,
    /// ACKs without a stamp: not chosen, or from an interface without the clock.
    pub unstamped: u64,
    /// ACKs by their number of SACK blocks.
    pub sack_blocks: [u64; ACK_SACK_KINDS as usize],
    /// From arrival to the start of TCP input.
    pub waiting: Times,
    /// From there to the end.
    pub processing: Times,
}

/// All that was counted since the start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reading {
    /// Since the start.
    pub elapsed: Duration,
    /// By interface.
    pub interfaces: Vec<InterfaceCounts>,
    /// By algorithm.
    pub algorithms: BTreeMap<String, AlgorithmCounts>,
    /// By reason.
    pub drops: Vec<Drops>,
    /// By processor, of the whole machine.
    pub softnet: Vec<(Softnet, Backlog)>,
}

impl Reading {
    /// Drops of a full backlog, as trace point and as `/proc/net/softnet_stat` have them: both of the whole machine. None
    /// where the kernel gives drops no reasons of this name.
    #[must_use]
    pub fn backlog_drops(&self) -> (u64, u64) {
        let traced = self.drops.iter().find(|drops| drops.reason == drops::CPU_BACKLOG);
        let counted = self.softnet.iter().map(|(softnet, _)| softnet.dropped).sum();
        (traced.map_or(0, |drops| drops.here + drops.elsewhere), counted)
    }
}

/// The running clock. Dropped, it is gone from the kernel.
#[derive(Debug)]
pub struct Clock {
    arrivals: Vec<Arrival>,
    object: Ebpf,
    end: End,
    types: KernelTypes,
    started: Instant,
    before: Vec<Softnet>,
    backlogs: BTreeMap<u32, Backlog>,
    window: Window,
}

/// When the end is listened to: where every freed object of the machine is looked at, one in [`TURNS`] of the time.
#[derive(Debug, Default)]
struct Window {
    always: bool,
    turn: u32,
    link: Option<BtfTracePointLinkId>,
}

impl Clock {
    /// Starts it in the network namespace of this thread.
    pub fn start(settings: &Settings) -> Result<Self> {
        privileges::require("the ACK clock")?;
        let interfaces = Interface::choose(&settings.interfaces)?;
        let btf = Btf::from_sys_fs().map_err(|_| Error::Kernel("BTF"))?;
        let types = KernelTypes::read()?;
        let mut object = load(&btf, settings, &types)?;
        let end = load_ends(&mut object, &btf)?;
        load_trace_point(&mut object, DROP, "kfree_skb", &btf)?;
        let arrivals = interfaces
            .iter()
            .map(|interface| Arrival::attach(&btf, interface, settings.point, settings.every_ack))
            .collect::<Result<_>>()?;
        // All that takes time is done: what arrives between these lines is what the sums cannot agree on.
        let before = Softnet::read()?;
        attach_start(&mut object, end)?;
        attach_trace_point(&mut object, DROP)?;
        let (started, backlogs) = (Instant::now(), BTreeMap::new());
        let mut clock = Self { arrivals, object, end, types, started, before, backlogs, window: Window::default() };
        clock.window.always = settings.every_ack || end == End::AckReturns;
        clock.turn_end()?;
        Ok(clock)
    }

    /// What ends the processing of an ACK on this kernel.
    #[must_use]
    pub fn end(&self) -> End {
        self.end
    }

    /// Where ACKs are stamped.
    pub fn attached(&self) -> impl Iterator<Item = &Attached> {
        self.arrivals.iter().map(Arrival::attached)
    }

    /// Looks at the backlogs, and opens and closes the window for ends: to be called about 20 times a second.
    pub fn sample(&mut self) -> Result<()> {
        self.turn_end()?;
        for softnet in Softnet::read()? {
            self.backlogs.entry(softnet.cpu).or_default().add(&softnet);
        }
        Ok(())
    }

    /// The first turn of each round is the one with the window open.
    fn turn_end(&mut self) -> Result<()> {
        let wanted = self.window.always || self.window.turn.is_multiple_of(TURNS);
        self.window.turn = self.window.turn.wrapping_add(1);
        if self.end == End::AckReturns || wanted == self.window.link.is_some() {
            return Ok(());
        }
        let program = trace_point_program(&mut self.object, END_BY_FREE)?;
        if let Some(link) = self.window.link.take() {
            return program.detach(link).map_err(|source| program_error("detach", END_BY_FREE, source));
        }
        let link = program.attach().map_err(|source| program_error("attach", END_BY_FREE, source))?;
        self.window.link = Some(link);
        Ok(())
    }

    /// What was counted so far.
    pub fn read(&self) -> Result<Reading> {
        Ok(Reading {
            elapsed: self.started.elapsed(),
            interfaces: self.arrivals.iter().map(Arrival::read).collect::<Result<_>>()?,
            algorithms: self.algorithms()?,
            drops: self.drops()?,
            softnet: self.softnet()?,
        })
    }

    /// What the clock's own programs cost, while `kernel.bpf_stats_enabled` is on.
    #[must_use]
    pub fn programs(&self) -> Vec<ProgramCost> {
        self.arrivals.iter().flat_map(Arrival::programs).chain(cost::of(&self.object)).collect()
    }

    fn algorithms(&self) -> Result<BTreeMap<String, AlgorithmCounts>> {
        let map = self.object.map("algorithms").ok_or(Error::Kernel("map of algorithms"))?;
        let map: PerCpuArray<_, algorithm_counts> = map.try_into().map_err(Error::map("algorithms"))?;
        let mut algorithms: BTreeMap<String, AlgorithmCounts> = BTreeMap::new();
        for slot in 0..ACK_ALGORITHM_SLOTS {
            let values = map.get(&slot, 0).map_err(Error::map("algorithms"))?;
            for counts in values.iter().filter(|counts| counts.name[0] != 0) {
                algorithms.entry(c_text(&counts.name)).or_default().add(counts);
            }
        }
        Ok(algorithms)
    }

    fn drops(&self) -> Result<Vec<Drops>> {
        let map = self.object.map("drops").ok_or(Error::Kernel("map of drops"))?;
        let map: PerCpuHashMap<_, drop_key, u64> = map.try_into().map_err(Error::map("drops"))?;
        drops::read(&map, &self.types)
    }

    fn softnet(&self) -> Result<Vec<(Softnet, Backlog)>> {
        let now = Softnet::read()?;
        let since = |softnet: &Softnet| match self.before.iter().find(|before| before.cpu == softnet.cpu) {
            Some(before) => softnet.since(before),
            None => *softnet, // a processor that came online
        };
        let backlog = |cpu| self.backlogs.get(&cpu).copied().unwrap_or_default();
        Ok(now.iter().map(|softnet| (since(softnet), backlog(softnet.cpu))).collect())
    }
}

impl AlgorithmCounts {
    fn add(&mut self, counts: &algorithm_counts) {
        self.acks += counts.acks;
        self.coalesced += counts.coalesced;
        self.duplicate_acks += counts.duplicate_acks;
        self.unstamped += counts.unstamped;
        // Without blocks not all are stamped: they are those that are left.
        let blocks: u64 = counts.sack_blocks.iter().skip(1).sum();
        self.sack_blocks[0] += counts.acks.saturating_sub(blocks);
        self.sack_blocks.iter_mut().zip(counts.sack_blocks).skip(1).for_each(|(sum, count)| *sum += count);
        self.waiting.add(&counts.waiting);
        self.processing.add(&counts.processing);
    }
}

fn load(btf: &Btf, settings: &Settings, types: &KernelTypes) -> Result<Ebpf> {
    const NAMESPACE: &str = "/proc/thread-self/ns/net";
    let namespace = std::fs::metadata(NAMESPACE).map_err(Error::io(format!("read {NAMESPACE}")))?;
    let global = clock_settings {
        slow_ns: settings.slow.map_or(u64::MAX, |slow| slow.as_nanos() as u64),
        netns_inum: namespace.st_ino() as u32,
        drop_has_socket: types.drop_has_socket.into(),
    };
    EbpfLoader::new()
        .btf(Some(btf))
        .override_global("settings", &global, true)
        .load(CLOCK_OBJECT)
        .map_err(|source| Error::Object { object: "clock", source })
}

fn trace_point_program<'a>(object: &'a mut Ebpf, name: &'static str) -> Result<&'a mut BtfTracePoint> {
    let program = object.program_mut(name).ok_or(Error::Kernel("program in our own object"))?;
    program.try_into().map_err(|source| program_error("load", name, source))
}

fn load_trace_point(object: &mut Ebpf, name: &'static str, trace_point: &str, btf: &Btf) -> Result<()> {
    let program = trace_point_program(object, name)?;
    program.load(trace_point, btf).map_err(|source| program_error("load", name, source))
}

fn attach_trace_point(object: &mut Ebpf, name: &'static str) -> Result<()> {
    let program = trace_point_program(object, name)?;
    program.attach().map(drop).map_err(|source| program_error("attach", name, source))
}

fn program_error(step: &'static str, program: &str, source: ProgramError) -> Error {
    Error::Program { step, program: program.to_owned(), source: Box::new(source) }
}

/// `tcp_ack()` itself where the kernel lets it be traced, which only trying tells; the other end is attached by turns.
fn load_ends(object: &mut Ebpf, btf: &Btf) -> Result<End> {
    if attach_fexit(object, btf).is_ok() {
        fentry(object).and_then(|program| program.load(FUNCTION, btf)).map_err(start_error("load"))?;
        return Ok(End::AckReturns);
    }
    load_trace_point(object, START_BY_INPUT, "tcp_probe", btf)?;
    load_trace_point(object, END_BY_FREE, "kmem_cache_free", btf)?;
    Ok(End::AckFreed)
}

fn attach_start(object: &mut Ebpf, end: End) -> Result<()> {
    match end {
        End::AckReturns => fentry(object).and_then(FEntry::attach).map(drop).map_err(start_error("attach")),
        End::AckFreed => attach_trace_point(object, START_BY_INPUT),
    }
}

fn start_error(step: &'static str) -> impl Fn(ProgramError) -> Error {
    move |source| program_error(step, START_BY_CALL, source)
}

fn fentry(object: &mut Ebpf) -> std::result::Result<&mut FEntry, ProgramError> {
    let program = object.program_mut(START_BY_CALL);
    program.ok_or(ProgramError::NotLoaded)?.try_into()
}

fn attach_fexit(object: &mut Ebpf, btf: &Btf) -> std::result::Result<(), ProgramError> {
    let Some(program) = object.program_mut(END_BY_RETURN) else { return Ok(()) };
    let program: &mut FExit = program.try_into()?;
    program.load(FUNCTION, btf)?;
    program.attach().map(drop)
}
