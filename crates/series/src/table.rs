// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rows of values under named columns.

use std::collections::BTreeMap;

/// One value of a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A whole number.
    Integer(i64),
    /// A number with a fraction.
    Float(f64),
    /// A word.
    Text(String),
}

/// The values of a column, one a row; none where a row has no such value.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Whole numbers.
    Integer(Vec<Option<i64>>),
    /// Numbers with fractions.
    Float(Vec<Option<f64>>),
    /// Words.
    Text(Vec<Option<String>>),
}

/// A column.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Its name, which ends in the unit, as everywhere: `cwnd_pkts`, `srtt_us`.
    pub name: String,
    /// The unit in words that a picture shows ("packets", "us"); empty for a count or a word.
    pub unit: String,
    /// What it holds.
    pub values: Values,
}

/// Columns of one length, and what is known of all of them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    /// Facts about the whole table: versions, command, lost events. Kept in the files that can hold them.
    pub facts: BTreeMap<String, String>,
    columns: Vec<Column>,
}

/// A table that cannot be.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum TableError {
    /// Columns differ in length.
    #[error("column {name} has {found} rows, but the others have {expected}")]
    Length {
        /// The column that does not fit.
        name: String,
        /// Its rows.
        found: usize,
        /// Rows of the table.
        expected: usize,
    },
    /// Two columns of one name.
    #[error("two columns are named {0}")]
    Name(String),
}

impl Values {
    /// Rows.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Integer(values) => values.len(),
            Self::Float(values) => values.len(),
            Self::Text(values) => values.len(),
        }
    }

    /// No rows at all?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of a row, if it has one.
    #[must_use]
    pub fn get(&self, row: usize) -> Option<Value> {
        match self {
            Self::Integer(values) => values.get(row)?.map(Value::Integer),
            Self::Float(values) => values.get(row)?.map(Value::Float),
            Self::Text(values) => values.get(row)?.clone().map(Value::Text),
        }
    }
}

impl Value {
    /// As a number, where it is one.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Integer(value) => Some(*value as f64),
            Self::Float(value) => Some(*value),
            Self::Text(_) => None,
        }
    }
}

impl Table {
    /// Adds a column to the right.
    pub fn add(&mut self, column: Column) -> Result<(), TableError> {
        if self.column(&column.name).is_some() {
            return Err(TableError::Name(column.name));
        }
        let expected = self.columns.first().map_or(column.values.len(), |first| first.values.len());
        if column.values.len() != expected {
            return Err(TableError::Length { found: column.values.len(), name: column.name, expected });
        }
        self.columns.push(column);
        Ok(())
    }

    /// All columns, from the left.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The column of this name.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.values.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, values: &[i64]) -> Column {
        let values = Values::Integer(values.iter().copied().map(Some).collect());
        Column { name: name.into(), unit: "packets".into(), values }
    }

    #[test]
    fn columns_have_one_length_and_different_names() {
        let mut table = Table::default();
        table.add(column("cwnd_pkts", &[10, 20])).unwrap();
        let short = table.add(column("ssthresh_pkts", &[10])).unwrap_err();
        assert_eq!(short, TableError::Length { name: "ssthresh_pkts".into(), found: 1, expected: 2 });
        let twice = table.add(column("cwnd_pkts", &[1, 2])).unwrap_err();
        assert_eq!(twice, TableError::Name("cwnd_pkts".into()));
        assert_eq!((table.rows(), table.columns().len()), (2, 1));
        assert_eq!(table.column("cwnd_pkts").unwrap().values.get(1), Some(Value::Integer(20)));
    }
}
