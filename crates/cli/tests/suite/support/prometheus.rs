// SPDX-License-Identifier: MIT OR Apache-2.0
//! A Prometheus of the test's own.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use ccctl_testbed::{eventually, run};
use serde_json::Value;

use crate::support::metrics::{free_port, LIMIT};
use crate::support::Folder;

const PATIENCE: Duration = Duration::from_secs(60);

pub fn configs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs").canonicalize().unwrap()
}

/// Killed when dropped.
pub struct Prometheus {
    process: Child,
    port: u16,
    folder: Folder,
}

impl Prometheus {
    /// Scrapes this port of the loopback, with further keys of the scrape job: `scheme: https, ...`.
    pub fn start(target: u16, keys: &str) -> Self {
        let port = free_port();
        // A test may have two.
        let folder = Folder::new(&format!("prometheus-{port}"));
        // As docs/guide/metrics.md has it, except for the times and the port.
        let config = format!(
            "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nrule_files: [{}]\nscrape_configs:\n  \
             - {{job_name: ccctl, {keys} static_configs: [{{targets: ['127.0.0.1:{target}']}}]}}\n",
            configs().join("prometheus/ccctl.rules.yml").display()
        );
        let config = folder.file("prometheus.yml", config);
        let log = std::fs::File::create(folder.path().join("log")).unwrap();
        let process = Command::new("prometheus")
            .arg(format!("--config.file={config}"))
            .arg(format!("--storage.tsdb.path={}", folder.path().join("data").display()))
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("scripts/setup installs prometheus");
        Self { process, port, folder }
    }

    pub fn ask(&self, path: &str, words: &[&str]) -> Result<Value, String> {
        let mut command = Command::new("curl");
        command.args(["--silent", "--max-time", "10", "--get"]).args(words);
        let output = run(command.arg(format!("http://127.0.0.1:{}/api/v1/{path}", self.port)), LIMIT).unwrap();
        let answer: Value =
            serde_json::from_str(&output.stdout).map_err(|error| format!("{error}: {}", output.stdout))?;
        if answer["status"] != "success" {
            return Err(answer.to_string());
        }
        Ok(answer["data"].clone())
    }

    /// Series that a query finds.
    pub fn query(&self, query: &str) -> Result<Vec<Value>, String> {
        let data = self.ask("query", &["--data-urlencode", &format!("query={query}")])?;
        Ok(data["result"].as_array().unwrap().clone())
    }

    /// Waits until a query finds something.
    #[track_caller]
    pub fn finds(&self, query: &str) {
        let finds = || match self.query(query) {
            Ok(found) if !found.is_empty() => Ok(()),
            other => Err(format!("{query}: {other:?}")),
        };
        eventually(PATIENCE, finds).unwrap();
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default());
        }
        let _ = self.process.kill(); // it may have ended
        let _ = self.process.wait();
    }
}
