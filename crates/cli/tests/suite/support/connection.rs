// SPDX-License-Identifier: MIT OR Apache-2.0
//! One connection, both ends of which the test holds.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use ccctl_testbed::{connect, Network};

const LIMIT: Duration = Duration::from_secs(30);

/// The client's end and the server's.
pub type Endpoints = (TcpStream, TcpStream);

/// Opens a connection to `address` of the server, the client's end with this algorithm.
pub fn open(network: &Network, address: &str, algorithm: &str) -> Endpoints {
    let listener = network.server.enter(|| TcpListener::bind((address, 0)).unwrap()).unwrap();
    let to = listener.local_addr().unwrap().to_string();
    let client = network.client.enter(|| connect(&to, Some(algorithm), LIMIT).unwrap()).unwrap();
    let (server, _) = listener.accept().unwrap();
    server.set_read_timeout(Some(LIMIT)).unwrap();
    (client, server)
}

/// Sends so many bytes, and waits until they have arrived.
pub fn carry((client, server): &mut Endpoints, bytes: usize) {
    std::thread::scope(|scope| {
        scope.spawn(|| client.write_all(&vec![7; bytes]).unwrap());
        server.read_exact(&mut vec![0; bytes]).unwrap();
    });
}

/// A connection that has carried `bytes` and is quiet now.
pub fn used(network: &Network, address: &str, algorithm: &str, bytes: usize) -> Endpoints {
    let mut ends = open(network, address, algorithm);
    carry(&mut ends, bytes);
    ends
}
