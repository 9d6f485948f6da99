// SPDX-License-Identifier: GPL-2.0-only
//! Statements in a form that can be checked.

use crate::experiment::file::{Monotone, Order, Relation};
use crate::experiment::Region;
use crate::measures::Reference;

/// A statement of a paper.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// "S4-W4"
    pub id: String,
    /// In words.
    pub text: String,
    /// Section, figure or table.
    pub stands: String,
    /// Its parts.
    pub checks: Vec<Check>,
    /// So many of them must hold.
    pub at_least: usize,
}

/// A part of a statement.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// Where it must hold:
    pub at: Region,
    /// everywhere, or at so many places.
    pub at_least: Option<usize>,
    /// Absolute values are compared.
    pub abs: bool,
    /// What.
    pub form: Form,
}

/// What must hold at a place.
#[derive(Debug, Clone, PartialEq)]
pub enum Form {
    /// Compared with a number.
    Number {
        /// Left.
        measure: Reference,
        /// How.
        relation: Relation,
        /// Right.
        value: f64,
        /// For equality.
        tolerance: Tolerance,
    },
    /// Within a range, its ends included.
    Between {
        /// What.
        measure: Reference,
        /// From
        low: f64,
        /// to.
        high: f64,
    },
    /// Compared with another measure or place.
    Places {
        /// Left.
        measure: Reference,
        /// How.
        relation: Relation,
        /// Right,
        than: Reference,
        /// where the left's place is changed so,
        than_at: Region,
        /// times this.
        times: f64,
        /// For equality.
        tolerance: Tolerance,
    },
    /// Measures at one place, in this order.
    Measures {
        /// All of them.
        measures: Vec<Reference>,
        /// Their order.
        order: Order,
    },
    /// One measure along an axis, in this order.
    Axis {
        /// What.
        measure: Reference,
        /// Number of the axis.
        axis: usize,
        /// Positions on it.
        along: Vec<usize>,
        /// Their order.
        course: Course,
    },
}

/// A course along an axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Course {
    /// Strictly.
    Strict(Order),
    /// But for steps in the wrong direction by this share.
    But(Monotone, f64),
}

/// How far equal values may be apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Tolerance {
    /// This share of the larger one.
    Share(f64),
    /// So many standard errors of the difference.
    Errors(f64),
}

impl Form {
    /// The measures that it needs.
    #[must_use]
    pub fn references(&self) -> Vec<&Reference> {
        match self {
            Self::Number { measure, .. } | Self::Between { measure, .. } | Self::Axis { measure, .. } => vec![measure],
            Self::Places { measure, than, .. } => vec![measure, than],
            Self::Measures { measures, .. } => measures.iter().collect(),
        }
    }
}
