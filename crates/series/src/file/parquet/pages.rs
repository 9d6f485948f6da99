//! The pages of one column of one group.

use super::super::column::append;
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

/// Adds the values of a chunk to a column.
pub fn decode(mut input: Input, chunk: Chunk, column: &mut Values) -> Result<(), String> {
    let mut dictionary = Vec::new();
    let mut left = chunk.values;
    while left > 0 {
        let header = input.fields().ok_or("the header of a page is damaged")?;
        let stored = header.size(3).and_then(|length| input.take(length)).ok_or("a page is cut off")?;
        let kind = header.integer(1);
        if kind != Some(page::DATA) && kind != Some(page::DICTIONARY) {
            return Err("only pages of version 1 can be read; write it again with data_page_version=1.0".into());
        }
        let plain = decompress(stored, chunk.codec, header.size(2).ok_or("a page has no length")?)?;
        let mut body = Input { rest: &plain };
        if kind == Some(page::DICTIONARY) {
            let count = header.field(7).and_then(|header| header.size(1)).ok_or("a dictionary has no length")?;
            dictionary = decode_plain(&mut body, chunk.physical, count)?;
            continue;
        }
        let rows = decode_data(&mut body, header.field(5), chunk, &dictionary, column)?;
        left = left.checked_sub(rows).filter(|_| rows > 0).ok_or("pages do not add up to their column")?;
    }
    Ok(())
}

fn decompress(stored: &[u8], codec: i64, length: usize) -> Result<Vec<u8>, String> {
    let plain = match codec {
        codec::UNCOMPRESSED => stored.to_vec(),
        // The length that Snappy itself states is checked first, so that a damaged one takes no memory.
        codec::SNAPPY if snap::raw::decompress_len(stored) == Ok(length) => {
            snap::raw::Decoder::new().decompress_vec(stored).map_err(|error| format!("a page is damaged: {error}"))?
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
    column: &mut Values,
) -> Result<usize, String> {
    let header = header.ok_or("a data page has no header")?;
    let rows = header.size(1).filter(|&rows| rows <= chunk.values).ok_or("a data page has no number of rows")?;
    let present = if chunk.is_optional { present(body, header, rows)? } else { vec![1; rows] };
    let count = present.iter().filter(|&&present| present == 1).count();
    let values = match header.integer(2) {
        Some(encoding::PLAIN) => decode_plain(body, chunk.physical, count)?,
        Some(encoding::PLAIN_DICTIONARY | encoding::RLE_DICTIONARY) => decode_places(body, dictionary, count)?,
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
    levels::decode(&mut Input { rest }, 1, rows).ok_or_else(|| "definition levels are damaged".into())
}

fn decode_places(body: &mut Input, dictionary: &[Value], count: usize) -> Result<Vec<Value>, String> {
    if count == 0 {
        return Ok(Vec::new());
    }
    let bits = body.byte().ok_or("a data page is cut off")?;
    let places = levels::decode(body, u32::from(bits), count).ok_or("places in a dictionary are damaged")?;
    let value = |place: &u32| dictionary.get(*place as usize).cloned();
    places.iter().map(value).collect::<Option<_>>().ok_or_else(|| "a place beyond the dictionary".into())
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
