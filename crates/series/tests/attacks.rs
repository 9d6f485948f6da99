// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files made to cost memory or time. Each is read by a process of its own, with little of both.

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod folder;

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use folder::Folder;
use nix::sys::resource::{setrlimit, Resource};

/// Address space of the process that reads.
const MEMORY_BYTES: u64 = 512 << 20;

/// Of the processor; what is wrong took over 20 s. And what waits for ever is ended, however busy the host is.
const CPU_S: u64 = 10;
const TIME: Duration = Duration::from_secs(120);

const FILE: &str = "CCCTL_SERIES_ATTACK_FILE";

/// Not a test: what the process does that the tests start.
#[test]
#[ignore = "started by the other tests"]
fn read_with_little_memory() {
    let path = std::env::var_os(FILE).unwrap();
    setrlimit(Resource::RLIMIT_AS, MEMORY_BYTES, MEMORY_BYTES).unwrap();
    setrlimit(Resource::RLIMIT_CPU, CPU_S, CPU_S).unwrap();
    match ccctl_series::read(Path::new(&path)) {
        Ok(table) => println!("read: {} rows, {} columns", table.rows(), table.columns().len()),
        Err(error) => {
            let cause = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
            println!("refused: {error}: {cause}");
        }
    }
}

/// What reading this file says.
fn read(path: &Path) -> String {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "read_with_little_memory", "--ignored", "--nocapture", "--test-threads=1"])
        .env(FILE, path)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let (mut child, start) = (child.unwrap(), Instant::now());
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > TIME {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{} was still being read after {TIME:?}", path.display());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let output = child.wait_with_output().unwrap();
    let (said, errors) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}: {said}{errors}", path.display());
    let line = said.lines().find_map(|line| line.find("refused: ").or(line.find("read: ")).map(|at| &line[at..]));
    line.unwrap_or_else(|| panic!("{said}")).to_owned()
}

/// A file that is written in parts.
fn file(folder: &Folder, name: &str, write: impl FnOnce(&mut dyn std::io::Write)) -> PathBuf {
    let path = folder.file(name);
    let mut out = BufWriter::new(File::create(&path).unwrap());
    write(&mut out);
    out.flush().unwrap();
    path
}

/// 95 kB that were 64 million values.
#[test]
fn attack_rows_with_a_new_column_each() {
    let folder = Folder::new("new-columns");
    for rows in [8000, 17_000] {
        let path = file(&folder, &format!("{rows}.jsonl"), |out| {
            (0..rows).for_each(|row| writeln!(out, "{{\"c{row}\":1}}").unwrap());
        });
        let said = read(&path);
        assert!(said.starts_with("refused") && said.contains("columns and"), "{said}");
    }
}

/// As many columns as there may be, then rows that name none of them.
#[test]
fn attack_rows_that_leave_columns_out() {
    let folder = Folder::new("left-out");
    let path = file(&folder, "short.jsonl", |out| {
        let names: Vec<_> = (0..4000).map(|column| format!("\"c{column}\":1")).collect();
        writeln!(out, "{{{}}}", names.join(",")).unwrap();
        (0..50_000).for_each(|_| writeln!(out, "{{\"c1\":1}}").unwrap());
    });
    let said = read(&path);
    assert!(said.starts_with("refused") && said.contains("4000 columns"), "{said}");
}

#[test]
fn attack_csv_header_of_200000_columns() {
    let folder = Folder::new("wide-header");
    let path = file(&folder, "wide.csv", |out| {
        let names: Vec<_> = (0..200_000).map(|column| format!("c{column}")).collect();
        writeln!(out, "{}", names.join(",")).unwrap();
    });
    let said = read(&path);
    assert!(said.contains("line 1: too many columns: the limit is 4096"), "{said}");
}

/// Four gigabytes that take no room on the disk.
#[test]
fn attack_sparse_files() {
    let folder = Folder::new("sparse");
    for name in ["hole.csv", "hole.jsonl"] {
        let path = file(&folder, name, |_| ());
        File::options().write(true).open(&path).unwrap().set_len(4 << 30).unwrap();
        let said = read(&path);
        assert!(said.starts_with("refused"), "{name}: {said}");
    }
}

#[test]
fn attack_what_is_no_regular_file() {
    let folder = Folder::new("no-file");
    for extension in ["jsonl", "csv"] {
        let fifo = folder.path().join(format!("fifo.{extension}"));
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let device = folder.path().join(format!("device.{extension}"));
        std::os::unix::fs::symlink("/dev/zero", &device).unwrap();
        for path in [fifo, device] {
            let said = read(&path);
            assert!(said.contains("not a regular file"), "{said}");
        }
    }
}

/// 64 MB without the end of a line.
#[test]
fn attack_a_line_without_end() {
    let folder = Folder::new("long-line");
    let jsonl = file(&folder, "long.jsonl", |out| {
        out.write_all(b"{\"a\":\"").unwrap();
        (0..64).for_each(|_| out.write_all("x".repeat(1 << 20).as_bytes()).unwrap());
    });
    let said = read(&jsonl);
    assert!(said.contains("line 1: too long: the limit is"), "{said}");
    for (name, begin) in [("long.csv", "a\n"), ("long-comment.csv", "# a: "), ("quoted.csv", "a\n\"")] {
        let path = file(&folder, name, |out| {
            out.write_all(begin.as_bytes()).unwrap();
            (0..64).for_each(|_| out.write_all("x".repeat(1 << 20).as_bytes()).unwrap());
        });
        let said = read(&path);
        assert!(said.starts_with("refused") && said.contains("1048576 bytes"), "{name}: {said}");
    }
}
