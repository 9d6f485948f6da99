// SPDX-License-Identifier: MIT OR Apache-2.0
//! Requests run on threads of their own: they block, and each enters the network namespace of who asks.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use ccctl_console::{Exit, Fault};
use tokio::sync::{oneshot, OwnedSemaphorePermit, Semaphore};
use tokio::task::AbortHandle;

use super::peer::Peer;
use super::registry::DynOperation;
use super::request::Role;
use crate::log;

/// Requests at once of root that change something: they wait for each other's lock.
const CHANGES: usize = 8;
/// Requests at once of root that change nothing: they wait neither for those nor for readers.
const ROOT_READS: usize = 8;
/// Requests at once of readers. More would only wait for the kernel, and hold memory meanwhile.
const READS: usize = 2;
/// Whoever takes longer leaves the place to others: longer than waiting for the lock and moving the sockets of a busy host.
const LONG: Duration = Duration::from_secs(60);
/// Requests of a kind that have left their places. When there are so many, further ones keep theirs.
const OVERDUE: usize = 8;

/// Runs requests.
#[derive(Debug)]
pub struct Threads {
    changes: Kind,
    root_reads: Kind,
    reads: Kind,
    long: Duration,
}

/// Requests that have slots of their own.
#[derive(Debug)]
struct Kind {
    slots: Arc<Semaphore>,
    overdue: Arc<Semaphore>,
}

/// What is to be run.
pub struct Job {
    /// The operation, for the log.
    pub name: &'static str,
    /// Who asks.
    pub peer: Arc<Peer>,
    /// What for.
    pub request: Box<dyn DynOperation>,
}

/// An answer as JSON, or what went wrong.
pub type Result = std::result::Result<Vec<u8>, anyhow::Error>;

impl Kind {
    fn new(slots: usize) -> Self {
        Self { slots: Arc::new(Semaphore::new(slots)), overdue: Arc::new(Semaphore::new(OVERDUE)) }
    }
}

impl Default for Threads {
    fn default() -> Self {
        Self { changes: Kind::new(CHANGES), root_reads: Kind::new(ROOT_READS), reads: Kind::new(READS), long: LONG }
    }
}

impl Threads {
    /// Runs a request in the peer's network namespace. It is carried out to its end also where nobody waits any more.
    pub async fn run(&self, job: Job) -> Result {
        let Job { name, peer, request } = job;
        let kind = self.kind(peer.role, request.changes());
        let label = (peer.uid, format!("{name} for {peer}"));
        let work = move || peer.enter_namespace().map_err(anyhow::Error::from).and_then(|()| request.run());
        self.on_thread(kind, label, work).await
    }

    async fn on_thread(
        &self,
        kind: &Kind,
        label: (u32, String),
        work: impl FnOnce() -> Result + Send + 'static,
    ) -> Result {
        let slot = Slot::take(kind).await?;
        slot.watch(kind.overdue.clone(), self.long, label);
        let (sender, receiver) = oneshot::channel();
        std::thread::Builder::new().name("request".to_owned()).spawn(move || {
            let answer = work();
            ccctl_core::sys::return_memory();
            drop(slot);
            let _ = sender.send(answer); // who asked may be gone
        })?;
        receiver.await.unwrap_or_else(|_| {
            let remedy = "report it, with the daemon's log";
            Err(Fault::new(Exit::Unexpected, "the request's thread panicked", remedy).into())
        })
    }

    fn kind(&self, role: Role, changes: bool) -> &Kind {
        match (role, changes) {
            (Role::Change, true) => &self.changes,
            (Role::Change, false) => &self.root_reads,
            _ => &self.reads,
        }
    }
}

/// The right to run, until the request is over or overdue.
#[derive(Debug)]
struct Slot {
    permit: Mutex<OwnedSemaphorePermit>,
    watcher: OnceLock<AbortHandle>,
}

impl Slot {
    async fn take(kind: &Kind) -> anyhow::Result<Arc<Self>> {
        let permit = Mutex::new(kind.slots.clone().acquire_owned().await?);
        Ok(Arc::new(Self { permit, watcher: OnceLock::new() }))
    }

    /// Gives the slot to others where the request takes too long.
    fn watch(self: &Arc<Self>, overdue: Arc<Semaphore>, long: Duration, (user, label): (u32, String)) {
        let slot = Arc::downgrade(self);
        let watcher = tokio::spawn(async move {
            tokio::time::sleep(long).await;
            let (Some(slot), seconds) = (slot.upgrade(), long.as_secs()) else { return };
            let left = overdue.try_acquire_owned().map(|permit| slot.replace(permit)).is_ok();
            let what = if left {
                "its slot is given to others"
            } else {
                "too many requests take this long, so it keeps its slot"
            };
            tracing::warn!(target: log::OF_USER, user, "{label} has run for {seconds} s: {what}");
        });
        let _ = self.watcher.set(watcher.abort_handle()); // it is set once
    }

    fn replace(&self, permit: OwnedSemaphorePermit) {
        *self.permit.lock().unwrap_or_else(PoisonError::into_inner) = permit;
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(watcher) = self.watcher.get() {
            watcher.abort();
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A request that ends when the sender does.
    fn start(threads: &Arc<Threads>, role: Role) -> (std::sync::mpsc::Sender<()>, tokio::task::JoinHandle<Result>) {
        let (holds, held) = std::sync::mpsc::channel();
        let threads = threads.clone();
        let work = move || {
            let _ = held.recv(); // its end is what is waited for
            Ok(Vec::new())
        };
        let run = async move { threads.on_thread(threads.kind(role, false), (0, "test".to_owned()), work).await };
        (holds, tokio::spawn(run))
    }

    async fn ends(threads: &Arc<Threads>, role: Role) -> bool {
        let (holds, running) = start(threads, role);
        drop(holds);
        tokio::time::timeout(Duration::from_secs(1), running).await.is_ok()
    }

    #[test]
    fn attack_requests_that_never_end_hold_up_neither_root_nor_for_ever_other_readers() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let threads = Arc::new(Threads { long: Duration::from_millis(1500), ..Threads::default() });
            let held: Vec<_> = (0..READS).map(|_| start(&threads, Role::Read)).collect();
            tokio::time::sleep(Duration::from_millis(100)).await;
            assert!(ends(&threads, Role::Change).await, "root has slots of its own");
            assert!(!ends(&threads, Role::Read).await, "all slots of readers are taken");
            tokio::time::sleep(Duration::from_millis(1500)).await;
            assert!(ends(&threads, Role::Read).await, "those that take too long have left theirs");
            drop(held);
        });
    }
}
