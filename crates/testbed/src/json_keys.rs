// SPDX-License-Identifier: GPL-2.0-only
//! The JSON that a program prints: every answer is an object, and a key has one shape wherever it stands. `docs/reference/json.md` says
//! what the keys mean.
#![allow(clippy::missing_panics_doc)] // a test fails by panicking

use std::collections::{BTreeMap, BTreeSet};

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value};

/// Answers by the command that prints them.
pub struct Answers {
    /// Makes the schemas.
    pub generator: SchemaGenerator,
    /// Schema of the answer by command.
    pub by_command: BTreeMap<String, Value>,
}

impl Answers {
    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        Self { generator: SchemaSettings::draft2020_12().into_generator(), by_command: BTreeMap::new() }
    }

    /// Adds the answer of a command.
    pub fn add<T: JsonSchema>(&mut self, command: &str) {
        let schema = self.generator.subschema_for::<T>().to_value();
        self.by_command.insert(command.to_owned(), schema);
    }

    /// All keys of all answers.
    pub fn walk(&mut self) -> Keys {
        let definitions = self.generator.definitions().clone();
        let mut keys = Keys {
            definitions,
            by_key: BTreeMap::new(),
            descriptions: BTreeMap::new(),
            not_objects: Vec::new(),
            command: String::new(),
        };
        for (command, schema) in &self.by_command {
            keys.command.clone_from(command);
            let shape = keys.shape(schema);
            if !shape.starts_with("object") {
                keys.not_objects.push(format!("{command}: {shape}"));
            }
        }
        keys
    }
}

/// What the answers have.
pub struct Keys {
    definitions: Map<String, Value>,
    /// Shapes by key, and the commands that print them.
    pub by_key: BTreeMap<String, BTreeMap<String, BTreeSet<String>>>,
    /// Descriptions by key, and the command of each.
    pub descriptions: BTreeMap<String, BTreeSet<(String, String)>>,
    /// Commands whose answer is not an object.
    pub not_objects: Vec<String>,
    command: String,
}

impl Default for Answers {
    fn default() -> Self {
        Self::new()
    }
}

impl Keys {
    /// Keys with more than one shape, with their commands.
    #[must_use]
    pub fn changing(&self) -> Vec<String> {
        let of_many = self.by_key.iter().filter(|(_, shapes)| shapes.len() > 1);
        let text = of_many.map(|(key, shapes)| {
            let lines = shapes.iter().map(|(shape, commands)| format!("    {shape}: {commands:?}"));
            format!("{key}\n{}", lines.collect::<Vec<_>>().join("\n"))
        });
        text.collect()
    }

    /// Notes a key of this shape.
    pub fn note(&mut self, key: &str, shape: String) {
        let shapes = self.by_key.entry(key.to_owned()).or_default();
        shapes.entry(shape).or_default().insert(self.command.clone());
    }

    /// The shape of a schema, and those of all keys in it. A value that may be missing has the shape of one that is there.
    fn shape(&mut self, schema: &Value) -> String {
        if let Some(name) = schema["$ref"].as_str() {
            let name = name.rsplit('/').next().unwrap_or(name);
            let definition = self.definitions[name].clone();
            return self.shape(&definition);
        }
        let alternatives = ["anyOf", "oneOf"].iter().filter_map(|kind| schema[kind].as_array());
        let alternatives: Vec<Value> = alternatives.flatten().cloned().collect();
        let mut shapes: BTreeSet<String> = alternatives.iter().map(|one| self.shape(one)).collect();
        shapes.remove("null");
        if !shapes.is_empty() && schema["properties"].is_null() {
            return shapes.into_iter().collect::<Vec<_>>().join(" or ");
        }
        let kinds = match &schema["type"] {
            Value::Array(kinds) => kinds.clone(),
            kind => vec![kind.clone()],
        };
        let kinds = kinds.iter().map(|kind| self.shape_of_kind(kind.as_str(), schema));
        let mut shapes: BTreeSet<String> = kinds.collect();
        if shapes.len() > 1 {
            shapes.remove("null");
        }
        shapes.into_iter().collect::<Vec<_>>().join(" or ")
    }

    fn shape_of_kind(&mut self, kind: Option<&str>, schema: &Value) -> String {
        match kind {
            Some("integer" | "number") => "number".to_owned(),
            Some("array") => format!("array of {}", self.shape(&schema["items"])),
            Some("object") => self.object(schema),
            Some(kind) => kind.to_owned(),
            None if schema["const"].is_string() || schema["enum"].is_array() => "string".to_owned(),
            None => "anything".to_owned(),
        }
    }

    fn object(&mut self, schema: &Value) -> String {
        let Some(properties) = schema["properties"].as_object().cloned() else {
            return format!("object by name of {}", self.shape(&schema["additionalProperties"]));
        };
        for (key, value) in &properties {
            let shape = self.shape(value);
            self.note(key, shape);
            let text = value["description"].as_str().unwrap_or_default().to_owned();
            self.descriptions.entry(key.clone()).or_default().insert((text, self.command.clone()));
        }
        format!("object({})", properties.keys().cloned().collect::<Vec<_>>().join(" "))
    }
}

/// Commands that take `--json`, by the words that lead to them.
#[must_use]
pub fn commands_with_json(program: clap::Command) -> Vec<String> {
    let mut found = Vec::new();
    let mut waiting = vec![(String::new(), program)];
    while let Some((name, command)) = waiting.pop() {
        if !name.is_empty() && command.get_arguments().any(|argument| argument.get_id() == "json") {
            found.push(name.clone());
        }
        let below = command.get_subcommands().map(|sub| (format!("{name} {}", sub.get_name()), sub.clone()));
        waiting.extend(below.map(|(name, sub)| (name.trim().to_owned(), sub)));
    }
    found
}
