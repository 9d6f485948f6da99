// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the tests of rules share: sockets in cgroups, and what `ccctl why` says of them.
#![allow(dead_code)] // each benchmark uses its part

use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::time::Duration;

use ccctl_testbed::{algorithm_of, cookie_of, set_mark, set_priority, Cgroup, Namespace, Network, Unconnected};
use serde_json::Value;

use crate::support::json;

const LIMIT: Duration = Duration::from_secs(10);

/// A connection, both ends.
pub struct Pair {
    pub client: TcpStream,
    pub server: TcpStream,
}

impl Pair {
    /// Algorithms of client and server, asked from the sockets.
    pub fn algorithms(&self) -> [String; 2] {
        [algorithm_of(&self.client).unwrap(), algorithm_of(&self.server).unwrap()]
    }
}

/// A listener in a cgroup.
pub fn listen(cgroup: &Cgroup, namespace: &Namespace, address: &str) -> TcpListener {
    let bind = || TcpListener::bind((address, 0)).unwrap();
    cgroup.enter(|| namespace.enter(bind).unwrap()).unwrap()
}

/// Connects from a cgroup to a listener at this address of its namespace.
pub fn pair(cgroup: &Cgroup, network: &Network, listener: &TcpListener, address: &str) -> Pair {
    let client = client(cgroup, network, listener, address);
    Pair { client, server: listener.accept().unwrap().0 }
}

/// The same, without accepting the connection.
pub fn client(cgroup: &Cgroup, network: &Network, listener: &TcpListener, address: &str) -> TcpStream {
    marked_client(cgroup, network, listener, address, (0, 0))
}

/// The same, from a socket with this mark and priority.
pub fn marked_client(
    cgroup: &Cgroup,
    network: &Network,
    listener: &TcpListener,
    address: &str,
    (mark, priority): (u32, u32),
) -> TcpStream {
    let port = listener.local_addr().unwrap().port();
    let to = if address.contains(':') { format!("[{address}]:{port}") } else { format!("{address}:{port}") };
    let open = || {
        let socket = Unconnected::new(&to, None).unwrap();
        set_mark(&socket, mark).unwrap();
        set_priority(&socket, priority).unwrap();
        socket.connect(LIMIT).unwrap()
    };
    cgroup.enter(|| network.client.enter(open).unwrap()).unwrap()
}

/// A socket's cookie as one types it.
pub fn cookie(socket: &impl AsFd) -> String {
    cookie_of(socket).unwrap().to_string()
}

/// What `ccctl why` says of a socket.
#[track_caller]
pub fn why(socket: &impl AsFd) -> Value {
    let answer = json(&["why", "--cookie", &cookie(socket), "--json"]);
    assert_eq!(answer["explanations"].as_array().map(Vec::len), Some(1), "{answer}");
    answer["explanations"][0].clone()
}

/// The findings of `ccctl why`, in one word each.
#[track_caller]
pub fn findings(socket: &impl AsFd) -> Vec<String> {
    let found = why(socket);
    found["findings"].as_array().unwrap().iter().map(|finding| finding.as_str().unwrap().to_owned()).collect()
}

/// Sets a rule and gives its id.
#[track_caller]
pub fn assign(words: &[&str]) -> u64 {
    let answer = json(&[&["assign", "--json"], words].concat());
    answer["rule"]["id"].as_u64().unwrap()
}

/// All rules.
#[track_caller]
pub fn rules() -> Vec<Value> {
    json(&["rules", "--json"])["rules"].as_array().unwrap().clone()
}
