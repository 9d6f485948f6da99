// SPDX-License-Identifier: GPL-2.0-only
//! What a file means: links, groups and times that can be, or what is wrong with it.

mod groups;
mod links;
mod tcp;
mod times;
mod xcp;

use std::ops::Range;
use std::path::Path;

use toml::Spanned;

use super::file::File;
use super::point_spec::PointSpec;
use super::source_text::{ScenarioError, SourceText};

/// Where a file's text and its companions are.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) source: SourceText<'a>,
    /// Names of traces are relative to it.
    pub(crate) folder: &'a Path,
}

/// What a file asks for, without its sweep.
pub(crate) fn setup(context: &Context<'_>, file: &File) -> Result<PointSpec, ScenarioError> {
    let source = &context.source;
    let times = times::times(source, &file.run)?;
    let ways = links::ways(context, &file.link)?;
    let groups = groups::groups(source, file, &ways, times.duration)?;
    times::check_memory(source, file, &times, groups.iter().map(|group| group.schedule.len()).sum())?;
    let links = links::links(source, file, &ways, &groups)?;
    xcp::check(source, file, &groups, &links)?;
    Ok(PointSpec {
        links,
        groups,
        duration: times.duration,
        window: times.window,
        sample_interval: times.sample_interval,
        rate_interval: times.rate_interval,
        stalls: times.stalls,
    })
}

/// A name of a link or group is a word of paths and measures.
fn check_name(source: &SourceText<'_>, name: &Spanned<String>, what: &str) -> Result<(), ScenarioError> {
    let text = name.get_ref();
    let is_word = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if is_word {
        return Ok(());
    }
    let cause = format!("{text:?} is not a valid name of a {what}");
    Err(source.wrong(&name.span(), cause, "use letters, digits, - and _"))
}

/// Of a table that has a kind: which key belongs to which, and which are needed.
struct Keys<'a> {
    source: &'a SourceText<'a>,
    /// "a droptail queue"
    what: String,
    /// The table.
    span: Range<usize>,
}

impl Keys<'_> {
    /// The value of a key that must be there.
    fn need<T: Copy>(&self, key: &str, value: Option<&Spanned<T>>) -> Result<T, ScenarioError> {
        value.map(|value| *value.get_ref()).ok_or_else(|| {
            self.source.wrong(
                &self.span,
                format!("{} needs {key}", self.what),
                "docs/reference/scenarios.md describes every key",
            )
        })
    }

    /// These keys belong to another kind.
    fn refuse(&self, keys: &[(&str, Option<Range<usize>>)]) -> Result<(), ScenarioError> {
        for (key, span) in keys {
            if let Some(span) = span {
                return Err(self.source.wrong(span, format!("{} has no {key}", self.what), format!("leave {key} out")));
            }
        }
        Ok(())
    }
}

/// Where a value stands, if there is one.
fn span_of<T>(value: Option<&Spanned<T>>) -> Option<Range<usize>> {
    value.map(Spanned::span)
}
