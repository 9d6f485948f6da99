// SPDX-License-Identifier: MIT OR Apache-2.0
//! The port for Prometheus: nothing but GET /metrics and /healthz, and a line that says so.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use ccctl_core::configuration::MetricsPort;
use http_body_util::{Either, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{HeaderValue, ACCEPT, ALLOW, CONTENT_TYPE, HOST, WWW_AUTHENTICATE};
use hyper::http::uri::Authority;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{watch, Semaphore};
use tokio::time::timeout;

use super::door::Door;
use super::exposition::Text;
use super::guests::{Guests, State, Who};
use super::{current, Format, MetricsOutlets};
use crate::http::{WriteLimit, HEADER_BYTES};

/// For a header, and between two requests: who wants a scrape has its request ready.
const HEADER_PATIENCE: Duration = Duration::from_secs(2);
/// How long a peer may not read what is sent to it.
const UNREAD: Duration = Duration::from_secs(10);
/// Scrapes at once, of the port and of the unix socket. They run where the reconciler's work runs, too, and must not fill it.
const SCRAPES: usize = 2;
/// How long a scrape waits for others.
const SCRAPE_PATIENCE: Duration = Duration::from_secs(5);
/// Longest life of a connection; Prometheus makes a new one then.
const LIFE: Duration = Duration::from_secs(600);
/// Before a port that is taken is tried again.
const PAUSE: Duration = Duration::from_secs(5);
/// After a failed accept, for want of descriptors for example.
const BREATH: Duration = Duration::from_millis(100);

/// A line, or a scrape.
pub type PortBody = Either<Full<Bytes>, Text>;
type Answer = Response<PortBody>;

/// Listens where `wanted` says, and elsewhere when it changes.
pub async fn serve(mut wanted: watch::Receiver<MetricsOutlets>) {
    loop {
        let port = wanted.borrow_and_update().port.clone();
        tokio::select! {
            () = changes(&mut wanted, |outlets| outlets.port != port) => {}
            () = listen(port.clone()) => {} // tried again
        }
    }
}

/// Until what is wanted differs.
pub async fn changes(wanted: &mut watch::Receiver<MetricsOutlets>, differs: impl FnMut(&MetricsOutlets) -> bool) {
    if wanted.wait_for(differs).await.is_err() {
        std::future::pending::<()>().await; // the daemon ends
    }
}

async fn listen(port: Option<MetricsPort>) {
    let Some(port) = port else { return std::future::pending().await };
    let address = port.address;
    let door = match Door::new(&port) {
        Ok(door) => Arc::new(door),
        Err(error) => {
            tracing::error!("metrics: cannot use the certificates: {error:#}");
            return std::future::pending().await; // until the file changes
        }
    };
    let listener = match TcpListener::bind(address).await {
        Ok(listener) => listener,
        Err(error) => {
            tracing::error!("metrics: cannot listen at {address}: {error}");
            return tokio::time::sleep(PAUSE).await;
        }
    };
    tracing::info!("metrics: {}", port.url());
    let guests = Guests::default();
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                // not the address of the port, which may be that of all interfaces
                let who = stream.local_addr().map_or(Who::Unknown, |own| Who::at(peer, own));
                admit(stream, who, &guests, &door);
            }
            Err(error) => {
                tracing::warn!("metrics: cannot accept a connection: {error}");
                tokio::time::sleep(BREATH).await;
            }
        }
    }
}

/// Who comes when there is no room is hung up on: it costs nothing, and they come again.
fn admit(stream: TcpStream, who: Who, guests: &Guests, door: &Arc<Door>) {
    if !guests.make_room(who) {
        return;
    }
    let state = Arc::new(State::default());
    let (seen, door) = (state.clone(), door.clone());
    let task = tokio::spawn(async move {
        let _ = timeout(LIFE, enter(stream, seen, &door)).await; // whoever does not read is let go
    });
    guests.add(who, state, task.abort_handle());
}

/// Encrypts, where the port does, and answers.
async fn enter(stream: TcpStream, state: Arc<State>, door: &Door) {
    let Some(tls) = &door.tls else { return connection(stream, state, door).await };
    match timeout(HEADER_PATIENCE, tls.accept(stream)).await {
        Ok(Ok(stream)) => connection(stream, state, door).await,
        Ok(Err(error)) => tracing::debug!("metrics: a TLS handshake failed: {error}"),
        Err(_) => tracing::debug!("metrics: a TLS handshake took too long"),
    }
}

async fn connection<S: AsyncRead + AsyncWrite + Unpin>(stream: S, state: Arc<State>, door: &Door) {
    let service = service_fn(|request: Request<Incoming>| {
        let state = state.clone();
        async move {
            state.begin();
            let answer = answer(&request, door).await;
            state.end();
            Ok::<_, Infallible>(answer)
        }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEADER_PATIENCE).max_buf_size(HEADER_BYTES);
    let stream = TokioIo::new(WriteLimit::new(stream, UNREAD));
    if let Err(error) = builder.serve_connection(stream, service).await {
        tracing::debug!("metrics: a connection failed: {error}");
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

async fn answer(request: &Request<Incoming>, door: &Door) -> Answer {
    if !door.knows_clients && !is_for_here(request) {
        return text(StatusCode::MISDIRECTED_REQUEST, "use 127.0.0.1, [::1] or localhost\n");
    }
    if !door.lets_in(request.headers()) {
        let mut answer = text(StatusCode::UNAUTHORIZED, "the bearer token is missing or wrong\n");
        answer.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        return answer;
    }
    let path = request.uri().path();
    if !matches!(path, "/" | "/metrics" | "/healthz") {
        return text(StatusCode::NOT_FOUND, "only /metrics and /healthz exist\n");
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut answer = text(StatusCode::METHOD_NOT_ALLOWED, "only GET\n");
        answer.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return answer;
    }
    match path {
        "/" => return text(StatusCode::OK, "ccctl: GET /metrics\n"),
        "/healthz" => return health(),
        _ => {}
    }
    let accept = request.headers().get(ACCEPT).and_then(|header| header.to_str().ok());
    match scrape(Format::accepted(accept)).await {
        Some(answer) => answer,
        None => text(StatusCode::SERVICE_UNAVAILABLE, "the metrics are off\n"),
    }
}

/// Is the host as its file says, as far as the daemon knows?
pub fn health() -> Answer {
    let status = ccctl_core::daemon::here().map(ccctl_core::daemon::RunningDaemon::status);
    match status {
        Some(status) if status.error.is_none() && status.problems.is_empty() => text(StatusCode::OK, "ok\n"),
        Some(_) => text(StatusCode::SERVICE_UNAVAILABLE, "the host differs from the file: ccctl status\n"),
        None => text(StatusCode::SERVICE_UNAVAILABLE, "the daemon is starting or ending\n"),
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
        let body = exporter.scrape(format); // collects; its text is made as the client reads it
        drop(permit); // also where nobody waits for it any more
        body
    });
    let scraped = scraped.await;
    Some(match scraped {
        Ok(body) => {
            let mut answer = Response::new(Either::Right(body));
            answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(format.content_type()));
            answer
        }
        Err(_) => text(StatusCode::INTERNAL_SERVER_ERROR, "the metrics cannot be written\n"),
    })
}

fn text(status: StatusCode, body: &'static str) -> Answer {
    let mut answer = Response::new(Either::Left(Full::new(Bytes::from_static(body.as_bytes()))));
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
