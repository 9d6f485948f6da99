// SPDX-License-Identifier: MIT OR Apache-2.0
//! One socket over time.

use std::collections::VecDeque;
use std::time::Instant;

use super::StateField;
use crate::commands::top::sample::OneSocket;
use ccctl_core::operations;

/// Samples kept: five minutes of seconds.
pub const SAMPLES: usize = 300;

/// A moment.
#[derive(Debug, Clone)]
pub struct Point {
    /// When.
    pub at: Instant,
    /// Congestion window.
    pub cwnd_pkts: f64,
    /// Slow-start threshold; none before the first loss.
    pub ssthresh_pkts: Option<f64>,
    /// Smoothed RTT.
    pub srtt_ms: Option<f64>,
    /// What the algorithm keeps.
    pub state: Vec<StateField>,
}

/// Its past.
#[derive(Debug, Default)]
pub struct SocketHistory {
    /// The latest last.
    pub points: VecDeque<Point>,
    /// As it was last seen.
    pub latest: Option<operations::Socket>,
    /// It was looked for and not found.
    pub is_closed: bool,
    cookie: u64,
    field: usize,
}

impl SocketHistory {
    /// Of this socket; nothing known yet.
    pub fn of(cookie: u64) -> Self {
        Self { cookie, ..Self::default() }
    }

    /// Takes in a look. A socket that is gone keeps its past; no other ever gets its cookie.
    pub fn take(&mut self, one: OneSocket) {
        if one.cookie != self.cookie {
            return;
        }
        self.is_closed = one.socket.is_none();
        let Some(socket) = one.socket else { return };
        if let Some(transport) = &socket.transport {
            let state = socket.algorithm_state.iter().flatten();
            self.points.push_back(Point {
                at: one.at,
                cwnd_pkts: transport.cwnd_pkts.into(),
                ssthresh_pkts: transport.ssthresh_pkts.map(Into::into),
                srtt_ms: transport.srtt_us.map(|us| us as f64 / 1000.0),
                state: state.map(|(name, raw)| StateField::new(name, raw.as_f64().unwrap_or_default())).collect(),
            });
            if self.points.len() > SAMPLES {
                self.points.pop_front();
            }
        }
        self.latest = Some(socket);
    }

    /// Fields of the program that it runs on now: after a move or a swap they are others.
    pub fn fields(&self) -> &[StateField] {
        self.points.back().map_or(&[], |point| &point.state)
    }

    /// The field that is drawn.
    pub fn field(&self) -> Option<&StateField> {
        let fields = self.fields();
        fields.get(self.field.checked_rem(fields.len())?)
    }

    /// Values of that field, where the program of the moment had it.
    pub fn drawn_field(&self) -> Vec<(Instant, f64)> {
        let Some(field) = self.field() else { return Vec::new() };
        let value = |point: &Point| {
            let same = point.state.iter().find(|other| other.name == field.name)?;
            Some((point.at, same.value))
        };
        self.points.iter().filter_map(value).collect()
    }

    /// Draws the next field.
    pub fn next_field(&mut self) {
        self.field = (self.field + 1).checked_rem(self.fields().len()).unwrap_or(0);
    }

    /// Draws the one before.
    pub fn previous_field(&mut self) {
        let count = self.fields().len();
        self.field = (self.field + count.saturating_sub(1)).checked_rem(count).unwrap_or(0);
    }
}
