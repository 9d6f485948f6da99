//! Requests run on threads of their own: they block, and each enters the network namespace of who asks.

use std::sync::Arc;

use tokio::sync::{oneshot, Semaphore};

use super::fault::Fault;
use super::peer::Peer;
use super::registry::Asked;
use crate::exit::Exit;

/// More at once would only wait for the kernel, and hold memory meanwhile.
const AT_ONCE: usize = 8;

/// Runs requests.
#[derive(Debug)]
pub struct Threads(Semaphore);

/// An answer as JSON, or what went wrong.
pub type Result = std::result::Result<Vec<u8>, anyhow::Error>;

impl Default for Threads {
    fn default() -> Self {
        Self(Semaphore::new(AT_ONCE))
    }
}

impl Threads {
    /// Runs a request in the peer's network namespace. It is carried out to its end also where nobody waits any more.
    pub async fn run(self: &Arc<Self>, peer: Arc<Peer>, request: Box<dyn Asked>) -> Result {
        let _permit = self.0.acquire().await?;
        let (sender, receiver) = oneshot::channel();
        std::thread::Builder::new().name("request".to_owned()).spawn(move || {
            let answer = peer.enter_namespace().map_err(anyhow::Error::from).and_then(|()| request.run());
            crate::sys::return_memory();
            let _ = sender.send(answer); // who asked may be gone
        })?;
        receiver.await.unwrap_or_else(|_| {
            let remedy = "report it, with the daemon's log";
            Err(Fault::new(Exit::Unexpected, "the request's thread panicked", remedy).into())
        })
    }
}
