// SPDX-License-Identifier: MIT OR Apache-2.0
//! The state of the screen: what was sampled, what is selected, what is being asked. No terminal, no kernel.

mod acting;
mod change;
mod columns;
mod events;
mod export;
mod instances;
mod modes;
mod question;
mod socket;
mod socket_column;
mod sockets;
mod state;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_changes;
mod tree;

pub use change::{Change, Migration};
pub use columns::{Columns, Key};
pub use events::EventPane;
pub use export::Export;
pub use instances::{kind_text, InstanceColumn, InstanceRow, InstanceTable};
pub use question::{Choice, Lookup, Question, Stage};
pub use socket::{Point, SocketHistory, CWND, SRTT};
pub use socket_column::SocketColumn;
pub use sockets::{Line, SocketTable};
pub use state::StateField;
pub use tree::Branch;

use super::sample::{ClockState, Sample, Wish};

/// What is on the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum View {
    /// All algorithms.
    Instances,
    /// The sockets of one.
    Sockets(String),
    /// One socket of it.
    Socket(String, u64),
}

/// What keys mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mode {
    /// They move about.
    Normal,
    /// They are text of the filter.
    Filter,
    /// They scroll the help, which begins at this line, or close it.
    Help(usize),
    /// They answer a question.
    Asking(Question),
    /// They choose columns; this one is under the cursor.
    Columns(usize),
    /// They are the name of a file to write to.
    Writing(String),
}

/// What a key brings about outside of the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// The end.
    Quit,
    /// Another wish.
    Look(Wish),
    /// A question needs to know this.
    Lookup(Lookup),
    /// Something is to be changed.
    Change(Change),
    /// A file is to be written.
    Write(Export),
    /// Stop or go on looking.
    Pause(bool),
    /// Switch the ACK clock.
    Clock(bool),
    /// Follow the daemon's events.
    Follow,
}

/// One line for the reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// What.
    pub text: String,
    /// Something went wrong.
    pub is_error: bool,
}

/// All of it.
#[derive(Debug)]
pub struct Model {
    /// What is shown.
    pub view: View,
    /// What keys mean.
    pub mode: Mode,
    /// Algorithms.
    pub instances: InstanceTable,
    /// Sockets of the algorithm that is or was looked at.
    pub sockets: SocketTable,
    /// The socket that is or was looked at.
    pub socket: SocketHistory,
    /// Names that sockets can be moved to.
    pub targets: Vec<String>,
    /// Network namespaces that cannot be looked into.
    pub unreadable: usize,
    /// The ACK clock.
    pub clock: ClockState,
    /// The network namespace whose ACKs are timed; none: that of this process.
    pub clock_netns: Option<String>,
    /// The daemon's events.
    pub events: EventPane,
    /// Nothing is read.
    pub is_paused: bool,
    /// What was last done, or did not work.
    pub message: Option<Message>,
    /// The message is the source's: the next sample that comes takes it away.
    is_stale: bool,
}

impl Model {
    /// Nothing sampled yet.
    pub fn new() -> Self {
        Self {
            view: View::Instances,
            mode: Mode::Normal,
            instances: InstanceTable::default(),
            sockets: SocketTable::default(),
            socket: SocketHistory::default(),
            targets: Vec::new(),
            unreadable: 0,
            clock: ClockState::Off,
            clock_netns: None,
            events: EventPane::default(),
            is_paused: false,
            message: None,
            is_stale: false,
        }
    }

    /// Takes in what was seen. What belongs to a view that was left meanwhile is dropped.
    pub fn take(&mut self, sample: Sample) {
        if std::mem::take(&mut self.is_stale) {
            self.message = None;
        }
        if let Some(instances) = sample.instances {
            self.targets.clone_from(&instances.targets);
            self.unreadable = instances.unreadable;
            self.clock = instances.clock.clone();
            self.instances.take(instances);
        }
        if let (Some(list), View::Sockets(name)) = (sample.sockets, &self.view) {
            if list.instance == *name {
                self.sockets.take(list);
            }
        }
        if let (Some(one), View::Socket(_, cookie)) = (sample.socket, &self.view) {
            if one.cookie == *cookie {
                self.socket.take(one);
            }
        }
    }

    /// Takes in what a question needs to know, if it is still asked.
    pub fn offer(&mut self, lookup: &Lookup, found: Result<Vec<Choice>, String>) {
        let Mode::Asking(question) = &mut self.mode else { return };
        if question.lookup().as_ref() != Some(lookup) || question.stage != Stage::Waiting {
            return;
        }
        if let Err(text) = found.and_then(|choices| question.offer(choices)) {
            self.mode = Mode::Normal;
            self.refuse(text);
        }
    }

    /// Says that looking did not work; goes away with the next look that does.
    pub fn failed(&mut self, cause: String) {
        self.refuse(cause);
        self.is_stale = true;
    }

    /// Says what came of a change; stays until the next key.
    pub fn done(&mut self, outcome: Result<String, String>) {
        match outcome {
            Ok(text) => self.tell(text),
            Err(text) => self.refuse(text),
        }
    }

    fn tell(&mut self, text: String) {
        self.message = Some(Message { text, is_error: false });
        self.is_stale = false;
    }

    fn refuse(&mut self, text: String) {
        self.message = Some(Message { text, is_error: true });
        self.is_stale = false;
    }

    /// The filter of what is shown.
    pub fn filter(&self) -> &str {
        match self.view {
            View::Instances => &self.instances.filter,
            _ => &self.sockets.filter,
        }
    }

    /// Why the column of the ACK clock is not filled, where it runs: it times the ACKs of one network namespace, and the
    /// table is about all.
    pub fn clock_hint(&self) -> Option<String> {
        let is_empty =
            |row: &InstanceRow| row.sample.ack_time.is_none() && row.bit_per_s.is_some_and(|rate| rate > 0.0);
        if self.clock != ClockState::On || self.view != View::Instances || !self.instances.rows.iter().any(is_empty) {
            return None;
        }
        Some(match &self.clock_netns {
            None => "ACK clock: this namespace only; --netns NAME times another".to_owned(),
            Some(name) => format!("ACK clock: namespace {name} only"),
        })
    }
}

/// Where a table has to begin so that the selected row is seen, moving as little as possible.
fn scrolled(offset: usize, selected: usize, height: usize, count: usize) -> usize {
    let height = height.max(1);
    let least = (selected + 1).saturating_sub(height);
    offset.clamp(least, selected.max(least)).min(count.saturating_sub(height))
}
