// SPDX-License-Identifier: MIT OR Apache-2.0
//! What keys and the mouse can ask for.

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
    SortBy(char),
    Direction,
    Filter,
    SendersOnly,
    Tree,
    Columns,
    Mark,
    Migrate,
    Load,
    Swap,
    Tune,
    Assign,
    Rearm,
    Write,
    Pause,
    Clock,
    Events,
    Help,
    Yes,
    No,
    Erase,
    Character(char),
    /// At this column and row of the screen.
    Click(u16, u16),
}
