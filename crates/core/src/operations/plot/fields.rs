// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which fields of an algorithm's state are drawn.

use std::collections::BTreeMap;

use ccctl_console::UsageError;
use ccctl_series::columns::STATE_PREFIX;
use ccctl_series::{fixed_point, is_moment};

use super::rows::Rows;

/// The end of names of sequence numbers.
const SEQUENCE: &str = "_seq";
/// What an algorithm keeps to take a reduction back: old values of other fields.
const UNDO: &str = "undo";

/// Names of state fields by their unit, counts apart from numbers with a fraction; and those that are left out.
pub type Fields = (BTreeMap<(String, bool), Vec<String>>, Vec<String>);

/// Those that are wanted; if none is, those that change and say how much.
pub fn state_fields(rows: &Rows<'_>, wanted: &[String]) -> Result<Fields, UsageError> {
    let known = known(std::slice::from_ref(rows), wanted)?;
    let mut fields: BTreeMap<(String, bool), Vec<String>> = BTreeMap::new();
    let mut left_out = Vec::new();
    for name in known {
        let is_wanted = wanted.iter().any(|wanted| wanted == name);
        if is_wanted || wanted.is_empty() && says_how_much(name) && rows.changes(name) {
            let (unit, has_fraction) = unit(rows, name);
            fields.entry((unit, has_fraction)).or_default().push(name.to_owned());
        } else if wanted.is_empty() {
            left_out.push(name.to_owned());
        }
    }
    Ok((fields, left_out))
}

/// Fields that any of these rows have. One that is wanted and that none has is an error.
pub fn known<'a>(all: &[Rows<'a>], wanted: &[String]) -> Result<Vec<&'a str>, UsageError> {
    let mut known: Vec<&str> = Vec::new();
    for rows in all {
        let names = rows.table.columns().iter().filter_map(|column| column.name.strip_prefix(STATE_PREFIX));
        let new: Vec<&str> = names.filter(|name| !known.contains(name) && rows.has(name)).collect();
        known.extend(new);
    }
    let Some(wrong) = wanted.iter().find(|name| !known.contains(&name.as_str())) else { return Ok(known) };
    let remedy = if known.is_empty() {
        "leave --draw out: the algorithm has no state that can be decoded".to_owned()
    } else {
        format!("one of: {}", known.join(", "))
    };
    Err(UsageError::new(format!("there is no state field {wrong:?}"), remedy))
}

/// The unit of a field, and whether it is a plain number with a fraction.
pub fn unit(rows: &Rows<'_>, name: &str) -> (String, bool) {
    let column = rows.table.column(&format!("{STATE_PREFIX}{name}"));
    let (bits, unit) = fixed_point(column.map_or("", |column| &column.unit));
    let has_fraction = unit.is_empty() && bits.is_some();
    (unit, has_fraction)
}

/// Sequence numbers and clocks say where or when, and not how much: in a panel they flatten everything else. Values for
/// undoing repeat other fields.
fn says_how_much(name: &str) -> bool {
    !(name.ends_with(SEQUENCE) || is_moment(name) || name.split(['.', '_']).any(|word| word == UNDO))
}
