//! Parameters and per-socket state of an algorithm, read from BTF: that of an object, or of a running program.

use libbpf_rs::btf::types::{Array, Composite, CompositeMember, DeclTag, Int, IntEncoding, MemberAttr};
use libbpf_rs::btf::{BtfKind, BtfType, HasSize as _, ReferencesType as _};
use libbpf_rs::Btf;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::parameters::{Parameter, ParameterError};

/// Why BTF could not be read.
#[derive(Debug, thiserror::Error)]
pub enum LayoutError {
    /// The object is no BPF object, or has no BTF.
    #[error("the object has no BTF: compile it with clang -g -target bpf ({0})")]
    NoBtf(String),
    /// The BTF lacks something that every algorithm has.
    #[error("the object's BTF has no {0}: it was not written with CC_PARAMS of cc.h")]
    Missing(String),
    /// A parameter's tag is malformed.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
}

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

/// What an algorithm's BTF says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Layout {
    /// Parameters in the order of declaration; each is a u32, so that number `i` lies at byte `4 i` of a set.
    pub parameters: Vec<Parameter>,
    /// Fields of the per-socket state; empty where the algorithm keeps none.
    pub state: Vec<Field>,
    /// Size of the per-socket state in bytes.
    pub state_bytes: usize,
}

impl Layout {
    /// Layout of an object file's algorithm.
    pub fn of_object(algorithm: &str, object: &[u8]) -> Result<Self, LayoutError> {
        let btf = Btf::from_raw(algorithm, object)
            .map_err(|error| LayoutError::NoBtf(error.to_string()))?
            .ok_or_else(|| LayoutError::NoBtf("no .BTF section".to_owned()))?;
        Self::of_btf(algorithm, &btf)
    }

    /// Layout out of any BTF that an algorithm's object or its running programs carry.
    pub fn of_btf(algorithm: &str, btf: &Btf<'_>) -> Result<Self, LayoutError> {
        let params_name = format!("{algorithm}_params");
        let params: Composite<'_> =
            btf.type_by_name(&params_name).ok_or_else(|| LayoutError::Missing(format!("struct {params_name}")))?;
        let state: Option<Composite<'_>> = btf.type_by_name(&format!("{algorithm}_state"));
        let mut fields = Vec::new();
        if let Some(state) = &state {
            flatten(btf, state, "", 0, &mut fields);
        }
        Ok(Self {
            parameters: parameters(btf, &params)?,
            state: fields,
            state_bytes: state.map_or(0, |state| state.size()),
        })
    }

    /// The state field of this name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.state.iter().find(|field| field.name == name)
    }
}

/// The name that an object gives its algorithm: that of the struct whose name ends in `_params` and has tagged members.
#[must_use]
pub fn algorithm_of_btf(btf: &Btf<'_>) -> Option<String> {
    btf.type_by_kind::<DeclTag<'_>>()
        .filter(|tag| is_parameter_tag(tag))
        .find_map(|tag| Some(tag.referenced_type().name()?.to_str()?.strip_suffix("_params")?.to_owned()))
}

fn is_parameter_tag(tag: &DeclTag<'_>) -> bool {
    tag.name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(Parameter::TAG))
}

fn members<'a>(composite: &'a Composite<'a>) -> impl Iterator<Item = CompositeMember<'a>> {
    (0..composite.len()).filter_map(|index| composite.get(index))
}

fn text(name: Option<&std::ffi::OsStr>) -> String {
    name.unwrap_or_default().to_string_lossy().into_owned()
}

fn parameters(btf: &Btf<'_>, params: &Composite<'_>) -> Result<Vec<Parameter>, LayoutError> {
    let mut found = Vec::new();
    for (index, member) in members(params).enumerate() {
        let name = text(member.name);
        let tag = btf
            .type_by_kind::<DeclTag<'_>>()
            .filter(is_parameter_tag)
            .find(|tag| tag.referenced_type_id() == params.type_id() && tag.component_index() == Some(index as u32))
            .ok_or_else(|| LayoutError::Missing(format!("range of parameter {name}")))?;
        found.push(Parameter::of_tag(&name, &text(tag.name()))?);
    }
    Ok(found)
}

/// Reads the members of a struct; those of structs in it are named `outer.inner`, elements of arrays `name[i]`.
fn flatten(btf: &Btf<'_>, composite: &Composite<'_>, prefix: &str, base: usize, fields: &mut Vec<Field>) {
    for member in members(composite) {
        let name = format!("{prefix}{}", text(member.name));
        let MemberAttr::Normal { offset } = member.attr else { continue };
        if let Some(ty) = btf.type_by_id::<BtfType<'_>>(member.ty) {
            add_member(btf, &name, base + offset as usize / 8, ty, fields);
        }
    }
}

fn add_member(btf: &Btf<'_>, name: &str, offset: usize, ty: BtfType<'_>, fields: &mut Vec<Field>) {
    let ty = ty.skip_mods_and_typedefs();
    match ty.kind() {
        BtfKind::Struct | BtfKind::Union => {
            if let Ok(inner) = Composite::try_from(ty) {
                flatten(btf, &inner, &format!("{name}."), offset, fields);
            }
        }
        BtfKind::Int => {
            if let Ok(int) = Int::try_from(ty) {
                let signed = matches!(int.encoding, IntEncoding::Signed);
                fields.push(Field { name: name.to_owned(), offset, size: int.bits as usize / 8, signed });
            }
        }
        BtfKind::Array => {
            if let Ok(array) = Array::try_from(ty) {
                let element = array.contained_type();
                for index in 0..array.capacity() {
                    add_member(btf, &format!("{name}[{index}]"), offset + index * bytes_of(element), element, fields);
                }
            }
        }
        _ => {}
    }
}

fn bytes_of(ty: BtfType<'_>) -> usize {
    let ty = ty.skip_mods_and_typedefs();
    let int = Int::try_from(ty).map(|int| int.bits as usize / 8);
    int.or_else(|_| Composite::try_from(ty).map(|composite| composite.size())).unwrap_or(0)
}
