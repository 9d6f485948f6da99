// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random rules against real connections: what each end of each connection gets is what the documented order says.

use crate::support;
use crate::support::policy;
use std::net::{IpAddr, TcpListener};

use ccctl_testbed::{Cgroup, Network, CLIENT_V4, CLIENT_V6, SERVER_V4, SERVER_V6};
use policy::{assign, listen, pair, why};
use support::{succeeds, Random};

const RULES: u64 = 14;
const ALGORITHMS: [&str; 2] = ["reno", "cubic"];
/// Of both namespaces; no rule gives it.
const DEFAULT: &str = "bbr";
const PREFIXES: [&str; 10] = [
    "10.77.0.2/32",
    "10.77.0.0/31",
    "10.77.0.0/24",
    "10.0.0.0/8",
    "0.0.0.0/0",
    "fd77::2/128",
    "fd77::/127",
    "fd77::/64",
    "fc00::/7",
    "::/0",
];

struct Rule {
    id: u64,
    cgroup: String,
    to: Option<&'static str>,
    port: Option<u16>,
    gives: &'static str,
}

impl Rule {
    /// Its rank, if it is for such a connection.
    fn rank(&self, cgroup: &str, peer: IpAddr, port: u16) -> Option<(usize, i32, bool)> {
        let covers = cgroup == self.cgroup || cgroup.starts_with(&format!("{}/", self.cgroup));
        let bits = self.to.map_or(Some(-1), |to| bits_if_in(to, peer))?;
        let fits = covers && self.port.is_none_or(|own| own == port);
        fits.then(|| (self.cgroup.len(), bits, self.port.is_some()))
    }
}

/// Length of the prefix, if it is one of the peer.
fn bits_if_in(prefix: &str, peer: IpAddr) -> Option<i32> {
    let (address, bits) = prefix.split_once('/').unwrap();
    let bits: usize = bits.parse().unwrap();
    let digits = |address: IpAddr| -> Vec<u8> {
        let octets = match address {
            IpAddr::V4(v4) => v4.octets().to_vec(),
            IpAddr::V6(v6) => v6.octets().to_vec(),
        };
        octets.iter().flat_map(|octet| format!("{octet:08b}").into_bytes()).collect()
    };
    let address: IpAddr = address.parse().unwrap();
    let same = address.is_ipv4() == peer.is_ipv4() && digits(address)[..bits] == digits(peer)[..bits];
    same.then_some(bits as i32)
}

#[test]
fn random_rules_on_real_connections() {
    support::test("random rules", 240, || {
        let network = Network::new().unwrap();
        for end in [&network.client, &network.server] {
            end.set_sysctl("net/ipv4/tcp_congestion_control", DEFAULT).unwrap();
        }
        let a = Cgroup::new("a").unwrap();
        let b = a.child("b").unwrap();
        let cgroups = [a.child("c").unwrap(), b.child("d").unwrap(), Cgroup::new("e").unwrap(), b, a];
        let listeners = [0, 1, 2].map(|_| listen(&cgroups[1], &network.server, "::"));
        let mut random = Random(0x5eed_0fcc_0c73);
        let (mut asked, mut ruled) = (0, 0);
        for _ in 0..support::times(6, 10) {
            let table = set_rules(&mut random, &cgroups, &listeners);
            for cgroup in &cgroups {
                for listener in &listeners {
                    for (server, client) in
                        [(SERVER_V4, CLIENT_V4), (SERVER_V6, CLIENT_V6), ("::ffff:10.77.0.2", CLIENT_V4)]
                    {
                        let port = listener.local_addr().unwrap().port();
                        let peer = server.parse::<IpAddr>().unwrap().to_canonical();
                        let made = winner(&table, cgroup.path(), peer, port);
                        let accepted = winner(&table, cgroups[1].path(), client.parse().unwrap(), port);
                        let gives = |rule: Option<&Rule>| rule.map_or(DEFAULT, |rule| rule.gives).to_owned();
                        let connection = pair(cgroup, &network, listener, server);
                        let when = format!("{} -> {server} port {port}", cgroup.path());
                        assert_eq!(connection.algorithms(), [gives(made), gives(accepted)], "{when}");
                        if random.below(8) == 0 {
                            let told = why(&connection.client);
                            assert_eq!(told["rule_id"].as_u64(), made.map(|rule| rule.id), "{when}: {told}");
                            assert_eq!(told["met"]["rule_id"].as_u64(), made.map(|rule| rule.id), "{when}: {told}");
                            let told = why(&connection.server);
                            assert_eq!(told["rule_id"].as_u64(), accepted.map(|rule| rule.id), "{when}: {told}");
                        }
                        asked += 2;
                        ruled += usize::from(made.is_some()) + usize::from(accepted.is_some());
                    }
                }
            }
            succeeds(&["unassign", "--all"]);
        }
        println!("{asked} ends of connections, {ruled} of them with a rule");
        assert!(ruled > asked / 4 && ruled < asked, "{ruled} of {asked}: that tests little");
    });
}

fn set_rules(random: &mut Random, cgroups: &[Cgroup], listeners: &[TcpListener]) -> Vec<Rule> {
    let mut rules: Vec<Rule> = Vec::new();
    for _ in 0..RULES {
        let mut pick = |count: usize| random.below(count as u64) as usize;
        let cgroup = cgroups[pick(cgroups.len())].path().to_owned();
        let to = Some(PREFIXES[pick(PREFIXES.len())]).filter(|_| pick(4) > 0);
        let port = Some(listeners[pick(listeners.len())].local_addr().unwrap().port()).filter(|_| pick(2) > 0);
        let gives = ALGORITHMS[pick(2)];
        let text = port.map(|port| port.to_string()).unwrap_or_default();
        let mut words = vec!["--cgroup", &cgroup];
        words.extend(to.iter().flat_map(|to| ["--dst", to]));
        words.extend(port.iter().flat_map(|_| ["--port", text.as_str()]));
        words.push(gives);
        let id = assign(&words);
        rules.retain(|rule| rule.id != id); // the same selector once more
        rules.push(Rule { id, cgroup, to, port, gives });
    }
    rules
}

fn winner<'a>(rules: &'a [Rule], cgroup: &str, peer: IpAddr, port: u16) -> Option<&'a Rule> {
    let ranked = rules.iter().filter_map(|rule| Some((rule.rank(cgroup, peer, port)?, rule)));
    ranked.max_by_key(|(rank, _)| *rank).map(|(_, rule)| rule)
}
