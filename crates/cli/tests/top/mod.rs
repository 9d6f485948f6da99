//! `ccctl top` in a terminal: tmux gives it one, presses keys and reads the screen.
#![allow(dead_code)] // each test binary uses its part

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use ccctl_lab::testbed::{eventually, run, run_ok};

use crate::kernel::{Folder, CCCTL};

/// For anything that shows within a few seconds.
pub const PATIENCE: Duration = Duration::from_secs(20);
const UNICODE: &str = "LC_ALL=C.UTF-8";

/// A tmux server of its own with one pane, in which `ccctl top` runs.
pub struct Screen {
    server: String,
    folder: Folder,
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
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let server = format!("ccctl-top-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let screen = Self { folder: Folder::new(&server), server };
        let file = |name: &str| screen.file(name).display().to_string();
        let script = format!(
            "stty -a > {}; env CCCTL_SOCKET= {variables} {CCCTL} top {words} 2> {}; echo $? > {}; stty -a > {}; exec sleep 1000",
            file("before"),
            file("stderr"),
            file("code"),
            file("after"),
        );
        let script = screen.folder.file("script", script);
        let (columns, rows) = (columns.to_string(), rows.to_string());
        screen.tmux(&["-f", "/dev/null", "new-session", "-d", "-x", &columns, "-y", &rows, &format!("sh {script}")]);
        screen.wait("the title", |text| text.contains("ccctl top"));
        screen
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A file that the script has written.
    pub fn written(&self, name: &str) -> String {
        std::fs::read_to_string(self.file(name)).unwrap_or_default()
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
        let shell = self.tmux(&["display-message", "-p", "#{pane_pid}"]);
        run_ok(Command::new("pgrep").args(["-P", shell.trim(), "-x", "ccctl"]), PATIENCE).unwrap().trim().to_owned()
    }

    /// Waits for its end; gives the exit code.
    #[track_caller]
    pub fn ended(&self) -> String {
        let code = || match self.written("after") {
            text if text.ends_with('\n') => Ok(self.written("code").trim().to_owned()),
            _ => Err(self.text()),
        };
        eventually(PATIENCE, code).unwrap()
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
