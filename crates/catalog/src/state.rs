// SPDX-License-Identifier: MIT OR Apache-2.0
//! The struct that an algorithm keeps in each socket, flattened to fields.

use libbpf_rs::btf::types::{Array, Composite, Int, IntEncoding, MemberAttr};
use libbpf_rs::btf::{BtfKind, BtfType, HasSize as _};
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
}

impl Field {
    /// The field's value out of the raw bytes of a socket's state, sign-extended.
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
}

impl<'a> Flattener<'a> {
    /// The fields; those of structs in it are named `outer.inner`, elements of arrays `name[i]`.
    pub(crate) fn fields_of(btf: &'a Btf<'a>, state: &Composite<'_>) -> Result<Vec<Field>, LayoutError> {
        let mut flattener = Flattener { btf, name: text(state.name()), members_left: MOST_MEMBERS, fields: Vec::new() };
        if state.size() > ROOM_BYTES {
            return Err(flattener.wrong(format!("{} bytes; a socket has room for {ROOM_BYTES}", state.size())));
        }
        flattener.add_members(state, "", 0, 0)?;
        Ok(flattener.fields)
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
        for member in members(composite) {
            let own_name = text(member.name);
            if !own_name.is_empty() {
                checked_name("a field of the state", &own_name, NAME_CHARACTERS)?;
            }
            let MemberAttr::Normal { offset } = member.attr else { continue };
            if let Some(ty) = self.btf.type_by_id::<BtfType<'_>>(member.ty) {
                self.add(&format!("{prefix}{own_name}"), base + offset as usize / 8, ty, level)?;
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
        self.fields.push(Field { name: name.to_owned(), offset, size, signed });
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
