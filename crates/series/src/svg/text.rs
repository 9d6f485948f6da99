// SPDX-License-Identifier: MIT OR Apache-2.0
//! Words and numbers as SVG wants them.

/// For content and attributes. Control characters, which XML cannot hold, become spaces.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' | '\t' => escaped.push(letter),
            '\u{fffe}' | '\u{ffff}' => escaped.push(' '),
            other if other.is_control() => escaped.push(' '),
            other => escaped.push(other),
        }
    }
    escaped
}

/// About how wide a text is in Helvetica of this size; there is no font here to ask.
pub fn width(text: &str, size: f64) -> f64 {
    let share = |letter: char| match letter {
        'i' | 'j' | 'l' | 't' | 'f' | 'I' | '.' | ',' | ':' | ';' | '|' | '\'' | '!' | '(' | ')' | ' ' | '/' => 0.31,
        'm' | 'w' | 'M' | 'W' | '%' | '@' => 0.86,
        letter if letter.is_uppercase() => 0.70,
        _ => 0.56,
    };
    text.chars().map(share).sum::<f64>() * size
}

/// A text and its size so that it has room: smaller if need be, and cut where the least size is too large as well.
pub fn fitted(text: &str, (size, least): (f64, f64), room_px: f64) -> (String, f64) {
    let fitting = size * room_px / width(text, size).max(1.0);
    if fitting >= least {
        return (text.to_owned(), fitting.min(size));
    }
    let mut cut = text.to_owned();
    while !cut.is_empty() && width(&cut, least) + least > room_px {
        cut.pop();
    }
    (format!("{}\u{2026}", cut.trim_end()), least)
}

/// A coordinate, to a tenth of a pixel.
pub fn place(value: f64) -> String {
    let text = format!("{value:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" {
        "0".into()
    } else {
        text.into()
    }
}

/// A label and its unit, as an axis shows them.
pub fn with_unit(label: &str, unit: &str) -> String {
    if unit.is_empty() {
        label.to_owned()
    } else {
        format!("{label} ({unit})")
    }
}
