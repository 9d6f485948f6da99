// SPDX-License-Identifier: MIT OR Apache-2.0
//! What keys do while they are text, scroll the help, choose columns or answer a question.

use super::question::Answer;
use super::{Effect, Export, InstanceColumn, Key, Lookup, Mode, Model, Question, SocketColumn, View};
use crate::commands::top::action::Action;
use crate::commands::top::keys::HELP;

impl Model {
    pub(super) fn edit_filter(&mut self, action: Action) {
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
        self.set_filter(text);
    }

    pub(super) fn edit_file_name(&mut self, action: Action) -> Option<Effect> {
        let Mode::Writing(name) = &mut self.mode else { return None };
        match action {
            Action::Character(character) => name.push(character),
            Action::Erase => drop(name.pop()),
            Action::Back => {
                self.mode = Mode::Normal;
                self.tell("nothing was written".to_owned());
            }
            Action::Enter if !name.trim().is_empty() => {
                let name = name.trim().to_owned();
                self.mode = Mode::Normal;
                match Export::of(self, &name) {
                    Ok(export) => return Some(Effect::Write(export)),
                    Err(text) => self.refuse(text),
                }
            }
            _ => {}
        }
        None
    }

    /// As far as there are lines that the screen has no room for; any other key closes it.
    pub(super) fn scroll_help(&mut self, action: Action) {
        let Mode::Help(first) = self.mode else { return };
        let room = self.instances.height + 2;
        let most = (HELP.len() + 1).saturating_sub(room);
        self.mode = match action {
            Action::Up => Mode::Help(first.saturating_sub(1)),
            Action::Down => Mode::Help((first + 1).min(most)),
            Action::PageUp => Mode::Help(first.saturating_sub(room)),
            Action::PageDown => Mode::Help((first + room).min(most)),
            Action::First => Mode::Help(0),
            Action::Last => Mode::Help(most),
            _ => Mode::Normal,
        };
    }

    pub(super) fn choose_columns(&mut self, action: Action) {
        let Mode::Columns(cursor) = self.mode else { return };
        let count = match self.view {
            View::Instances => InstanceColumn::ALL.len(),
            _ => SocketColumn::ALL.len(),
        };
        self.mode = match action {
            Action::Up => Mode::Columns(cursor.saturating_sub(1)),
            Action::Down => Mode::Columns((cursor + 1).min(count - 1)),
            Action::First => Mode::Columns(0),
            Action::Last => Mode::Columns(count - 1),
            Action::Enter | Action::Back | Action::Columns => Mode::Normal,
            Action::Mark => {
                match self.view {
                    View::Instances => self.instances.columns.toggle(InstanceColumn::ALL[cursor]),
                    _ => self.sockets.columns.toggle(SocketColumn::ALL[cursor]),
                }
                Mode::Columns(cursor)
            }
            _ => Mode::Columns(cursor),
        };
    }

    pub(super) fn ask(&mut self, action: Action) -> Option<Lookup> {
        match Question::of(action, self) {
            Ok(question) => {
                let lookup = question.lookup();
                self.mode = Mode::Asking(question);
                lookup
            }
            Err(text) => {
                self.refuse(text);
                None
            }
        }
    }

    pub(super) fn answer(&mut self, action: Action) -> Option<Effect> {
        let Mode::Asking(question) = &mut self.mode else { return None };
        let refusal = question.refusal();
        match question.answer(action) {
            Answer::Open => None,
            Answer::No => {
                self.mode = Mode::Normal;
                self.tell(refusal.to_owned());
                None
            }
            Answer::Yes(change) => {
                self.mode = Mode::Normal;
                self.sockets.unmark();
                self.tell(change.progress());
                Some(Effect::Change(change))
            }
        }
    }
}
