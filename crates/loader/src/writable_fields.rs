// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which fields of a socket the running kernel lets BPF programs write. The list is in the kernel's code
//! (`bpf_tcp_ca_btf_struct_access`) and nowhere to be read, so the verifier is asked, or its refusal is read.

use std::ffi::OsStr;
use std::io;

use ccctl_catalog::resolved;
use libbpf_rs::btf::types::{Composite, MemberAttr};
use libbpf_rs::btf::BtfType;
use libbpf_rs::Btf;
use libbpf_sys::bpf_insn;

use crate::kernel_ops::member_offset;
use crate::sys;
use crate::writable_list::WRITABLE_SINCE;

/// Linux from which on BPF may write the field; None: in no kernel.
pub(crate) fn writable_since(field: &str) -> Option<&'static str> {
    WRITABLE_SINCE.iter().find(|(name, _)| *name == field).map(|(_, version)| *version)
}

/// The field that a program was refused for, where the verifier's log ends in a write that the kernel does not allow.
pub(crate) fn unwritable_field(log: &str) -> Option<String> {
    let offset = unwritable_offset(log)?;
    let btf = Btf::from_vmlinux().ok()?;
    field_at(&btf, &btf.type_by_name::<Composite<'_>>("tcp_sock")?, offset)
}

fn unwritable_offset(log: &str) -> Option<u32> {
    let line = log.lines().find_map(|line| line.trim().strip_prefix("no write support to tcp_sock at off "))?;
    line.trim().parse().ok()
}

/// The innermost named field at an offset in bytes. Members without size mark cache lines; the last at an offset counts.
fn field_at(btf: &Btf<'_>, composite: &Composite<'_>, offset: u32) -> Option<String> {
    let start_of = |attributes| match attributes {
        MemberAttr::Normal { offset } | MemberAttr::BitField { offset, .. } => offset / 8,
    };
    let mut candidates = (0..composite.len()).filter_map(|index| composite.get(index));
    let member = if composite.is_struct {
        candidates.rfind(|member| start_of(member.attr) <= offset)?
    } else {
        candidates.next()?
    };
    let inner = resolved(btf.type_by_id::<BtfType<'_>>(member.ty)?)?;
    let inner = Composite::try_from(inner).ok();
    let inside = inner.and_then(|inner| field_at(btf, &inner, offset - start_of(member.attr)));
    inside.or_else(|| member.name.map(|name| name.to_string_lossy().into_owned()))
}

/// May an algorithm set the socket's pacing rate and turn pacing on?
pub(crate) fn may_write_pacing() -> io::Result<bool> {
    may_write(offset_of("sock", "sk_pacing_rate")?, offset_of("sock", "sk_pacing_status")?)
}

/// Has the verifier look at a hook that writes 8 bytes at one offset of the socket and 4 at another. Nothing is registered.
pub(crate) fn may_write(long_offset: i16, word_offset: i16) -> io::Result<bool> {
    const HOOK: &str = "init";
    let btf = Btf::from_vmlinux().map_err(io::Error::other)?;
    let ops: Composite<'_> = btf.type_by_name("tcp_congestion_ops").ok_or_else(|| lacks("tcp_congestion_ops"))?;
    let hook = (0..ops.len())
        .position(|index| ops.get(index).is_some_and(|member| member.name == Some(OsStr::new(HOOK))))
        .ok_or_else(|| lacks(HOOK))?;
    let hook = u32::try_from(hook).map_err(io::Error::other)?;
    match sys::load_hook(&writing_hook(long_offset, word_offset), ops.type_id().into(), hook) {
        Ok(_) => Ok(true),
        Err(error) if error.raw_os_error() == Some(libc::EACCES) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Where the running kernel has a field.
pub(crate) fn offset_of(composite: &str, field: &str) -> io::Result<i16> {
    let btf = Btf::from_vmlinux().map_err(io::Error::other)?;
    let composite: Composite<'_> = btf.type_by_name(composite).ok_or_else(|| lacks(composite))?;
    let offset = member_offset(&composite, field).and_then(|offset| i16::try_from(offset).ok());
    offset.ok_or_else(|| lacks(field))
}

fn lacks(what: &str) -> io::Error {
    io::Error::other(format!("the kernel's BTF has no {what}"))
}

fn writing_hook(long_offset: i16, word_offset: i16) -> [bpf_insn; 5] {
    // opcodes of include/uapi/linux/bpf.h; registers: r0 = 0, r1 = ctx, then sk = ctx[0]
    let instruction = |code, destination, source, off| bpf_insn {
        code,
        _bitfield_1: bpf_insn::new_bitfield_1(destination, source),
        off,
        ..Default::default()
    };
    [
        instruction(0x79, 1, 1, 0),           // BPF_LDX | BPF_MEM | BPF_DW
        instruction(0xb7, 0, 0, 0),           // BPF_ALU64 | BPF_MOV | BPF_K
        instruction(0x7b, 1, 0, long_offset), // BPF_STX | BPF_MEM | BPF_DW
        instruction(0x63, 1, 0, word_offset), // BPF_STX | BPF_MEM | BPF_W
        instruction(0x95, 0, 0, 0),           // BPF_JMP | BPF_EXIT
    ]
}

#[cfg(test)]
mod tests {
    use super::{unwritable_offset, writable_since};

    #[test]
    fn the_verifiers_word_on_a_write() {
        let log = "12: (63) *(u32 *)(r6 +1700) = r1\nno write support to tcp_sock at off 1700\nprocessed 13 insns\n";
        assert_eq!(unwritable_offset(log), Some(1700));
        assert_eq!(unwritable_offset("R1 invalid mem access 'scalar'\nprocessed 1 insns\n"), None);
        assert_eq!(unwritable_offset("no write support to tcp_sock at off \n"), None);
    }

    /// One truth: the header that algorithms are written with says W for since 6.1 (or earlier) and (W) for since 6.12.
    #[test]
    fn the_header_agrees() {
        let header = concat!(
            include_str!("../../../bpf/include/kernel/sock.h"),
            include_str!("../../../bpf/include/kernel/tcp.h")
        );
        let marked = |field: &str| header.lines().find(|line| line.contains(&format!(" {field};"))).unwrap_or_default();
        assert!(marked("sk_pacing_rate").contains("/* W:"));
        assert!(marked("sk_pacing_status").contains("/* W:"));
        for line in header.lines().filter(|line| line.contains("/* (W)")) {
            let field = line.split(';').next().and_then(|start| start.split_whitespace().last()).unwrap_or_default();
            assert_eq!(writable_since(field), Some("6.12"), "{line}");
        }
        assert_eq!(writable_since("snd_cwnd_clamp"), None);
    }
}
