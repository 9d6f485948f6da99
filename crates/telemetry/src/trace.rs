// SPDX-License-Identifier: MIT OR Apache-2.0
//! What happens to chosen sockets: the programs of `xdp/trace.bpf.c`.

use std::time::Duration;

use aya::maps::{Array, HashMap, Map, MapData, PerCpuArray, RingBuf};
use aya::programs::BtfTracePoint;
use aya::{Btf, Ebpf, EbpfLoader};

use crate::bindings::{
    trace_record, trace_settings, TRACE_ACK, TRACE_CLOSED, TRACE_HINTS, TRACE_HINT_BITS, TRACE_RECOVERY,
    TRACE_RETRANSMIT, TRACE_TIMEOUT,
};
use crate::cost::{self, ProgramCost};
use crate::error::{Error, Result};
use crate::privileges;

static TRACE_OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/trace.bpf.o"));

const ACKS: (&str, &str) = ("ack_arrives", "tcp_probe");
const EVENTS: [(&str, &str); 3] = [
    ("retransmitted", "tcp_retransmit_skb"),
    ("recovery_set", "tcp_cong_state_set"),
    ("connection_changes", "inet_sock_set_state"),
];
const LOST: &str = "trace_lost";
const OPENED: &str = "opened";
const CHOSEN: &str = "chosen";
const HINTS: &str = "hints";
const RING: &str = "events";
/// Room for some 25,000 records.
const RING_BYTES: u32 = 8 << 20;

/// What to be told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceSettings {
    /// Every ACK; otherwise only retransmissions, recovery and the end.
    pub each_ack: bool,
    /// Only connections with this port at either end count in [`Trace::opened`].
    pub port: Option<u16>,
    /// Size of the ring: a power of two, and whole pages.
    pub ring_bytes: u32,
}

impl Default for TraceSettings {
    fn default() -> Self {
        Self { each_ack: false, port: None, ring_bytes: RING_BYTES }
    }
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceKind {
    /// A segment with an ACK arrived; the values are those that it meets.
    Ack,
    /// A segment was sent again.
    Retransmit,
    /// Loss recovery changes its state.
    Recovery,
    /// The retransmission timer has fired.
    Timeout,
    /// The connection is over.
    Closed,
}

impl TraceKind {
    /// Of a record.
    #[must_use]
    pub fn of(record: &trace_record) -> Option<Self> {
        match record.kind {
            TRACE_ACK => Some(Self::Ack),
            TRACE_RETRANSMIT => Some(Self::Retransmit),
            TRACE_RECOVERY => Some(Self::Recovery),
            TRACE_TIMEOUT => Some(Self::Timeout),
            TRACE_CLOSED => Some(Self::Closed),
            _ => None,
        }
    }
}

/// A running trace. Dropped, it is gone from the kernel.
pub struct Trace {
    object: Ebpf,
    ring: RingBuf<MapData>,
    chosen: HashMap<MapData, u64, u8>,
    hints: Array<MapData, u64>,
}

impl Trace {
    /// Attaches the trace points; no socket is chosen yet.
    pub fn start(settings: &TraceSettings) -> Result<Self> {
        privileges::require("a trace")?;
        let btf = Btf::from_sys_fs().map_err(|_| Error::Kernel("BTF"))?;
        let global = trace_settings { port: settings.port.unwrap_or_default().into() };
        let mut object = EbpfLoader::new()
            .btf(Some(&btf))
            .override_global("settings", &global, true)
            .map_max_entries(RING, settings.ring_bytes)
            .load(TRACE_OBJECT)
            .map_err(|source| Error::Object { object: "trace", source })?;
        let ring = RingBuf::try_from(take(&mut object, RING)?).map_err(Error::map(RING))?;
        let chosen = HashMap::try_from(take(&mut object, CHOSEN)?).map_err(Error::map(CHOSEN))?;
        let hints = Array::try_from(take(&mut object, HINTS)?).map_err(Error::map(HINTS))?;
        for (name, trace_point) in EVENTS.iter().chain(settings.each_ack.then_some(&ACKS)) {
            attach(&mut object, name, trace_point, &btf)?;
        }
        Ok(Self { object, ring, chosen, hints })
    }

    /// Tells of this socket from now on.
    pub fn choose(&mut self, cookie: u64) -> Result<()> {
        self.chosen.insert(cookie, 1, 0).map_err(Error::map(CHOSEN))?;
        let word = (cookie / u64::from(TRACE_HINT_BITS) % u64::from(TRACE_HINTS)) as u32;
        let bits = self.hints.get(&word, 0).map_err(Error::map(HINTS))?;
        let bit = 1 << (cookie % u64::from(TRACE_HINT_BITS));
        self.hints.set(word, bits | bit, 0).map_err(Error::map(HINTS))
    }

    /// Tells what happened since the last call, and ends when the ring is empty. The ring is to be emptied often: what
    /// finds no room is lost, and counted.
    pub fn each<E>(
        &mut self,
        mut tell: impl FnMut(&trace_record) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        while let Some(item) = self.ring.next() {
            if let Some(record) = trace_record::of_bytes(&item) {
                tell(&record)?;
            }
        }
        Ok(())
    }

    /// Events that found no room in the ring.
    pub fn lost(&self) -> Result<u64> {
        self.counter(LOST)
    }

    /// Connections of the whole host that became established since the start.
    pub fn opened(&self) -> Result<u64> {
        self.counter(OPENED)
    }

    /// What the trace's own programs cost, while `kernel.bpf_stats_enabled` is on.
    #[must_use]
    pub fn programs(&self) -> Vec<ProgramCost> {
        cost::of(&self.object)
    }

    fn counter(&self, name: &'static str) -> Result<u64> {
        let map = self.object.map(name).ok_or(Error::Kernel("counter in our own object"))?;
        let map: PerCpuArray<_, u64> = map.try_into().map_err(Error::map(name))?;
        sum(&map, name)
    }
}

fn sum<T: std::borrow::Borrow<MapData>>(map: &PerCpuArray<T, u64>, name: &'static str) -> Result<u64> {
    Ok(map.get(&0, 0).map_err(Error::map(name))?.iter().sum())
}

fn take(object: &mut Ebpf, name: &'static str) -> Result<Map> {
    object.take_map(name).ok_or(Error::Kernel("map in our own object"))
}

fn attach(object: &mut Ebpf, name: &'static str, trace_point: &str, btf: &Btf) -> Result<()> {
    let failed = |step| move |source| Error::Program { step, program: name.to_owned(), source: Box::new(source) };
    let program = object.program_mut(name).ok_or(Error::Kernel("program in our own object"))?;
    let program: &mut BtfTracePoint = program.try_into().map_err(failed("load"))?;
    program.load(trace_point, btf).map_err(failed("load"))?;
    program.attach().map(drop).map_err(failed("attach"))
}

/// Now, on the clock of records (`CLOCK_MONOTONIC`).
pub fn monotonic_now() -> Result<Duration> {
    use nix::time::{clock_gettime, ClockId};
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).map_err(|errno| Error::io("read the clock")(errno.into()))?;
    Ok(now.into())
}
