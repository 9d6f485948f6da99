// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels by version: packages of Debian, which are downloaded and unpacked, never installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ccctl_console::{Exit, Fault};

/// How the tests of ccctl find packages of kernels, too.
const PACKAGES: &str = include_str!("../../../../kernels/packages");
/// What that expects of the script that has it, and one kernel. An older release that was unpacked before is as good; "newest"
/// is looked for each time.
const BEFORE: &str = r#"set -euo pipefail
say() { echo "$*" >&2; }
die() { say "$*"; exit 1; }
twice() { "$@" || { sleep 2; "$@"; }; }
cache=$1
"#;
const AFTER: &str = r#"
needs_modules=
[ "$(uname -m)" = x86_64 ] || guest_arch=arm64
mkdir -p "$cache/releases"
release=
[ "$2" = newest ] || release=$(unpacked_of "$2")
if [ -z "$release" ]; then
	update_lists
	release=$(fetch "$2") || die "Debian's archives do not have it"
fi
find "$cache/releases/$release/files" -name 'vmlinuz*' | head -n 1
"#;

/// The image of a kernel: a file's path, or that of the newest release of a version.
pub fn find(word: &str) -> Result<PathBuf, Fault> {
    if word.contains('/') {
        return named(Path::new(word));
    }
    let is_version = word.starts_with(|first: char| first.is_ascii_digit())
        && word.chars().all(|letter| letter.is_ascii_alphanumeric() || ".+-".contains(letter));
    if word != "newest" && !is_version {
        let cause = format!("{word:?} is not a version of Linux");
        return Err(Fault::new(Exit::Usage, cause, "write 6.12, 6.12.30, newest, or the path of a kernel's image"));
    }
    fetch(word)
}

fn named(path: &Path) -> Result<PathBuf, Fault> {
    if path.is_file() {
        return Ok(path.to_owned());
    }
    let cause = format!("{} is not a file", path.display());
    Err(Fault::new(Exit::Usage, cause, "name a kernel's image, such as /boot/vmlinuz-6.12.30-amd64"))
}

fn cache() -> PathBuf {
    let folder = std::env::var_os("XDG_CACHE_HOME").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_else(|| "/root".into())).join(".cache");
    folder.unwrap_or_else(home).join("ccctl/kernels")
}

fn fetch(version: &str) -> Result<PathBuf, Fault> {
    let remedy = "name the path of a kernel's image instead of a version: --kernels /boot/vmlinuz-...";
    let failed = |why: &str| Fault::new(Exit::Host, format!("kernel {version} cannot be had: {why}"), remedy);
    let folder = cache();
    fs::create_dir_all(&folder).map_err(|error| failed(&format!("make {}: {error}", folder.display())))?;
    let mut command = Command::new("bash");
    command.args(["-c", &format!("{BEFORE}{PACKAGES}{AFTER}"), "fetch"]).arg(&folder).arg(version);
    let output = command.stdin(Stdio::null()).output().map_err(|error| failed(&format!("bash: {error}")))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(failed(said.lines().last().unwrap_or("no reason was given")));
    }
    match String::from_utf8_lossy(&output.stdout).trim() {
        "" => Err(failed("its package has no vmlinuz")),
        path => Ok(path.into()),
    }
}
