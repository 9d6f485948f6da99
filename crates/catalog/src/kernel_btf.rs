// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's BTF, of which few types of more than 100,000 are asked for: libbpf checks each of them and aya keeps each
//! of them, which takes as long as everything else that a command does. Here one pass notes where each type begins.

/// Where the running kernel shows it.
pub const KERNEL_BTF: &str = "/sys/kernel/btf/vmlinux";

pub(crate) const MAGIC: u16 = 0xeb9f;
const HEADER_BYTES: usize = 12;
pub(crate) const MEMBER_BYTES: usize = 12;
const ENUM_VALUE_BYTES: usize = 8;

/// Kinds of types (include/uapi/linux/btf.h).
#[allow(missing_docs)]
pub mod kind {
    pub const INT: u32 = 1;
    pub const POINTER: u32 = 2;
    pub const ARRAY: u32 = 3;
    pub const STRUCT: u32 = 4;
    pub const UNION: u32 = 5;
    pub const ENUM: u32 = 6;
    pub const FORWARD: u32 = 7;
    pub const TYPEDEF: u32 = 8;
    pub const VOLATILE: u32 = 9;
    pub const CONST: u32 = 10;
    pub const RESTRICT: u32 = 11;
    pub const FUNC_PROTO: u32 = 13;
    pub const VAR: u32 = 14;
    pub const DATASEC: u32 = 15;
    pub const FLOAT: u32 = 16;
    pub const DECL_TAG: u32 = 17;
    pub const TYPE_TAG: u32 = 18;
    pub const ENUM64: u32 = 19;
}

/// `struct btf_type`.
#[derive(Debug, Clone, Copy)]
pub struct Header {
    name: u32,
    /// One of [`kind`].
    pub kind: u32,
    /// How many members, values or arguments it has.
    pub length: u32,
    /// Its size in bytes, or the type that it refers to.
    pub size_or_type: u32,
    has_bit_fields: bool,
    /// Where its members begin.
    pub(crate) members: usize,
}

/// A member of a struct.
#[derive(Debug, Clone, Copy)]
pub struct Member<'a> {
    /// Its name; empty where it has none.
    pub name: &'a str,
    /// Its type.
    pub type_id: u32,
    /// From the start of the struct.
    pub bit_offset: u32,
}

/// The types in a kernel's BTF.
pub struct KernelBtf<'a> {
    section: &'a [u8],
    strings: &'a [u8],
    /// Where each type begins; number 0 is void.
    starts: Vec<u32>,
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes))
}

impl<'a> KernelBtf<'a> {
    /// `struct btf_header`, then types and strings. None of what is damaged.
    #[must_use]
    pub fn of(bytes: &'a [u8]) -> Option<Self> {
        if u16::from_ne_bytes(*bytes.first_chunk()?) != MAGIC {
            return None;
        }
        let field = |number: usize| word(bytes, 4 + 4 * number).map(|value| value as usize);
        let (header, types, types_len) = (field(0)?, field(1)?, field(2)?);
        let (strings, strings_len) = (field(3)?, field(4)?);
        let section = bytes.get(header + types..header + types + types_len)?;
        let strings = bytes.get(header + strings..header + strings + strings_len)?;
        let mut all = Self { section, strings, starts: Vec::with_capacity(section.len() / HEADER_BYTES) };
        all.starts.push(0);
        let mut at = 0;
        while at < section.len() {
            all.starts.push(u32::try_from(at).ok()?);
            let info = word(section, at + 4)?;
            at += HEADER_BYTES + bytes_of_members(kind_of(info), length_of(info));
        }
        Some(all)
    }

    /// The first type of each kind and name, with its number; all are found in one pass.
    #[must_use]
    pub fn find(&self, wanted: &[(u32, &str)]) -> Vec<Option<(u32, Header)>> {
        let mut found = vec![None; wanted.len()];
        let kinds = wanted.iter().fold(0_u32, |kinds, (kind, _)| kinds | 1 << kind);
        for (id, start) in (0..).zip(&self.starts).skip(1) {
            let info = word(self.section, *start as usize + 4).unwrap_or_default();
            if kinds & 1 << kind_of(info) == 0 {
                continue; // most of them
            }
            let Some(header) = self.header_at(*start as usize) else { continue };
            for (room, (kind, name)) in found.iter_mut().zip(wanted) {
                if header.kind == *kind && room.is_none() && self.is_named(&header, name) {
                    *room = Some((id, header));
                }
            }
        }
        found
    }

    /// The type of this number; None of void.
    #[must_use]
    pub fn header(&self, id: u32) -> Option<Header> {
        self.header_at(*self.starts.get(id as usize).filter(|_| id > 0)? as usize)
    }

    fn header_at(&self, at: usize) -> Option<Header> {
        let bytes: &[u8; HEADER_BYTES] = self.section.get(at..)?.first_chunk()?;
        let info = word(bytes, 4)?;
        Some(Header {
            name: word(bytes, 0)?,
            kind: kind_of(info),
            length: length_of(info) as u32,
            size_or_type: word(bytes, 8)?,
            has_bit_fields: info >> 31 == 1,
            members: at + HEADER_BYTES,
        })
    }

    /// All types of a kind, with their numbers.
    pub(crate) fn all(&self, kind: u32) -> impl Iterator<Item = (u32, Header)> + '_ {
        let headers =
            (0..).zip(&self.starts).skip(1).filter_map(|(id, start)| Some((id, self.header_at(*start as usize)?)));
        headers.filter(move |(_, header)| header.kind == kind)
    }

    /// A type's name; empty where it has none.
    #[must_use]
    pub fn name(&self, header: &Header) -> &'a str {
        self.text(header.name)
    }

    /// The word that has a type's kind.
    pub(crate) fn info(&self, header: &Header) -> Option<u32> {
        self.word(header.members - 8)
    }

    pub(crate) fn word(&self, at: usize) -> Option<u32> {
        word(self.section, at)
    }

    fn is_named(&self, header: &Header, name: &str) -> bool {
        let text = self.strings.get(header.name as usize..).unwrap_or_default();
        // few have its length
        text.get(name.len()) == Some(&0) && text.starts_with(name.as_bytes())
    }

    fn text(&self, offset: u32) -> &'a str {
        let bytes = self.strings.get(offset as usize..).unwrap_or_default();
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(0);
        std::str::from_utf8(&bytes[..end]).unwrap_or_default()
    }

    /// Members of a struct or union.
    pub fn members(&self, header: Header) -> impl Iterator<Item = Member<'a>> + '_ {
        let offset_mask = if header.has_bit_fields { 0xff_ffff } else { u32::MAX };
        (0..header.length as usize).filter_map(move |index| {
            let at = header.members + MEMBER_BYTES * index;
            let field = |offset| word(self.section, at + offset);
            Some(Member { name: self.text(field(0)?), type_id: field(4)?, bit_offset: field(8)? & offset_mask })
        })
    }

    /// Names and values of an enum of 32 bits.
    pub fn values(&self, header: Header) -> impl Iterator<Item = (&'a str, u32)> + '_ {
        (0..header.length as usize).filter_map(move |index| {
            let at = header.members + ENUM_VALUE_BYTES * index;
            Some((self.text(word(self.section, at)?), word(self.section, at + 4)?))
        })
    }

    /// The type behind typedefs and qualifiers.
    #[must_use]
    pub fn resolved(&self, id: u32) -> Option<Header> {
        let mut header = self.header(id)?;
        while matches!(header.kind, kind::TYPEDEF | kind::VOLATILE | kind::CONST | kind::RESTRICT | kind::TYPE_TAG) {
            header = self.header(header.size_or_type)?;
        }
        Some(header)
    }

    /// How many arguments a pointer's function has.
    #[must_use]
    pub fn arguments(&self, pointer: u32) -> Option<u32> {
        let pointer = self.resolved(pointer).filter(|header| header.kind == kind::POINTER)?;
        let function = self.resolved(pointer.size_or_type).filter(|header| header.kind == kind::FUNC_PROTO)?;
        Some(function.length)
    }
}

fn kind_of(info: u32) -> u32 {
    info >> 24 & 0x1f
}

fn length_of(info: u32) -> usize {
    (info & 0xffff) as usize
}

fn bytes_of_members(kind: u32, length: usize) -> usize {
    match kind {
        kind::INT | kind::VAR | kind::DECL_TAG => 4,
        kind::ARRAY => 12,
        kind::STRUCT | kind::UNION | kind::DATASEC | kind::ENUM64 => MEMBER_BYTES * length,
        kind::ENUM | kind::FUNC_PROTO => ENUM_VALUE_BYTES * length,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `struct list_head { struct list_head *next, *prev; }` (include/linux/types.h), and `enum tcp_ca_state`.
    #[test]
    fn the_running_kernels_types() {
        let bytes = std::fs::read(KERNEL_BTF).expect("kernels that ccctl runs on have BTF");
        let btf = KernelBtf::of(&bytes).expect("readable");
        let wanted = [(kind::STRUCT, "list_head"), (kind::ENUM, "tcp_ca_state"), (kind::STRUCT, "list_hea")];
        let [Some((id, list)), Some((_, states)), None] = btf.find(&wanted)[..] else { panic!("two of three") };
        assert_eq!(btf.header(id).map(|header| header.size_or_type), Some(16));
        let members: Vec<_> = btf.members(list).map(|member| (member.name, member.bit_offset)).collect();
        assert_eq!(members, [("next", 0), ("prev", 64)]);
        let next = btf.members(list).next().expect("a member");
        assert_eq!(btf.resolved(next.type_id).map(|header| header.kind), Some(kind::POINTER));
        assert!(btf.values(states).any(|value| value == ("TCP_CA_Loss", 4)));
    }

    #[test]
    fn damaged_btf_is_refused() {
        let bytes = std::fs::read(KERNEL_BTF).expect("kernels that ccctl runs on have BTF");
        assert!(KernelBtf::of(&bytes[..bytes.len() / 2]).is_none());
        assert!(KernelBtf::of(b"no BTF at all").is_none());
        assert!(KernelBtf::of(&[]).is_none());
    }
}
