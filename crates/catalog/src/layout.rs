// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parameters and per-socket state of an algorithm, read from BTF: that of an object, or of a running program.
//!
//! An object file can be anybody's: BTF in it may refer to itself, nest without end, or promise arrays of any length. All
//! reading is bounded.

use std::collections::{HashMap, HashSet};

use libbpf_rs::btf::types::{Composite, DataSec, DeclTag, MemberAttr, Var};
use libbpf_rs::btf::{HasSize as _, ReferencesType as _};
use libbpf_rs::Btf;

use crate::btf::{checked_name, members, text, LayoutError, MOST_PARAMETERS, NAME_CHARACTERS};
use crate::parameters::Parameter;
use crate::state::{Field, Flattener};

/// Room for the algorithm's name in `struct cc_identity`, without the closing zero.
const ALGORITHM_CHARACTERS: usize = 31;
/// What a tag begins with that fences an algorithm; the reason follows.
const FENCE_TAG: &str = "cc_fenced|";
/// The second tag of a parameter that connections may have of their own.
const PER_CONNECTION_TAG: &str = "cc_per_connection";
/// Of a reason, so many are kept.
const REASON_CHARACTERS: usize = 120;

/// What an algorithm's BTF says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// Parameters in the order of declaration; each is a u32, so that number `i` lies at byte `4 i` of a set.
    pub parameters: Vec<Parameter>,
    /// Fields of the per-socket state; empty where the algorithm keeps none.
    pub state: Vec<Field>,
    /// Size of the per-socket state in bytes.
    pub state_bytes: usize,
    /// Why it is fenced, where its file declares that (`CC_FENCED_ALGORITHM`); None: anybody may have it.
    pub fence: Option<String>,
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
            fence: fence(btf),
        })
    }

    /// The parameters that a rule may give to its connections alone. Their order is that of `cc_own_values`.
    pub fn per_connection(&self) -> impl Iterator<Item = &Parameter> {
        self.parameters.iter().filter(|parameter| parameter.is_per_connection)
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

fn fence(btf: &Btf<'_>) -> Option<String> {
    let reason = |tag: DeclTag<'_>| Some(tag.name()?.to_str()?.strip_prefix(FENCE_TAG)?.escape_debug().to_string());
    let reason = btf.type_by_kind::<DeclTag<'_>>().find_map(reason)?;
    Some(reason.chars().take(REASON_CHARACTERS).collect())
}

fn is_parameter_tag(tag: &DeclTag<'_>) -> bool {
    tag.name().and_then(|name| name.to_str()).is_some_and(Parameter::has_tag)
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
    let own: HashSet<Option<u32>> = btf
        .type_by_kind::<DeclTag<'_>>()
        .filter(|tag| tag.referenced_type_id() == params.type_id() && text(tag.name()) == PER_CONNECTION_TAG)
        .map(|tag| tag.component_index())
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
        let parameter = parameter.per_connection(own.contains(&Some(index as u32)));
        if let Some(other) = found.iter().find(|known: &&Parameter| known.name == parameter.name) {
            return Err(LayoutError::Alike { members: [other.member.clone(), name], name: parameter.name });
        }
        found.push(parameter);
    }
    Ok(found)
}
