//! Statements of papers, and whether our results bear them out.

mod form;
mod read;

pub use form::{Check, Course, Form, Statement, Tolerance};
pub(crate) use read::statements;
