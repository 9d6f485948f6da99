// SPDX-License-Identifier: MIT OR Apache-2.0
//! A reader of frames for the tests, written from the RFCs and sharing nothing with `xdp/packet.h`.

/// SACK blocks of a frame that is an ACK; none if it is anything else.
pub fn ack_in(frame: &[u8]) -> Option<usize> {
    let (mut ethertype, mut rest) = (u16_at(frame, 12)?, frame.get(14..)?);
    let mut tags = 0;
    while matches!(ethertype, 0x8100 | 0x88a8) {
        tags += 1;
        if tags > 4 {
            return None; // more than the programs promise to look through
        }
        (ethertype, rest) = (u16_at(rest, 2)?, rest.get(4..)?);
    }
    let segment = match ethertype {
        0x0800 => ipv4(rest)?,
        0x86dd => ipv6(rest)?,
        _ => return None,
    };
    tcp(segment)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]))
}

/// RFC 791: the payload, if the packet is whole and TCP.
fn ipv4(packet: &[u8]) -> Option<&[u8]> {
    packet.get(19)?; // the fixed part
    let header = usize::from(packet[0] % 16) * 4;
    let total = usize::from(u16_at(packet, 2)?);
    let fragment = u16_at(packet, 6)?;
    let (more, offset) = (fragment & 0x2000 != 0, fragment & 0x1fff);
    let sane = packet[0] / 16 == 4 && header >= 20 && total >= header && packet[9] == 6 && !more && offset == 0;
    if sane {
        packet.get(header..total)
    } else {
        None
    }
}

/// RFC 8200, RFC 4302, RFC 6946
fn ipv6(packet: &[u8]) -> Option<&[u8]> {
    packet.get(39)?;
    if packet[0] / 16 != 6 {
        return None;
    }
    let length = usize::from(u16_at(packet, 4)?);
    let (mut next, mut rest) = (packet[6], packet.get(40..40 + length)?);
    for _ in 0..8 {
        let bytes = match next {
            0 | 43 | 60 => 8 + 8 * usize::from(*rest.get(1)?),
            51 => 8 + 4 * usize::from(*rest.get(1)?),
            44 if u16_at(rest, 2)? & 0xfff8 == 0 && rest.get(3)? & 1 == 0 => 8,
            44 => return None,
            _ => break,
        };
        rest.get(7)?;
        (next, rest) = (rest[0], rest.get(bytes..)?);
    }
    (next == 6).then_some(rest)
}

/// RFC 9293 and RFC 2018: a segment that is all header, with ACK and none of SYN, FIN, RST.
fn tcp(segment: &[u8]) -> Option<usize> {
    let header = usize::from(segment.get(12)? / 16) * 4;
    let flags = segment.get(13)?;
    if header < 20 || segment.len() != header || flags & 0x10 == 0 || flags & 0x07 != 0 {
        return None;
    }
    let (mut options, mut blocks) = (&segment[20..], 0);
    while let Some((&kind, after)) = options.split_first() {
        match kind {
            0 => break,
            1 => options = after,
            _ => {
                let length = usize::from(after.first().copied().unwrap_or(0));
                let Some(option) = options.get(..length).filter(|option| option.len() >= 2) else { break };
                let pairs = option.len() - 2;
                if kind == 5 && pairs > 0 && pairs % 8 == 0 {
                    blocks = pairs / 8;
                }
                options = &options[length..];
            }
        }
    }
    Some(blocks)
}
