// SPDX-License-Identifier: MIT OR Apache-2.0
//! A daemon of a test's own: its socket, its file, its log; asked with curl, or by `ccctl`.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use ccctl_testbed::{eventually, run, Output};
use serde_json::Value;

use super::{claim, parsed, Folder, CCCTL};

const PATIENCE: Duration = Duration::from_secs(20);

/// One that runs; killed when dropped.
pub struct Daemon {
    /// Where its files are.
    pub folder: Folder,
    process: Child,
    binary: PathBuf,
}

/// What curl got.
pub struct Answer {
    /// HTTP status; 0: no answer.
    pub status: u16,
    /// The body.
    pub body: String,
}

impl Answer {
    /// The body, which must be JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {:?}", self.body))
    }

    /// The answer to what was right.
    #[track_caller]
    pub fn ok(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.body);
        self.json()
    }

    /// Whether it is an error of this status, of the shape that errors have; gives cause and remedy.
    #[track_caller]
    pub fn refusal(&self, status: u16) -> String {
        assert_eq!(self.status, status, "{}", self.body);
        let answer = self.json();
        let error = &answer["error"];
        assert!(error["exit"].as_u64().is_some_and(|exit| exit > 0), "{answer}");
        format!("{} {}", error["cause"].as_str().unwrap(), error["remedy"].as_str().unwrap_or_default())
    }
}

impl Daemon {
    /// Starts one with this file, to which the socket is added.
    #[track_caller]
    pub fn start(label: &str, config: &str) -> Self {
        Self::start_with(Folder::new(label), Path::new(CCCTL), config)
    }

    /// Starts `binary` in a folder.
    #[track_caller]
    pub fn start_with(folder: Folder, binary: &Path, config: &str) -> Self {
        let daemon = Self::spawned(folder, binary, config);
        daemon.wait();
        daemon
    }

    /// The same, and waits only until something listens.
    #[track_caller]
    pub fn spawned(folder: Folder, binary: &Path, config: &str) -> Self {
        write_config(&folder, config);
        let process = spawn(&folder, binary, &[]);
        let daemon = Self { folder, process, binary: binary.to_owned() };
        let listens = || (daemon.get("daemon").status == 200).then_some(()).ok_or("nothing listens".to_owned());
        eventually(PATIENCE, listens).unwrap_or_else(|error| panic!("{error}\n{}", daemon.log()));
        daemon
    }

    /// Waits until it has compared kernel and file.
    #[track_caller]
    pub fn wait(&self) {
        let waited = eventually(PATIENCE, || {
            let status = self.get("status");
            if status.status == 200 && !status.json()["daemon"]["compared_at"].is_null() {
                return Ok(());
            }
            Err(format!("status {}: {}", status.status, status.body))
        });
        waited.unwrap_or_else(|error| panic!("the daemon does not answer: {error}\n{}", self.log()));
    }

    /// Writes another file; nothing is told.
    pub fn configure(&self, config: &str) {
        write_config(&self.folder, config);
    }

    /// Writes another file and sends SIGHUP; waits until it was read, or refused.
    #[track_caller]
    pub fn reload(&self, config: &str) -> Value {
        let before = self.status()["reloads"].clone();
        self.configure(config);
        self.signal("HUP");
        let is_read = || self.status()["reloads"] != before;
        let read = eventually(PATIENCE, || is_read().then_some(()).ok_or("the file is not read".to_owned()));
        read.unwrap_or_else(|error| panic!("{error}\n{}", self.log()));
        self.status()
    }

    /// What it says of itself.
    #[track_caller]
    pub fn status(&self) -> Value {
        self.get("status").ok()["daemon"].clone()
    }

    /// Waits until it has compared kernel and file twice more: the second time began after this call.
    #[track_caller]
    pub fn compares_twice(&self) {
        let count = || self.status()["comparison_count"].as_u64().unwrap();
        let wanted = count() + 2;
        let compared = || (count() >= wanted).then_some(()).ok_or(format!("{} of {wanted} comparisons", count()));
        eventually(PATIENCE, compared).unwrap_or_else(|error| panic!("{error}\n{}", self.log()));
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Its file.
    pub fn config(&self) -> PathBuf {
        self.folder.path().join("ccctl.toml")
    }

    /// Its socket.
    pub fn socket(&self) -> PathBuf {
        socket(&self.folder)
    }

    /// What it has written so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// Sends a signal.
    #[track_caller]
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").args(["-s", name, &self.pid().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// SIGKILL, and waits for the end.
    pub fn kill(&mut self) {
        let _ = self.process.kill(); // it may be gone
        let _ = self.process.wait();
    }

    /// SIGTERM; gives the exit code.
    #[track_caller]
    pub fn terminate(&mut self) -> Option<i32> {
        self.signal("TERM");
        self.ended()
    }

    /// Waits for its end; gives the exit code.
    #[track_caller]
    pub fn ended(&mut self) -> Option<i32> {
        let mut code = None;
        let waited = eventually(PATIENCE, || match self.process.try_wait().unwrap() {
            Some(status) => {
                code = status.code();
                Ok(())
            }
            None => Err("it still runs".to_owned()),
        });
        waited.unwrap_or_else(|error| panic!("{error}\n{}", self.log()));
        code
    }

    /// Starts it again after its end, with the file as it is now.
    #[track_caller]
    pub fn start_again(&mut self) {
        let binary = self.binary.clone();
        self.start_another(&binary);
    }

    /// The same with another binary.
    #[track_caller]
    pub fn start_another(&mut self, binary: &Path) {
        self.process = spawn(&self.folder, binary, &[]);
        self.wait();
    }

    /// Runs `ccctl`, which asks this daemon.
    #[track_caller]
    pub fn ccctl(&self, words: &[&str]) -> Output {
        super::prepare(words);
        run(Command::new(CCCTL).args(words).env("CCCTL_SOCKET", self.socket()), PATIENCE).unwrap()
    }

    /// The same, expects success, and reads JSON.
    #[track_caller]
    pub fn json(&self, words: &[&str]) -> Value {
        parsed(words, &super::succeeded(words, self.ccctl(words)))
    }

    /// `curl` at this daemon's socket, with these arguments before the address.
    #[track_caller]
    pub fn curl(&self, arguments: &[&str], path: &str) -> Answer {
        self.curl_as(Command::new("curl"), arguments, path)
    }

    /// The same through a command that ends in curl.
    #[track_caller]
    pub fn curl_as(&self, mut command: Command, arguments: &[&str], path: &str) -> Answer {
        let socket = self.socket();
        command
            .args(["--silent", "--globoff", "--max-time", "30", "--write-out", "\n%{http_code}", "--unix-socket"])
            .arg(socket);
        let output = run(command.args(arguments).arg(format!("http://localhost{path}")), PATIENCE * 2).unwrap();
        let (body, status) = output.stdout.rsplit_once('\n').unwrap_or_default();
        Answer { status: status.parse().unwrap_or(0), body: body.to_owned() }
    }

    /// `GET /v1/...`
    #[track_caller]
    pub fn get(&self, path: &str) -> Answer {
        self.curl(&[], &format!("/v1/{path}"))
    }

    /// `POST /v1/...`
    #[track_caller]
    pub fn post(&self, name: &str, body: &Value) -> Answer {
        if name == "load" {
            claim(body["name"].as_str().expect("tests name what they load"));
        }
        self.curl(&["--data", &body.to_string()], &format!("/v1/{name}"))
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            eprintln!("the daemon's log:\n{}", self.log());
        }
    }
}

fn socket(folder: &Folder) -> PathBuf {
    folder.path().join("socket")
}

/// Instances that the file names become the test's.
fn write_config(folder: &Folder, config: &str) {
    for line in config.lines() {
        if let Some(name) = line.strip_prefix("[instance.").and_then(|rest| rest.strip_suffix(']')) {
            claim(name);
        }
    }
    if config.contains("[[rule]]") {
        super::prepare(&["assign"]);
    }
    let api = format!("[api]\nsocket = \"{}\"\n", socket(folder).display());
    let api = if config.contains("[api]") { "" } else { &api };
    folder.file("ccctl.toml", format!("{config}\n{api}"));
}

/// Starts a daemon; what it writes goes to the folder's log.
pub fn spawn(folder: &Folder, binary: &Path, environment: &[(&str, &str)]) -> Child {
    let mut log = File::options().create(true).append(true).open(folder.path().join("log")).unwrap();
    writeln!(log, "--").unwrap();
    let mut command = Command::new(binary);
    command.arg("daemon").arg("--config").arg(folder.path().join("ccctl.toml"));
    command.env("CCCTL_STATE", folder.path().join("state"));
    command.envs(environment.iter().copied()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    command.spawn().unwrap()
}
