// SPDX-License-Identifier: GPL-2.0-only
//! May this process make paths and load algorithms here?

use std::fs::OpenOptions;
use std::process::{Command, Stdio};

use ccctl_console::{Exit, Fault};
use ccctl_lab::backend::PathKind;
use ccctl_loader::{check_all, Status};
use ccctl_path::NetemPath;
use ccctl_testbed::require_root;

const TUN: &str = "/dev/net/tun";

/// What is missing, and what to do about it.
type Missing = (String, String);

/// One line with all that is missing, before anything is made.
pub fn require(path: PathKind) -> anyhow::Result<()> {
    let mut missing: Vec<Missing> = root().into_iter().chain(kernel()).chain(ip()).collect();
    match path {
        PathKind::Emulator => missing.extend(tun()),
        // It is tried, which needs all of the rest.
        PathKind::Netem if missing.is_empty() => missing.extend(netem()),
        PathKind::Netem => {}
    }
    let Some((_, remedy)) = missing.first() else { return Ok(()) };
    let what: Vec<&str> = missing.iter().map(|(what, _)| what.as_str()).collect();
    Err(Fault::new(Exit::Host, format!("--backend netns cannot run here: {}", what.join("; ")), remedy).into())
}

fn missing(what: impl Into<String>, remedy: &str) -> Missing {
    (what.into(), remedy.to_owned())
}

/// Capabilities alone are not enough for the files of `ip netns`.
fn root() -> Option<Missing> {
    require_root().err().map(|_| missing("not root", "run as root; --backend sim needs no privileges"))
}

/// What `ccctl doctor` calls a failure: capabilities, BTF, `struct_ops`, the BPF file system.
fn kernel() -> Vec<Missing> {
    let failed = check_all().into_iter().filter(|check| check.status == Status::Fail);
    failed.map(|check| (format!("{}: {}", check.name, check.detail), check.remedy.unwrap_or_default())).collect()
}

fn ip() -> Option<Missing> {
    let tried = Command::new("ip").arg("-Version").stdin(Stdio::null()).stdout(Stdio::null()).status();
    match tried {
        Ok(status) if status.success() => None,
        Ok(status) => Some(missing(format!("the program ip failed: {status}"), "install iproute2")),
        Err(error) => Some(missing(format!("the program ip cannot be started: {error}"), "install iproute2")),
    }
}

fn netem() -> Option<Missing> {
    let error = NetemPath::probe().err()?;
    Some(missing(
        format!("netem: {}", error.to_string().replace('\n', " ")),
        "use --path emulator, which does not need netem",
    ))
}

fn tun() -> Option<Missing> {
    let error = OpenOptions::new().read(true).write(true).open(TUN).err()?;
    Some(missing(format!("{TUN}: {error}"), "run modprobe tun, or use a kernel with CONFIG_TUN"))
}
