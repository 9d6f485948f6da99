// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a look at the kernel brings: plain data, from whichever source.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ccctl_core::operations;

/// What the screen wants to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    /// Sums by algorithm only.
    Instances,
    /// And the sockets of one.
    Sockets(String),
    /// And all of one socket.
    Socket(u64),
}

/// One look.
#[derive(Debug, Default)]
pub struct Sample {
    /// Sums by algorithm; None from a look that only a new wish has brought about.
    pub instances: Option<Instances>,
    /// Sockets of the algorithm that was asked for.
    pub sockets: Option<SocketList>,
    /// The socket that was asked for.
    pub socket: Option<OneSocket>,
}

/// Sums by algorithm.
#[derive(Debug, Clone, Default)]
pub struct Instances {
    /// Since the look before; None: this is the first one, and counters tell nothing.
    pub elapsed: Option<Duration>,
    /// One for each algorithm that is loaded or in use.
    pub rows: Vec<InstanceSample>,
    /// All names that sockets can be moved to.
    pub targets: Vec<String>,
    /// Network namespaces that could not be looked into.
    pub unreadable: usize,
    /// Whether ACKs are timed.
    pub clock: ClockState,
}

/// The ACK clock, as the screen tells it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ClockState {
    /// Nobody has asked for it.
    #[default]
    Off,
    /// It runs.
    On,
    /// It does not, and why.
    Failed(String),
}

/// One algorithm. Counters are since the look before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InstanceSample {
    /// Kernel name.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// Id of the `struct_ops` map of its program; none: built-in.
    pub program: Option<u32>,
    /// All, listening ones included.
    pub sockets: u64,
    /// Of these, on a program from before a swap or an unload.
    pub on_old_program: u64,
    /// What they did.
    pub counters: Counters,
    /// Those that send, and their windows and RTTs.
    pub senders: Senders,
    /// Connections with a window or threshold that no algorithm can mean.
    pub impossible: u64,
    /// Mean time of an ACK from its arrival to the end of its processing.
    pub ack_time: Option<Duration>,
}

/// What an algorithm is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Kind {
    /// Of this algorithm, loaded by ccctl.
    Instance(String),
    /// Loaded by something else.
    Other,
    /// The kernel's own.
    BuiltIn,
    /// Its name is gone; sockets keep it.
    #[default]
    Unloaded,
}

/// Counters of connections, or what they grew by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Bytes acknowledged.
    pub acked_bytes: u64,
    /// Segments with data sent.
    pub data_segments: u64,
    /// Of these, retransmissions.
    pub retransmits_pkts: u64,
}

/// Connections with data of theirs acknowledged since the look before. Who is idle or only receives is none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Senders {
    /// How many.
    pub count: u64,
    /// Packets acknowledged of them.
    pub acked_pkts: u64,
    /// Their windows, each times its packets acknowledged.
    pub acked_cwnd: u64,
    /// Their smoothed RTTs, likewise.
    pub acked_srtt_us: u64,
}

/// Sockets of one algorithm.
#[derive(Debug, Default)]
pub struct SocketList {
    /// Kernel name.
    pub instance: String,
    /// When it was read.
    pub at: Option<Instant>,
    /// In no order.
    pub rows: Vec<SocketRow>,
}

/// A socket, as short as a list of 10,000 wants it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SocketRow {
    /// `SO_COOKIE`
    pub cookie: u64,
    /// Network namespace.
    pub namespace: Arc<str>,
    /// State of the connection.
    pub state: Arc<str>,
    /// Local address and port.
    pub source: String,
    /// Remote address and port.
    pub destination: String,
    /// First process that has it open, and how many more.
    pub process: Option<Arc<str>>,
    /// Cgroup.
    pub cgroup: Option<Arc<str>>,
    /// Congestion window; None of a listening socket, as what follows.
    pub cwnd_pkts: Option<u32>,
    /// Slow-start threshold.
    pub ssthresh_pkts: Option<u32>,
    /// Smoothed RTT.
    pub srtt_us: Option<u64>,
    /// Bytes acknowledged since the connection began.
    pub acked_bytes: u64,
    /// Retransmissions since the connection began.
    pub retransmits_pkts: u32,
    /// Sent and not acknowledged.
    pub in_flight_pkts: u32,
}

/// All of one socket.
#[derive(Debug)]
pub struct OneSocket {
    /// Which.
    pub cookie: u64,
    /// When it was read.
    pub at: Instant,
    /// None: it is closed.
    pub socket: Option<operations::Socket>,
}
