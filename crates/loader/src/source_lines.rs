// SPDX-License-Identifier: MIT OR Apache-2.0
//! From an instruction of a program to the line of C that it was compiled from: `.BTF.ext` of an object file.

use std::path::Path;

use object::{Object as _, ObjectSection as _, ObjectSymbol as _};

use ccctl_catalog::btf_ext::{BtfExt, Notes};

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
    notes: BtfExt<'a>,
}

const INSTRUCTION_BYTES: u32 = 8;
/// `BPF_LINE_INFO_LINE_NUM`: the column is below.
const COLUMN_BITS: u32 = 10;

impl<'a> SourceLines<'a> {
    /// Of the bytes of an object file.
    pub(crate) fn of(bytes: &'a [u8]) -> Option<Self> {
        let file = object::File::parse(bytes).ok()?;
        let notes = BtfExt::of(&file)?;
        Some(Self { file, notes })
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
        let name = section.name().ok()?;
        let (_, records) = self.notes.sections(Notes::Lines)?.into_iter().find(|(section, _)| section == name)?;
        let within = records.into_iter().filter(|record| (start..=start.saturating_add(offset)).contains(&record[0]));
        let [_, file, text, line] = within.max_by_key(|record| record[0])?;
        let file = self.notes.string(file)?;
        let file = Path::new(&file).file_name().map_or(file.clone(), |name| name.to_string_lossy().into_owned());
        Some(SourceLine { file, number: line >> COLUMN_BITS, text: self.notes.string(text)?.trim().to_owned() })
    }
}
