// SPDX-License-Identifier: MIT OR Apache-2.0
//! From an HTTP request to an answer.

use std::sync::Arc;
use std::time::Duration;

use ccctl_console::{Exit, Fault};
use http_body_util::{BodyExt as _, Either, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, ALLOW, CONTENT_TYPE, RETRY_AFTER, SERVER};
use hyper::{Method, Request, Response, StatusCode};
use tokio::sync::Notify;
use tokio::time::timeout;

use super::fault::{self, ErrorAnswer};
use super::openapi;
use super::peer::{Peer, ReadGroup};
use super::registry::{DynOperation, Entry};
use super::request::{self, refuse, Refusal, Role};
use super::room::{Place, Room};
use super::stream::{EventLines, EventsRequest};
use super::thread::{Job, Threads};
use super::Daemon;
use crate::events::Journal;
use crate::log;
use crate::metrics::{self, Format};
use ccctl_core::daemon::VERSION;
use ccctl_core::error;

/// Longest body of a request.
pub const BODY_BYTES: usize = 64 << 10;
/// Longest time for a request's header, and again for its body.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// What the server needs to know.
#[derive(Debug, Default)]
pub struct Context {
    /// Who may read.
    pub read_group: ReadGroup,
    /// Told after each request that has changed something.
    pub changed: Arc<Notify>,
    /// Where requests run.
    pub threads: Arc<Threads>,
    /// Long answers to readers, until they are sent.
    pub long_answers: LongAnswers,
    /// What has happened.
    pub journal: Arc<Journal>,
}

/// Long answers at once, and of one reader: the list of 100,000 sockets has 60 MB, and stays in memory until it is read.
const LONG_ANSWERS: (u32, usize) = (4, 2);
/// Shorter ones are not counted.
const LONG_ANSWER_BYTES: usize = 1 << 20;

/// Room for them.
#[derive(Debug)]
pub struct LongAnswers(Arc<Room>);

impl Default for LongAnswers {
    fn default() -> Self {
        Self(Room::new(LONG_ANSWERS.0, LONG_ANSWERS.1))
    }
}

/// A long answer, whose place is free when it has been sent.
struct LongAnswer {
    body: Vec<u8>,
    _place: Place,
}

impl Drop for LongAnswer {
    fn drop(&mut self) {
        drop(std::mem::take(&mut self.body));
        ccctl_core::sys::return_memory();
    }
}

impl AsRef<[u8]> for LongAnswer {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

impl LongAnswers {
    /// The body as it is sent; a reader who has too many that are not read yet does not get it.
    fn admit(&self, peer: &Peer, body: Vec<u8>) -> Result<Bytes, Refusal> {
        if peer.role == Role::Change || body.len() <= LONG_ANSWER_BYTES {
            return Ok(body.into());
        }
        if let Some(place) = self.0.enter(peer.uid) {
            return Ok(Bytes::from_owner(LongAnswer { body, _place: place }));
        }
        drop(body);
        ccctl_core::sys::return_memory();
        let (all, of_user) = LONG_ANSWERS;
        let cause = format!("{all} answers over 1 MB, at most {of_user} of one user, are in transfer");
        let remedy = "read the answers to earlier requests first, or request less: limit=1000";
        refuse(StatusCode::SERVICE_UNAVAILABLE, Exit::Locked, cause, remedy)
    }
}

/// An answer that is complete before it is sent, or the events as they happen.
pub type Answer = Response<Either<metrics::PortBody, EventLines>>;

/// Answers one request; what is wrong with it is an answer, too.
pub async fn handle(context: Arc<Context>, peer: Arc<Peer>, request: Request<Incoming>) -> Answer {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    if path == "/metrics" && method == Method::GET && peer.role != Role::Nothing {
        return metrics(&request).await;
    }
    if path == "/v1/events" && method == Method::GET && peer.role != Role::Nothing {
        return events(&context, &request).unwrap_or_else(|Refusal(status, fault)| failed(status, fault));
    }
    match answer(&context, &peer, request).await {
        Ok(body) => build(StatusCode::OK, body),
        Err(Refusal(status, fault)) => {
            if status == StatusCode::FORBIDDEN {
                tracing::warn!(target: log::OF_USER, user = peer.uid, "refused: {method} {path} of {peer}");
            } else {
                tracing::debug!(target: log::OF_USER, user = peer.uid, "{method} {path} of {peer}: {status}: {fault}");
            }
            failed(status, fault)
        }
    }
}

async fn metrics(request: &Request<Incoming>) -> Answer {
    let accept = request.headers().get(ACCEPT).and_then(|header| header.to_str().ok());
    if let Some(answer) = metrics::scrape(Format::accepted(accept)).await {
        return answer.map(Either::Left);
    }
    let remedy = "set enabled = true below [metrics] in the daemon's file";
    failed(StatusCode::NOT_FOUND, Fault::new(Exit::Usage, "the metrics are off", remedy))
}

fn events(context: &Context, request: &Request<Incoming>) -> Result<Answer, Refusal> {
    let wanted = EventsRequest::of_query(request.uri().query().unwrap_or_default())?;
    let mut answer = Response::new(Either::Right(EventLines::new(wanted, context.journal.clone())));
    answer.headers_mut().insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static("application/x-ndjson"));
    Ok(answer)
}

async fn answer(context: &Context, peer: &Arc<Peer>, request: Request<Incoming>) -> Result<Bytes, Refusal> {
    if peer.role == Role::Nothing {
        let remedy = "use root, or a member of the group that [api] read_group names";
        return refuse(StatusCode::FORBIDDEN, Exit::Host, format!("permission denied for user {}", peer.uid), remedy);
    }
    let path = request.uri().path().to_owned();
    let name = path.strip_prefix("/v1/").unwrap_or_default();
    let own = match name {
        "daemon" => Some(serde_json::to_vec(&Daemon { version: VERSION.to_owned(), pid: std::process::id() })),
        "openapi.json" => Some(serde_json::to_vec(&openapi::document())),
        "events" => Some(Ok(Vec::new())), // a GET has its answer already
        _ => None,
    };
    if let Some(own) = own {
        request::only(request.method(), &path, &[Method::GET])?;
        return own
            .map(Bytes::from)
            .or_else(|error| refuse(StatusCode::INTERNAL_SERVER_ERROR, Exit::Unexpected, error.to_string(), ""));
    }
    let entry = request::entry_of(request.method(), &path)?;
    let is_get = request.method() == Method::GET;
    let asked = if is_get {
        request::of_query(entry, request.uri().query().unwrap_or_default())?
    } else {
        of_body(entry, request).await?
    };
    request::allow(entry, (peer.uid, peer.role), &*asked, is_get)?;
    run(context, peer, entry, asked).await
}

async fn of_body(entry: &Entry, request: Request<Incoming>) -> Result<Box<dyn DynOperation>, Refusal> {
    let limited = Limited::new(request.into_body(), BODY_BYTES);
    let bytes = match timeout(PATIENCE, limited.collect()).await {
        Err(_) => {
            let cause = format!("the body did not arrive within {} s", PATIENCE.as_secs());
            return refuse(StatusCode::REQUEST_TIMEOUT, Exit::Usage, cause, "send it without pauses");
        }
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            let cause = format!("the body is too long: the limit is {BODY_BYTES} bytes");
            return refuse(StatusCode::PAYLOAD_TOO_LARGE, Exit::Usage, cause, "several requests");
        }
        Ok(Err(error)) => {
            return refuse(StatusCode::BAD_REQUEST, Exit::Usage, error.to_string(), "send the complete body")
        }
        Ok(Ok(body)) => body.to_bytes(),
    };
    request::of_json(entry, &bytes)
}

async fn run(
    context: &Context,
    peer: &Arc<Peer>,
    entry: &Entry,
    request: Box<dyn DynOperation>,
) -> Result<Bytes, Refusal> {
    let (changes, is_dry_run) = (request.changes(), request.is_dry_run());
    let result = context.threads.run(Job { name: entry.name, peer: peer.clone(), request }).await;
    if is_dry_run {
        let outcome = if result.is_ok() { "nothing was changed" } else { "failed" };
        tracing::info!("{} for {peer}, dry run: {outcome}", entry.name);
    } else if changes {
        let outcome = if result.is_ok() { "done" } else { "not done" };
        tracing::info!("{} for {peer}: {outcome}", entry.name);
        context.changed.notify_one();
    }
    let body = result.map_err(|error| Refusal(fault::status(&error), error::fault(&error)))?;
    context.long_answers.admit(peer, body)
}

fn build(status: StatusCode, body: Bytes) -> Answer {
    let mut answer = Response::new(Either::Left(Either::Left(Full::new(body))));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static("application/json"));
    headers.insert(SERVER, hyper::header::HeaderValue::from_static(concat!("ccctl/", env!("CARGO_PKG_VERSION"))));
    answer
}

/// An answer that says why not.
pub fn failed(status: StatusCode, fault: Fault) -> Answer {
    let allowed = (status == StatusCode::METHOD_NOT_ALLOWED).then(|| fault.remedy.clone()).flatten();
    let body = serde_json::to_vec(&ErrorAnswer { error: fault }).unwrap_or_default();
    let mut answer = build(status, body.into());
    if let Some(allowed) = allowed.and_then(|methods| methods.parse().ok()) {
        answer.headers_mut().insert(ALLOW, allowed);
    }
    if status == StatusCode::SERVICE_UNAVAILABLE {
        answer.headers_mut().insert(RETRY_AFTER, hyper::header::HeaderValue::from_static("1"));
    }
    answer
}
