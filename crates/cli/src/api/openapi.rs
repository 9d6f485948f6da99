// SPDX-License-Identifier: MIT OR Apache-2.0
//! The document that describes the API, made from the types of requests and answers.

use schemars::generate::SchemaSettings;
use schemars::{schema_for, Schema, SchemaGenerator};
use serde_json::{json, Map, Value};

use super::fault::ErrorAnswer;
use super::registry::{Entry, OPERATIONS};
use super::stream::EventsRequest;
use super::Daemon;
use ccctl_core::daemon::{Event, VERSION};

/// The document, of version 3.1.
pub fn document() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut generator = settings.into_generator();
    let mut paths = Map::new();
    for entry in OPERATIONS {
        paths.insert(format!("/v1/{}", entry.name), path(entry, &mut generator));
    }
    paths.insert("/v1/daemon".to_owned(), json!({ "get": daemon(&mut generator) }));
    paths.insert("/v1/events".to_owned(), json!({ "get": events(&mut generator) }));
    paths.insert("/v1/openapi.json".to_owned(), json!({ "get": itself() }));
    generator.subschema_for::<ErrorAnswer>();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "ccctl",
            "version": VERSION,
            "description": "TCP congestion control as loadable BPF. HTTP over a unix socket; root changes, the \
                            configured group reads. A request that changes nothing may be a GET or a POST; one that \
                            changes something is a POST. Requests apply to the network namespace of the process that \
                            has connected.",
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "http://localhost", "description": "over the unix socket: curl --unix-socket PATH" }],
        "paths": paths,
        "components": { "schemas": generator.take_definitions(true) },
    })
}

fn path(entry: &Entry, generator: &mut SchemaGenerator) -> Value {
    let answer = (entry.answer)(generator);
    let mut methods = Map::new();
    if entry.reads {
        let get = json!({
            "operationId": format!("get_{}", entry.name),
            "summary": entry.title,
            "parameters": parameters(&(entry.request)()),
            "responses": responses(&answer),
        });
        methods.insert("get".to_owned(), get);
    }
    let post = json!({
        "operationId": entry.name,
        "summary": entry.title,
        "requestBody": {
            "required": true,
            "content": { "application/json": { "schema": (entry.body)(generator) } },
        },
        "responses": responses(&answer),
    });
    methods.insert("post".to_owned(), post);
    Value::Object(methods)
}

/// The fields of a request as they stand in a query.
fn parameters(request: &Schema) -> Vec<Value> {
    let required = request.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let properties = request.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    let parameter = |(name, schema): (String, Value)| {
        let style = if schema["type"] == "object" { "deepObject" } else { "form" };
        json!({
            "name": name,
            "in": "query",
            "required": required.iter().any(|field| *field == name),
            "description": schema.get("description").cloned().unwrap_or_default(),
            "style": style,
            "explode": true,
            "schema": schema,
        })
    };
    properties.into_iter().map(parameter).collect()
}

fn responses(answer: &Schema) -> Value {
    json!({
        "200": { "description": "done", "content": { "application/json": { "schema": answer } } },
        "default": {
            "description": "not done: 400 invalid JSON, 403 permission denied, 404 no such name or path, 405 method, 408 too slow, \
                            409 in use or taken, 413 too large, 422 wrong field or value, or refused by the verifier, \
                            500 unexpected, 501 not supported on this host, 503 busy",
            "content": { "application/json": { "schema": { "$ref": "#/components/schemas/ErrorAnswer" } } },
        },
    })
}

fn daemon(generator: &mut SchemaGenerator) -> Value {
    let answer = generator.subschema_for::<Daemon>();
    json!({ "operationId": "daemon", "summary": "Who answers", "responses": responses(&answer) })
}

fn events(generator: &mut SchemaGenerator) -> Value {
    let event = generator.subschema_for::<Event>();
    json!({
        "operationId": "events",
        "summary": "What has happened, a line for each event",
        "parameters": parameters(&schema_for!(EventsRequest)),
        "responses": {
            "200": {
                "description": "lines of JSON; with follow, as they happen, until the daemon ends or 9 minutes are over, and an empty \
                                line after 5 s without an event",
                "content": { "application/x-ndjson": { "schema": event } },
            },
            "default": {
                "description": "as of the other paths",
                "content": { "application/json": { "schema": { "$ref": "#/components/schemas/ErrorAnswer" } } },
            },
        },
    })
}

fn itself() -> Value {
    let any = schemars::json_schema!({ "type": "object" });
    json!({ "operationId": "openapi", "summary": "This document", "responses": responses(&any) })
}
