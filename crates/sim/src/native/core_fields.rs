// SPDX-License-Identifier: GPL-2.0-only
//! Where the simulator's socket has the fields that an object's instructions name: what libbpf does with the types of the
//! running kernel (CO-RE), with those of `bpf/include` as they are compiled for this machine.

use std::ffi::OsStr;

use libbpf_rs::btf::types::{Array, Composite, CompositeMember, Enum, Int, IntEncoding, MemberAttr};
use libbpf_rs::btf::{BtfKind, BtfType, HasSize as _};
use libbpf_rs::Btf;

use ccctl_catalog::resolved;

/// build.rs compiles `native/layouts.c` into it.
const LAYOUTS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/layouts.o"));

/// Structs in structs, at most.
const DEEPEST: usize = 8;
const POINTER_BYTES: u64 = 8;

/// Why a field has no place.
#[derive(Debug, thiserror::Error)]
pub enum FieldError {
    /// A note that cannot be read, or of a kind that fields do not have.
    #[error("its notes on types are damaged, or ask for more than fields")]
    Notes,
    /// The simulator does not keep it.
    #[error("it reads {0}, which the simulator does not keep")]
    Missing(String),
}

/// `enum bpf_core_relo_kind`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Question {
    ByteOffset,
    ByteSize,
    Exists,
    Signed,
    LeftShift,
    RightShift,
}

impl Question {
    fn of(kind: u32) -> Option<Self> {
        let kinds = [Self::ByteOffset, Self::ByteSize, Self::Exists, Self::Signed, Self::LeftShift, Self::RightShift];
        kinds.get(kind as usize).copied()
    }
}

/// One step from a struct to a field of it.
enum Step {
    Member(String),
    Element(u64),
}

/// A field where the simulator has it.
struct Place<'a> {
    bit_offset: u64,
    bits: Option<u64>, // of a bit field
    ty: BtfType<'a>,
}

/// An object's types, and the simulator's.
pub(super) struct Fields<'a> {
    local: Btf<'a>,
    simulated: Btf<'static>,
}

impl<'a> Fields<'a> {
    pub(super) fn of(object: &'a [u8]) -> Option<Self> {
        let local = Btf::from_raw("object", object).ok().flatten()?;
        Some(Self { local, simulated: Btf::from_raw("layouts", LAYOUTS).ok().flatten()? })
    }

    /// The object's own struct of hooks: members and the bytes at which they are.
    pub(super) fn hooks(&self) -> Vec<(String, u64)> {
        let Some(ops) = self.local.type_by_name::<Composite<'_>>("tcp_congestion_ops") else { return Vec::new() };
        members(&ops).map(|member| (name_of(&member), bit_offset(&member) / 8)).collect()
    }

    /// Size of a struct of the object's own.
    pub(super) fn bytes_of(&self, name: &str) -> Option<u32> {
        self.local.type_by_name::<Composite<'_>>(name).map(|ty| ty.size() as u32)
    }

    /// What a relocation's instruction is to have.
    pub(super) fn value(&self, root: u32, access: &str, kind: u32) -> Result<u64, FieldError> {
        let question = Question::of(kind).ok_or(FieldError::Notes)?;
        let (name, steps) = self.steps(root, access).ok_or(FieldError::Notes)?;
        match (self.place(&name, &steps), question) {
            (place, Question::Exists) => Ok(u64::from(place.is_some())),
            (Some(place), question) => place.answer(question).ok_or(FieldError::Notes),
            (None, _) => Err(FieldError::Missing(text_of(&name, &steps))),
        }
    }

    /// The struct's name and the way to the field, in names: "0:1:2" in numbers.
    fn steps(&self, root: u32, access: &str) -> Option<(String, Vec<Step>)> {
        let mut numbers = access.split(':').map(|number| number.parse::<u32>().ok());
        let mut ty = resolved(self.local.type_by_id(root.into())?)?;
        let name = ty.name()?.to_str()?;
        let name = name.split_once("___").map_or(name, |(essential, _)| essential).to_owned();
        if numbers.next()?? != 0 {
            return None;
        }
        let mut steps = Vec::new();
        for number in numbers {
            let number = number?;
            let next = if let Ok(array) = Array::try_from(ty) {
                steps.push(Step::Element(number.into()));
                array.ty()
            } else {
                let composite = Composite::try_from(ty).ok()?;
                let member = composite.get(number as usize)?;
                if member.name.is_some_and(|name| !name.is_empty()) {
                    steps.push(Step::Member(name_of(&member)));
                }
                member.ty
            };
            ty = resolved(self.local.type_by_id(next)?)?;
        }
        Some((name, steps))
    }

    fn place(&self, name: &str, steps: &[Step]) -> Option<Place<'_>> {
        let root: Composite<'_> = self.simulated.type_by_name(name)?;
        let mut place = Place { bit_offset: 0, bits: None, ty: self.simulated.type_by_id(root.type_id())? };
        for step in steps {
            place = match step {
                Step::Element(number) => {
                    let element = resolved(Array::try_from(place.ty).ok()?.contained_type())?;
                    let bit_offset = place.bit_offset + number.checked_mul(8 * bytes_of(element)?)?;
                    Place { bit_offset, bits: None, ty: element }
                }
                Step::Member(member) => {
                    let found = self.member(Composite::try_from(place.ty).ok()?, member, DEEPEST)?;
                    Place { bit_offset: place.bit_offset + found.bit_offset, ..found }
                }
            };
        }
        Some(place)
    }

    /// A member by its name, also in structs and unions without one.
    fn member(&self, composite: Composite<'_>, name: &str, depth: usize) -> Option<Place<'_>> {
        for member in members(&composite) {
            let ty = resolved(self.simulated.type_by_id(member.ty)?)?;
            let bits = match member.attr {
                MemberAttr::BitField { size, .. } => Some(size.into()),
                MemberAttr::Normal { .. } => None,
            };
            let here = Place { bit_offset: bit_offset(&member), bits, ty };
            if name_of(&member) == name {
                return Some(here);
            }
            if member.name.is_none_or(OsStr::is_empty) && depth > 0 {
                let inner = Composite::try_from(here.ty).ok().and_then(|it| self.member(it, name, depth - 1));
                if let Some(inner) = inner {
                    return Some(Place { bit_offset: here.bit_offset + inner.bit_offset, ..inner });
                }
            }
        }
        None
    }
}

impl Place<'_> {
    /// As libbpf's `bpf_core_calc_field_relo`, for a little-endian machine: the aligned word that has all of a bit field, and
    /// the shifts that leave the field of it.
    fn answer(&self, question: Question) -> Option<u64> {
        let bits = self.bits.unwrap_or(8 * bytes_of(self.ty)?);
        let (mut bytes, mut offset) = (bytes_of(self.ty)?, self.bit_offset / 8);
        if self.bits.is_some() {
            offset = offset / bytes * bytes;
            while self.bit_offset + bits > 8 * (offset + bytes) {
                bytes *= 2;
                offset = self.bit_offset / 8 / bytes * bytes;
            }
        }
        match question {
            Question::ByteOffset => Some(offset),
            Question::ByteSize => Some(bytes),
            Question::Exists => Some(1),
            Question::Signed => Some(u64::from(is_signed(self.ty))),
            Question::LeftShift => 64_u64.checked_sub(self.bit_offset + bits - 8 * offset),
            Question::RightShift => 64_u64.checked_sub(bits),
        }
    }
}

fn members<'a>(composite: &'a Composite<'a>) -> impl Iterator<Item = CompositeMember<'a>> {
    (0..composite.len()).filter_map(|index| composite.get(index))
}

fn name_of(member: &CompositeMember<'_>) -> String {
    member.name.unwrap_or_default().to_string_lossy().into_owned()
}

fn bit_offset(member: &CompositeMember<'_>) -> u64 {
    match member.attr {
        MemberAttr::Normal { offset } | MemberAttr::BitField { offset, .. } => offset.into(),
    }
}

fn is_signed(ty: BtfType<'_>) -> bool {
    Int::try_from(ty).is_ok_and(|int| matches!(int.encoding, IntEncoding::Signed))
}

/// Size of a type; None of those that no field has.
fn bytes_of(ty: BtfType<'_>) -> Option<u64> {
    let ty = resolved(ty)?;
    match ty.kind() {
        BtfKind::Int => Some(u64::from(Int::try_from(ty).ok()?.bits) / 8),
        BtfKind::Ptr => Some(POINTER_BYTES),
        BtfKind::Struct | BtfKind::Union => Some(Composite::try_from(ty).ok()?.size() as u64),
        BtfKind::Enum => Some(Enum::try_from(ty).ok()?.size() as u64),
        BtfKind::Array => {
            let array = Array::try_from(ty).ok()?;
            bytes_of(array.contained_type())?.checked_mul(array.capacity() as u64)
        }
        _ => None,
    }
}

fn text_of(name: &str, steps: &[Step]) -> String {
    steps.iter().fold(name.to_owned(), |text, step| match step {
        Step::Member(member) => format!("{text}.{member}"),
        Step::Element(number) => format!("{text}[{number}]"),
    })
}
