// SPDX-License-Identifier: GPL-2.0-only
//! What the tests of `ccctl-lab` share: the built program, a folder, a small scenario.
#![allow(dead_code)] // each test program uses its part

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// Path of the program under test.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_ccctl-lab");

/// Two algorithms, two buffers, three repeats: twelve runs of about a quarter of a million packets.
pub const SMALL: &str = r#"title = "small & <simple>"
[[link]]
name = "l"
rate = "100 Mbit/s"
delay = "5 ms"
queue = { kind = "droptail", size = "20 % BDP" }
[[flows]]
name = "a"
algorithm = "cubic"
path = ["l"]
access_delay = "5 ms"
start_spread = "50 ms"
[[flows]]
name = "b"
algorithm = "reno"
path = ["l"]
access_delay = "5 ms"
start_spread = "50 ms"
[run]
duration = "30 s"
warm_up = "5 s"
repeats = 3
[[sweep]]
name = "algorithm"
values = ["cubic", "scalable"]
set = ["flows.a.algorithm"]
[[sweep]]
name = "buffer"
values = ["20 % BDP", "100 % BDP"]
set = ["link.l.queue.size"]
[measures]
wanted = ["asymmetry:a/b", "goodput:a", "utilisation"]
[[paper]]
measure = "goodput:a"
at = { algorithm = "cubic", buffer = "20 % BDP" }
value = 50
unit = "Mbit/s"
where = "nowhere"
[[statement]]
id = "T-1"
text = "the link is used"
where = "nowhere"
check = [{ measure = "utilisation", is = ">", value = 10 }]
[[statement]]
id = "T-2"
text = "nothing gets through"
where = "nowhere"
check = [{ measure = "goodput", is = "<", value = 1 }]
"#;

/// Two flows for three seconds over a path that any machine can emulate: 10 Mbit/s and 20 ms, 16 packets of 1500 bytes are a BDP.
pub const DUMBBELL: &str = r#"title = "two flows"
[[link]]
name = "l"
rate = "10 Mbit/s"
delay = "5 ms"
queue = { kind = "droptail", size = "100 % BDP" }
[[flows]]
name = "a"
algorithm = "cubic"
path = ["l"]
access_delay = "5 ms"
[[flows]]
name = "b"
algorithm = "reno"
path = ["l"]
access_delay = "5 ms"
[run]
duration = "3 s"
warm_up = "1 s"
sample_interval = "100 ms"
[measures]
wanted = ["goodput:a", "utilisation", "srtt_mean"]
"#;

/// A folder of a test, removed at its end, with the small scenario in it.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("lab-{name}-{}", std::process::id()));
        drop(fs::remove_dir_all(&path));
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("small.toml"), SMALL).unwrap();
        Self(path)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// `ccctl-lab ARGUMENTS` in this folder.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(arguments).current_dir(&self.0);
        command
    }

    pub fn lab(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// The same, which must be done.
    pub fn done(&self, arguments: &[&str]) -> String {
        let output = self.lab(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    pub fn json(&self, name: &str) -> Value {
        serde_json::from_slice(&fs::read(self.path(name)).unwrap()).unwrap()
    }

    pub fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// How many runs a folder has.
    pub fn units(&self, folder: &str) -> usize {
        let Ok(entries) = fs::read_dir(self.path(folder).join("units")) else { return 0 };
        entries.flatten().filter(|entry| entry.path().extension().is_some_and(|end| end == "json")).count()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

/// All files of a folder but its lock and what says how long runs took, by their path in it.
pub fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(folder).unwrap().to_string_lossy().into_owned();
            if name != ".lock" && !name.starts_with("made/") && !name.contains("/made/") {
                found.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// The two folders hold the same files, byte for byte.
pub fn assert_same_folders(first: &Path, second: &Path) {
    let (first, second) = (files(first), files(second));
    assert_eq!(first.keys().collect::<Vec<_>>(), second.keys().collect::<Vec<_>>());
    let different: Vec<_> = first.iter().filter(|(name, data)| second[*name] != **data).map(|(name, _)| name).collect();
    assert!(different.is_empty(), "{different:?}");
}
