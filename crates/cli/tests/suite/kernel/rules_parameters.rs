// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parameters that rules give their connections alone. Rates are those that the kernel paces a socket at (`TCP_INFO`): `fixed`
//! paces at its rate from the beginning on, and is here without its fence, so that no daemon is needed.

use crate::support;
use crate::support::policy;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Duration;

use aya::maps::{HashMap, Map, MapData};
use ccctl_testbed::{algorithm_of, eventually, tcp_info, Cgroup, Network, SERVER_V4, SERVER_V6};
use policy::{assign, findings, listen, pair, rules, why, Pair};
use serde_json::{json, Value};
use support::compile::compile;
use support::{code, json, refuses, succeeds, Folder};

const LIMIT: Duration = Duration::from_secs(10);
const PIN: &str = "/sys/fs/bpf/ccctl/own-parameters";
/// 1 Mbit/s
const MBIT: u64 = 125_000;

/// `fixed` for everybody, with this in the place of a part of its text.
fn object(folder: &Folder, label: &str, (part, replacement): (&str, &str)) -> String {
    let source = include_str!("../../../../../bpf/algorithms/fixed.bpf.c");
    let fenced = "CC_FENCED_ALGORITHM(fixed, \"it keeps its rate, whatever other traffic loses\",";
    assert!(source.contains(fenced) && source.contains(part));
    compile(folder, &source.replace(fenced, "CC_ALGORITHM(fixed,").replace(part, replacement), label)
}

/// Loads it as `paced`, at 8 Mbit/s.
pub fn load(folder: &Folder) {
    let object = object(folder, "fixed", ("", ""));
    succeeds(&["load", &object, "--as", "paced", "--set", "rate=8mbit"]);
}

fn rule<'a>(cgroup: &'a Cgroup, words: &[&'a str]) -> Vec<&'a str> {
    [&["--cgroup", cgroup.path()], words].concat()
}

/// What the kernel paces a socket at, Mbit/s: whole ones here.
#[track_caller]
pub fn rate_mbit(stream: &TcpStream) -> u64 {
    let bytes_per_s = tcp_info(stream).unwrap().tcpi_pacing_rate;
    assert_eq!(bytes_per_s % MBIT, 0, "{bytes_per_s} bytes/s");
    bytes_per_s / MBIT
}

/// Carries bytes there and back, so that both ends see ACKs.
fn exchange(pair: &mut Pair) {
    for _ in 0..3 {
        pair.client.write_all(b"there").unwrap();
        pair.server.read_exact(&mut [0; 5]).unwrap();
        pair.server.write_all(b"back").unwrap();
        pair.client.read_exact(&mut [0; 4]).unwrap();
    }
}

/// Waits for a rate: the kernel may leave out the hook of an ACK.
#[track_caller]
fn has_rate(pair: &mut Pair, client_mbit: u64) {
    let rate = eventually(LIMIT, || {
        exchange(pair);
        match rate_mbit(&pair.client) {
            rate if rate == client_mbit => Ok(()),
            rate => Err(format!("{rate} Mbit/s, expected {client_mbit}")),
        }
    });
    rate.unwrap_or_else(|error| panic!("{error}"));
}

fn own(rate: &str) -> Value {
    json!([{ "name": "rate", "value_text": rate }])
}

#[test]
fn rules_give_the_connections_of_one_instance_rates_of_their_own() {
    support::test("parameters of rules", 90, || {
        let folder = Folder::new("parameters");
        load(&folder);
        let network = Network::new().unwrap();
        let names = ["front", "back", "other", "plain"];
        let [front, back, other, plain] = names.map(|name| Cgroup::new(name).unwrap());
        let early = listen(&back, &network.server, "::");
        assign(&rule(&front, &["paced", "--param", "rate=16mbit"]));
        assign(&rule(&back, &["paced|reno", "--param", "rate=24mbit", "--min-rto", "100ms"]));
        assign(&rule(&back, &["paced", "--port", "7", "--param", "rate=2mbit"]));
        assign(&rule(&other, &["paced"]));
        let late = listen(&back, &network.server, "::");
        assert_eq!(why(&late)["now"]["congestion_control"], "paced");
        let mut shared = Vec::new();
        for (listener, address) in [(&early, SERVER_V4), (&late, SERVER_V4), (&early, SERVER_V6), (&late, SERVER_V6)] {
            let mut one = pair(&front, &network, listener, address);
            assert_eq!([rate_mbit(&one.client), rate_mbit(&one.server)], [16, 24], "{address}");
            exchange(&mut one);
            assert_eq!([rate_mbit(&one.client), rate_mbit(&one.server)], [16, 24], "{address}");
            shared.push((one, pair(&other, &network, listener, address)));
        }
        for (own_rate, common) in &mut shared {
            assert_eq!([rate_mbit(&common.client), rate_mbit(&common.server)], [8, 24]);
            assert_eq!(findings(&own_rate.client), ["as_the_rule_says"]);
            assert_eq!(why(&own_rate.client)["met"]["own_parameters"], own("16mbit"));
            assert_eq!(why(&common.client)["met"]["own_parameters"], json!([]));
        }
        assert_eq!(algorithm_of(&pair(&plain, &network, &early, SERVER_V4).server).unwrap(), "paced");

        // only those without a rate of their own follow
        succeeds(&["tune", "paced", "rate=12mbit"]);
        for (own_rate, common) in &mut shared {
            has_rate(common, 12);
            has_rate(own_rate, 16);
            assert_eq!(rate_mbit(&own_rate.server), 24);
        }
        let (listed, text) = (rules(), succeeds(&["rules"]));
        assert_eq!(
            listed.iter().map(|rule| rule["own_parameters"].clone()).collect::<Vec<_>>(),
            [own("16mbit"), own("24mbit"), own("2mbit"), json!([])]
        );
        assert!(text.contains("paced|reno rate=24mbit, min_rto=100ms"), "{text}");
        let told = succeeds(&["why", "--cookie", &policy::cookie(&shared[0].0.client)]);
        assert!(told.contains("  own      rate=16mbit\n"), "{told}");
        drop((shared, early, late));
        succeeds(&["unassign", "--all"]);
        succeeds(&["unload", "paced"]);
        assert!(!fs::exists(PIN).unwrap());
    });
}

#[test]
fn live_connections_follow_their_rule_and_keep_their_data() {
    support::test("parameters of live connections", 90, || {
        let folder = Folder::new("parameters");
        load(&folder);
        let network = Network::new().unwrap();
        let [front, back] = ["front", "back"].map(|name| Cgroup::new(name).unwrap());
        let listener = listen(&back, &network.server, "::");
        let mut live = pair(&front, &network, &listener, SERVER_V6);
        let default = algorithm_of(&live.client).unwrap();
        let text =
            succeeds(&[&["assign", "paced", "--existing", "--param", "rate=16mbit"], &rule(&front, &[])[..]].concat());
        assert!(text.contains("gets paced rate=16mbit") && text.contains("parameters of 1 changed"), "{text}");
        for (words, mbit, changed) in [
            (&["paced", "--param", "rate=16mbit"][..], 16, 0),
            (&["paced", "--param", "rate=4mbit"], 4, 1),
            (&["paced"], 8, 1),
            (&["paced"], 8, 0),
            (&["paced|reno", "--param", "rate=4mbit"], 4, 1),
        ] {
            let answer = json(&[&["assign", "--existing", "--json"], &rule(&front, words)[..]].concat());
            let told = (&answer["existing"]["parameters_changed"], &answer["existing"]["failed"]);
            assert_eq!(told, (&json!(changed), &json!([])), "{words:?}: {answer}");
            assert_eq!((rate_mbit(&live.client), live.algorithms()[0].as_str()), (mbit, "paced"), "{words:?}");
            exchange(&mut live);
            assert_eq!((rate_mbit(&live.client), findings(&live.client)), (mbit, vec!["as_the_rule_says".to_owned()]));
        }

        // without --existing it keeps what it has, and says so
        let answer = json(&[&["assign", "--json"], &rule(&front, &["paced", "--param", "rate=20mbit"])[..]].concat());
        assert_eq!((&answer["own_parameters_before"], &answer["changed"]), (&own("4mbit"), &json!(true)), "{answer}");
        exchange(&mut live);
        assert_eq!((rate_mbit(&live.client), findings(&live.client)), (4, vec!["parameters_gone".to_owned()]));
        assert_eq!(rate_mbit(&pair(&front, &network, &listener, SERVER_V4).client), 20);

        succeeds(&["unassign", "--cgroup", front.path(), "--existing"]);
        assert_eq!(
            (live.algorithms()[0].as_str(), findings(&live.client)),
            (default.as_str(), vec!["no_rule".to_owned()])
        );
        // what the rule had given is forgotten: the instance's rate is in force
        succeeds(&["migrate", "--src", &live.client.local_addr().unwrap().to_string(), "--to", "paced"]);
        assert_eq!((live.algorithms()[0].as_str(), rate_mbit(&live.client)), ("paced", 8));
        exchange(&mut live);
        drop((live, listener));
        succeeds(&["unload", "paced", "--force"]);
    });
}

/// Writes what is expected without end, and reads it, until it is told to stop.
fn transfer(mut pair: Pair, stop: &Arc<AtomicBool>) -> std::thread::JoinHandle<u64> {
    let stop = Arc::clone(stop);
    std::thread::spawn(move || {
        let (mut carried, mut got) = (0_u64, [0; 8]);
        while !stop.load(Ordering::Relaxed) {
            pair.client.write_all(&carried.to_le_bytes()).unwrap();
            pair.server.read_exact(&mut got).unwrap();
            assert_eq!(u64::from_le_bytes(got), carried);
            carried += 1;
        }
        carried
    })
}

#[test]
fn own_rates_outlive_a_swap_and_the_migration_to_the_new_program() {
    support::test("parameters after a swap", 120, || {
        let folder = Folder::new("parameters");
        load(&folder);
        let newer = object(&folder, "newer", ("#define FIXED_SLOTS 5 ", "#define FIXED_SLOTS 4 "));
        let other = object(&folder, "other", ("125000, 62500, 4000000000", "125000, 62500, 3000000000"));
        let network = Network::new().unwrap();
        let [front, back] = ["front", "back"].map(|name| Cgroup::new(name).unwrap());
        let listener = listen(&back, &network.server, SERVER_V4);
        assign(&rule(&front, &["paced", "--dst", SERVER_V4, "--param", "rate=16mbit"]));
        let pairs: Vec<Pair> = (0..8).map(|_| pair(&front, &network, &listener, SERVER_V4)).collect();
        let observed: Vec<TcpStream> = pairs.iter().map(|pair| pair.client.try_clone().unwrap()).collect();
        let stop = Arc::new(AtomicBool::new(false));
        let transfers: Vec<_> = pairs.into_iter().map(|pair| transfer(pair, &stop)).collect();
        let have = |mbit: u64| assert_eq!(observed.iter().map(rate_mbit).collect::<Vec<_>>(), [mbit; 8]);
        let to_new = || {
            let answer = json(&["migrate", "--instance", "paced", "--to", "paced", "--dst", SERVER_V4, "--json"]);
            assert_eq!((&answer["moved"], &answer["failed"]), (&json!(8), &json!([])), "{answer}");
        };
        have(16);
        succeeds(&["swap", "paced", "--with", &newer, "--set", "rate=6mbit"]);
        have(16);
        to_new();
        have(16);
        assert_eq!(findings(&observed[0]), ["as_the_rule_says"]);
        assert_eq!(rate_mbit(&pair(&front, &network, &listener, SERVER_V4).client), 16);

        // a program that declares another range does not read values that were checked against this one
        succeeds(&["swap", "paced", "--with", &other, "--set", "rate=6mbit"]);
        to_new();
        have(6);
        assert_eq!(findings(&observed[0]), ["parameters_unread"]);
        assign(&rule(&front, &["paced", "--dst", SERVER_V4, "--param", "rate=16mbit", "--existing"]));
        have(16);
        stop.store(true, Ordering::Relaxed);
        let carried: Vec<u64> = transfers.into_iter().map(|one| one.join().unwrap()).collect();
        assert!(carried.iter().all(|count| *count > 0), "{carried:?}");
        drop((observed, listener));
        succeeds(&["unassign", "--all"]);
        succeeds(&["unload", "paced", "--force"]);
    });
}

/// A target and a bound of the gain, in the state that `sockets` shows.
#[test]
fn ledbatpp_has_two_parameters_per_connection() {
    support::test("parameters of ledbatpp", 60, || {
        succeeds(&["load", "ledbatpp"]);
        let network = Network::new().unwrap();
        let [front, back] = ["front", "back"].map(|name| Cgroup::new(name).unwrap());
        let listener = listen(&back, &network.server, SERVER_V4);
        assign(&rule(&front, &["ledbatpp", "--param", "gain_divisor_max=4", "--param", "target=25ms"]));
        assign(&rule(&back, &["ledbatpp", "--param", "target=40ms"]));
        let both = pair(&front, &network, &listener, SERVER_V4);
        let state = |stream: &TcpStream| {
            let words = ["sockets", "--cookie", &policy::cookie(stream), "--json"];
            let state = json(&words)["sockets"][0]["algorithm_state"].clone();
            (state["own_target_ms"].clone(), state["own_gain_divisor_max"].clone())
        };
        assert_eq!(state(&both.client), (json!(25), json!(4)));
        assert_eq!(state(&both.server), (json!(40), Value::Null));
        assert_eq!(why(&both.client)["met"]["own_parameters"].as_array().map(Vec::len), Some(2));
        drop((both, listener));
        succeeds(&["unassign", "--all"]);
        succeeds(&["unload", "bpf_ledbatpp"]);
    });
}

/// The map of them: `struct cc_own_params` by addresses of sockets.
type OwnParams = HashMap<MapData, u64, [u64; 8]>;

/// Elements of sockets that do not exist.
fn fill() -> OwnParams {
    let mut map = OwnParams::try_from(Map::HashMap(MapData::from_pin(PIN).unwrap())).unwrap();
    let mut key = 0;
    while map.insert(key, [0; 8], 0).is_ok() {
        key += 1;
    }
    assert_eq!(key, 65_536);
    map
}

/// With the rate of the instance it could send more than its rule allows.
#[test]
fn a_connection_that_finds_no_room_for_its_rate_does_not_get_the_algorithm() {
    support::test("no room for parameters", 60, || {
        let folder = Folder::new("parameters");
        load(&folder);
        let network = Network::new().unwrap();
        let [front, back] = ["front", "back"].map(|name| Cgroup::new(name).unwrap());
        let listener = listen(&back, &network.server, SERVER_V4);
        assign(&rule(&front, &["paced", "--param", "rate=16mbit"]));
        assign(&rule(&back, &["paced"]));
        let mut map = fill();
        let without = pair(&front, &network, &listener, SERVER_V4);
        let told = succeeds(&["why", "--cookie", &policy::cookie(&without.client)]);
        assert_ne!(without.algorithms()[0], "paced");
        assert_eq!(findings(&without.client), ["refused"]);
        assert!(told.contains("65536 connections have parameters: there is no room for its own"), "{told}");
        assert_eq!(rate_mbit(&without.server), 8, "one without a rate of its own needs no room");

        map.remove(&0).unwrap();
        let with = pair(&front, &network, &listener, SERVER_V4);
        assert_eq!((with.algorithms()[0].as_str(), rate_mbit(&with.client)), ("paced", 16));
        drop((without, with, listener));
        succeeds(&["unassign", "--all"]);
        succeeds(&["unload", "paced"]);
    });
}

#[test]
fn what_a_rule_cannot_give_is_refused_and_nothing_changes() {
    support::test("refused parameters", 60, || {
        let folder = Folder::new("parameters");
        load(&folder);
        succeeds(&["load", "cubic"]);
        let front = Cgroup::new("front").unwrap();
        for (words, parts) in [
            (&["paced", "--param", "rate=1kbit"][..], &["rate=1kbit: out of range", "500kbit to 32gbit"][..]),
            (&["paced", "--param", "rate=16"], &["a rate needs its unit", "or 16mbit"]),
            (&["paced", "--param", "max_sum_rate=1gbit"], &["a rule may set rate", "ccctl tune paced"]),
            (&["paced", "--param", "rat=1mbit"], &["no parameter \"rat\"", "did you mean rate?"]),
            (&["paced", "--param", "rate"], &["KEY=VALUE"]),
            (&["bpf_cubic", "--param", "beta=0.8"], &["bpf_cubic", "none per connection"]),
            (&["reno", "--param", "beta=0.8"], &["reno is not an instance"]),
            (&["paced=1,reno=1", "--param", "rate=16mbit"], &["for one algorithm", "paced=1,reno=1"]),
            (&["--min-rto", "50ms", "--param", "rate=16mbit"], &["for one algorithm"]),
        ] {
            refuses(&[&["assign"], &rule(&front, words)[..]].concat(), code::USAGE, parts);
        }
        assert!(rules().is_empty());
        // one whose program has another map, as when an earlier ccctl has loaded it
        fs::remove_file(PIN).unwrap();
        let words = [&["assign"], &rule(&front, &["paced", "--param", "rate=16mbit"])[..]].concat();
        refuses(&words, code::USAGE, &["paced cannot read parameters", "load it again"]);
        let newer = object(&folder, "newer", ("#define FIXED_SLOTS 5 ", "#define FIXED_SLOTS 4 "));
        succeeds(&["swap", "paced", "--with", &newer]);
        assign(&rule(&front, &["paced", "--param", "rate=16mbit"]));
        succeeds(&["unassign", "--all"]);
        succeeds(&["unload", "paced"]);
        succeeds(&["unload", "bpf_cubic"]);
    });
}
