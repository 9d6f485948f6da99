// SPDX-License-Identifier: GPL-2.0-only
//! Open connections that carry nothing until asked.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::Duration;

use nix::sys::resource::{getrlimit, setrlimit, Resource};

use super::socket::{algorithm_of, connect};
use super::{Network, TestbedError};

const SILENCE: Duration = Duration::from_secs(10);
/// Files that a test process opens besides its connections.
const OTHER_FILES: u64 = 1000;

/// Idle connections from the client to the server of a network, both ends held here.
#[derive(Debug)]
pub struct Connections {
    pairs: Vec<(TcpStream, TcpStream)>,
}

impl Connections {
    /// Opens `count` connections to `address` of the server, the client's ends with `algorithm`.
    pub fn open(network: &Network, address: &str, algorithm: Option<&str>, count: usize) -> Result<Self, TestbedError> {
        allow_files(2 * count as u64 + OTHER_FILES)?;
        let listener = network
            .server
            .enter(|| TcpListener::bind((address, 0)).map_err(TestbedError::io(format!("listen on {address}"))))??;
        let to = listener.local_addr().map_err(TestbedError::io("ask for the listener's port"))?.to_string();
        let pairs: Result<Vec<_>, _> =
            network.client.enter(|| (0..count).map(|_| pair(&listener, &to, algorithm)).collect())?;
        Ok(Connections { pairs: pairs? })
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.pairs.len()
    }

    /// How many client ends use which algorithm, asked from the sockets themselves.
    pub fn algorithms(&self) -> Result<BTreeMap<String, usize>, TestbedError> {
        let mut counts = BTreeMap::new();
        for (client, _) in &self.pairs {
            let name = algorithm_of(client).map_err(TestbedError::io("ask for a socket's algorithm"))?;
            *counts.entry(name).or_default() += 1;
        }
        Ok(counts)
    }

    /// Closes the sending side of the client's ends: they wait in FIN-WAIT-2, the server's in CLOSE-WAIT.
    pub fn close_client_side(&mut self) -> Result<(), TestbedError> {
        for (client, _) in &self.pairs {
            client.shutdown(Shutdown::Write).map_err(TestbedError::io("close one side of a connection"))?;
        }
        Ok(())
    }

    /// Sends a few bytes each way on every connection and expects them to arrive.
    pub fn check(&mut self) -> Result<(), TestbedError> {
        let all = self.pairs.len();
        let mut failures = Vec::new();
        for (index, (client, server)) in self.pairs.iter_mut().enumerate() {
            if let Err(cause) = exchange(client, server, index as u64) {
                failures.push(TestbedError::Io { step: format!("use idle connection {index}"), cause });
            }
        }
        let failed = failures.len();
        match failures.into_iter().next() {
            None => Ok(()),
            Some(first) => Err(TestbedError::Flows { failed, all, first: Box::new(first) }),
        }
    }
}

fn pair(listener: &TcpListener, to: &str, algorithm: Option<&str>) -> Result<(TcpStream, TcpStream), TestbedError> {
    let client = connect(to, algorithm, SILENCE)?;
    let (server, _) = listener.accept().map_err(TestbedError::io("accept a connection"))?;
    Ok((client, server))
}

fn exchange(client: &mut TcpStream, server: &mut TcpStream, token: u64) -> io::Result<()> {
    pass(client, server, token)?;
    pass(server, client, !token)
}

fn pass(from: &mut TcpStream, to: &mut TcpStream, token: u64) -> io::Result<()> {
    let mut arrived = [0; 8];
    to.set_read_timeout(Some(SILENCE))?;
    from.write_all(&token.to_le_bytes())?;
    to.read_exact(&mut arrived)?;
    if arrived == token.to_le_bytes() {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::InvalidData, "other bytes than those sent arrived"))
}

/// Raises the limit of open files where it is too low.
fn allow_files(files: u64) -> Result<(), TestbedError> {
    let step = || TestbedError::errno(format!("allow {files} open files"));
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).map_err(step())?;
    if soft >= files {
        return Ok(());
    }
    setrlimit(Resource::RLIMIT_NOFILE, files, hard.max(files)).map_err(step())
}
