// SPDX-License-Identifier: MIT OR Apache-2.0
//! An error as HTTP says it, and as the command that asked prints it.

use ccctl_console::Exit;
use hyper::StatusCode;

use ccctl_core::error;

/// The body of every answer that is no success.
pub use ccctl_console::Failure as ErrorAnswer;

/// The status that HTTP has for what an operation failed with.
pub fn status(error: &anyhow::Error) -> StatusCode {
    match (error.downcast_ref::<ccctl_loader::Error>(), error::ending(error).exit) {
        (Some(ccctl_loader::Error::Unknown { .. }), _) => StatusCode::NOT_FOUND,
        (_, Exit::Usage | Exit::Program) => StatusCode::UNPROCESSABLE_ENTITY,
        (_, Exit::Refused) => StatusCode::CONFLICT,
        (_, Exit::Host) => StatusCode::NOT_IMPLEMENTED,
        (_, Exit::Locked) => StatusCode::SERVICE_UNAVAILABLE,
        (_, Exit::Done | Exit::Unexpected | Exit::Partial | Exit::NotLooked) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
