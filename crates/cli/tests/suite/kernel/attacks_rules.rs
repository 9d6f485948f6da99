// SPDX-License-Identifier: MIT OR Apache-2.0
//! What users without privileges try against rules.

use crate::support;
use crate::support::policy;
use std::process::{Command, Stdio};

use ccctl_testbed::{Cgroup, Network};
use policy::{assign, listen};
use serde_json::json;
use support::process::Process;
use support::{json, succeeds};

/// Fills the socket's option memory with keys for peers that it never talks to (`TCP_MD5SIG`, 14), connects, and tells
/// how many keys there was room for, its own port and its algorithm (`TCP_CONGESTION`, 13).
const FULL_CLIENT: &str = r#"
    use Socket; $| = 1;
    my ($address, $port) = @ARGV;
    socket(my $client, PF_INET, SOCK_STREAM, 0) or die "socket: $!";
    my $keys = 0;
    for my $i (1 .. 5000) {
        my $peer = pack('S n a4 x120', AF_INET, 0, pack('N', 0x0a630000 + $i));
        setsockopt($client, 6, 14, $peer . pack('C C S i a80', 0, 0, 1, 0, 'k')) or last;
        $keys++;
    }
    connect($client, sockaddr_in($port, inet_aton($address))) or die "connect: $!";
    my ($own) = sockaddr_in(getsockname($client));
    my ($algorithm) = unpack('Z*', getsockopt($client, 6, 13));
    print "$keys $own $algorithm\n";
    sleep 60;
"#;

struct FullClient {
    _process: Process,
    keys: usize,
    port: u16,
    algorithm: String,
}

impl FullClient {
    /// As the user nobody, from this cgroup.
    fn connect(cgroup: &Cgroup, network: &Network, port: u16) -> Self {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "perl", "-e", FULL_CLIENT]);
        command.args(["10.77.0.2", &port.to_string()]).stdout(Stdio::piped());
        let start = || network.client.enter(|| Process::start(&mut command)).unwrap();
        let mut process = cgroup.enter(start).unwrap();
        let mut line = String::new();
        let mut output = std::io::BufReader::new(process.0.stdout.as_mut().unwrap());
        std::io::BufRead::read_line(&mut output, &mut line).unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        let [keys, port, algorithm] = words[..] else { panic!("the client said {line:?}") };
        Self {
            keys: keys.parse().unwrap(),
            port: port.parse().unwrap(),
            algorithm: algorithm.to_owned(),
            _process: process,
        }
    }
}

#[test]
fn attack_full_option_memory_does_not_escape_a_rule() {
    support::test("full option memory", 60, || {
        let network = Network::new().unwrap();
        let (user, service) = (Cgroup::new("user").unwrap(), Cgroup::new("service").unwrap());
        succeeds(&["load", "vegas", "--as", "kruled"]);
        let rule = assign(&["--cgroup", user.path(), "kruled"]);
        let listener = listen(&service, &network.server, "10.77.0.2");
        let client = FullClient::connect(&user, &network, listener.local_addr().unwrap().port());
        assert!(client.keys > 10, "there is room for {} keys: nothing is full", client.keys);
        assert_eq!(client.algorithm, "kruled");

        let own = format!("10.77.0.1:{}", client.port);
        let told = &json(&["why", "--src", &own, "--json"])["explanations"][0];
        assert_eq!((&told["findings"], &told["rule_id"]), (&json!(["cannot_remember"]), &json!(rule)), "{told}");
        assert_eq!((&told["met"], &told["now"]["congestion_control"]), (&json!(null), &json!("kruled")));
        assert!(succeeds(&["why", "--src", &own]).contains("option memory is full"));
        // live connections follow a change that asks for it, remembered or not
        let moved = json(&["assign", "--cgroup", user.path(), "reno", "--existing", "--json"]);
        assert_eq!((&moved["existing"]["moved"], &moved["existing"]["failed"]), (&json!(1), &json!([])), "{moved}");
        let told = &json(&["why", "--src", &own, "--json"])["explanations"][0];
        assert_eq!(told["now"]["congestion_control"], "reno", "{told}");
        drop(client);
        succeeds(&["unassign", "--all"]);
        succeeds(&["unload", "kruled"]);
    });
}
