// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel answers when a socket is moved.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A socket that could not be moved.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// Addresses.
    pub socket: String,
    /// Why.
    pub reason: String,
}

/// Before Linux 6.17 the kernel's iterator may skip sockets while others of their hash bucket come and go, and everywhere
/// sockets come behind it. So it passes again, until it finds nothing to move; but not for ever.
pub(crate) const MOST_PASSES: usize = 10;

/// The answer of `bpf_setsockopt` in words.
pub(crate) fn reason(error: i32) -> String {
    match nix::errno::Errno::from_raw(-error) {
        nix::errno::Errno::ENOENT => "the algorithm no longer exists".to_owned(),
        nix::errno::Errno::EPERM => {
            "its namespace may not use this algorithm (tcp_allowed_congestion_control)".to_owned()
        }
        nix::errno::Errno::EBUSY => "the socket is changing its algorithm at the moment".to_owned(),
        _ if error == -524 => "BPF programs cannot select cdg".to_owned(), // ENOTSUPP, not in errno.h
        errno => errno.desc().to_owned(),
    }
}
