// SPDX-License-Identifier: MIT OR Apache-2.0
//! Colour, which repeats what words say.

use std::borrow::Cow;
use std::io;

use anstream::stream::RawStream;
use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};

/// How a word is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// As it should be, or what helps.
    Good,
    /// Worth a look.
    Warning,
    /// Wrong.
    Bad,
}

impl Tone {
    fn style(self) -> Style {
        match self {
            Self::Good => AnsiColor::Green.on_default(),
            Self::Warning => AnsiColor::Yellow.on_default(),
            Self::Bad => AnsiColor::Red.on_default().bold(),
        }
    }
}

/// What the user wants, for the whole process.
pub fn set_colour(choice: ColorChoice) {
    choice.write_global();
}

/// A word for stdout.
pub(super) fn painted(word: &str, tone: Tone) -> Cow<'_, str> {
    painted_for(&io::stdout(), word, tone)
}

/// A word for this stream: with colour where it is a terminal that can, or where the user wants it.
pub(super) fn painted_for<'a>(stream: &impl RawStream, word: &'a str, tone: Tone) -> Cow<'a, str> {
    if AutoStream::choice(stream) == ColorChoice::Never {
        return word.into();
    }
    let style = tone.style();
    format!("{style}{word}{style:#}").into()
}
