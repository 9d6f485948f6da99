// SPDX-License-Identifier: GPL-2.0-only
//! The running kernel as a backend: the lab's emulated path, with algorithms that the loader loads.

mod instances;
mod owner;
mod privileges;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use ccctl_catalog::kernel::CC_CWND_MAX_PKTS;
use ccctl_console::{cause, Ending};
use ccctl_lab::backend::{Backend, BackendError, Netns, Outcome, PathKind, Watch, WINDOWS_CHECKED};
use ccctl_lab::experiment::point_spec::Link;
use ccctl_lab::experiment::PointSpec;
use ccctl_path::{Bounds, Waiting};
use ccctl_runfiles::Error::Held;
use ccctl_runfiles::Holder;
use ccctl_testbed::{TestbedError, Turn};
use humantime::format_duration;
use nix::sys::utsname::uname;

use crate::exit::of_library;
pub use instances::remove_leftovers;
use instances::Instances;
pub use privileges::require;

/// Up to this rate a router that sleeps between packets is early enough; a busy one takes a processor.
const SLEEPING_BITS_PER_S: u64 = 50_000_000;
/// Between two tries to get the machine; others try as often.
const TRY: Duration = Duration::from_millis(50);
/// Waiting for so long is told.
const LONG: Duration = Duration::from_secs(1);
/// Campaigns take hours; nothing waits for ever.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// Instances and namespaces of a run are there while it lasts, and the machine is others' between runs.
pub struct Kernel {
    late: Option<Duration>,
    path: PathKind,
    is_shared: bool,
    turn: Mutex<Weak<Turn>>, // of all runs at once
}

impl Kernel {
    /// What is later than `late` is late; without it each path says by itself. `is_shared`: by several runs at once.
    pub fn new(late: Option<Duration>, path: PathKind, is_shared: bool) -> Self {
        Self { late, path, is_shared, turn: Mutex::new(Weak::new()) }
    }

    /// A router that wakes up for many paths is late at each.
    fn waiting(&self, setup: &PointSpec) -> Waiting {
        if self.is_shared || fastest(setup) > SLEEPING_BITS_PER_S {
            Waiting::Busy
        } else {
            Waiting::Sleep
        }
    }

    /// The machine, for another run.
    fn turn(&self, watch: &Watch<'_>) -> Result<Arc<Turn>, BackendError> {
        let mut turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(taken) = turn.upgrade() {
            return Ok(taken);
        }
        let taken = Arc::new(wait_for_turn(watch)?);
        remove_leftovers().map_err(|error| failed(&error))?;
        *turn = Arc::downgrade(&taken);
        Ok(taken)
    }

    fn path(&self, waiting: Waiting) -> Netns<'static> {
        Netns { algorithms: &Instances, path: self.path, waiting, bounds: self.late.map(Bounds::widened_to) }
    }
}

impl Backend for Kernel {
    fn name(&self) -> &'static str {
        self.path(Waiting::Sleep).name()
    }

    fn is_deterministic(&self) -> bool {
        false
    }

    fn host(&self) -> Option<String> {
        uname().ok().map(|name| format!("Linux {}", version_of(&name.release().to_string_lossy())))
    }

    fn settings(&self) -> BTreeMap<String, String> {
        let mut settings = match self.path {
            PathKind::Emulator => {
                setting("late", &self.late.map_or_else(by_path, |late| format_duration(late).to_string()))
            }
            PathKind::Netem => setting("path", "netem"), // which nothing measures
        };
        // Runs of before that were looked at for this in their samples only.
        settings.extend(setting(WINDOWS_CHECKED, &format!("at most {CC_CWND_MAX_PKTS} packets, at each look")));
        settings
    }

    fn usual_jobs(&self) -> usize {
        self.path(Waiting::Sleep).usual_jobs()
    }

    fn check(&self, setup: &PointSpec) -> Result<(), BackendError> {
        self.path(Waiting::Sleep).check(setup)
    }

    fn run(&self, setup: &PointSpec, seed: u64, watch: &Watch<'_>) -> Result<Outcome, BackendError> {
        let _turn = self.turn(watch)?;
        let result = self.path(self.waiting(setup)).run(setup, seed, watch);
        // Ctrl-C reaches programs that it has started, too: what they say then is no failure.
        watch.pass(0.0).and(result)
    }
}

/// What a release is a build of: 6.18.44 of "6.18.44-3-amd64".
fn version_of(release: &str) -> &str {
    let is_other = |letter: char| letter != '.' && !letter.is_ascii_digit();
    release.split(is_other).next().unwrap_or_default().trim_end_matches('.')
}

fn by_path() -> String {
    "auto".to_owned()
}

fn setting(name: &str, value: &str) -> BTreeMap<String, String> {
    BTreeMap::from([(name.to_owned(), value.to_owned())])
}

/// Of the links, in bit/s.
fn fastest(setup: &PointSpec) -> u64 {
    setup.links.iter().map(Link::bits_per_s).max().unwrap_or_default()
}

/// Until no other run, and no test of the kernel, has the machine.
fn wait_for_turn(watch: &Watch<'_>) -> Result<Turn, BackendError> {
    let (since, mut is_told) = (Instant::now(), false);
    loop {
        // Whoever waits already has its chance first.
        thread::sleep(TRY);
        watch.pass(0.0)?;
        let holder = match Turn::take() {
            Err(TestbedError::Lock(Held { holder, .. })) if since.elapsed() < LONGEST => holder,
            other => return Ok(other?),
        };
        if !is_told && since.elapsed() > LONG {
            is_told = true;
            let holder = Holder::describe(holder.as_ref());
            // With stderr closed there is nobody to tell.
            let _ = writeln!(std::io::stderr(), "ccctl-lab: waiting for another run or test on the kernel: {holder}");
        }
    }
}

/// The lab says what to do behind a semicolon.
fn failed(error: &anyhow::Error) -> BackendError {
    let remedy = Ending::of(error, of_library).remedy.map_or_else(String::new, |remedy| format!("; {remedy}"));
    BackendError::Failed(cause(error) + &remedy)
}

#[cfg(test)]
mod tests {
    use super::version_of;

    #[test]
    fn builds_of_one_version_are_one_kernel() {
        let releases = ["6.18.44", "6.18.44-3-amd64", "6.18.44+deb13-cloud-arm64", "6.18.44.local"];
        assert_eq!(releases.map(version_of), ["6.18.44"; 4]);
        assert_eq!(version_of("6.18-rc3"), "6.18");
    }
}
