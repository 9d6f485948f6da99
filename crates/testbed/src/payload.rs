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
        let blocks =
            (0_u64..).map(|number| Sha256::new().chain_update(seed.to_le_bytes()).chain_update(number.to_le_bytes()));
        let chunk = blocks.flat_map(Sha256::finalize).take(CHUNK_BYTES).collect();
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
