// SPDX-License-Identifier: MIT OR Apache-2.0
//! The pages of one column of one group.

use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::FileExt as _;

use super::super::column::append;
use super::super::input::Budget;
use super::thrift::{Input, Thrift};
use super::{codec, encoding, levels, page, physical};
use crate::table::{Value, Values};

/// A chunk of a column, as its metadata describes it.
#[derive(Debug, Clone, Copy)]
pub struct Chunk {
    pub physical: i64,
    pub codec: i64,
    pub values: usize,
    /// Rows may be without a value.
    pub is_optional: bool,
}

/// A header of a page is small, unless it carries long words as statistics.
const HEADER_BYTES: [usize; 2] = [1 << 12, 1 << 20];

/// A page, packed or not, and its rows. Writers make pages of about a megabyte; this program makes one of 131072 rows.
const MAX_PAGE_BYTES: usize = 1 << 26;
const MAX_PAGE_ROWS: usize = 1 << 22;

/// Pages of a file, one after the other.
#[derive(Debug)]
pub struct Pages<'a> {
    pub file: &'a File,
    pub at: u64,
    /// No page is here or beyond.
    pub end: u64,
    pub budget: &'a mut Budget,
}

impl Pages<'_> {
    /// The header of the next page, and the page as it is stored.
    fn next(&mut self) -> Result<(Thrift, Vec<u8>), String> {
        let (header, length) = self.header()?;
        self.at += length as u64;
        let stored = header.size(3).ok_or("a page has no length")?;
        if stored > MAX_PAGE_BYTES {
            return Err(format!("a page of {stored} bytes; up to {MAX_PAGE_BYTES} are read"));
        }
        let page = self.bytes(stored)?;
        if page.len() < stored {
            return Err("a page is cut off".into());
        }
        self.at += stored as u64;
        Ok((header, page))
    }

    fn header(&self) -> Result<(Thrift, usize), String> {
        for most in HEADER_BYTES {
            let data = self.bytes(most)?;
            let mut input = Input::new(&data);
            if let Some(header) = input.fields() {
                return Ok((header, data.len() - input.rest.len()));
            }
        }
        Err("the header of a page is damaged".into())
    }

    /// The next bytes, fewer at the end.
    fn bytes(&self, most: usize) -> Result<Vec<u8>, String> {
        let left = self.end.checked_sub(self.at).ok_or("it lies beyond the end")?;
        let mut data = vec![0; most.min(usize::try_from(left).unwrap_or(most))];
        let is_whole = read_at(self.file, &mut data, self.at)?;
        is_whole.then_some(data).ok_or_else(|| "the file became shorter while it was read".into())
    }
}

/// Fills `data` from a place in a file; false if the file ends before.
pub fn read_at(file: &File, data: &mut [u8], at: u64) -> Result<bool, String> {
    match file.read_exact_at(data, at) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(format!("cannot be read: {error}")),
    }
}

/// Adds the values of a chunk to a column.
pub fn decode(pages: &mut Pages, chunk: Chunk, column: &mut Values) -> Result<(), String> {
    let mut dictionary = Vec::new();
    let mut left = chunk.values;
    while left > 0 {
        let (header, stored) = pages.next()?;
        let kind = header.integer(1);
        if kind != Some(page::DATA) && kind != Some(page::DICTIONARY) {
            return Err("only pages of version 1 can be read; write it again with data_page_version=1.0".into());
        }
        let length = header.size(2).filter(|&length| length <= MAX_PAGE_BYTES);
        let length = length.ok_or("a page has no length, or is too long")?;
        pages.budget.take_page(length.max(stored.len()))?;
        let plain = decompress(stored, chunk.codec, length)?;
        let mut body = Input::new(&plain);
        if kind == Some(page::DICTIONARY) {
            let count = header.field(7).and_then(|header| header.size(1)).filter(|&count| count <= MAX_PAGE_ROWS);
            dictionary = decode_plain(&mut body, chunk.physical, count.ok_or("a dictionary has no length")?)?;
            continue;
        }
        let rows = decode_data(&mut body, header.field(5), chunk, &dictionary, (column, pages.budget))?;
        left = left.checked_sub(rows).filter(|_| rows > 0).ok_or("pages do not add up to their column")?;
    }
    Ok(())
}

fn decompress(stored: Vec<u8>, codec: i64, length: usize) -> Result<Vec<u8>, String> {
    let plain = match codec {
        codec::UNCOMPRESSED => stored,
        // The length that Snappy itself states is checked first, so that a damaged one takes no memory.
        codec::SNAPPY if snap::raw::decompress_len(&stored) == Ok(length) => {
            snap::raw::Decoder::new().decompress_vec(&stored).map_err(|error| format!("a page is damaged: {error}"))?
        }
        codec::SNAPPY => return Err("a page is damaged: its two lengths differ".into()),
        _ => return Err("compressed in another way than Snappy; write it again with compression=snappy".into()),
    };
    Ok(plain)
}

/// One data page; says how many rows it had.
fn decode_data(
    body: &mut Input,
    header: Option<&Thrift>,
    chunk: Chunk,
    dictionary: &[Value],
    (column, budget): (&mut Values, &mut Budget),
) -> Result<usize, String> {
    let header = header.ok_or("a data page has no header")?;
    let rows = header.size(1).filter(|&rows| rows <= chunk.values).ok_or("a data page has no number of rows")?;
    if rows > MAX_PAGE_ROWS {
        return Err(format!("a page of {rows} rows; up to {MAX_PAGE_ROWS} are read"));
    }
    let present = if chunk.is_optional { present(body, header, rows)? } else { vec![1; rows] };
    let count = present.iter().filter(|&&present| present == 1).count();
    let values = match header.integer(2) {
        Some(encoding::PLAIN) => decode_plain(body, chunk.physical, count)?,
        Some(encoding::PLAIN_DICTIONARY | encoding::RLE_DICTIONARY) => decode_places(body, dictionary, count, budget)?,
        _ => return Err("values are neither plain nor in a dictionary; write it again without other encodings".into()),
    };
    let mut values = values.into_iter();
    for present in present {
        let value = if present == 1 { values.next() } else { None };
        if !append(column, value) {
            return Err("values of another type than the schema says".into());
        }
    }
    Ok(rows)
}

fn present(body: &mut Input, header: &Thrift, rows: usize) -> Result<Vec<u32>, String> {
    if header.integer(3) != Some(encoding::RLE) {
        return Err("definition levels are not in runs".into());
    }
    let length = u32::from_le_bytes(array(body)?) as usize;
    let rest = body.take(length).ok_or("definition levels are cut off")?;
    levels::decode(&mut Input::new(rest), 1, rows).ok_or_else(|| "definition levels are damaged".into())
}

fn decode_places(
    body: &mut Input,
    dictionary: &[Value],
    count: usize,
    budget: &mut Budget,
) -> Result<Vec<Value>, String> {
    if count == 0 {
        return Ok(Vec::new());
    }
    let bits = body.byte().ok_or("a data page is cut off")?;
    let places = levels::decode(body, u32::from(bits), count).ok_or("places in a dictionary are damaged")?;
    let mut values = Vec::new();
    for place in places {
        let value = dictionary.get(place as usize).ok_or("a place beyond the dictionary")?;
        // A long word in a dictionary costs its file once, and memory for each row.
        if let Value::Text(word) = value {
            budget.take_text(word.len())?;
        }
        values.push(value.clone());
    }
    Ok(values)
}

fn decode_plain(body: &mut Input, physical: i64, count: usize) -> Result<Vec<Value>, String> {
    (0..count).map(|_| decode_value(body, physical)).collect()
}

fn decode_value(body: &mut Input, physical: i64) -> Result<Value, String> {
    Ok(match physical {
        physical::INT32 => Value::Integer(i64::from(i32::from_le_bytes(array(body)?))),
        physical::INT64 => Value::Integer(i64::from_le_bytes(array(body)?)),
        physical::FLOAT => Value::Real(f64::from(f32::from_le_bytes(array(body)?))),
        physical::DOUBLE => Value::Real(f64::from_le_bytes(array(body)?)),
        _ => {
            let length = u32::from_le_bytes(array(body)?) as usize;
            let text = body.take(length).ok_or("a data page is cut off")?;
            Value::Text(String::from_utf8(text.to_vec()).map_err(|_| "a word is not UTF-8")?)
        }
    })
}

fn array<const LENGTH: usize>(body: &mut Input) -> Result<[u8; LENGTH], String> {
    let bytes = body.take(LENGTH).and_then(|bytes| bytes.try_into().ok());
    bytes.ok_or_else(|| "a data page is cut off".into())
}
