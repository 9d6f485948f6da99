// SPDX-License-Identifier: MIT OR Apache-2.0
//! One HTML page that holds everything: it opens from disk, asks no network and no other file.
//!
//! It is well-formed XML too, so that tests and tools can read it; the page forbids itself the network by its own policy.

mod chart;
mod grid;

use std::collections::BTreeSet;
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
    /// A command, with a button that copies it.
    Command(String),
    /// Files next to the page, such as the values of the figure above.
    Links {
        /// What they are.
        label: String,
        /// In this order.
        links: Vec<Link>,
    },
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

/// A file next to the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// What is shown.
    pub name: String,
    /// Path from the page's folder, of names without spaces.
    pub path: String,
}

/// What has been written so far of a page.
#[derive(Default)]
struct Body<'a> {
    headings: Vec<&'a str>,
    /// Of the figures, by which links name them.
    ids: BTreeSet<String>,
    text: String,
}

/// Writes a page as HTML.
#[must_use]
pub fn page(page: &Page) -> String {
    let title = escape(&page.title);
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src 'unsafe-inline'; img-src blob:\"/>\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<header>\n<h1>{title}</h1>\n"
    );
    if !page.subtitle.is_empty() {
        let _ = writeln!(out, "<p class=\"subtitle\">{}</p>", escape(&page.subtitle));
    }
    out.push_str("</header>\n");
    let mut body = Body::default();
    write_parts(&page.parts, &mut body);
    write_contents(&body.headings, &mut out);
    let body = body.text;
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

fn write_parts<'a>(parts: &'a [Part], body: &mut Body<'a>) {
    for part in parts {
        let out = &mut body.text;
        match part {
            Part::Heading(heading) => {
                let _ = writeln!(out, "<h2 id=\"s{}\">{}</h2>", body.headings.len(), escape(heading));
                body.headings.push(heading);
            }
            Part::Text(text) => write_text(text, out),
            Part::Verbatim(text) => drop(writeln!(out, "<pre>{}</pre>", escape(text))),
            Part::Facts(facts) => write_facts(facts, out),
            Part::Command(command) => {
                let _ = writeln!(out, "<pre class=\"command\">{}</pre>", options_whole(&escape(command)));
            }
            Part::Links { label, links } => write_links(label, links, out),
            Part::Grid(grid) => grid.write(out),
            Part::Figure(figure) => {
                let id = id(&figure.title, &figure.subtitle, &mut body.ids);
                chart::write(figure, &id, out);
            }
            Part::Matrix(matrix) => {
                let id = id(&matrix.title, &matrix.subtitle, &mut body.ids);
                let (picture, label) = (matrix_svg(matrix), escape(&matrix.title));
                let _ = writeln!(
                    out,
                    "<figure class=\"matrix\" id=\"{id}\" aria-label=\"{label}\">\n<div class=\"scroll\">\n{}</div>\n</figure>",
                    without_namespace(&picture)
                );
            }
            Part::Group { title, is_open, parts } => {
                let open = if *is_open { " open=\"open\"" } else { "" };
                let _ = writeln!(out, "<details{open}>\n<summary>{}</summary>", escape(title));
                write_parts(parts, body);
                body.text.push_str("</details>\n");
            }
        }
    }
}

/// By which a link names a figure: its title, whatever else is on the page; where two have one title, the subtitle too.
fn id(title: &str, subtitle: &str, ids: &mut BTreeSet<String>) -> String {
    let words = |text: &str| {
        let text = text.to_lowercase();
        let words = text.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        format!("figure-{}", words.collect::<Vec<_>>().join("-"))
    };
    let both = words(&format!("{title} {subtitle}"));
    let others = (2..).map(|number| format!("{both}-{number}"));
    let free = [words(title), both.clone()].into_iter().chain(others).find(|id| !ids.contains(id)).unwrap_or(both);
    ids.insert(free.clone());
    free
}

fn write_links(label: &str, links: &[Link], out: &mut String) {
    if links.is_empty() {
        return;
    }
    let link = |link: &Link| format!("<a href=\"{}\">{}</a>", escape(&link.path), escape(&link.name));
    let links: Vec<String> = links.iter().map(link).collect();
    let _ = writeln!(out, "<p class=\"links\">{}: {}</p>", escape(label), links.join(", "));
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

/// Words such as `--repeats` are not broken at their dashes.
fn options_whole(escaped: &str) -> String {
    let whole = |word: &str| {
        if word.starts_with("--") {
            format!("<span class=\"option\">{word}</span>")
        } else {
            word.to_owned()
        }
    };
    escaped.split(' ').map(whole).collect::<Vec<_>>().join(" ")
}
