// SPDX-License-Identifier: MIT OR Apache-2.0
//! The API: HTTP/JSON over a unix socket. Every operation of [`ccctl_core::operations`] is a path below `/v1`, and the server
//! describes itself at `/v1/openapi.json`.

pub mod fault;
mod handle;
mod openapi;
mod peer;
mod query;
mod registry;
mod request;
mod room;
mod server;
mod stream;
mod thread;

pub use fault::ErrorAnswer;
pub use handle::Context;
pub use openapi::document as openapi_document;
pub use peer::ReadGroup;
pub use registry::operations;
pub use server::serve;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who answers: `GET /v1/daemon`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Daemon {
    /// Its version.
    pub version: String,
    /// Its process.
    pub pid: u32,
}
