// SPDX-License-Identifier: GPL-2.0-only
//! The thread that runs the routers of all paths of this process: paths at once take turns on one processor.
//!
//! It lives as long as there is a router. While one of them is busy, or any has work, all are asked in turn; otherwise it
//! sleeps until a packet comes or is due at any of them.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{sync_channel, Receiver, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{ppoll, PollFd};
use nix::sys::time::TimeSpec;

use super::router::{Router, RouterReport};
use super::tun::TunWire;
use super::Affinity;
use ccctl_testbed::TestbedError;

/// Shortest nap of the kernel's timers for the routers.
const TIMER_SLACK_NS: u64 = 1;
/// The kernel lets a sleep last a thousandth longer than asked: 10 us at most.
const LONGEST_SLEEP: Duration = Duration::from_millis(10);

static DOOR: Mutex<Door> = Mutex::new(Door { newcomers: Vec::new(), is_running: false });
static IS_ANYBODY_THERE: AtomicBool = AtomicBool::new(false);

/// Where routers come in.
struct Door {
    newcomers: Vec<Member>,
    is_running: bool,
}

/// A router among those of the thread.
struct Member {
    router: Router<TunWire>,
    stop: Arc<AtomicBool>,
    failure: Option<String>,
    end: SyncSender<Ended>,
}

/// A router that has ended, and why it did so before it was told to. Whoever had it started takes it back: to close its devices takes tens of
/// milliseconds, in which the thread would do nothing for other paths.
type Ended = (Router<TunWire>, Option<String>);

/// A router at work. Dropped, it stops and leaves no report.
#[derive(Debug)]
pub(super) struct RunningRouter {
    stop: Arc<AtomicBool>,
    end: Mutex<Receiver<Ended>>, // for paths that threads share
}

impl RunningRouter {
    /// Gives a router to the thread, which is started if it is the first one.
    pub(super) fn start(router: Router<TunWire>, affinity: &Affinity) -> Result<Self, TestbedError> {
        let stop = Arc::new(AtomicBool::new(false));
        let (sender, end) = sync_channel(1);
        let mut door = door();
        if !door.is_running {
            start_thread(affinity.clone())?;
            door.is_running = true;
        }
        door.newcomers.push(Member { router, stop: stop.clone(), failure: None, end: sender });
        IS_ANYBODY_THERE.store(true, Ordering::Release);
        Ok(Self { stop, end: Mutex::new(end) })
    }

    /// Ends it.
    pub(super) fn stop(mut self) -> Result<RouterReport, TestbedError> {
        self.stop.store(true, Ordering::Relaxed);
        let end = self.end.get_mut().unwrap_or_else(PoisonError::into_inner);
        let (router, failure) = end.recv().map_err(|_| TestbedError::Unexpected("the router is gone".to_owned()))?;
        Ok(router.report(failure))
    }
}

impl Drop for RunningRouter {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn door() -> MutexGuard<'static, Door> {
    DOOR.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns when it has the place of a router.
fn start_thread(affinity: Affinity) -> Result<(), TestbedError> {
    let (sender, ready) = sync_channel(1);
    thread::spawn(move || {
        let result = take_place(&affinity);
        let is_ready = result.is_ok();
        // The other side waits for this, whatever it is.
        let _ = sender.send(result);
        if is_ready {
            let _end = End;
            serve();
        }
    });
    ready.recv().map_err(|_| TestbedError::Unexpected("the router did not start".to_owned()))?
}

fn take_place(affinity: &Affinity) -> Result<(), TestbedError> {
    affinity.become_router()?;
    nix::sys::prctl::set_timerslack(TIMER_SLACK_NS).map_err(TestbedError::errno("ask for exact timers"))
}

/// A thread that panics turns those away that wait at the door, and leaves the place to another.
struct End;

impl Drop for End {
    fn drop(&mut self) {
        if thread::panicking() {
            let mut door = door();
            door.newcomers.clear();
            door.is_running = false;
        }
    }
}

fn serve() {
    let mut members = Vec::new();
    loop {
        if members.is_empty() || IS_ANYBODY_THERE.swap(false, Ordering::Acquire) {
            let mut door = door();
            members.append(&mut door.newcomers);
            if members.is_empty() {
                door.is_running = false;
                return;
            }
        }
        pass(&mut members);
        if members.iter().any(Member::is_done) {
            let (done, others) = members.into_iter().partition(Member::is_done);
            members = others;
            Vec::into_iter(done).for_each(Member::end);
        }
    }
}

/// A turn for each.
fn pass(members: &mut [Member]) {
    let began = Instant::now();
    let mut has_worked = false;
    for member in &mut *members {
        has_worked |= member.turn();
    }
    if has_worked {
        return;
    }
    if !members.iter().any(|member| member.router.is_busy()) {
        if let Err(error) = sleep(members) {
            for member in &mut *members {
                member.fail(&error);
            }
        }
    }
    let idle = began.elapsed();
    for member in members {
        member.router.note_idle(idle);
    }
}

/// Until a packet comes or is due.
fn sleep(members: &mut [Member]) -> io::Result<()> {
    let longest = members.iter_mut().filter_map(|member| member.router.until_due()).fold(LONGEST_SLEEP, Duration::min);
    let mut fds: Vec<PollFd> = members.iter().flat_map(|member| member.router.fds()).collect();
    match ppoll(&mut fds, Some(TimeSpec::from_duration(longest)), None) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

impl Member {
    /// Whether there was work.
    fn turn(&mut self) -> bool {
        match self.router.turn() {
            Ok(has_worked) => has_worked,
            Err(error) => {
                self.fail(&error);
                true
            }
        }
    }

    fn fail(&mut self, error: &io::Error) {
        self.failure = Some(format!("the router stopped: {error}"));
    }

    fn is_done(&self) -> bool {
        self.failure.is_some() || self.stop.load(Ordering::Relaxed)
    }

    fn end(self) {
        // Nobody waits for it where the path was dropped.
        let _ = self.end.send((self.router, self.failure));
    }
}
