// SPDX-License-Identifier: MIT OR Apache-2.0
//! What tests of attacks share: a view of the host of their own, and a user who may do nothing in it.
//!
//! The view has `/run`, a BPF file system and a network namespace of its own, so that a test can open them to others, hold
//! every lock and take everything down. Kernel names of algorithms and namespaces are still those of the whole machine.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use ccctl_testbed::{run, run_ok, Output};

use crate::support::{Folder, CCCTL};

const LIMIT: Duration = Duration::from_secs(120);

/// How other users see a BPF file system that is mounted without options: the kernel's default.
pub const OPEN: &str = "1777";
/// How it is to be mounted.
pub const CLOSED: &str = "0700";

/// A view of the host; gone when dropped, with what is pinned in it.
pub struct World {
    process: Child,
    folder: Folder,
}

impl World {
    /// Makes one whose BPF file system has this mode.
    #[track_caller]
    pub fn new(label: &str, mode: &str) -> Self {
        let folder = Folder::new(label);
        run_ok(Command::new("chmod").arg("0755").arg(folder.path()), LIMIT).unwrap();
        let script = format!(
            "mount -t tmpfs -o mode=0755 tmpfs /run && mount -t bpf -o mode={mode} bpf /sys/fs/bpf \
             && ip link set lo up && echo ready && exec sleep 1000"
        );
        let mut process = Command::new("unshare")
            .args(["--mount", "--net", "sh", "-c", &script])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Self { process, folder }
    }

    /// Its first process.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// A folder for files that everybody may read.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// A command inside, as root.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        let pid = self.pid().to_string();
        command.args(["--mount", "--net", "--target", &pid, program]);
        command
    }

    /// A command inside, as a user without rights.
    pub fn attacker(&self, program: &str) -> Command {
        let mut command = self.command("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", program]);
        command
    }

    /// The same with the right to make BPF maps, and no other.
    pub fn attacker_with_bpf(&self, program: &str) -> Command {
        let mut command = self.command("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]);
        command.args(["--inh-caps", "+bpf", "--ambient-caps", "+bpf", program]);
        command
    }

    /// Runs `ccctl` inside as root, whatever its end.
    #[track_caller]
    pub fn ccctl(&self, words: &[&str]) -> Output {
        run(self.command(CCCTL).args(words), LIMIT).unwrap()
    }

    /// The same, expects success, and gives its stdout.
    #[track_caller]
    pub fn succeeds(&self, words: &[&str]) -> String {
        let output = self.ccctl(words);
        assert!(output.success(), "ccctl {}: {:?}\n{}{}", words.join(" "), output.code, output.stdout, output.stderr);
        output.stdout
    }

    /// Runs a shell's text inside as root; expects success, and gives its stdout.
    #[track_caller]
    pub fn shell(&self, script: &str) -> String {
        run_ok(self.command("sh").args(["-ec", script]), LIMIT).unwrap()
    }

    /// Runs a shell's text inside as the attacker; expects success.
    #[track_caller]
    pub fn attack(&self, script: &str) -> String {
        run_ok(self.attacker("sh").args(["-ec", script]), LIMIT).unwrap()
    }

    /// Whether a shell's text fails as the attacker.
    #[track_caller]
    pub fn attack_fails(&self, script: &str) -> bool {
        !run(self.attacker("sh").args(["-ec", script]), LIMIT).unwrap().success()
    }

    /// A program that makes a BPF map and pins it: `make_map TYPE KEY_BYTES VALUE_BYTES ENTRIES PATH [KEY]`. An element that
    /// begins with this key is put into it.
    #[track_caller]
    pub fn make_map(&self) -> String {
        let source = self.folder.file("make_map.c", MAKE_MAP);
        let program = self.folder.path().join("make_map");
        run_ok(Command::new("cc").args(["-O1", "-o"]).arg(&program).arg(source), LIMIT).unwrap();
        program.to_str().unwrap().to_owned()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = self.process.kill(); // it may be gone
        let _ = self.process.wait();
    }
}

/// Types of maps, from include/uapi/linux/bpf.h.
pub mod map_type {
    /// `BPF_MAP_TYPE_HASH`
    pub const HASH: &str = "1";
    /// `BPF_MAP_TYPE_ARRAY`
    pub const ARRAY: &str = "2";
    /// `BPF_MAP_TYPE_PERCPU_ARRAY`
    pub const PERCPU_ARRAY: &str = "6";
    /// `BPF_MAP_TYPE_LRU_HASH`, whose number is that of links of `struct_ops`
    pub const LRU_HASH: &str = "9";
}

const MAKE_MAP: &str = r#"
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int bpf(int command, union bpf_attr *attributes)
{
	return syscall(__NR_bpf, command, attributes, sizeof(*attributes));
}

int main(int count, char **words)
{
	union bpf_attr map = { .map_type = atoi(words[1]), .key_size = atoi(words[2]),
			       .value_size = atoi(words[3]), .max_entries = atoi(words[4]) };
	int fd = bpf(BPF_MAP_CREATE, &map);
	union bpf_attr pin = { .pathname = (uintptr_t)words[5], .bpf_fd = fd };

	if (fd < 0 || bpf(BPF_OBJ_PIN, &pin) < 0) {
		perror(words[5]);
		return 1;
	}
	if (count > 6) {
		char *key = calloc(1, map.key_size), *value = calloc(1, map.value_size);
		union bpf_attr element = { .map_fd = fd, .key = (uintptr_t)key, .value = (uintptr_t)value };

		strncpy(key, words[6], map.key_size);
		if (bpf(BPF_MAP_UPDATE_ELEM, &element) < 0) {
			perror("update");
			return 1;
		}
	}
	return 0;
}
"#;
