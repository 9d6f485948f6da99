// SPDX-License-Identifier: GPL-2.0-only
//! What these tests ask of the kernel: instances, loaded by the loader.

use std::time::Duration;

use ccctl_catalog::ParameterSet;
use ccctl_loader::{recover, remove_all, Instance, LoadRequest, Program, UnloadOptions};
use ccctl_testbed::{claim, kernel_test, RULES};

const PATIENCE: Duration = Duration::from_secs(30);

/// Runs `body` with the kernel to itself, within `limit_s` (on a busy host within three times that), and expects the host
/// to be as before afterwards.
pub fn test(what: &str, limit_s: u64, body: impl FnOnce()) {
    kernel_test(what, limit_s, |name| remove(name).map_err(|error| error.to_string()), body);
}

/// Loads an algorithm under a name of the test's own.
pub fn load(algorithm: &str, name: &str, parameters: Option<&ParameterSet>) {
    claim(name);
    let program = Program::named(algorithm).unwrap();
    let defaults = program.defaults();
    let parameters = parameters.unwrap_or(&defaults);
    let lock = recover(PATIENCE).unwrap().lock;
    ccctl_loader::load(&lock, &LoadRequest { program: &program, name, profile: "", parameters }).unwrap();
}

/// Unloads it, whoever uses it.
pub fn unload(name: &str) {
    remove(name).unwrap();
}

/// An instance, or all rules, which a killed test of the product may have left.
fn remove(name: &str) -> ccctl_loader::Result<()> {
    if name == RULES {
        return remove_all(&recover(PATIENCE)?.lock, true).map(|_| ());
    }
    let options = UnloadOptions { migrate_to: None, force: true };
    ccctl_loader::unload(&recover(PATIENCE)?.lock, &[name.to_owned()], &options).map(|_| ())
}

/// Kernel names of all instances, in order.
pub fn names() -> Vec<String> {
    let mut names = Instance::names().unwrap();
    names.sort();
    names
}
