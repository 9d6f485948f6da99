// SPDX-License-Identifier: MIT OR Apache-2.0
//! What all operations have in common.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::Serialize;

/// Something that ccctl does.
pub trait Operation: Serialize + DeserializeOwned + JsonSchema {
    /// What it tells.
    type Answer: Serialize + DeserializeOwned + JsonSchema;
    /// Name of the command; `/v1/NAME` in the API.
    const NAME: &'static str;
    /// One line, as in `ccctl --help`.
    const TITLE: &'static str;

    /// Does this request change something? Such a request needs root and a POST; others are a GET.
    fn changes(&self) -> bool;

    /// Does it open files by paths of the request? Over the API that is for root: the daemon's rights are not the reader's,
    /// and what is opened, or the answer, would tell of files that the reader may not see.
    fn opens_paths(&self) -> bool {
        false
    }

    /// Does it only tell what it would change?
    fn is_dry_run(&self) -> bool {
        false
    }

    /// Does it, in the network namespace of the calling thread.
    fn run(&self) -> anyhow::Result<Self::Answer>;
}
