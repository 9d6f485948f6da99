// SPDX-License-Identifier: MIT OR Apache-2.0
//! One HTML page that holds everything: it opens from disk, asks no network and no other file.
//!
//! It is well-formed XML too, so that tests and tools can read it; the page forbids itself the network by its own policy.

mod chart;
mod grid;

use std::fmt::Write as _;

use crate::figure::{Figure, Matrix};
use crate::svg::matrix_svg;
use crate::svg::text::escape;
pub use grid::{Cell, Grid};

/// Looks, for light and dark screens and for paper.
const STYLE: &str = include_str!("page.css");

/// Values under the pointer, zoom, sorted tables.
const SCRIPT: &str = include_str!("page.js");

/// A page, before it is written.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Page {
    /// Its name.
    pub title: String,
    /// What, when, with what: one line under the title; may be empty.
    pub subtitle: String,
    /// From the top.
    pub parts: Vec<Part>,
}

/// A part of a page.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// Begins a section, which the table of contents lists.
    Heading(String),
    /// Plain words; an empty line begins a paragraph.
    Text(String),
    /// What a command printed, as it stands.
    Verbatim(String),
    /// Names and values.
    Facts(Vec<(String, String)>),
    /// A table.
    Grid(Grid),
    /// A picture of lines, with values under the pointer and zoom.
    Figure(Figure),
    /// A picture of pairs.
    Matrix(Matrix),
    /// Parts that can be folded away under their title.
    Group {
        /// Always seen.
        title: String,
        /// The parts are seen at first.
        is_open: bool,
        /// What is folded away.
        parts: Vec<Part>,
    },
}

/// Writes a page as HTML.
#[must_use]
pub fn page(page: &Page) -> String {
    let title = escape(&page.title);
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src 'unsafe-inline'\"/>\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<header>\n<h1>{title}</h1>\n"
    );
    if !page.subtitle.is_empty() {
        let _ = writeln!(out, "<p class=\"subtitle\">{}</p>", escape(&page.subtitle));
    }
    out.push_str("</header>\n");
    let mut headings = Vec::new();
    let mut body = String::new();
    write_parts(&page.parts, &mut headings, &mut body);
    write_contents(&headings, &mut out);
    // XML wants what is not XML marked, and scripts take the marks for comments.
    let _ = write!(out, "<main>\n{body}</main>\n<script>//<![CDATA[\n{SCRIPT}//]]></script>\n</body>\n</html>\n");
    out
}

/// With a single heading there is nothing to choose from.
fn write_contents(headings: &[&str], out: &mut String) {
    if headings.len() < 2 {
        return;
    }
    out.push_str("<nav aria-label=\"Contents\">\n<ol>\n");
    for (number, heading) in headings.iter().enumerate() {
        let _ = writeln!(out, "<li><a href=\"#s{number}\">{}</a></li>", escape(heading));
    }
    out.push_str("</ol>\n</nav>\n");
}

fn write_parts<'a>(parts: &'a [Part], headings: &mut Vec<&'a str>, out: &mut String) {
    for part in parts {
        match part {
            Part::Heading(heading) => {
                let _ = writeln!(out, "<h2 id=\"s{}\">{}</h2>", headings.len(), escape(heading));
                headings.push(heading);
            }
            Part::Text(text) => write_text(text, out),
            Part::Verbatim(text) => drop(writeln!(out, "<pre>{}</pre>", escape(text))),
            Part::Facts(facts) => write_facts(facts, out),
            Part::Grid(grid) => grid.write(out),
            Part::Figure(figure) => chart::write(figure, out),
            Part::Matrix(matrix) => {
                let picture = matrix_svg(matrix);
                let _ = writeln!(out, "<figure class=\"matrix\">\n{}</figure>", without_namespace(&picture));
            }
            Part::Group { title, is_open, parts } => {
                let open = if *is_open { " open=\"open\"" } else { "" };
                let _ = writeln!(out, "<details{open}>\n<summary>{}</summary>", escape(title));
                write_parts(parts, headings, out);
                out.push_str("</details>\n");
            }
        }
    }
}

fn write_text(text: &str, out: &mut String) {
    for paragraph in text.split("\n\n").filter(|paragraph| !paragraph.trim().is_empty()) {
        let _ = writeln!(out, "<p>{}</p>", escape(paragraph.trim()));
    }
}

fn write_facts(facts: &[(String, String)], out: &mut String) {
    if facts.is_empty() {
        return;
    }
    out.push_str("<dl>\n");
    for (name, value) in facts {
        let _ = writeln!(out, "<dt>{}</dt><dd>{}</dd>", escape(name), escape(value));
    }
    out.push_str("</dl>\n");
}

/// Within a page, pictures need not say that they are SVG; so no address is in the page at all.
fn without_namespace(svg: &str) -> String {
    svg.replacen(" xmlns=\"http://www.w3.org/2000/svg\"", "", 1)
}
