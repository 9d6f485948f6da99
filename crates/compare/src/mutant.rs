// SPDX-License-Identifier: GPL-2.0-only
//! Mutants: small wrong changes of our C files.

use anyhow::{ensure, Result};

/// One error.
pub struct Mutant {
    /// Header of `bpf/include`; empty: the algorithm's own file.
    pub header: &'static str,
    /// What stands there,
    pub right: &'static str,
    /// and what instead.
    pub wrong: &'static str,
    /// Why no recording can catch it; empty: it has to be caught.
    pub unreachable: &'static str,
}

impl Mutant {
    /// The file's text with the error in it.
    pub fn in_text(&self, text: &str) -> Result<String> {
        let count = text.matches(self.right).count();
        ensure!(
            count == 1,
            "{} has {:?} {count} times: change the mutant of the counterpart",
            if self.header.is_empty() { "the algorithm" } else { self.header },
            self.right
        );
        Ok(text.replace(self.right, self.wrong))
    }
}

/// Errors in `here`, the algorithm's own file, or in a header: what stands there and what instead, and why no recording can
/// catch it where none can.
macro_rules! mutants {
    (file here) => { "" };
    (file $header:literal) => { $header };
    ($($file:tt: $right:literal => $wrong:literal $(, not reachable: $reason:literal)?;)+) => {
        &[$(crate::mutant::Mutant {
            header: mutants!(file $file),
            right: $right,
            wrong: $wrong,
            unreachable: concat!($($reason)?),
        },)+]
    };
}
pub(crate) use mutants;
