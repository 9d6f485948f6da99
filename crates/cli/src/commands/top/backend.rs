// SPDX-License-Identifier: MIT OR Apache-2.0
//! ratatui's backend, without a question to the terminal.

use std::io::{self, Stdout};

use ratatui::backend::{Backend, ClearType, CrosstermBackend, WindowSize};
use ratatui::buffer::Cell;
use ratatui::layout::{Position, Size};

/// Draws as its inner one does, but does not ask where the cursor is, which ratatui does at each new size only to put it
/// back there: it is hidden. The answer would come among the keys, and a key pressed in the same moment can spoil both.
pub struct Quiet(CrosstermBackend<Stdout>);

impl Quiet {
    /// Draws to stdout.
    pub fn new() -> Self {
        Self(CrosstermBackend::new(io::stdout()))
    }
}

impl Backend for Quiet {
    type Error = io::Error;

    fn draw<'a, I: Iterator<Item = (u16, u16, &'a Cell)>>(&mut self, content: I) -> io::Result<()> {
        self.0.draw(content)
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        self.0.hide_cursor()
    }

    /// ratatui complains of a failure to stderr, and panics where that is gone with the terminal.
    fn show_cursor(&mut self) -> io::Result<()> {
        let _ = self.0.show_cursor();
        Ok(())
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(Position::ORIGIN)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        self.0.set_cursor_position(position)
    }

    fn clear(&mut self) -> io::Result<()> {
        self.0.clear()
    }

    fn clear_region(&mut self, kind: ClearType) -> io::Result<()> {
        self.0.clear_region(kind)
    }

    fn size(&self) -> io::Result<Size> {
        self.0.size()
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        self.0.window_size()
    }

    fn flush(&mut self) -> io::Result<()> {
        Backend::flush(&mut self.0)
    }
}
