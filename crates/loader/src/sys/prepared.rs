// SPDX-License-Identifier: MIT OR Apache-2.0
//! An object whose maps libbpf has made and whose programs it has relocated, and loaded none of them: for programs of
//! `struct_ops` it would read all types of the kernel.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};
use std::ptr;

use libbpf_rs::{AsRawLibbpf as _, OpenObject};
use libbpf_sys::{bpf_map, bpf_object, bpf_program, BPF_PROG_TYPE_STRUCT_OPS, BPF_PROG_TYPE_UNSPEC};

use super::{checked, owned};

pub(crate) struct PreparedObject {
    object: OpenObject,
}

/// Where the kernel calls a program: the number of a member in a `struct_ops` type of its own.
pub(crate) struct Place {
    pub(crate) ops: u32,
    pub(crate) member: u32,
}

impl PreparedObject {
    /// With the programs that libbpf has at these addresses ([`super::ops_struct`]). Fails where others are not `struct_ops`.
    pub(crate) fn new(object: OpenObject, hooks: &[usize]) -> io::Result<Self> {
        let prepared = Self { object };
        for program in prepared.programs() {
            // SAFETY: one of the object's programs, which is not loaded.
            let result = unsafe {
                if libbpf_sys::bpf_program__type(program) != BPF_PROG_TYPE_STRUCT_OPS {
                    return Err(io::Error::other("another kind of program"));
                }
                let wanted = hooks.contains(&(program as usize));
                checked(libbpf_sys::bpf_program__set_autoload(program, wanted))?;
                libbpf_sys::bpf_program__set_type(program, BPF_PROG_TYPE_UNSPEC)
            };
            checked(result)?;
        }
        for map in prepared.maps() {
            // SAFETY: one of the object's maps, which is not made.
            unsafe {
                if libbpf_sys::bpf_map__type(map) == libbpf_sys::BPF_MAP_TYPE_STRUCT_OPS {
                    checked(libbpf_sys::bpf_map__set_autocreate(map, false))?;
                    checked(libbpf_sys::bpf_map__set_type(map, libbpf_sys::BPF_MAP_TYPE_ARRAY))?;
                }
            }
        }
        // SAFETY: an open object.
        checked(unsafe { libbpf_sys::bpf_object__prepare(prepared.raw()) })?;
        Ok(prepared)
    }

    fn raw(&self) -> *mut bpf_object {
        self.object.as_libbpf_object().as_ptr()
    }

    fn programs(&self) -> impl Iterator<Item = *mut bpf_program> + '_ {
        // SAFETY: the object is open, and what it is asked to go on from is null or one of its programs.
        let next = |before: *mut bpf_program| unsafe { libbpf_sys::bpf_object__next_program(self.raw(), before) };
        std::iter::successors(Some(next(ptr::null_mut())), move |program| Some(next(*program)))
            .take_while(|program| !program.is_null())
    }

    fn maps(&self) -> impl Iterator<Item = *mut bpf_map> + '_ {
        // SAFETY: as of programs.
        let next = |before: *mut bpf_map| unsafe { libbpf_sys::bpf_object__next_map(self.raw(), before) };
        std::iter::successors(Some(next(ptr::null_mut())), move |map| Some(next(*map))).take_while(|map| !map.is_null())
    }

    /// The map of this name.
    pub(crate) fn map(&self, name: &CStr) -> io::Result<BorrowedFd<'_>> {
        // SAFETY: an open object, and a string that ends in zero; the descriptor is the object's as long as it is borrowed.
        unsafe {
            let fd = checked(libbpf_sys::bpf_object__find_map_fd_by_name(self.raw(), name.as_ptr()))?;
            Ok(BorrowedFd::borrow_raw(fd))
        }
    }

    /// Loads the program at `address`, and keeps the read-only data with it, as libbpf does.
    pub(crate) fn load(&self, address: usize, place: &Place, license: &CStr) -> io::Result<(String, OwnedFd)> {
        let program = self.programs().find(|program| *program as usize == address);
        let program = program.ok_or_else(|| io::Error::other("slot does not name a program of the object"))?;
        // SAFETY: one of the object's programs. What libbpf returns is the object's, and read during the call only.
        let (name, fd) = unsafe {
            let mut options = libbpf_sys::bpf_prog_load_opts {
                sz: size_of::<libbpf_sys::bpf_prog_load_opts>() as libbpf_sys::size_t,
                attach_btf_id: place.ops,
                expected_attach_type: place.member,
                prog_btf_fd: self.btf_fd()?,
                func_info: libbpf_sys::bpf_program__func_info(program).cast(),
                func_info_cnt: libbpf_sys::bpf_program__func_info_cnt(program),
                func_info_rec_size: size_of::<libbpf_sys::bpf_func_info>() as u32,
                line_info: libbpf_sys::bpf_program__line_info(program).cast(),
                line_info_cnt: libbpf_sys::bpf_program__line_info_cnt(program),
                line_info_rec_size: size_of::<libbpf_sys::bpf_line_info>() as u32,
                ..Default::default()
            };
            let name = libbpf_sys::bpf_program__name(program);
            let (code, length) = (libbpf_sys::bpf_program__insns(program), libbpf_sys::bpf_program__insn_cnt(program));
            let kind = BPF_PROG_TYPE_STRUCT_OPS;
            let fd = libbpf_sys::bpf_prog_load(kind, name, license.as_ptr(), code, length, &raw mut options);
            (CStr::from_ptr(name).to_string_lossy().into_owned(), owned(fd)?)
        };
        for map in self.maps() {
            // SAFETY: one of the object's maps, a program that was just loaded, and no options.
            unsafe {
                if libbpf_sys::bpf_map__map_flags(map) & libbpf_sys::BPF_F_RDONLY_PROG != 0 {
                    let map = libbpf_sys::bpf_map__fd(map);
                    checked(libbpf_sys::bpf_prog_bind_map(fd.as_raw_fd(), map, ptr::null()))?;
                }
            }
        }
        Ok((name, fd))
    }

    /// Makes a `struct_ops` map whose value has this type of the kernel's.
    pub(crate) fn create_ops_map(
        &self,
        name: &CStr,
        (value_type, bytes): (u32, usize),
        flags: u32,
    ) -> io::Result<OwnedFd> {
        let options = libbpf_sys::bpf_map_create_opts {
            sz: size_of::<libbpf_sys::bpf_map_create_opts>() as libbpf_sys::size_t,
            btf_fd: self.btf_fd()?,
            btf_vmlinux_value_type_id: value_type,
            map_flags: flags,
            ..Default::default()
        };
        let kind = libbpf_sys::BPF_MAP_TYPE_STRUCT_OPS;
        let (key_bytes, bytes) = (size_of::<u32>() as u32, u32::try_from(bytes).map_err(io::Error::other)?);
        // SAFETY: a string that ends in zero, and options of their own size, read during the call only.
        owned(unsafe { libbpf_sys::bpf_map_create(kind, name.as_ptr(), key_bytes, bytes, 1, &raw const options) })
    }

    /// Descriptor of the object's own types in the kernel.
    fn btf_fd(&self) -> io::Result<u32> {
        // SAFETY: an open object.
        checked(unsafe { libbpf_sys::bpf_object__btf_fd(self.raw()) }).map(i32::cast_unsigned)
    }
}
