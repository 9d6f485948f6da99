// SPDX-License-Identifier: MIT OR Apache-2.0
//! What reading BTF has in common, and how it fails.

use libbpf_rs::btf::types::{Composite, CompositeMember};
use libbpf_rs::btf::{BtfKind, BtfType};

use crate::parameters::ParameterError;

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
pub(crate) const MOST_PARAMETERS: usize = 81;
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

pub(crate) fn members<'a>(composite: &'a Composite<'a>) -> impl Iterator<Item = CompositeMember<'a>> {
    (0..composite.len()).filter_map(|index| composite.get(index))
}

pub(crate) fn text(name: Option<&std::ffi::OsStr>) -> String {
    name.unwrap_or_default().to_string_lossy().into_owned()
}
