// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl top` in a terminal: tmux gives it one, presses keys and reads the screen.

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use ccctl_testbed::{eventually, run, run_ok};

use crate::support::{Folder, CCCTL};

/// For anything that shows within a few seconds on a machine that has nothing else to do.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// Marks the processes of one terminal, whoever their parent is.
const MARK: &str = "CCCTL_TOP_TEST";
const UNICODE: &str = "LC_ALL=C.UTF-8";

/// A tmux server of its own with one pane, in which `ccctl top` runs.
pub struct Screen {
    server: String,
    traced: Traced,
}

impl Screen {
    /// A usual terminal.
    #[track_caller]
    pub fn open(columns: u32, rows: u32, words: &str) -> Self {
        Self::open_with(columns, rows, UNICODE, words)
    }

    /// With these variables; waits for the first screen.
    #[track_caller]
    pub fn open_with(columns: u32, rows: u32, variables: &str, words: &str) -> Self {
        let screen = Self::start(columns, rows, variables, words);
        screen.wait("the title", |text| text.contains("ccctl top"));
        screen
    }

    /// Waits for nothing.
    #[track_caller]
    pub fn start(columns: u32, rows: u32, variables: &str, words: &str) -> Self {
        let traced = Traced::new(variables, words);
        let screen = Self { server: traced.mark.clone(), traced };
        let (columns, rows) = (columns.to_string(), rows.to_string());
        let command = format!("{}; exec sleep 1000", screen.traced.command());
        screen.tmux(&["-f", "/dev/null", "new-session", "-d", "-x", &columns, "-y", &rows, &command]);
        screen
    }

    /// A file that the script has written.
    pub fn written(&self, name: &str) -> String {
        self.traced.written(name)
    }

    /// Takes the terminal away as tmux does, when asked.
    pub fn kill_server(&self) {
        self.tmux(&["kill-server"]);
    }

    /// The process that the terminal belongs to.
    pub fn server_pid(&self) -> String {
        self.tmux(&["display-message", "-p", "#{pid}"]).trim().to_owned()
    }

    /// Waits until no process of it is left.
    #[track_caller]
    pub fn wait_until_gone(&self) {
        self.traced.wait_until_gone();
    }

    #[track_caller]
    fn tmux(&self, words: &[&str]) -> String {
        let mut command = Command::new("tmux");
        command.args(["-u", "-L", &self.server]).args(words).env_remove("TMUX").env("LC_ALL", "C.UTF-8");
        run_ok(&mut command, PATIENCE).unwrap()
    }

    /// What is on it.
    #[track_caller]
    pub fn text(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    /// The same with its colours and attributes.
    #[track_caller]
    pub fn text_with_attributes(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-e"])
    }

    /// Presses keys, by tmux's names. A key right behind Escape would be read as one with Alt, as from a keyboard.
    #[track_caller]
    pub fn press(&self, keys: &[&str]) {
        for key in keys {
            self.tmux(&["send-keys", key]);
            if *key == "Escape" {
                std::thread::sleep(Duration::from_millis(150));
            }
        }
    }

    /// Types a text.
    #[track_caller]
    pub fn enter(&self, text: &str) {
        self.tmux(&["send-keys", "-l", text]);
    }

    /// Makes it another size.
    #[track_caller]
    pub fn resize(&self, columns: u32, rows: u32) {
        self.tmux(&["resize-window", "-x", &columns.to_string(), "-y", &rows.to_string()]);
    }

    /// Waits until the screen is as wanted, and gives it.
    #[track_caller]
    pub fn wait(&self, what: &str, holds: impl Fn(&str) -> bool) -> String {
        self.wait_for(what, |text| if holds(text) { Ok(text.to_owned()) } else { Err(String::new()) })
    }

    /// Waits until something can be read from the screen.
    #[track_caller]
    pub fn wait_for<T>(&self, what: &str, mut read: impl FnMut(&str) -> Result<T, String>) -> T {
        let read = eventually(PATIENCE, || {
            let text = self.text();
            read(&text).map_err(|why| format!("{why}\n{text}"))
        });
        read.unwrap_or_else(|text| panic!("{what}: {text}\n{}", self.written("stderr")))
    }

    /// Does the screen still belong to a program that puts its own away at its end?
    #[track_caller]
    pub fn is_alternate(&self) -> bool {
        self.tmux(&["display-message", "-p", "#{alternate_on}"]).trim() == "1"
    }

    /// The process.
    #[track_caller]
    pub fn pid(&self) -> String {
        self.traced.pid()
    }

    /// Waits for its end; gives the exit code.
    #[track_caller]
    pub fn ended(&self) -> String {
        self.traced.ended()
    }

    /// The first line that begins with this word, in words.
    pub fn row(text: &str, first: &str) -> Option<Vec<String>> {
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        text.lines().map(words).find(|words| words.first().is_some_and(|word| word == first))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.written("stderr"));
        }
        let mut command = Command::new("tmux");
        let _ = run(command.args(["-L", &self.server, "kill-server"]), PATIENCE);
        // it may be gone
    }
}

/// `ccctl top` in whatever terminal runs its command. When dropped, after the terminal, none of its processes may be left.
pub struct Traced {
    mark: String,
    folder: Folder,
}

impl Traced {
    /// The scripts for it, with these variables and words.
    pub fn new(variables: &str, words: &str) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let mark = format!("ccctl-top-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let traced = Self { folder: Folder::new(&mark), mark };
        let file = |name: &str| traced.file(name).display().to_string();
        let inner = traced
            .folder
            .file("inner", format!("exec env {MARK}={} CCCTL_SOCKET= {variables} {CCCTL} top {words}", traced.mark));
        let script = format!(
            "stty -a > {}\nsh {inner} 2> {}\necho $? > {}\nstty -a > {}\n",
            file("before"),
            file("stderr"),
            file("code"),
            file("after"),
        );
        traced.folder.file("script", script);
        traced
    }

    /// What the terminal is to run.
    pub fn command(&self) -> String {
        format!("sh {}", self.file("script").display())
    }

    /// What its own process is to run, for a terminal that wants nothing around it.
    pub fn inner_command(&self) -> String {
        format!("sh {}", self.file("inner").display())
    }

    /// A place for a file that goes with it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A file that the script has written.
    pub fn written(&self, name: &str) -> String {
        String::from_utf8_lossy(&std::fs::read(self.file(name)).unwrap_or_default()).into_owned()
    }

    /// Waits for its end; gives the exit code.
    #[track_caller]
    pub fn ended(&self) -> String {
        let code = || match self.written("after") {
            text if text.ends_with('\n') => Ok(self.written("code").trim().to_owned()),
            _ => Err(format!("runs as {:?}: {}", self.processes(), self.written("stderr"))),
        };
        eventually(PATIENCE, code).unwrap()
    }

    /// The process.
    #[track_caller]
    pub fn pid(&self) -> String {
        let one = || <[u32; 1]>::try_from(self.processes()).map_err(|found| format!("processes {found:?}"));
        eventually(PATIENCE, one).unwrap()[0].to_string()
    }

    /// Waits until no process of it is left.
    #[track_caller]
    pub fn wait_until_gone(&self) {
        let none = || match self.processes() {
            left if left.is_empty() => Ok(()),
            left => Err(format!("ccctl top still runs: {left:?}")),
        };
        eventually(PATIENCE, none).unwrap();
    }

    /// Those of the name `ccctl` that carry its mark, by whatever parent.
    fn processes(&self) -> Vec<u32> {
        let mark = format!("{MARK}={}", self.mark).into_bytes();
        let numbers =
            std::fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let is_ours = |pid: &u32| {
            let of = |name: &str| std::fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default(); // it may end meanwhile
            of("comm") == b"ccctl\n" && of("environ").split(|byte| *byte == 0).any(|variable| variable == mark)
        };
        numbers.filter(is_ours).collect()
    }
}

impl Drop for Traced {
    fn drop(&mut self) {
        let none = || match self.processes() {
            left if left.is_empty() => Ok(()),
            left => Err(format!("{left:?}")),
        };
        let Err(why) = eventually(PATIENCE, none) else { return };
        for pid in self.processes() {
            let _ = run(Command::new("kill").args(["-KILL", &pid.to_string()]), PATIENCE);
            // it may be gone now
        }
        assert!(std::thread::panicking(), "ccctl top outlives its terminal: {why}");
        eprintln!("ccctl top outlived its terminal: {why}");
    }
}

/// A value and its SI unit as bits per second.
pub fn bit_per_s(value: &str, unit: &str) -> f64 {
    let factor = match unit {
        "bit/s" => 1.0,
        "kbit/s" => 1e3,
        "Mbit/s" => 1e6,
        "Gbit/s" => 1e9,
        other => panic!("{other} is no unit"),
    };
    value.parse::<f64>().unwrap() * factor
}
