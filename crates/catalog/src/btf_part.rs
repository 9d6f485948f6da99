// SPDX-License-Identifier: MIT OR Apache-2.0
//! A small BTF: a few types of the kernel's, with all that lies in them, which is what libbpf needs to relocate a program.
//! For the whole BTF it takes 42 million instructions: to check each type, and to search them.

use std::collections::HashMap;

use crate::kernel_btf::{kind, Header, KernelBtf, MAGIC, MEMBER_BYTES};

const VERSION: u8 = 1;
/// `struct btf_header`.
const FILE_HEADER_BYTES: u32 = 24;
/// Of the word that has a type's kind: the number of its members or values.
const LENGTH: u32 = 0xffff;

/// All structs with these names, as a file of its own. Pointers in it are to `void`: a relocation never goes through one.
/// None of what is damaged.
#[must_use]
pub fn part_of(kernel: &KernelBtf<'_>, names: &[&str]) -> Option<Vec<u8>> {
    let mut part = Part { kernel, numbers: HashMap::new(), ids: Vec::new(), text: vec![0], texts: HashMap::new() };
    for (id, header) in kernel.all(kind::STRUCT) {
        let name = kernel.name(&header);
        if names.contains(&name.split_once("___").map_or(name, |(essential, _)| essential)) {
            part.number(id);
        }
    }
    part.file()
}

struct Part<'a> {
    kernel: &'a KernelBtf<'a>,
    /// Of each type of the kernel's, its number here.
    numbers: HashMap<u32, u32>,
    /// Of each number here, from 1, the kernel's.
    ids: Vec<u32>,
    text: Vec<u8>,
    texts: HashMap<&'a str, u32>,
}

impl<'a> Part<'a> {
    /// A type's number here, which it gets when it is first asked for.
    fn number(&mut self, id: u32) -> u32 {
        if id == 0 {
            return 0; // void
        }
        *self.numbers.entry(id).or_insert_with(|| {
            self.ids.push(id);
            self.ids.len() as u32
        })
    }

    fn string(&mut self, text: &'a str) -> u32 {
        if text.is_empty() {
            return 0;
        }
        *self.texts.entry(text).or_insert_with(|| {
            let offset = self.text.len() as u32;
            self.text.extend_from_slice(text.as_bytes());
            self.text.push(0);
            offset
        })
    }

    fn file(mut self) -> Option<Vec<u8>> {
        let mut types = Vec::new();
        let mut done = 0;
        while let Some(id) = self.ids.get(done) {
            types.extend(self.record(self.kernel.header(*id)?)?);
            done += 1;
        }
        let bytes = (types.len() * 4) as u32;
        let header = [FILE_HEADER_BYTES, 0, bytes, bytes, self.text.len() as u32];
        let mut file = [&MAGIC.to_ne_bytes()[..], &[VERSION, 0]].concat();
        file.extend(header.into_iter().chain(types).flat_map(u32::to_ne_bytes));
        file.extend(self.text);
        Some(file)
    }

    /// `struct btf_type` and what follows it, in words.
    fn record(&mut self, header: Header) -> Option<Vec<u32>> {
        let word = |at: usize| self.kernel.word(header.members + at);
        let info = self.kernel.info(&header)?;
        let name = self.kernel.name(&header);
        let (info, size_or_type, rest) = match header.kind {
            kind::INT => (info, header.size_or_type, vec![word(0)?]),
            kind::FLOAT | kind::FORWARD => (info, header.size_or_type, Vec::new()),
            // Its values are not relocated.
            kind::ENUM | kind::ENUM64 => (info & !LENGTH, header.size_or_type, Vec::new()),
            kind::POINTER => (info, 0, Vec::new()),
            kind::TYPEDEF | kind::VOLATILE | kind::CONST | kind::RESTRICT | kind::TYPE_TAG => {
                (info, self.number(header.size_or_type), Vec::new())
            }
            kind::ARRAY => {
                let [element, index, length] = [word(0)?, word(4)?, word(8)?];
                (info, header.size_or_type, vec![self.number(element), self.number(index), length])
            }
            kind::STRUCT | kind::UNION => (info, header.size_or_type, self.members(header)?),
            _ => return None, // nothing else lies in a struct
        };
        Some([vec![self.string(name), info, size_or_type], rest].concat())
    }

    fn members(&mut self, header: Header) -> Option<Vec<u32>> {
        let mut words = Vec::with_capacity(3 * header.length as usize);
        for (index, member) in self.kernel.members(header).enumerate() {
            let offset = self.kernel.word(header.members + MEMBER_BYTES * index + 8)?; // with the bits of a bit field
            words.extend([self.string(member.name), self.number(member.type_id), offset]);
        }
        Some(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel_btf::KERNEL_BTF;

    /// A struct, and what lies in it, is the same in both. (That programs become the same: tests of the loader.)
    #[test]
    fn a_struct_of_the_running_kernel() {
        let bytes = std::fs::read(KERNEL_BTF).expect("kernels that ccctl runs on have BTF");
        let kernel = KernelBtf::of(&bytes).expect("readable");
        let part = part_of(&kernel, &["tcp_sock", "no_such_struct"]).expect("whole");
        assert!(part.len() < bytes.len() / 20, "{} of {} bytes", part.len(), bytes.len());
        let part = KernelBtf::of(&part).expect("readable");
        let wanted = [(kind::STRUCT, "tcp_sock"), (kind::STRUCT, "sock_common")];
        let (ours, theirs) = (part.find(&wanted), kernel.find(&wanted));
        for (ours, theirs) in ours.iter().zip(&theirs) {
            let ((_, ours), (_, theirs)) = (ours.expect("in the part"), theirs.expect("in the kernel"));
            assert_eq!(ours.size_or_type, theirs.size_or_type);
            let seen = |btf: &KernelBtf<'_>, header| -> Vec<_> {
                btf.members(header).map(|member| (member.name.to_owned(), member.bit_offset)).collect()
            };
            assert_eq!(seen(&part, ours), seen(&kernel, theirs));
        }
    }
}
