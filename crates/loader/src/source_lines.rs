// SPDX-License-Identifier: MIT OR Apache-2.0
//! From an instruction of a program to the line of C that it was compiled from: `.BTF.ext` of an object file.

use std::path::Path;

use object::{Object as _, ObjectSection as _, ObjectSymbol as _};

/// A line of a C file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SourceLine {
    /// File, without its folder.
    pub(crate) file: String,
    /// Counted from 1.
    pub(crate) number: u32,
    /// The line itself.
    pub(crate) text: String,
}

/// The lines of all programs of an object file. A file that is damaged has fewer of them, or none.
pub(crate) struct SourceLines<'a> {
    file: object::File<'a>,
    types: &'a [u8],
    lines: &'a [u8],
}

/// `struct bpf_line_info` of include/uapi/linux/bpf.h.
const RECORD_WORDS: usize = 4;
const INSTRUCTION_BYTES: u32 = 8;
/// `BPF_LINE_INFO_LINE_NUM`: the column is below.
const COLUMN_BITS: u32 = 10;

impl<'a> SourceLines<'a> {
    /// Of the bytes of an object file.
    pub(crate) fn of(bytes: &'a [u8]) -> Option<Self> {
        let file = object::File::parse(bytes).ok()?;
        let section = |name: &str| file.section_by_name(name).and_then(|section| section.data().ok());
        let (types, lines) = (section(".BTF")?, section(".BTF.ext")?);
        Some(Self { file, types, lines })
    }

    /// The line of a program's instruction; None for those of functions that are not inlined into it.
    pub(crate) fn at(&self, program: &str, instruction: u32) -> Option<SourceLine> {
        let symbol = self.file.symbols().find(|symbol| symbol.name() == Ok(program))?;
        let section = self.file.section_by_index(symbol.section_index()?).ok()?;
        let start = u32::try_from(symbol.address()).ok()?;
        let offset = instruction.checked_mul(INSTRUCTION_BYTES)?;
        if u64::from(offset) >= symbol.size() {
            return None;
        }
        let records = self.records_of(section.name().ok()?)?;
        let within = records.filter(|record| (start..=start.saturating_add(offset)).contains(&record[0]));
        let [_, file, text, line] = within.max_by_key(|record| record[0])?;
        let file = self.string(file)?;
        let file = Path::new(&file).file_name().map_or(file.clone(), |name| name.to_string_lossy().into_owned());
        Some(SourceLine { file, number: line >> COLUMN_BITS, text: self.string(text)?.trim().to_owned() })
    }

    /// The records of a section, as `struct btf_ext_header` and `struct btf_ext_info_sec` lay them out.
    fn records_of(&self, section: &str) -> Option<impl Iterator<Item = [u32; RECORD_WORDS]> + use<'a>> {
        let header_bytes = word(self.lines, 4)? as usize;
        let start = header_bytes.checked_add(word(self.lines, 16)? as usize)?;
        let part = self.lines.get(start..start.checked_add(word(self.lines, 20)? as usize)?)?;
        let record_bytes = word(part, 0)? as usize;
        if record_bytes < 4 * RECORD_WORDS {
            return None;
        }
        let mut rest = part.get(4..)?;
        loop {
            let (name, count) = (word(rest, 0)?, word(rest, 4)? as usize);
            let bytes = count.checked_mul(record_bytes)?;
            let records = rest.get(8..8_usize.checked_add(bytes)?)?;
            if self.string(name).as_deref() == Some(section) {
                return Some(records.chunks_exact(record_bytes).filter_map(|record| {
                    Some([word(record, 0)?, word(record, 4)?, word(record, 8)?, word(record, 12)?])
                }));
            }
            rest = rest.get(8 + bytes..)?;
        }
    }

    /// A string of `.BTF`, by `struct btf_header`.
    fn string(&self, offset: u32) -> Option<String> {
        let strings = (word(self.types, 4)? as usize).checked_add(word(self.types, 16)? as usize)?;
        let bytes = self.types.get(strings.checked_add(offset as usize)?..)?;
        let end = bytes.iter().position(|byte| *byte == 0)?;
        Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
    }
}

fn word(bytes: &[u8], offset: usize) -> Option<u32> {
    bytes.get(offset..)?.first_chunk().copied().map(u32::from_le_bytes)
}
