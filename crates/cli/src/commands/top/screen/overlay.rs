// SPDX-License-Identifier: MIT OR Apache-2.0
//! What lies above the tables: the help, and questions.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;
use ratatui::widgets::{Block, Clear, Paragraph, Widget as _};

use super::{Look, SELECTED};
use crate::commands::top::keys::HELP;
use crate::commands::top::model::Question;

/// The keys.
pub fn help(look: Look, area: Rect, buffer: &mut Buffer) {
    let lines = HELP.iter().map(|(keys, what)| Line::from(format!("{keys:>13}  {what}")));
    show("keys", &lines.collect::<Vec<_>>(), look, area, buffer);
}

/// Where to, and whether really.
pub fn question(question: &Question, look: Look, area: Rect, buffer: &mut Buffer) {
    if question.is_chosen {
        let lines = [
            Line::from(format!("Move {}?", question.migration().label())),
            Line::from(question.what.addresses()),
            Line::from("y: move them     n: leave them"),
        ];
        return show("move", &lines, look, area, buffer);
    }
    let room = usize::from(area.height.saturating_sub(6)).max(1);
    let first = (question.cursor + 1).saturating_sub(room);
    let targets = question.targets.iter().enumerate().skip(first).take(room).map(|(place, name)| {
        let style = if place == question.cursor { SELECTED } else { Style::new() };
        Line::styled(format!(" {name} "), style)
    });
    let title = Line::from(format!("Move {} to:", question.what.label()));
    let lines: Vec<Line> =
        std::iter::once(title).chain(targets).chain([Line::from("Enter: this one     Esc: leave them")]).collect();
    show("move", &lines, look, area, buffer);
}

/// A box in the middle, as large as its lines, not larger than the screen.
fn show(title: &str, lines: &[Line], look: Look, area: Rect, buffer: &mut Buffer) {
    let widest = lines.iter().map(Line::width).max().unwrap_or(0) as u16;
    let width = (widest + 4).min(area.width);
    let height = (lines.len() as u16 + 2).min(area.height);
    let x = area.x + (area.width - width) / 2;
    let y = area.y + (area.height - height) / 2;
    let room = Rect { x, y, width, height };
    Clear.render(room, buffer);
    let frame = Block::bordered().title(format!(" {title} ")).border_style(look.header());
    let inner = frame.inner(room);
    frame.render(room, buffer);
    let inner = Rect { x: inner.x + 1.min(inner.width), width: inner.width.saturating_sub(1), ..inner };
    Paragraph::new(lines.to_vec()).render(inner, buffer);
}
