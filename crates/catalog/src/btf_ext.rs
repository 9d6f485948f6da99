// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a compiler notes of an object's instructions: `.BTF.ext`. A file that is damaged has fewer notes, or none.

use std::collections::BTreeSet;

use crate::kernel_btf::{kind, KernelBtf};
use object::{Object as _, ObjectSection as _};

/// Which notes: where `struct btf_ext_header` has their offset.
#[derive(Debug, Clone, Copy)]
pub enum Notes {
    /// `struct bpf_line_info` of include/uapi/linux/bpf.h.
    Lines = 16,
    /// `struct bpf_core_relo` of the same.
    Relocations = 24,
}

const RECORD_WORDS: usize = 4;
/// The first four words; of both kinds of notes there are not more.
pub type Record = [u32; RECORD_WORDS];

/// Up to here a relocation asks for a field of a type, and no further (`enum bpf_core_relo_kind`).
const LAST_OF_FIELDS: u32 = 5;

/// The notes of an object file.
pub struct BtfExt<'a> {
    types: &'a [u8],
    notes: &'a [u8],
}

impl<'a> BtfExt<'a> {
    /// Of this file; none where it has no such sections.
    #[must_use]
    pub fn of(file: &object::File<'a>) -> Option<Self> {
        let section = |name: &str| file.section_by_name(name).and_then(|section| section.data().ok());
        Some(Self { types: section(".BTF")?, notes: section(".BTF.ext")? })
    }

    /// The notes of each section, as `struct btf_ext_header` and `struct btf_ext_info_sec` lay them out.
    #[must_use]
    pub fn sections(&self, notes: Notes) -> Option<Vec<(String, Vec<Record>)>> {
        let at = notes as usize;
        let start = (word(self.notes, 4)? as usize).checked_add(word(self.notes, at)? as usize)?;
        let mut rest = self.notes.get(start..start.checked_add(word(self.notes, at + 4)? as usize)?)?;
        let mut sections = Vec::new();
        if rest.is_empty() {
            return Some(sections);
        }
        let record_bytes = word(rest, 0).map(|bytes| bytes as usize).filter(|bytes| *bytes >= 4 * RECORD_WORDS)?;
        rest = &rest[4..];
        while !rest.is_empty() {
            let (name, count) = (word(rest, 0)?, word(rest, 4)? as usize);
            let end = count.checked_mul(record_bytes)?.checked_add(8)?;
            let records = rest.get(8..end)?.chunks_exact(record_bytes);
            let records = records.map(|record| [0, 4, 8, 12].map(|at| word(record, at).unwrap_or_default()));
            sections.push((self.string(name)?, records.collect()));
            rest = &rest[end..];
        }
        Some(sections)
    }

    /// A string of `.BTF`, by `struct btf_header`.
    #[must_use]
    pub fn string(&self, offset: u32) -> Option<String> {
        let strings = (word(self.types, 4)? as usize).checked_add(word(self.types, 16)? as usize)?;
        let bytes = self.types.get(strings.checked_add(offset as usize)?..)?;
        let end = bytes.iter().position(|byte| *byte == 0)?;
        Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
    }

    /// The structs whose fields are relocated; None where something else is.
    #[must_use]
    pub fn relocated_structs(&self) -> Option<BTreeSet<String>> {
        let types = KernelBtf::of(self.types)?;
        let mut names = BTreeSet::new();
        for [_, id, _, what] in self.sections(Notes::Relocations)?.into_iter().flat_map(|(_, records)| records) {
            let header = types.header(id).filter(|header| header.kind == kind::STRUCT && what <= LAST_OF_FIELDS)?;
            let name = types.name(&header);
            names.insert(name.split_once("___").map_or(name, |(essential, _)| essential).to_owned());
        }
        Some(names)
    }
}

fn word(bytes: &[u8], offset: usize) -> Option<u32> {
    bytes.get(offset..)?.first_chunk().copied().map(u32::from_le_bytes)
}
