// SPDX-License-Identifier: MIT OR Apache-2.0
//! The server: connections, and how many, for how long, of whom.

use std::convert::Infallible;
use std::future::Future;
use std::pin::{pin, Pin};
use std::sync::Arc;
use std::time::Duration;

use ccctl_console::{Exit, Fault};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::StatusCode;
use hyper_util::rt::{TokioIo, TokioTimer};
use nix::sys::socket::{listen, Backlog};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::time::timeout;

use super::fault::ErrorAnswer;
use super::handle::{handle, Context, PATIENCE};
use super::peer::Peer;
use super::request::Role;
use super::room::{Place, Room};
use crate::http::{WriteLimit, HEADER_BYTES};
use crate::log;

/// Connections of root, which nobody else can take away.
const ROOT_CONNECTIONS: u32 = 32;
/// Connections of those who read, and of one of them.
const READ_CONNECTIONS: (u32, usize) = (24, 12);
/// Connections of those who are told that they may not, and of one of them.
const OTHER_CONNECTIONS: (u32, usize) = (8, 2);
/// Connections that wait to be taken. The kernel makes it less where `net.core.somaxconn` is.
const BACKLOG: i32 = 4096;
/// How long a peer may not read what is sent to it.
const UNREAD: Duration = Duration::from_secs(30);
/// Longest life of a connection: whoever does not read the answer must not keep its memory for ever.
const LIFE: Duration = Duration::from_secs(600);
/// How long one waits for what a refused connection has still to say.
const FAREWELL: Duration = Duration::from_millis(500);
/// How long the end waits for answers that are under way.
const LAST_ANSWERS: Duration = Duration::from_secs(5);
/// After a failed accept, for want of descriptors for example.
const PAUSE: Duration = Duration::from_millis(100);

struct Limits {
    root: Arc<Room>,
    read: Arc<Room>,
    other: Arc<Room>,
    /// Those that are turned away, root apart from others.
    root_farewells: Arc<Room>,
    farewells: Arc<Room>,
    ending: watch::Sender<bool>,
}

impl Limits {
    fn new() -> Self {
        let shared = |(most, most_of_user)| Room::new(most, most_of_user);
        Self {
            root: Room::new(ROOT_CONNECTIONS, ROOT_CONNECTIONS as usize),
            read: shared(READ_CONNECTIONS),
            other: shared(OTHER_CONNECTIONS),
            root_farewells: Room::new(ROOT_CONNECTIONS, ROOT_CONNECTIONS as usize),
            farewells: shared(OTHER_CONNECTIONS),
            ending: watch::Sender::new(false),
        }
    }

    /// Lets the answers that are under way be sent.
    async fn close(&self) {
        let _ = self.ending.send(true); // there may be no connection
        let all = async {
            self.root.is_empty().await;
            self.read.is_empty().await;
        };
        let _ = timeout(LAST_ANSWERS, all).await; // those that take longer are not waited for
    }

    fn of(&self, peer: &Peer) -> Option<Place> {
        let room = match peer.role {
            Role::Change => &self.root,
            Role::Read => &self.read,
            Role::Nothing => &self.other,
        };
        room.enter(peer.uid)
    }

    fn farewell(&self, peer: &Peer) -> Option<Place> {
        let room = if peer.role == Role::Change { &self.root_farewells } else { &self.farewells };
        room.enter(peer.uid)
    }
}

/// Serves until `shutdown`; requests that run then are carried out by their threads.
pub async fn serve(listener: &UnixListener, context: Arc<Context>, shutdown: impl Future<Output = ()>) {
    let limits = Limits::new();
    if let Err(errno) = Backlog::new(BACKLOG).and_then(|backlog| listen(listener, backlog)) {
        tracing::warn!("cannot set the length of the connection queue: {}", errno.desc());
    }
    let mut shutdown = pin!(shutdown);
    loop {
        let accepted = tokio::select! {
            () = &mut shutdown => return limits.close().await,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => admit(stream, &context, &limits),
            Err(error) => {
                tracing::warn!("cannot accept a connection: {error}");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

fn admit(stream: UnixStream, context: &Arc<Context>, limits: &Limits) {
    let peer = match Peer::of(&stream, &context.read_group) {
        Ok(peer) => Arc::new(peer),
        Err(error) => {
            tracing::warn!("cannot identify the peer of a connection: {error}");
            return;
        }
    };
    if let Some(place) = limits.of(&peer) {
        let (context, ending) = (context.clone(), limits.ending.subscribe());
        tokio::spawn(async move {
            let _ = timeout(LIFE, connection(stream, context, peer, ending)).await;
            drop(place);
        });
        return;
    }
    tracing::warn!(target: log::OF_USER, user = peer.uid, "too many connections: {peer} is refused");
    if let Some(place) = limits.farewell(&peer) {
        tokio::spawn(async move {
            say(stream, StatusCode::SERVICE_UNAVAILABLE, "too many connections", "again later").await;
            drop(place);
        });
    }
}

async fn connection(stream: UnixStream, context: Arc<Context>, peer: Arc<Peer>, mut ending: watch::Receiver<bool>) {
    let service = service_fn(|request| {
        let (context, peer) = (context.clone(), peer.clone());
        Box::pin(async move { Ok::<_, Infallible>(handle(context, peer, request).await) })
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(PATIENCE).max_buf_size(HEADER_BYTES).half_close(true);
    let mut connection = builder.serve_connection(TokioIo::new(WriteLimit::new(stream, UNREAD)), service);
    let ended = loop {
        let ended = tokio::select! {
            ended = std::future::poll_fn(|context| connection.poll_without_shutdown(context)) => Some(ended),
            Ok(()) = ending.changed() => None,
        };
        match ended {
            Some(ended) => break ended,
            None => Pin::new(&mut connection).graceful_shutdown(),
        }
    };
    let stream = connection.into_parts().io.into_inner().into_inner();
    match ended {
        Err(error) if error.is_timeout() => {
            let cause = format!("the request did not arrive within {} s", PATIENCE.as_secs());
            say(stream, StatusCode::REQUEST_TIMEOUT, &cause, "send it without pauses").await;
        }
        Err(error) => tracing::debug!(target: log::OF_USER, user = peer.uid, "connection of {peer}: {error}"),
        Ok(()) => {}
    }
}

/// An answer to what was not read, and the end of the connection. What the peer has still to say is read and dropped:
/// closed over it, the socket would lose the answer.
async fn say(mut stream: UnixStream, status: StatusCode, cause: &str, remedy: &str) {
    let fault = Fault::new(Exit::Unexpected, cause, remedy);
    let body = serde_json::to_string(&ErrorAnswer { error: fault }).unwrap_or_default();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    let farewell = async {
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(body.as_bytes()).await?;
        stream.shutdown().await?;
        let mut rest = [0; 4096];
        while stream.read(&mut rest).await? > 0 {}
        Ok::<(), std::io::Error>(())
    };
    let _ = timeout(FAREWELL, farewell).await; // who does not listen is not told
}
