// SPDX-License-Identifier: GPL-2.0-only
//! What flows carry: bytes that tell where in the stream they belong, so that the receiver sees what is missing, doubled or damaged.

use std::sync::LazyLock;

use ccctl_testbed::Payload;

/// The content begins again after so many bytes: a prime, so that no number of packets or buffers is a period.
const PERIOD_BYTES: usize = 65_521;
/// What is written or read at once at most.
pub(super) const CHUNK_BYTES: usize = 64 * 1024;

/// The same at both ends, and of all flows.
pub(super) static CONTENT: LazyLock<Content> = LazyLock::new(Content::new);

/// A stream of bytes.
pub(super) struct Content {
    bytes: Vec<u8>, // a chunk can begin anywhere in the period
}

impl Content {
    fn new() -> Self {
        let mut payload = Payload::new(0);
        let mut bytes = Vec::new();
        while bytes.len() < PERIOD_BYTES {
            bytes.extend_from_slice(payload.next((PERIOD_BYTES - bytes.len()) as u64));
        }
        bytes.extend_from_within(..CHUNK_BYTES.min(PERIOD_BYTES));
        bytes.extend_from_within(..CHUNK_BYTES.saturating_sub(PERIOD_BYTES));
        Self { bytes }
    }

    /// What comes at this position of the stream: a chunk, or `most_bytes`.
    pub(super) fn at(&self, position: u64, most_bytes: u64) -> &[u8] {
        let start = (position % PERIOD_BYTES as u64) as usize;
        let length = usize::try_from(most_bytes).unwrap_or(CHUNK_BYTES).min(CHUNK_BYTES);
        &self.bytes[start..start + length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(content: &Content, mut position: u64, chunk_bytes: u64) -> Vec<u8> {
        let mut all = Vec::new();
        while all.len() < 200_000 {
            all.extend_from_slice(content.at(position, chunk_bytes));
            position += chunk_bytes;
        }
        all.truncate(200_000);
        all
    }

    #[test]
    fn it_does_not_depend_on_how_it_is_cut() {
        let content = Content::new();
        let whole = read(&content, 7, CHUNK_BYTES as u64);
        assert_eq!(whole, read(&content, 7, 1448));
        assert_eq!(whole, read(&content, 7, 1));
        assert_eq!(content.at(u64::from(u32::MAX), u64::MAX).len(), CHUNK_BYTES);
    }

    #[test]
    fn a_packet_more_or_less_is_seen() {
        let content = Content::new();
        for missing in [1_u64, 960, 1448, 2896, 65_160, 65_536] {
            assert_ne!(content.at(100_000, 1448), content.at(100_000 + missing, 1448), "{missing}");
        }
    }
}
