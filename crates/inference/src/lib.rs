// SPDX-License-Identifier: MIT OR Apache-2.0
//! Statistics of paired switchback experiments: which arm a moment has, what the pairs of blocks say, how many pairs
//! are needed, and what voids a run.
//!
//! It is the arithmetic of `ccctl experiment`. It reads no file, asks no clock and draws no number that does not follow
//! from a seed, so two hosts with the same input get the same bits of output.
//!
//! # Terms
//!
//! Time is cut into *blocks* of one length. Two neighbours are a *pair*, and a fair coin says which of the two is
//! treated ([`schedule`]). The *difference* `D` of a pair is treated minus control on the log scale ([`pairs`]). Under
//! a constant effect `tau`, `D - tau` is symmetric around 0 whatever the load does, because of the coin alone. The
//! exact test ([`flips`]) and the sequence that may be looked at any time ([`sequential`]) need nothing else.
//!
//! # Checks
//!
//! `tests/vectors.rs` compares every quantity with independent Python packages to 1e-9, `tests/error_rates.rs` with
//! simulated experiments whose truth is known; `cargo run --release -p ccctl-inference --example error-rates` is the
//! long form.
#![forbid(unsafe_code)]

mod refusal;

pub mod clusters;
pub mod cross_checks;
pub mod cuped;
pub mod distributions;
pub mod draws;
pub mod flips;
pub mod gates;
pub mod guard_rail;
pub mod histogram;
pub mod hourly;
pub mod multiplicity;
pub mod pairs;
pub mod planning;
pub mod schedule;
pub mod sequential;
pub mod split;

pub use refusal::Refusal;

/// The values that are not excluded, from the lower to the upper limit; a limit is infinite where nothing is excluded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Smallest value that is not excluded.
    pub lower: f64,
    /// Largest value that is not excluded.
    pub upper: f64,
}

impl Interval {
    /// Everything: nothing is excluded.
    pub const ALL: Self = Self { lower: f64::NEG_INFINITY, upper: f64::INFINITY };

    /// Is this value not excluded?
    #[must_use]
    pub fn contains(&self, value: f64) -> bool {
        (self.lower..=self.upper).contains(&value)
    }

    /// The value plus and minus `half_width`.
    #[must_use]
    pub fn around(value: f64, half_width: f64) -> Self {
        Self { lower: value - half_width, upper: value + half_width }
    }
}
