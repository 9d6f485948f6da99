// SPDX-License-Identifier: MIT OR Apache-2.0
//! CSV as in RFC 4180, with what the format cannot say in lines that begin with `#`.
//!
//! `# name: value` is a fact, `#column cwnd_pkts: integer packets` the kind and the unit of a column. Facts that came late
//! are after the rows. In both, a backslash stands before a colon in a name, and `\n`, `\r`, `\\` are themselves. Without
//! `#column` lines, a column is of the narrowest kind that all its fields fit.
//!
//! An empty field is a missing value; CSV has no other way, so an empty word becomes one. Numbers that are not finite are
//! `NaN`, `inf` and `-inf`, as most readers know them.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _, Seek as _, Write as _};
use std::path::Path;

use csv_core::{ReadRecordResult, Reader};

use super::column::{append, table_of, Kind};
use super::input::{Budget, MAX_COLUMNS, MAX_RECORD_BYTES};
use super::{bad_line, cannot_read, FileError};
use crate::table::{Column, Table, Value};

pub fn encode_header(header: &Table, out: &mut Vec<u8>) {
    encode_facts(&header.facts, out);
    for column in header.columns() {
        let kind = Kind::of(&column.values).name();
        let _ = writeln!(out, "#column {}: {kind} {}", escape(&column.name, true), escape(&column.unit, false));
    }
    if !header.columns().is_empty() {
        encode_fields(header.columns().iter(), out, |column, out| quote(&column.name, out));
    }
}

pub fn encode_facts(facts: &BTreeMap<String, String>, out: &mut Vec<u8>) {
    for (name, value) in facts {
        out.extend_from_slice(format!("# {}: {}\n", escape(name, true), escape(value, false)).as_bytes());
    }
}

pub fn encode_row(row: &[Option<Value>], out: &mut Vec<u8>) {
    encode_fields(row.iter().map(Option::as_ref), out, |value, out| match value {
        None => {}
        Some(Value::Integer(value)) => out.extend_from_slice(itoa::Buffer::new().format(*value).as_bytes()),
        // The shortest text that reads back as the same number, with a fraction even if it is whole.
        Some(Value::Float(value)) => out.extend_from_slice(zmij::Buffer::new().format(*value).as_bytes()),
        Some(Value::Text(value)) => quote(value, out),
    });
}

/// Right into the buffer: a trace has thousands of rows in a second.
fn encode_fields<T>(fields: impl Iterator<Item = T>, out: &mut Vec<u8>, encode: impl Fn(T, &mut Vec<u8>)) {
    let start = out.len();
    for (number, field) in fields.enumerate() {
        if number > 0 {
            out.push(b',');
        }
        encode(field, out);
    }
    // A line without anything is no record: the one field of a table of one column is then in quotes.
    if out.len() == start {
        out.extend_from_slice(b"\"\"");
    }
    out.push(b'\n');
}

fn quote(text: &str, out: &mut Vec<u8>) {
    let special = |byte: u8| matches!(byte, b'"' | b',' | b'\n' | b'\r' | b'#');
    let is_padded = text.starts_with(char::is_whitespace) || text.ends_with(char::is_whitespace);
    if is_padded || text.bytes().any(special) {
        out.push(b'"');
        out.extend_from_slice(text.replace('"', "\"\"").as_bytes());
        out.push(b'"');
    } else {
        out.extend_from_slice(text.as_bytes());
    }
}

fn escape(text: &str, is_name: bool) -> String {
    let text = text.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r");
    if is_name {
        text.replace(':', "\\:")
    } else {
        text
    }
}

/// Up to the first colon that has no backslash before it, and after it.
fn unescape(line: &str) -> Option<(String, String)> {
    let mut parts = [String::new(), String::new()];
    let mut part = 0;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            ':' if part == 0 => part = 1,
            '\\' => parts[part].push(match letters.next()? {
                'n' => '\n',
                'r' => '\r',
                other => other,
            }),
            other => parts[part].push(other),
        }
    }
    let [name, value] = parts;
    (part == 1).then(|| (name, value.strip_prefix(' ').unwrap_or(&value).to_owned()))
}

/// The table in a file, which is read twice: for the kinds of the columns, and for the rows.
pub fn decode(file: &File, budget: &mut Budget, path: &Path) -> Result<Table, FileError> {
    let mut scan = Scan { kinds: Vec::new(), names: Vec::new(), rows: 0 };
    let mut comments = Comments::default();
    for_each_record(file, path, |record| match record {
        Record::Comment(text) => comments.take(text),
        Record::Fields(fields) => scan.take(&fields, budget),
    })?;
    let mut columns: Vec<_> = scan.columns(&comments).collect();
    let mut is_header = true;
    for_each_record(file, path, |record| {
        let Record::Fields(fields) = record else { return Ok(()) };
        if std::mem::take(&mut is_header) {
            return Ok(());
        }
        columns.iter_mut().zip(fields).try_for_each(|(column, field)| take(column, field))
    })?;
    let mut table = table_of(columns.into_iter(), path)?;
    table.facts = comments.facts;
    Ok(table)
}

fn take(column: &mut Column, field: &str) -> Result<(), String> {
    let kind = Kind::of(&column.values);
    let value = if field.is_empty() { None } else { parse(kind, field) };
    if value.is_none() && !field.is_empty() {
        return Err(format!("{} is {field:?}, but the column is {}", column.name, kind.name()));
    }
    append(&mut column.values, value);
    Ok(())
}

/// The value of a field that is not empty, if it is of this kind.
fn parse(kind: Kind, field: &str) -> Option<Value> {
    Some(match kind {
        Kind::Integer => Value::Integer(field.parse().ok()?),
        Kind::Float => Value::Float(field.parse().ok()?),
        Kind::Text => Value::Text(field.to_owned()),
    })
}

/// What lines with `#` say.
#[derive(Default)]
struct Comments {
    facts: BTreeMap<String, String>,
    kinds: HashMap<String, (Kind, String)>,
}

impl Comments {
    fn take(&mut self, text: &str) -> Result<(), String> {
        if let Some(rest) = text.strip_prefix("#column ") {
            let (name, what) = unescape(rest).ok_or("expected #column name: kind unit")?;
            let (kind, unit) = what.split_once(' ').unwrap_or((&what, ""));
            let kind = Kind::named(kind).ok_or(format!("{kind} is not one of integer, real, text"))?;
            self.kinds.insert(name, (kind, unit.to_owned()));
        } else if let Some((name, value)) = text.strip_prefix("# ").and_then(unescape) {
            self.facts.insert(name, value);
        }
        // Any other comment is of another program, and not for us.
        Ok(())
    }
}

/// The first look: names, and the narrowest kind of each column.
struct Scan {
    names: Vec<String>,
    kinds: Vec<Option<Kind>>,
    rows: usize,
}

impl Scan {
    fn take(&mut self, fields: &[&str], budget: &mut Budget) -> Result<(), String> {
        if self.names.is_empty() {
            self.names = fields.iter().map(|&name| name.to_owned()).collect();
            self.kinds = vec![None; fields.len()];
            return Ok(());
        }
        if fields.len() != self.names.len() {
            return Err(format!("{} fields for {} columns", fields.len(), self.names.len()));
        }
        self.rows += 1;
        budget.check(self.names.len(), self.rows)?;
        // A field of digits may yet be a word; so all count.
        budget.take_text(fields.iter().map(|field| field.len()).sum())?;
        for (known, field) in self.kinds.iter_mut().zip(fields).filter(|(_, field)| !field.is_empty()) {
            let wider =
                [Kind::Integer, Kind::Float, Kind::Text].into_iter().skip(known.map_or(0, |kind| kind as usize));
            *known = wider.into_iter().find(|&kind| parse(kind, field).is_some());
        }
        Ok(())
    }

    fn columns(self, comments: &Comments) -> impl Iterator<Item = Column> + '_ {
        self.names.into_iter().zip(self.kinds).map(|(name, found)| {
            let declared = comments.kinds.get(&name);
            let kind = declared.map_or(found.unwrap_or(Kind::Float), |(kind, _)| *kind);
            let unit = declared.map(|(_, unit)| unit.clone()).unwrap_or_default();
            Column { name, unit, values: kind.empty() }
        })
    }
}

enum Record<'a> {
    Comment(&'a str),
    Fields(Vec<&'a str>),
}

/// Comments and records in their order. What `take` says of one is said with the line on which it begins.
fn for_each_record(
    mut file: &File,
    path: &Path,
    mut take: impl FnMut(Record) -> Result<(), String>,
) -> Result<(), FileError> {
    file.rewind().map_err(cannot_read(path))?;
    let mut input = BufReader::new(file);
    if input.fill_buf().map_err(cannot_read(path))?.starts_with("\u{feff}".as_bytes()) {
        input.consume("\u{feff}".len());
    }
    let mut fields = Fields::new();
    let mut line = 1;
    while let Some(&first) = input.fill_buf().map_err(cannot_read(path))?.first() {
        let bad = |what: String| bad_line(path, line, what);
        let length = match first {
            b'\n' | b'\r' => {
                input.consume(1);
                usize::from(first == b'\n')
            }
            b'#' => {
                let comment = comment(&mut input).map_err(cannot_read(path))?.map_err(bad)?;
                take(Record::Comment(comment.trim_end_matches(['\n', '\r']))).map_err(bad)?;
                usize::from(comment.ends_with('\n'))
            }
            _ => {
                let lines = fields.read(&mut input).map_err(cannot_read(path))?.map_err(bad)?;
                take(Record::Fields(fields.all().map_err(|_| bad("not UTF-8".into()))?)).map_err(bad)?;
                lines
            }
        };
        line += length;
    }
    Ok(())
}

/// A line that begins with `#`, with its end.
fn comment(input: &mut impl BufRead) -> io::Result<Result<String, String>> {
    let mut line = Vec::new();
    input.by_ref().take(MAX_RECORD_BYTES as u64 + 1).read_until(b'\n', &mut line)?;
    if line.len() > MAX_RECORD_BYTES {
        return Ok(Err(format!("too long: the limit is {MAX_RECORD_BYTES} bytes")));
    }
    Ok(String::from_utf8(line).map_err(|_| "not UTF-8".into()))
}

fn count(data: &[u8], wanted: u8) -> usize {
    data.iter().map(|&byte| usize::from(byte == wanted)).sum()
}

/// The fields of one record, in memory that records share. So is the parser: to make one takes longer than most records.
struct Fields {
    parser: Reader,
    text: Vec<u8>,
    ends: Vec<usize>,
    count: usize,
}

impl Fields {
    fn new() -> Self {
        let mut parser = Reader::new();
        // It takes a byte order mark away where it begins; only a file begins with one. An empty line is no record.
        let _ = parser.read_record(b"\n", &mut [0], &mut [0]);
        Self { parser, text: vec![0; 4096], ends: vec![0; 64], count: 0 }
    }

    /// Reads one record, which is not empty; says how many lines it had.
    fn read(&mut self, input: &mut impl BufRead) -> io::Result<Result<usize, String>> {
        let (mut written, mut lines, mut quotes) = (0, 0, 0);
        self.count = 0;
        loop {
            // At the end of the file nothing comes, which is how the parser learns of the end.
            let data = input.fill_buf()?;
            let (text, ends) = (&mut self.text[written..], &mut self.ends[self.count..]);
            let (result, read, bytes, fields) = self.parser.read_record(data, text, ends);
            lines += count(&data[..read], b'\n');
            quotes += count(&data[..read], b'"');
            input.consume(read);
            written += bytes;
            self.count += fields;
            match result {
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull if written >= MAX_RECORD_BYTES => {
                    return Ok(Err(format!("the record is too long: the limit is {MAX_RECORD_BYTES} bytes")));
                }
                ReadRecordResult::OutputFull => self.text.resize(self.text.len() * 2, 0),
                ReadRecordResult::OutputEndsFull if self.count >= MAX_COLUMNS => {
                    return Ok(Err(format!("too many columns: the limit is {MAX_COLUMNS}")));
                }
                ReadRecordResult::OutputEndsFull => self.ends.resize(self.ends.len() * 2, 0),
                ReadRecordResult::Record | ReadRecordResult::End if quotes % 2 == 1 => {
                    return Ok(Err("a quotation mark is not closed".into()));
                }
                ReadRecordResult::Record | ReadRecordResult::End => return Ok(Ok(lines)),
            }
        }
    }

    fn all(&self) -> Result<Vec<&str>, std::str::Utf8Error> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let places = starts.zip(&self.ends[..self.count]);
        places.map(|(start, &end)| std::str::from_utf8(&self.text[start..end])).collect()
    }
}
