// SPDX-License-Identifier: MIT OR Apache-2.0
//! Connections that always have something to send, and whose every byte is checked where it arrives.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use ccctl_testbed::{connect, Cgroup, Namespace};

/// A prime: what is lost or comes twice does not fit.
const PERIOD: u64 = 251;

/// Connections from a cgroup.
pub struct Verified {
    stop: Arc<AtomicBool>,
    bytes: Arc<AtomicU64>,
    /// The sending ends.
    pub senders: Vec<TcpStream>,
    pump: Option<JoinHandle<Result<(), String>>>,
}

struct Connection {
    sender: TcpStream,
    receiver: TcpStream,
    sent: u64,
    received: u64,
}

impl Connection {
    /// A full buffer waits for the next round.
    fn carry(&mut self, buffer: &mut [u8]) -> Result<(), String> {
        let pattern: Vec<u8> = (0..16_384).map(|offset| ((self.sent + offset) % PERIOD) as u8).collect();
        match self.sender.write(&pattern) {
            Ok(bytes) => self.sent += bytes as u64,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(format!("send: {error}")),
        }
        loop {
            match self.receiver.read(buffer) {
                Ok(0) => return Err("the connection has ended".to_owned()),
                Ok(bytes) => self.check(&buffer[..bytes])?,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(format!("receive: {error}")),
            }
        }
    }

    fn check(&mut self, bytes: &[u8]) -> Result<(), String> {
        for byte in bytes {
            if u64::from(*byte) != self.received % PERIOD {
                return Err(format!("byte {} is {byte}", self.received));
            }
            self.received += 1;
        }
        Ok(())
    }
}

impl Verified {
    /// So many connections from a cgroup of `from` to an address of `to`.
    pub fn start(cgroup: &Cgroup, from: &Namespace, (to, address): (&Namespace, &str), count: usize) -> Self {
        let listener = to.enter(|| TcpListener::bind((address, 0)).unwrap()).unwrap();
        let port = listener.local_addr().unwrap().port();
        let open =
            || from.enter(|| connect(&format!("{address}:{port}"), None, Duration::from_secs(10)).unwrap()).unwrap();
        let mut connections = Vec::new();
        let mut senders = Vec::new();
        for _ in 0..count {
            let sender = cgroup.enter(open).unwrap();
            let receiver = listener.accept().unwrap().0;
            senders.push(sender.try_clone().unwrap());
            sender.set_nonblocking(true).unwrap();
            receiver.set_nonblocking(true).unwrap();
            connections.push(Connection { sender, receiver, sent: 0, received: 0 });
        }
        let (stop, bytes) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (stopped, carried) = (stop.clone(), bytes.clone());
        let pump = std::thread::spawn(move || {
            let mut buffer = vec![0; 1 << 16];
            while !stopped.load(Ordering::Relaxed) {
                for connection in &mut connections {
                    connection.carry(&mut buffer)?;
                }
                let received = connections.iter().map(|connection| connection.received).sum();
                carried.store(received, Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(5));
            }
            Ok(())
        });
        Self { stop, bytes, senders, pump: Some(pump) }
    }

    /// Bytes that have arrived.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Ends them; every byte so far was the right one.
    #[track_caller]
    pub fn end(mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.pump.take().unwrap().join().unwrap().unwrap();
    }
}

impl Drop for Verified {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.pump.take().map(JoinHandle::join); // a test that fails has said why
    }
}
