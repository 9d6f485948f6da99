// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sums over sockets, added up inside the kernel: nothing is copied for each socket.

use libbpf_rs::{MapCore, MapFlags};

use super::counter::{Counter, SUMS, TOTALS};
use super::filter::SocketFilter;
use super::iterator::SocketIterator;
use super::raw::{socket_totals, socket_totals_key};
use crate::error::{Error, Result};
use crate::netns::Namespace;
use crate::pod::first_of;
use ccctl_catalog::kernel::c_text;

/// Sums over the sockets of one program. Counters belong to sockets that live: a socket that closes takes its share away.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AlgorithmTotals {
    /// Kernel name.
    pub algorithm: String,
    /// `struct_ops` map of the program; 0: built-in.
    pub map_id: u32,
    /// All, listening ones included.
    pub sockets: u64,
    /// With data on the way that is not acknowledged.
    pub sending: u64,
    /// Recovering from a retransmission timeout (`TCP_CA_Loss`).
    pub in_loss: u64,
    /// Whose timeout has come at least twice in a row: nothing arrives.
    pub in_backoff: u64,
    /// Segments sent.
    pub segments_out: u64,
    /// Of these, retransmissions.
    pub retransmits_pkts: u64,
    /// Retransmission timeouts; 0 before Linux 6.7.
    pub timeouts: u64,
}

/// Sums by program, and the namespaces that could not be looked into, with the reason.
pub fn totals(filter: &SocketFilter) -> Result<(Vec<AlgorithmTotals>, Vec<String>)> {
    let of_name = filter.kernel_name.as_deref();
    let is_by_name = *filter == SocketFilter::of_kernel_name(of_name.unwrap_or_default());
    let Some(counter) = is_by_name.then(Counter::take).flatten() else {
        let iterator = SocketIterator::of(&TOTALS, filter, "")?;
        return add_up(filter, |namespace| iterator.each(namespace, |_| {}), &iterator.map(SUMS)?);
    };
    let (mut sums, unreadable) = add_up(filter, |namespace| counter.add(namespace), &counter.sums)?;
    sums.retain(|sums| of_name.is_none_or(|name| name == sums.algorithm));
    Ok((sums, unreadable))
}

fn add_up(
    filter: &SocketFilter,
    add: impl Fn(&Namespace) -> Result<()>,
    map: &impl MapCore,
) -> Result<(Vec<AlgorithmTotals>, Vec<String>)> {
    let mut scan = filter.scan()?;
    for namespace in &scan.found {
        match add(namespace) {
            Ok(()) => {}
            Err(Error::Gone { .. }) if filter.namespace.is_none() => {}
            Err(error) if filter.namespace.is_some() => return Err(error),
            Err(error) => scan.unreadable.push(error.to_string()),
        }
    }
    let mut found = Vec::new();
    for key in map.keys() {
        let value = map.lookup(&key, MapFlags::ANY).map_err(|error| Error::libbpf("read the sums", &error))?;
        let key = first_of::<socket_totals_key>(&key);
        let value = value.as_deref().and_then(first_of::<socket_totals>);
        found.extend(key.zip(value).map(|(key, value)| sums(&key, &value)));
    }
    found.sort_by(|a, b| (&a.algorithm, a.map_id).cmp(&(&b.algorithm, b.map_id)));
    Ok((found, scan.unreadable))
}

fn sums(key: &socket_totals_key, value: &socket_totals) -> AlgorithmTotals {
    AlgorithmTotals {
        algorithm: c_text(&key.algorithm),
        map_id: key.map_id,
        sockets: value.sockets,
        sending: value.sending,
        in_loss: value.in_loss,
        in_backoff: value.in_backoff,
        segments_out: value.segments_out,
        retransmits_pkts: value.retransmits_pkts,
        timeouts: value.timeouts,
    }
}
