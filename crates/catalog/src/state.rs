// SPDX-License-Identifier: MIT OR Apache-2.0
//! The struct that an algorithm keeps in each socket, flattened to fields.

use std::collections::HashMap;

use libbpf_rs::btf::types::{Array, Composite, DeclTag, Int, IntEncoding, MemberAttr};
use libbpf_rs::btf::{BtfKind, BtfType, HasSize as _, ReferencesType as _, TypeId};
use libbpf_rs::Btf;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::btf::{checked_name, members, resolved, text, LayoutError, NAME_CHARACTERS};
use crate::kernel::ICSK_CA_PRIV_SIZE;

/// Room for it in each socket.
const ROOM_BYTES: usize = ICSK_CA_PRIV_SIZE as usize;

/// Structs in structs.
const MOST_LEVELS: usize = 8;
/// Members and elements that are looked at. A field has a byte at least; unions and empty structs add to them.
const MOST_MEMBERS: usize = 4 * ROOM_BYTES;

/// One field of `struct NAME_state`, flattened: a nested struct's fields are named `outer.inner`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Field {
    /// Field name; its suffix is its unit.
    pub name: String,
    /// Offset in bytes from the start of `icsk_ca_priv`.
    pub offset: usize,
    /// Size in bytes: 1, 2, 4 or 8.
    pub size: usize,
    /// Two's complement.
    pub signed: bool,
    /// The number that stands for "no value"; null: each number is a value.
    pub none: Option<NoValue>,
}

/// What `CC_NONE` of `cc.h` declares.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NoValue {
    /// The number. Sockets, traces and series have null for it.
    pub number: u64,
    /// Why there is no value: "no RTT yet".
    pub meaning: String,
}

impl NoValue {
    const TAG: &str = "cc_none|";

    /// Reads `cc_none|number|meaning`, where the number is as C writes it: `0`, `0xffffffffU`.
    fn of_tag(tag: &str) -> Option<Self> {
        let (number, meaning) = tag.strip_prefix(Self::TAG)?.split_once('|')?;
        let digits = number.trim_end_matches(['u', 'U', 'l', 'L']);
        let hexadecimal = digits.strip_prefix("0x").or(digits.strip_prefix("0X"));
        let number = hexadecimal.map_or_else(|| digits.parse(), |digits| u64::from_str_radix(digits, 16)).ok()?;
        Some(Self { number, meaning: meaning.to_owned() })
    }
}

impl Field {
    /// The field's value out of the raw bytes of a socket's state; none where they have the number for "no value".
    #[must_use]
    pub fn value(&self, state: &[u8]) -> Option<i128> {
        let is_none = |number: i128| self.none.as_ref().is_some_and(|none| i128::from(none.number) == number);
        self.read(state).filter(|number| !is_none(*number))
    }

    /// The field's number out of the raw bytes of a socket's state, sign-extended.
    #[must_use]
    pub fn read(&self, state: &[u8]) -> Option<i128> {
        let bytes = state.get(self.offset..self.offset + self.size)?;
        let mut wide = [0; 16];
        wide[..self.size].copy_from_slice(bytes);
        let value = i128::from_le_bytes(wide);
        let bits = 8 * self.size as u32;
        Some(if self.signed && value >> (bits - 1) == 1 { value - (1 << bits) } else { value })
    }

    /// Writes `value` into the raw bytes; false where they are too short.
    pub fn write(&self, state: &mut [u8], value: i128) -> bool {
        let Some(bytes) = state.get_mut(self.offset..self.offset + self.size) else { return false };
        bytes.copy_from_slice(&value.to_le_bytes()[..self.size]);
        true
    }
}

/// Collects the fields of one struct.
pub(crate) struct Flattener<'a> {
    btf: &'a Btf<'a>,
    name: String,
    members_left: usize,
    fields: Vec<Field>,
    /// Declarations of "no value", by struct and member.
    none: HashMap<(TypeId, u32), NoValue>,
}

impl<'a> Flattener<'a> {
    /// The fields; those of structs in it are named `outer.inner`, elements of arrays `name[i]`.
    pub(crate) fn fields_of(btf: &'a Btf<'a>, state: &Composite<'_>) -> Result<Vec<Field>, LayoutError> {
        let mut flattener = Flattener {
            btf,
            name: text(state.name()),
            members_left: MOST_MEMBERS,
            fields: Vec::new(),
            none: HashMap::new(),
        };
        flattener.find_declarations()?;
        if state.size() > ROOM_BYTES {
            return Err(flattener.wrong(format!("{} bytes; a socket has room for {ROOM_BYTES}", state.size())));
        }
        flattener.add_members(state, "", 0, 0)?;
        Ok(flattener.fields)
    }

    fn find_declarations(&mut self) -> Result<(), LayoutError> {
        for tag in self.btf.type_by_kind::<DeclTag<'_>>() {
            let declared = text(tag.name());
            let Some(member) = tag.component_index().filter(|_| declared.starts_with(NoValue::TAG)) else { continue };
            let none = NoValue::of_tag(&declared);
            let none = none.ok_or_else(|| self.wrong(format!("malformed declaration {declared:?}: see CC_NONE")))?;
            self.none.insert((tag.referenced_type_id(), member), none);
        }
        Ok(())
    }

    fn wrong(&self, cause: impl Into<String>) -> LayoutError {
        LayoutError::State { name: self.name.clone(), cause: cause.into() }
    }

    fn add_members(
        &mut self,
        composite: &Composite<'_>,
        prefix: &str,
        base: usize,
        level: usize,
    ) -> Result<(), LayoutError> {
        if level > MOST_LEVELS {
            return Err(self.wrong(format!("structs are nested more than {MOST_LEVELS} deep")));
        }
        for (index, member) in (0..).zip(members(composite)) {
            let own_name = text(member.name);
            if !own_name.is_empty() {
                checked_name("a field of the state", &own_name, NAME_CHARACTERS)?;
            }
            let MemberAttr::Normal { offset } = member.attr else { continue };
            if let Some(ty) = self.btf.type_by_id::<BtfType<'_>>(member.ty) {
                let first = self.fields.len();
                self.add(&format!("{prefix}{own_name}"), base + offset as usize / 8, ty, level)?;
                if let Some(none) = self.none.get(&(composite.type_id(), index)) {
                    self.fields[first..].iter_mut().for_each(|field| field.none = Some(none.clone()));
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, name: &str, offset: usize, ty: BtfType<'_>, level: usize) -> Result<(), LayoutError> {
        self.members_left = self
            .members_left
            .checked_sub(1)
            .ok_or_else(|| self.wrong(format!("more than {MOST_MEMBERS} fields and elements")))?;
        let ty = resolved(ty).ok_or_else(|| self.wrong(format!("{name} is a typedef without end")))?;
        match ty.kind() {
            BtfKind::Struct | BtfKind::Union => match Composite::try_from(ty) {
                Ok(inner) => self.add_members(&inner, &format!("{name}."), offset, level + 1),
                Err(_) => Ok(()),
            },
            BtfKind::Int => Int::try_from(ty).map_or(Ok(()), |int| self.add_number(name, offset, &int)),
            BtfKind::Array => {
                Array::try_from(ty).map_or(Ok(()), |array| self.add_elements(name, offset, &array, level + 1))
            }
            _ => Ok(()),
        }
    }

    fn add_number(&mut self, name: &str, offset: usize, int: &Int<'_>) -> Result<(), LayoutError> {
        let size = usize::from(int.bits) / 8;
        if ![1, 2, 4, 8].contains(&size) || offset + size > ROOM_BYTES {
            return Err(self.wrong(format!("{name} has {} bits at byte {offset}", int.bits)));
        }
        let signed = matches!(int.encoding, IntEncoding::Signed);
        self.fields.push(Field { name: name.to_owned(), offset, size, signed, none: None });
        Ok(())
    }

    fn add_elements(&mut self, name: &str, offset: usize, array: &Array<'_>, level: usize) -> Result<(), LayoutError> {
        if level > MOST_LEVELS {
            return Err(self.wrong(format!("arrays are nested more than {MOST_LEVELS} deep")));
        }
        let element = array.contained_type();
        let bytes = self.bytes_of(element)?;
        if array.capacity().saturating_mul(bytes.max(1)) > ROOM_BYTES {
            let (room, elements) = (ROOM_BYTES, array.capacity());
            return Err(self.wrong(format!("{name} has {elements} elements; a socket has room for {room} bytes")));
        }
        (0..array.capacity())
            .try_for_each(|index| self.add(&format!("{name}[{index}]"), offset + index * bytes, element, level))
    }

    fn bytes_of(&self, ty: BtfType<'_>) -> Result<usize, LayoutError> {
        let ty = resolved(ty).ok_or_else(|| self.wrong("an array of typedefs without end"))?;
        let int = Int::try_from(ty).map(|int| usize::from(int.bits) / 8);
        Ok(int.or_else(|_| Composite::try_from(ty).map(|composite| composite.size())).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_value_is_declared_as_c_writes_numbers() {
        let number = |tag: &str| NoValue::of_tag(tag).map(|none| none.number);
        assert_eq!(number("cc_none|0|no RTT yet"), Some(0));
        assert_eq!(number("cc_none|0xffffffffU|no RTT yet"), Some(u32::MAX.into()));
        assert_eq!(number("cc_none|0xffffffffffffffffULL|no RTT yet"), Some(u64::MAX));
        assert_eq!(number("cc_none|NV_NO_RTT|no RTT yet"), None);
        assert_eq!(number("cc_none|0"), None);
    }

    #[test]
    fn a_number_for_no_value_is_none() {
        let none = Some(NoValue { number: u32::MAX.into(), meaning: "no RTT yet".to_owned() });
        let field = Field { name: "min_rtt_us".to_owned(), offset: 4, size: 4, signed: false, none };
        let state = |number: u32| [[0; 4], number.to_le_bytes()].concat();
        assert_eq!(field.value(&state(40_000)), Some(40_000));
        assert_eq!((field.value(&state(u32::MAX)), field.read(&state(u32::MAX))), (None, Some(u32::MAX.into())));
        assert_eq!(field.value(&[0; 4]), None, "a state without the field");
    }
}
