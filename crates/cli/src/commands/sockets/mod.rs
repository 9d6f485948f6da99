// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl sockets`

mod cell;
mod table;

use std::io::{self, BufWriter, Write as _};

use crate::arguments::Sockets;
use ccctl_core::operations::{self, Column, Socket};

use crate::client;
use ccctl_console::{output, Exit};
use table::StreamedTable;

const USUAL: [Column; 11] = [
    Column::State,
    Column::Source,
    Column::Destination,
    Column::Algorithm,
    Column::Cgroup,
    Column::Cwnd,
    Column::Ssthresh,
    Column::Srtt,
    Column::MinRtt,
    Column::Rate,
    Column::Retransmits,
];

pub fn run(arguments: &Sockets) -> anyhow::Result<Exit> {
    let columns = columns(arguments);
    let shows =
        |column| arguments.view.output.json || columns.contains(&column) || arguments.request.sort == Some(column);
    let request = operations::Sockets {
        filter: arguments.request.filter.with_process(),
        without_owners: !shows(Column::Process),
        without_algorithm_state: !shows(Column::AlgorithmState),
        ..arguments.request.clone()
    };
    let streams = request.sort.is_none() && nix::unistd::geteuid().is_root();
    match (arguments.view.output.json, streams) {
        (true, true) => stream_json(&request)?,
        (true, false) => output::json(&client::ask(&request)?)?,
        (false, true) => stream_table(&request, columns)?,
        (false, false) => {
            let answer = client::ask(&request)?;
            let mut table = StreamedTable::new(BufWriter::new(io::stdout()), columns, output::terminal_columns());
            answer.sockets.iter().try_for_each(|socket| table.add(socket))?;
            table.end()?;
            print_unreadable(&answer.unreadable)?;
        }
    }
    Ok(Exit::Done)
}

fn columns(arguments: &Sockets) -> Vec<Column> {
    if arguments.wide {
        return clap::ValueEnum::value_variants().to_vec();
    }
    if arguments.columns.is_empty() {
        return USUAL.to_vec();
    }
    arguments.columns.clone()
}

/// Prints each socket as it comes: nothing is kept, however many there are.
fn stream_table(request: &operations::Sockets, columns: Vec<Column>) -> anyhow::Result<()> {
    let mut table =
        StreamedTable::new(BufWriter::with_capacity(1 << 16, io::stdout()), columns, output::terminal_columns());
    let unreadable = request.each(|socket| table.add(&socket))?;
    table.end()?;
    print_unreadable(&unreadable)
}

fn print_unreadable(unreadable: &[String]) -> anyhow::Result<()> {
    unreadable.iter().try_for_each(|reason| output::line(&format!("not examined: {reason}")))
}

/// The same JSON as that of the whole answer, written as it comes.
fn stream_json(request: &operations::Sockets) -> anyhow::Result<()> {
    let mut out = output::JsonWriter(BufWriter::with_capacity(1 << 16, io::stdout()));
    let mut is_begun = false;
    let unreadable = request.each(|socket| {
        if is_begun {
            out.write_all(b",\n")?;
        } else {
            write!(out, "{{\n  \"json_version\": {},\n  \"sockets\": [\n", output::JSON_VERSION)?;
        }
        is_begun = true;
        write_entry(&mut out, &socket)
    })?;
    if is_begun {
        out.write_all(b"\n  ],\n")?;
    } else {
        write!(out, "{{\n  \"json_version\": {},\n  \"sockets\": [],\n", output::JSON_VERSION)?;
    }
    writeln!(out, "  \"unreadable\": {}\n}}", serde_json::to_string(&unreadable)?)?;
    out.flush()?;
    Ok(())
}

fn write_entry(out: &mut impl io::Write, socket: &Socket) -> anyhow::Result<()> {
    out.write_all(b"    ")?;
    serde_json::to_writer(out, socket)?;
    Ok(())
}
