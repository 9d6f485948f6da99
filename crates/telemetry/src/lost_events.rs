// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events that traces have lost since the host was started: what `ccctl trace` adds at its end, and the daemon exports. A file,
//! since both are processes of their own and neither needs the other; gone with the next boot, as counters of the kernel are.

use std::path::Path;
use std::time::Duration;

use ccctl_runfiles::Lock;

use crate::error::{Error, Result};

const PATH: &str = "/run/ccctl/trace_lost_events";
/// Adding takes no longer than reading and writing a line.
const PATIENCE: Duration = Duration::from_secs(2);

/// Adds what a trace has lost.
pub fn add(events: u64) -> Result<()> {
    ccctl_runfiles::make_folder()?;
    add_to(Path::new(PATH), events)
}

/// All that was lost; 0 where no trace has told of any.
pub fn read() -> Result<u64> {
    read_from(Path::new(PATH))
}

/// Forgets it: for `ccctl down`.
pub fn remove() {
    let _ = ccctl_runfiles::remove(Path::new(PATH)); // mostly there is none
}

/// Those who add take turns; a new file is put in the place of the old one, so that readers need no turn.
fn add_to(path: &Path, events: u64) -> Result<()> {
    let _turn = Lock::take(path, PATIENCE)?;
    let sum = read_from(path)?.saturating_add(events);
    Ok(ccctl_runfiles::write(path, format!("{sum:020}").as_bytes())?)
}

fn read_from(path: &Path) -> Result<u64> {
    match ccctl_runfiles::read(path)?.as_deref() {
        None | Some("") => Ok(0),
        Some(text) => {
            text.parse().map_err(std::io::Error::other).map_err(Error::io(format!("read {}", path.display())))
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_several_lose_is_added_up() {
        let folder = std::env::temp_dir().join(format!("ccctl-lost-{}", std::process::id()));
        let path = folder.join("lost");
        std::fs::create_dir_all(&folder).unwrap();
        assert_eq!(read_from(&path).unwrap(), 0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| (0..50).for_each(|_| add_to(&path, 3).unwrap()));
            }
        });
        assert_eq!(read_from(&path).unwrap(), 8 * 50 * 3);
        std::fs::write(&path, "x").unwrap();
        assert!(read_from(&path).is_err() && add_to(&path, 1).is_err(), "what is no number is not taken for one");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
