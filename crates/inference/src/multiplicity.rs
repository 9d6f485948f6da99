// SPDX-License-Identifier: MIT OR Apache-2.0
//! Many metrics at once: p values adjusted for their number, in the order in which they came.

/// Holm's step-down (Scand. J. Stat. 6, 1979): the chance of any false finding stays below alpha.
#[must_use]
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let count = p_values.len();
    let mut adjusted = vec![0.0; count];
    let mut largest: f64 = 0.0;
    for (rank, index) in ascending(p_values).into_iter().enumerate() {
        largest = largest.max((count - rank) as f64 * p_values[index]).min(1.0);
        adjusted[index] = largest;
    }
    adjusted
}

/// Benjamini and Hochberg's step-up (JRSS B 57, 1995): the expected share of false findings stays below alpha.
#[must_use]
pub fn benjamini_hochberg(p_values: &[f64]) -> Vec<f64> {
    let count = p_values.len();
    let mut adjusted = vec![0.0; count];
    let mut smallest: f64 = 1.0;
    for (rank, index) in ascending(p_values).into_iter().enumerate().rev() {
        smallest = smallest.min(count as f64 / (rank + 1) as f64 * p_values[index]);
        adjusted[index] = smallest;
    }
    adjusted
}

fn ascending(p_values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|left, right| p_values[*left].total_cmp(&p_values[*right]));
    order
}
