// SPDX-License-Identifier: MIT OR Apache-2.0
//! From keys to what they mean.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::model::Mode;

/// What a key means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // the help says what they do
pub enum Action {
    Quit,
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
    Enter,
    Back,
    Sort,
    Direction,
    Filter,
    Mark,
    Migrate,
    Pause,
    Clock,
    Help,
    Yes,
    No,
    Erase,
    Character(char),
}

/// What `ccctl top` says of its keys.
pub const HELP: [(&str, &str); 13] = [
    ("up down j k", "move; PgUp PgDn Home End further"),
    ("Enter", "sockets of the instance; then one socket"),
    ("Esc Backspace", "back; clears a filter first"),
    ("s S", "sort by the next column; the other way round"),
    ("", "at one socket: draw the next field, the one before"),
    ("/", "filter: instance, address, cgroup, process"),
    ("", "Enter keeps it, Esc clears it"),
    ("Space", "mark a socket"),
    ("m", "move marked sockets, or all of the instance,"),
    ("", "to another one: asks which, and if really"),
    ("a", "ACK clock on and off (costs a few per cent)"),
    ("p", "pause"),
    ("q Ctrl-C", "quit"),
];

/// What this key means; None: nothing.
pub fn action(mode: &Mode, key: KeyEvent) -> Option<Action> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return (key.code == KeyCode::Char('c')).then_some(Action::Quit);
    }
    match mode {
        Mode::Filter => in_text(key.code),
        Mode::Asking(question) if question.is_chosen => in_confirmation(key.code),
        Mode::Normal | Mode::Help | Mode::Asking(_) => moving(key.code).or_else(|| letter(key.code)),
    }
}

fn in_text(code: KeyCode) -> Option<Action> {
    match code {
        KeyCode::Char(character) => Some(Action::Character(character)),
        KeyCode::Backspace => Some(Action::Erase),
        KeyCode::Enter => Some(Action::Enter),
        KeyCode::Esc => Some(Action::Back),
        _ => None,
    }
}

/// Enter is no yes: it was pressed a moment ago to choose the target.
fn in_confirmation(code: KeyCode) -> Option<Action> {
    match code {
        KeyCode::Char('y') => Some(Action::Yes),
        KeyCode::Char('n') => Some(Action::No),
        KeyCode::Esc | KeyCode::Backspace => Some(Action::Back),
        KeyCode::Char('q') => Some(Action::Quit),
        _ => None,
    }
}

fn moving(code: KeyCode) -> Option<Action> {
    Some(match code {
        KeyCode::Up | KeyCode::Char('k') => Action::Up,
        KeyCode::Down | KeyCode::Char('j') => Action::Down,
        KeyCode::PageUp => Action::PageUp,
        KeyCode::PageDown => Action::PageDown,
        KeyCode::Home => Action::First,
        KeyCode::End => Action::Last,
        KeyCode::Enter => Action::Enter,
        KeyCode::Esc | KeyCode::Backspace => Action::Back,
        _ => return None,
    })
}

fn letter(code: KeyCode) -> Option<Action> {
    Some(match code {
        KeyCode::Char('q') => Action::Quit,
        KeyCode::Char('s') => Action::Sort,
        KeyCode::Char('S') => Action::Direction,
        KeyCode::Char('/') => Action::Filter,
        KeyCode::Char(' ') => Action::Mark,
        KeyCode::Char('m') => Action::Migrate,
        KeyCode::Char('p') => Action::Pause,
        KeyCode::Char('a') => Action::Clock,
        KeyCode::Char('?') => Action::Help,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pressed(mode: &Mode, code: KeyCode) -> Option<Action> {
        action(mode, KeyEvent::new(code, KeyModifiers::NONE))
    }

    #[test]
    fn letters_are_text_in_a_filter() {
        for letter in ['q', 'j', 's', '?', ' ', 'é'] {
            assert_eq!(pressed(&Mode::Filter, KeyCode::Char(letter)), Some(Action::Character(letter)));
        }
        assert_eq!(pressed(&Mode::Filter, KeyCode::Backspace), Some(Action::Erase));
        assert_eq!(pressed(&Mode::Normal, KeyCode::Backspace), Some(Action::Back));
        assert_eq!(pressed(&Mode::Normal, KeyCode::Char('q')), Some(Action::Quit));
    }

    #[test]
    fn control_c_always_ends() {
        let key = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        for mode in [Mode::Normal, Mode::Filter, Mode::Help] {
            assert_eq!(action(&mode, key), Some(Action::Quit));
        }
    }
}
