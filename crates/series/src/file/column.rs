// SPDX-License-Identifier: MIT OR Apache-2.0
//! Columns while they are read: their kind is known or found out, their rows come one by one.

use std::collections::HashMap;
use std::path::Path;

use super::FileError;
use crate::table::{Column, Table, Value, Values};

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Integer,
    Float,
    Text,
}

impl Kind {
    pub fn of(values: &Values) -> Self {
        match values {
            Values::Integer(_) => Self::Integer,
            Values::Float(_) => Self::Float,
            Values::Text(_) => Self::Text,
        }
    }

    /// As files name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Integer => "integer",
            Self::Float => "real",
            Self::Text => "text",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        [Self::Integer, Self::Float, Self::Text].into_iter().find(|kind| kind.name() == name)
    }

    /// No values of this kind.
    pub fn empty(self) -> Values {
        match self {
            Self::Integer => Values::Integer(Vec::new()),
            Self::Float => Values::Float(Vec::new()),
            Self::Text => Values::Text(Vec::new()),
        }
    }
}

/// Adds a row to a column; a whole number may stand for a real one. False if it does not fit.
pub fn append(values: &mut Values, value: Option<Value>) -> bool {
    match (values, value) {
        (Values::Integer(all), None) => all.push(None),
        (Values::Float(all), None) => all.push(None),
        (Values::Text(all), None) => all.push(None),
        (Values::Integer(all), Some(Value::Integer(value))) => all.push(Some(value)),
        (Values::Float(all), Some(Value::Float(value))) => all.push(Some(value)),
        (Values::Float(all), Some(Value::Integer(value))) => all.push(Some(value as f64)),
        (Values::Text(all), Some(Value::Text(value))) => all.push(Some(value)),
        _ => return false,
    }
    true
}

/// A column whose kind the first values decide, unless the file declares it.
#[derive(Debug)]
pub struct Growing {
    pub name: String,
    pub unit: String,
    declared: bool,
    missing: usize,
    values: Option<Values>,
}

impl Growing {
    fn new(name: &str) -> Self {
        Self { name: name.to_owned(), unit: String::new(), declared: false, missing: 0, values: None }
    }

    pub fn kind(&self) -> Option<Kind> {
        self.values.as_ref().map(Kind::of)
    }

    /// The file declares the kind; only before the first value.
    pub fn declare(&mut self, kind: Kind) {
        if self.values.is_none() {
            self.values = Some(filled(kind, self.missing));
            self.declared = true;
        }
    }

    pub fn len(&self) -> usize {
        self.values.as_ref().map_or(self.missing, Values::len)
    }

    /// Rows without a value up to this many rows.
    pub fn fill(&mut self, rows: usize) {
        match &mut self.values {
            Some(Values::Integer(all)) => all.resize(rows.max(all.len()), None),
            Some(Values::Float(all)) => all.resize(rows.max(all.len()), None),
            Some(Values::Text(all)) => all.resize(rows.max(all.len()), None),
            None => self.missing = self.missing.max(rows),
        }
    }

    /// Adds a row; false if it does not fit what came before.
    pub fn push(&mut self, value: Option<Value>) -> bool {
        let Some(value) = value else {
            self.fill(self.len() + 1);
            return true;
        };
        let undecided = self.missing;
        let values = self.values.get_or_insert_with(|| filled(kind_of(&value), undecided));
        if let (Values::Integer(whole), Value::Float(_), false) = (&*values, &value, self.declared) {
            *values = Values::Float(whole.iter().map(|value| value.map(|value| value as f64)).collect());
        }
        append(values, Some(value))
    }

    /// The column; one that never had a value is of real numbers.
    fn finish(self) -> Column {
        let values = self.values.unwrap_or_else(|| filled(Kind::Float, self.missing));
        Column { name: self.name, unit: self.unit, values }
    }
}

fn kind_of(value: &Value) -> Kind {
    match value {
        Value::Integer(_) => Kind::Integer,
        Value::Float(_) => Kind::Float,
        Value::Text(_) => Kind::Text,
    }
}

fn filled(kind: Kind, missing: usize) -> Values {
    let mut values = kind.empty();
    for _ in 0..missing {
        append(&mut values, None);
    }
    values
}

/// Columns in the order in which they were first named.
#[derive(Debug, Default)]
pub struct Columns {
    all: Vec<Growing>,
    places: HashMap<String, usize>,
}

impl Columns {
    /// The column of this name, new if there is none.
    pub fn named(&mut self, name: &str) -> &mut Growing {
        let new = self.all.len();
        let place = *self.places.entry(name.to_owned()).or_insert(new);
        if place == new {
            self.all.push(Growing::new(name));
        }
        &mut self.all[place]
    }

    /// Is there one of this name?
    pub fn has(&self, name: &str) -> bool {
        self.places.contains_key(name)
    }

    /// How many.
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// Every column has this many rows now.
    pub fn fill(&mut self, rows: usize) {
        for column in &mut self.all {
            column.fill(rows);
        }
    }

    /// The table, without facts.
    pub fn finish(self, path: &Path) -> Result<Table, FileError> {
        table_of(self.all.into_iter().map(Growing::finish), path)
    }
}

/// A table of these columns.
pub fn table_of(columns: impl Iterator<Item = Column>, path: &Path) -> Result<Table, FileError> {
    let mut table = Table::default();
    for column in columns {
        table.add(column).map_err(|source| FileError::Table { path: path.to_owned(), source })?;
    }
    Ok(table)
}
