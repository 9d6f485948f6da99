// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names that others choose, such as those of processes, cgroups and files, as a terminal can show them.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io;

/// Would a terminal act on the character, or show the text around it as another one? Control characters (C0, DEL, C1),
/// marks and overrides of the direction of writing, and characters without width.
fn is_acted_on(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(letter, '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// The text with such characters as `\xNN` or `\u{NNNN}`.
pub fn printable(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| (0x20..0x7f).contains(&byte)) || !text.contains(is_acted_on) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        // Writing to a string cannot fail.
        let _ = match u32::from(letter) {
            _ if !is_acted_on(letter) => write!(shown, "{letter}"),
            code if code < 0x100 => write!(shown, "\\x{code:02x}"),
            code => write!(shown, "\\u{{{code:x}}}"),
        };
    }
    Cow::Owned(shown)
}

/// Passes JSON on, in strings of which such characters are written as `\uNNNN`: the same value, for a terminal, too.
///
/// JSON itself escapes only those below 0x20. `serde_json` never splits a character over two calls.
pub struct JsonWriter<W>(pub W);

impl<W: io::Write> io::Write for JsonWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let is_plain = bytes.iter().all(|byte| byte.is_ascii() && *byte != 0x7f);
        match std::str::from_utf8(bytes) {
            Ok(text) if !is_plain && text.contains(is_acted_on) => self.0.write_all(escaped(text).as_bytes())?,
            _ => self.0.write_all(bytes)?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Line ends and the like are between values: those in strings are escaped already.
fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        if letter < ' ' || !is_acted_on(letter) {
            shown.push(letter);
            continue;
        }
        for unit in letter.encode_utf16(&mut [0; 2]) {
            let _ = write!(shown, "\\u{unit:04x}"); // to a string
        }
    }
    shown
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_acts_on_is_shown_as_a_number() {
        for (text, shown) in [
            ("nginx: worker", "nginx: worker"),
            ("größe 大", "größe 大"),
            ("\u{1b}]0;PWN\u{7}\u{1b}[31mX", "\\x1b]0;PWN\\x07\\x1b[31mX"),
            ("/sec\nx\t", "/sec\\x0ax\\x09"),
            ("\u{9b}2J\u{7f}", "\\x9b2J\\x7f"),
            ("a\u{202e}b\u{2066}c\u{200b}", "a\\u{202e}b\\u{2066}c\\u{200b}"),
        ] {
            assert_eq!(printable(text), shown);
        }
    }

    #[test]
    fn json_keeps_the_value_and_has_no_such_byte() {
        let value = "\u{1b}[31m\u{9b}2J\u{7f}\u{202e}\u{e0041}\n größe";
        let mut bytes = Vec::new();
        serde_json::to_writer_pretty(JsonWriter(&mut bytes), &[value]).unwrap();
        let text = String::from_utf8(bytes.clone()).unwrap();
        assert!(!text.contains(|letter| letter != '\n' && is_acted_on(letter)), "{text:?}");
        assert_eq!(serde_json::from_slice::<Vec<String>>(&bytes).unwrap(), [value]);
    }
}
