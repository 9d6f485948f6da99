// SPDX-License-Identifier: MIT OR Apache-2.0
//! The metrics as a file for the textfile collector of `node_exporter`.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::sync::watch;

use super::port::changes;
use super::{current, Format, MetricsOutlets};

/// As often as Prometheus usually scrapes.
const EVERY: Duration = Duration::from_secs(15);

/// Writes the file that `wanted` names, and another one when it changes.
pub async fn serve(mut wanted: watch::Receiver<MetricsOutlets>) {
    loop {
        let path = wanted.borrow_and_update().textfile.clone();
        tokio::select! {
            () = changes(&mut wanted, |outlets| outlets.textfile != path) => {}
            () = write(path.clone()) => {}
        }
    }
}

/// Writes it for as long as it is asked for, and removes it then: a file that stays would tell old numbers for ever.
async fn write(path: Option<PathBuf>) {
    let Some(path) = path else { return std::future::pending().await };
    let file = Written(path);
    let mut has_failed = false;
    loop {
        let wanted = file.0.clone();
        let written = tokio::task::spawn_blocking(move || write_once(&wanted)).await;
        let result = written.unwrap_or_else(|error| Err(io::Error::other(error)));
        match &result {
            Err(error) if !has_failed => tracing::error!("metrics: cannot write {}: {error}", file.0.display()),
            Ok(()) if has_failed => tracing::info!("metrics: {} is written again", file.0.display()),
            _ => {}
        }
        has_failed = result.is_err();
        tokio::time::sleep(EVERY).await;
    }
}

struct Written(PathBuf);

impl Drop for Written {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0); // it may never have been written
    }
}

/// Readers see the file before or the one after, never a part. The folder may belong to another user, who can lay links into it:
/// none is followed.
fn write_once(path: &Path) -> io::Result<()> {
    let Some(exporter) = current() else { return Ok(()) };
    let part = path.with_extension("prom.part"); // not read by node_exporter
    match fs::remove_file(&part) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).open(&part)?;
    file.set_permissions(Permissions::from_mode(0o644))?; // node_exporter is another user, and the unit has UMask=0077
    for piece in exporter.scrape(Format::Plain) {
        file.write_all(piece.as_bytes())?;
    }
    fs::rename(&part, path)
}
