// SPDX-License-Identifier: GPL-2.0-only
//! A module's struct out of the BTF files of the running kernel: names, offsets and sizes of its members.
//!
//! A module's BTF goes on where the kernel's ends: its types are numbered from there, and its strings too. libbpf reads it
//! from a descriptor only, which takes unsafe code; the few kinds of types that a struct's members have are read here.

use std::path::Path;

use anyhow::{bail, Context as _, Result};
use serde::{Deserialize, Serialize};

const HEADER_BYTES: usize = 24;
const KIND_INT: u32 = 1;
const KIND_ARRAY: u32 = 3;
const KIND_STRUCT: u32 = 4;
const KIND_UNION: u32 = 5;
const KIND_ENUM: u32 = 6;
const KIND_POINTER: u32 = 2;

/// A member that is a number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// `outer.inner` in structs with a name.
    pub name: String,
    /// From the start of the struct.
    pub bit_offset: u32,
    /// Size.
    pub bits: u32,
}

struct Raw {
    bytes: Vec<u8>,
    types: usize,
    strings: usize,
    string_bytes: usize,
    starts: Vec<usize>, // of each type
}

impl Raw {
    fn read(path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path).with_context(|| format!("no BTF at {}", path.display()))?;
        let header = |at: usize| word(&bytes, at).map(|value| value as usize);
        let length = header(4).context("short BTF")?;
        let (Some(types), Some(type_bytes), Some(strings), Some(string_bytes)) =
            (header(8), header(12), header(16), header(20))
        else {
            bail!("{}: BTF of less than {HEADER_BYTES} bytes", path.display());
        };
        let (types, strings) = (length + types, length + strings);
        let mut raw = Self { bytes, types, strings, string_bytes, starts: Vec::new() };
        let mut at = raw.types;
        while at < raw.types + type_bytes {
            raw.starts.push(at);
            at += raw.type_bytes(at)?;
        }
        Ok(raw)
    }

    fn type_bytes(&self, at: usize) -> Result<usize> {
        let info = word(&self.bytes, at + 4).context("BTF ends in a type")?;
        let members = (info & 0xffff) as usize;
        Ok(12
            + match info >> 24 & 31 {
                1 | 14 | 17 => 4,
                3 => 12,
                4 | 5 | 15 | 19 => 12 * members,
                6 | 13 => 8 * members,
                2 | 7..=12 | 16 | 18 => 0,
                kind => bail!("unknown kind of BTF type {kind}"),
            })
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// The kernel's types, and those of a module after them.
pub struct Types {
    kernel: Raw,
    module: Option<Raw>,
}

impl Types {
    /// Reads them; a module that is built in has no file of its own.
    pub fn of_module(object: &str) -> Result<Self> {
        let folder = Path::new("/sys/kernel/btf");
        let path = folder.join(object);
        let module = if path.exists() { Some(Raw::read(&path)?) } else { None };
        Ok(Self { kernel: Raw::read(&folder.join("vmlinux"))?, module })
    }

    fn locate(&self, id: usize) -> Option<(&Raw, usize)> {
        match (id.checked_sub(1)?.checked_sub(self.kernel.starts.len()), &self.module) {
            (None, _) => Some((&self.kernel, self.kernel.starts[id - 1])),
            (Some(index), Some(module)) => Some((module, *module.starts.get(index)?)),
            (Some(_), None) => None,
        }
    }

    fn string(&self, offset: u32) -> String {
        let offset = offset as usize;
        let (raw, at) = match &self.module {
            Some(module) if offset >= self.kernel.string_bytes => (module, offset - self.kernel.string_bytes),
            _ => (&self.kernel, offset),
        };
        let text = &raw.bytes[raw.strings + at..];
        String::from_utf8_lossy(text.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned()
    }

    /// Members of the struct of this name; where several structs have it, of the one with a member of that name too.
    pub fn members(&self, name: &str, with: Option<&str>) -> Result<Vec<Member>> {
        let count = self.kernel.starts.len() + self.module.as_ref().map_or(0, |module| module.starts.len());
        for id in (1..=count).rev() {
            let Some((raw, at)) = self.locate(id) else { continue };
            let kind = word(&raw.bytes, at + 4).unwrap_or_default() >> 24 & 31;
            if kind != KIND_STRUCT || self.string(word(&raw.bytes, at).unwrap_or_default()) != name {
                continue;
            }
            let mut members = Vec::new();
            self.flatten(id, "", 0, &mut members);
            if with.is_none_or(|with| members.iter().any(|member| member.name == with)) {
                return Ok(members);
            }
        }
        bail!("the kernel's BTF has no struct {name}")
    }

    /// Of an integer, a struct or a pointer
    fn bytes_of(&self, id: usize) -> u32 {
        let Some((raw, at)) = self.locate(id) else { return 0 };
        let number = |offset| word(&raw.bytes, at + offset).unwrap_or_default();
        match number(4) >> 24 & 31 {
            KIND_STRUCT | KIND_UNION | KIND_INT | KIND_ENUM => number(8),
            KIND_POINTER => 8,
            KIND_ARRAY => 0, // of arrays: no module has one
            _ => self.bytes_of(number(8) as usize),
        }
    }

    fn flatten(&self, id: usize, prefix: &str, base: u32, found: &mut Vec<Member>) {
        let Some((raw, at)) = self.locate(id) else { return };
        let info = word(&raw.bytes, at + 4).unwrap_or_default();
        for index in 0..(info & 0xffff) as usize {
            let member = at + 12 + 12 * index;
            let number = |offset| word(&raw.bytes, member + offset).unwrap_or_default();
            let (name, ty, offset) = (self.string(number(0)), number(4), number(8));
            let (offset, bits) = if info >> 31 == 1 { (offset & 0xff_ffff, offset >> 24) } else { (offset, 0) };
            self.add(&name, prefix, ty as usize, (base + offset, bits), found);
        }
    }

    fn add(&self, name: &str, prefix: &str, ty: usize, (offset, bits): (u32, u32), found: &mut Vec<Member>) {
        let Some((raw, at)) = self.locate(ty) else { return };
        let number = |offset| word(&raw.bytes, at + offset).unwrap_or_default();
        let full = format!("{prefix}{name}");
        match number(4) >> 24 & 31 {
            KIND_STRUCT | KIND_UNION if name.is_empty() => self.flatten(ty, prefix, offset, found),
            KIND_STRUCT | KIND_UNION => self.flatten(ty, &format!("{full}."), offset, found),
            KIND_INT | KIND_ENUM => {
                let bits = if bits == 0 { 8 * number(8) } else { bits };
                found.push(Member { name: full, bit_offset: offset, bits });
            }
            KIND_POINTER => found.push(Member { name: full, bit_offset: offset, bits: 64 }),
            KIND_ARRAY => {
                let (element, count) = (number(12) as usize, number(20));
                for index in 0..count {
                    let offset = offset + index * 8 * self.bytes_of(element);
                    self.add(&format!("{name}[{index}]"), prefix, element, (offset, 0), found);
                }
            }
            _ => self.add(name, prefix, number(8) as usize, (offset, bits), found), // typedef, const, volatile
        }
    }
}
