// SPDX-License-Identifier: GPL-2.0-only
//! Why an object cannot be interpreted.

use super::core_fields::FieldError;

/// Why an object cannot be interpreted.
#[derive(Debug, thiserror::Error)]
pub enum ObjectError {
    /// The file is damaged, or not what clang makes of `cc.h`.
    #[error("the object has no {0}")]
    Missing(&'static str),
    /// More than any algorithm needs.
    #[error("it has {have} {what}, of at most {most}")]
    Large {
        /// Of what.
        what: &'static str,
        /// How much.
        have: usize,
        /// Limit.
        most: usize,
    },
    /// Data that all sockets share.
    #[error("it keeps global variables in {0}: hooks of several connections would share them")]
    Globals(String),
    /// Something of the kernel that the simulator does not have.
    #[error("it uses {0}, which the simulator does not have")]
    Foreign(String),
    /// An instruction that the interpreter does otherwise than the kernel.
    #[error("instruction {at} is {what}, which the interpreter does not know")]
    Instruction {
        /// Counted over all programs of the object.
        at: usize,
        /// What.
        what: &'static str,
    },
    /// A field of a kernel's struct.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// The interpreter's own checks.
    #[error("the interpreter refuses it: {0}")]
    Interpreter(String),
}
