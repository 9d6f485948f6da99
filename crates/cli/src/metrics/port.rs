// SPDX-License-Identifier: MIT OR Apache-2.0
//! The loopback port: nothing but GET /metrics, and a line that says so.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{HeaderValue, ACCEPT, ALLOW, CONTENT_TYPE, HOST};
use hyper::http::uri::Authority;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{watch, Semaphore};
use tokio::time::timeout;

use super::guests::{Guests, State};
use super::user_of::user_of;
use super::{current, Format};
use crate::http::{WriteLimit, HEADER_BYTES};

/// For a header, and between two requests: who wants a scrape has its request ready.
const HEADER_PATIENCE: Duration = Duration::from_secs(2);
/// How long a peer may not read what is sent to it.
const UNREAD: Duration = Duration::from_secs(10);
/// Scrapes at once, of the port and of the unix socket. They run where the keeper's work runs, too, and must not fill it.
const SCRAPES: usize = 2;
/// How long a scrape waits for others.
const SCRAPE_PATIENCE: Duration = Duration::from_secs(5);
/// Longest life of a connection; Prometheus makes a new one then.
const LIFE: Duration = Duration::from_secs(600);
/// Before a port that is taken is tried again.
const PAUSE: Duration = Duration::from_secs(5);
/// After a failed accept, for want of descriptors for example.
const BREATH: Duration = Duration::from_millis(100);

type Answer = Response<Full<Bytes>>;

/// Listens where `wanted` says, and elsewhere when it changes.
pub async fn serve(mut wanted: watch::Receiver<Option<SocketAddr>>) {
    loop {
        let address = *wanted.borrow_and_update();
        let changed = tokio::select! {
            changed = wanted.changed() => changed,
            () = listen(address) => Ok(()), // tried again
        };
        if changed.is_err() {
            return;
        }
    }
}

async fn listen(address: Option<SocketAddr>) {
    let Some(address) = address else { return std::future::pending().await };
    let listener = match TcpListener::bind(address).await {
        Ok(listener) => listener,
        Err(error) => {
            tracing::error!("metrics: cannot listen at {address}: {error}");
            return tokio::time::sleep(PAUSE).await;
        }
    };
    tracing::info!("metrics: http://{address}/metrics");
    let guests = Guests::default();
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => admit(stream, user_of(peer, address), &guests),
            Err(error) => {
                tracing::warn!("metrics: cannot accept a connection: {error}");
                tokio::time::sleep(BREATH).await;
            }
        }
    }
}

/// Who comes when there is no room is hung up on: it costs nothing, and they come again.
fn admit(stream: TcpStream, user: Option<u32>, guests: &Guests) {
    if !guests.make_room(user) {
        return;
    }
    let state = Arc::new(State::default());
    let seen = state.clone();
    let task = tokio::spawn(async move {
        let _ = timeout(LIFE, connection(stream, seen)).await; // whoever does not read is let go
    });
    guests.add(user, state, task.abort_handle());
}

async fn connection(stream: TcpStream, state: Arc<State>) {
    let service = service_fn(|request: Request<Incoming>| {
        let state = state.clone();
        async move {
            state.begin();
            let answer = answer(&request).await;
            state.end();
            Ok::<_, Infallible>(answer)
        }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEADER_PATIENCE).max_buf_size(HEADER_BYTES);
    let stream = TokioIo::new(WriteLimit::new(stream, UNREAD));
    if let Err(error) = builder.serve_connection(stream, service).await {
        tracing::debug!("metrics: a connection: {error}");
    }
}

/// Is the request for this host, by a name that leads to the loopback wherever it is looked up? A page in a browser of this
/// host can have its own name lead to 127.0.0.1, and would read the answer.
fn is_for_here(request: &Request<Incoming>) -> bool {
    let header = request.headers().get(HOST).map(|host| host.to_str().ok().and_then(|host| host.parse().ok()));
    let named: [Option<Option<Authority>>; 2] = [request.uri().authority().cloned().map(Some), header];
    named.into_iter().flatten().all(|name| name.is_some_and(|name| is_loopback(name.host())))
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    address.map_or(host.eq_ignore_ascii_case("localhost"), |address| address.is_loopback())
}

async fn answer(request: &Request<Incoming>) -> Answer {
    if !is_for_here(request) {
        return text(StatusCode::MISDIRECTED_REQUEST, "ask for 127.0.0.1, [::1] or localhost\n");
    }
    let path = request.uri().path();
    if !matches!(path, "/" | "/metrics") {
        return text(StatusCode::NOT_FOUND, "there is only /metrics\n");
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut answer = text(StatusCode::METHOD_NOT_ALLOWED, "only GET\n");
        answer.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return answer;
    }
    if path == "/" {
        return text(StatusCode::OK, "ccctl: GET /metrics\n");
    }
    let accept = request.headers().get(ACCEPT).and_then(|header| header.to_str().ok());
    match scrape(Format::accepted(accept)).await {
        Some(answer) => answer,
        None => text(StatusCode::SERVICE_UNAVAILABLE, "the metrics are off\n"),
    }
}

/// A scrape as an answer; None where metrics are off. It runs beside the loop that serves.
pub async fn scrape(format: Format) -> Option<Answer> {
    static AT_ONCE: Semaphore = Semaphore::const_new(SCRAPES);
    let exporter = current()?;
    let Ok(Ok(permit)) = timeout(SCRAPE_PATIENCE, AT_ONCE.acquire()).await else {
        return Some(text(StatusCode::SERVICE_UNAVAILABLE, "too many scrapes at once\n"));
    };
    let scraped = tokio::task::spawn_blocking(move || {
        let body = exporter.scrape(format);
        drop(permit); // also where nobody waits for it any more
        body
    });
    let scraped = scraped.await;
    Some(match scraped {
        Ok(Ok(body)) => {
            let mut answer = Response::new(Full::new(Bytes::from(body)));
            answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(format.content_type()));
            answer
        }
        _ => text(StatusCode::INTERNAL_SERVER_ERROR, "the metrics cannot be written\n"),
    })
}

fn text(status: StatusCode, body: &'static str) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from_static(body.as_bytes())));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_the_loopback_are_for_here() {
        for host in ["localhost", "LocalHost", "127.0.0.1", "127.1.2.3", "[::1]"] {
            assert!(is_loopback(host), "{host}");
        }
        for host in ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "192.0.2.1", "[::2]", "", "x"]
        {
            assert!(!is_loopback(host), "{host}");
        }
    }
}
