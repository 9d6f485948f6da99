// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `ccctl sockets` tells of a socket: the transport's values against `ss`, the algorithm's state against constants
//! that an algorithm of this test's own has written there, whatever happens to its name.

use crate::support;
use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::Command;
use std::time::Duration;

use ccctl_loader::{socket_totals, AlgorithmTotals, SocketFilter};
use ccctl_testbed::{eventually, run_ok, Connections, Network, SERVER_V4, SERVER_V6};
use serde_json::{json as value, Value};
use support::compile::compile;
use support::connection::used;
use support::listing::{listed, ss, Line};
use support::{json, succeeds, Folder};

const SILENCE: Duration = Duration::from_secs(20);

/// Every value that both tell is the same, exactly.
fn agrees(line: &Line, socket: &Value) -> Result<(), String> {
    assert_eq!((&socket["source"], &socket["destination"]), (&line.local.clone().into(), &line.remote.clone().into()));
    let more =
        [("unsent_bytes", "notsent"), ("segments_sent_pkts", "segs_out"), ("data_segments_sent_pkts", "data_segs_out")];
    let mut values = line.values();
    values.extend(more.map(|(key, of_ss)| (key.to_owned(), line.number(of_ss).into())));
    for (key, expected) in &values {
        if socket["transport"][key] != *expected {
            return Err(format!("{key}: ss has {expected}, ccctl {}: {line:?}", socket["transport"][key]));
        }
    }
    Ok(())
}

#[test]
fn quiet_connections_show_what_ss_shows() {
    support::test("values", 120, || {
        succeeds(&["load", "cubic"]);
        let network = Network::with_bottleneck(40, 30_000).unwrap();
        let uses = [(SERVER_V4, "bpf_cubic"), (SERVER_V6, "bpf_cubic"), (SERVER_V4, "reno"), (SERVER_V6, "bbr")];
        let held = uses.map(|(address, algorithm)| used(&network, address, algorithm, 3_000_000));
        let fresh = Connections::open(&network, SERVER_V4, Some("bpf_cubic"), 2).unwrap();
        // one whose receiver does not read: unsent data stay
        let (mut stuck, silent) = used(&network, SERVER_V4, "reno", 1);
        stuck.set_write_timeout(Some(Duration::from_millis(300))).unwrap();
        let block = vec![7; 65536];
        while stuck.write(&block).is_ok() {}
        let mut compared = 0;
        for namespace in [&network.client, &network.server] {
            let words = ["--netns", namespace.name(), "--tcp-state", "established"];
            compared += eventually(SILENCE, || {
                let lines = ss(namespace);
                let sockets = listed(&words);
                let find = |cookie: u64| sockets.iter().find(|socket| socket["cookie"] == cookie);
                lines.iter().try_for_each(|(cookie, line)| agrees(line, find(*cookie).ok_or("not listed")?))?;
                Ok::<_, String>(lines.len())
            })
            .unwrap();
        }
        assert_eq!(compared, 2 * (held.len() + fresh.count() + 1));
        let all = listed(&["--netns", network.client.name()]);
        let sum = |key: &str| all.iter().map(|socket| socket["transport"][key].as_u64().unwrap_or(0)).sum::<u64>();
        assert!(
            sum("retransmits_pkts") > 0 && sum("unsent_bytes") > 100_000,
            "nothing was lost, or nothing waits: {all:?}"
        );
        assert!(all.iter().any(|socket| socket["transport"]["ssthresh_pkts"].is_null()), "infinite: {all:?}");
        drop((held, fresh, stuck, silent, network));
        succeeds(&["unload", "bpf_cubic"]);
    });
}

/// Sums as the kernel adds them up, for one algorithm of one namespace.
fn totals(network: &Network, algorithm: &str) -> AlgorithmTotals {
    let namespace = Some(network.client.name().to_owned());
    let filter = SocketFilter { namespace, ..SocketFilter::of_kernel_name(algorithm) };
    let (sums, unreadable) = socket_totals(&filter).unwrap();
    assert!(unreadable.is_empty(), "{unreadable:?}");
    assert_eq!(sums.len(), 1, "{sums:?}");
    sums.into_iter().next().unwrap()
}

#[test]
fn sums_are_those_of_the_sockets_and_a_dead_path_shows() {
    support::test("sums", 60, || {
        let network = Network::with_bottleneck(40, 30_000).unwrap();
        let mut held: Vec<_> = (0..3).map(|_| used(&network, SERVER_V4, "reno", 500_000)).collect();
        let words = ["--netns", network.client.name(), "--instance", "reno"];
        let sum = |key: &str| listed(&words).iter().map(|one| one["transport"][key].as_u64().unwrap()).sum::<u64>();
        eventually(SILENCE, || if sum("in_flight_bytes") == 0 { Ok(()) } else { Err("not quiet") }).unwrap();
        let quiet = totals(&network, "reno");
        assert_eq!((quiet.sockets, quiet.sending, quiet.map_id), (3, 0, 0), "{quiet:?}");
        assert_eq!(quiet.segments_out, sum("segments_sent_pkts"));
        assert_eq!(quiet.retransmits_pkts, sum("retransmits_pkts"));

        let cut = ["-n", network.server.name(), "link", "set", "veth0", "down"];
        run_ok(Command::new("ip").args(cut), SILENCE).unwrap();
        held[0].0.write_all(b"into the void").unwrap();
        let dead = eventually(SILENCE, || match totals(&network, "reno") {
            sums if (sums.sending, sums.in_loss, sums.in_backoff) == (1, 1, 1) => Ok(sums),
            sums => Err(format!("{sums:?}")),
        });
        assert!(dead.unwrap().timeouts > quiet.timeouts);
        let lost: Vec<Value> =
            listed(&words).into_iter().filter(|one| one["transport"]["ca_state"] == "loss").collect();
        assert_eq!(lost.len(), 1, "{lost:?}");
        assert_eq!(lost[0]["transport"]["in_flight_bytes"], 13, "{lost:?}");
        assert!(lost[0]["transport"]["rto_backoffs"].as_u64() > Some(0), "{lost:?}");
    });
}

/// Every kind of field: signed and unsigned, each width, arrays, structs within structs, at the ends of their ranges.
const CONSTANTS: &str = r#"
#include "cc.h"

#define CONSTANTS_PARAMS(P) P(CC_PARAM(ssthresh_pkts, 2, 2, 9, "pkts", "window after a loss"))
CC_PARAMS(constants, CONSTANTS_PARAMS);

struct constants_inner {
	s16 low;
	u64 high_ns;
};

struct constants_state {
	u32 first_pkts;
	s32 negative_us;
	u64 wide_ns;
	s64 smallest_us;
	u8 byte;
	bool flag;
	u16 half[3];
	struct constants_inner inner;
};
CC_STATE_STRUCT(constants);

void CC_HOOK(constants_init, struct sock *sk)
{
	struct constants_state *state = CC_STATE(constants, sk);

	state->first_pkts = 4000000000U;
	state->negative_us = -12;
	state->wide_ns = 0xfffffffffffffffeULL;
	state->smallest_us = (s64)0x8000000000000000ULL;
	state->byte = 200;
	state->flag = true;
	state->half[0] = 1;
	state->half[1] = 65535;
	state->half[2] = 3;
	state->inner.low = -32768;
	state->inner.high_ns = 0x0123456789abcdefULL;
}

void CC_HOOK(constants_cong_avoid, struct sock *sk, u32 ack, u32 acked_pkts)
{
}

u32 CC_HOOK(constants_ssthresh, struct sock *sk)
{
	return constants_params()->ssthresh_pkts;
}

CC_ALGORITHM(constants,
	.init = CC_FN(constants_init),
	.cong_avoid = CC_FN(constants_cong_avoid),
	.ssthresh = CC_FN(constants_ssthresh),
	.undo_cwnd = CC_FN(tcp_reno_undo_cwnd),
);
"#;

fn written() -> Value {
    value!({
        "first_pkts": 4_000_000_000_u32,
        "negative_us": -12,
        "wide_ns": 0xffff_ffff_ffff_fffe_u64,
        "smallest_us": i64::MIN,
        "byte": 200,
        "flag": 1,
        "half[0]": 1,
        "half[1]": 65535,
        "half[2]": 3,
        "inner.low": -32768,
        "inner.high_ns": 0x0123_4567_89ab_cdef_u64,
    })
}

/// Programs and states of all sockets of a name, and whether they are old.
fn states(name: &str) -> Vec<(Value, bool, Value)> {
    let sockets = listed(&["--instance", name]);
    let old = |socket: &Value| socket["is_on_old_program"].as_bool().unwrap();
    sockets.iter().map(|one| (one["algorithm"].clone(), old(one), one["algorithm_state"].clone())).collect()
}

#[test]
fn the_algorithms_state_through_its_own_btf() {
    support::test("state", 120, || {
        let folder = Folder::new("state");
        let object = compile(&folder, CONSTANTS, "constants");
        succeeds(&["load", &object, "--as", "told"]);
        let network = Network::new().unwrap();
        let first = Connections::open(&network, SERVER_V6, Some("told"), 3).unwrap();
        let constants = |old| (value!("constants"), old, written());
        assert_eq!(states("told"), vec![constants(false); 3]);
        let wide = succeeds(&["sockets", "--instance", "told", "--columns", "algorithm-state"]);
        assert!(wide.contains("smallest_us=-9223372036854775808 byte=200 flag=1 half[0]=1 half[1]=65535"), "{wide}");

        succeeds(&["swap", "told", "--with", "htcp"]);
        assert_eq!(states("told"), vec![constants(true); 3], "after a swap, with the layout of before");
        let second = used(&network, SERVER_V4, "told", 300_000);
        let of_htcp: Vec<_> = states("told").into_iter().filter(|(program, ..)| program == "htcp").collect();
        let [(_, false, state)] = &of_htcp[..] else { panic!("{of_htcp:?}") };
        let declared = json(&["show", "htcp", "--json"])["state_fields"].clone();
        let names: BTreeSet<&str> =
            declared.as_array().unwrap().iter().map(|field| field["name"].as_str().unwrap()).collect();
        assert_eq!(names, state.as_object().unwrap().keys().map(String::as_str).collect());
        let [min_us, max_us] = ["min_rtt_us", "max_rtt_us"].map(|key| state[key].as_u64().unwrap());
        assert!(0 < min_us && min_us <= max_us && max_us < 10_000_000, "{state}");

        succeeds(&["unload", "told", "--force"]);
        let left = states("told");
        assert_eq!(
            left.iter()
                .filter(|(program, old, state)| (program.clone(), *old, state.clone()) == constants(true))
                .count(),
            3
        );
        assert_eq!(left.iter().filter(|(program, old, _)| program == "htcp" && *old).count(), 1, "{left:?}");
        let table = succeeds(&["sockets", "--instance", "told"]);
        assert_eq!(table.matches("told (old program)").count(), 4, "{table}");

        json(&["migrate", "--instance", "told", "--to", "reno", "--json"]);
        let moved = listed(&["--instance", "reno", "--netns", network.client.name()]);
        assert_eq!(moved.len(), 4);
        for socket in &moved {
            assert_eq!(
                (&socket["algorithm"], &socket["map_id"], &socket["algorithm_state"]),
                (&Value::Null, &Value::Null, &Value::Null)
            );
        }
        drop((first, second));
    });
}
