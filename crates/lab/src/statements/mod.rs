// SPDX-License-Identifier: GPL-2.0-only
//! Statements of papers, and whether our results bear them out.

mod evaluate;
mod form;
mod read;
mod reader;

pub use evaluate::{judge, Judged, JudgedCheck, JudgedPlace, Results, Verdict};
pub use form::{Check, Claim, Course, Form, Tolerance};
pub(crate) use read::statements;
pub use reader::PaperValue;
pub(crate) use reader::Reader;
