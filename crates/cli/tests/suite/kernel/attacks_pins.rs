// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pins that others have made: nothing of them is read, and the cause and the remedy are said.

use crate::support::attacks::{map_type, World, CLOSED, OPEN};
use crate::support::{self, code, is_refusal, CCCTL};
use ccctl_testbed::{run, run_ok};
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(20);
const ROOT: &str = "/sys/fs/bpf/ccctl";
/// What timeout(1) ends with where it has ended the command.
const TIMED_OUT: i32 = 124;

/// Commands that read or change what is pinned.
const COMMANDS: [&[&str]; 8] = [
    &["list"],
    &["load", "cubic", "--as", "attack_a"],
    &["swap", "reno", "--with", "cubic"],
    &["tune", "reno", "abc_limit_pkts=1"],
    &["unload", "reno"],
    &["rules"],
    &["default", "reno"],
    &["down"],
];

/// Also without the right to make maps, any user may do this to a BPF file system with the kernel's default mode.
const FOLDERS: [(&str, &str); 5] = [
    ("mkdir /sys/fs/bpf/ccctl", "belongs to user 65534"),
    ("mkdir -p /sys/fs/bpf/ccctl/instances", "belongs to user 65534"),
    ("mkdir -p /sys/fs/bpf/ccctl/rules", "belongs to user 65534"),
    ("mkdir -m 0777 -p /sys/fs/bpf/ccctl/marks", "belongs to user 65534"),
    ("mkdir /sys/fs/bpf/other; ln -s /sys/fs/bpf/other /sys/fs/bpf/ccctl", "is a symbolic link"),
];

#[test]
fn attack_folders_of_another_user_are_refused() {
    support::test("folders of others", 120, || {
        let world = World::new("folders", OPEN);
        for (script, what) in FOLDERS {
            world.attack(script);
            for words in COMMANDS {
                let output = world.ccctl(words);
                is_refusal(&format!("{script}: {words:?}"), &output, code::HOST, &[ROOT, what, "try:", "0700"]);
            }
            world.shell("rm -rf /sys/fs/bpf/ccctl /sys/fs/bpf/other");
        }
        world.succeeds(&["load", "reno", "--as", "attack_a"]);
        assert!(world.attack_fails("ls /sys/fs/bpf/ccctl"), "only root looks inside");
        assert!(world.attack_fails("mv /sys/fs/bpf/ccctl /sys/fs/bpf/other"), "in a folder with the sticky bit");
        world.succeeds(&["unload", "attack_a"]);
    });
}

/// The sub-folder too; and the whole file system without the sticky bit, where others may exchange what root has made.
#[test]
fn attack_folders_that_were_opened_are_refused() {
    support::test("opened folders", 60, || {
        let world = World::new("opened", CLOSED);
        world.succeeds(&["load", "reno", "--as", "attack_a"]);
        for (script, back, what) in [
            ("chmod 0755 /sys/fs/bpf/ccctl", "chmod 0700 /sys/fs/bpf/ccctl", "is open to others (mode 0755)"),
            ("chown 65534 /sys/fs/bpf/ccctl/instances", "chown 0 /sys/fs/bpf/ccctl/instances", "belongs to user 65534"),
            ("chmod 0777 /sys/fs/bpf", "chmod 0700 /sys/fs/bpf", "(owner 0, mode 0777)"),
            ("chown 65534 /sys/fs/bpf", "chown 0 /sys/fs/bpf", "(owner 65534, mode 0700)"),
        ] {
            world.shell(script);
            is_refusal(script, &world.ccctl(&["list"]), code::HOST, &["/sys/fs/bpf", what, "try:"]);
            world.shell(back);
        }
        world.succeeds(&["unload", "attack_a"]);
        let doctor = |world: &World| world.ccctl(&["doctor"]).stdout;
        assert!(!doctor(&world).contains("every user can create files"));
        world.shell("chmod 1777 /sys/fs/bpf");
        assert!(doctor(&world).contains("every user can create files in /sys/fs/bpf"), "{}", doctor(&world));
    });
}

#[test]
fn attack_a_foreign_map_in_a_folder_of_another_user_is_not_read() {
    support::test("a foreign map", 120, || {
        let world = World::new("foreign", OPEN);
        let make_map = world.make_map();
        world.attack("mkdir -p /sys/fs/bpf/ccctl/instances");
        let pin = "/sys/fs/bpf/ccctl/instances/reno";
        let mut make = world.attacker_with_bpf(&make_map);
        run_ok(make.args([map_type::ARRAY, "4", "60000", "1", pin]), LIMIT).unwrap();
        for words in COMMANDS {
            is_refusal(&format!("{words:?}"), &world.ccctl(words), code::HOST, &[ROOT, "user 65534", "try:"]);
        }
        let config = world.folder().file("ccctl.toml", "");
        // It goes on trying: the folder may be taken away at any time.
        let daemon = run(world.command("timeout").args(["5", CCCTL, "daemon", "--config", &config]), LIMIT).unwrap();
        assert_eq!(daemon.code, Some(TIMED_OUT), "{}", daemon.stderr);
        assert!(daemon.stderr.contains(&format!("{ROOT} belongs to user 65534")), "{}", daemon.stderr);
    });
}

/// A pin by mistake, in our own folder: maps of all kinds with values of all sizes under the name of a built-in algorithm.
#[test]
fn attack_a_foreign_map_in_our_own_folder_is_not_read() {
    support::test("foreign maps of root", 120, || {
        let world = World::new("foreign-own", CLOSED);
        let make_map = world.make_map();
        let pin = "/sys/fs/bpf/ccctl/instances/reno";
        world.shell("umask 077; mkdir -p /sys/fs/bpf/ccctl/instances");
        for (kind, key, value) in [
            (map_type::ARRAY, "4", "60000"),
            (map_type::ARRAY, "4", "8"),
            (map_type::ARRAY, "4", "256"), // as long as a table of this kernel, or about
            (map_type::PERCPU_ARRAY, "4", "4096"),
            (map_type::HASH, "64", "60000"),
            (map_type::LRU_HASH, "4", "256"),
        ] {
            run_ok(world.command(&make_map).args([kind, key, value, "1", pin]), LIMIT).unwrap();
            for words in [&["list"][..], &["swap", "reno", "--with", "cubic"], &["unload", "reno"]] {
                let what = format!("type {kind}, {value} bytes: {words:?}");
                is_refusal(&what, &world.ccctl(words), code::HOST, &[pin, "map of another kind", "then rm "]);
            }
            world.shell(&format!("rm {pin}"));
        }
        // the link of one instance under the name of another
        world.succeeds(&["load", "reno", "--as", "attack_a"]);
        world.shell(&format!("mv /sys/fs/bpf/ccctl/instances/attack_a {pin}"));
        is_refusal("moved", &world.ccctl(&["list"]), code::HOST, &[pin, "the algorithm attack_a", "then rm "]);
        world.shell(&format!("mv {pin} /sys/fs/bpf/ccctl/instances/attack_a"));
        world.succeeds(&["unload", "attack_a"]);
    });
}

/// Who could forge the table of marks could have the daemon unload what it names; the table of defaults, set any default.
#[test]
fn attack_forged_tables_are_not_believed() {
    support::test("forged tables", 120, || {
        let world = World::new("forged", OPEN);
        let make_map = world.make_map();
        let config = world.folder().file("ccctl.toml", "");
        for (table, key, value, entry) in [
            ("marks", "64", "256", "instance attack_a"),
            ("marks", "64", "256", "tripped attack_a"),
            ("defaults", "8", "16", "x"),
        ] {
            world.attack("mkdir /sys/fs/bpf/ccctl");
            let pin = format!("{ROOT}/{table}");
            let mut make = world.attacker_with_bpf(&make_map);
            run_ok(make.args([map_type::HASH, key, value, "16", &pin, entry]), LIMIT).unwrap();
            for words in [&["apply", &config][..], &["default", "reno"], &["down"], &["list"]] {
                is_refusal(&format!("{words:?}"), &world.ccctl(words), code::HOST, &[ROOT, "user 65534", "try:"]);
            }
            world.shell("rm -r /sys/fs/bpf/ccctl");
        }
        // and of root's making, of other sizes: refused, and not taken for a table
        for (table, key, value) in [("marks", "4", "256"), ("defaults", "8", "60000")] {
            world.shell("mkdir -m 0700 /sys/fs/bpf/ccctl");
            let pin = format!("{ROOT}/{table}");
            run_ok(world.command(&make_map).args([map_type::HASH, key, value, "16", &pin]), LIMIT).unwrap();
            let words = if table == "marks" { &["apply", &config][..] } else { &["default", "reno"] };
            is_refusal(table, &world.ccctl(words), code::HOST, &[&pin, "is not a table of", "then rm "]);
            world.shell("rm -r /sys/fs/bpf/ccctl");
        }
    });
}
