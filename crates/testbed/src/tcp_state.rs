// SPDX-License-Identifier: GPL-2.0-only
//! What the kernel keeps for each connection, its algorithm's private state included: a BPF iterator of the testbed's own.

use std::io::Read as _;

use libbpf_rs::{Iter, Link, Object, ObjectBuilder};

use super::{Namespace, TestbedError};

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/tcp_state.bpf.o"));
/// `u64 icsk_ca_priv[13]`
const PRIVATE_WORDS: usize = 13;
const PRIVATE_DIGITS: usize = 16;

/// One established connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TcpState {
    /// Local port.
    pub port: u16,
    /// Window, packets.
    pub cwnd_pkts: u32,
    /// Window when the last reduction began, packets.
    pub prior_cwnd_pkts: u32,
    /// Slow start threshold, packets: what the last reduction went down to.
    pub ssthresh_pkts: u32,
    /// Packets delivered since the connection began.
    pub delivered_pkts: u32,
    /// Of those, with a congestion mark.
    pub delivered_ce_pkts: u32,
    /// Packets sent again since the connection began.
    pub retransmitted_pkts: u32,
    /// Private state of the algorithm, as in the kernel's memory.
    pub private: Vec<u8>,
}

/// The iterator, loaded.
pub struct TcpStates {
    link: Link,
    _object: Object,
}

impl TcpStates {
    /// Loads it.
    pub fn load() -> Result<Self, TestbedError> {
        Self::try_load().map_err(TestbedError::bpf("load the iterator over connections"))
    }

    fn try_load() -> libbpf_rs::Result<Self> {
        let object = ObjectBuilder::default().open_memory(OBJECT)?.load()?;
        let program = object.progs_mut().next();
        let program = program.ok_or_else(|| libbpf_rs::Error::from(std::io::Error::other("no program")))?;
        let link = program.attach()?;
        Ok(TcpStates { link, _object: object })
    }

    /// All established connections of a namespace.
    pub fn read(&self, namespace: &Namespace) -> Result<Vec<TcpState>, TestbedError> {
        let text = namespace.enter(|| {
            let mut text = String::new();
            let mut iterator =
                Iter::new(&self.link).map_err(TestbedError::bpf("open the iterator over connections"))?;
            iterator.read_to_string(&mut text).map_err(TestbedError::io("read the iterator over connections"))?;
            Ok(text)
        })??;
        let parsed = text.lines().map(|line| parse(line).ok_or_else(|| TestbedError::Unexpected(line.to_owned())));
        parsed.collect()
    }
}

fn parse(line: &str) -> Option<TcpState> {
    let mut words = line.split_whitespace();
    let mut number = || words.next()?.parse::<u32>().ok();
    let state = TcpState {
        port: number()?.try_into().ok()?,
        cwnd_pkts: number()?,
        prior_cwnd_pkts: number()?,
        ssthresh_pkts: number()?,
        delivered_pkts: number()?,
        delivered_ce_pkts: number()?,
        retransmitted_pkts: number()?,
        private: Vec::new(),
    };
    let digits = words.next()?;
    let word = |index: usize| {
        let digits = digits.get(index * PRIVATE_DIGITS..(index + 1) * PRIVATE_DIGITS)?;
        u64::from_str_radix(digits, 16).ok()
    };
    let words: Option<Vec<u64>> = (0..PRIVATE_WORDS).map(word).collect();
    Some(TcpState { private: words?.into_iter().flat_map(u64::to_ne_bytes).collect(), ..state })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_line_gives_numbers_and_bytes() {
        let line = format!("4711 10 20 15 300 18 0 {:016x}{}", 0x0807_0605_0403_0201_u64, "0".repeat(16 * 12));
        let state = parse(&line).unwrap();
        assert_eq!((state.port, state.cwnd_pkts, state.delivered_ce_pkts), (4711, 10, 18));
        assert_eq!(state.private.len(), 104);
        assert_eq!(state.private[..8], 0x0807_0605_0403_0201_u64.to_ne_bytes());
        assert_eq!(parse("4711 10 20 15 300 18 0 00"), None);
    }
}
