// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parameters and per-socket state of an algorithm, read from BTF: that of an object, or of a running program.

//!
//! An object file can be anybody's: BTF in it may refer to itself, nest without end, or promise arrays of any length. All
//! reading is bounded.

use std::collections::HashMap;

use libbpf_rs::btf::types::{Composite, CompositeMember, DataSec, DeclTag, MemberAttr, Var};
use libbpf_rs::btf::{BtfKind, BtfType, HasSize as _, ReferencesType as _};
use libbpf_rs::Btf;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::parameters::{Parameter, ParameterError};
use crate::state::Flattener;

/// Why BTF could not be read.
#[derive(Debug, thiserror::Error)]
pub enum LayoutError {
    /// The object has no BTF.
    #[error("the object has no BTF ({0})")]
    NoBtf(String),
    /// The file is no BPF object, or a damaged one; or a hook is no program.
    #[error("{cause}")]
    Unreadable {
        /// In libbpf's words, or ours.
        cause: String,
        /// What to change.
        remedy: String,
    },
    /// The BTF lacks something that every algorithm has.
    #[error("the object's BTF has no {0}: it was not written with CC_PARAMS of cc.h")]
    Missing(String),
    /// A name in the BTF that no C file can have, or one that is too long.
    #[error("{what} is called {name:?}: names are C identifiers of at most {most} characters")]
    Name {
        /// What has the name.
        what: &'static str,
        /// The name; its beginning if it is long.
        name: String,
        /// Longest allowed.
        most: usize,
    },
    /// Parameters of one algorithm, registration of another.
    #[error("CC_PARAMS names the algorithm {parameters}, and CC_ALGORITHM names it {registered}")]
    TwoNames {
        /// In `CC_PARAMS`.
        parameters: String,
        /// In `CC_ALGORITHM`.
        registered: String,
    },
    /// More parameters than `params.h` has room for.
    #[error("the object declares {0} parameters: at most {MOST_PARAMETERS} are possible")]
    Parameters(usize),
    /// Two members whose parameters have one name.
    #[error("the members {} are both parameter {name}", members.join(" and "))]
    Alike {
        /// In C.
        members: [String; 2],
        /// Without what values say.
        name: String,
    },
    /// The per-socket state cannot be that of a socket.
    #[error("struct {name}: {cause}")]
    State {
        /// Name of the struct.
        name: String,
        /// What is wrong with it.
        cause: String,
    },
    /// A parameter's tag is malformed.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
}

impl LayoutError {
    /// What to change.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::NoBtf(_) => "compile it with clang -g -target bpf".to_owned(),
            Self::Unreadable { remedy, .. } => remedy.clone(),
            Self::TwoNames { registered, .. } => {
                format!("write CC_PARAMS({registered}, ...), and {registered}_params()")
            }
            Self::Parameter(ParameterError::Default { name, .. }) => {
                format!("change the default of {name}, or its range, in CC_PARAM")
            }
            Self::Parameter(ParameterError::NotNumber { .. }) => {
                "write the number itself: CC_PARAM takes no expression".to_owned()
            }
            Self::Alike { members, .. } => format!("another name for {}", members[1]),
            _ => "build the file with the macros of bpf/include/cc.h".to_owned(),
        }
    }
}

/// Most parameters that `params.h` can declare: each level of its `CC_EVAL` rescans three times.
const MOST_PARAMETERS: usize = 81;
/// Room for the algorithm's name in `struct cc_identity`, without the closing zero.
const ALGORITHM_CHARACTERS: usize = 31;
/// Longest name of a parameter or field: that of a symbol in the kernel (`KSYM_NAME_LEN` before 6.1).
pub(crate) const NAME_CHARACTERS: usize = 127;
/// Typedefs and qualifiers before a type; C code has a handful.
const MOST_QUALIFIERS: usize = 32;

/// The type behind typedefs and qualifiers; None where they have no end.
///
/// libbpf-rs has `skip_mods_and_typedefs` for it, which never returns from a typedef of itself.
#[must_use]
pub fn resolved(mut ty: BtfType<'_>) -> Option<BtfType<'_>> {
    for _ in 0..MOST_QUALIFIERS {
        if !ty.is_mod() && ty.kind() != BtfKind::Typedef {
            return Some(ty);
        }
        ty = ty.next_type()?;
    }
    None
}

pub(crate) fn checked_name(what: &'static str, name: &str, most: usize) -> Result<(), LayoutError> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let begins = name.bytes().next().is_some_and(|byte| is_word(byte) && !byte.is_ascii_digit());
    if begins && name.len() <= most && name.bytes().all(is_word) {
        return Ok(());
    }
    Err(LayoutError::Name { what, name: name.chars().take(40).collect(), most })
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
#[derive(Debug, Clone, PartialEq, Eq)]
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
        let btf = Btf::from_raw(algorithm, object).map_err(|error| LayoutError::NoBtf(error.to_string()))?;
        let btf = btf.ok_or_else(|| LayoutError::NoBtf("no .BTF section".to_owned()))?;
        Self::of_btf(algorithm, &btf)
    }

    /// Layout out of any BTF that an algorithm's object or its running programs carry.
    pub fn of_btf(algorithm: &str, btf: &Btf<'_>) -> Result<Self, LayoutError> {
        checked_name("the algorithm", algorithm, ALGORITHM_CHARACTERS)?;
        let params_name = format!("{algorithm}_params");
        let params: Composite<'_> =
            btf.type_by_name(&params_name).ok_or_else(|| LayoutError::Missing(format!("struct {params_name}")))?;
        let state: Option<Composite<'_>> = btf.type_by_name(&format!("{algorithm}_state"));
        Ok(Self {
            parameters: parameters(btf, &params)?,
            state: state.as_ref().map_or(Ok(Vec::new()), |state| Flattener::fields_of(btf, state))?,
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

/// The name under which an object registers its algorithm: that of the variable in its section of `struct_ops`.
#[must_use]
pub fn registered_in_btf(btf: &Btf<'_>) -> Option<String> {
    let section: DataSec<'_> = btf.type_by_name(".struct_ops.link")?;
    let variable: Var<'_> = btf.type_by_id(section.get(0)?.ty)?;
    Some(text(variable.name()))
}

fn is_parameter_tag(tag: &DeclTag<'_>) -> bool {
    tag.name().and_then(|name| name.to_str()).is_some_and(Parameter::has_tag)
}

pub(crate) fn members<'a>(composite: &'a Composite<'a>) -> impl Iterator<Item = CompositeMember<'a>> {
    (0..composite.len()).filter_map(|index| composite.get(index))
}

pub(crate) fn text(name: Option<&std::ffi::OsStr>) -> String {
    name.unwrap_or_default().to_string_lossy().into_owned()
}

fn parameters(btf: &Btf<'_>, params: &Composite<'_>) -> Result<Vec<Parameter>, LayoutError> {
    if params.len() > MOST_PARAMETERS {
        return Err(LayoutError::Parameters(params.len()));
    }
    let tags: HashMap<Option<u32>, DeclTag<'_>> = btf
        .type_by_kind::<DeclTag<'_>>()
        .filter(|tag| tag.referenced_type_id() == params.type_id() && is_parameter_tag(tag))
        .map(|tag| (tag.component_index(), tag))
        .collect();
    let mut found = Vec::new();
    for (index, member) in members(params).enumerate() {
        let name = text(member.name);
        checked_name("a parameter", &name, NAME_CHARACTERS)?;
        if !matches!(member.attr, MemberAttr::Normal { offset } if offset as usize == 32 * index) {
            return Err(LayoutError::Missing(format!("u32 {name} at its place among the parameters")));
        }
        let tag = tags.get(&Some(index as u32));
        let tag = tag.ok_or_else(|| LayoutError::Missing(format!("range of parameter {name}")))?;
        let parameter = Parameter::of_tag(&name, &text(tag.name()))?;
        if let Some(other) = found.iter().find(|known: &&Parameter| known.name == parameter.name) {
            return Err(LayoutError::Alike { members: [other.member.clone(), name], name: parameter.name });
        }
        found.push(parameter);
    }
    Ok(found)
}
