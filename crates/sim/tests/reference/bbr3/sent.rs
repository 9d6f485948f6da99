// SPDX-License-Identifier: GPL-2.0-only
//! What the draft of BBRv3 notes with each packet that is sent (`P.lost`, `P.tx_in_flight`), of what ACKs show: all packets that
//! are sent between two ACKs carry the same count of delivered packets, and the kernel returns it with the rate sample.

use std::collections::VecDeque;

use crate::tcp::Tcp;

/// Notes at most.
const NOTES: usize = 64;

/// One is made whenever this share of what is in flight was delivered since the last.
const SHARE: u64 = 32;

#[derive(Debug, Clone, Copy, Default)]
struct Note {
    delivered: u32,
    lost: u32,
    marked: u32,
    in_flight: u64,
}

/// Since the newest acknowledged packet was sent, and what was in flight then.
#[derive(Debug, Clone, Copy, Default)]
pub struct SentThen {
    pub tx_in_flight: u64,
    pub lost: u64,
    pub marked: u64,
}

#[derive(Debug, Clone, Default)]
pub struct Sent {
    notes: VecDeque<Note>,
    marked: u32,
}

impl Sent {
    fn note(&mut self, tcp: &Tcp) {
        let note =
            Note { delivered: tcp.delivered, lost: tcp.lost, marked: tcp.delivered_ce, in_flight: tcp.in_flight };
        self.notes.push_back(note);
        if self.notes.len() > NOTES {
            self.notes.pop_front();
        }
    }

    /// The connection begins.
    pub fn begin(&mut self, tcp: &Tcp) {
        self.notes.clear();
        self.note(tcp);
        self.marked = tcp.delivered_ce;
    }

    /// An ACK comes, and finds so much in flight: what was sent since the last one included.
    pub fn flew(&mut self, prior_in_flight: u32) {
        if let Some(newest) = self.notes.back_mut() {
            newest.in_flight = prior_in_flight.into();
        }
    }

    /// Since a packet was sent that carries `delivered`.
    pub fn then(&self, delivered: u32, tcp: &Tcp) -> SentThen {
        let was_made = |note: &&Note| (delivered.wrapping_sub(note.delivered) as i32) >= 0;
        let note = self.notes.iter().rev().find(was_made).or(self.notes.front()).expect("the connection has begun");
        SentThen {
            tx_in_flight: note.in_flight,
            lost: tcp.lost.wrapping_sub(note.lost).into(),
            marked: tcp.delivered_ce.wrapping_sub(note.marked).into(),
        }
    }

    /// This ACK reports congestion marks.
    pub fn marks_came(&mut self, tcp: &Tcp) -> bool {
        let came = tcp.delivered_ce != self.marked;
        self.marked = tcp.delivered_ce;
        came
    }

    /// An ACK was looked at.
    pub fn acked(&mut self, tcp: &Tcp) {
        let newest = self.notes.back().expect("the connection has begun");
        let since: u64 = tcp.delivered.wrapping_sub(newest.delivered).into();
        if since > 0 && since * SHARE >= tcp.in_flight {
            self.note(tcp);
        }
    }

    /// All that was in flight is lost: what follows is sent after that. What was in flight until then.
    pub fn timed_out(&mut self, tcp: &Tcp) -> SentThen {
        let newest = self.notes.back_mut().expect("the connection has begun");
        let then =
            SentThen { tx_in_flight: newest.in_flight, lost: tcp.lost.wrapping_sub(newest.lost).into(), marked: 0 };
        newest.lost = tcp.lost;
        then
    }
}
