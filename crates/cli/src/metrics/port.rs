//! The loopback port: nothing but GET /metrics, and a line that says so.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{HeaderValue, ACCEPT, ALLOW, CONTENT_TYPE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{watch, Semaphore};
use tokio::time::timeout;

use super::Format;
use crate::api::{HEADER_BYTES, PATIENCE};
use crate::daemon;

/// Several servers, and some who look by hand.
const CONNECTIONS: usize = 16;
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
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // Who comes when there is no room is hung up on: it costs nothing, and they come again.
                let Ok(permit) = room.clone().try_acquire_owned() else { continue };
                tokio::spawn(async move {
                    let _ = timeout(LIFE, connection(stream)).await; // whoever does not read is let go
                    drop(permit);
                });
            }
            Err(error) => {
                tracing::warn!("metrics: cannot accept a connection: {error}");
                tokio::time::sleep(BREATH).await;
            }
        }
    }
}

async fn connection(stream: TcpStream) {
    let service = service_fn(|request: Request<Incoming>| async move { Ok::<_, Infallible>(answer(&request).await) });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(PATIENCE).max_buf_size(HEADER_BYTES);
    if let Err(error) = builder.serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!("metrics: a connection: {error}");
    }
}

async fn answer(request: &Request<Incoming>) -> Answer {
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
    let exporter = daemon::here()?.metrics()?;
    let scraped = tokio::task::spawn_blocking(move || exporter.scrape(format)).await;
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
