// SPDX-License-Identifier: GPL-2.0-only
//! Takes what senders send, and tells each of them what arrived.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use socket2::SockRef;

use super::{Namespace, TestbedError};

/// Longest silence on a connection that is still taken for traffic.
pub(super) const SILENCE: Duration = Duration::from_secs(30);
const BUFFER_BYTES: usize = 128 * 1024;

/// A server that reads each connection to its end and answers with count and SHA-256 of what it read.
#[derive(Debug)]
pub struct Receiver {
    address: SocketAddr,
    listener: TcpListener,
    accepting: Option<JoinHandle<()>>,
    failures: Arc<Mutex<Vec<String>>>,
}

impl Receiver {
    /// Listens in `namespace` on `address`; port 0 takes a free one. `[::]` serves IPv4 as well.
    pub fn start(namespace: &Namespace, address: &str) -> Result<Self, TestbedError> {
        let listener = namespace
            .enter(|| TcpListener::bind((address, 0)).map_err(TestbedError::io(format!("listen on {address}"))))??;
        let address = listener.local_addr().map_err(TestbedError::io("ask for the listener's port"))?;
        let failures = Arc::new(Mutex::new(Vec::new()));
        let (own, noted) = (listener.try_clone().map_err(TestbedError::io("copy a listener"))?, failures.clone());
        let accepting = thread::spawn(move || accept(&own, &noted));
        Ok(Receiver { address, listener, accepting: Some(accepting), failures })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where it listens, at the address of a namespace that `[::]` does not tell.
    #[must_use]
    pub fn at(&self, address: &str) -> String {
        if address.contains(':') {
            format!("[{address}]:{}", self.address.port())
        } else {
            format!("{address}:{}", self.address.port())
        }
    }

    /// Sets the algorithm of the listening socket, which its next connections inherit.
    pub fn set_algorithm(&self, name: &str) -> Result<(), TestbedError> {
        SockRef::from(&self.listener)
            .set_tcp_congestion(name.as_bytes())
            .map_err(TestbedError::io(format!("set {name} on a listener")))
    }

    /// What went wrong on the receiving side so far.
    #[must_use]
    pub fn failures(&self) -> Vec<String> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let _ = SockRef::from(&self.listener).shutdown(Shutdown::Both); // wakes accept; it may have ended by itself
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join(); // its failures are in the list
        }
    }
}

fn accept(listener: &TcpListener, failures: &Arc<Mutex<Vec<String>>>) {
    while let Ok((stream, peer)) = listener.accept() {
        let failures = failures.clone();
        thread::spawn(move || {
            if let Err(error) = serve(stream) {
                failures.lock().unwrap_or_else(PoisonError::into_inner).push(format!("{peer}: {error}"));
            }
        });
    }
}

fn serve(mut stream: TcpStream) -> io::Result<()> {
    stream.set_read_timeout(Some(SILENCE))?;
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut hash = Sha256::new();
    let mut bytes = 0u64;
    loop {
        let read = stream.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        hash.update(&buffer[..read]);
        bytes += read as u64;
    }
    stream.write_all(&bytes.to_le_bytes())?;
    stream.write_all(&hash.finalize())
}
