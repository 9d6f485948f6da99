// SPDX-License-Identifier: GPL-2.0-only
//! Time series as tables, for files and pictures.

use std::collections::BTreeMap;

use ccctl_series::{unit_of, Column, Table, Values};

use super::outcome::{Flow, FlowSample, LinkSample, Outcome};

/// Names of `enum tcp_ca_state`.
const CA_STATES: [&str; 5] = ["open", "disorder", "cwr", "recovery", "loss"];

impl Outcome {
    /// The series of a flow.
    #[must_use]
    pub fn flow_table(&self, flow: &Flow, facts: BTreeMap<String, String>) -> Table {
        let mut table = self.table_of_times(facts);
        let mut number = |name: &str, unit: &str, value: &dyn Fn(&FlowSample) -> Option<i64>| {
            add(&mut table, name, unit, Values::Integer(flow.samples.iter().map(value).collect()));
        };
        number("cwnd_pkts", "packets", &|it| Some(i64::from(it.cwnd_pkts)));
        number("ssthresh_pkts", "packets", &|it| it.ssthresh_pkts.map(i64::from));
        number("srtt_us", "us", &|it| (it.srtt_us > 0).then_some(i64::from(it.srtt_us)));
        number("in_flight_pkts", "packets", &|it| Some(i64::from(it.in_flight_pkts)));
        number("received_bytes", "bytes", &|it| Some(it.received_bytes as i64));
        number("delivered_pkts", "packets", &|it| Some(it.delivered_pkts as i64));
        number("sent_pkts", "packets", &|it| Some(it.sent_pkts as i64));
        number("retransmitted_pkts", "packets", &|it| Some(it.retransmitted_pkts as i64));
        number("timeouts", "", &|it| Some(it.timeouts as i64));
        number("loss_epochs", "", &|it| Some(it.loss_epochs() as i64));
        let states = flow.samples.iter().map(|it| CA_STATES.get(usize::from(it.ca_state)).map(|&name| name.to_owned()));
        add(&mut table, "ca_state", "", Values::Text(states.collect()));
        for field in &flow.state {
            let values = field.values.iter().copied().map(Some).collect();
            add(&mut table, &format!("state.{}", field.name), &unit_of(&field.name), Values::Integer(values));
        }
        table
    }

    /// The series of a link.
    #[must_use]
    pub fn link_table(&self, link: usize, facts: BTreeMap<String, String>) -> Table {
        let mut table = self.table_of_times(facts);
        let samples: &[LinkSample] = self.links.get(link).map_or(&[], |link| &link.samples);
        let mut number = |name: &str, unit: &str, value: fn(&LinkSample) -> u64| {
            add(&mut table, name, unit, Values::Integer(samples.iter().map(|it| Some(value(it) as i64)).collect()));
        };
        number("queue_pkts", "packets", |it| it.queue_pkts);
        number("waited_pkt_us", "packets us", |it| it.waited_pkt_us);
        number("arrived_pkts", "packets", |it| it.arrived_pkts);
        number("dropped_pkts", "packets", |it| it.dropped_pkts);
        number("lost_pkts", "packets", |it| it.lost_pkts);
        number("marked_pkts", "packets", |it| it.marked_pkts);
        number("delivered_pkts", "packets", |it| it.delivered_pkts);
        number("delivered_bytes", "bytes", |it| it.delivered_bytes);
        table
    }

    fn table_of_times(&self, facts: BTreeMap<String, String>) -> Table {
        let mut table = Table::default();
        table.facts = facts;
        let times = self.times.iter().map(|time| Some(time.as_micros() as i64)).collect();
        add(&mut table, "time_us", "us", Values::Integer(times));
        table
    }
}

fn add(table: &mut Table, name: &str, unit: &str, values: Values) {
    let column = Column { name: name.to_owned(), unit: unit.to_owned(), values };
    table.add(column).expect("the columns of an outcome have the same length, and state fields have different names");
}
