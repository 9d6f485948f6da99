// SPDX-License-Identifier: MIT OR Apache-2.0
//! What rules cost a new connection: time with no program, with one that does nothing, and with 1, 10 and 1,000 rules, in turns.
//! In a guest in virtual time (`scripts/bench-exact`) a nanosecond is an instruction.
//!
//! Two kinds of connections: the handshake alone, ended by a reset, than which nothing is shorter; and one that carries a
//! request of 100 bytes and an answer of 1,000. One thread on one processor does the work of both ends, so that all of it
//! is in the time that is measured; where both are in cgroups with rules, a connection meets two of them.
#![allow(clippy::unwrap_used)] // a benchmark fails by panicking

mod measure;
#[path = "../tests/suite/support/mod.rs"]
mod support;

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread::sleep;
use std::time::{Duration, Instant};

use ccctl_loader::{recover, remove_all, rule_usage, set_rules, CgroupPath, Conditions, Selector};
use ccctl_testbed::{close_with_reset, Cgroup, EmptySockops, Namespace};
use measure::{aim, aims, form, machine, note, Form, Sample};
use nix::sched::{sched_setaffinity, CpuSet};
use nix::unistd::Pid;

const PATIENCE: Duration = Duration::from_secs(30);
/// More than without any program, in percent: a rule for others, one that matches at both ends, and at one.
const OTHER_AIM_PCT: f64 = 0.7;
const BOTH_AIM_PCT: f64 = 2.5;
const ONE_AIM_PCT: f64 = 1.5;

struct Plan {
    rounds: usize,
    connections: usize,
}

/// The kernel takes down in the background what rules and looks at them have left.
const SETTLING: Duration = Duration::from_millis(500);

const FULL: Plan = Plan { rounds: 60, connections: 500 };
const SMOKE: Plan = Plan { rounds: 1, connections: 50 };
const EXACT: Plan = Plan { rounds: 4, connections: 250 };

/// What is in force while connections are made.
struct Setting {
    what: &'static str,
    /// A program that does nothing.
    empty: bool,
    /// Rules for cgroups that no connection is in.
    others: usize,
    /// Rules for the cgroup of the connections: for any peer, or as many more with prefixes and ports around theirs.
    own: usize,
}

const fn rules(what: &'static str, others: usize, own: usize) -> Setting {
    Setting { what, empty: false, others, own }
}

/// Indices of [`SETTINGS`] with an aim.
const OTHER: usize = 2;
const MATCHING: usize = 3;
const SETTINGS: [Setting; 7] = [
    rules("no program", 0, 0),
    Setting { what: "a program that does nothing", empty: true, others: 0, own: 0 },
    rules("1 rule, for another cgroup", 1, 0),
    rules("1 rule, which matches", 0, 1),
    rules("10 rules, one matches", 9, 1),
    rules("1,000 rules, one matches", 999, 1),
    rules("1,000 rules, 6 of them around its peer and port", 994, 6),
];

/// What a connection is for.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Handshake,
    Request,
}

fn main() {
    let plan = match form() {
        Form::Full => FULL,
        Form::Smoke => SMOKE,
        Form::Exact => EXACT,
    };
    support::test("policy", 1200, || {
        support::claim_rules();
        let bed = Bed::new();
        println!("{}; {} rounds of {} connections over loopback.", machine(), plan.rounds, plan.connections);
        println!("Cost: against the same round without program; median (quartiles).");
        let mut costs = Vec::new();
        for (kind, what) in [(Kind::Handshake, "handshake"), (Kind::Request, "request and answer")] {
            for (ends, server, limit) in
                [("the client's end", &bed.other, ONE_AIM_PCT), ("both ends", &bed.own, BOTH_AIM_PCT)]
            {
                println!("\n| {what}, rules at {ends} | us | cost, ns | cost, % |\n| --- | --- | --- | --- |");
                costs.push((format!("{what}, {ends}"), limit, bed.measure(&plan, kind, server)));
            }
        }
        aims();
        for (what, limit, costs) in costs {
            for (setting, cost) in SETTINGS.iter().zip(&costs).skip(1) {
                note(&format!("{what}: {}, more", setting.what), cost.ns, "ns");
            }
            aim(&format!("{what}: {}", SETTINGS[OTHER].what), costs[OTHER].pct, OTHER_AIM_PCT, " %");
            aim(&format!("{what}: {}", SETTINGS[MATCHING].what), costs[MATCHING].pct, limit, " %");
        }
        remove_all(&recover(PATIENCE).unwrap().lock, false).unwrap();
    });
}

/// More than with no program.
struct Cost {
    ns: f64,
    pct: f64,
}

/// Where connections are made.
struct Bed {
    namespace: Namespace,
    own: Cgroup,
    other: Cgroup,
}

impl Bed {
    fn new() -> Self {
        let mut first = CpuSet::new();
        first.set(0).unwrap();
        sched_setaffinity(Pid::from_raw(0), &first).unwrap();
        let namespace = Namespace::new("policy").unwrap();
        // what rules give, too: the algorithms themselves must not differ
        namespace.set_sysctl("net/ipv4/tcp_congestion_control", "reno").unwrap();
        Bed { namespace, own: Cgroup::new("own").unwrap(), other: Cgroup::new("other").unwrap() }
    }

    /// What each setting costs a connection more than no program.
    fn measure(&self, plan: &Plan, kind: Kind, server: &Cgroup) -> Vec<Cost> {
        let listener = support::policy::listen(server, &self.namespace, "127.0.0.1");
        let [mut times, mut costs_ns, mut costs_pct] = [(); 3].map(|()| vec![Sample::default(); SETTINGS.len()]);
        for round in 0..plan.rounds {
            let mut each_ns = [0.0; SETTINGS.len()];
            for step in 0..SETTINGS.len() {
                let index = (step + round) % SETTINGS.len(); // none of them is always the first
                let _empty = self.put(&SETTINGS[index]);
                let time = self.connect(plan.connections, kind, &listener, &SETTINGS[index]);
                each_ns[index] = time.as_secs_f64() * 1e9 / plan.connections as f64;
            }
            for (index, time_ns) in each_ns.iter().enumerate() {
                times[index].add(time_ns / 1e3);
                costs_ns[index].add(time_ns - each_ns[0]);
                costs_pct[index].add((time_ns / each_ns[0] - 1.0) * 100.0);
            }
        }
        for (index, setting) in SETTINGS.iter().enumerate() {
            let cells = [times[index].middle_cell(1), costs_ns[index].middle_cell(0), costs_pct[index].middle_cell(1)];
            println!("| {} | {} |", setting.what, cells.join(" | "));
        }
        let costs = costs_ns.iter().zip(&costs_pct);
        costs.map(|(ns, pct)| Cost { ns: ns.median(), pct: pct.median() }).collect()
    }

    fn put(&self, setting: &Setting) -> Option<EmptySockops> {
        let lock = recover(PATIENCE).unwrap().lock;
        let of = |path: &str, to: Option<&str>, to_port| Selector {
            cgroup: CgroupPath::parse(path).unwrap(),
            to: to.map(|to| to.parse().unwrap()),
            to_port,
            conditions: Conditions::default(),
        };
        let around = [
            (None, None),
            (None, Some(1)),
            (Some("127.0.0.0/8"), Some(1)),
            (Some("127.0.0.0/24"), Some(1)),
            (Some("127.0.0.1/32"), Some(1)),
            (Some("0.0.0.0/0"), Some(1)),
        ];
        let own = around[..setting.own].iter().map(|(to, port)| of(self.own.path(), *to, *port));
        let others = (0..setting.others).map(|number| of(&format!("/elsewhere/{number}.service"), None, None));
        let wanted: Vec<_> = own.chain(others).map(|selector| (selector, "reno".to_owned())).collect();
        set_rules(&lock, &wanted).unwrap();
        setting.empty.then(|| EmptySockops::attach().unwrap())
    }

    fn connect(&self, count: usize, kind: Kind, listener: &TcpListener, setting: &Setting) -> Duration {
        let to = listener.local_addr().unwrap();
        let work = || {
            self.namespace.enter(|| {
                is_as_meant(listener, to, setting);
                sleep(SETTLING);
                let started = Instant::now();
                for _ in 0..count {
                    let mut client = TcpStream::connect(to).unwrap();
                    let (mut server, _) = listener.accept().unwrap();
                    if kind == Kind::Request {
                        exchange(&mut client, &mut server);
                    }
                    close_with_reset(&client).unwrap();
                    drop((server, client));
                }
                started.elapsed()
            })
        };
        self.own.enter(work).unwrap().unwrap()
    }
}

fn exchange(client: &mut TcpStream, server: &mut TcpStream) {
    let mut buffer = [0; 1000];
    client.write_all(&buffer[..100]).unwrap();
    server.read_exact(&mut buffer[..100]).unwrap();
    server.write_all(&buffer).unwrap();
    client.read_exact(&mut buffer).unwrap();
    server.shutdown(Shutdown::Write).unwrap();
    assert_eq!(client.read(&mut buffer).unwrap(), 0, "the end of the answer");
}

/// One connection, to see that it meets a rule where it should.
fn is_as_meant(listener: &TcpListener, to: SocketAddr, setting: &Setting) {
    let client = TcpStream::connect(to).unwrap();
    let _server = listener.accept().unwrap();
    let met = !rule_usage().unwrap().is_empty();
    assert_eq!(met, setting.own > 0, "{}", setting.what);
    close_with_reset(&client).unwrap();
}
