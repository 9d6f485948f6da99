// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl top --once`: one sample, for scripts.

use ccctl_console::{output, Exit};
use schemars::JsonSchema;
use serde::Serialize;

use super::clock::{ClockChoice, RunningClock};
use super::model::{kind_text, InstanceColumn, InstanceRow, InstanceTable, Key as _};
use super::sample::{ClockState, Kind, Wish};
use super::screen::{bit_per_s_text, ms_text, pct_text};
use super::{source, worker};
use crate::arguments::Top;

/// What was seen.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Answer {
    /// Between the two looks.
    elapsed_s: f64,
    /// One row for each kernel name that is loaded or in use.
    usage: Vec<Row>,
    /// All of them together.
    total: Row,
    /// Network namespaces that could not be looked into.
    unreadable_count: usize,
    /// Why the ACK clock does not run, if it was asked for.
    acks_failed: Option<String>,
}

/// What sockets use.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Row {
    /// Kernel name, as in `net.ipv4.tcp_congestion_control`; none for the total.
    congestion_control: Option<String>,
    /// Algorithm, as `ccctl algorithms` lists it; none: built-in, of something else, or unloaded.
    algorithm: Option<String>,
    /// Id of the `struct_ops` map of its program.
    map_id: Option<u32>,
    socket_count: u64,
    /// Connections with data acknowledged between the two looks: the means are theirs, by packets acknowledged.
    sender_count: u64,
    sockets_on_old_program: u64,
    throughput_bit_per_s: Option<f64>,
    retransmits_pct: Option<f64>,
    mean_srtt_us: Option<f64>,
    mean_cwnd_pkts: Option<f64>,
    /// Connections with a window or slow-start threshold that no algorithm can mean: above 2^20 packets.
    impossible_windows: u64,
    mean_ack_time_ns: Option<u64>,
}

/// Two looks, the given time apart.
pub fn run(arguments: &Top, choice: &ClockChoice) -> anyhow::Result<Exit> {
    let mut source = source::open()?;
    source.look(&Wish::Instances, true)?;
    let mut clock = arguments.acks.then(|| RunningClock::start(choice));
    std::thread::sleep(arguments.every);
    let mut sample = source.look(&Wish::Instances, true)?;
    worker::add_ack_times(&mut sample, clock.as_mut());
    drop(clock);
    let instances = sample.instances.unwrap_or_default();
    let (elapsed, unreadable, state) = (instances.elapsed, instances.unreadable, instances.clock.clone());
    let mut table = InstanceTable::default();
    table.columns.sort_by(InstanceColumn::Name);
    table.take(instances);
    let answer = Answer {
        elapsed_s: elapsed.unwrap_or_default().as_secs_f64(),
        usage: table.rows.iter().map(row).collect(),
        total: Row { congestion_control: None, ..row(&table.total) },
        unreadable_count: unreadable,
        acks_failed: match state {
            ClockState::Failed(why) => Some(why),
            ClockState::On | ClockState::Off => None,
        },
    };
    if arguments.output.json {
        output::json(&answer)?;
    } else {
        print(&table, &answer)?;
    }
    Ok(if answer.acks_failed.is_some() { Exit::Partial } else { Exit::Done })
}

/// In the names and units of `--json`.
pub fn row(row: &InstanceRow) -> Row {
    let sample = &row.sample;
    Row {
        congestion_control: Some(sample.name.clone()),
        algorithm: match &sample.kind {
            Kind::Instance(algorithm) => Some(algorithm.clone()),
            Kind::Other | Kind::BuiltIn | Kind::Unloaded => None,
        },
        map_id: sample.program,
        socket_count: sample.sockets,
        sender_count: sample.senders.count,
        sockets_on_old_program: sample.on_old_program,
        throughput_bit_per_s: row.bit_per_s,
        retransmits_pct: row.retransmits_pct,
        mean_srtt_us: row.rtt_us,
        mean_cwnd_pkts: row.cwnd_pkts,
        impossible_windows: sample.impossible,
        mean_ack_time_ns: sample.ack_time.map(|time| time.as_nanos() as u64),
    }
}

fn print(table: &InstanceTable, answer: &Answer) -> anyhow::Result<()> {
    use InstanceColumn as C;
    let columns =
        [C::Name, C::Algorithm, C::Sockets, C::Senders, C::Throughput, C::Retransmits, C::Rtt, C::Cwnd, C::AckTime];
    let header = columns.map(|column| column.heading().full);
    let cells = |row: &InstanceRow, kind: &str| {
        let mark = if row.sample.impossible > 0 { "!" } else { "" };
        let ack_us = row.sample.ack_time.map(|time| format!("{:.1}", time.as_nanos() as f64 / 1000.0));
        vec![
            row.sample.name.clone(),
            kind.to_owned(),
            row.sample.sockets.to_string(),
            row.sample.senders.count.to_string(),
            bit_per_s_text(row.bit_per_s),
            pct_text(row.retransmits_pct),
            ms_text(row.rtt_us),
            row.cwnd_pkts.map_or("-".to_owned(), |pkts| format!("{pkts:.1}")) + mark,
            ack_us.unwrap_or("-".to_owned()),
        ]
    };
    let rows = table.rows.iter().map(|row| cells(row, kind_text(&row.sample.kind)));
    output::table(&header, rows.chain([cells(&table.total, "")]).collect())?;
    if answer.total.impossible_windows > 0 {
        let connections = output::count(answer.total.impossible_windows as usize, "connection");
        output::line(&format!("! {connections} with a window or threshold above 2^20 packets: ccctl doctor"))?;
    }
    if let Some(why) = &answer.acks_failed {
        output::line(&format!("ACK clock: {why}"))?;
    }
    Ok(())
}
