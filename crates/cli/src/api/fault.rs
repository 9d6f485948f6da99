//! An error as the API tells it, and as the command that asked prints it.

use hyper::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::exit::{self, Exit};

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fault {
    /// One line.
    pub cause: String,
    /// What to try, where anything is known.
    pub remedy: Option<String>,
    /// The exit code of the command, see `ccctl --help`.
    pub exit: u8,
}

/// The body of every answer that is no success.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ErrorAnswer {
    /// What went wrong.
    pub error: Fault,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.cause)
    }
}

impl std::error::Error for Fault {}

impl Fault {
    /// A fault of the request, or of who asks.
    pub fn new(exit: Exit, cause: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { cause: cause.into(), remedy: Some(remedy.into()), exit: exit as u8 }
    }

    /// What an operation failed with.
    pub fn of(error: &anyhow::Error) -> Self {
        Self { cause: exit::cause(error), remedy: exit::remedy(error), exit: Exit::of(error) as u8 }
    }

    /// As HTTP says it.
    pub fn status(error: &anyhow::Error) -> StatusCode {
        match (error.downcast_ref::<ccctl_loader::Error>(), Exit::of(error)) {
            (Some(ccctl_loader::Error::Unknown { .. }), _) => StatusCode::NOT_FOUND,
            (_, Exit::Usage | Exit::Program) => StatusCode::UNPROCESSABLE_ENTITY,
            (_, Exit::Refused) => StatusCode::CONFLICT,
            (_, Exit::Host) => StatusCode::NOT_IMPLEMENTED,
            (_, Exit::Locked) => StatusCode::SERVICE_UNAVAILABLE,
            (_, Exit::Done | Exit::Unexpected | Exit::Partly | Exit::NotLooked) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}
