//! From `?name=cubic&limit=10` to the JSON that the same request has as a body.

use schemars::Schema;
use serde_json::{json, Map, Value};

/// The query's fields, each of the type that the schema gives it. What the schema does not know stays text, and is
/// refused where the request is read.
pub fn to_json(query: &str, schema: &Schema) -> Result<Value, String> {
    let mut fields = Map::new();
    for (name, text) in form_urlencoded::parse(query.as_bytes()) {
        let kind = schema.get("properties").and_then(|all| all.get(&*name));
        if has_type(kind, "array") {
            let item = value(&text, kind.and_then(|kind| kind.get("items")));
            match fields.entry(name.into_owned()).or_insert_with(|| json!([])) {
                Value::Array(items) => items.push(item),
                _ => unreachable!("an array was put there"),
            }
        } else if fields.insert(name.clone().into_owned(), value(&text, kind)).is_some() {
            return Err(format!("{name} is given twice"));
        }
    }
    Ok(Value::Object(fields))
}

fn value(text: &str, kind: Option<&Value>) -> Value {
    let number = || has_type(kind, "integer").then(|| text.parse::<u64>().ok()).flatten();
    match text {
        "true" | "" if has_type(kind, "boolean") => json!(true),
        "false" if has_type(kind, "boolean") => json!(false),
        _ => number().map_or_else(|| json!(text), |number| json!(number)),
    }
}

fn has_type(kind: Option<&Value>, wanted: &str) -> bool {
    match kind.and_then(|kind| kind.get("type")) {
        Some(Value::String(one)) => one == wanted,
        Some(Value::Array(several)) => several.iter().any(|one| one == wanted),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(schemars::JsonSchema)]
    #[allow(dead_code)] // only its schema is used
    struct Request {
        name: Option<String>,
        port: Option<u16>,
        ids: Vec<u64>,
        dry_run: bool,
    }

    fn read(query: &str) -> Result<Value, String> {
        to_json(query, &schemars::schema_for!(Request))
    }

    #[test]
    fn each_field_gets_the_type_of_its_schema() {
        let expected = json!({"name": "10", "port": 10, "ids": [1, 2], "dry_run": true});
        assert_eq!(read("name=10&port=10&ids=1&ids=2&dry_run"), Ok(expected));
        assert_eq!(read("name=a%20b%26c"), Ok(json!({"name": "a b&c"})));
        assert_eq!(read(""), Ok(json!({})));
    }

    #[test]
    fn what_does_not_fit_stays_text_and_what_is_given_twice_is_refused() {
        assert_eq!(read("port=x&other=1&dry_run=2"), Ok(json!({"port": "x", "other": "1", "dry_run": "2"})));
        assert_eq!(read("name=1&name=2"), Err("name is given twice".to_owned()));
    }
}
