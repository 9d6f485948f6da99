// SPDX-License-Identifier: MIT OR Apache-2.0
//! The algorithms compiled into ccctl, and what their C files say of themselves.
//!
//! One C file in `bpf/algorithms/` is the only place that knows an algorithm. This crate compiles each of them for
//! BPF and reads name, law and source from its header comment ([`Description`]), parameters and per-socket state from
//! its BTF ([`Layout`]), and profiles from `configs/profiles/` ([`Profile`]). It needs no privileges and asks the
//! kernel nothing.

mod btf;
mod btf_part;
mod clang_flags;
mod description;
pub mod kernel;
pub mod kernel_btf;
mod layout;
mod notation;
mod parameter_set;
mod parameters;
mod profile;
mod setting;
mod state;

pub use btf::{resolved, LayoutError};
pub use btf_part::part_of;
pub use clang_flags::{CLANG_FLAGS, CLANG_WARNINGS};
pub use description::Description;
pub use kernel::is_impossible_window;
pub use layout::{algorithm_of_btf, registered_in_btf, Layout};
pub use notation::bits_per_s_of;
pub use parameter_set::ParameterSet;
pub use parameters::{Parameter, ParameterError};
pub use profile::{Profile, ProfileError, PROFILE_FOLDER};
pub use setting::Setting;
pub use state::Field;

include!(concat!(env!("OUT_DIR"), "/list.rs"));

/// The hash by which two builds of an object are told apart.
pub type ObjectHash = [u8; 32];

/// One congestion control law: one file `bpf/algorithms/NAME.bpf.c`.
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

    /// The C source.
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
    /// When the object that this crate compiled has no readable BTF; a test covers every algorithm.
    #[must_use]
    pub fn layout(&self) -> Layout {
        Layout::of_object(self.name, self.object).expect("embedded objects carry BTF; tests/catalog.rs reads each")
    }
}

/// SHA-256 of an object file.
#[must_use]
pub fn object_hash(object: &[u8]) -> ObjectHash {
    use sha2::Digest as _;
    sha2::Sha256::digest(object).into()
}

/// All algorithms, sorted by name.
#[must_use]
pub fn algorithms() -> &'static [Algorithm] {
    ALGORITHMS
}

/// The algorithm of this name.
#[must_use]
pub fn algorithm(name: &str) -> Option<&'static Algorithm> {
    ALGORITHMS.iter().find(|algorithm| algorithm.name == name)
}

/// The candidate most like `name`, if one is like it at all: for "did you mean".
pub fn closest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(&name.to_lowercase(), &candidate.to_lowercase()), candidate))
        .filter(|(similarity, _)| *similarity > 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}
