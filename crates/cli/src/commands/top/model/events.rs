// SPDX-License-Identifier: MIT OR Apache-2.0
//! The pane of events.

use std::collections::VecDeque;

use ccctl_core::daemon::Event;

/// So many of the latest are kept: more than a pane shows.
const KEPT: usize = 100;

/// The latest events, and why there are none.
#[derive(Debug, Default)]
pub struct EventPane {
    /// Is it on the screen?
    pub is_shown: bool,
    /// Has somebody been asked for them?
    pub is_followed: bool,
    /// Oldest first.
    pub events: VecDeque<Event>,
    /// Why none come at the moment.
    pub problem: Option<String>,
}

impl EventPane {
    /// Something has happened.
    pub fn take(&mut self, event: Event) {
        self.problem = None;
        if self.events.len() >= KEPT {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }

    /// No more come.
    pub fn fail(&mut self, why: String) {
        self.problem = Some(why);
    }
}
