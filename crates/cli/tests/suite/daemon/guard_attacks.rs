// SPDX-License-Identifier: MIT OR Apache-2.0
//! What users without privileges and remote peers try to make the guard disable an instance that works well.

use crate::daemon::guard::{
    cut_from, guard, instance_with_rule, soon, tripped, watched, windows_end, Traffic, COUNT, SERVER,
};
use crate::support;
use crate::support::policy;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use ccctl_testbed::{connect, Cgroup, Network, CLIENT_V4, SERVER_V4, SERVER_V6};
use policy::{listen, pair, Pair};
use support::compile::compile;
use support::daemon::Daemon;
use support::process::Process;
use support::{established, Folder};

const PATIENCE: Duration = Duration::from_secs(30);
/// Windows that nothing may trip in; three bad ones would do.
const WATCHED: u64 = 8;

/// Opens connections over a loopback of its own with an algorithm that it names, takes the loopback down, and writes.
const STALLED_BY_CHOICE: &str = r#"
    use Socket; $| = 1;
    my ($count, $algorithm) = @ARGV;
    system("ip link set lo up") == 0 or die "no loopback";
    my ($listener, @held);
    socket($listener, PF_INET, SOCK_STREAM, 0) && bind($listener, sockaddr_in(0, INADDR_LOOPBACK))
        && listen($listener, $count) or die $!;
    for (1 .. $count) {
        my ($client, $server);
        socket($client, PF_INET, SOCK_STREAM, 0) && setsockopt($client, 6, 13, $algorithm)
            && setsockopt($client, SOL_SOCKET, SO_LINGER, pack("ii", 1, 0)) # the kernel forgets them when the process ends
            && connect($client, getsockname($listener)) or die $!;
        accept($server, $listener) or die $!;
        push @held, $client, $server;
    }
    system("ip link set lo down") == 0 or die "the loopback stays up";
    for (my $i = 0; $i < @held; $i += 2) { syswrite($held[$i], 'x' x 20000) or die $! }
    print scalar(@held) / 2, "\n";
    sleep 120;
"#;

struct Attacker(Process);

impl Attacker {
    /// The user nobody, in a user namespace and a network namespace of its own.
    fn start(count: usize, algorithm: &str) -> Self {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "unshare", "-Urn", "--kill-child"]);
        command.args(["perl", "-e", STALLED_BY_CHOICE, &count.to_string(), algorithm]).stdout(Stdio::piped());
        let mut attacker = Self(Process::start(&mut command));
        let mut line = String::new();
        BufReader::new(attacker.0 .0.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line.trim(), count.to_string());
        attacker
    }

    /// How many sockets of the namespace use the algorithm. Whoever wants to see one of a user's names it.
    fn sockets_of(&self, algorithm: &str) -> usize {
        let namespace = format!("/proc/{}/ns/net", self.0.id());
        let found = support::json(&["sockets", "--netns", &namespace, "--instance", algorithm, "--json"]);
        found["sockets"].as_array().unwrap().len()
    }
}

#[track_caller]
fn stays_in_use(daemon: &Daemon, name: &str) {
    soon("it is judged", daemon, || watched(daemon, name).is_some_and(|one| one["is_judged"] == true));
    windows_end(daemon, WATCHED);
    assert_eq!(tripped(daemon), [""; 0], "{}", daemon.log());
    let now = watched(daemon, name).unwrap();
    assert_eq!((&now["is_judged"], &now["bad_windows"]), (&true.into(), &0.into()), "{now:#}");
}

#[test]
fn attack_of_a_user_with_60_stalled_connections_in_a_namespace_of_its_own() {
    support::test("guard: own namespace", 120, || {
        let (path, service) = (Network::new().unwrap(), Cgroup::new("service").unwrap());
        let daemon = Daemon::start("attack", &instance_with_rule("kguard", &service));
        let _traffic = Traffic::start(&service, &path);
        let attacker = Attacker::start(60, "kguard");
        assert!(attacker.sockets_of("kguard") >= 60);
        stays_in_use(&daemon, "kguard");
        assert_eq!(watched(&daemon, "kguard").unwrap()["window"]["active"], COUNT);
        assert_eq!(established(&path.client, "kguard"), COUNT);
        daemon.json(&["down", "--json"]);
    });
}

#[test]
fn attack_with_60_stalled_connections_that_chose_the_instance_themselves() {
    support::test("guard: own choice", 120, || {
        let (path, other_path) = (Network::new().unwrap(), Network::new().unwrap());
        let (service, outside) = (Cgroup::new("service").unwrap(), Cgroup::new("outside").unwrap());
        let daemon = Daemon::start("choice", &instance_with_rule("kguard", &service));
        let _traffic = Traffic::start(&service, &path);
        let listener = listen(&outside, &other_path.server, SERVER);
        let to = listener.local_addr().unwrap().to_string();
        let open = || {
            let client = other_path.client.enter(|| connect(&to, Some("kguard"), PATIENCE).unwrap()).unwrap();
            Pair { client, server: listener.accept().unwrap().0 }
        };
        let chosen: Vec<Pair> = outside.enter(|| (0..60).map(|_| open()).collect()).unwrap();
        let ends = chosen.into_iter().map(|pair| (pair.client, pair.server)).collect();
        let _stalling = Traffic::of(ends);
        cut_from(&other_path.server, CLIENT_V4, "add");
        stays_in_use(&daemon, "kguard");
        assert_eq!(watched(&daemon, "kguard").unwrap()["window"]["active"], COUNT);
        daemon.json(&["down", "--json"]);
    });
}

/// Connections that a server in this cgroup has accepted, and sends on.
fn served(cgroup: &Cgroup, outside: &Cgroup, network: &Network, address: &str, count: usize) -> Traffic {
    let listener = listen(cgroup, &network.server, address);
    let pairs = (0..count).map(|_| pair(outside, network, &listener, address));
    Traffic::of(pairs.map(|pair| (pair.server, pair.client)).collect())
}

#[test]
fn attack_of_a_peer_with_40_silent_connections_beside_25_good_ones() {
    // an impossible window, as a kernel that leaves hooks out makes it, is not counted as stalled
    support::exact("guard: silent peer", 120, || {
        let (good, silent) = (Network::new().unwrap(), Network::new().unwrap());
        let (service, outside) = (Cgroup::new("service").unwrap(), Cgroup::new("outside").unwrap());
        let daemon = Daemon::start("silent", &instance_with_rule("kguard", &service));
        let _good = served(&service, &outside, &good, SERVER_V4, 25);
        let _silent = served(&service, &outside, &silent, SERVER_V6, 40);
        soon("all 65 are judged", &daemon, || {
            watched(&daemon, "kguard").is_some_and(|one| one["window"]["active"] == 65)
        });
        // the peer hears nothing, and says nothing, any more
        cut_from(&silent.client, SERVER_V6, "add");
        soon("they are stalled", &daemon, || {
            watched(&daemon, "kguard").is_some_and(|one| one["window"]["stalled"] == 40)
        });
        stays_in_use(&daemon, "kguard");
        let log = daemon.log();
        let told = "not counted, since it comes from few peers, one user or one cgroup: stalled 40 of 65";
        assert!(log.contains(told), "{log}");
        assert_eq!(established(&good.server, "kguard"), 25);

        // the same from all peers is the instance's
        cut_from(&good.client, SERVER_V4, "add");
        soon("it has tripped", &daemon, || tripped(&daemon) == ["kguard"]);
        daemon.json(&["down", "--json"]);
    });
}

/// Sets a window of 2,000,000 packets at each ACK, after what repairs windows has looked.
const WIDE: &str = r#"
    #include "cc.h"
    #define WIDE_PARAMS(P) P(CC_PARAM(window_pkts, 2000000, 2, 4000000, "pkts", "every window"))
    CC_PARAMS(wide, WIDE_PARAMS);
    void CC_HOOK(wide_cong_avoid, struct sock *sk, u32 ack, u32 acked_pkts)
    {
        tcp_sk(sk)->snd_cwnd = wide_params()->window_pkts;
    }
    u32 CC_HOOK(wide_ssthresh, struct sock *sk) { return 10; }
    CC_ALGORITHM(wide, .cong_avoid = CC_FN(wide_cong_avoid), .ssthresh = CC_FN(wide_ssthresh),
                 .undo_cwnd = CC_FN(tcp_reno_undo_cwnd), );
"#;

/// A window of 2,000,000 packets is more than 1.5 GB, and no network has that.
#[test]
fn an_instance_whose_connections_have_impossible_windows_is_disabled() {
    support::test("guard: impossible windows", 120, || {
        let (path, service) = (Network::new().unwrap(), Cgroup::new("service").unwrap());
        let folder = Folder::new("wide");
        let object = compile(&folder, WIDE, "wide");
        let config = instance_with_rule("kguard", &service).replace("\"cubic\"", &format!("\"{object}\""));
        let daemon = Daemon::start("impossible", &config);
        let _traffic = Traffic::start(&service, &path);
        soon("it has tripped", &daemon, || tripped(&daemon) == ["kguard"]);
        let answer = guard(&daemon);
        let why = answer["tripped"][0]["why"].as_str().unwrap();
        assert!(why.contains("impossible windows ") && why.contains(" active connections (limit 10 %)"), "{why}");
        assert!(!why.contains("stalled") && !why.contains("retransmissions"), "{why}");
        daemon.json(&["down", "--json"]);
    });
}
