// SPDX-License-Identifier: GPL-2.0-only
//! A deterministic payload, never the same twice along a connection, and the checksum over it.

use sha2::{Digest as _, Sha256};

/// SHA-256 of what a connection carried.
pub type Digest = [u8; 32];

const CHUNK_BYTES: usize = 32 * 1024;

/// The bytes that one connection carries: pseudo-random, each chunk stamped with its position.
#[derive(Debug)]
pub struct Payload {
    chunk: Vec<u8>,
    sent_bytes: u64,
    hash: Sha256,
}

impl Payload {
    /// The payload of this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut state = seed ^ 0x9e37_79b9_7f4a_7c15;
        let mut chunk = Vec::with_capacity(CHUNK_BYTES);
        while chunk.len() < CHUNK_BYTES {
            state = splitmix64(state);
            chunk.extend_from_slice(&state.to_le_bytes());
        }
        Payload { chunk, sent_bytes: 0, hash: Sha256::new() }
    }

    /// The next chunk, cut to `most_bytes`.
    pub fn next(&mut self, most_bytes: u64) -> &[u8] {
        let length = usize::try_from(most_bytes).unwrap_or(CHUNK_BYTES).min(CHUNK_BYTES);
        self.chunk[..8].copy_from_slice(&self.sent_bytes.to_le_bytes());
        self.sent_bytes += length as u64;
        self.hash.update(&self.chunk[..length]);
        &self.chunk[..length]
    }

    /// Bytes given out and their SHA-256.
    #[must_use]
    pub fn end(self) -> (u64, Digest) {
        (self.sent_bytes, self.hash.finalize().into())
    }
}

fn splitmix64(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_bytes_and_no_chunk_twice() {
        let (mut a, mut b) = (Payload::new(7), Payload::new(7));
        let first = a.next(u64::MAX).to_vec();
        assert_eq!(first, b.next(u64::MAX));
        assert_ne!(first, a.next(u64::MAX));
        assert_ne!(first, Payload::new(8).next(u64::MAX));
    }

    #[test]
    fn the_last_chunk_is_cut() {
        let mut payload = Payload::new(1);
        assert_eq!(payload.next(100).len(), 100);
        assert_eq!(payload.end().0, 100);
    }
}
