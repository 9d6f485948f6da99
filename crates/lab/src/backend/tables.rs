// SPDX-License-Identifier: GPL-2.0-only
//! Time series as tables, for files and pictures.

use std::collections::BTreeMap;

use ccctl_loader::CaState;
use ccctl_series::columns::{self, Definition};
use ccctl_series::{Column, Table, Values};

use super::outcome::{Flow, FlowSample, LinkSample, Outcome};

/// What a sample of a flow has of a column.
type OfFlow = fn(&FlowSample) -> Option<i64>;
/// Likewise of a link.
type OfLink = fn(&LinkSample) -> u64;

const OF_FLOW: [(Definition, OfFlow); 13] = [
    (columns::CWND_PKTS, |it| Some(it.cwnd_pkts.into())),
    (columns::SSTHRESH_PKTS, |it| it.ssthresh_pkts.map(i64::from)),
    (columns::SRTT_US, |it| (it.srtt_us > 0).then_some(it.srtt_us.into())),
    (columns::IN_FLIGHT_PKTS, |it| Some(it.in_flight_pkts.into())),
    (columns::PIPE_PKTS, |it| Some(it.pipe_pkts.into())),
    (columns::ACKED_BYTES, |it| Some(it.acked_bytes as i64)),
    (columns::RECEIVED_BYTES, |it| Some(it.received_bytes as i64)),
    (columns::DELIVERED_PKTS, |it| Some(it.delivered_pkts as i64)),
    (columns::DELIVERED_CE_PKTS, |it| Some(it.delivered_ce_pkts as i64)),
    (columns::DATA_SEGMENTS_SENT_PKTS, |it| Some(it.data_segments_sent_pkts as i64)),
    (columns::RETRANSMITS_PKTS, |it| Some(it.retransmits_pkts as i64)),
    (columns::TIMEOUTS, |it| Some(it.timeouts as i64)),
    (columns::LOSS_EPOCHS, |it| Some(it.loss_epochs() as i64)),
];

const OF_LINK: [(Definition, OfLink); 8] = [
    (columns::QUEUE_PKTS, |it| it.queue_pkts),
    (columns::WAITED_PKT_US, |it| it.waited_pkt_us),
    (columns::ARRIVED_PKTS, |it| it.arrived_pkts),
    (columns::DROPPED_PKTS, |it| it.dropped_pkts),
    (columns::LINK_LOST_PKTS, |it| it.lost_pkts),
    (columns::MARKED_PKTS, |it| it.marked_pkts),
    (columns::LINK_DELIVERED_PKTS, |it| it.delivered_pkts),
    (columns::DELIVERED_BYTES, |it| it.delivered_bytes),
];

impl Outcome {
    /// The series of a flow.
    #[must_use]
    pub fn flow_table(&self, flow: &Flow, facts: BTreeMap<String, String>) -> Table {
        let mut table = self.table_of_times(facts);
        for (definition, value) in OF_FLOW {
            add(&mut table, definition.with(Values::Integer(flow.samples.iter().map(value).collect())));
        }
        let states = flow.samples.iter().map(|it| Some(CaState::of_kernel(it.ca_state).name().to_owned()));
        add(&mut table, columns::CA_STATE.with(Values::Text(states.collect())));
        for field in &flow.state {
            add(&mut table, columns::of_state(&field.name, Values::Integer(field.values.clone())));
        }
        table
    }

    /// The series of a link.
    #[must_use]
    pub fn link_table(&self, link: usize, facts: BTreeMap<String, String>) -> Table {
        let mut table = self.table_of_times(facts);
        let samples: &[LinkSample] = self.links.get(link).map_or(&[], |link| &link.samples);
        for (definition, value) in OF_LINK {
            let values = samples.iter().map(|it| Some(value(it) as i64)).collect();
            add(&mut table, definition.with(Values::Integer(values)));
        }
        table
    }

    fn table_of_times(&self, facts: BTreeMap<String, String>) -> Table {
        let mut table = Table::default();
        table.facts = facts;
        // Whole microseconds, so that a time is the same number on each backend.
        let times = self.times.iter().map(|time| Some(time.as_micros() as f64 / 1e6)).collect();
        add(&mut table, columns::TIME_S.with(Values::Float(times)));
        table
    }
}

fn add(table: &mut Table, column: Column) {
    table.add(column).expect("the columns of an outcome have the same length, and state fields have different names");
}
