// SPDX-License-Identifier: MIT OR Apache-2.0
//! A client whose processor has no room for the ACKs that come.

use std::time::Duration;

use ccctl_testbed::{steer_to_first_cpu, Amount, Flows, Network, Offload, Receiver, Sending, ShortBacklog, SERVER_V4};

/// A network with an ACK for each second packet, all of which the client's first processor takes.
pub fn network() -> Network {
    let network = Network::new().unwrap();
    for offload in [Offload::Tso, Offload::Gso, Offload::Gro] {
        network.set_offload(offload, false).unwrap();
    }
    steer_to_first_cpu(&network.client).unwrap();
    network
}

/// Carries so many bytes in each of two flows while backlogs are short.
pub fn carry(network: &Network, receiver: &Receiver, bytes: u64) {
    let _short = ShortBacklog::set().unwrap();
    let sending = Sending {
        to: receiver.at(SERVER_V4),
        algorithm: Some("cubic".to_owned()),
        amount: Amount::Bytes(bytes),
        pause: Duration::ZERO,
    };
    Flows::start(&network.client, &sending, 2).unwrap().wait().unwrap();
}
