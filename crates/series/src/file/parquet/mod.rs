// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parquet: flat columns in groups of rows, plain values, Snappy; units and facts in the key-value metadata.
//!
//! Made by hand because every crate that knows the format is under Apache-2.0 alone, which cannot be combined with
//! GPL-2.0-only. What is written is the least that all readers know: version 1 data pages, `PLAIN` values, `RLE`
//! definition levels. What is read is this and dictionaries, which other programs write by default.
//!
//! Source: the format's specification, `apache/parquet-format`, version 2.11: `parquet.thrift` and `Encodings.md`.
//!
//! The metadata holds each fact under its name, and the unit of the column `cwnd_pkts` under `unit.cwnd_pkts`; so no fact
//! may be named `unit.` and a column's name.

mod decode;
mod encode;
mod levels;
mod pages;
mod thrift;

pub use decode::decode;
pub use encode::Encoder;

/// Begins and ends a file.
const MAGIC: &[u8; 4] = b"PAR1";

/// Before a column's name, in the metadata.
const UNIT_PREFIX: &str = "unit.";

/// Physical types of values (`Type` in parquet.thrift).
mod physical {
    pub const INT32: i64 = 1;
    pub const INT64: i64 = 2;
    pub const FLOAT: i64 = 4;
    pub const DOUBLE: i64 = 5;
    pub const BYTE_ARRAY: i64 = 6;
}

/// `Encoding` in parquet.thrift.
mod encoding {
    pub const PLAIN: i64 = 0;
    pub const PLAIN_DICTIONARY: i64 = 2;
    pub const RLE: i64 = 3;
    pub const RLE_DICTIONARY: i64 = 8;
}

/// `CompressionCodec` in parquet.thrift.
mod codec {
    pub const UNCOMPRESSED: i64 = 0;
    pub const SNAPPY: i64 = 1;
}

/// `PageType` in parquet.thrift.
mod page {
    pub const DATA: i64 = 0;
    pub const DICTIONARY: i64 = 2;
}

/// `FieldRepetitionType` in parquet.thrift.
mod repetition {
    pub const REQUIRED: i64 = 0;
    pub const OPTIONAL: i64 = 1;
}

/// `ConvertedType` in parquet.thrift: bytes that are text.
const CONVERTED_UTF8: i64 = 0;
