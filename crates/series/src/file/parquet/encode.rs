// SPDX-License-Identifier: MIT OR Apache-2.0
//! A table to Parquet, group by group.

use super::super::column::{append, Kind};
use super::thrift::Fields;
use super::{codec, encoding, levels, page, physical, repetition, CONVERTED_UTF8, MAGIC, UNIT_PREFIX};
use crate::table::{Table, Value, Values};

/// Rows of a group: a megabyte of each column of numbers.
const GROUP_ROWS: usize = 1 << 17;

/// A file being written.
#[derive(Debug)]
pub struct Encoder {
    names: Vec<String>,
    columns: Vec<Values>,
    groups: Vec<Group>,
    /// Bytes written before the group that is being gathered.
    offset: usize,
}

/// A group of rows that is written.
#[derive(Debug)]
struct Group {
    rows: usize,
    chunks: Vec<Chunk>,
}

/// A column of a group.
#[derive(Debug)]
struct Chunk {
    kind: Kind,
    offset: usize,
    values: usize,
    plain_bytes: usize,
    stored_bytes: usize,
}

impl Encoder {
    /// Begins the file.
    pub fn new(header: &Table, out: &mut Vec<u8>) -> Self {
        out.extend_from_slice(MAGIC);
        let columns = header.columns();
        Self {
            names: columns.iter().map(|column| column.name.clone()).collect(),
            columns: columns.iter().map(|column| Kind::of(&column.values).empty()).collect(),
            groups: Vec::new(),
            offset: MAGIC.len(),
        }
    }

    /// Adds a row that fits the columns.
    pub fn push(&mut self, row: &[Option<Value>], out: &mut Vec<u8>) {
        for (column, value) in self.columns.iter_mut().zip(row) {
            append(column, value.clone());
        }
        if self.columns.first().is_some_and(|column| column.len() >= GROUP_ROWS) {
            self.write_group(out);
        }
    }

    /// Writes what is left and the table of contents.
    pub fn finish(&mut self, header: &Table, out: &mut Vec<u8>) {
        if self.columns.first().is_some_and(|column| !column.is_empty()) {
            self.write_group(out);
        }
        let contents = self.contents(header).finish();
        out.extend_from_slice(&contents);
        out.extend_from_slice(&(contents.len() as u32).to_le_bytes());
        out.extend_from_slice(MAGIC);
    }

    fn write_group(&mut self, out: &mut Vec<u8>) {
        let rows = self.columns.first().map_or(0, Values::len);
        let mut chunks = Vec::new();
        for values in &mut self.columns {
            let kind = Kind::of(values);
            let values = std::mem::replace(values, kind.empty());
            let chunk = write_page(&values, self.offset, out);
            self.offset += chunk.stored_bytes;
            chunks.push(chunk);
        }
        self.groups.push(Group { rows, chunks });
    }

    /// `FileMetaData`.
    fn contents(&self, header: &Table) -> Fields {
        let root = Fields::default().text(4, "schema").i32(5, header.columns().len() as i64);
        let columns = header.columns().iter().map(|column| schema(&column.name, Kind::of(&column.values)));
        let elements: Vec<_> = std::iter::once(root).chain(columns).collect();
        let rows = self.groups.iter().map(|group| group.rows as i64).sum();
        let groups = self.groups.iter().map(|group| row_group(group, &self.names));
        let units =
            header.columns().iter().map(|column| (format!("{UNIT_PREFIX}{}", column.name), column.unit.clone()));
        let facts = header.facts.iter().map(|(name, value)| (name.clone(), value.clone()));
        let entries: Vec<_> =
            units.chain(facts).map(|(name, value)| Fields::default().text(1, &name).text(2, &value)).collect();
        Fields::default()
            .i32(1, 1)
            .structs(2, elements.into_iter())
            .i64(3, rows)
            .structs(4, groups)
            .structs(5, entries.into_iter())
            .text(6, concat!("ccctl version ", env!("CARGO_PKG_VERSION")))
    }
}

/// `SchemaElement`.
fn schema(name: &str, kind: Kind) -> Fields {
    let element = Fields::default().i32(1, physical_type(kind)).i32(3, repetition::OPTIONAL).text(4, name);
    match kind {
        // Readers of both generations are told that the bytes are text: field 1 of the union in field 10 is STRING.
        Kind::Text => element.i32(6, CONVERTED_UTF8).nested(10, Fields::default().nested(1, Fields::default())),
        Kind::Integer | Kind::Real => element,
    }
}

fn physical_type(kind: Kind) -> i64 {
    match kind {
        Kind::Integer => physical::INT64,
        Kind::Real => physical::DOUBLE,
        Kind::Text => physical::BYTE_ARRAY,
    }
}

/// `RowGroup`, with a `ColumnChunk` a column.
fn row_group(group: &Group, names: &[String]) -> Fields {
    let chunks = group.chunks.iter().zip(names).map(|(chunk, name)| {
        let meta = Fields::default()
            .i32(1, physical_type(chunk.kind))
            .i32s(2, &[encoding::PLAIN, encoding::RLE])
            .texts(3, &[name])
            .i32(4, codec::SNAPPY)
            .i64(5, chunk.values as i64)
            .i64(6, chunk.plain_bytes as i64)
            .i64(7, chunk.stored_bytes as i64)
            .i64(9, chunk.offset as i64);
        Fields::default().i64(2, chunk.offset as i64).nested(3, meta)
    });
    let bytes: usize = group.chunks.iter().map(|chunk| chunk.plain_bytes).sum();
    Fields::default().structs(1, chunks).i64(2, bytes as i64).i64(3, group.rows as i64)
}

/// One data page: its header, then which rows have values and the values, compressed together.
fn write_page(values: &Values, offset: usize, out: &mut Vec<u8>) -> Chunk {
    let plain = page_body(values);
    let stored = snap::raw::Encoder::new().compress_vec(&plain).expect("a page is far below Snappy's limit of 4 GiB");
    let data = Fields::default()
        .i32(1, values.len() as i64)
        .i32(2, encoding::PLAIN)
        .i32(3, encoding::RLE)
        .i32(4, encoding::RLE);
    let header = Fields::default()
        .i32(1, page::DATA)
        .i32(2, plain.len() as i64)
        .i32(3, stored.len() as i64)
        .nested(5, data)
        .finish();
    out.extend_from_slice(&header);
    out.extend_from_slice(&stored);
    Chunk {
        kind: Kind::of(values),
        offset,
        values: values.len(),
        plain_bytes: header.len() + plain.len(),
        stored_bytes: header.len() + stored.len(),
    }
}

fn page_body(values: &Values) -> Vec<u8> {
    let mut present = Vec::new();
    let mut plain = Vec::new();
    match values {
        Values::Integer(all) => {
            levels::encode_present(all.iter().map(Option::is_some), &mut present);
            all.iter().flatten().for_each(|value| plain.extend_from_slice(&value.to_le_bytes()));
        }
        Values::Real(all) => {
            levels::encode_present(all.iter().map(Option::is_some), &mut present);
            all.iter().flatten().for_each(|value| plain.extend_from_slice(&value.to_le_bytes()));
        }
        Values::Text(all) => {
            levels::encode_present(all.iter().map(Option::is_some), &mut present);
            for value in all.iter().flatten() {
                plain.extend_from_slice(&(value.len() as u32).to_le_bytes());
                plain.extend_from_slice(value.as_bytes());
            }
        }
    }
    let mut body = (present.len() as u32).to_le_bytes().to_vec();
    body.extend(present);
    body.extend(plain);
    body
}
