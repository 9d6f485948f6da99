// SPDX-License-Identifier: GPL-2.0-only
//! What is measured of a flow.

/// What a row of the table says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measures {
    /// Bytes acknowledged.
    pub goodput_mbit_per_s: f64,
    /// Packets.
    pub mean_cwnd: f64,
    /// Packets.
    pub peak_cwnd: f64,
    /// Window after a reduction to that before it; None: there was none.
    pub backoff: Option<f64>,
    /// The standard error of that mean.
    pub backoff_error: f64,
    /// From a reduction to the next.
    pub epoch_s: Option<f64>,
    /// Reductions.
    pub epochs: usize,
}
