// SPDX-License-Identifier: MIT OR Apache-2.0
//! Guard-rails: metrics that the treatment must not make worse by more than a margin, looked at after every pair.
//!
//! Harm beyond the margin and its absence are two one-sided hypotheses, each with its own e-process (the halves of
//! [`crate::sequential`]; arXiv 1810.08240). At an effect on the right side of the margin each factor can only be
//! smaller, so the bound of Ville holds for all of the hypothesis, not only at the margin.
//!
//! A product of t factors is at most 2^t, so at 1 % no finding comes before the seventh pair, however great the harm.

use std::fmt;

use crate::refusal::{finite, positive, share};
use crate::sequential::Side;
use crate::Refusal;

/// Which direction is harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Worse {
    /// Retransmissions, queueing, completion times.
    Higher,
    /// Goodput.
    Lower,
}

/// A metric, its margin, and the pairs so far.
#[derive(Debug, Clone)]
pub struct GuardRail {
    worse: Worse,
    margin: f64,
    alpha: f64,
    harmful: Side,
    harmless: Side,
    largest_log_harmful: f64,
    largest_log_harmless: f64,
}

/// What the pairs so far say about a guard-rail.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum GuardFinding {
    /// Worse by more than the margin: the experiment ends.
    Harmful {
        /// [`GuardRail::p_harmful`].
        p: f64,
    },
    /// Shown not to be worse by the margin.
    WithinMargin {
        /// [`GuardRail::p_harmless`].
        p: f64,
    },
    /// Neither is shown.
    NotDecided,
}

impl GuardRail {
    /// A margin in logarithms, above 0; the standard deviation of the plan; and the chance of a false alarm (1 %).
    pub fn new(worse: Worse, margin: f64, sigma: f64, alpha: f64) -> Result<Self, Refusal> {
        Ok(Self {
            worse,
            margin: positive(margin)?,
            alpha: share(alpha)?,
            harmful: Side::new(positive(sigma)?, 1.0),
            harmless: Side::new(sigma, -1.0),
            largest_log_harmful: 0.0,
            largest_log_harmless: 0.0,
        })
    }

    /// The next pair.
    pub fn push(&mut self, difference: f64) -> Result<GuardFinding, Refusal> {
        finite(&[difference])?;
        let harm = match self.worse {
            Worse::Higher => difference,
            Worse::Lower => -difference,
        };
        self.harmful.push(harm - self.margin);
        self.harmless.push(harm - self.margin);
        self.largest_log_harmful = self.largest_log_harmful.max(self.harmful.log_mean());
        self.largest_log_harmless = self.largest_log_harmless.max(self.harmless.log_mean());
        Ok(self.finding())
    }

    /// What the pairs so far say. A harmful finding stays: it has ended the experiment.
    #[must_use]
    pub fn finding(&self) -> GuardFinding {
        let (harmful, harmless) = (self.p_harmful(), self.p_harmless());
        if harmful <= self.alpha {
            GuardFinding::Harmful { p: harmful }
        } else if harmless <= self.alpha {
            GuardFinding::WithinMargin { p: harmless }
        } else {
            GuardFinding::NotDecided
        }
    }

    /// The p of "within the margin", valid whenever one looks: a small one shows harm.
    #[must_use]
    pub fn p_harmful(&self) -> f64 {
        (-self.largest_log_harmful).exp()
    }

    /// The p of "worse by at least the margin", valid whenever one looks: a small one shows that there is no such harm.
    #[must_use]
    pub fn p_harmless(&self) -> f64 {
        (-self.largest_log_harmless).exp()
    }
}

impl fmt::Display for GuardFinding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Harmful { p } => write!(out, "worse by more than the margin (p = {p:.2e})"),
            Self::WithinMargin { p } => write!(out, "not worse by the margin (p = {p:.2e})"),
            Self::NotDecided => write!(out, "not decided: neither harm nor its absence is shown"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{GuardFinding, GuardRail, Worse};

    fn after(worse: Worse, difference: f64, pairs: usize) -> GuardFinding {
        let mut rail = GuardRail::new(worse, 0.1, 0.1, 0.01).unwrap();
        for _ in 0..pairs {
            rail.push(difference).unwrap();
        }
        rail.finding()
    }

    #[test]
    fn harm_ends_and_its_absence_is_shown() {
        assert!(matches!(after(Worse::Higher, 0.6, 9), GuardFinding::Harmful { .. }));
        assert!(matches!(after(Worse::Higher, -0.4, 9), GuardFinding::WithinMargin { .. }));
        assert!(matches!(after(Worse::Lower, -0.6, 9), GuardFinding::Harmful { .. }));
        assert_eq!(after(Worse::Lower, -0.6, 6), GuardFinding::NotDecided);
        assert_eq!(after(Worse::Higher, 0.1, 100), GuardFinding::NotDecided);
    }

    #[test]
    fn a_margin_of_nothing_is_refused() {
        assert!(GuardRail::new(Worse::Higher, 0.0, 0.1, 0.01).is_err());
    }
}
