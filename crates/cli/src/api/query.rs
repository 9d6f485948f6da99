// SPDX-License-Identifier: MIT OR Apache-2.0
//! From `?name=cubic&filter[port]=443` to the JSON that the same request has as a body.

use serde_json::{json, Map, Value};

/// The query's fields, each of the type that the schema gives it; `outer[inner]` is a field within a field. What the
/// schema does not know stays text, and is refused where the request is read.
pub fn to_json(query: &str, schema: &Value) -> Result<Value, String> {
    let mut fields = Map::new();
    for (name, text) in form_urlencoded::parse(query.as_bytes()) {
        match name.split_once('[').and_then(|(outer, rest)| Some((outer, rest.strip_suffix(']')?))) {
            None => put(&mut fields, &name, &text, schema)?,
            Some((outer, inner)) => {
                let within = fields.entry(outer).or_insert_with(|| json!({}));
                let within = within.as_object_mut().ok_or_else(|| format!("{outer} is given in two forms"))?;
                put(within, inner, &text, &schema["properties"][outer])?;
            }
        }
    }
    Ok(Value::Object(fields))
}

fn put(fields: &mut Map<String, Value>, name: &str, text: &str, schema: &Value) -> Result<(), String> {
    let kind = schema["properties"].get(name);
    if has_type(kind, "array") {
        let item = value(text, kind.and_then(|kind| kind.get("items")));
        let items = fields.entry(name).or_insert_with(|| json!([]));
        items.as_array_mut().ok_or_else(|| format!("{name} is given in two forms"))?.push(item);
        return Ok(());
    }
    match fields.insert(name.to_owned(), value(text, kind)) {
        None => Ok(()),
        Some(_) => Err(format!("{name} is given twice")),
    }
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
        filter: Filter,
    }

    #[derive(schemars::JsonSchema)]
    #[schemars(inline)]
    #[allow(dead_code)] // only its schema is used
    struct Filter {
        port: u16,
        states: Vec<String>,
    }

    fn read(query: &str) -> Result<Value, String> {
        to_json(query, schemars::schema_for!(Request).as_value())
    }

    #[test]
    fn each_field_gets_the_type_of_its_schema() {
        let expected = json!({"name": "10", "port": 10, "ids": [1, 2], "dry_run": true});
        assert_eq!(read("name=10&port=10&ids=1&ids=2&dry_run"), Ok(expected));
        assert_eq!(read("name=a%20b%26c"), Ok(json!({"name": "a b&c"})));
        assert_eq!(read(""), Ok(json!({})));
        let nested = read("filter[port]=443&filter[states]=a&filter[states]=b");
        assert_eq!(nested, Ok(json!({"filter": {"port": 443, "states": ["a", "b"]}})));
    }

    #[test]
    fn what_does_not_fit_stays_text_and_what_is_given_twice_is_refused() {
        assert_eq!(read("port=x&other=1&dry_run=2"), Ok(json!({"port": "x", "other": "1", "dry_run": "2"})));
        assert_eq!(read("name=1&name=2"), Err("name is given twice".to_owned()));
        assert!(read("name=1&name[x]=2").is_err() && read("ids[x]=2&ids=1").is_err());
    }
}
