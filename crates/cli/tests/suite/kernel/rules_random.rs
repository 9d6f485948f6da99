// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random rules against real connections: what each end of each connection gets is what the documented order says.

use crate::support;
use crate::support::policy;
use std::cmp::Reverse;
use std::net::{IpAddr, TcpListener, TcpStream};

use ccctl_testbed::{Cgroup, Network, CLIENT_V4, CLIENT_V6, SERVER_V4, SERVER_V6};
use policy::{assign, listen, marked_client, why, Pair};
use support::{succeeds, Folder, Random};

use super::rules_parameters::{load, rate_mbit};

const RULES: u64 = 14;
const ALGORITHMS: [&str; 3] = ["reno", "cubic", PACED];
const PACED: &str = "paced";
const INSTANCE_MBIT: u64 = 8;
/// Of `paced`, by some of the rules
const RATES_MBIT: [(&str, u64); 3] = [("rate=16mbit", 16), ("rate=24mbit", 24), ("rate=2mbit", 2)];
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

/// Each with its value and mask.
const MARKS: [(&str, u32, u32); 4] = [("1", 1, !0), ("0", 0, !0), ("0x1/0x1", 1, 1), ("2/0x3", 2, 3)];

struct Rule {
    id: u64,
    cgroup: String,
    to: Option<&'static str>,
    port: Option<u16>,
    mark: Option<(&'static str, u32, u32)>,
    priority: Option<u32>,
    gives: &'static str,
    rate: Option<(&'static str, u64)>,
}

/// One end of a connection, as rules see it.
#[derive(Clone, Copy)]
struct End<'a> {
    cgroup: &'a str,
    peer: IpAddr,
    port: u16,
    mark: u32,
    priority: u32,
}

/// By cgroup, prefix, port, number of conditions and bits of the mark; and of equal rules the older.
type Rank = (usize, i32, bool, u32, u32, Reverse<u64>);

impl Rule {
    /// Its rank, if it is for such a connection.
    fn rank(&self, end: End<'_>) -> Option<Rank> {
        let End { cgroup, peer, port, mark, priority } = end;
        let covers = cgroup == self.cgroup || cgroup.starts_with(&format!("{}/", self.cgroup));
        let bits = self.to.map_or(Some(-1), |to| bits_if_in(to, peer))?;
        let meets = self.mark.is_none_or(|(_, value, mask)| mark & mask == value)
            && self.priority.is_none_or(|own| own == priority);
        let fits = covers && meets && self.port.is_none_or(|own| own == port);
        let count = u32::from(self.mark.is_some()) + u32::from(self.priority.is_some());
        let mark_bits = self.mark.map_or(0, |(_, _, mask)| mask.count_ones());
        fits.then(|| (self.cgroup.len(), bits, self.port.is_some(), count, mark_bits, Reverse(self.id)))
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
        let folder = Folder::new("random-rules");
        load(&folder);
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
                        let (mark, priority) = (random.below(4) as u32, random.below(2) as u32);
                        let made = winner(&table, End { cgroup: cgroup.path(), peer, port, mark, priority });
                        // its listener has neither
                        let peer = client.parse().unwrap();
                        let accepted = End { cgroup: cgroups[1].path(), peer, port, mark: 0, priority: 0 };
                        let accepted = winner(&table, accepted);
                        let gives = |rule: Option<&Rule>| rule.map_or(DEFAULT, |rule| rule.gives).to_owned();
                        let client = marked_client(cgroup, &network, listener, server, (mark, priority));
                        let connection = Pair { client, server: listener.accept().unwrap().0 };
                        let when = format!("{} -> {server} port {port} {mark:#x} {priority}", cgroup.path());
                        assert_eq!(connection.algorithms(), [gives(made), gives(accepted)], "{when}");
                        has_its_rate(&connection.client, made, &when);
                        has_its_rate(&connection.server, accepted, &when);
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
        drop(network);
        succeeds(&["unload", PACED]);
        println!("{asked} ends of connections, {ruled} of them with a rule");
        assert!(ruled > asked / 4 && ruled < asked, "{ruled} of {asked}: that tests little");
    });
}

/// Its rule's, or that of the instance.
#[track_caller]
fn has_its_rate(end: &TcpStream, rule: Option<&Rule>, when: &str) {
    if let Some(rule) = rule.filter(|rule| rule.gives == PACED) {
        assert_eq!(rate_mbit(end), rule.rate.map_or(INSTANCE_MBIT, |(_, mbit)| mbit), "{when}");
    }
}

fn set_rules(random: &mut Random, cgroups: &[Cgroup], listeners: &[TcpListener]) -> Vec<Rule> {
    let mut rules: Vec<Rule> = Vec::new();
    for _ in 0..RULES {
        let mut pick = |count: usize| random.below(count as u64) as usize;
        let cgroup = cgroups[pick(cgroups.len())].path().to_owned();
        let to = Some(PREFIXES[pick(PREFIXES.len())]).filter(|_| pick(4) > 0);
        let port = Some(listeners[pick(listeners.len())].local_addr().unwrap().port()).filter(|_| pick(2) > 0);
        let mark = Some(MARKS[pick(MARKS.len())]).filter(|_| pick(4) == 0);
        let priority = Some(pick(2) as u32).filter(|_| pick(4) == 0);
        let gives = ALGORITHMS[pick(ALGORITHMS.len())];
        let rate = Some(RATES_MBIT[pick(RATES_MBIT.len())]).filter(|_| gives == PACED && pick(3) > 0);
        let text = port.map(|port| port.to_string()).unwrap_or_default();
        let mut words = vec!["--cgroup", &cgroup];
        words.extend(to.iter().flat_map(|to| ["--dst", to]));
        words.extend(port.iter().flat_map(|_| ["--port", text.as_str()]));
        words.extend(mark.iter().flat_map(|(mark, ..)| ["--mark", mark]));
        words.extend(priority.iter().flat_map(|priority| ["--priority", ["0", "1"][*priority as usize]]));
        words.extend(rate.iter().flat_map(|(rate, _)| ["--param", rate]));
        words.push(gives);
        let id = assign(&words);
        rules.retain(|rule| rule.id != id); // the same selector once more
        rules.push(Rule { id, cgroup, to, port, mark, priority, gives, rate });
    }
    rules
}

fn winner<'a>(rules: &'a [Rule], end: End<'_>) -> Option<&'a Rule> {
    let ranked = rules.iter().filter_map(|rule| Some((rule.rank(end)?, rule)));
    ranked.max_by_key(|(rank, _)| *rank).map(|(_, rule)| rule)
}
