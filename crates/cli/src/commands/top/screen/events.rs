// SPDX-License-Identifier: MIT OR Apache-2.0
//! The pane of events, above the last line.

use ccctl_core::daemon::{Event, EventKind};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::{line, Look};
use crate::commands::top::model::EventPane;

/// Rows with its heading, where the screen is high enough.
const ROWS: u16 = 8;

/// How many rows it has on a screen of this height.
pub fn rows(pane: &EventPane, height: u16) -> u16 {
    if pane.is_shown {
        ROWS.min(height / 3)
    } else {
        0
    }
}

/// Draws the latest that there is room for.
pub fn draw(pane: &EventPane, look: Look, area: Rect, buffer: &mut Buffer) {
    if area.height == 0 {
        return;
    }
    let row = |number: u16| Rect { y: area.y + number, height: 1, ..area };
    let problem = pane.problem.as_ref().map(|problem| format!(": {problem}")).unwrap_or_default();
    line(buffer, row(0), &format!("EVENTS{problem}"), look.header());
    let room = usize::from(area.height - 1);
    let first = pane.events.len().saturating_sub(room);
    for (number, event) in (1..).zip(pane.events.iter().skip(first)) {
        line(buffer, row(number), &text(event), style(event.kind, look));
    }
}

fn text(event: &Event) -> String {
    let Event { at, kind, .. } = event;
    let time = at.split_once('T').map_or(at.as_str(), |(_, time)| time);
    format!("{time}  {:<10}  {}", kind.word(), event.sentence())
}

fn style(kind: EventKind, look: Look) -> Style {
    match kind {
        EventKind::Disabled | EventKind::Failed => look.error(),
        _ => Style::new(),
    }
}
