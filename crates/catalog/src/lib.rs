// SPDX-License-Identifier: MIT OR Apache-2.0
//! The algorithms compiled into ccctl, and what their C files say of themselves.
//!
//! One C file in `bpf/algorithms/` is the only place that knows an algorithm. This crate compiles each of them for
//! BPF and reads name, law and source from its header comment ([`Description`]), parameters and per-socket state from
//! its BTF ([`Layout`]), and profiles from `configs/profiles/` ([`Profile`]). It needs no privileges and asks the
//! kernel nothing.

mod added;
mod btf;
pub mod btf_ext;
mod btf_part;
mod clang;
mod clang_flags;
mod description;
mod folders;
pub mod kernel;
pub mod kernel_btf;
mod layout;
mod notation;
mod parameter_set;
mod parameters;
mod profile;
mod setting;
mod state;

pub use added::{add, added, remove, replace, AddError};
pub use btf::{resolved, LayoutError};
pub use btf_part::part_of;
pub use clang::{clang, clang_path, compile, sanitizer_runtime, CompileError, Target, SOURCE_ENDING};
pub use description::Description;
pub use folders::{algorithm_folder, profile_folder};
pub use kernel::is_impossible_window;
pub use layout::{algorithm_of_btf, registered_in_btf, Layout};
pub use notation::bits_per_s_of;
pub use parameter_set::ParameterSet;
pub use parameters::{Parameter, ParameterError};
pub use profile::{Profile, ProfileError};
pub use setting::Setting;
pub use state::Field;

include!(concat!(env!("OUT_DIR"), "/list.rs"));

/// The hash by which two builds of an object are told apart.
pub type ObjectHash = [u8; 32];

/// One congestion control law: one file `bpf/algorithms/NAME.bpf.c`, or a user's.
#[derive(Debug)]
pub struct Algorithm {
    name: &'static str,
    object: &'static [u8],
    hash: ObjectHash,
    source: &'static str,
}

impl Algorithm {
    /// Name of the C file, and of the algorithm everywhere.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The BPF object, as clang wrote it.
    #[must_use]
    pub fn object(&self) -> &'static [u8] {
        self.object
    }

    /// [`object_hash`] of the object.
    #[must_use]
    pub fn hash(&self) -> ObjectHash {
        self.hash
    }

    /// The C source; empty where only an object was given.
    #[must_use]
    pub fn source(&self) -> &'static str {
        self.source
    }

    /// What the header comment says.
    #[must_use]
    pub fn description(&self) -> Description {
        Description::of_source(self.source)
    }

    /// Parameters and per-socket state.
    ///
    /// # Panics
    /// When an object that this crate compiled has no readable BTF; a test covers every algorithm. Others were read before they
    /// were added.
    #[must_use]
    pub fn layout(&self) -> Layout {
        Layout::of_object(self.name, self.object).expect("the object carries BTF")
    }
}

/// SHA-256 of an object file.
#[must_use]
pub fn object_hash(object: &[u8]) -> ObjectHash {
    use sha2::Digest as _;
    sha2::Sha256::digest(object).into()
}

/// All algorithms that come with ccctl, sorted by name.
#[must_use]
pub fn algorithms() -> &'static [Algorithm] {
    ALGORITHMS
}

/// The algorithm of this name: one that comes with ccctl, or one that was [added](add).
#[must_use]
pub fn algorithm(name: &str) -> Option<&'static Algorithm> {
    ALGORITHMS.iter().find(|algorithm| algorithm.name == name).or_else(|| added::named(name))
}

/// Names of all that [`algorithm`] finds: those that come with ccctl, then those that were added.
#[must_use]
pub fn names() -> Vec<&'static str> {
    ALGORITHMS.iter().chain(added()).map(Algorithm::name).collect()
}

/// The candidate most like `name` as a question, `did you mean x?`, or else other words.
pub fn did_you_mean<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
    otherwise: impl FnOnce() -> String,
) -> String {
    closest(name, candidates).map_or_else(otherwise, |similar| format!("did you mean {similar}?"))
}

/// The candidate most like `name`, if one is like it at all.
pub fn closest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(&name.to_lowercase(), &candidate.to_lowercase()), candidate))
        .filter(|(similarity, _)| *similarity > 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}
