// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl lab`: which program it becomes, and what it says where there is none.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::support::{code, CCCTL};

/// A folder with `ccctl` and nothing else in it, removed with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("dispatch-{name}-{}", std::process::id()));
        fs::create_dir_all(path.join("path")).unwrap();
        fs::hard_link(CCCTL, path.join("ccctl")).unwrap();
        Self(path)
    }

    /// A program of this name, which prints its own name and its arguments, each between brackets, and ends with 42.
    fn program(&self, name: &str, says: &str) {
        let path = self.0.join(name);
        let text = format!("#!/bin/sh\nprintf '{says}'\nprintf '[%s]' \"$@\"\nexit 42\n");
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// `ccctl lab ARGUMENTS` with the folder `path` as `PATH`.
    fn lab(&self, arguments: &[&OsStr]) -> Output {
        let mut command = Command::new(self.0.join("ccctl"));
        command.arg("lab").args(arguments).env("PATH", self.0.join("path")).output().unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn lab_is_the_program_beside_ccctl_or_else_that_in_path() {
    let folder = Folder::new("found");
    let arguments = ["run", "--help", "--json", "", "a b", "-x", "--"].map(OsStr::new);
    let not_utf8 = OsStr::from_bytes(b"\xff");
    let arguments = [&arguments[..], &[not_utf8]].concat();
    let said = b"[run][--help][--json][][a b][-x][--][\xff]";
    folder.program("path/ccctl-lab", "in PATH: ");
    let output = folder.lab(&arguments);
    assert_eq!((output.status.code(), output.stdout), (Some(42), [b"in PATH: ", &said[..]].concat()));
    folder.program("ccctl-lab", "beside: ");
    let output = folder.lab(&arguments);
    assert_eq!((output.status.code(), output.stdout), (Some(42), [b"beside: ", &said[..]].concat()));
}

#[test]
fn where_there_is_none_one_line_says_where_to_get_it() {
    let output = Folder::new("missing").lab(&[OsStr::new("list")]);
    let said = String::from_utf8(output.stderr).unwrap();
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!((output.status.code(), lines.len()), (Some(code::HOST), 2), "{said}");
    assert_eq!(lines[0], "ccctl: the program ccctl-lab is not installed");
    assert!(lines[1].contains("cargo build --release -p ccctl-lab"), "{said}");
    assert!(output.stdout.is_empty());
}

/// What is there and cannot be started is not passed over.
#[test]
fn a_program_that_cannot_be_started_is_named() {
    let folder = Folder::new("broken");
    folder.program("path/ccctl-lab", "in PATH: ");
    fs::create_dir(folder.0.join("ccctl-lab")).unwrap();
    let output = folder.lab(&[]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code::HOST), "{said}");
    assert!(said.starts_with("ccctl: cannot start ccctl-lab: "), "{said}");
}

#[test]
fn help_lists_it() {
    let output = Command::new(CCCTL).arg("--help").output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    let line = help.lines().find(|line| line.trim_start().starts_with("lab "));
    assert!(line.is_some_and(|line| line.contains("ccctl-lab")), "{help}");
}
