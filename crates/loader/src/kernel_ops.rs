// SPDX-License-Identifier: MIT OR Apache-2.0
//! `struct tcp_congestion_ops` as the running kernel lays it out, read from the kernel's BTF.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::sync::OnceLock;

use ccctl_catalog::kernel::text;
use ccctl_catalog::kernel_btf::{kind, Header, KernelBtf, KERNEL_BTF};
use ccctl_catalog::resolved;
use libbpf_rs::btf::types::{Composite, MemberAttr};
use libbpf_rs::btf::{BtfKind, BtfType, HasSize as _};
use libbpf_rs::Btf;
use serde::{Deserialize, Serialize};

use crate::bpffs::PinFolder;
use crate::error::{Error, Result};
use crate::kept;
use crate::lock::Lock;
use crate::sys::MappedFile;

/// One member: where it lies, and whether it is a hook.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Member {
    pub(crate) offset: usize,
    pub(crate) bytes: usize,
    pub(crate) is_hook: bool,
    /// Its number in the struct.
    pub(crate) number: u32,
}

impl Member {
    /// What a hook's place has in a struct of an object; None of a hook that is not set.
    pub(crate) fn address_in(&self, ops: &[u8]) -> Option<usize> {
        let slot = ops.get(self.offset..)?.first_chunk()?;
        Some(usize::from_ne_bytes(*slot)).filter(|address| *address != 0)
    }
}

/// The value of a `struct_ops` map for TCP congestion control.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KernelOps {
    /// Size of the whole value.
    pub(crate) value_bytes: usize,
    /// The value's type in the kernel's BTF.
    pub(crate) value_type: u32,
    /// The type of what the value has registered.
    pub(crate) ops_type: u32,
    /// Members by name; offsets are from the start of the value.
    pub(crate) members: HashMap<String, Member>,
    /// Registrations of `struct_ops` can be links (6.4).
    pub(crate) has_links: bool,
    /// Arguments of the hook `cong_control`: 2 before 6.10, 4 since.
    pub(crate) cong_control_arguments: u32,
}

const OPS: &str = "tcp_congestion_ops";
const VALUE: &str = "bpf_struct_ops_tcp_congestion_ops";
/// Of the registrations that are links (`kernel/bpf/bpf_struct_ops.c`).
const LINK: &str = "bpf_struct_ops_link";

impl KernelOps {
    /// `TCP_CONG_*` flags of a value of the table.
    pub(crate) fn flags_of(&self, value: &[u8]) -> u32 {
        let place = self.members.get("flags").map_or(0, |member| member.offset);
        value.get(place..).and_then(|rest| rest.first_chunk()).map_or(0, |bytes| u32::from_ne_bytes(*bytes))
    }

    /// That of the running kernel; its BTF is read where nothing is kept of it, once per process.
    pub(crate) fn get() -> Result<&'static Self> {
        static OPS: OnceLock<std::result::Result<KernelOps, String>> = OnceLock::new();
        OPS.get_or_init(|| Self::kept().map_or_else(Self::read, Ok)).as_ref().map_err(|cause| Error::Host {
            cause: cause.clone(),
            remedy: "use a kernel built with CONFIG_DEBUG_INFO_BTF and CONFIG_BPF_JIT; see ccctl doctor".to_owned(),
        })
    }

    /// None where nothing is kept, or another build has kept something else.
    fn kept() -> Option<Self> {
        serde_json::from_slice(&kept::read(PinFolder::kernel_ops)?).ok()
    }

    /// Keeps it where it is not kept: to find it among all types takes as long as everything else that a small command does.
    pub(crate) fn keep(_lock: &Lock) -> Result<()> {
        if Self::kept().is_some() {
            return Ok(());
        }
        let text = serde_json::to_vec(Self::get()?);
        let text = text.map_err(|error| Error::kernel("keep what the kernel's types say", error.into()))?;
        kept::write(PinFolder::kernel_ops, &text)
    }

    /// Is this a map of a TCP algorithm? There are `struct_ops` of other kinds.
    pub(crate) fn is_map(&self, info: &libbpf_sys::bpf_map_info) -> bool {
        info.type_ == libbpf_sys::BPF_MAP_TYPE_STRUCT_OPS
            && info.btf_vmlinux_value_type_id == self.value_type
            && info.value_size as usize == self.value_bytes
    }

    /// The kernel name in a value of such a map.
    pub(crate) fn name_in(&self, value: &[u8]) -> Option<String> {
        let member = self.members.get("name")?;
        let room = value.get(member.offset..member.offset + member.bytes)?;
        Some(text(room))
    }

    fn read() -> std::result::Result<Self, String> {
        in_kernel_btf(Self::of)
    }

    fn of(btf: &KernelBtf<'_>) -> std::result::Result<Self, String> {
        let found = btf.find(&[VALUE, OPS, LINK].map(|name| (kind::STRUCT, name)));
        let (value_type, value) = found[0].ok_or("the kernel has no struct_ops for TCP congestion control")?;
        let data = btf.members(value).find(|member| member.name == "data");
        let data = data.ok_or("the kernel's struct_ops value has no data")?.bit_offset as usize / 8;
        let (ops_type, ops) = found[1].ok_or("the kernel has no struct tcp_congestion_ops")?;
        let control = btf.members(ops).find(|member| member.name == "cong_control");
        Ok(Self {
            value_bytes: value.size_or_type as usize,
            value_type,
            ops_type,
            members: kernel_members(btf, ops, data),
            cong_control_arguments: control
                .and_then(|control| btf.arguments(control.type_id))
                .unwrap_or(CONG_CONTROL_ARGUMENTS),
            has_links: found[2].is_some(),
        })
    }
}

/// Asks the kernel's types, all of them.
pub(crate) fn in_kernel_btf<T>(
    of: impl Fn(&KernelBtf<'_>) -> std::result::Result<T, String>,
) -> std::result::Result<T, String> {
    let of = |bytes: &[u8]| of(&KernelBtf::of(bytes).ok_or_else(|| format!("{KERNEL_BTF} is not readable"))?);
    if let Ok(mapped) = MappedFile::open(KERNEL_BTF) {
        return of(&mapped);
    }
    of(&fs::read(KERNEL_BTF).map_err(|error| format!("the kernel has no BTF ({error})"))?)
}

/// The members of the kernel's `struct tcp_congestion_ops`, which begins at `base`.
fn kernel_members(btf: &KernelBtf<'_>, ops: Header, base: usize) -> HashMap<String, Member> {
    let all: Vec<_> = btf.members(ops).collect();
    let ends = all.iter().skip(1).map(|next| next.bit_offset as usize / 8).chain([ops.size_or_type as usize]);
    let placed = (0..).zip(&all).zip(ends).map(|((number, member), end)| {
        let offset = member.bit_offset as usize / 8;
        let is_hook = btf.resolved(member.type_id).is_some_and(|header| header.kind == kind::POINTER);
        (member.name.to_owned(), Member { offset: base + offset, bytes: end.saturating_sub(offset), is_hook, number })
    });
    placed.collect()
}

/// What `cong_control` has in kernels of today.
const CONG_CONTROL_ARGUMENTS: u32 = 4;

/// Offset of a member in bytes.
pub(crate) fn member_offset(composite: &Composite<'_>, name: &str) -> Option<usize> {
    (0..composite.len()).filter_map(|index| composite.get(index)).find_map(|member| match member.attr {
        MemberAttr::Normal { offset } if member.name == Some(OsStr::new(name)) => Some(offset as usize / 8),
        _ => None,
    })
}

/// All members of an object's `struct tcp_congestion_ops`.
pub(crate) fn members(btf: &Btf<'_>, ops: &Composite<'_>) -> HashMap<String, Member> {
    let all: Vec<_> = (0..ops.len()).filter_map(|index| ops.get(index)).collect();
    let offset_of = |index: usize| match all.get(index).map(|member| member.attr) {
        Some(MemberAttr::Normal { offset }) => offset as usize / 8,
        _ => ops.size(),
    };
    let mut found = HashMap::new();
    for (index, member) in all.iter().enumerate() {
        let Some(ty) = btf.type_by_id::<BtfType<'_>>(member.ty) else { continue };
        let (offset, next) = (offset_of(index), offset_of(index + 1));
        let is_hook = resolved(ty).is_some_and(|ty| ty.kind() == BtfKind::Ptr);
        let entry = Member { offset, bytes: next.saturating_sub(offset), is_hook, number: index as u32 };
        found.insert(member.name.unwrap_or_default().to_string_lossy().into_owned(), entry);
    }
    found
}

/// Refuses to go on where the kernel knows no `struct_ops` for TCP.
pub(crate) fn require_struct_ops() -> Result<()> {
    KernelOps::get().map(drop)
}
