// SPDX-License-Identifier: MIT OR Apache-2.0
//! What keys and the mouse do.

use std::time::SystemTime;

use super::columns::Columns;
use super::{export, Effect, InstanceColumn, Mode, Model, SocketColumn, View};
use crate::commands::top::action::Action;
use crate::commands::top::sample::{ClockState, Wish};

/// Lines above the first row of a table: the title and the heading.
const ABOVE: u16 = 2;

impl Model {
    /// Does what a key means.
    pub fn act(&mut self, action: Action) -> Option<Effect> {
        if action == Action::Quit {
            return Some(Effect::Quit);
        }
        match &mut self.mode {
            Mode::Help(_) => self.scroll_help(action),
            Mode::Filter => self.edit_filter(action),
            Mode::Columns(_) => self.choose_columns(action),
            Mode::Writing(_) => return self.edit_file_name(action),
            Mode::Asking(_) => return self.answer(action),
            Mode::Normal => {
                self.message = None;
                return self.act_in_view(action);
            }
        }
        None
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
            Action::Click(x, y) => return self.click(x, y),
            Action::Help => self.mode = Mode::Help(0),
            Action::Write => self.mode = Mode::Writing(export::file_name(SystemTime::now())),
            Action::Pause => {
                self.is_paused = !self.is_paused;
                return Some(Effect::Pause(self.is_paused));
            }
            Action::Events => return self.toggle_events(),
            Action::Clock => return Some(Effect::Clock(self.clock != ClockState::On)),
            Action::Migrate | Action::Load | Action::Swap | Action::Tune | Action::Assign | Action::Rearm => {
                return self.ask(action).map(Effect::Lookup);
            }
            _ => self.arrange(action),
        }
        None
    }

    /// What changes only how the view looks.
    fn arrange(&mut self, action: Action) {
        match action {
            Action::Sort => self.next_column(),
            Action::Direction => self.turn_order(),
            Action::SortBy(letter) => self.sort_by_letter(letter),
            Action::Filter if !matches!(self.view, View::Socket(..)) => self.mode = Mode::Filter,
            Action::Mark if matches!(self.view, View::Sockets(_)) => self.sockets.mark(),
            Action::SendersOnly => self.toggle_senders_only(),
            Action::Tree => self.toggle_tree(),
            Action::Columns => match self.view {
                View::Socket(..) => self.socket.has_positions = !self.socket.has_positions,
                _ => self.mode = Mode::Columns(0),
            },
            _ => {}
        }
    }

    /// They are followed from the first time on.
    fn toggle_events(&mut self) -> Option<Effect> {
        self.events.is_shown = !self.events.is_shown;
        (!std::mem::replace(&mut self.events.is_followed, true)).then_some(Effect::Follow)
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
            View::Instances => self.sort_instances(self.instances.columns.next()),
            View::Sockets(_) => self.sort_sockets(self.sockets.columns.next()),
            View::Socket(..) => self.socket.choose_field(1),
        }
    }

    fn turn_order(&mut self) {
        match self.view {
            View::Instances => self.sort_instances(Some(self.instances.columns.sorted)),
            View::Sockets(_) => self.sort_sockets(Some(self.sockets.columns.sorted)),
            View::Socket(..) => self.socket.choose_field(-1),
        }
    }

    fn sort_by_letter(&mut self, letter: char) {
        match self.view {
            View::Instances => self.sort_instances(Columns::<InstanceColumn>::of_letter(letter)),
            View::Sockets(_) => self.sort_sockets(Columns::<SocketColumn>::of_letter(letter)),
            View::Socket(..) => {}
        }
    }

    fn sort_instances(&mut self, column: Option<InstanceColumn>) {
        if let Some(column) = column {
            self.instances.columns.sort_by(column);
            self.instances.arrange();
        }
    }

    fn sort_sockets(&mut self, column: Option<SocketColumn>) {
        if let Some(column) = column {
            self.sockets.columns.sort_by(column);
            self.sockets.arrange_here();
        }
    }

    fn toggle_senders_only(&mut self) {
        let is_wanted = !self.instances.is_senders_only;
        (self.instances.is_senders_only, self.sockets.is_senders_only) = (is_wanted, is_wanted);
        self.instances.arrange();
        self.sockets.arrange_here();
    }

    fn toggle_tree(&mut self) {
        if self.view == View::Instances {
            return self.refuse("the tree is of sockets: choose an instance first (Enter)".to_owned());
        }
        self.sockets.is_tree = !self.sockets.is_tree;
        self.sockets.arrange_here();
    }

    /// A click on a heading sorts, one on a row goes there, and one on the row of the cursor looks into it.
    fn click(&mut self, x: u16, y: u16) -> Option<Effect> {
        let (offset, cursor, height, count) = match self.view {
            View::Instances => {
                let table = &self.instances;
                (table.offset, table.cursor(), table.height, table.rows.len())
            }
            View::Sockets(_) => {
                let table = &self.sockets;
                (table.offset, table.cursor(), table.height, table.line_count())
            }
            View::Socket(..) => return None,
        };
        if y + 1 == ABOVE {
            match self.view {
                View::Instances => self.sort_instances(self.instances.columns.at(x)),
                _ => self.sort_sockets(self.sockets.columns.at(x)),
            }
        }
        let row = usize::from(y.checked_sub(ABOVE)?);
        if row >= height || offset + row >= count {
            return None;
        }
        if offset + row == cursor {
            return self.drill_down();
        }
        self.move_by((offset + row) as isize - cursor as isize);
        None
    }

    fn drill_down(&mut self) -> Option<Effect> {
        match &self.view {
            View::Instances => {
                let name = self.instances.selected()?.sample.name.clone();
                self.sockets.begin(&name);
                self.view = View::Sockets(name.clone());
                Some(Effect::Look(Wish::Sockets(name)))
            }
            View::Sockets(_) if self.sockets.fold() => None,
            View::Sockets(name) => {
                let cookie = self.sockets.selected()?.cookie;
                self.socket = super::SocketHistory::of(cookie);
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
                self.set_filter(String::new());
                None
            }
            View::Sockets(_) if !self.sockets.filter.is_empty() => {
                self.set_filter(String::new());
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

    pub(super) fn set_filter(&mut self, text: String) {
        if self.view == View::Instances {
            self.instances.filter = text;
            self.instances.arrange();
        } else {
            self.sockets.filter = text;
            self.sockets.arrange_here();
        }
    }
}
