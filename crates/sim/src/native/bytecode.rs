// SPDX-License-Identifier: GPL-2.0-only
//! An algorithm's BPF object, made ready for the interpreter: one program that begins with a jump to the hook that is wanted.
//! What the interpreter would do otherwise than the kernel is refused here.

use std::collections::BTreeMap;

use ccctl_catalog::btf_ext::{BtfExt, Notes};
use object::{
    Object as _, ObjectSection as _, ObjectSymbol as _, RelocationFlags, RelocationTarget, SectionIndex, SectionKind,
};

use super::bindings::CC_STORE_BYTES;
use super::core_fields::{FieldError, Fields};
use super::instructions::{
    immediate, patch, vet, with_dispatcher, with_plain_additions, with_wide_comparisons, INSTRUCTION_BYTES,
};
use super::object_error::ObjectError;

/// All that the kernel takes of one program is a million; the interpreter jumps by at most 32,767.
const MOST_INSTRUCTIONS: usize = 16_384;
/// Read-only data, parameters, and what flows share, together.
const MOST_DATA_BYTES: usize = 1 << 20;

/// The map of `CC_STORE_STRUCT`. A simulated socket has its storage inside.
const STORE: &str = "cc_store";
/// The map of `CC_CONNECTION_PARAMS`. There are no rules, and so nothing is in it.
const OWN_PARAMETERS: &str = "cc_own_params";
const PARAMETERS: &str = ".data.params";
/// Of `CC_SHARED_STRUCT`: each instance has its own, as each load in the kernel has.
const SHARED: &str = ".data.shared";
const OPS: &str = ".struct_ops.link";

// `enum` of the relocations of BPF, in LLVM's BPF.def
const R_BPF_64_64: u32 = 1;
const R_BPF_64_ABS64: u32 = 2;
const R_BPF_64_32: u32 = 10;

/// Hooks that the simulator calls, and one that only a replay of recorded calls does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hook {
    Init,
    Release,
    Ssthresh,
    CongAvoid,
    SetState,
    CwndEvent,
    CwndEventTxStart,
    InAckEvent,
    PktsAcked,
    CongControl,
    UndoCwnd,
    MinTsoSegs,
}

impl Hook {
    const ALL: [Self; 12] = [
        Self::Init,
        Self::Release,
        Self::Ssthresh,
        Self::CongAvoid,
        Self::SetState,
        Self::CwndEvent,
        Self::CwndEventTxStart,
        Self::InAckEvent,
        Self::PktsAcked,
        Self::CongControl,
        Self::UndoCwnd,
        Self::MinTsoSegs,
    ];

    /// That of a member of `struct tcp_congestion_ops`.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|hook| hook.name() == name)
    }

    /// The member of `struct tcp_congestion_ops`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Init => "init",
            Self::Release => "release",
            Self::Ssthresh => "ssthresh",
            Self::CongAvoid => "cong_avoid",
            Self::SetState => "set_state",
            Self::CwndEvent => "cwnd_event",
            Self::CwndEventTxStart => "cwnd_event_tx_start",
            Self::InAckEvent => "in_ack_event",
            Self::PktsAcked => "pkts_acked",
            Self::CongControl => "cong_control",
            Self::UndoCwnd => "undo_cwnd",
            Self::MinTsoSegs => "min_tso_segs",
        }
    }
}

/// The program and its data. The address of the data is filled in for each instance.
pub(super) struct Bytecode {
    pub(super) name: String,
    pub(super) code: Vec<u8>,
    pub(super) data: Vec<u8>,
    /// Instructions that load an address of the data, and where in the data it is.
    pub(super) addresses: Vec<(usize, u64)>,
    /// Where in the data the store of parameters is.
    pub(super) parameters_at: usize,
    pub(super) flags: u32,
    entries: BTreeMap<usize, usize>, // of hooks by their number
}

impl Bytecode {
    pub(super) fn of_object(name: &str, object: &[u8]) -> Result<Self, ObjectError> {
        let file = object::File::parse(object).map_err(|_| ObjectError::Missing("ELF header"))?;
        let fields = Fields::of(object).ok_or(ObjectError::Missing("BTF"))?;
        let mut parts = Parts::of(&file)?;
        parts.relocate_fields(&file, &fields)?;
        let has_store = fields.bytes_of(&format!("{name}_store")).is_some_and(|bytes| bytes <= CC_STORE_BYTES);
        parts.relocate(&file, has_store)?;
        let (entries, flags) = parts.hooks(&file, &fields)?;
        vet(&parts.code)?;
        let wide = with_plain_additions(&with_wide_comparisons(&parts.code)?)?;
        let code = with_dispatcher(&wide, &entries)?;
        let before = (code.len() - wide.len()) / INSTRUCTION_BYTES;
        Ok(Self {
            name: name.to_owned(),
            code,
            data: parts.data,
            addresses: parts.addresses.iter().map(|(at, data)| (at + before, *data)).collect(),
            parameters_at: parts.parameters_at.ok_or(ObjectError::Missing("parameters"))?,
            flags,
            entries,
        })
    }

    pub(super) fn has(&self, hook: Hook) -> bool {
        self.entries.contains_key(&(hook as usize))
    }
}

/// Sections of an object, put together.
struct Parts {
    code: Vec<u8>,
    code_at: BTreeMap<usize, usize>, // first instruction, by section
    data: Vec<u8>,
    data_at: BTreeMap<usize, usize>, // first byte, by section
    addresses: Vec<(usize, u64)>,
    parameters_at: Option<usize>,
}

impl Parts {
    fn of(file: &object::File<'_>) -> Result<Self, ObjectError> {
        let mut parts = Self {
            code: Vec::new(),
            code_at: BTreeMap::new(),
            data: Vec::new(),
            data_at: BTreeMap::new(),
            addresses: Vec::new(),
            parameters_at: None,
        };
        for section in file.sections() {
            let (name, index) = (section.name().unwrap_or_default(), section.index().0);
            let data = section.data().map_err(|_| ObjectError::Missing("readable sections"))?;
            if section.kind() == SectionKind::Text {
                parts.code_at.insert(index, parts.code.len() / INSTRUCTION_BYTES);
                parts.code.extend(data);
            } else if name == PARAMETERS || name == SHARED || name.starts_with(".rodata") {
                parts.data.resize(parts.data.len().next_multiple_of(8), 0);
                if name == PARAMETERS {
                    parts.parameters_at = Some(parts.data.len());
                }
                parts.data_at.insert(index, parts.data.len());
                parts.data.extend(data);
            } else if (name.starts_with(".bss") || name.starts_with(".data")) && section.size() > 0 {
                return Err(ObjectError::Globals(name.to_owned()));
            }
        }
        let sizes = [
            ("instructions", parts.code.len() / INSTRUCTION_BYTES, MOST_INSTRUCTIONS),
            ("bytes of data", parts.data.len(), MOST_DATA_BYTES),
        ];
        match sizes.into_iter().find(|(_, have, most)| have > most) {
            Some((what, have, most)) => Err(ObjectError::Large { what, have, most }),
            None => Ok(parts),
        }
    }

    /// Fills in where fields are, by the notes in `.BTF.ext`.
    fn relocate_fields(&mut self, file: &object::File<'_>, fields: &Fields<'_>) -> Result<(), ObjectError> {
        let notes = BtfExt::of(file).ok_or(ObjectError::Missing("notes on its instructions (.BTF.ext)"))?;
        let sections = notes.sections(Notes::Relocations).ok_or(FieldError::Notes)?;
        for (name, records) in sections {
            let section = file.section_by_name(&name).ok_or(FieldError::Notes)?.index().0;
            let first = *self.code_at.get(&section).ok_or(FieldError::Notes)?;
            for [offset, root, access, kind] in records {
                let access = notes.string(access).ok_or(FieldError::Notes)?;
                let value = fields.value(root, &access, kind)?;
                let at = first + offset as usize / INSTRUCTION_BYTES;
                patch(self.instruction(at).ok_or(FieldError::Notes)?, value).ok_or(FieldError::Notes)?;
            }
        }
        Ok(())
    }

    fn instruction(&mut self, at: usize) -> Option<&mut [u8; INSTRUCTION_BYTES]> {
        self.code.as_chunks_mut().0.get_mut(at)
    }

    /// Fills in addresses of data and of functions, and takes out the maps of socket storage and of connections' own parameters.
    fn relocate(&mut self, file: &object::File<'_>, has_store: bool) -> Result<(), ObjectError> {
        let sections: Vec<(usize, usize)> = self.code_at.iter().map(|(index, first)| (*index, *first)).collect();
        for (index, first) in sections {
            let section = file.section_by_index(SectionIndex(index)).map_err(|_| ObjectError::Missing("sections"))?;
            for (offset, relocation) in section.relocations() {
                let RelocationTarget::Symbol(symbol) = relocation.target() else { continue };
                let symbol = file.symbol_by_index(symbol).map_err(|_| ObjectError::Missing("symbols"))?;
                let target = symbol.section_index().map(|section| section.0);
                let Some(target) = target else {
                    let name = symbol.name().unwrap_or("a symbol");
                    return Err(ObjectError::Foreign(format!("the kernel's {name}")));
                };
                let at = first + offset as usize / INSTRUCTION_BYTES;
                if (has_store && symbol.name() == Ok(STORE)) || symbol.name() == Ok(OWN_PARAMETERS) {
                    // The helpers do without it.
                    self.instruction(at).ok_or(ObjectError::Missing("instruction at a relocation"))?[1] &= 0x0f;
                    continue;
                }
                self.relocate_one(at, kind_of(relocation.flags()), target, symbol.address())?;
            }
        }
        Ok(())
    }

    fn relocate_one(&mut self, at: usize, kind: u32, section: usize, address: u64) -> Result<(), ObjectError> {
        let (data, code) = (self.data_at.get(&section).copied(), self.code_at.get(&section).copied());
        let missing = || ObjectError::Missing("instruction at a relocation");
        match (kind, data, code) {
            (R_BPF_64_64, Some(data), _) => {
                let addend = immediate(*self.instruction(at).ok_or_else(missing)?);
                self.addresses.push((at, (data as u64).wrapping_add(address).wrapping_add(addend as u64)));
                self.instruction(at).ok_or_else(missing)?[1] &= 0x0f; // no map: an address
                Ok(())
            }
            (R_BPF_64_64, None, Some(_)) => {
                Err(ObjectError::Foreign("a callback, as bpf_loop() calls it (CC_LOOP)".to_owned()))
            }
            (R_BPF_64_32, _, Some(first)) => {
                let instruction = self.instruction(at).ok_or_else(missing)?;
                let target =
                    first as i64 + address as i64 / INSTRUCTION_BYTES as i64 + i64::from(immediate(*instruction)) + 1;
                let relative = i32::try_from(target - at as i64 - 1).map_err(|_| missing())?;
                instruction[4..].copy_from_slice(&relative.to_le_bytes());
                Ok(())
            }
            _ => Err(ObjectError::Foreign("a map".to_owned())),
        }
    }

    /// First instruction of each hook, by its number, and the flags.
    fn hooks(
        &self,
        file: &object::File<'_>,
        fields: &Fields<'_>,
    ) -> Result<(BTreeMap<usize, usize>, u32), ObjectError> {
        let missing = || ObjectError::Missing("struct of hooks");
        let section = file.section_by_name(OPS).ok_or_else(missing)?;
        let value = section.data().map_err(|_| missing())?;
        let members: BTreeMap<String, u64> = fields.hooks().into_iter().collect();
        let mut entries = BTreeMap::new();
        for (offset, relocation) in section.relocations() {
            let hook = Hook::ALL.into_iter().find(|hook| members.get(hook.name()) == Some(&offset));
            let (Some(hook), RelocationTarget::Symbol(symbol)) = (hook, relocation.target()) else { continue };
            let symbol = file.symbol_by_index(symbol).map_err(|_| missing())?;
            let first = symbol.section_index().and_then(|section| self.code_at.get(&section.0));
            let first = first.filter(|_| kind_of(relocation.flags()) == R_BPF_64_ABS64).ok_or_else(missing)?;
            let addend =
                value.get(offset as usize..).and_then(|bytes| bytes.first_chunk()).map(|it| u64::from_le_bytes(*it));
            let inside = symbol.address().wrapping_add(addend.ok_or_else(missing)?) as usize / INSTRUCTION_BYTES;
            entries.insert(hook as usize, first + inside);
        }
        for hook in [Hook::Ssthresh, Hook::UndoCwnd] {
            if !entries.contains_key(&(hook as usize)) {
                return Err(ObjectError::Missing(hook.name()));
            }
        }
        let flags = members.get("flags").and_then(|at| value.get(*at as usize..)).and_then(|bytes| bytes.first_chunk());
        Ok((entries, u32::from_le_bytes(*flags.ok_or_else(missing)?)))
    }
}

fn kind_of(flags: RelocationFlags) -> u32 {
    match flags {
        RelocationFlags::Elf { r_type } => r_type,
        _ => 0,
    }
}
