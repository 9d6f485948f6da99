// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's types that algorithms are relocated by, kept: libbpf checks all types of the kernel and searches them, which
//! takes three quarters of what a swap does.

use std::collections::BTreeSet;
use std::io::{self, Write as _};

use ccctl_catalog::kernel_btf::KernelBtf;
use ccctl_catalog::{algorithms, part_of};
use nix::sys::memfd::{memfd_create, MFdFlags};

use crate::bpffs::PinFolder;
use crate::error::{Error, Result};
use crate::kept;
use crate::kernel_ops::in_kernel_btf;
use crate::lock::Lock;
use ccctl_catalog::btf_ext::BtfExt;

/// Between the names of structs, and behind them.
const NEXT: &str = "\n";
const END: u8 = 0;

/// The kernel's structs of these names, as far as it has them.
pub(crate) struct KeptTypes {
    names: Vec<String>,
    btf: Vec<u8>,
}

impl KeptTypes {
    pub(crate) fn get() -> Option<Self> {
        Self::of(&kept::read(PinFolder::relocation_types)?)
    }

    fn of(value: &[u8]) -> Option<Self> {
        let end = value.iter().position(|byte| *byte == END)?;
        let names = std::str::from_utf8(&value[..end]).ok()?;
        Some(Self { names: names.split(NEXT).map(str::to_owned).collect(), btf: value[end + 1..].to_vec() })
    }

    /// Those of the running kernel.
    pub(crate) fn read(wanted: BTreeSet<String>) -> Result<Self> {
        let names: Vec<String> = wanted.into_iter().collect();
        let wanted: Vec<&str> = names.iter().map(String::as_str).collect();
        let part = |kernel: &KernelBtf<'_>| part_of(kernel, &wanted).ok_or_else(|| "its BTF is damaged".to_owned());
        let failed = |cause| Error::kernel("keep types of the kernel", io::Error::other(cause));
        let btf = in_kernel_btf(part).map_err(failed)?;
        Ok(Self { names, btf })
    }

    fn value(&self) -> Vec<u8> {
        [self.names.join(NEXT).as_bytes(), &[END], &self.btf].concat()
    }

    pub(crate) fn have(&self, names: &BTreeSet<String>) -> bool {
        names.iter().all(|name| self.names.contains(name))
    }

    /// As a file, for libbpf.
    pub(crate) fn file(&self) -> io::Result<std::fs::File> {
        let mut file = std::fs::File::from(memfd_create(c"ccctl-types", MFdFlags::MFD_CLOEXEC)?);
        file.write_all(&self.btf)?;
        Ok(file)
    }
}

/// The structs that an object's programs are relocated by; None where something else is relocated, too.
pub(crate) fn structs_of(object: &[u8]) -> Option<BTreeSet<String>> {
    BtfExt::of(&object::File::parse(object).ok()?)?.relocated_structs()
}

/// Keeps those of the built-in algorithms where they are not kept.
pub(crate) fn keep(_lock: &Lock) -> Result<()> {
    let wanted = structs_of_algorithms();
    if KeptTypes::get().is_some_and(|kept| kept.have(&wanted)) {
        return Ok(());
    }
    kept::write(PinFolder::relocation_types, &KeptTypes::read(wanted)?.value())
}

pub(crate) fn structs_of_algorithms() -> BTreeSet<String> {
    algorithms().iter().filter_map(|algorithm| structs_of(algorithm.object())).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_read_again() {
        let names = ["sock".to_owned(), "tcp_sock".to_owned()];
        let types = KeptTypes { names: names.to_vec(), btf: vec![0x9f, 0, 0xeb] };
        let read = KeptTypes::of(&types.value()).expect("whole");
        assert_eq!((read.names, read.btf), (types.names, types.btf));
        assert!(KeptTypes::of(b"sock").is_none());
    }

    #[test]
    fn algorithms_ask_for_fields_of_sockets() {
        let names = structs_of_algorithms();
        assert!(["tcp_sock", "inet_connection_sock"].iter().all(|name| names.contains(*name)), "{names:?}");
        assert!(algorithms().iter().all(|algorithm| structs_of(algorithm.object()).is_some()));
    }
}
