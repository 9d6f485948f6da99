//! The API: HTTP/JSON over a unix socket. Every operation of [`crate::engine`] is a path below `/v1`, and the server
//! describes itself at `/v1/openapi.json`.

mod client;
mod fault;
mod handle;
mod openapi;
mod peer;
mod query;
mod registry;
mod room;
mod server;
mod thread;
mod write_limit;

pub use client::{connect, Found};
pub use fault::Fault;
pub use handle::Context;
pub use peer::ReadGroup;
pub use server::{serve, HEADER_BYTES};
pub use write_limit::WriteLimit;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where the daemon listens, unless its file says otherwise.
pub const SOCKET: &str = "/run/ccctl/ccctl.sock";

/// The version by which daemon and command know whether they speak of the same things.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Who answers: `GET /v1/daemon`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Daemon {
    /// Its version.
    pub version: String,
    /// Its process.
    pub pid: u32,
}
