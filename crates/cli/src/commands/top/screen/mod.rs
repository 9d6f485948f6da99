// SPDX-License-Identifier: MIT OR Apache-2.0
//! Drawing: the model in, cells out. No terminal, no kernel.

mod ascii;
mod chart;
mod columns;
mod events;
mod format;
mod instances;
mod overlay;
mod socket;
mod sockets;
#[cfg(test)]
mod tests;

use ccctl_console::output::printable;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};

use super::model::{Mode, Model, View};
use super::sample::ClockState;

pub use format::{bit_per_s as bit_per_s_text, ms as ms_text, pct as pct_text};

/// What the terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Colours.
    pub has_colour: bool,
    /// More than ASCII.
    pub has_unicode: bool,
}

impl Look {
    /// Colour where there is some; nothing rests on it alone.
    fn coloured(self, colour: Color) -> Style {
        if self.has_colour {
            Style::new().fg(colour)
        } else {
            Style::new()
        }
    }

    fn error(self) -> Style {
        self.coloured(Color::Red).add_modifier(Modifier::BOLD)
    }

    fn header(self) -> Style {
        self.coloured(Color::Cyan).add_modifier(Modifier::BOLD)
    }
}

const SELECTED: Style = Style::new().add_modifier(Modifier::REVERSED);
const STRONG: Style = Style::new().add_modifier(Modifier::BOLD);

/// Title, table, sums, events, last line.
fn split(model: &Model, area: Rect) -> [Rect; 5] {
    let of_events = events::rows(&model.events, area.height);
    let rows = [
        Constraint::Length(1),
        Constraint::Min(0),
        Constraint::Length(1),
        Constraint::Length(of_events),
        Constraint::Length(1),
    ];
    Layout::vertical(rows).areas(area)
}

/// Tells the tables how many rows there is room for below their header, and which columns.
pub fn fit(model: &mut Model, area: Rect) {
    let [_, table, ..] = split(model, area);
    let height = table.height.saturating_sub(1).into();
    let width = table.width.into();
    model.instances.fit(height);
    model.instances.columns.shown = instances::shown(model, width);
    model.sockets.fit(height);
    model.sockets.columns.shown = sockets::shown(&model.sockets, width);
}

/// Draws all of it.
pub fn draw(model: &Model, look: Look, area: Rect, buffer: &mut Buffer) {
    let [title, body, sums, pane, last] = split(model, area);
    line(buffer, title, &title_text(model), STRONG);
    match &model.view {
        View::Instances => {
            instances::draw(model, look, body, buffer);
            instances::draw_total(model, look, sums, buffer);
        }
        View::Sockets(_) => {
            sockets::draw(model, look, body, buffer);
            line(buffer, sums, &sockets::sums(model), Style::new());
        }
        View::Socket(..) => {
            let both = Rect { height: body.height + sums.height, ..body };
            socket::draw(model, look, both, buffer);
        }
    }
    events::draw(&model.events, look, pane, buffer);
    draw_last_line(model, look, last, buffer);
    match &model.mode {
        Mode::Help(first) => overlay::help(*first, look, area, buffer),
        Mode::Asking(question) => overlay::question(question, look, area, buffer),
        Mode::Columns(cursor) => overlay::columns(model, *cursor, look, area, buffer),
        Mode::Normal | Mode::Filter | Mode::Writing(_) => {}
    }
    if !look.has_unicode {
        ascii::replace(buffer, area);
    }
}

fn title_text(model: &Model) -> String {
    let place = match &model.view {
        View::Instances => String::new(),
        View::Sockets(name) => format!(" > {name}{}", what_is(model, name)),
        View::Socket(name, cookie) => format!(" > {name}{} > socket {cookie}", what_is(model, name)),
    };
    let paused = if model.is_paused { "  PAUSED (p)" } else { "" };
    let is_table = !matches!(model.view, View::Socket(..));
    let senders = if is_table && model.instances.is_senders_only { "  SENDERS ONLY (o)" } else { "" };
    format!("ccctl top{place}{senders}{paused}")
}

/// What there is to say of an algorithm that is looked into.
fn what_is(model: &Model, name: &str) -> String {
    use super::sample::Kind;
    match model.instances.named(name).map(|row| &row.sample) {
        None => " (not in the kernel any more)".to_owned(),
        Some(sample) if sample.kind == Kind::Unloaded => " (unloaded; these sockets keep it)".to_owned(),
        Some(sample) if sample.on_old_program > 0 => format!(" ({} on an old program)", sample.on_old_program),
        Some(_) => String::new(),
    }
}

fn draw_last_line(model: &Model, look: Look, area: Rect, buffer: &mut Buffer) {
    if model.mode == Mode::Filter {
        return line(buffer, area, &format!("/{}_  Enter applies, Esc clears", model.filter()), STRONG);
    }
    if let Mode::Writing(name) = &model.mode {
        return line(buffer, area, &format!("write to: {name}_  (.csv or .json)  Enter writes, Esc does not"), STRONG);
    }
    if let Some(message) = &model.message {
        let style = if message.is_error { look.error() } else { STRONG };
        return line(buffer, area, &message.text, style);
    }
    if let ClockState::Failed(why) = &model.clock {
        return line(buffer, area, &format!("ACK clock: {why}"), look.error());
    }
    if let Some(hint) = model.clock_hint() {
        return line(buffer, area, &hint, STRONG);
    }
    line(buffer, area, keys_text(&model.view), look.coloured(Color::DarkGray));
}

fn keys_text(view: &View) -> &'static str {
    match view {
        View::Instances => "? help  q quit  Enter sockets  / filter  A-Z sort  m move  l load  a ACK clock",
        View::Sockets(_) => "? help  q quit  Enter one  Esc back  / filter  A-Z sort  t tree  m move",
        View::Socket(..) => "? help  q quit  Esc back  s/S field drawn  c all fields  m move  w write",
    }
}

/// One line, cut at the end of the area.
fn line(buffer: &mut Buffer, area: Rect, text: &str, style: Style) {
    if area.height > 0 {
        put(buffer, (area.x, area.y), text, area.width.into(), style);
    }
}

/// Writes a text of which names that others choose may be a part.
fn put(buffer: &mut Buffer, (x, y): (u16, u16), text: &str, room: usize, style: Style) {
    buffer.set_stringn(x, y, printable(text), room, style);
}
