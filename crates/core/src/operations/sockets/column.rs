// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can be told of a socket in one word, and its order.

use ccctl_loader::Transport;
use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::socket::Socket;

/// A column of the table, and a key to sort by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Column {
    /// State of the connection
    State,
    /// Local address and port
    Source,
    /// Remote address and port
    Destination,
    /// Kernel name of the algorithm; whether the program is an old one
    Algorithm,
    /// First process that has it open
    Process,
    /// Cgroup that it was created in
    Cgroup,
    /// Congestion window
    Cwnd,
    /// Slow-start threshold
    Ssthresh,
    /// Smoothed RTT
    Srtt,
    /// Smallest RTT
    MinRtt,
    /// Delivery rate
    Rate,
    /// Retransmissions: in flight / since the beginning
    Retransmits,
    /// Sent and not acknowledged
    InFlight,
    /// Written and not sent
    Unsent,
    /// State of loss recovery
    #[serde(alias = "recovery")]
    #[value(alias = "recovery")]
    CaState,
    /// What both sides agreed to on congestion marks
    EcnMode,
    /// Network namespace
    Netns,
    /// Cookie
    Cookie,
    /// What the algorithm keeps for the socket
    AlgorithmState,
}

/// What a column sorts by: text from a to z, numbers from the largest to the smallest.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Text(String),
    Number(std::cmp::Reverse<Option<u64>>),
}

impl Column {
    /// Sorts by this column; sockets that are equal in it keep the order in which the kernel shows them.
    pub fn sort(self, sockets: &mut [Socket]) {
        sockets.sort_by_cached_key(|socket| self.key(socket));
    }

    fn key(self, socket: &Socket) -> Key {
        let text = |text: &str| Key::Text(text.to_owned());
        let number = |get: fn(&Transport) -> Option<u64>| {
            Key::Number(std::cmp::Reverse(socket.transport.as_ref().and_then(get)))
        };
        match self {
            Self::State => text(&socket.state),
            Self::Source => text(&socket.source),
            Self::Destination => text(&socket.destination),
            Self::Algorithm => text(&socket.congestion_control),
            Self::Cgroup => text(socket.cgroup.as_deref().unwrap_or_default()),
            Self::Netns => text(&socket.namespace),
            Self::EcnMode => text(socket.transport.as_ref().map_or("", |transport| transport.ecn_mode.name())),
            Self::CaState => text(socket.transport.as_ref().map_or("", |transport| transport.ca_state.name())),
            Self::AlgorithmState => text(&super::state_text(socket)),
            Self::Process => Key::Number(std::cmp::Reverse(first_pid(socket))),
            Self::Cookie => Key::Number(std::cmp::Reverse(Some(socket.cookie))),
            Self::Cwnd => number(|transport| Some(transport.cwnd_pkts.into())),
            Self::Ssthresh => number(|transport| Some(transport.ssthresh_pkts.map_or(u64::MAX, u64::from))),
            Self::Srtt => number(|transport| transport.srtt_us),
            Self::MinRtt => number(|transport| transport.min_rtt_us),
            Self::Rate => number(|transport| transport.delivery_rate_bytes_per_s),
            Self::Retransmits => number(|transport| Some(transport.retransmits_pkts.into())),
            Self::InFlight => number(|transport| Some(transport.in_flight_bytes.into())),
            Self::Unsent => number(|transport| Some(transport.unsent_bytes.into())),
        }
    }
}

fn first_pid(socket: &Socket) -> Option<u64> {
    socket.owners.as_ref()?.first().map(|owner| owner.pid.into())
}
