// SPDX-License-Identifier: MIT OR Apache-2.0
//! What cannot be computed, and what would do instead.

/// Input from which nothing can be concluded.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// No sign vector of so few pairs is rare enough.
    #[error("{pairs} pairs: at least {least} are needed")]
    TooFewPairs {
        /// Pairs there are.
        pairs: usize,
        /// Pairs that would do.
        least: usize,
    },
    /// Errors that allow for dependence inside clusters need many clusters.
    #[error("{clusters} clusters: at least {least} are needed")]
    TooFewClusters {
        /// Clusters there are.
        clusters: usize,
        /// Clusters that would do.
        least: usize,
    },
    /// A series is too short for what is asked of it.
    #[error("{values} values: at least {least} are needed")]
    TooFewValues {
        /// Values there are.
        values: usize,
        /// Values that would do.
        least: usize,
    },
    /// Two series that belong together differ in length.
    #[error("{first} values of one series, {second} of the other: the numbers must be equal")]
    Lengths {
        /// Values of the first series.
        first: usize,
        /// Values of the second series.
        second: usize,
    },
    /// A value that is infinite or not a number.
    #[error("{0}: a finite number is needed")]
    NotFinite(f64),
    /// A logarithm of this is not defined.
    #[error("{0}: a number above 0 is needed; add the constant that the plan declares")]
    NotPositive(f64),
    /// A probability or share that is not between 0 and 1.
    #[error("{0}: a number above 0 and below 1 is needed")]
    NotShare(f64),
    /// A series without variation, or an arm without data.
    #[error("{0}")]
    Degenerate(&'static str),
}

/// The numbers, if all are finite.
pub(crate) fn finite(values: &[f64]) -> Result<&[f64], Refusal> {
    match values.iter().find(|value| !value.is_finite()) {
        Some(value) => Err(Refusal::NotFinite(*value)),
        None => Ok(values),
    }
}

/// The number, if it is finite and above 0.
pub(crate) fn positive(value: f64) -> Result<f64, Refusal> {
    if !value.is_finite() {
        return Err(Refusal::NotFinite(value));
    }
    if value > 0.0 {
        Ok(value)
    } else {
        Err(Refusal::NotPositive(value))
    }
}

/// The number, if it is between 0 and 1.
pub(crate) fn share(value: f64) -> Result<f64, Refusal> {
    if value > 0.0 && value < 1.0 {
        Ok(value)
    } else {
        Err(Refusal::NotShare(value))
    }
}

/// The numbers, if there are at least `least` and all are finite.
pub(crate) fn at_least(values: &[f64], least: usize) -> Result<&[f64], Refusal> {
    if values.len() < least {
        return Err(Refusal::TooFewValues { values: values.len(), least });
    }
    finite(values)
}

/// Two series of one length, each with at least `least` finite numbers.
pub(crate) fn alike(first: &[f64], second: &[f64], least: usize) -> Result<(), Refusal> {
    if first.len() != second.len() {
        return Err(Refusal::Lengths { first: first.len(), second: second.len() });
    }
    at_least(first, least)?;
    at_least(second, least)?;
    Ok(())
}
