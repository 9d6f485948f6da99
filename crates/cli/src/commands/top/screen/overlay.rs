// SPDX-License-Identifier: MIT OR Apache-2.0
//! What lies above the tables: the help, questions, the choice of columns.

use ccctl_console::output::printable;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;
use ratatui::widgets::{Block, Clear, Paragraph, Widget as _, Wrap};

use super::{Look, SELECTED};
use crate::commands::top::keys::{HELP, MEANS};
use crate::commands::top::model::{Choice, Columns, Key, Model, Question, Stage, View};

/// The keys, from this line on.
pub fn help(first: usize, look: Look, area: Rect, buffer: &mut Buffer) {
    let keys = HELP.iter().map(|(keys, what)| Line::from(format!("{keys:>13}  {what}")));
    let lines: Vec<Line> = keys.chain([Line::from(format!("{:>13}  {MEANS}", ""))]).collect();
    let room = usize::from(area.height.saturating_sub(2));
    let title = if lines.len() > room { "keys (down: more)" } else { "keys" };
    let first = first.min(lines.len().saturating_sub(room));
    show(title, &lines[first..], look, area, buffer);
}

/// What to, and whether really.
pub fn question(question: &Question, look: Look, area: Rect, buffer: &mut Buffer) {
    let lines = match &question.stage {
        Stage::Waiting => vec![Line::from(question.heading()), Line::from("looking ...")],
        Stage::Choosing => choices(question, area),
        Stage::Typing(text) => typing(question, text),
        Stage::Confirming => return show_wrapped(question.title(), &confirmation(question), look, area, buffer),
    };
    show(question.title(), &lines, look, area, buffer);
}

fn choices(question: &Question, area: Rect) -> Vec<Line<'static>> {
    let room = usize::from(area.height.saturating_sub(6)).max(1);
    let first = (question.cursor + 1).saturating_sub(room);
    let widest = |text: fn(&Choice) -> &str| question.choices.iter().map(|one| text(one).chars().count()).max();
    let (keys, more) = (widest(|one| &one.key).unwrap_or(0), widest(|one| &one.more).unwrap_or(0));
    let choice = |(place, one): (usize, &Choice)| {
        let style = if place == question.cursor { SELECTED } else { Style::new() };
        let text = format!(" {:keys$}  {:more$}  {}", one.key, one.more, one.note);
        Line::styled(format!("{} ", printable(text.trim_end())), style)
    };
    let shown = question.choices.iter().enumerate().skip(first).take(room).map(choice);
    let heading = Line::from(printable(&question.heading()).into_owned());
    std::iter::once(heading).chain(shown).chain([Line::from("Enter: this one     Esc: none")]).collect()
}

fn typing(question: &Question, text: &str) -> Vec<Line<'static>> {
    let choice = question.choices.get(question.cursor).cloned().unwrap_or_default();
    vec![
        Line::from(question.heading()),
        Line::from(choice.note),
        Line::from(printable(&format!("{} = {text}_", choice.key)).into_owned()),
        Line::from("Enter: go on     Esc: leave it"),
    ]
}

fn confirmation(question: &Question) -> Vec<Line<'static>> {
    let (text, more) = question.change().map(|change| change.question()).unwrap_or_default();
    let lines = [text, more].map(|line| Line::from(printable(&line).into_owned()));
    lines.into_iter().chain([Line::from("y: yes     n: no")]).collect()
}

/// Which columns there are, which were hidden, and for which there is no room.
pub fn columns(model: &Model, cursor: usize, look: Look, area: Rect, buffer: &mut Buffer) {
    let lines = match model.view {
        View::Instances => column_lines(&model.instances.columns, cursor, area),
        _ => column_lines(&model.sockets.columns, cursor, area),
    };
    show("columns", &lines, look, area, buffer);
}

fn column_lines<K: Key>(columns: &Columns<K>, cursor: usize, area: Rect) -> Vec<Line<'static>> {
    let room = usize::from(area.height.saturating_sub(3)).max(1);
    let first = (cursor + 1).saturating_sub(room);
    let column = |(place, key): (usize, &K)| {
        let style = if place == cursor { SELECTED } else { Style::new() };
        let letter = key.letter().map_or(' ', |letter| letter);
        let (mark, note) = match (columns.is_hidden(*key), columns.is_shown(*key)) {
            (true, _) => (' ', ""),
            (false, true) => ('x', ""),
            (false, false) => ('x', "  (no room)"),
        };
        Line::styled(format!("[{mark}] {letter} {}{note}", key.heading().full), style)
    };
    let shown = K::ALL.iter().enumerate().skip(first).take(room).map(column);
    shown.chain([Line::from("Space: hide or show     Esc: back")]).collect()
}

/// A box in the middle, as large as its lines, not larger than the screen.
fn show(title: &str, lines: &[Line], look: Look, area: Rect, buffer: &mut Buffer) {
    let inner = frame(title, lines, lines.len(), look, area, buffer);
    Paragraph::new(lines.to_vec()).render(inner, buffer);
}

/// The same; what is too long goes on in the next line.
fn show_wrapped(title: &str, lines: &[Line], look: Look, area: Rect, buffer: &mut Buffer) {
    let room = usize::from(area.width.saturating_sub(3)).max(1);
    let rows = |line: &Line| if line.width() > room { line.width() / room + 2 } else { 1 }; // words are not cut
    let inner = frame(title, lines, lines.iter().map(rows).sum(), look, area, buffer);
    Paragraph::new(lines.to_vec()).wrap(Wrap { trim: true }).render(inner, buffer);
}

/// The box with this title and as many rows; gives what is inside.
fn frame(title: &str, lines: &[Line], rows: usize, look: Look, area: Rect, buffer: &mut Buffer) -> Rect {
    let widest = lines.iter().map(Line::width).max().unwrap_or(0) as u16;
    let width = (widest + 4).min(area.width);
    let height = (rows as u16 + 2).min(area.height);
    let x = area.x + (area.width - width) / 2;
    let y = area.y + (area.height - height) / 2;
    let room = Rect { x, y, width, height };
    Clear.render(room, buffer);
    let frame = Block::bordered().title(format!(" {title} ")).border_style(look.header());
    let inner = frame.inner(room);
    frame.render(room, buffer);
    Rect { x: inner.x + 1.min(inner.width), width: inner.width.saturating_sub(1), ..inner }
}
