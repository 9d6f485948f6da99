// SPDX-License-Identifier: GPL-2.0-only
//! Formulas over rates of flows: plain functions of plain numbers. `docs/reference/scenarios.md` has their sources.

/// Arithmetic mean; none of nothing.
#[must_use]
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Standard deviation of a population: the divisor is n.
#[must_use]
pub fn deviation(values: &[f64]) -> Option<f64> {
    let mean = mean(values)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / values.len() as f64).sqrt())
}

/// Jain's index, (sum x)^2 / (n sum x^2); none where nothing was sent.
#[must_use]
pub fn jain(rates: &[f64]) -> Option<f64> {
    let (sum, squares) = (rates.iter().sum::<f64>(), rates.iter().map(|rate| rate * rate).sum::<f64>());
    (squares > 0.0).then(|| sum * sum / (rates.len() as f64 * squares))
}

/// S2, equation 2.
#[must_use]
pub fn sigma_f(rates: &[f64]) -> Option<f64> {
    quotient(deviation(rates)?, mean(rates)?)
}

/// The deviations of the flows' rates in each interval: `rates[t][i]` is that of flow i in interval t.
fn sigmas(rates: &[Vec<f64>]) -> Vec<f64> {
    rates.iter().filter_map(|at| deviation(at)).collect()
}

/// S2, equation 3 as printed: how much these deviations vary, over the mean rate.
#[must_use]
pub fn xi_f(rates: &[Vec<f64>], mean_rate: f64) -> Option<f64> {
    quotient(deviation(&sigmas(rates))?, mean_rate)
}

/// S2, equation 3 as its text and tables have it: how large these deviations are, over the mean rate. Of constant rates it is
/// `sigma_f`.
#[must_use]
pub fn xi_f_rms(rates: &[Vec<f64>], mean_rate: f64) -> Option<f64> {
    let squares: Vec<f64> = sigmas(rates).iter().map(|sigma| sigma * sigma).collect();
    quotient(mean(&squares)?.sqrt(), mean_rate)
}

/// S4: A = (a - b) / (a + b).
#[must_use]
pub fn asymmetry(a: f64, b: f64) -> Option<f64> {
    quotient(a - b, a + b)
}

/// S0: the slowest flow's rate over the fastest's.
#[must_use]
pub fn slow_over_fast(rates: &[f64]) -> Option<f64> {
    let fastest = rates.iter().copied().fold(0.0, f64::max);
    quotient(rates.iter().copied().reduce(f64::min)?, fastest)
}

/// The first interval from which on `hold` intervals in a row have every flow within `tolerance` of the mean of the flows.
#[must_use]
pub fn converged_at(rates: &[Vec<f64>], tolerance: f64, hold: usize) -> Option<usize> {
    let is_equal = |at: &Vec<f64>| {
        mean(at).is_some_and(|mean| mean > 0.0 && at.iter().all(|rate| (rate - mean).abs() <= tolerance * mean))
    };
    let mut run = 0;
    for (interval, at) in rates.iter().enumerate() {
        run = if is_equal(at) { run + 1 } else { 0 };
        if run == hold {
            return Some(interval + 1 - hold);
        }
    }
    None
}

/// Deviation over time of each flow's rate over its mean, averaged over the flows that sent anything.
#[must_use]
pub fn smoothness(rates: &[Vec<f64>]) -> Option<f64> {
    let flows = rates.first()?.len();
    let of_flow = |flow: usize| sigma_f(&rates.iter().map(|at| at[flow]).collect::<Vec<f64>>());
    mean(&(0..flows).filter_map(of_flow).collect::<Vec<f64>>())
}

/// The value that a share of all values does not exceed, by nearest rank.
#[must_use]
pub fn percentile(values: &[f64], share: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied()
}

/// a / b; none where b is 0.
#[must_use]
pub fn quotient(a: f64, b: f64) -> Option<f64> {
    (b != 0.0).then(|| a / b)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(value: Option<f64>, expected: f64) -> bool {
        value.is_some_and(|value| (value - expected).abs() < 1e-9)
    }

    /// R. Jain, D. Chiu, W. Hawe, 1984: of n flows of which k share all equally, the index is k/n.
    #[test]
    fn jains_index_is_the_share_of_those_who_share() {
        assert!(near(jain(&[5.0; 7]), 1.0));
        assert!(near(jain(&[3.0, 3.0, 0.0, 0.0, 0.0]), 0.4));
        // (1 + 2 + 3)^2 / (3 * 14)
        assert!(near(jain(&[1.0, 2.0, 3.0]), 36.0 / 42.0));
        assert_eq!(jain(&[0.0, 0.0]), None);
        assert_eq!(jain(&[]), None);
    }

    /// 100 and 60: mean 80, deviation 20
    #[test]
    fn sigma_f_is_the_deviation_over_the_mean() {
        assert!(near(sigma_f(&[100.0, 60.0]), 0.25));
        assert!(near(sigma_f(&[80.0]), 0.0));
        // 2, 4, 4, 4, 5, 5, 7, 9: mean 5, deviation 2
        assert!(near(sigma_f(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]), 0.4));
        assert_eq!(sigma_f(&[]), None);
    }

    /// "if all flows show zero variation in throughput along time, `xi_f` -> `sigma_f`": so does the one reading, while the other is 0.
    #[test]
    fn of_constant_rates_one_xi_f_is_sigma_f_and_the_other_0() {
        let rates = vec![vec![100.0, 60.0]; 5];
        assert!(near(xi_f(&rates, 80.0), 0.0));
        assert!(near(xi_f_rms(&rates, 80.0), sigma_f(&[100.0, 60.0]).unwrap()));
    }

    /// Two flows take turns: (30, 10), (10, 30), (20, 20), (20, 20): `sigma_t` = 10, 10, 0, 0, their deviation 5, their root mean
    /// square sqrt(50); mean rate 20.
    #[test]
    fn xi_f_sees_what_means_hide() {
        let rates = [[30.0, 10.0], [10.0, 30.0], [20.0, 20.0], [20.0, 20.0]].map(|at| at.to_vec());
        assert!(near(sigma_f(&[20.0, 20.0]), 0.0));
        assert!(near(xi_f(&rates, 20.0), 0.25));
        assert!(near(xi_f_rms(&rates, 20.0), 50.0_f64.sqrt() / 20.0));
    }

    /// S4: equal shares 0, all for the first 1, all for the second -1.
    #[test]
    fn asymmetry_tells_who_takes_more() {
        assert!(near(asymmetry(300.0, 300.0), 0.0));
        assert!(near(asymmetry(622.0, 0.0), 1.0));
        assert!(near(asymmetry(0.0, 622.0), -1.0));
        assert!(near(asymmetry(466.5, 155.5), 0.5));
        assert_eq!(asymmetry(0.0, 0.0), None);
    }

    #[test]
    fn the_slowest_over_the_fastest() {
        assert!(near(slow_over_fast(&[50.0, 200.0, 100.0]), 0.25));
        assert_eq!(slow_over_fast(&[]), None);
    }

    /// Within 10 % of (a + b) / 2: 55 and 45 are, 56 and 44 are not. Two equal intervals, one not, then three.
    #[test]
    fn flows_have_converged_when_they_stay_equal() {
        let rates = [[90.0, 10.0], [54.0, 46.0], [50.0, 50.0], [56.0, 44.0], [55.0, 45.0], [45.0, 55.0], [51.0, 49.0]]
            .map(|at| at.to_vec());
        assert_eq!(converged_at(&rates, 0.1, 3), Some(4));
        assert_eq!(converged_at(&rates, 0.1, 2), Some(1));
        assert_eq!(converged_at(&rates, 0.1, 4), None);
        assert_eq!(converged_at(&vec![vec![0.0, 0.0]; 5], 0.1, 2), None);
    }

    /// One flow swings between 10 and 30, deviation 10 of 20; the other is steady; a third never sends.
    #[test]
    fn smoothness_is_the_mean_variation_over_time() {
        let rates = [[10.0, 7.0, 0.0], [30.0, 7.0, 0.0]].map(|at| at.to_vec());
        assert!(near(smoothness(&rates), 0.25));
    }

    /// Of 1 to 20 nearest rank gives the 10th, the 19th, the 20th.
    #[test]
    fn percentiles_are_values_that_occur() {
        let values: Vec<f64> = (1..=20).rev().map(f64::from).collect();
        assert_eq!([0.5, 0.95, 0.99].map(|share| percentile(&values, share)), [Some(10.0), Some(19.0), Some(20.0)]);
        assert_eq!(percentile(&[7.0], 0.5), Some(7.0));
        assert_eq!(percentile(&[], 0.5), None);
    }
}
