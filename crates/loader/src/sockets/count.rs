// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many sockets use what.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use super::filter::SocketFilter;
use super::totals::{totals, AlgorithmTotals};
use crate::error::Result;

/// How many sockets use one algorithm.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// Established, listening, closing: all that have an algorithm.
    pub sockets: usize,
    /// By the `struct_ops` map of the program that they use; 0: built-in.
    #[serde(skip)]
    pub by_map: HashMap<u32, usize>,
}

impl Usage {
    /// Sockets whose program is not the one behind the name now.
    #[must_use]
    pub fn on_other_map(&self, map_id: u32) -> usize {
        self.by_map.iter().filter(|(id, _)| **id != map_id).map(|(_, count)| count).sum()
    }
}

/// Sockets of all namespaces that may be entered, by algorithm.
#[derive(Debug, Default)]
pub struct SocketCounts {
    by_algorithm: BTreeMap<String, Usage>,
    /// Namespaces that could not be counted, and why.
    pub unreadable: Vec<String>,
}

impl SocketCounts {
    /// Usage of one algorithm.
    #[must_use]
    pub fn of(&self, algorithm: &str) -> Usage {
        self.by_algorithm.get(algorithm).cloned().unwrap_or_default()
    }

    /// All algorithms in use.
    pub fn algorithms(&self) -> impl Iterator<Item = &str> {
        self.by_algorithm.keys().map(String::as_str)
    }

    fn add(&mut self, sums: &AlgorithmTotals) {
        let usage = self.by_algorithm.entry(sums.algorithm.clone()).or_default();
        usage.sockets += sums.sockets as usize;
        *usage.by_map.entry(sums.map_id).or_default() += sums.sockets as usize;
    }
}

/// Counts sockets by algorithm; only those of `algorithm` where it is not empty.
pub fn count(algorithm: &str) -> Result<SocketCounts> {
    let (sums, unreadable) = totals(&SocketFilter::of_kernel_name(algorithm))?;
    let mut counts = SocketCounts { unreadable, ..SocketCounts::default() };
    for sums in &sums {
        counts.add(sums);
    }
    Ok(counts)
}
