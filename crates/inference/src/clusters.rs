// SPDX-License-Identifier: MIT OR Apache-2.0
//! Effects of a split inside blocks, where flows of one peer and block depend on each other: errors over clusters.
//!
//! The model is one mean per arm. All formulas need only sums per cluster and arm, so no flow has to be kept.

use crate::distributions::{mean, t_quantile, t_two_sided_p};
use crate::draws::Draws;
use crate::refusal::{finite, positive, share};
use crate::{Interval, Refusal};

/// Fewer clusters give errors that are too small.
pub const LEAST_CLUSTERS: usize = 30;

/// Flows of one arm in one cluster.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Flows {
    /// How many; for a ratio metric the sum below the line, its weight.
    pub count: f64,
    /// Sum of their values; for a ratio metric the sum above the line.
    pub sum: f64,
}

impl Flows {
    /// Their sum above the line by that below it.
    fn mean(self) -> Result<f64, Refusal> {
        Ok(positive(self.sum)? / positive(self.count)?)
    }
}

/// A cluster: flows of one peer prefix in one block.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Cluster {
    /// Those of the control arm.
    pub control: Flows,
    /// Those that are treated.
    pub treated: Flows,
}

/// The difference of the arms' means.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SplitEffect {
    /// Treated minus control.
    pub difference: f64,
    /// Its standard error.
    pub error: f64,
    /// Degrees of freedom of the error.
    pub freedom: f64,
}

impl SplitEffect {
    /// Chance of a difference as far out without an effect.
    #[must_use]
    pub fn p(&self) -> f64 {
        t_two_sided_p(self.difference / self.error, self.freedom)
    }

    /// The effects that are not excluded.
    pub fn interval(&self, alpha: f64) -> Result<Interval, Refusal> {
        let width = t_quantile(1.0 - share(alpha)? / 2.0, self.freedom) * self.error;
        Ok(Interval::around(self.difference, width))
    }
}

/// The difference with the CR2 error and its degrees of freedom (Pustejovsky, Tipton, JBES 2018,
/// arXiv 1601.01981). The adjustment `(I - H)^(-1/2)` of a cluster multiplies the residuals' sum of each arm by
/// `(1 - n/N)^(-1/2)`, because its hat matrix is a constant per arm.
pub fn cr2(clusters: &[Cluster]) -> Result<SplitEffect, Refusal> {
    let arms = Arms::of(clusters)?;
    let factor = |flows: Flows, all: Flows| 1.0 / (1.0 - flows.count / all.count).sqrt();
    let mut variance = 0.0;
    // Of each cluster: weights of the arms' flows in the adjusted estimate.
    let mut weights = Vec::with_capacity(clusters.len());
    for cluster in clusters {
        let treated = factor(cluster.treated, arms.treated) / arms.treated.count;
        let control = factor(cluster.control, arms.control) / arms.control.count;
        variance += (treated * arms.treated_residual(cluster) - control * arms.control_residual(cluster)).powi(2);
        weights.push((treated, control));
    }
    let freedom = arms.freedom(clusters, &weights);
    Ok(SplitEffect { difference: arms.difference(), error: positive(variance)?.sqrt(), freedom })
}

/// The p of no effect by the wild cluster bootstrap of t, with the null imposed and one coin per cluster (Cameron,
/// Gelbach, Miller, Review of Economics and Statistics 90, 2008), and 1 added to both counts.
pub fn wild_bootstrap_p(clusters: &[Cluster], draws: usize, seed: u64) -> Result<f64, Refusal> {
    let arms = Arms::of(clusters)?;
    let common = (arms.treated.sum + arms.control.sum) / (arms.treated.count + arms.control.count);
    let observed = arms.t(clusters)?.abs();
    let mut coins = Draws::new(seed);
    let mut resampled = clusters.to_vec();
    let mut beyond = 0_u64;
    for _ in 0..draws {
        coins.coins(clusters.len(), |index, keep| {
            let redraw = |flows: Flows| {
                let expected = flows.count * common;
                let residual = flows.sum - expected;
                Flows { sum: expected + if keep { residual } else { -residual }, ..flows }
            };
            let cluster = clusters[index];
            resampled[index] = Cluster { control: redraw(cluster.control), treated: redraw(cluster.treated) };
        });
        let t = Arms::of(&resampled)?.t(&resampled)?.abs();
        beyond += u64::from(t >= observed * (1.0 - 1e-12));
    }
    Ok((1.0 + beyond as f64) / (1.0 + draws as f64))
}

/// A ratio of sums over independent clusters, by the delta method (Deng, Knoblich, Lu, KDD 2018, arXiv 1803.06336).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// Sum above the line by sum below it.
    pub ratio: f64,
    /// Its standard error.
    pub error: f64,
}

impl Ratio {
    /// The ratio of one arm, whose clusters are these.
    pub fn of(clusters: &[Flows]) -> Result<Self, Refusal> {
        let used = clusters.iter().filter(|flows| flows.count > 0.0).count();
        refuse_few(used)?;
        let (k, all) = (used as f64, total(clusters.iter().copied()));
        let ratio = finite(&[all.sum / positive(all.count)?])?[0];
        let squares: f64 = clusters.iter().map(|flows| (flows.sum - ratio * flows.count).powi(2)).sum();
        Ok(Self { ratio, error: (k / (k - 1.0) * squares).sqrt() / all.count })
    }

    /// The logarithm of this ratio by another's, and its standard error, for arms that share no cluster.
    pub fn log_difference(&self, other: &Self) -> Result<(f64, f64), Refusal> {
        let (own, others) = (positive(self.ratio)?, positive(other.ratio)?);
        Ok(((own / others).ln(), (self.error / own).hypot(other.error / others)))
    }
}

/// The logarithm of the treated's ratio by the others', where both arms lie in the same clusters: by the delta method over
/// clusters, whose linear part of cluster `g` is `r_T(g) / S_T - r_C(g) / S_C`, with the residual `r(g) = s(g) - n(g) S / N`
/// of each arm. Student's degrees of freedom are the clusters less one.
pub fn log_ratio(clusters: &[Cluster]) -> Result<SplitEffect, Refusal> {
    let arms = Arms::of(clusters)?;
    let difference = (arms.treated.mean()? / arms.control.mean()?).ln();
    let used = clusters.iter().filter(|cluster| cluster.control.count + cluster.treated.count > 0.0);
    let linear = |cluster: &Cluster| {
        arms.treated_residual(cluster) / arms.treated.sum - arms.control_residual(cluster) / arms.control.sum
    };
    let squares: f64 = used.clone().map(|cluster| linear(cluster).powi(2)).sum();
    let freedom = used.count() as f64 - 1.0;
    Ok(SplitEffect { difference, error: (positive(squares)? * (freedom + 1.0) / freedom).sqrt(), freedom })
}

/// By how much dependence inside clusters of `size` flows inflates a variance: `1 + (m - 1) ICC` (Kish 1965).
#[must_use]
pub fn design_effect(size: f64, correlation: f64) -> f64 {
    1.0 + (size - 1.0) * correlation
}

/// The intraclass correlation of groups of values: one-way analysis of variance (Donner, Koval, Biometrics 1980).
pub fn intraclass_correlation(groups: &[Vec<f64>]) -> Result<f64, Refusal> {
    if groups.len() < 2 || groups.iter().any(Vec::is_empty) {
        return Err(Refusal::Degenerate("two groups with values are needed"));
    }
    let values = groups.concat();
    let (n, k, grand) = (finite(&values)?.len() as f64, groups.len() as f64, mean(&values));
    let (mut between, mut within) = (0.0, 0.0);
    for group in groups {
        let own = mean(group);
        between += group.len() as f64 * (own - grand).powi(2);
        within += group.iter().map(|value| (value - own).powi(2)).sum::<f64>();
    }
    let squares: f64 = groups.iter().map(|group| (group.len() as f64).powi(2)).sum();
    let (between, within, size) = (between / (k - 1.0), within / (n - k), (n - squares / n) / (k - 1.0));
    let correlation = (between - within) / (between + (size - 1.0) * within);
    finite(&[correlation]).map(|_| correlation)
}

fn refuse_few(clusters: usize) -> Result<(), Refusal> {
    if clusters < LEAST_CLUSTERS {
        return Err(Refusal::TooFewClusters { clusters, least: LEAST_CLUSTERS });
    }
    Ok(())
}

fn total(flows: impl Iterator<Item = Flows>) -> Flows {
    flows.fold(Flows::default(), |all, flows| Flows { count: all.count + flows.count, sum: all.sum + flows.sum })
}

/// Both arms over all clusters.
struct Arms {
    control: Flows,
    treated: Flows,
}

impl Arms {
    fn of(clusters: &[Cluster]) -> Result<Self, Refusal> {
        let control = || clusters.iter().map(|cluster| cluster.control);
        let treated = || clusters.iter().map(|cluster| cluster.treated);
        let arms = Self { control: total(control()), treated: total(treated()) };
        finite(&[arms.control.sum, arms.treated.sum, arms.control.count, arms.treated.count])?;
        // A cluster without flows says nothing, and an arm needs several.
        refuse_few(clusters.iter().filter(|cluster| cluster.control.count + cluster.treated.count > 0.0).count())?;
        let several = |flows: &mut dyn Iterator<Item = Flows>| flows.filter(|flows| flows.count > 0.0).count() > 1;
        if several(&mut control()) && several(&mut treated()) {
            Ok(arms)
        } else {
            Err(Refusal::Degenerate("an arm has flows in fewer than two clusters"))
        }
    }

    fn difference(&self) -> f64 {
        self.treated.sum / self.treated.count - self.control.sum / self.control.count
    }

    fn treated_residual(&self, cluster: &Cluster) -> f64 {
        cluster.treated.sum - cluster.treated.count * self.treated.sum / self.treated.count
    }

    fn control_residual(&self, cluster: &Cluster) -> f64 {
        cluster.control.sum - cluster.control.count * self.control.sum / self.control.count
    }

    /// The t of the difference with unadjusted errors: a factor common to all draws changes no comparison.
    fn t(&self, clusters: &[Cluster]) -> Result<f64, Refusal> {
        let variance: f64 = clusters
            .iter()
            .map(|cluster| {
                let treated = self.treated_residual(cluster) / self.treated.count;
                (treated - self.control_residual(cluster) / self.control.count).powi(2)
            })
            .sum();
        Ok(self.difference() / positive(variance)?.sqrt())
    }

    /// Satterthwaite's degrees of freedom under independent errors: `(sum_g q_gg)^2 / sum_gh q_gh^2` with
    /// `q_gh = p_g' (I - H) p_h` (Pustejovsky, Tipton, section 3.2).
    fn freedom(&self, clusters: &[Cluster], weights: &[(f64, f64)]) -> f64 {
        let shared = |g: usize, h: usize| {
            let (a, b) = (&clusters[g], &clusters[h]);
            weights[g].0 * weights[h].0 * a.treated.count * b.treated.count / self.treated.count
                + weights[g].1 * weights[h].1 * a.control.count * b.control.count / self.control.count
        };
        let own = |g: usize| {
            weights[g].0.powi(2) * clusters[g].treated.count + weights[g].1.powi(2) * clusters[g].control.count
        };
        let (mut trace, mut squares) = (0.0, 0.0);
        for g in 0..clusters.len() {
            for h in 0..clusters.len() {
                let q = if g == h { own(g) - shared(g, g) } else { -shared(g, h) };
                trace += if g == h { q } else { 0.0 };
                squares += q * q;
            }
        }
        trace * trace / squares
    }
}

#[cfg(test)]
mod tests {
    use super::{cr2, design_effect, log_ratio, wild_bootstrap_p, Cluster, Flows, Ratio, Refusal};

    fn clusters(count: usize) -> Vec<Cluster> {
        let flows = |sum: usize| Flows { count: 2.0, sum: (sum % 7) as f64 };
        (0..count).map(|index| Cluster { control: flows(3 * index), treated: flows(5 * index + 1) }).collect()
    }

    #[test]
    fn fewer_than_thirty_clusters_are_refused() {
        let refused = Refusal::TooFewClusters { clusters: 29, least: 30 };
        assert_eq!(cr2(&clusters(29)), Err(refused.clone()));
        assert_eq!(wild_bootstrap_p(&clusters(29), 99, 0), Err(refused.clone()));
        assert_eq!(log_ratio(&clusters(29)), Err(refused.clone()));
        assert!(cr2(&clusters(30)).is_ok() && wild_bootstrap_p(&clusters(30), 99, 0).is_ok());
        // Clusters without flows do not count.
        let mut empty: Vec<Flows> = clusters(29).iter().map(|cluster| cluster.treated).collect();
        empty.push(Flows::default());
        assert_eq!(Ratio::of(&empty), Err(refused));
    }

    #[test]
    fn an_arm_in_one_cluster_is_refused() {
        let mut one_sided = clusters(30);
        for cluster in &mut one_sided[1..] {
            cluster.treated = Flows::default();
        }
        assert!(matches!(cr2(&one_sided), Err(Refusal::Degenerate(_))));
    }

    #[test]
    fn flows_of_one_peer_that_agree_count_as_one() {
        assert!((design_effect(20.0, 0.0) - 1.0).abs() < 1e-15);
        assert!((design_effect(20.0, 1.0) - 20.0).abs() < 1e-15);
    }
}
