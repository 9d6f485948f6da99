// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command's side: asks the daemon, if one answers.

use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use ccctl_console::{output, Exit, Fault};
use ccctl_core::daemon::{Event, SOCKET, VERSION};
use ccctl_core::Operation;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{handshake, SendRequest};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use nix::errno::Errno;
use nix::sys::socket::sockopt::SendTimeout;
use nix::sys::socket::{self, AddressFamily, SockFlag, SockType, UnixAddr};
use nix::sys::time::{TimeVal, TimeValLike as _};
use tokio::net::UnixStream;
use tokio::runtime::Runtime;
use tokio::time::timeout;

use crate::api::fault::ErrorAnswer;
use crate::api::Daemon;

/// Where to look for the daemon; empty: nowhere.
const SOCKET_VARIABLE: &str = "CCCTL_SOCKET";
/// For a daemon to say who it is.
const GREETING: Duration = Duration::from_secs(2);
/// For an answer: longer than waiting for the lock and moving the sockets of a busy host.
const ANSWER: Duration = Duration::from_secs(300);

/// Asks the daemon to do it, where one answers; otherwise does it in this process.
pub fn ask<O: Operation>(operation: &O) -> anyhow::Result<O::Answer> {
    match connect() {
        DaemonState::Daemon(mut daemon) => daemon.ask(operation),
        DaemonState::None => operation.run(),
        DaemonState::Busy(fault) => Err(fault.into()),
        DaemonState::Unusable(why) => {
            output::failure("ccctl", &format!("warning: {why}; running without the daemon"), None);
            operation.run()
        }
    }
}

/// A daemon that answers.
#[derive(Debug)]
pub struct Client {
    runtime: Runtime,
    sender: SendRequest<Full<Bytes>>,
}

/// For a place in its queue of connections, which others may have filled.
const QUEUE: Duration = Duration::from_secs(5);

/// What came of looking for the daemon.
#[derive(Debug)]
pub enum DaemonState {
    /// It answers, and is of this version.
    Daemon(Client),
    /// There is none, or it is not for us.
    None,
    /// There is one, and so many ask it that it does not come to us: what is to be done is not done past it.
    Busy(Fault),
    /// There is one that cannot be used, and why.
    Unusable(String),
}

/// The socket to look at.
fn address() -> Option<PathBuf> {
    match std::env::var_os(SOCKET_VARIABLE) {
        Some(path) if path.is_empty() => None,
        Some(path) => Some(path.into()),
        None => Some(SOCKET.into()),
    }
}

/// Looks for the daemon.
pub fn connect() -> DaemonState {
    let Some(path) = address().filter(|path| path.exists()) else { return DaemonState::None };
    match greet(&path) {
        Ok(found) => found,
        Err(error) => DaemonState::Unusable(format!("the daemon at {} is not responding: {error:#}", path.display())),
    }
}

/// Connects, and waits in the order of arrival where the daemon's queue is full. Nobody listens at what a killed daemon has
/// left: that is None, and the only errors that mean it.
fn queue(path: &Path) -> anyhow::Result<Option<std::os::unix::net::UnixStream>> {
    let socket = socket::socket(AddressFamily::Unix, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
    socket::setsockopt(&socket, SendTimeout, &TimeVal::seconds(QUEUE.as_secs().try_into()?))?;
    match socket::connect(socket.as_raw_fd(), &UnixAddr::new(path)?) {
        Ok(()) => Ok(Some(socket.into())),
        Err(Errno::ECONNREFUSED | Errno::ENOENT) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

fn busy(path: &Path, why: &str) -> DaemonState {
    let cause = format!("the daemon at {} is busy: {why}", path.display());
    let remedy = format!("try again later (its log names the clients), or set {SOCKET_VARIABLE}= to run without it");
    DaemonState::Busy(Fault::new(Exit::Locked, cause, remedy))
}

fn greet(path: &Path) -> anyhow::Result<DaemonState> {
    let stream = match queue(path) {
        Ok(Some(stream)) => stream,
        Ok(None) => return Ok(DaemonState::None),
        Err(error) if error.downcast_ref() == Some(&Errno::EAGAIN) => {
            return Ok(busy(path, &format!("it has accepted no connection for {} s", QUEUE.as_secs())));
        }
        Err(error) => return Err(error),
    };
    stream.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let stream = {
        let _inside = runtime.enter();
        UnixStream::from_std(stream)?
    };
    if stream.peer_cred()?.uid() != 0 {
        return Ok(DaemonState::Unusable(format!("{} is not owned by root and is ignored", path.display())));
    }
    let mut client = runtime
        .block_on(async {
            let (sender, connection) = handshake(TokioIo::new(stream)).await?;
            tokio::spawn(connection);
            Ok::<_, anyhow::Error>(sender)
        })
        .map(|sender| Client { runtime, sender })?;
    let (status, body) = client.send(Method::GET, "daemon", Vec::new(), GREETING)?;
    if status == StatusCode::FORBIDDEN {
        return Ok(DaemonState::None); // what this user may do needs no daemon
    }
    if status == StatusCode::SERVICE_UNAVAILABLE {
        return Ok(busy(path, "it has too many connections"));
    }
    let daemon: Daemon = serde_json::from_slice(&body).context("it is not a ccctl daemon")?;
    if daemon.version != VERSION {
        return Ok(DaemonState::Unusable(format!("the daemon is ccctl {}, but this is {VERSION}", daemon.version)));
    }
    Ok(DaemonState::Daemon(client))
}

impl Client {
    /// Asks for an operation. An error carries the cause, remedy and exit code of the daemon's.
    pub fn ask<O: Operation>(&mut self, operation: &O) -> anyhow::Result<O::Answer> {
        let body = serde_json::to_vec(operation)?;
        let (status, body) = self.send(Method::POST, O::NAME, body, ANSWER)?;
        if status == StatusCode::OK {
            return serde_json::from_slice(&body).context("the daemon's answer is invalid");
        }
        let answer: ErrorAnswer = serde_json::from_slice(&body)
            .with_context(|| format!("the daemon answers {status}: {}", String::from_utf8_lossy(&body)))?;
        Err(answer.error.into())
    }

    /// Gives each event after the one of number `since` to `tell`; with `follow` until the daemon ends the stream.
    pub fn events(
        &mut self,
        since: u64,
        follow: bool,
        tell: &mut dyn FnMut(Event) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let uri = format!("/v1/events?since={since}&follow={follow}");
        let request = Request::get(uri).header("host", "localhost").body(Full::default())?;
        let Self { runtime, sender } = self;
        runtime.block_on(async {
            let mut body = timeout(GREETING, sender.send_request(request)).await??.into_body();
            let mut rest = Vec::new();
            while let Some(Ok(frame)) = body.frame().await {
                rest.extend(frame.into_data().unwrap_or_default());
                while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                    let line: Vec<u8> = rest.drain(..=end).collect();
                    if line == b"\n" {
                        continue; // it only shows that the daemon is there
                    }
                    tell(serde_json::from_slice(&line).context("the daemon's answer is invalid")?)?;
                }
            }
            Ok(())
        })
    }

    fn send(
        &mut self,
        method: Method,
        name: &str,
        body: Vec<u8>,
        limit: Duration,
    ) -> anyhow::Result<(StatusCode, Bytes)> {
        let uri = format!("/v1/{name}");
        let request = Request::builder().method(method).uri(uri).header("host", "localhost");
        let request = request.body(Full::new(Bytes::from(body)))?;
        let Self { runtime, sender } = self;
        runtime.block_on(async {
            let exchange = async {
                let response = sender.send_request(request).await?;
                let status = response.status();
                Ok::<_, hyper::Error>((status, response.into_body().collect().await?.to_bytes()))
            };
            let answer =
                timeout(limit, exchange).await.with_context(|| format!("nothing for {} s", limit.as_secs()))?;
            answer.context("send the request to the daemon")
        })
    }
}
