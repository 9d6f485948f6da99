// SPDX-License-Identifier: MIT OR Apache-2.0
//! Small integers in Parquet's hybrid of runs and packed bits: which rows have a value, and places in dictionaries.

use super::thrift::{put_varint, Input};

/// Which rows have a value, as runs of equal bits.
pub fn encode_present(present: impl Iterator<Item = bool>, out: &mut Vec<u8>) {
    let mut run: Option<(bool, u64)> = None;
    for bit in present {
        run = match run {
            Some((value, length)) if value == bit => Some((value, length + 1)),
            other => {
                put_run(other, out);
                Some((bit, 1))
            }
        };
    }
    put_run(run, out);
}

fn put_run(run: Option<(bool, u64)>, out: &mut Vec<u8>) {
    if let Some((value, length)) = run {
        put_varint(length << 1, out);
        out.push(u8::from(value));
    }
}

/// So many integers of so many bits.
pub fn decode(input: &mut Input, bits: u32, count: usize) -> Option<Vec<u32>> {
    let mut values = Vec::new();
    if bits > 32 {
        return None;
    }
    while values.len() < count {
        let head = input.varint()?;
        let missing = count - values.len();
        if head & 1 == 0 {
            let mut value = [0; 4];
            let width = bits.div_ceil(8) as usize;
            value[..width].copy_from_slice(input.take(width)?);
            let length = usize::try_from(head >> 1).ok()?;
            if length == 0 {
                return None;
            }
            values.extend(std::iter::repeat_n(u32::from_le_bytes(value), length.min(missing)));
        } else {
            let bytes = usize::try_from(head >> 1).ok()?.checked_mul(bits as usize)?;
            // The last group may be cut short by writers that leave out its padding.
            let packed = input.take(bytes.min(input.rest.len()))?;
            let length = if bits == 0 { missing } else { (packed.len() * 8 / bits as usize).min(missing) };
            if length == 0 {
                return None;
            }
            values.extend((0..length).map(|place| unpack(packed, place * bits as usize, bits)));
        }
    }
    Some(values)
}

fn unpack(packed: &[u8], first_bit: usize, bits: u32) -> u32 {
    (0..bits as usize).fold(0, |value, bit| {
        let place = first_bit + bit;
        value | u32::from(packed[place / 8] >> (place % 8) & 1) << bit
    })
}
