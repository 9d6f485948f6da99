// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl top` without root: through the daemon it shows what root sees, and without one it is refused as others are.

use crate::support;
use crate::support::top;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use ccctl_testbed::{run, Flows, Network, Output, Receiver, SERVER_V4};
use serde_json::Value;
use support::daemon::Daemon;
use support::{code, is_refusal, json, parsed, steady, succeeds, Folder, CCCTL};
use top::Screen;

const NAME: &str = "bpf_cubic";
const ONCE: [&str; 5] = ["top", "--once", "--json", "--every", "2s"];
const LIMIT: Duration = Duration::from_secs(30);

fn row(once: &Value) -> Value {
    once["usage"].as_array().unwrap().iter().find(|row| row["congestion_control"] == NAME).unwrap().clone()
}

/// Nobody's groups are let in by the daemon's file; a stranger's are not.
fn as_user(user: &str, copy: &Path, daemon: &Daemon, words: &[&str]) -> Output {
    let mut command = Command::new("setpriv");
    command.args(["--reuid", user, "--regid", user, "--clear-groups"]).arg(copy).args(words);
    run(command.env("CCCTL_SOCKET", daemon.socket()), LIMIT).unwrap()
}

/// Both look over two seconds at a sender that is paced by its pauses, one after the other: half as much or double would
/// be another counter.
#[test]
fn readers_see_through_the_daemon_what_root_sees() {
    support::test("reader", 300, || {
        let folder = Folder::new("top-reader");
        let api = format!("[api]\nsocket = \"{}/socket\"\nread_group = \"nogroup\"\n", folder.path().display());
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let copy = folder.path().join("ccctl"); // the build's folder may be closed to others
        std::fs::copy(CCCTL, &copy).unwrap();
        let daemon = Daemon::start_with(folder, Path::new(CCCTL), &api);
        succeeds(&["load", "cubic"]);
        let network = Network::new().unwrap();
        let receiver = Receiver::start(&network.server, "::").unwrap();
        let flows = Flows::start(&network.client, &steady(&receiver, SERVER_V4, NAME), 2).unwrap();

        let by_root = row(&json(&ONCE));
        let output = as_user("65534", &copy, &daemon, &ONCE);
        assert!(output.success(), "{}", output.stderr);
        let by_reader = row(&parsed(&ONCE, &output.stdout));
        for key in ["name", "algorithm", "map_id", "sockets", "sockets_on_old_program"] {
            assert_eq!(by_root[key], by_reader[key], "{key}");
        }
        let [root, reader] = [&by_root, &by_reader].map(|row| row["throughput_bit_per_s"].as_f64().unwrap());
        assert!(root > 1e6 && (0.5..2.0).contains(&(reader / root)), "{by_root} {by_reader}");

        let socket = daemon.socket().display().to_string();
        let user = "setpriv --reuid 65534 --regid 65534 --clear-groups";
        let become_reader =
            format!("LC_ALL=C.UTF-8 CCCTL_SOCKET={socket} {user} sh -c 'shift; exec {} \"$@\"' sh", copy.display());
        let screen = Screen::open_with(100, 24, &become_reader, "");
        screen.wait("the instance", |text| Screen::row(text, NAME).is_some_and(|row| row[3] == "2"));
        screen.enter("/");
        screen.enter(NAME);
        screen.press(&["Enter", "Enter"]);
        screen.wait("its sockets", |text| text.contains("2 in all") && text.contains("10.77.0.2:"));
        screen.press(&["Enter"]);
        screen
            .wait("one of them", |text| text.contains("cwnd, ssthresh (dashed): pkts") && text.contains("cubic keeps"));
        screen.press(&["m", "Enter"]);
        screen.wait("the question", |text| text.contains("Move 1 socket of"));
        screen.press(&["y"]);
        screen.wait("a refusal", |text| text.contains("root"));
        screen.press(&["q"]);
        assert_eq!(screen.ended(), "0");

        let [top, sockets] = [&ONCE[..], &["sockets", "--json"]].map(|words| as_user("12345", &copy, &daemon, words));
        is_refusal("top --once --json as a stranger", &top, code::HOST, &[]);
        assert_eq!((top.code, top.stderr), (sockets.code, sockets.stderr), "the same refusal as of other commands");
        flows.stop().unwrap();
        drop((receiver, network, daemon));
        succeeds(&["unload", NAME]);
    });
}
