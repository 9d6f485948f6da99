// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a split would have said, next to the total effect: effects at a share, spill-over, and the bias of the split.
//!
//! `mu_T(p)` and `mu_C(p)` are the means of the treated and of the others when a share `p` of the traffic is treated
//! (Spang et al., IMC 2021, arXiv 2110.00118; interference by tests at two shares: arXiv 2211.03262).

use crate::cross_checks::t_test;
use crate::refusal::positive;
use crate::{distributions, Interval, Refusal};

/// Means at a share, and with everything switched.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Means {
    /// Of the treated at this share, `mu_T(p)`.
    pub treated: f64,
    /// Of the others at this share, `mu_C(p)`.
    pub control: f64,
    /// Of all when all are treated, `mu_T(1)`.
    pub all_treated: f64,
    /// Of all when none is treated, `mu_C(0)`.
    pub none_treated: f64,
}

impl Means {
    /// The same on the log scale, where differences are relative.
    pub fn logarithms(&self) -> Result<Self, Refusal> {
        Ok(Self {
            treated: positive(self.treated)?.ln(),
            control: positive(self.control)?.ln(),
            all_treated: positive(self.all_treated)?.ln(),
            none_treated: positive(self.none_treated)?.ln(),
        })
    }

    /// What a split shows: `ATE(p) = mu_T(p) - mu_C(p)`.
    #[must_use]
    pub fn split_effect(&self) -> f64 {
        self.treated - self.control
    }

    /// What a decision needs: `TTE = mu_T(1) - mu_C(0)`.
    #[must_use]
    pub fn total_effect(&self) -> f64 {
        self.all_treated - self.none_treated
    }

    /// What the others gain or lose: `S(p) = mu_C(p) - mu_C(0)`.
    #[must_use]
    pub fn spill_over(&self) -> f64 {
        self.control - self.none_treated
    }

    /// By how much the split is wrong: `B(p) = ATE(p) - TTE`.
    #[must_use]
    pub fn bias(&self) -> f64 {
        self.split_effect() - self.total_effect()
    }
}

/// A pair of blocks with a hold-out: in one block all but a share are treated, in the other only that share. On the log
/// scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HoldOutPair {
    /// The treated in the block where most are.
    pub treated_of_many: f64,
    /// The rest in that block.
    pub rest_of_many: f64,
    /// The treated in the block where few are.
    pub treated_of_few: f64,
    /// The rest in that block.
    pub rest_of_few: f64,
}

/// A mean over pairs, and Student's interval for it. No coin signs these values, so they have no exact test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub value: f64,
    /// The values that are not excluded.
    pub interval: Interval,
}

/// What pairs with a hold-out of `e` show in one run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HoldOut {
    /// `ATE(1-e)`.
    pub split_effect_of_many: Estimate,
    /// `ATE(e)`.
    pub split_effect_of_few: Estimate,
    /// Nearly `TTE`: `mu_T(1-e) - mu_C(e)`.
    pub total_effect: Estimate,
    /// `mu_C(1-e) - mu_C(e)`, nearly `S(1-e)`.
    pub spill_over: Estimate,
    /// `B(e)`, the bias of a small split.
    pub bias_of_few: Estimate,
    /// `ATE(1-e) - ATE(e)`: not 0 if the arms interfere.
    pub interference: Estimate,
}

impl HoldOut {
    /// The estimates over pairs.
    pub fn of(pairs: &[HoldOutPair], alpha: f64) -> Result<Self, Refusal> {
        let estimate = |each: fn(&HoldOutPair) -> f64| {
            let values: Vec<f64> = pairs.iter().map(each).collect();
            let interval = t_test(&values, alpha)?.interval;
            Ok(Estimate { value: distributions::mean(&values), interval })
        };
        Ok(Self {
            split_effect_of_many: estimate(HoldOutPair::of_many)?,
            split_effect_of_few: estimate(HoldOutPair::of_few)?,
            total_effect: estimate(HoldOutPair::total)?,
            spill_over: estimate(|pair| pair.rest_of_many - pair.rest_of_few)?,
            bias_of_few: estimate(|pair| pair.of_few() - pair.total())?,
            interference: estimate(|pair| pair.of_many() - pair.of_few())?,
        })
    }
}

impl HoldOutPair {
    fn of_many(&self) -> f64 {
        self.treated_of_many - self.rest_of_many
    }

    fn of_few(&self) -> f64 {
        self.treated_of_few - self.rest_of_few
    }

    fn total(&self) -> f64 {
        self.treated_of_many - self.rest_of_few
    }
}

#[cfg(test)]
mod tests {
    use super::Means;
    use crate::pairs::percent;

    /// Spang's first example: the treated open two connections on one link, the others one.
    fn two_connections(share: f64) -> Means {
        let mean = |connections: f64| connections / (1.0 + share);
        Means { treated: mean(2.0), control: mean(1.0), all_treated: 1.0, none_treated: 1.0 }
    }

    #[test]
    fn two_connections_double_in_a_split_and_gain_nothing() {
        for share in [0.05, 0.5, 0.95] {
            let means = two_connections(share).logarithms().unwrap();
            assert!((percent(means.split_effect()) - 100.0).abs() < 1e-9);
            assert!(means.total_effect().abs() < 1e-12);
            assert!((percent(means.bias()) - 100.0).abs() < 1e-9);
        }
    }

    #[test]
    fn the_others_lose_a_third_at_one_half() {
        let lost = |share| percent(two_connections(share).logarithms().unwrap().spill_over());
        assert!((lost(0.5) + 100.0 / 3.0).abs() < 1e-9);
        assert!((lost(0.95) + 48.717_948_717_948_7).abs() < 1e-9);
    }
}
