// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether other kernels accept an object: each boots in an emulated machine whose only program is this one.

mod guest;
mod image;
mod inside;
mod kernels;

use ccctl_console::Fault;
use ccctl_core::operations::CheckedProgram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use guest::{ask, require_emulator};
pub use inside::{run as run_inside, COMMAND};
pub use kernels::find;

/// What a kernel says of an object.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// The kernel, as it was asked for.
    pub kernel: String,
    /// Its own name, as `uname -r` prints it; none of one that gave no answer.
    pub release: Option<String>,
    /// Does its verifier accept the object?
    pub accepted: bool,
    /// What the verifier examined, by hook.
    pub verified: Vec<CheckedProgram>,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Fault>,
}

impl Verdict {
    /// One that was not given.
    #[must_use]
    pub fn missing(kernel: &str, fault: Fault) -> Self {
        Self { kernel: kernel.to_owned(), release: None, accepted: false, verified: Vec::new(), error: Some(fault) }
    }
}
