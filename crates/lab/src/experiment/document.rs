// SPDX-License-Identifier: GPL-2.0-only
//! A scenario file as a tree whose values can be replaced by path, each with its place in the text.

use std::ops::Range;

use serde::de::DeserializeOwned;
use serde::Deserialize as _;
use toml::de::{DeTable, DeValue, Deserializer, ValueDeserializer};
use toml::Spanned;

use super::file::File;
use super::source_text::{did_you_mean, ScenarioError, SourceText};

/// The sections that decide what is run; the others are about what is made of it.
const RUN_SECTIONS: [&str; 5] = ["link", "flows", "tcp", "run", "sweep"];

/// Of `run`: which runs are made, and from which seed, not what one of them is.
const NOT_OF_A_RUN: [&str; 4] = ["repeats", "seed", "only", "exclude"];

/// A path into a scenario, `flows.NAME.algorithm`, and where it was written.
#[derive(Debug, Clone)]
pub(crate) struct Path {
    pub(crate) text: String,
    pub(crate) span: Range<usize>,
}

/// A tree.
#[derive(Clone)]
pub(crate) struct Document<'t> {
    pub(crate) source: SourceText<'t>,
    root: Spanned<DeTable<'t>>,
}

impl<'t> Document<'t> {
    /// Reads a text.
    pub(crate) fn of_text(source: SourceText<'t>) -> Result<Self, ScenarioError> {
        let text = source.text.get(..source.length).unwrap_or(source.text);
        let root = DeTable::parse(text).map_err(|error| source.of_toml(&error))?;
        Ok(Self { source, root })
    }

    /// The whole, as types.
    pub(crate) fn file(&self) -> Result<File, ScenarioError> {
        File::deserialize(Deserializer::from(self.root.clone())).map_err(|error| self.source.of_toml(&error))
    }

    /// One section, as types; the default where it is missing.
    pub(crate) fn section<T: DeserializeOwned + Default>(&self, name: &str) -> Result<T, ScenarioError> {
        let Some(value) = self.root.get_ref().get(name) else { return Ok(T::default()) };
        T::deserialize(ValueDeserializer::from(value.clone())).map_err(|error| self.source.of_toml(&error))
    }

    /// The tree without places.
    pub(crate) fn to_table(&self) -> Result<toml::Table, ScenarioError> {
        toml::Table::deserialize(Deserializer::from(self.root.clone())).map_err(|error| self.source.of_toml(&error))
    }

    /// What decides about runs, in a form that does not depend on spacing, comments and order.
    pub(crate) fn canonical(&self) -> Result<String, ScenarioError> {
        let mut table = self.to_table()?;
        table.retain(|key, _| RUN_SECTIONS.contains(&key));
        if let Some(toml::Value::Table(run)) = table.get_mut("run") {
            run.retain(|key, _| !NOT_OF_A_RUN.contains(&key));
        }
        Ok(table.to_string())
    }

    /// The value that `with` of an axis has for a path at a position.
    pub(crate) fn value_of_axis(&self, axis: usize, path: &str, position: usize) -> Option<Spanned<DeValue<'t>>> {
        let axis = self.root.get_ref().get("sweep")?.get_ref().as_array()?.get(axis)?;
        axis.get_ref()
            .as_table()?
            .get("with")?
            .get_ref()
            .as_table()?
            .get(path)?
            .get_ref()
            .as_array()?
            .get(position)
            .cloned()
    }

    /// The value of an axis at a position.
    pub(crate) fn value(&self, axis: usize, position: usize) -> Option<Spanned<DeValue<'t>>> {
        let axis = self.root.get_ref().get("sweep")?.get_ref().as_array()?.get(axis)?;
        axis.get_ref().as_table()?.get("values")?.get_ref().as_array()?.get(position).cloned()
    }

    /// Replaces what stands at a path by a value of a command line, which lies in the text at `start`, as `PATH=VALUE`.
    pub(crate) fn override_value(&mut self, path: &str, start: usize, value: &str) -> Result<(), ScenarioError> {
        let at = start + path.len() + 1;
        let span = at..at + value.len();
        let tree = DeValue::parse(self.source.text.get(span.clone()).unwrap_or_default());
        let tree = tree.map_or_else(|_| DeValue::String(value.to_owned().into()), Spanned::into_inner);
        let path = Path { text: path.to_owned(), span: start..start + path.len() };
        self.take_from_axes(&path)?;
        self.set(&path, &Spanned::new(span, tree))
    }

    /// What a command line sets, no axis sets any more: not together with its own values, for those are the axis.
    fn take_from_axes(&mut self, path: &Path) -> Result<(), ScenarioError> {
        let source = self.source;
        let Some(sweep) = self.root.get_mut().get_mut("sweep").map(Spanned::get_mut) else { return Ok(()) };
        let DeValue::Array(sweep) = sweep else { return Ok(()) }; // no array: told when the whole is read
        for axis in sweep.iter_mut() {
            let DeValue::Table(axis) = axis.get_mut() else { continue };
            let paths = axis.get("set").and_then(|set| set.get_ref().as_array()).into_iter().flatten();
            let mut paths = paths.filter_map(|it| it.get_ref().as_str());
            if let Some(own) = paths.find(|own| covers(&path.text, own) || covers(own, &path.text)) {
                let cause = format!("{own} is what an axis of the sweep sets");
                return Err(source.wrong(&path.span, cause, "choose among the axis' values with --only"));
            }
            let Some(DeValue::Table(with)) = axis.get_mut("with").map(Spanned::get_mut) else { continue };
            let known: Vec<String> = with.keys().map(|key| key.get_ref().to_string()).collect();
            if let Some(wider) = known.iter().find(|known| covers(known, &path.text) && !covers(&path.text, known)) {
                let cause = format!("an axis of the sweep sets {wider}, also for others");
                return Err(source.wrong(&path.span, cause, format!("set {wider}, or choose with --only")));
            }
            for key in known.iter().filter(|known| covers(&path.text, known)) {
                with.remove(key.as_str());
            }
        }
        Ok(())
    }

    /// Replaces what stands at a path; whether the last key is known is seen when the whole is read.
    pub(crate) fn set(&mut self, path: &Path, value: &Spanned<DeValue<'t>>) -> Result<(), ScenarioError> {
        let words: Vec<&str> = path.text.split('.').collect();
        let nowhere = |at: Nowhere| {
            self.source.wrong(&path.span, format!("the path {:?} does not exist: {}", path.text, at.cause), at.remedy)
        };
        if words.iter().any(|word| word.is_empty()) {
            return Err(nowhere(Nowhere::new("a name is missing", "flows.NAME.algorithm")));
        }
        set_in_table(self.root.get_mut(), &words, &path.span, value).map_err(nowhere)
    }
}

/// Does a path mean all that another one means? `*` is any name.
fn covers(path: &str, other: &str) -> bool {
    let (words, others) = (path.split('.'), other.split('.'));
    words.clone().count() == others.clone().count()
        && words.zip(others).all(|(word, other)| word == "*" || word == other)
}

struct Nowhere {
    cause: String,
    remedy: String,
}

impl Nowhere {
    fn new(cause: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { cause: cause.into(), remedy: remedy.into() }
    }
}

fn set_in_table<'t>(
    table: &mut DeTable<'t>,
    words: &[&str],
    span: &Range<usize>,
    value: &Spanned<DeValue<'t>>,
) -> Result<(), Nowhere> {
    let (word, rest) = (words[0], &words[1..]);
    if rest.is_empty() {
        table.insert(Spanned::new(span.clone(), word.to_owned().into()), value.clone());
        return Ok(());
    }
    let missing = || Spanned::new(span.clone(), DeValue::Table(DeTable::new()));
    let key = Spanned::new(span.clone(), word.to_owned().into());
    match table.entry(key).or_insert_with(missing).get_mut() {
        DeValue::Table(inner) => set_in_table(inner, rest, span, value),
        DeValue::Array(members) => set_in_members(members, word, rest, span, value),
        other => Err(Nowhere::new(
            format!("{word} is a {}", other.type_str()),
            "docs/reference/scenarios.md lists the paths",
        )),
    }
}

/// `link` and `flows` are lists of tables with names.
fn set_in_members<'t>(
    members: &mut toml::de::DeArray<'t>,
    list: &str,
    words: &[&str],
    span: &Range<usize>,
    value: &Spanned<DeValue<'t>>,
) -> Result<(), Nowhere> {
    let (name, rest) = (words[0], &words[1..]);
    if rest.is_empty() {
        return Err(Nowhere::new("a key is missing after the name", format!("{list}.{name}.KEY")));
    }
    let name_of = |member: &Spanned<DeValue<'t>>| {
        member.get_ref().as_table().and_then(|table| table.get("name")?.get_ref().as_str().map(str::to_owned))
    };
    let names: Vec<String> = members.iter().filter_map(name_of).collect();
    if name != "*" && !names.iter().any(|known| known == name) {
        let remedy = did_you_mean(name, names.iter().map(String::as_str));
        return Err(Nowhere::new(format!("there is no {list} {name:?}"), remedy));
    }
    for member in members.iter_mut() {
        if name != "*" && name_of(member).as_deref() != Some(name) {
            continue;
        }
        if let DeValue::Table(table) = member.get_mut() {
            set_in_table(table, rest, span, value)?;
        }
    }
    Ok(())
}
