// SPDX-License-Identifier: MIT OR Apache-2.0
//! One socket over time.

use std::collections::{BTreeMap, VecDeque};
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
    /// Clocks and sequence numbers are shown, too.
    pub has_positions: bool,
    /// Least and most of what is drawn, since it was first looked at.
    extremes: BTreeMap<String, (f64, f64)>,
    cookie: u64,
    /// The one that was chosen, by its name.
    field: Option<String>,
}

/// Name of the congestion window among extremes.
pub const CWND: &str = "cwnd";
/// Name of the smoothed RTT.
pub const SRTT: &str = "srtt";

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
            let point = Point {
                at: one.at,
                cwnd_pkts: transport.cwnd_pkts.into(),
                ssthresh_pkts: transport.ssthresh_pkts.map(Into::into),
                srtt_ms: transport.srtt_us.map(|us| us as f64 / 1000.0),
                state: state.map(|(name, raw)| StateField::new(name, raw.as_f64())).collect(),
            };
            self.widen(&point);
            self.points.push_back(point);
            if self.points.len() > SAMPLES {
                self.points.pop_front();
            }
        }
        self.latest = Some(socket);
    }

    fn widen(&mut self, point: &Point) {
        let values = [(CWND, Some(point.cwnd_pkts)), (SRTT, point.srtt_ms)];
        let values = values.into_iter().filter_map(|(name, value)| Some((name, value?)));
        let fields = point.state.iter().filter_map(|field| Some((field.name.as_str(), field.value?)));
        for (name, value) in values.chain(fields) {
            match self.extremes.get_mut(name) {
                Some((least, most)) => (*least, *most) = (least.min(value), most.max(value)),
                None => drop(self.extremes.insert(name.to_owned(), (value, value))),
            }
        }
    }

    /// Least and most of it since the socket was first looked at, whatever has left the charts meanwhile.
    pub fn extremes(&self, name: &str) -> Option<(f64, f64)> {
        self.extremes.get(name).copied()
    }

    /// Fields of the program that it runs on now: after a move or a swap they are others.
    pub fn fields(&self) -> impl Iterator<Item = &StateField> {
        let state = self.points.back().map_or(&[][..], |point| &point.state);
        state.iter().filter(|field| self.has_positions || !field.is_position())
    }

    /// The field that is drawn: the chosen one, or the first of those that say most.
    pub fn field(&self) -> Option<&StateField> {
        let chosen = self.fields().find(|field| Some(&field.name) == self.field.as_ref());
        let most = self.fields().map(StateField::interest).max();
        chosen.or_else(|| self.fields().find(|field| Some(field.interest()) == most))
    }

    /// Values of that field, where the program of the moment had it.
    pub fn drawn_field(&self) -> Vec<(Instant, f64)> {
        let Some(field) = self.field() else { return Vec::new() };
        let value = |point: &Point| {
            let same = point.state.iter().find(|other| other.name == field.name)?;
            Some((point.at, same.value?))
        };
        self.points.iter().filter_map(value).collect()
    }

    /// Draws the field that is so many further, round and round.
    pub fn choose_field(&mut self, steps: isize) {
        let names: Vec<String> = self.fields().map(|field| field.name.clone()).collect();
        let Some(drawn) = self.field().and_then(|field| names.iter().position(|name| *name == field.name)) else {
            return;
        };
        let place = (drawn as isize + steps).rem_euclid(names.len() as isize);
        self.field = names.into_iter().nth(place as usize);
    }
}
