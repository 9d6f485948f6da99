// SPDX-License-Identifier: MIT OR Apache-2.0
//! What voids a run, in words. A gate that cannot decide says so; it does not pass in silence.

use std::fmt;

use crate::distributions::{chi_square_p, normal_quantile};
use crate::flips::SignFlips;
use crate::planning::Redrawn;
use crate::refusal::{alike, finite, share};
use crate::Refusal;

/// Below this p the counts of an A/B are not those of its weights (Fabijan et al., KDD 2019).
pub const SAMPLE_RATIO_ALPHA: f64 = 0.001;
/// At least this share of the sockets must be on the arm of their block.
pub const LEAST_ON_ARM: f64 = 0.99;
/// Below this p the estimates at one and at two burn-ins differ.
pub const CARRY_OVER_ALPHA: f64 = 0.01;
/// Below this p the test does not keep its level on coins that were drawn again.
const REDRAWN_ALPHA: f64 = 0.001;

/// What a gate found.
#[derive(Debug, Clone, PartialEq)]
pub enum Gate {
    /// Opened connections against the weights of the arms.
    SampleRatio {
        /// Connections of each arm.
        opened: Vec<f64>,
        /// Chi-square of them.
        chi_square: f64,
        /// Its p.
        p: f64,
    },
    /// Sockets that used the arm of their block.
    OnArm {
        /// Those that did.
        on_arm: u64,
        /// All.
        sockets: u64,
    },
    /// Burn-in against twice the burn-in.
    CarryOver {
        /// Mean change of the differences when the burn-in is doubled.
        change: f64,
        /// Its p by flips of signs; none with too few pairs.
        p: Option<f64>,
    },
    /// Coins drawn again over the time before the experiment.
    Redrawn {
        /// What they gave.
        redrawn: Redrawn,
        /// The share that should be rejected at most.
        alpha: f64,
        /// The share up to which chance explains it.
        limit: f64,
    },
}

/// What follows from a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The run may be read.
    Passed,
    /// The run is void.
    Void,
    /// Too little data.
    NotDecided,
}

impl Gate {
    /// Connections opened in each arm against the arms' weights, by chi-square.
    pub fn sample_ratio(opened: &[f64], weights: &[f64]) -> Result<Self, Refusal> {
        alike(opened, weights, 2)?;
        let (all, weight): (f64, f64) = (opened.iter().sum(), weights.iter().sum());
        if all <= 0.0 || weights.iter().any(|weight| *weight <= 0.0) {
            return Err(Refusal::Degenerate("no connections were opened, or an arm has no weight"));
        }
        let chi_square = opened
            .iter()
            .zip(weights)
            .map(|(count, part)| {
                let expected = all * part / weight;
                (count - expected).powi(2) / expected
            })
            .sum();
        let p = chi_square_p(chi_square, opened.len() as f64 - 1.0);
        Ok(Self::SampleRatio { opened: opened.to_vec(), chi_square, p })
    }

    /// Sockets on the arm of their block, of all that were looked at.
    #[must_use]
    pub fn on_arm(on_arm: u64, sockets: u64) -> Self {
        Self::OnArm { on_arm, sockets }
    }

    /// The differences of the same pairs at burn-in `b` and at `2b`. If nothing is carried over from block to block,
    /// doubling changes them by noise whose sign the coins decide.
    pub fn carry_over(at_one: &[f64], at_two: &[f64], seed: u64) -> Result<Self, Refusal> {
        alike(at_one, at_two, 1)?;
        let changes: Vec<f64> = at_one.iter().zip(at_two).map(|(one, two)| two - one).collect();
        let change = crate::distributions::mean(finite(&changes)?);
        let p = match SignFlips::new(&changes, seed) {
            // With fewer pairs no p is small enough.
            Ok(flips) if flips.interval(CARRY_OVER_ALPHA).is_ok() => Some(flips.p_value(0.0)),
            _ => None,
        };
        Ok(Self::CarryOver { change, p })
    }

    /// Coins drawn again over a series without treatment: the test must not reject more often than `alpha`, except
    /// by chance.
    pub fn redrawn(redrawn: Redrawn, alpha: f64) -> Result<Self, Refusal> {
        let deviation = (share(alpha)? * (1.0 - alpha) / redrawn.sequences as f64).sqrt();
        let limit = alpha + normal_quantile(1.0 - REDRAWN_ALPHA) * deviation;
        Ok(Self::Redrawn { redrawn, alpha, limit })
    }

    /// What follows.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let passed = match self {
            Self::SampleRatio { p, .. } => *p >= SAMPLE_RATIO_ALPHA,
            Self::OnArm { sockets: 0, .. }
            | Self::CarryOver { p: None, .. }
            | Self::Redrawn { redrawn: Redrawn { sequences: 0, .. }, .. } => return Verdict::NotDecided,
            Self::OnArm { on_arm, sockets } => *on_arm as f64 >= LEAST_ON_ARM * *sockets as f64,
            Self::CarryOver { p: Some(p), .. } => *p >= CARRY_OVER_ALPHA,
            Self::Redrawn { redrawn, limit, .. } => redrawn.rejected as f64 <= limit * redrawn.sequences as f64,
        };
        if passed {
            Verdict::Passed
        } else {
            Verdict::Void
        }
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.verdict() {
            Verdict::Passed => "passed",
            Verdict::Void => "void",
            Verdict::NotDecided => "not decided",
        };
        write!(out, "{word}: ")?;
        match self {
            Self::SampleRatio { opened, p, .. } => {
                let counts: Vec<String> = opened.iter().map(f64::to_string).collect();
                write!(out, "{} connections opened in the arms (p = {p:.2e})", counts.join(" and "))
            }
            Self::OnArm { sockets: 0, .. } => write!(out, "no sockets were seen"),
            Self::OnArm { on_arm, sockets } => write!(out, "{on_arm} of {sockets} sockets used the arm of their block"),
            Self::CarryOver { p: None, .. } => write!(out, "too few pairs to compare the burn-in with twice of it"),
            Self::CarryOver { change, p: Some(p) } => write!(
                out,
                "twice the burn-in changes the estimate by {:+.2} % (p = {p:.2e})",
                crate::pairs::percent(*change)
            ),
            Self::Redrawn { redrawn, alpha, .. } => write!(
                out,
                "{} of {} coin sequences over the time before find an effect, where {} % should",
                redrawn.rejected,
                redrawn.sequences,
                alpha * 100.0
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Gate, Verdict};
    use crate::planning::Redrawn;

    #[test]
    fn uneven_counts_void() {
        let even = Gate::sample_ratio(&[50_100.0, 49_900.0], &[1.0, 1.0]).unwrap();
        let uneven = Gate::sample_ratio(&[51_000.0, 49_000.0], &[1.0, 1.0]).unwrap();
        assert_eq!((even.verdict(), uneven.verdict()), (Verdict::Passed, Verdict::Void));
        assert!(Gate::sample_ratio(&[0.0, 0.0], &[1.0, 1.0]).is_err());
        assert!(uneven.to_string().starts_with("void: 51000 and 49000 connections"));
    }

    #[test]
    fn sockets_off_their_arm_void() {
        assert_eq!(Gate::on_arm(99, 100).verdict(), Verdict::Passed);
        assert_eq!(Gate::on_arm(989, 1000).verdict(), Verdict::Void);
        assert_eq!(Gate::on_arm(0, 0).verdict(), Verdict::NotDecided);
    }

    #[test]
    fn an_effect_that_grows_with_the_burn_in_voids() {
        let at_one: Vec<f64> = (0..12).map(|pair| 0.1 + 0.01 * f64::from(pair % 3)).collect();
        let grown: Vec<f64> = at_one.iter().enumerate().map(|(pair, d)| d + 0.02 + 0.001 * pair as f64).collect();
        let noisy: Vec<f64> =
            at_one.iter().enumerate().map(|(pair, d)| d + if pair % 2 == 0 { 0.02 } else { -0.019 }).collect();
        assert_eq!(Gate::carry_over(&at_one, &grown, 0).unwrap().verdict(), Verdict::Void);
        assert_eq!(Gate::carry_over(&at_one, &noisy, 0).unwrap().verdict(), Verdict::Passed);
        assert_eq!(Gate::carry_over(&at_one[..7], &grown[..7], 0).unwrap().verdict(), Verdict::NotDecided);
    }

    #[test]
    fn too_many_rejections_of_redrawn_coins_void() {
        let gate = |rejected| Gate::redrawn(Redrawn { sequences: 1000, rejected, sigma: 1.0 }, 0.05).unwrap();
        assert_eq!(gate(60).verdict(), Verdict::Passed);
        assert_eq!(gate(80).verdict(), Verdict::Void);
    }
}
