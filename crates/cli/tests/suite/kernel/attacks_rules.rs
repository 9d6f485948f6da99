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

/// Fills the socket's option memory with keys for peers that it never talks to (`TCP_MD5SIG`, 14), connects or listens, and
/// tells how many keys there was room for, its own port and its algorithm (`TCP_CONGESTION`, 13).
const FULL_SOCKET: &str = r#"
    use Socket; $| = 1;
    my ($address, $port) = @ARGV;
    socket(my $socket, PF_INET, SOCK_STREAM, 0) or die "socket: $!";
    my $keys = 0;
    for my $i (1 .. 5000) {
        my $peer = pack('S n a4 x120', AF_INET, 0, pack('N', 0x0a630000 + $i));
        setsockopt($socket, 6, 14, $peer . pack('C C S i a80', 0, 0, 1, 0, 'k')) or last;
        $keys++;
    }
    if ($address) {
        connect($socket, sockaddr_in($port, inet_aton($address))) or die "connect: $!";
    } else {
        listen($socket, 1) or die "listen: $!";
    }
    my ($own) = sockaddr_in(getsockname($socket));
    my ($algorithm) = unpack('Z*', getsockopt($socket, 6, 13));
    print "$keys $own $algorithm\n";
    sleep 60;
"#;

struct FullSocket {
    _process: Process,
    port: u16,
}

impl FullSocket {
    /// As the user nobody, from this cgroup: a connection to this address and port, or a listener. It gets `kruled`.
    fn open(cgroup: &Cgroup, network: &Network, to: [&str; 2]) -> Self {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "perl", "-e", FULL_SOCKET]);
        command.args(to).stdout(Stdio::piped());
        let start = || network.client.enter(|| Process::start(&mut command)).unwrap();
        let mut process = cgroup.enter(start).unwrap();
        let mut line = String::new();
        let mut output = std::io::BufReader::new(process.0.stdout.as_mut().unwrap());
        std::io::BufRead::read_line(&mut output, &mut line).unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        let [keys, port, algorithm] = words[..] else { panic!("the socket said {line:?}") };
        assert!(keys.parse::<usize>().unwrap() > 10, "there is room for {keys} keys: nothing is full");
        assert_eq!(algorithm, "kruled");
        Self { port: port.parse().unwrap(), _process: process }
    }
}

#[test]
fn attack_full_option_memory_does_not_escape_a_rule() {
    support::test("full option memory", 60, || {
        let network = Network::new().unwrap();
        let (user, service) = (Cgroup::new("user").unwrap(), Cgroup::new("service").unwrap());
        succeeds(&["load", "vegas", "--as", "kruled"]);
        let rule = assign(&["--cgroup", user.path(), "kruled", "--notsent-lowat", "64k"]);
        let listener = listen(&service, &network.server, "10.77.0.2");
        let port = listener.local_addr().unwrap().port().to_string();
        let client = FullSocket::open(&user, &network, ["10.77.0.2", &port]);
        let full_listener = FullSocket::open(&user, &network, ["", ""]);
        let told = |own: &str| json(&["why", "--src", own, "--json"])["explanations"][0].clone();

        // a connection remembers elsewhere
        let own = format!("10.77.0.1:{}", client.port);
        let found = told(&own);
        assert_eq!((&found["findings"], &found["rule_id"]), (&json!(["as_the_rule_says"]), &json!(rule)), "{found}");
        assert_eq!(found["met"]["met_settings"][0]["now_value"], 65_536, "{found}");
        let own_listener = format!("0.0.0.0:{}", full_listener.port);
        let found = told(&own_listener);
        assert_eq!((&found["findings"], &found["rule_id"]), (&json!(["cannot_remember"]), &json!(rule)), "{found}");
        assert_eq!((&found["met"], &found["now"]["congestion_control"]), (&json!(null), &json!("kruled")));
        assert!(succeeds(&["why", "--src", &own_listener]).contains("option memory is full"));
        // both follow a change that asks for it, remembered or not
        let moved = json(&["assign", "--cgroup", user.path(), "reno", "--existing", "--json"]);
        assert_eq!((&moved["existing"]["moved"], &moved["existing"]["failed"]), (&json!(2), &json!([])), "{moved}");
        assert_eq!(
            moved["existing"]["settings_changed"], 1,
            "it has lost what its rule does not set any more: {moved}"
        );
        for own in [own, own_listener] {
            assert_eq!(told(&own)["now"]["congestion_control"], "reno", "{own}");
        }
        drop((client, full_listener));
        succeeds(&["unassign", "--all"]);
        succeeds(&["unload", "kruled"]);
    });
}
