// SPDX-License-Identifier: MIT OR Apache-2.0
//! `struct tcp_congestion_ops` as the running kernel lays it out, read from the kernel's BTF.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::sync::OnceLock;

use ccctl_catalog::kernel::text;
use ccctl_catalog::resolved;
use libbpf_rs::btf::types::{Composite, FuncProto, MemberAttr, Ptr};
use libbpf_rs::btf::{BtfKind, BtfType, HasSize as _, ReferencesType as _};
use libbpf_rs::Btf;

use crate::error::{Error, Result};

/// One member: where it lies, and whether it is a hook.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Member {
    pub(crate) offset: usize,
    pub(crate) bytes: usize,
    pub(crate) is_hook: bool,
}

/// The value of a `struct_ops` map for TCP congestion control.
#[derive(Debug)]
pub(crate) struct KernelOps {
    /// Size of the whole value.
    pub(crate) value_bytes: usize,
    /// The value's type in the kernel's BTF.
    value_type: u32,
    /// Members by name; offsets are from the start of the value.
    pub(crate) members: HashMap<String, Member>,
    /// Registrations of `struct_ops` can be links (6.4).
    pub(crate) has_links: bool,
    /// Arguments of the hook `cong_control`: 2 before 6.10, 4 since.
    pub(crate) cong_control_arguments: u32,
}

const OPS: &str = "tcp_congestion_ops";

impl KernelOps {
    /// That of the running kernel; its BTF is read once per process.
    pub(crate) fn get() -> Result<&'static Self> {
        static OPS: OnceLock<std::result::Result<KernelOps, String>> = OnceLock::new();
        OPS.get_or_init(Self::read).as_ref().map_err(|cause| Error::Host {
            cause: cause.clone(),
            remedy: "use a kernel built with CONFIG_DEBUG_INFO_BTF and CONFIG_BPF_JIT; see ccctl doctor".to_owned(),
        })
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
        let btf = Btf::from_vmlinux().map_err(|error| format!("the kernel has no BTF ({error})"))?;
        let value: Composite<'_> = btf
            .type_by_name(&format!("bpf_struct_ops_{OPS}"))
            .ok_or("the kernel has no struct_ops for TCP congestion control")?;
        let data = member_offset(&value, "data").ok_or("the kernel's struct_ops value has no data")?;
        let ops: Composite<'_> = btf.type_by_name(OPS).ok_or("the kernel has no struct tcp_congestion_ops")?;
        Ok(Self {
            value_bytes: value.size(),
            value_type: value.type_id().into(),
            members: members(&btf, &ops, data),
            cong_control_arguments: arguments(&btf, &ops, "cong_control").unwrap_or(CONG_CONTROL_ARGUMENTS),
            has_links: btf.type_by_name::<BtfType<'_>>("bpf_struct_ops_map_link_dealloc").is_some(),
        })
    }
}

/// What `cong_control` has in kernels of today.
const CONG_CONTROL_ARGUMENTS: u32 = 4;

/// How many arguments a hook has.
fn arguments(btf: &Btf<'_>, ops: &Composite<'_>, hook: &str) -> Option<u32> {
    let member =
        (0..ops.len()).filter_map(|index| ops.get(index)).find(|member| member.name == Some(OsStr::new(hook)))?;
    let pointer: Ptr<'_> = btf.type_by_id(member.ty)?;
    let function = FuncProto::try_from(resolved(pointer.referenced_type())?).ok()?;
    u32::try_from(function.len()).ok()
}

/// Offset of a member in bytes.
pub(crate) fn member_offset(composite: &Composite<'_>, name: &str) -> Option<usize> {
    (0..composite.len()).filter_map(|index| composite.get(index)).find_map(|member| match member.attr {
        MemberAttr::Normal { offset } if member.name == Some(OsStr::new(name)) => Some(offset as usize / 8),
        _ => None,
    })
}

/// All members of a `struct tcp_congestion_ops`, the kernel's or an object's; offsets are moved by `base`.
pub(crate) fn members(btf: &Btf<'_>, ops: &Composite<'_>, base: usize) -> HashMap<String, Member> {
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
        let entry = Member { offset: base + offset, bytes: next.saturating_sub(offset), is_hook };
        found.insert(member.name.unwrap_or_default().to_string_lossy().into_owned(), entry);
    }
    found
}

/// Refuses to go on where the kernel knows no `struct_ops` for TCP.
pub(crate) fn require_struct_ops() -> Result<()> {
    KernelOps::get().map(drop)
}
