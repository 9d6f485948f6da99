// SPDX-License-Identifier: MIT OR Apache-2.0
//! What cannot be put right in one place keeps nobody from going on in the others.

use crate::support::attacks::{World, CLOSED};
use crate::support::{self, code, is_refusal};
use ccctl_testbed::run_ok;
use std::process::Command;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(20);

/// Takes the link at a path out of service, as `bpftool link detach pinned PATH` does.
const DETACH: &str = r#"
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int count, char **words)
{
	union bpf_attr get = { .pathname = (uintptr_t)words[1] };
	union bpf_attr detach = { .link_detach.link_fd = syscall(__NR_bpf, BPF_OBJ_GET, &get, sizeof(get)) };

	if (syscall(__NR_bpf, BPF_LINK_DETACH, &detach, sizeof(detach)) < 0) {
		perror("detach");
		return 1;
	}
	return 0;
}
"#;

/// A default whose algorithm the kernel no longer has; then everything that an operator would try.
#[test]
fn attack_a_default_that_is_gone_locks_no_change_out() {
    support::test("a default that is gone", 120, || {
        let world = World::new("gone", CLOSED);
        let source = world.folder().file("detach.c", DETACH);
        let detach = world.folder().path().join("detach");
        run_ok(Command::new("cc").arg("-o").arg(&detach).arg(source), LIMIT).unwrap();
        let detach = detach.to_str().unwrap().to_owned();
        let default = || world.shell("cat /proc/sys/net/ipv4/tcp_congestion_control").trim().to_owned();
        let before = default();
        let begin = || {
            world.succeeds(&["load", "reno", "--as", "attack_a", "--default"]);
            world.succeeds(&["load", "cubic", "--as", "attack_b"]);
            world.shell(&format!("{detach} /sys/fs/bpf/ccctl/instances/attack_a"));
            world.succeeds(&["swap", "attack_b", "--with", "scalable"]);
            assert_eq!(default(), "attack_a");
        };

        begin();
        world.succeeds(&["tune", "attack_b", "low_window_pkts=17"]);
        world.succeeds(&["load", "vegas", "--as", "attack_c"]);
        world.succeeds(&["migrate", "--instance", "attack_b", "--to", "cubic"]);
        world.succeeds(&["unload", "attack_a"]);
        assert_eq!(default(), before, "the default of before is back");
        world.succeeds(&["down"]);

        begin();
        world.succeeds(&["default", "reno"]);
        assert_eq!(default(), "reno");
        world.succeeds(&["default", &before]);
        world.succeeds(&["down"]);

        begin();
        world.succeeds(&["down"]);
        assert_eq!(default(), before);
        assert_eq!(
            world.shell("ls -A /run/ccctl /sys/fs/bpf/ccctl 2>/dev/null || true"),
            "",
            "nothing of ccctl is left"
        );
    });
}

/// A mark of a swap that was killed, and defaults that cannot even be looked at: the process limit is met at each namespace.
#[test]
fn attack_a_mark_that_cannot_be_settled_is_told_and_no_more() {
    support::test("unsettled", 60, || {
        let world = World::new("unsettled", CLOSED);
        world.succeeds(&["load", "reno", "--as", "attack_a", "--default"]);
        // what the mark asks for cannot be done, since this default may not be written
        world.shell(
            "touch /run/ccctl/unsettled
             touch /run/blocked; mount --bind -o ro /proc/sys /proc/sys",
        );
        let tuned = world.ccctl(&["tune", "attack_a", "abc_limit_pkts=1"]);
        assert!(tuned.success(), "{}{}", tuned.stdout, tuned.stderr);
        assert!(tuned.stderr.contains("a killed ccctl left this behind: this namespace: "), "{}", tuned.stderr);
        assert_eq!(world.shell("ls /run/ccctl/unsettled").trim(), "/run/ccctl/unsettled", "the next one tries again");
        world.shell("umount /proc/sys");
        let tuned = world.ccctl(&["tune", "attack_a", "abc_limit_pkts=2"]);
        assert!(tuned.success() && tuned.stderr.is_empty(), "{}{}", tuned.stdout, tuned.stderr);
        assert_eq!(world.shell("ls /run/ccctl/unsettled 2>/dev/null || true"), "");
        world.succeeds(&["down"]);
    });
}

/// `/run` full: which file could not be written and what to do are said, and a verifier's reason is not lost.
#[test]
fn attack_a_full_run_folder_is_named() {
    support::test("a full /run", 60, || {
        let world = World::new("full", CLOSED);
        let config = world.folder().file("ccctl.toml", "");
        // 3 inodes: the root, this folder, and one file that takes all of the room
        world.shell(
            "mkdir -m 0755 /run/ccctl; mount -t tmpfs -o mode=0755,size=4k,nr_inodes=2 tmpfs /run/ccctl
             head -c 4096 /dev/zero >/run/ccctl/full",
        );
        let daemon = world.ccctl(&["daemon", "--config", &config]);
        let said = ["/run/ccctl/daemon.lock", "No space left on device", "try: make room", "df -i /run"];
        is_refusal("daemon", &daemon, 1, &said);
        let folder = world.folder();
        let bad = support::compile::compile(folder, &refused(), "refused");
        let check = world.ccctl(&["check", &bad]);
        is_refusal("check", &check, code::PROGRAM, &["refused", "could not be written", "No space left on device"]);
        world.shell("umount /run/ccctl");
    });
}

/// An algorithm that reads at address 0, which the verifier refuses.
fn refused() -> String {
    let path = format!("{}/../../bpf/algorithms/scalable.bpf.c", env!("CARGO_MANIFEST_DIR"));
    let (line, fault) = ("u32 divisor = p->acks_per_pkt;\n", "u32 divisor = *(volatile u32 *)0;\n");
    let source = std::fs::read_to_string(path).unwrap();
    assert!(source.contains(line), "scalable.bpf.c has changed: adapt this test");
    source.replace(line, fault)
}
