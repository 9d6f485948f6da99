// SPDX-License-Identifier: MIT OR Apache-2.0
//! SIGKILL at any instant: what is there is whole, the next command works, and nothing stays behind.

use crate::support;
use std::process::Command;
use std::time::{Duration, Instant};

use ccctl_testbed::{Background, Connections, Network, SERVER_V6};
use support::{available, claim, json, listed, names, parameter, succeeds, Random, CCCTL};

const NAME: &str = "victim";
const SOCKETS: usize = 100;

/// The operations, and the state from which each starts: whether the instance is loaded.
const OPERATIONS: [(&[&str], bool); 6] = [
    (&["load", "cubic", "--as", NAME, "--set", "beta=0.8"], false),
    (&["load", "reno", "--as", NAME, "--default"], false),
    (&["swap", NAME, "--with", "scalable"], true),
    (&["tune", NAME, "beta=0.9", "c=0.9", "max_step_pkts=9"], true),
    (&["migrate", "--instance", NAME, "--to", "cubic"], true),
    (&["unload", NAME, "--migrate-to", "cubic"], true),
];

#[test]
fn kills_leave_nothing_half_done() {
    support::test("kills", 180, || {
        let kills = support::times(40, 100);
        let default = json(&["default", "--json"])["congestion_control"].as_str().unwrap().to_owned();
        let network = Network::new().unwrap();
        let durations = OPERATIONS.map(|operation| measure(&network, operation, &default));
        let mut random = Random(0x5eed_0fcc_0c71);
        let mut killed = 0;
        for round in 0..kills {
            let index = round % OPERATIONS.len();
            let (words, loaded) = OPERATIONS[index];
            let sockets = prepare(&network, loaded);
            let microseconds = random.below(durations[index].as_micros() as u64 * 11 / 10);
            claim(NAME);
            let mut process = Background::start(Command::new(CCCTL).args(words)).unwrap();
            std::thread::sleep(Duration::from_micros(microseconds));
            killed += usize::from(process.kill());
            is_consistent(&format!("round {round}: {words:?} killed after {microseconds} us"));
            drop(sockets);
            reset(&default);
        }
        succeeds(&["unload", "--all"]);
        println!("{killed} of {kills} were killed before their end; they take {durations:?}");
        assert!(killed > kills / 2, "only {killed} were killed in time: {durations:?}");
    });
}

fn measure(network: &Network, (words, loaded): (&[&str], bool), default: &str) -> Duration {
    let sockets = prepare(network, loaded);
    let started = Instant::now();
    succeeds(words);
    let elapsed = started.elapsed();
    drop(sockets);
    reset(default);
    elapsed
}

fn prepare(network: &Network, loaded: bool) -> Option<Connections> {
    loaded.then(|| {
        succeeds(&["load", "cubic", "--as", NAME]);
        Connections::open(network, SERVER_V6, Some(NAME), SOCKETS).unwrap()
    })
}

/// Either as before or as after, never between; and list, show and the kernel agree.
#[track_caller]
fn is_consistent(when: &str) {
    let listed_names = names();
    assert_eq!(listed_names.iter().any(|name| name == NAME), available(NAME), "{when}: {listed_names:?}");
    let Some(entry) = listed(NAME) else { return };
    let algorithm = entry["algorithm"].as_str().unwrap();
    assert!(["cubic", "reno", "scalable"].contains(&algorithm), "{when}: {entry}");
    if algorithm == "cubic" {
        let values = ["beta", "c", "max_step_pkts"].map(|key| parameter(NAME, key));
        let whole =
            [(0.7, 0.4, 0), (0.9, 0.9, 9), (0.8, 0.4, 0)].map(|(beta, c, step)| [beta.into(), c.into(), step.into()]);
        assert!(whole.contains(&values), "{when}: {values:?}");
    }
}

fn reset(default: &str) {
    if listed(NAME).is_some() {
        succeeds(&["unload", NAME, "--force"]);
    }
    assert!(!available(NAME));
    assert_eq!(json(&["default", "--json"])["congestion_control"], default);
}
