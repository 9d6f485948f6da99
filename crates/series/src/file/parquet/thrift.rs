// SPDX-License-Identifier: MIT OR Apache-2.0
//! Thrift's compact protocol, as far as Parquet's headers need it.
//!
//! Source: "Thrift Compact protocol encoding", `apache/thrift`, doc/specs/thrift-compact-protocol.md.

use std::collections::BTreeMap;

/// Headers nest four deep; more is not a header.
const DEPTH_MAX: usize = 16;

/// A value of a header. Booleans are integers here.
#[derive(Debug, Clone, PartialEq)]
pub enum Thrift {
    Integer(i64),
    Double,
    Bytes(Vec<u8>),
    List(Vec<Thrift>),
    Struct(BTreeMap<i16, Thrift>),
}

/// The types of the wire that are written here.
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// A struct being written. Fields must come in the order of their numbers.
#[derive(Debug, Default)]
pub struct Fields {
    out: Vec<u8>,
    last: i16,
}

impl Fields {
    pub fn i32(mut self, field: i16, value: i64) -> Self {
        self.begin(field, I32);
        put_integer(value, &mut self.out);
        self
    }

    pub fn i64(mut self, field: i16, value: i64) -> Self {
        self.begin(field, I64);
        put_integer(value, &mut self.out);
        self
    }

    pub fn text(mut self, field: i16, value: &str) -> Self {
        self.begin(field, BINARY);
        put_text(value, &mut self.out);
        self
    }

    pub fn nested(mut self, field: i16, value: Fields) -> Self {
        self.begin(field, STRUCT);
        self.out.extend(value.finish());
        self
    }

    pub fn structs(mut self, field: i16, values: impl ExactSizeIterator<Item = Fields>) -> Self {
        self.begin(field, LIST);
        put_list(STRUCT, values.len(), &mut self.out);
        for value in values {
            self.out.extend(value.finish());
        }
        self
    }

    pub fn i32s(mut self, field: i16, values: &[i64]) -> Self {
        self.begin(field, LIST);
        put_list(I32, values.len(), &mut self.out);
        for &value in values {
            put_integer(value, &mut self.out);
        }
        self
    }

    pub fn texts(mut self, field: i16, values: &[&str]) -> Self {
        self.begin(field, LIST);
        put_list(BINARY, values.len(), &mut self.out);
        for value in values {
            put_text(value, &mut self.out);
        }
        self
    }

    /// The bytes, with the stop that ends a struct.
    pub fn finish(mut self) -> Vec<u8> {
        self.out.push(0);
        self.out
    }

    /// All our fields are at most fifteen apart, so the short form is enough.
    fn begin(&mut self, field: i16, wire: u8) {
        let distance = field - self.last;
        debug_assert!((1..=15).contains(&distance), "fields in order");
        self.out.push((distance as u8) << 4 | wire);
        self.last = field;
    }
}

fn put_integer(value: i64, out: &mut Vec<u8>) {
    put_varint(((value << 1) ^ (value >> 63)) as u64, out);
}

/// Seven bits a byte, the least first.
pub fn put_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn put_text(value: &str, out: &mut Vec<u8>) {
    put_varint(value.len() as u64, out);
    out.extend_from_slice(value.as_bytes());
}

fn put_list(wire: u8, length: usize, out: &mut Vec<u8>) {
    if length < 15 {
        out.push((length as u8) << 4 | wire);
    } else {
        out.push(0xf0 | wire);
        put_varint(length as u64, out);
    }
}

/// Values of one header or table of contents; a struct counts as [`STRUCT_VALUES`]. In memory they are 32 bytes each.
const VALUES_MAX: usize = 1 << 22;
const STRUCT_VALUES: usize = 16;

/// Bytes being read from the front.
#[derive(Debug)]
pub struct Input<'a> {
    pub rest: &'a [u8],
    values_left: usize,
}

impl<'a> Input<'a> {
    pub fn new(rest: &'a [u8]) -> Self {
        Self { rest, values_left: VALUES_MAX }
    }

    pub fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }

    pub fn byte(&mut self) -> Option<u8> {
        Some(self.take(1)?[0])
    }

    pub fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn integer(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// A struct up to its stop.
    pub fn fields(&mut self) -> Option<Thrift> {
        self.fields_at(0)
    }

    fn fields_at(&mut self, depth: usize) -> Option<Thrift> {
        self.values_left = self.values_left.checked_sub(STRUCT_VALUES)?;
        let mut fields = BTreeMap::new();
        let mut last: i16 = 0;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Some(Thrift::Struct(fields));
            }
            last = match head >> 4 {
                0 => i16::try_from(self.integer()?).ok()?,
                distance => last.checked_add(i16::from(distance))?,
            };
            let value = match head & 0x0f {
                1 => Thrift::Integer(1),
                2 => Thrift::Integer(0),
                wire => self.value(wire, depth)?,
            };
            fields.insert(last, value);
        }
    }

    fn value(&mut self, wire: u8, depth: usize) -> Option<Thrift> {
        if depth > DEPTH_MAX {
            return None;
        }
        self.values_left = self.values_left.checked_sub(1)?;
        Some(match wire {
            // In a list a boolean is a byte.
            1..=3 => Thrift::Integer(i64::from(self.byte()?)),
            4..=6 => Thrift::Integer(self.integer()?),
            7 => self.take(8).map(|_| Thrift::Double)?,
            BINARY => {
                let length = usize::try_from(self.varint()?).ok()?;
                Thrift::Bytes(self.take(length)?.to_vec())
            }
            LIST | 10 => self.list(depth)?,
            STRUCT => self.fields_at(depth + 1)?,
            // Parquet's headers have no maps.
            _ => return None,
        })
    }

    fn list(&mut self, depth: usize) -> Option<Thrift> {
        let head = self.byte()?;
        let length = match head >> 4 {
            15 => self.varint()?,
            short => u64::from(short),
        };
        // Each item is a byte at least: a length beyond the rest ends in a missing byte, not in memory taken for it.
        (0..length).map(|_| self.value(head & 0x0f, depth + 1)).collect::<Option<_>>().map(Thrift::List)
    }
}

impl Thrift {
    pub fn field(&self, field: i16) -> Option<&Thrift> {
        match self {
            Self::Struct(fields) => fields.get(&field),
            _ => None,
        }
    }

    pub fn integer(&self, field: i16) -> Option<i64> {
        match self.field(field)? {
            Self::Integer(value) => Some(*value),
            _ => None,
        }
    }

    /// A number of bytes or of values.
    pub fn size(&self, field: i16) -> Option<usize> {
        usize::try_from(self.integer(field)?).ok()
    }

    pub fn text(&self, field: i16) -> Option<&str> {
        match self.field(field)? {
            Self::Bytes(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    pub fn list(&self, field: i16) -> Option<&[Thrift]> {
        match self.field(field)? {
            Self::List(items) => Some(items),
            _ => None,
        }
    }
}
