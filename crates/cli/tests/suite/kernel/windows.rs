// SPDX-License-Identifier: MIT OR Apache-2.0
//! A window that no algorithm can mean is marked wherever it is shown; and tables fit the terminal.

use std::process::Command;
use std::time::Duration;

use ccctl_testbed::{run_ok, Connections, Network, SERVER_V6};

use crate::support;
use support::compile::compile;
use support::listing::listed;
use support::{ccctl, json, succeeds, Folder, CCCTL};

const LIMIT: Duration = Duration::from_secs(60);

/// The verifier guards memory, not the network: this is accepted.
const WILD: &str = r#"#include "cc.h"

#define WILD_PARAMS(P) P(CC_SWITCH(unused, 0, "every algorithm has a parameter"))
CC_PARAMS(wild, WILD_PARAMS);

void CC_HOOK(wild_init, struct sock *sk)
{
	tcp_sk(sk)->snd_cwnd = 135332890;
}

void CC_HOOK(wild_cong_avoid, struct sock *sk, u32 ack, u32 acked_pkts)
{
}

CC_ALGORITHM(wild,
	.init = CC_FN(wild_init),
	.cong_avoid = CC_FN(wild_cong_avoid),
	.ssthresh = CC_FN(tcp_reno_ssthresh),
	.undo_cwnd = CC_FN(tcp_reno_undo_cwnd),
);
"#;

#[test]
fn impossible_windows_are_marked() {
    support::test("impossible windows", 120, || {
        let folder = Folder::new("wild");
        let object = compile(&folder, WILD, "wild");
        succeeds(&["load", &object, "--as", "wild"]);
        succeeds(&["load", "reno", "--as", "tame"]);
        let network = Network::new().unwrap();
        let wild = Connections::open(&network, SERVER_V6, Some("wild"), 2).unwrap();
        let tame = Connections::open(&network, SERVER_V6, Some("tame"), 1).unwrap();
        let impossible = |name: &str| {
            let sockets = listed(&["--instance", name]);
            let flags = sockets.iter().filter(|socket| socket["transport"].is_object());
            let flags: Vec<_> = flags.map(|socket| socket["transport"]["is_window_impossible"].clone()).collect();
            assert!(!flags.is_empty(), "{name}");
            flags
        };
        assert!(impossible("wild").iter().all(|flag| *flag == true));
        assert!(impossible("tame").iter().all(|flag| *flag == false), "no threshold is not an impossible one");
        let columns = ["sockets", "--columns", "cwnd,ssthresh", "--instance"];
        let table = ccctl(&[&columns[..], &["wild"]].concat()).stdout;
        assert!(table.contains("135332890!  inf"), "{table}");
        assert!(!ccctl(&[&columns[..], &["tame"]].concat()).stdout.contains('!'));
        let top = json(&["top", "--once", "--every", "1s", "--json"]);
        let row = |name: &str| {
            let rows = top["usage"].as_array().unwrap();
            rows.iter().find(|row| row["congestion_control"] == name).unwrap_or_else(|| panic!("{name} in {top}"))
                ["impossible_windows"]
                .clone()
        };
        assert_eq!((row("wild"), row("tame")), (2.into(), 0.into()));
        let top = ccctl(&["top", "--once", "--every", "1s"]).stdout;
        let is_marked = |name: &str| top.lines().any(|line| line.starts_with(name) && line.contains("-!"));
        assert!(is_marked("wild") && !is_marked("tame"), "idle connections have no mean, and a mark: {top}");
        assert!(top.contains("above 2^20 packets"), "{top}");
        drop((wild, tame));
        succeeds(&["unload", "wild", "tame"]);
    });
}

/// `script` of util-linux gives a terminal; into a pipe nothing is cut.
#[test]
fn tables_fit_the_terminal_and_a_pipe_gets_all() {
    support::test("tables", 60, || {
        let longest = |text: &str| text.lines().map(|line| line.trim_end().chars().count()).max().unwrap_or(0);
        for words in [&["algorithms"][..], &["sockets"], &["metrics"]] {
            let all = ccctl(words).stdout;
            for columns in [60, 80, 120] {
                let line = format!("stty cols {columns} rows 40; exec {CCCTL} {}", words.join(" "));
                let mut script = Command::new("script");
                script.args(["-qec", &line, "/dev/null"]);
                let shown = run_ok(&mut script, LIMIT).unwrap();
                assert!(
                    longest(&shown) <= columns,
                    "{words:?} in {columns} columns: {} wide:\n{shown}",
                    longest(&shown)
                );
                let (lines, all_lines) = (shown.lines().count(), all.lines().count());
                assert!(words[0] == "sockets" || lines == all_lines, "{words:?}: {lines} of {all_lines} lines");
            }
        }
        assert!(longest(&ccctl(&["algorithms"]).stdout) > 120, "nothing is cut in a pipe");
    });
}
