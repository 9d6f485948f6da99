// SPDX-License-Identifier: MIT OR Apache-2.0
//! What only the running kernel's BTF tells: the names of drop reasons, whose numbers differ between kernels, and how
//! many arguments a trace point has. aya reads BTF to relocate programs but shows no enum's members.

use std::collections::BTreeMap;
use std::fs;

use ccctl_catalog::kernel_btf::{kind, Header, KernelBtf, KERNEL_BTF};

use crate::error::{Error, Result};

const REASONS: &str = "skb_drop_reason";
const REASON_PREFIX: &str = "SKB_DROP_REASON_";
const DROP_TRACE_POINT: &str = "btf_trace_kfree_skb";
/// skb, location, reason, receiving socket; before them BTF counts the trace point's own data.
const ARGUMENTS_WITH_SOCKET: u32 = 5;

/// What the running kernel's BTF says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct KernelTypes {
    /// Names of drop reasons.
    pub drop_reasons: BTreeMap<u32, String>,
    /// `kfree_skb` tells the receiving socket.
    pub drop_has_socket: bool,
}

impl KernelTypes {
    /// Reads the BTF of the running kernel.
    pub(crate) fn read() -> Result<Self> {
        let bytes = fs::read(KERNEL_BTF).map_err(Error::io(format!("read {KERNEL_BTF}")))?;
        Self::parse(&bytes).ok_or(Error::Kernel("readable BTF"))
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let btf = KernelBtf::of(bytes)?;
        let found = btf.find(&[(kind::ENUM, REASONS), (kind::TYPEDEF, DROP_TRACE_POINT)]);
        let arguments = found[1].and_then(|(_, point)| btf.arguments(point.size_or_type));
        Some(Self {
            drop_reasons: found[0].map(|(_, reasons)| names(&btf, reasons)).unwrap_or_default(),
            drop_has_socket: arguments.is_some_and(|count| count >= ARGUMENTS_WITH_SOCKET),
        })
    }
}

fn names(btf: &KernelBtf<'_>, header: Header) -> BTreeMap<u32, String> {
    let short = btf.values(header).map(|(name, value)| (value, name.strip_prefix(REASON_PREFIX).unwrap_or(name)));
    let named = short.filter(|(_, name)| !matches!(*name, "MAX" | "SUBSYS_MASK"));
    named.map(|(value, name)| (value, name.to_owned())).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Their numbers differ between kernels; these names are common to all since 5.17.
    #[test]
    fn the_running_kernel_names_its_drop_reasons() {
        let types = KernelTypes::read().unwrap();
        for name in ["NOT_SPECIFIED", "NO_SOCKET", "SOCKET_RCVBUFF"] {
            assert!(types.drop_reasons.values().any(|known| known == name), "{name}: {:?}", types.drop_reasons);
        }
    }
}
