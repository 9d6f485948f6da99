// SPDX-License-Identifier: MIT OR Apache-2.0
//! `GET /v1/events`: the daemon's events as lines of JSON, and as they happen for those who follow.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{ready, Context, Poll};
use std::time::Duration;

use ccctl_console::Exit;
use ccctl_core::daemon::Event;
use hyper::body::{Body, Bytes, Frame};
use hyper::StatusCode;
use schemars::{schema_for, JsonSchema};
use serde::Deserialize;
use tokio::sync::watch;
use tokio::time::{timeout_at, Instant};

use super::query;
use super::request::{refuse, Refusal};
use crate::events::Journal;

/// A stream ends by itself before its connection has to: who follows asks again, from the last event on.
const LONGEST: Duration = Duration::from_secs(540);
/// An empty line goes out after so long without an event: hyper takes a peer that is gone for one that has only finished
/// asking, until something cannot be written to it.
const SILENCE: Duration = Duration::from_secs(5);

/// Which events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EventsRequest {
    /// Only events after the one of this number; of all, the latest 1000 are kept
    pub since: u64,
    /// Do not end after the last event, but go on with those that happen
    pub follow: bool,
}

impl EventsRequest {
    /// What a query asks for.
    pub fn of_query(text: &str) -> Result<Self, Refusal> {
        let value = query::to_json(text, schema_for!(Self).as_value());
        let value =
            value.or_else(|cause| refuse(StatusCode::BAD_REQUEST, Exit::Usage, cause, "write each field once"))?;
        serde_json::from_value(value).or_else(|error| {
            let remedy = "since=NUMBER and follow=true are known";
            refuse(StatusCode::UNPROCESSABLE_ENTITY, Exit::Usage, error.to_string(), remedy)
        })
    }
}

/// Where a reader is.
struct Follower {
    journal: Arc<Journal>,
    changes: watch::Receiver<()>,
    last: u64,
    follow: bool,
    ends: Instant,
}

impl Follower {
    /// The next lines; none at the end.
    async fn next(mut self) -> Option<(Self, Bytes)> {
        loop {
            let events = self.journal.after(self.last)?;
            if let Some(newest) = events.last() {
                self.last = newest.number;
                return Some((self, lines(&events)));
            }
            if !self.follow {
                return None;
            }
            let silent_until = Instant::now() + SILENCE;
            match timeout_at(silent_until.min(self.ends), self.changes.changed()).await {
                Ok(changed) => changed.ok()?,
                Err(_) if silent_until < self.ends => return Some((self, Bytes::from_static(b"\n"))),
                Err(_) => return None,
            }
        }
    }
}

fn lines(events: &[Event]) -> Bytes {
    let mut lines = Vec::new();
    for event in events {
        let _ = serde_json::to_writer(&mut lines, event); // writing to memory does not fail
        lines.push(b'\n');
    }
    lines.into()
}

/// The lines, as hyper sends them: nothing of it runs while nobody reads.
pub struct EventLines(Option<Next>);

type Next = Pin<Box<dyn Future<Output = Option<(Follower, Bytes)>> + Send>>;

impl EventLines {
    /// Those that are asked for.
    pub fn new(request: EventsRequest, journal: Arc<Journal>) -> Self {
        let EventsRequest { since: last, follow } = request;
        let follower = Follower { changes: journal.changes(), journal, last, follow, ends: Instant::now() + LONGEST };
        Self(Some(Box::pin(follower.next())))
    }
}

impl Body for EventLines {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Some(next) = &mut self.0 else { return Poll::Ready(None) };
        let found = ready!(next.as_mut().poll(context));
        let (follower, lines) = found.unzip();
        self.0 = follower.map(|follower| Box::pin(follower.next()) as Next);
        Poll::Ready(lines.map(|lines| Ok(Frame::data(lines))))
    }
}
