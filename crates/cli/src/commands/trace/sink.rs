// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the rows of a trace go: a file, stdout, or the memory from which a picture is drawn.

use std::io::{self, BufWriter, Stdout, Write as _};
use std::time::Instant;

use ccctl_console::output::JsonWriter;
use ccctl_series::{Column, Table, Value, Values, Writer};
use serde_json::{Map, Value as Json};

use super::FLUSH_EVERY;
use crate::arguments::Trace as Arguments;
use crate::commands::plot::wrong_file;
use ccctl_core::operations::trace::{Row, Summary};

/// Takes rows.
pub struct Sink {
    kind: Kind,
    flushed: Instant,
}

enum Kind {
    File(Box<Writer>),
    Stdout(BufWriter<Stdout>, Vec<String>),
    Memory(Box<Table>, Vec<Row>),
}

impl Sink {
    /// The one that the command line asks for.
    pub fn open(arguments: &Arguments, header: &Table) -> anyhow::Result<Self> {
        let kind = match (&arguments.output, &arguments.plot) {
            (Some(file), _) => Kind::File(Box::new(Writer::create(file, header).map_err(wrong_file)?)),
            (None, Some(_)) => Kind::Memory(Box::new(header.clone()), Vec::new()),
            (None, None) => {
                let names = header.columns().iter().map(|column| column.name.clone());
                Kind::Stdout(BufWriter::new(io::stdout()), names.collect())
            }
        };
        Ok(Self { kind, flushed: Instant::now() })
    }

    /// Takes one.
    pub fn push(&mut self, row: Row) -> anyhow::Result<()> {
        match &mut self.kind {
            Kind::File(writer) => writer.push(&row).map_err(wrong_file)?,
            Kind::Memory(_, rows) => rows.push(row),
            Kind::Stdout(out, names) => {
                serde_json::to_writer(JsonWriter(&mut *out), &object(names, row))?;
                out.write_all(b"\n")?;
            }
        }
        Ok(())
    }

    /// Rows do not wait long for others, in case that nobody writes more.
    pub fn flush_in_time(&mut self) -> anyhow::Result<()> {
        if self.flushed.elapsed() >= FLUSH_EVERY {
            self.flushed = Instant::now();
            match &mut self.kind {
                Kind::File(writer) => writer.flush().map_err(wrong_file)?,
                Kind::Stdout(out, _) => out.flush()?,
                Kind::Memory(..) => {}
            }
        }
        Ok(())
    }

    /// Completes the file; gives the table that was kept in memory.
    pub fn finish(self, summary: &Summary) -> anyhow::Result<Option<Table>> {
        let facts = [("lost_events", summary.lost_events), ("skipped_intervals", summary.skipped_intervals)];
        match self.kind {
            Kind::File(mut writer) => {
                for (name, value) in facts {
                    writer.fact(name, &value.to_string());
                }
                writer.finish().map_err(wrong_file)?;
                Ok(None)
            }
            Kind::Stdout(mut out, _) => {
                out.flush()?;
                Ok(None)
            }
            Kind::Memory(mut header, rows) => {
                header.facts.extend(facts.map(|(name, value)| (name.to_owned(), value.to_string())));
                filled(&header, rows).map(Some)
            }
        }
    }
}

/// What a row has; nothing of what it has not.
fn object(names: &[String], row: Row) -> Map<String, Json> {
    let json = |value| match value {
        Value::Integer(value) => Json::from(value),
        Value::Float(value) => Json::from(value),
        Value::Text(value) => Json::from(value),
    };
    names.iter().zip(row).filter_map(|(name, value)| Some((name.clone(), json(value?)))).collect()
}

/// The table of these columns and rows.
fn filled(header: &Table, rows: Vec<Row>) -> anyhow::Result<Table> {
    let mut values: Vec<Values> = header.columns().iter().map(|column| column.values.clone()).collect();
    for row in rows {
        for (column, value) in values.iter_mut().zip(row) {
            match (column, value) {
                (Values::Integer(column), Some(Value::Integer(value))) => column.push(Some(value)),
                (Values::Float(column), Some(Value::Float(value))) => column.push(Some(value)),
                (Values::Text(column), Some(Value::Text(value))) => column.push(Some(value)),
                (Values::Integer(column), _) => column.push(None),
                (Values::Float(column), _) => column.push(None),
                (Values::Text(column), _) => column.push(None),
            }
        }
    }
    let mut table = Table::default();
    table.facts.clone_from(&header.facts);
    for (column, values) in header.columns().iter().zip(values) {
        table.add(Column { name: column.name.clone(), unit: column.unit.clone(), values })?;
    }
    Ok(table)
}
