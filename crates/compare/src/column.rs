// SPDX-License-Identifier: GPL-2.0-only
//! Where a field is in a record.

use serde::{Deserialize, Serialize};

/// A field of a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// As in `struct call`; `before.` and `after.` are the socket's.
    pub name: String,
    /// From the start of the record.
    pub offset: usize,
    /// numpy's word for it: `<u4`, `<i4`, `<u8`, `u1`.
    pub kind: String,
}
