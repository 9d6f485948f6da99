// SPDX-License-Identifier: MIT OR Apache-2.0
//! Frames for the tests of the ACK clock's programs: made layer by layer, and read again by a reader of their own.

pub mod reader;

use crate::support::Random;

pub const ACK: u8 = 0x10;
pub const TIME_STAMPS: [u8; 12] = [1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2];

/// Options of an ACK with so many SACK blocks, as Linux writes them behind the time stamps (at most 3 fit).
pub fn with_sack(blocks: u8) -> Vec<u8> {
    let mut options = TIME_STAMPS.to_vec();
    options.extend([1, 1, 5, 2 + 8 * blocks]);
    options.extend(std::iter::repeat_n(7, usize::from(blocks) * 8));
    options
}

/// Four blocks fit only without time stamps.
pub fn four_sacks() -> Vec<u8> {
    let mut options = vec![1, 1, 5, 34];
    options.extend([9; 32]);
    options
}

pub fn tcp(flags: u8, options: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut segment = vec![0x9c, 0x40, 0x14, 0x51, 0, 0, 0, 1, 0, 0, 0, 2, 0, flags, 1, 0, 0, 0, 0, 0];
    segment.extend(options);
    segment.resize(segment.len().div_ceil(4) * 4, 0);
    segment[12] = (segment.len() / 4 * 16) as u8;
    segment.extend(payload);
    segment
}

pub fn ipv4(options: &[u8], fragment: u16, payload: &[u8]) -> Vec<u8> {
    let header = 20 + options.len();
    let mut packet = vec![0x40 | (header / 4) as u8, 0];
    packet.extend(((header + payload.len()) as u16).to_be_bytes());
    packet.extend([0, 1]);
    packet.extend(fragment.to_be_bytes());
    packet.extend([64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    packet.extend(options);
    packet.extend(payload);
    packet
}

/// Extension headers as (protocol number, bytes with the next header's number left open).
pub fn ipv6(extensions: &[(u8, Vec<u8>)], payload: &[u8]) -> Vec<u8> {
    let numbers: Vec<u8> = extensions.iter().map(|(number, _)| *number).chain([6]).collect();
    let mut body = Vec::new();
    for ((_, bytes), next) in extensions.iter().zip(&numbers[1..]) {
        body.push(*next);
        body.extend(&bytes[1..]);
    }
    body.extend(payload);
    let mut packet = vec![0x60, 0, 0, 0];
    packet.extend((body.len() as u16).to_be_bytes());
    packet.extend([numbers[0], 64]);
    packet.extend([0xfd; 32]);
    packet.extend(body);
    packet
}

/// Hop-by-hop, routing or destination options of `8 * (more + 1)` bytes.
pub fn extension(number: u8, more: u8) -> (u8, Vec<u8>) {
    let mut bytes = vec![0; 8 * (usize::from(more) + 1)];
    bytes[1] = more;
    (number, bytes)
}

/// Authentication header of `4 * (length + 2)` bytes.
pub fn authentication(length: u8) -> (u8, Vec<u8>) {
    let mut bytes = vec![0; 4 * (usize::from(length) + 2)];
    bytes[1] = length;
    (51, bytes)
}

/// Fragment header with these offset and flag bits.
pub fn fragment(bits: u16) -> (u8, Vec<u8>) {
    let [high, low] = bits.to_be_bytes();
    (44, vec![0, 0, high, low, 0, 0, 0, 9])
}

pub fn ethernet(tags: &[u16], ethertype: u16, packet: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    for tag in tags {
        frame.extend(tag.to_be_bytes());
        frame.extend([0, 5]);
    }
    frame.extend(ethertype.to_be_bytes());
    frame.extend(packet);
    frame
}

pub fn v4(segment: &[u8]) -> Vec<u8> {
    ethernet(&[], 0x0800, &ipv4(&[], 0, segment))
}

pub fn v6(extensions: &[(u8, Vec<u8>)], segment: &[u8]) -> Vec<u8> {
    ethernet(&[], 0x86dd, &ipv6(extensions, segment))
}

/// A frame that is whole and an ACK more often than not, then perhaps changed, cut off or padded.
pub fn random(random: &mut Random) -> Vec<u8> {
    let segment = random_segment(random);
    let tags: Vec<u16> = (0..random.below(6).saturating_sub(1)).map(|_| pick(random, &[0x8100, 0x88a8])).collect();
    let mut frame = if random.below(2) == 0 {
        let options = bytes(random, 4);
        let fragment = pick(random, &[0, 0, 0, 0x4000, 0x2000, 1, 0x8000]);
        ethernet(&tags, 0x0800, &ipv4(&options, fragment, &segment))
    } else {
        let extensions: Vec<_> = (0..random.below(10).saturating_sub(3)).map(|_| random_extension(random)).collect();
        ethernet(&tags, 0x86dd, &ipv6(&extensions, &segment))
    };
    match random.below(5) {
        0 => {
            for _ in 0..=random.below(4) {
                let at = random.below(frame.len() as u64) as usize;
                frame[at] = random.below(256) as u8;
            }
        }
        1 => frame.truncate(14 + random.below(frame.len() as u64 - 13) as usize),
        2 => frame.resize(frame.len() + random.below(40) as usize, 0), // padding
        _ => {}
    }
    frame
}

fn random_segment(random: &mut Random) -> Vec<u8> {
    let options = match random.below(6) {
        0 => Vec::new(),
        1 => TIME_STAMPS.to_vec(),
        2 => with_sack(random.below(4) as u8),
        3 => four_sacks(),
        _ => random_options(random),
    };
    let flags = pick(random, &[ACK, ACK, ACK, ACK, 0x18, 0x50, 0x12, 0x11, 0x14, 0x02, 0]);
    let payload = vec![0x55; pick(random, &[0, 0, 0, 1, 100])];
    tcp(flags, &options, &payload)
}

/// Options of any kind and length that may end anywhere, 40 bytes at most.
fn random_options(random: &mut Random) -> Vec<u8> {
    let mut options = Vec::new();
    while options.len() < 40 && random.below(8) != 0 {
        let kind = pick(random, &[0, 1, 1, 2, 3, 4, 5, 5, 5, 8, 30, 255]);
        options.push(kind);
        if kind > 1 {
            let length = pick(random, &[0, 1, 2, 3, 4, 10, 10, 12, 18, 26, 34, 41, 255]);
            options.push(length);
            options.extend(std::iter::repeat_n(1, usize::from(length).saturating_sub(2)));
        }
    }
    options.truncate(40);
    options
}

fn random_extension(random: &mut Random) -> (u8, Vec<u8>) {
    match random.below(5) {
        0 => authentication(random.below(6) as u8),
        1 => fragment(pick(random, &[0, 0, 6, 1, 8, 0xfff8])),
        _ => {
            let number = pick(random, &[0, 43, 60]);
            extension(number, random.below(4) as u8)
        }
    }
}

fn bytes(random: &mut Random, words: u64) -> Vec<u8> {
    (0..random.below(words + 1) * 4).map(|_| random.below(256) as u8).collect()
}

fn pick<T: Copy>(random: &mut Random, from: &[T]) -> T {
    from[random.below(from.len() as u64) as usize]
}
