// SPDX-License-Identifier: MIT OR Apache-2.0
//! The state of the screen: what was sampled, what is selected, what is being asked. No terminal, no kernel.

mod instances;
mod migration;
mod socket;
mod sockets;
mod state;
#[cfg(test)]
mod tests;

pub use instances::{kind_text, InstanceColumn, InstanceRow, InstanceTable};
pub use migration::{Migration, Question};
pub use socket::{Point, SocketHistory};
pub use sockets::{SocketColumn, SocketTable};
pub use state::StateField;

use super::keys::Action;
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
    /// They close the help.
    Help,
    /// They answer a question.
    Asking(Question),
}

/// What a key brings about outside of the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// The end.
    Quit,
    /// Another wish.
    Look(Wish),
    /// Sockets are to be moved.
    Migrate(Migration),
    /// Stop or go on looking.
    Pause(bool),
    /// Switch the ACK clock.
    Clock(bool),
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

    /// Says that looking did not work; goes away with the next look that does.
    pub fn failed(&mut self, cause: String) {
        self.message = Some(Message { text: cause, is_error: true });
        self.is_stale = true;
    }

    /// Says what came of moving sockets; stays until the next key.
    pub fn moved(&mut self, outcome: Result<String, String>) {
        let is_error = outcome.is_err();
        self.message = Some(Message { text: outcome.unwrap_or_else(|error| error), is_error });
        self.is_stale = false;
    }

    /// Does what a key means.
    pub fn act(&mut self, action: Action) -> Option<Effect> {
        if action == Action::Quit {
            return Some(Effect::Quit);
        }
        match &mut self.mode {
            Mode::Help => {
                self.mode = Mode::Normal;
                None
            }
            Mode::Filter => {
                self.edit_filter(action);
                None
            }
            Mode::Asking(_) => self.answer(action),
            Mode::Normal => {
                self.message = None;
                self.act_in_view(action)
            }
        }
    }

    fn act_in_view(&mut self, action: Action) -> Option<Effect> {
        match action {
            Action::Up => self.move_by(-1),
            Action::Down => self.move_by(1),
            Action::PageUp => self.move_by(-(self.page() as isize)),
            Action::PageDown => self.move_by(self.page() as isize),
            Action::First => self.move_by(isize::MIN / 2),
            Action::Last => self.move_by(isize::MAX / 2),
            Action::Enter => return self.drill_down(),
            Action::Back => return self.back(),
            Action::Sort => self.next_column(),
            Action::Direction => self.turn_order(),
            Action::Filter if !matches!(self.view, View::Socket(..)) => self.mode = Mode::Filter,
            Action::Mark if matches!(self.view, View::Sockets(_)) => self.sockets.mark(),
            Action::Migrate => self.ask_where_to(),
            Action::Help => self.mode = Mode::Help,
            Action::Pause => {
                self.is_paused = !self.is_paused;
                return Some(Effect::Pause(self.is_paused));
            }
            Action::Clock => return Some(Effect::Clock(self.clock != ClockState::On)),
            _ => {}
        }
        None
    }

    fn page(&self) -> usize {
        match self.view {
            View::Instances => self.instances.height.max(1),
            _ => self.sockets.height.max(1),
        }
    }

    fn move_by(&mut self, rows: isize) {
        match self.view {
            View::Instances => self.instances.move_by(rows),
            View::Sockets(_) => self.sockets.move_by(rows),
            View::Socket(..) => {}
        }
    }

    fn next_column(&mut self) {
        match self.view {
            View::Instances => self.instances.next_column(),
            View::Sockets(_) => self.sockets.next_column(),
            View::Socket(..) => self.socket.next_field(),
        }
    }

    fn turn_order(&mut self) {
        match self.view {
            View::Instances => self.instances.turn_order(),
            View::Sockets(_) => self.sockets.turn_order(),
            View::Socket(..) => self.socket.previous_field(),
        }
    }

    fn drill_down(&mut self) -> Option<Effect> {
        match &self.view {
            View::Instances => {
                let name = self.instances.selected()?.sample.name.clone();
                self.sockets = SocketTable::of(&name);
                self.view = View::Sockets(name.clone());
                Some(Effect::Look(Wish::Sockets(name)))
            }
            View::Sockets(name) => {
                let row = self.sockets.selected()?;
                let cookie = row.cookie;
                self.socket = SocketHistory::of(cookie);
                self.view = View::Socket(name.clone(), cookie);
                Some(Effect::Look(Wish::Socket(cookie)))
            }
            View::Socket(..) => None,
        }
    }

    /// A filter goes before the view does.
    fn back(&mut self) -> Option<Effect> {
        match &self.view {
            View::Instances => {
                self.instances.set_filter(String::new());
                None
            }
            View::Sockets(_) if !self.sockets.filter.is_empty() => {
                self.sockets.set_filter(String::new());
                None
            }
            View::Sockets(_) => {
                self.view = View::Instances;
                Some(Effect::Look(Wish::Instances))
            }
            View::Socket(name, _) => {
                let name = name.clone();
                self.view = View::Sockets(name.clone());
                Some(Effect::Look(Wish::Sockets(name)))
            }
        }
    }

    /// The filter of what is shown.
    pub fn filter(&self) -> &str {
        match self.view {
            View::Instances => &self.instances.filter,
            _ => &self.sockets.filter,
        }
    }

    fn edit_filter(&mut self, action: Action) {
        let mut text = self.filter().to_owned();
        match action {
            Action::Character(character) => text.push(character),
            Action::Erase => {
                text.pop();
            }
            Action::Back => {
                text.clear();
                self.mode = Mode::Normal;
            }
            Action::Enter => self.mode = Mode::Normal,
            _ => {}
        }
        match self.view {
            View::Instances => self.instances.set_filter(text),
            _ => self.sockets.set_filter(text),
        }
    }

    fn ask_where_to(&mut self) {
        match Question::about(self) {
            Ok(question) => self.mode = Mode::Asking(question),
            Err(text) => self.message = Some(Message { text, is_error: true }),
        }
    }

    fn answer(&mut self, action: Action) -> Option<Effect> {
        let Mode::Asking(question) = &mut self.mode else { return None };
        match question.answer(action) {
            migration::Answer::Open => None,
            migration::Answer::No => {
                self.mode = Mode::Normal;
                self.message = Some(Message { text: "nothing was moved".to_owned(), is_error: false });
                None
            }
            migration::Answer::Yes(migration) => {
                self.mode = Mode::Normal;
                self.sockets.unmark();
                self.message = Some(Message { text: format!("moving {} ...", migration.label()), is_error: false });
                Some(Effect::Migrate(migration))
            }
        }
    }
}

/// Where a table has to begin so that the selected row is seen, moving as little as possible.
fn scrolled(offset: usize, selected: usize, height: usize, count: usize) -> usize {
    let height = height.max(1);
    let least = (selected + 1).saturating_sub(height);
    offset.clamp(least, selected.max(least)).min(count.saturating_sub(height))
}
