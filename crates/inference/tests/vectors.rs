// SPDX-License-Identifier: MIT OR Apache-2.0
//! The crate on the inputs of `vectors.json`, compared with what independent Python packages said of them
//! (`make-vectors.py`, which names their versions).

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod vectors {
    pub mod quantities;
}

use std::collections::BTreeMap;

use serde_json::Value;
use vectors::quantities;

/// Relative; for what is 0, absolute.
const TOLERANCE: f64 = 1e-9;
const ABSOLUTE: f64 = 1e-13;

type Quantity = fn(&Value) -> Value;

fn all() -> BTreeMap<&'static str, Quantity> {
    BTreeMap::from([
        ("asymptotic", quantities::asymptotic as Quantity),
        ("autocorrelation", quantities::autocorrelation),
        ("cr2", quantities::cr2),
        ("cuped", quantities::cuped),
        ("estimates", quantities::estimates),
        ("flips", quantities::flips),
        ("guard_rail", quantities::guard_rail),
        ("histogram", quantities::histogram),
        ("hold_out", quantities::hold_out),
        ("intraclass", quantities::intraclass),
        ("lengths", quantities::lengths),
        ("log_ratio", quantities::log_ratio),
        ("mixture", quantities::mixture),
        ("multiplicity", quantities::multiplicity),
        ("newey_west", quantities::newey_west),
        ("plan", quantities::plan),
        ("plan_few", quantities::plan_few),
        ("quantiles", quantities::quantiles),
        ("ratio", quantities::ratio),
        ("redraw", quantities::redraw),
        ("sample_ratio", quantities::sample_ratio),
        ("schedule", quantities::schedule),
        ("sequence", quantities::sequence),
        ("sigma", quantities::sigma),
        ("symmetric_bound", quantities::symmetric_bound),
        ("t_test", quantities::t_test),
        ("tails", quantities::tails),
        ("wild", quantities::wild),
        ("z_test", quantities::z_test),
    ])
}

#[test]
fn every_quantity_equals_its_oracle() {
    let vectors: Value = serde_json::from_str(include_str!("vectors.json")).unwrap();
    let quantities = all();
    let mut cases_of: BTreeMap<&str, usize> = quantities.keys().map(|name| (*name, 0)).collect();
    let mut wrong = Vec::new();
    for case in vectors["cases"].as_array().unwrap() {
        let name = case["quantity"].as_str().unwrap();
        let quantity = quantities.get(name).unwrap_or_else(|| panic!("no quantity is called {name}"));
        *cases_of.get_mut(name).unwrap() += 1;
        let place = format!("{name} {}", case["input"]["name"]);
        compare(&place, &quantity(&case["input"]), &case["expected"], &mut wrong);
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    let untested: Vec<_> = cases_of.iter().filter(|(_, cases)| **cases == 0).collect();
    assert!(untested.is_empty(), "no cases: {untested:?}");
}

/// Numbers at the same places of both, no more and no fewer.
fn compare(place: &str, found: &Value, expected: &Value, wrong: &mut Vec<String>) {
    match (found, expected) {
        (Value::Object(own), Value::Object(others)) => {
            assert!(own.keys().all(|key| others.contains_key(key)), "{place}: keys that the oracle has not");
            for (key, other) in others {
                compare(&format!("{place} {key}"), &found[key], other, wrong);
            }
        }
        (Value::Array(own), Value::Array(others)) => {
            assert_eq!(own.len(), others.len(), "{place}");
            for (index, (one, other)) in own.iter().zip(others).enumerate() {
                compare(&format!("{place} [{index}]"), one, other, wrong);
            }
        }
        _ => {
            let (one, other) = (found.as_f64(), expected.as_f64());
            let equal = one.zip(other).is_some_and(|(one, other)| close(one, other));
            if !equal {
                wrong.push(format!("{place}: {found}, expected {expected}"));
            }
        }
    }
}

fn close(one: f64, other: f64) -> bool {
    (one - other).abs() <= TOLERANCE * other.abs() + ABSOLUTE
}
