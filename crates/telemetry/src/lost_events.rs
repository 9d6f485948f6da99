//! Events that traces have lost since the host was started: what `ccctl trace` adds at its end, and the daemon exports. A file,
//! since both are processes of their own and neither needs the other; gone with the next boot, as counters of the kernel are.

use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::Path;

use nix::fcntl::{Flock, FlockArg};

use crate::error::{Error, Result};

const PATH: &str = "/run/ccctl/trace_lost_events";

/// Adds what a trace has lost.
pub fn add(events: u64) -> Result<()> {
    add_to(Path::new(PATH), events)
}

/// All that was lost; 0 where no trace has told of any.
pub fn read() -> Result<u64> {
    read_from(Path::new(PATH))
}

/// Forgets it: for `ccctl down`.
pub fn remove() {
    let _ = fs::remove_file(PATH); // mostly there is none
}

fn add_to(path: &Path, events: u64) -> Result<()> {
    let failed = || Error::io(format!("write {}", path.display()));
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed())?;
    }
    let open = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path);
    let mut file =
        Flock::lock(open.map_err(failed())?, FlockArg::LockExclusive).map_err(|(_, errno)| failed()(errno.into()))?;
    let sum = number_in(&mut file).map_err(failed())?.saturating_add(events);
    file.rewind().map_err(failed())?;
    // Longer than any number: what is there before is overwritten whole.
    write!(file, "{sum:020}").map_err(failed())
}

fn read_from(path: &Path) -> Result<u64> {
    let failed = || Error::io(format!("read {}", path.display()));
    match File::open(path) {
        Ok(file) => {
            let locked = Flock::lock(file, FlockArg::LockShared);
            let mut file = locked.map_err(|(_, errno)| failed()(errno.into()))?;
            number_in(&mut file).map_err(failed())
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(failed()(error)),
    }
}

fn number_in(file: &mut File) -> std::io::Result<u64> {
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    match text.as_str() {
        "" => Ok(0),
        text => text.parse().map_err(std::io::Error::other),
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
        assert_eq!(read_from(&path).unwrap(), 0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| (0..50).for_each(|_| add_to(&path, 3).unwrap()));
            }
        });
        assert_eq!(read_from(&path).unwrap(), 8 * 50 * 3);
        fs::write(&path, "x").unwrap();
        assert!(read_from(&path).is_err() && add_to(&path, 1).is_err(), "what is no number is not taken for one");
        fs::remove_dir_all(&folder).unwrap();
    }
}
