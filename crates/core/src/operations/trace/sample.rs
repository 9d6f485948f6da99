// SPDX-License-Identifier: MIT OR Apache-2.0
//! One moment of one socket, from the sampler or from an event.

use std::time::Duration;

use ccctl_catalog::kernel::socket_stats;
use ccctl_loader::{SocketSample, SocketState};
use ccctl_telemetry::bindings::trace_record;
use ccctl_telemetry::TraceKind;

/// Why there is a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// It was time for one.
    Sample,
    /// Something happened.
    Of(TraceKind),
}

impl Event {
    /// In one word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sample => "sample",
            Self::Of(TraceKind::Ack) => "ack",
            Self::Of(TraceKind::Retransmit) => "retransmit",
            Self::Of(TraceKind::Recovery) => "recovery",
            Self::Of(TraceKind::Timeout) => "timeout",
            Self::Of(TraceKind::Closed) => "closed",
        }
    }
}

/// What a row is made of, as both sources have it.
#[derive(Debug, Clone)]
pub struct Sample {
    /// Why.
    pub event: Event,
    /// When, on `CLOCK_MONOTONIC`.
    pub time: Duration,
    /// Whose.
    pub cookie: u64,
    /// Kernel name of its algorithm at this moment.
    pub algorithm: String,
    /// `struct_ops` map of its program; 0: built-in.
    pub map_id: u32,
    /// What TCP and the algorithm know.
    pub stats: socket_stats,
}

impl Sample {
    /// A look at a socket; None where it is over.
    pub fn of_look(sample: &SocketSample) -> Option<Self> {
        let record = &sample.record;
        let is_open = !matches!(record.state(), SocketState::Listen | SocketState::Closed);
        is_open.then(|| Self {
            event: Event::Sample,
            time: sample.time,
            cookie: record.cookie(),
            algorithm: record.algorithm(),
            map_id: record.map_id(),
            stats: *record.stats(),
        })
    }

    /// An event; None of a kind that is not known.
    pub fn of_event(record: &trace_record) -> Option<Self> {
        Some(Self {
            event: Event::Of(TraceKind::of(record)?),
            time: Duration::from_nanos(record.time_ns),
            cookie: record.cookie,
            algorithm: record.algorithm_name(),
            map_id: record.map_id,
            stats: record.stats,
        })
    }
}
