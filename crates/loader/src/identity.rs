// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an instance says of itself: `struct cc_identity` in its read-only data, written before it is loaded.

use std::ffi::OsStr;

use ccctl_catalog::kernel;
use ccctl_catalog::ObjectHash;
use libbpf_rs::btf::types::{Composite, DataSec, Var};
use libbpf_rs::btf::{HasSize as _, ReferencesType as _};
use libbpf_rs::Btf;
use serde::Serialize;

use crate::kernel_ops::member_offset;

/// Name of the map in the object and in the kernel.
pub(crate) const IDENTITY_MAP: &str = ".rodata.ccctl";
const VARIABLE: &str = "cc_identity";
const STRUCT: &str = "cc_identity";

/// Which algorithm an instance is, and from where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Identity {
    /// Algorithm.
    pub algorithm: String,
    /// Profile that its first parameters came from; empty: none.
    pub profile: String,
    /// The ccctl that loaded it.
    pub ccctl_version: String,
    /// Its object.
    #[serde(skip)]
    pub object_hash: ObjectHash,
}

impl Identity {
    pub(crate) fn new(algorithm: &str, profile: &str, object_hash: ObjectHash) -> Self {
        let ccctl_version = env!("CARGO_PKG_VERSION").to_owned();
        Self { algorithm: algorithm.to_owned(), profile: profile.to_owned(), ccctl_version, object_hash }
    }

    /// Writes it into the initial value of the map, at the place that the object's BTF tells.
    pub(crate) fn write(&self, btf: &Btf<'_>, section: &mut [u8]) {
        for (member, bytes) in [
            ("algorithm", self.algorithm.as_bytes()),
            ("profile", self.profile.as_bytes()),
            ("ccctl_version", self.ccctl_version.as_bytes()),
            ("object_sha256", &self.object_hash),
        ] {
            if let Some(room) = range(btf, member).and_then(|range| section.get_mut(range)) {
                room.fill(0);
                let length = bytes.len().min(room.len());
                room[..length].copy_from_slice(&bytes[..length]);
            }
        }
    }

    /// Reads it from the map of a running instance.
    pub(crate) fn read(btf: &Btf<'_>, section: &[u8]) -> Option<Self> {
        let bytes = |member: &str| section.get(range(btf, member)?);
        let text = |member: &str| Some(kernel::text(bytes(member)?));
        Some(Self {
            algorithm: text("algorithm")?,
            profile: text("profile")?,
            ccctl_version: text("ccctl_version")?,
            object_hash: bytes("object_sha256")?.try_into().ok()?,
        })
    }
}

/// Where a member of the identity lies in its section.
fn range(btf: &Btf<'_>, member: &str) -> Option<std::ops::Range<usize>> {
    let start = variable_offset(btf)?;
    let identity: Composite<'_> = btf.type_by_name(STRUCT)?;
    let offset = member_offset(&identity, member)?;
    let later = (0..identity.len()).filter_map(|index| identity.get(index)).filter_map(|other| {
        let other = other.name.and_then(OsStr::to_str).and_then(|name| member_offset(&identity, name))?;
        (other > offset).then_some(other)
    });
    let end = later.min().unwrap_or(identity.size());
    Some(start + offset..start + end)
}

fn variable_offset(btf: &Btf<'_>) -> Option<usize> {
    let section: DataSec<'_> = btf.type_by_name(IDENTITY_MAP)?;
    (0..section.len()).filter_map(|index| section.get(index)).find_map(|entry| {
        let variable: Var<'_> = btf.type_by_id(entry.ty)?;
        let _ = variable.referenced_type_id();
        (variable.name() == Some(OsStr::new(VARIABLE))).then_some(entry.offset as usize)
    })
}
