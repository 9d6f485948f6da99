// SPDX-License-Identifier: GPL-2.0-only
//! Tests that change what the whole machine shares, and the names that each loads: those are its own to remove, no others are.
//!
//! Others on the machine may use ccctl meanwhile: a test unloads only names that it has claimed itself, or that a killed test
//! has noted in the lock file, and stops before a command that would touch any other.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::{assert_same, mount_bpffs, within, Exclusive, HostState, Namespace};

/// The default of the host's network namespace.
const DEFAULT: &str = "/proc/sys/net/ipv4/tcp_congestion_control";
/// All rules, among the names that tests claim; no instance can have this name.
pub const RULES: &str = "(rules)";
/// There while there are rules.
pub const RULES_PIN: &str = "/sys/fs/bpf/ccctl/rules";
const INSTANCE_PINS: &str = "/sys/fs/bpf/ccctl/instances";

/// Unloads an instance, whoever uses it, or takes out all rules ([`RULES`]); says why it could not.
pub type Remove = fn(name: &str) -> Result<(), String>;

/// Runs `body` with the kernel to itself, within `limit_s` (on a busy host within three times that), and expects the host
/// to be as before afterwards.
///
/// # Panics
/// If it is not, if the time is over, or if something on the host is not this test's.
pub fn kernel_test(what: &str, limit_s: u64, remove: Remove, body: impl FnOnce()) {
    let exclusive = Exclusive::acquire().unwrap_or_else(|error| panic!("{error}"));
    mount_bpffs().unwrap_or_else(|error| panic!("{error}"));
    Namespace::remove_abandoned();
    within(Duration::from_secs(3 * limit_s), what, || {
        OWN.lock().unwrap_or_else(PoisonError::into_inner).clear();
        remove_own(exclusive.left_behind(), remove);
        require_no_others("start a test");
        let before = HostState::read().unwrap_or_else(|error| panic!("{error}"));
        let default = fs::read_to_string(DEFAULT).unwrap_or_else(|error| panic!("{DEFAULT}: {error}"));
        let leftovers = Leftovers { default, remove };
        body();
        std::mem::forget(leftovers);
        assert_same(&before);
    });
}

/// Names that this test has claimed.
static OWN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

fn own() -> Vec<String> {
    OWN.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
}

/// Names of all instances, and [`RULES`], from their pins: for safety checks, which must not rest on what is under test.
fn pinned() -> Vec<String> {
    let pins = fs::read_dir(INSTANCE_PINS).into_iter().flatten().flatten();
    let names = pins.map(|pin| pin.file_name().to_string_lossy().into_owned());
    names.chain(Path::new(RULES_PIN).exists().then(|| RULES.to_owned())).collect()
}

/// Stops before something that would touch instances of others.
///
/// # Panics
/// If there are some.
#[track_caller]
pub fn require_no_others(what: &str) {
    let own = own();
    let others: Vec<_> = pinned().into_iter().filter(|name| !own.contains(name)).collect();
    assert!(
        others.is_empty(),
        "cannot {what}: {others:?} on this host are not this test's, and it will not touch them"
    );
}

/// Notes that an instance of this name will be the test's, or that all rules will be ([`RULES`]).
///
/// # Panics
/// If there is one that is not the test's.
#[track_caller]
pub fn claim(name: &str) {
    if own().iter().any(|known| known == name) {
        return;
    }
    assert!(!pinned().iter().any(|known| known == name), "{name} on this host is not this test's");
    OWN.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned());
    Exclusive::note(name).unwrap_or_else(|error| panic!("{error}"));
}

/// Takes out those of `names` that are loaded.
fn remove_own(names: &[String], remove: Remove) {
    for name in pinned().iter().filter(|name| names.contains(name)) {
        if let Err(error) = remove(name) {
            eprintln!("{name} is left: {error}");
        }
    }
}

/// Takes out what a failing test has loaded, and restores the default.
struct Leftovers {
    default: String,
    remove: Remove,
}

impl Drop for Leftovers {
    fn drop(&mut self) {
        remove_own(&own(), self.remove);
        if fs::read_to_string(DEFAULT).is_ok_and(|now| now == self.default) {
            return;
        }
        eprintln!("after a failed test: the default becomes {} again", self.default.trim());
        if let Err(error) = fs::write(DEFAULT, &self.default) {
            eprintln!("{DEFAULT}: {error}");
        }
    }
}
