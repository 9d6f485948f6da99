// SPDX-License-Identifier: MIT OR Apache-2.0
//! What only the running kernel's BTF tells: the names of drop reasons, whose numbers differ between kernels, and how
//! many arguments a trace point has. aya reads BTF to relocate programs but shows no enum's members.

use std::collections::BTreeMap;
use std::fs;

use crate::error::{Error, Result};

const PATH: &str = "/sys/kernel/btf/vmlinux";
const MAGIC: u16 = 0xeb9f;
const REASONS: &str = "skb_drop_reason";
const REASON_PREFIX: &str = "SKB_DROP_REASON_";
const DROP_TRACE_POINT: &str = "btf_trace_kfree_skb";
/// skb, location, reason, receiving socket; before them BTF counts the trace point's own data.
const ARGUMENTS_WITH_SOCKET: u32 = 5;

/// Kinds of include/uapi/linux/btf.h
mod kind {
    pub const INT: u32 = 1;
    pub const POINTER: u32 = 2;
    pub const ARRAY: u32 = 3;
    pub const STRUCT: u32 = 4;
    pub const UNION: u32 = 5;
    pub const ENUM: u32 = 6;
    pub const TYPEDEF: u32 = 8;
    pub const FUNC_PROTO: u32 = 13;
    pub const VAR: u32 = 14;
    pub const DATASEC: u32 = 15;
    pub const DECL_TAG: u32 = 17;
    pub const ENUM64: u32 = 19;
}

/// What the running kernel's BTF says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct KernelTypes {
    /// Names of drop reasons.
    pub drop_reasons: BTreeMap<u32, String>,
    /// `kfree_skb` tells the receiving socket.
    pub drop_has_socket: bool,
}

impl KernelTypes {
    /// Reads the BTF of the running kernel.
    pub(crate) fn read() -> Result<Self> {
        let bytes = fs::read(PATH).map_err(Error::io(format!("read {PATH}")))?;
        Self::parse(&bytes).ok_or(Error::Kernel("readable BTF"))
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let types = Types::of(bytes)?;
        let mut found = Self::default();
        for number in 1..types.starts.len() {
            let header = types.header(number as u32)?;
            match header.kind {
                kind::ENUM if types.name(header.name) == REASONS => found.drop_reasons = types.reasons(&header)?,
                kind::TYPEDEF if types.name(header.name) == DROP_TRACE_POINT => {
                    found.drop_has_socket = types.arguments(header.size_or_type)? >= ARGUMENTS_WITH_SOCKET;
                }
                _ => {}
            }
        }
        Some(found)
    }
}

/// `struct btf_type`
struct Header {
    name: u32,
    kind: u32,
    length: u32,
    size_or_type: u32,
    /// Where its members begin.
    members: usize,
}

struct Types<'a> {
    section: &'a [u8],
    strings: &'a [u8],
    /// Where each type begins; number 0 is void.
    starts: Vec<usize>,
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

impl<'a> Types<'a> {
    /// `struct btf_header`, then types and strings.
    fn of(bytes: &'a [u8]) -> Option<Self> {
        if u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?) != MAGIC {
            return None;
        }
        let field = |number: usize| word(bytes, 4 + 4 * number).map(|value| value as usize);
        let (header, types, types_len) = (field(0)?, field(1)?, field(2)?);
        let (strings, strings_len) = (field(3)?, field(4)?);
        let section = bytes.get(header + types..header + types + types_len)?;
        let strings = bytes.get(header + strings..header + strings + strings_len)?;
        let mut all = Self { section, strings, starts: vec![0] };
        let mut at = 0;
        while at < section.len() {
            all.starts.push(at);
            let header = all.header_at(at)?;
            at = header.members + member_bytes(&header);
        }
        Some(all)
    }

    fn header(&self, number: u32) -> Option<Header> {
        self.header_at(*self.starts.get(number as usize).filter(|_| number > 0)?)
    }

    fn header_at(&self, at: usize) -> Option<Header> {
        let info = word(self.section, at + 4)?;
        Some(Header {
            name: word(self.section, at)?,
            kind: info >> 24 & 0x1f,
            length: info & 0xffff,
            size_or_type: word(self.section, at + 8)?,
            members: at + 12,
        })
    }

    fn name(&self, offset: u32) -> &'a str {
        let bytes = self.strings.get(offset as usize..).unwrap_or_default();
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(0);
        std::str::from_utf8(&bytes[..end]).unwrap_or_default()
    }

    fn reasons(&self, header: &Header) -> Option<BTreeMap<u32, String>> {
        let mut reasons = BTreeMap::new();
        for member in 0..header.length as usize {
            let at = header.members + 8 * member;
            let name = self.name(word(self.section, at)?);
            let value = word(self.section, at + 4)?;
            let short = name.strip_prefix(REASON_PREFIX).unwrap_or(name);
            if !matches!(short, "MAX" | "SUBSYS_MASK") {
                reasons.insert(value, short.to_owned());
            }
        }
        Some(reasons)
    }

    /// Of a pointer to a function.
    fn arguments(&self, pointer: u32) -> Option<u32> {
        let pointer = self.header(pointer).filter(|header| header.kind == kind::POINTER)?;
        let function = self.header(pointer.size_or_type).filter(|header| header.kind == kind::FUNC_PROTO)?;
        Some(function.length)
    }
}

fn member_bytes(header: &Header) -> usize {
    let each = match header.kind {
        kind::INT | kind::VAR | kind::DECL_TAG => return 4,
        kind::ARRAY => return 12,
        kind::STRUCT | kind::UNION | kind::DATASEC | kind::ENUM64 => 12,
        kind::ENUM | kind::FUNC_PROTO => 8,
        _ => 0,
    };
    each * header.length as usize
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Their numbers differ between kernels; these names are common to all since 5.17.
    #[test]
    fn the_running_kernel_names_its_drop_reasons() {
        let types = KernelTypes::read().unwrap();
        for name in ["NOT_SPECIFIED", "NO_SOCKET", "SOCKET_RCVBUFF"] {
            assert!(types.drop_reasons.values().any(|known| known == name), "{name}: {:?}", types.drop_reasons);
        }
    }

    #[test]
    fn damaged_btf_is_refused() {
        let bytes = fs::read(PATH).unwrap();
        assert_eq!(KernelTypes::parse(&bytes[..bytes.len() / 2]), None);
        assert_eq!(KernelTypes::parse(b"no BTF at all"), None);
    }
}
