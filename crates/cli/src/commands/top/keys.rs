// SPDX-License-Identifier: MIT OR Apache-2.0
//! From keys to what they mean.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::crossterm::event::{MouseButton, MouseEvent, MouseEventKind};

use super::action::Action;
use super::model::{Mode, Stage};

/// What `ccctl top` says of its keys.
pub const HELP: [(&str, &str); 26] = [
    ("up down j k", "move; PgUp PgDn, g G or Home End further"),
    ("Enter", "sockets of the instance; then one socket"),
    ("Esc Backspace", "back; clears a filter first"),
    ("A to Z", "sort by the column with this letter underlined;"),
    ("", "again: the other way round"),
    ("s S", "sort by the next column; the other way round"),
    ("", "at one socket: draw the next field, the one before"),
    ("c", "choose columns; at one socket: clocks and"),
    ("", "sequence numbers, too"),
    ("/", "filter: instance, address, cgroup, process"),
    ("", "Enter keeps it, Esc clears it"),
    ("o", "only senders, or all"),
    ("t", "sockets as a tree by cgroup; Enter folds"),
    ("Space", "mark a socket, or those of a cgroup"),
    ("m", "move marked sockets, or all of the instance"),
    ("l", "load an algorithm"),
    ("x", "swap the instance: another program, same name"),
    ("u", "tune the instance: change a parameter"),
    ("i", "assign an algorithm to the socket's cgroup"),
    ("r", "re-arm: enable again what the guard disabled"),
    ("", "all of these ask, and change nothing without y"),
    ("w", "write this view to a file: CSV or JSON"),
    ("e", "the daemon's events in a pane, or not"),
    ("a p", "ACK clock (costs a few percent); pause"),
    ("mouse", "wheel: move; click: choose, again: look into"),
    ("q Ctrl-C", "quit"),
];

/// What RTT and CWND are, below the keys.
pub const MEANS: &str = "SRTT, CWND: means of senders, by packets acknowledged";

/// What this key means; None: nothing.
pub fn action(mode: &Mode, key: KeyEvent) -> Option<Action> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return (key.code == KeyCode::Char('c')).then_some(Action::Quit);
    }
    match mode {
        Mode::Filter | Mode::Writing(_) => in_text(key.code),
        Mode::Asking(question) => match question.stage {
            Stage::Typing(_) => in_text(key.code),
            Stage::Confirming => in_confirmation(key.code),
            Stage::Waiting | Stage::Choosing => moving(key.code).or_else(|| letter(key.code)),
        },
        Mode::Normal | Mode::Help(_) | Mode::Columns(_) => moving(key.code).or_else(|| letter(key.code)),
    }
}

/// What the mouse does; None: nothing. Clicks are for tables: a question is answered with keys.
pub fn mouse(mode: &Mode, event: MouseEvent) -> Option<Action> {
    match (event.kind, mode) {
        (_, Mode::Filter | Mode::Writing(_)) => None,
        (MouseEventKind::ScrollUp, _) => Some(Action::Up),
        (MouseEventKind::ScrollDown, _) => Some(Action::Down),
        (MouseEventKind::Down(MouseButton::Left), Mode::Normal) => Some(Action::Click(event.column, event.row)),
        _ => None,
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
        KeyCode::Home | KeyCode::Char('g') => Action::First,
        KeyCode::End | KeyCode::Char('G') => Action::Last,
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
        KeyCode::Char('o') => Action::SendersOnly,
        KeyCode::Char('t') => Action::Tree,
        KeyCode::Char('c') => Action::Columns,
        KeyCode::Char('m') => Action::Migrate,
        KeyCode::Char('l') => Action::Load,
        KeyCode::Char('x') => Action::Swap,
        KeyCode::Char('u') => Action::Tune,
        KeyCode::Char('i') => Action::Assign,
        KeyCode::Char('r') => Action::Rearm,
        KeyCode::Char('w') => Action::Write,
        KeyCode::Char('p') => Action::Pause,
        KeyCode::Char('a') => Action::Clock,
        KeyCode::Char('e') => Action::Events,
        KeyCode::Char('?') => Action::Help,
        KeyCode::Char(letter) if letter.is_ascii_uppercase() => Action::SortBy(letter),
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
    fn capitals_sort_and_g_goes_far() {
        assert_eq!(pressed(&Mode::Normal, KeyCode::Char('T')), Some(Action::SortBy('T')));
        assert_eq!(pressed(&Mode::Normal, KeyCode::Char('S')), Some(Action::Direction));
        assert_eq!(pressed(&Mode::Normal, KeyCode::Char('g')), Some(Action::First));
        assert_eq!(pressed(&Mode::Normal, KeyCode::Char('G')), Some(Action::Last));
    }

    #[test]
    fn the_wheel_moves_and_a_click_is_for_tables() {
        let event = |kind| MouseEvent { kind, column: 3, row: 7, modifiers: KeyModifiers::NONE };
        let click = event(MouseEventKind::Down(MouseButton::Left));
        assert_eq!(mouse(&Mode::Normal, click), Some(Action::Click(3, 7)));
        assert_eq!(mouse(&Mode::Help(0), click), None);
        assert_eq!(mouse(&Mode::Help(0), event(MouseEventKind::ScrollDown)), Some(Action::Down));
        assert_eq!(mouse(&Mode::Filter, event(MouseEventKind::ScrollUp)), None);
        assert_eq!(mouse(&Mode::Normal, event(MouseEventKind::Moved)), None);
    }

    #[test]
    fn control_c_always_ends() {
        let key = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        for mode in [Mode::Normal, Mode::Filter, Mode::Help(0), Mode::Columns(0), Mode::Writing(String::new())] {
            assert_eq!(action(&mode, key), Some(Action::Quit));
        }
    }
}
