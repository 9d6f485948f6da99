// SPDX-License-Identifier: MIT OR Apache-2.0
//! From method, path, query and body to what is asked, and whether who asks may ask it. The fuzz target `requests` includes this
//! file: it knows neither sockets nor threads.

use ccctl_console::{Exit, Fault};
use hyper::{Method, StatusCode};
use serde_json::Value;

use super::query;
use super::registry::{operation, DynOperation, Entry, OPERATIONS};

/// What a peer may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Everything: root.
    Change,
    /// Ask: members of the group.
    Read,
    /// Nothing: everybody else.
    Nothing,
}

/// What is not done, and how HTTP calls that.
#[derive(Debug)]
pub struct Refusal(pub StatusCode, pub Fault);

pub fn refuse<T>(
    status: StatusCode,
    exit: Exit,
    cause: impl Into<String>,
    remedy: impl Into<String>,
) -> Result<T, Refusal> {
    Err(Refusal(status, Fault::new(exit, cause, remedy)))
}

/// Refuses every method but these.
pub fn only(method: &Method, path: &str, methods: &[Method]) -> Result<(), Refusal> {
    if methods.contains(method) {
        return Ok(());
    }
    let allowed = methods.iter().map(Method::as_str).collect::<Vec<_>>().join(", ");
    refuse(StatusCode::METHOD_NOT_ALLOWED, Exit::Usage, format!("{path} does not support {method}"), allowed)
}

/// The operation of a path below `/v1`.
pub fn entry_of(method: &Method, path: &str) -> Result<&'static Entry, Refusal> {
    let name = path.strip_prefix("/v1/").unwrap_or_default();
    let Some(entry) = operation(name) else {
        return refuse(StatusCode::NOT_FOUND, Exit::Usage, format!("there is no {path:?}"), hint(name));
    };
    only(method, path, if entry.reads { &[Method::GET, Method::POST] } else { &[Method::POST] })?;
    Ok(entry)
}

fn hint(name: &str) -> String {
    let names = OPERATIONS.iter().map(|entry| entry.name);
    match ccctl_catalog::closest(name, names) {
        Some(similar) => format!("/v1/{similar}; GET /v1/openapi.json describes all"),
        None => "GET /v1/openapi.json describes all".to_owned(),
    }
}

/// What a GET asks.
pub fn of_query(entry: &Entry, query: &str) -> Result<Box<dyn DynOperation>, Refusal> {
    let schema = (entry.request)();
    let value = query::to_json(query, schema.as_value());
    let value = value.or_else(|cause| refuse(StatusCode::BAD_REQUEST, Exit::Usage, cause, "write each field once"))?;
    parse(entry, value)
}

/// What a POST asks.
pub fn of_json(entry: &Entry, body: &[u8]) -> Result<Box<dyn DynOperation>, Refusal> {
    let text: &[u8] = if body.is_empty() { b"{}" } else { body };
    let value = serde_json::from_slice(text).or_else(|error| {
        refuse(StatusCode::BAD_REQUEST, Exit::Usage, format!("invalid JSON in the body: {error}"), "a JSON object")
    })?;
    parse(entry, value)
}

fn parse(entry: &Entry, value: Value) -> Result<Box<dyn DynOperation>, Refusal> {
    // A sequence would be read as the fields in their order, which the document does not say.
    if !value.is_object() {
        return refuse(StatusCode::UNPROCESSABLE_ENTITY, Exit::Usage, "the request is not a JSON object", "{...}");
    }
    (entry.parse)(value).or_else(|error| {
        let remedy = format!("GET /v1/openapi.json describes /v1/{}", entry.name);
        refuse(StatusCode::UNPROCESSABLE_ENTITY, Exit::Usage, error.to_string(), remedy)
    })
}

/// What changes something is for root, and never a GET. Who asks is a user and what that user may do.
pub fn allow(entry: &Entry, (uid, role): (u32, Role), asked: &dyn DynOperation, is_get: bool) -> Result<(), Refusal> {
    if asked.opens_paths() && role != Role::Change {
        let cause = format!("user {uid} may read, but only root may use {} with a path", entry.name);
        return refuse(StatusCode::FORBIDDEN, Exit::Host, cause, "use a name that ip netns list shows, or netns_pid");
    }
    if !asked.changes() {
        return Ok(());
    }
    if is_get {
        let cause = format!("this {} changes something: use POST", entry.name);
        return refuse(StatusCode::METHOD_NOT_ALLOWED, Exit::Usage, cause, "POST");
    }
    if role != Role::Change {
        let cause = format!("user {uid} may read, but only root may use {}", entry.name);
        return refuse(StatusCode::FORBIDDEN, Exit::Host, cause, "use root");
    }
    Ok(())
}
