// SPDX-License-Identifier: GPL-2.0-only
//! Single sockets and their algorithm.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use socket2::{Domain, Protocol, SockRef, Socket, Type};

use super::{disconnect, TestbedError};

/// A socket that has an algorithm and no connection: no table of the kernel shows it.
#[derive(Debug)]
pub struct Unconnected {
    socket: Socket,
    to: SocketAddr,
}

impl Unconnected {
    /// Makes it in the namespace of this thread, to be connected to `to` (`ADDRESS:PORT`) later.
    pub fn new(to: &str, algorithm: Option<&str>) -> Result<Self, TestbedError> {
        let step = |what: &str| TestbedError::io(format!("{what} {to}"));
        let to: SocketAddr =
            to.parse().map_err(|_| TestbedError::Unexpected(format!("{to} is no address with a port")))?;
        let socket = Socket::new(Domain::for_address(to), Type::STREAM, Some(Protocol::TCP))
            .map_err(step("make a socket for"))?;
        if let Some(name) = algorithm {
            socket.set_tcp_congestion(name.as_bytes()).map_err(step(&format!("set {name} for the connection to")))?;
        }
        Ok(Unconnected { socket, to })
    }

    /// Connects it.
    pub fn connect(self, limit: Duration) -> Result<TcpStream, TestbedError> {
        let connected = self.socket.connect_timeout(&self.to.into(), limit);
        connected.map_err(TestbedError::io(format!("connect to {}", self.to)))?;
        Ok(self.socket.into())
    }
}

impl AsFd for Unconnected {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Sets the mark of a socket (`SO_MARK`), as an application does.
pub fn set_mark(socket: &impl AsFd, mark: u32) -> io::Result<()> {
    SockRef::from(socket).set_mark(mark)
}

/// Sets the priority of a socket (`SO_PRIORITY`), as an application does.
pub fn set_priority(socket: &impl AsFd, priority: u32) -> io::Result<()> {
    SockRef::from(socket).set_priority(priority)
}

/// A listener at any port of `address` that has this mark before it listens.
pub fn listen_with_mark(address: &str, mark: u32) -> Result<TcpListener, TestbedError> {
    const WAITING: i32 = 128;
    let socket = Unconnected::new(&format!("{address}:0"), None)?;
    let step = |what: &str| TestbedError::io(format!("{what} {address}"));
    set_mark(&socket, mark).map_err(step("mark the listener at"))?;
    socket.socket.bind(&socket.to.into()).map_err(step("bind to"))?;
    socket.socket.listen(WAITING).map_err(step("listen at"))?;
    Ok(socket.socket.into())
}

/// Connects to `to` (`ADDRESS:PORT`) from the namespace of this thread.
pub fn connect(to: &str, algorithm: Option<&str>, limit: Duration) -> Result<TcpStream, TestbedError> {
    Unconnected::new(to, algorithm)?.connect(limit)
}

/// Ends a connection and makes another one with the same socket.
pub fn connect_again(stream: &TcpStream, to: &str, limit: Duration) -> Result<(), TestbedError> {
    let step = |what: &str| TestbedError::io(format!("{what} {to}"));
    let address: SocketAddr =
        to.parse().map_err(|_| TestbedError::Unexpected(format!("{to} is no address with a port")))?;
    disconnect(stream).map_err(step("leave"))?;
    SockRef::from(stream).connect_timeout(&address.into(), limit).map_err(step("connect again to"))
}

/// Name of the algorithm of a socket, from the kernel.
pub fn algorithm_of(socket: &impl AsFd) -> io::Result<String> {
    let name = SockRef::from(socket).tcp_congestion()?;
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
    Ok(String::from_utf8_lossy(&name[..end]).into_owned())
}

/// Makes closing send a reset: nothing of the connection is left to wait for.
pub fn close_with_reset(stream: &TcpStream) -> io::Result<()> {
    SockRef::from(stream).set_linger(Some(Duration::ZERO))
}

/// `SO_COOKIE` of a socket: it tells it from all others as long as the host runs.
pub fn cookie_of(socket: &impl AsFd) -> io::Result<u64> {
    SockRef::from(socket).cookie()
}
