// SPDX-License-Identifier: GPL-2.0-only
//! Time limits for code that cannot be interrupted.

use std::fmt::Display;
use std::sync::mpsc::{channel, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// Runs `work`; if it takes longer than `limit`, says so and aborts the process.
///
/// A thread that hangs inside a wedged kernel can neither be unwound nor joined, so nothing milder ends the test.
pub fn within<T>(limit: Duration, what: &str, work: impl FnOnce() -> T) -> T {
    let (done, watched) = channel::<()>();
    let name = what.to_owned();
    let watchdog = thread::spawn(move || {
        if watched.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
            eprintln!("{name}: not done after {limit:?}; aborting. Look at `dmesg`: the kernel may be wedged.");
            std::process::abort();
        }
    });
    let result = work();
    drop(done);
    let _ = watchdog.join(); // it has nothing to say once the work is done
    result
}

/// Asks again every 20 ms until `ask` gives a value; after `limit` gives what it complained of last.
pub fn eventually<T, E: Display>(limit: Duration, mut ask: impl FnMut() -> Result<T, E>) -> Result<T, String> {
    let deadline = Instant::now() + limit;
    loop {
        match ask() {
            Ok(value) => return Ok(value),
            Err(error) if Instant::now() >= deadline => return Err(format!("still after {limit:?}: {error}")),
            Err(_) => thread::sleep(Duration::from_millis(20)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_in_time_is_given_back() {
        assert_eq!(within(Duration::from_secs(5), "adding", || 1 + 1), 2);
    }

    #[test]
    fn eventually_gives_the_last_complaint() {
        let mut asked = 0;
        let answer = eventually(Duration::from_millis(50), || -> Result<(), String> {
            asked += 1;
            Err(format!("no {asked}"))
        });
        assert_eq!(answer, Err(format!("still after 50ms: no {asked}")));
    }
}
