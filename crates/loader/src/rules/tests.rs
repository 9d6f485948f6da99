// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiled rules against the order of precedence, on random sets of rules.
//!
//! Three answers must agree for every flow: what following the compiled maps gives, as `bpf/policy/rule_match.h` does;
//! what `ccctl why` tells; and a search of all rules that is written down here from the documented order alone.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ccctl_catalog::kernel::c_text;
use ccctl_catalog::Setting;

use super::cgroup::CgroupPath;
use super::compile::{compile, Compiled};
use super::conditions::{Attributes, Conditions};
use super::matching::{consider, Flow, Verdict};
use super::parameters::RuleParameters;
use super::record::{rule_conditions, RULE_MARK, RULE_PRIORITY, RULE_RTT_ABOVE, RULE_RTT_BELOW, RULE_SEARCH_STEPS};
use super::settings::{SocketSetting, SocketSettings};
use super::table::{Choice, RuleContent, RuleTable, Selector};
use crate::object::Program;
use crate::prefix::Prefix;

const SETS: u64 = 400;
const FLOWS: u64 = 100;

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    fn cgroup(&mut self) -> CgroupPath {
        let names: Vec<&str> = (0..self.below(5)).map(|_| ["a", "b", "ab"][self.below(3) as usize]).collect();
        CgroupPath::of_components(names)
    }

    /// Addresses that differ in few places, so that prefixes nest.
    fn address(&mut self) -> IpAddr {
        let bits = self.below(4) as u32;
        match self.below(3) {
            0 => Ipv4Addr::from(0x0a00_0000 | bits << 22 | self.below(4) as u32).into(),
            1 => Ipv6Addr::from(0xfd00_u128 << 112 | u128::from(bits) << 62 | u128::from(self.below(4))).into(),
            _ => Ipv4Addr::from(bits << 30).into(),
        }
    }

    fn prefix(&mut self) -> Prefix {
        let address = self.address();
        let lengths: &[u8] = if address.is_ipv4() { &[0, 1, 2, 8, 9, 10, 30, 32] } else { &[0, 8, 64, 66, 127, 128] };
        Prefix::of(address, lengths[self.below(lengths.len() as u64) as usize])
    }

    fn selector(&mut self) -> Selector {
        Selector {
            cgroup: self.cgroup(),
            to: (self.below(3) > 0).then(|| self.prefix()),
            to_port: (self.below(2) > 0).then(|| 1 + self.below(3) as u16),
            conditions: self.conditions(),
        }
    }

    /// None in most rules, so that some sets of rules have none at all.
    fn conditions(&mut self) -> Conditions {
        if self.below(4) > 0 {
            return Conditions::default();
        }
        let mark = ["0", "1", "2/2", "0/2", "3/3", "1/1", "0x1/0xff"][self.below(7) as usize];
        let mark = (self.below(3) > 0).then(|| Setting::Text(mark.to_owned()));
        let priority = (self.below(3) == 0).then(|| self.below(3) as u32);
        let rtt = (self.below(3) == 0).then(|| [">2us", "<4us", ">3us", "<3us", ">4us"][self.below(5) as usize]);
        Conditions::parse(mark.as_ref(), priority, rtt).expect("they are right")
    }

    fn table(&mut self) -> RuleTable {
        let mut table = RuleTable::default();
        for _ in 0..=self.below(60) {
            let reno = Choice { names: vec!["reno".to_owned()], weight: 1 };
            table.put(self.selector(), vec![reno].into(), 0).expect("room");
        }
        table
    }

    fn flow(&mut self) -> Flow {
        let peer = (self.below(10) > 0).then(|| self.address());
        // As a dual-stack socket sees it.
        let peer = peer.map(|peer| match peer {
            IpAddr::V4(v4) if self.below(2) == 0 => v4.to_ipv6_mapped().into(),
            other => other,
        });
        let rtt_us = (self.below(4) > 0).then(|| 1 + self.below(6) as u32);
        let attributes = Attributes { mark: self.below(4) as u32, priority: self.below(3) as u32, rtt_us };
        Flow { cgroup: self.cgroup(), peer, service_port: self.below(4) as u16, attributes }
    }
}

/// 128 bits with IPv4 in the last 32, and the family.
fn number(address: IpAddr) -> (u128, bool) {
    match address {
        IpAddr::V4(v4) => (u128::from(u32::from(v4)), true),
        IpAddr::V6(v6) if u128::from(v6) >> 32 == 0xffff => (u128::from(v6) & 0xffff_ffff, true),
        IpAddr::V6(v6) => (u128::from(v6), false),
    }
}

fn is_in(prefix: Prefix, peer: IpAddr) -> bool {
    let ((prefix_number, prefix_v4), (peer_number, peer_v4)) = (number(prefix.address()), number(peer));
    let width = if prefix_v4 { 32 } else { 128 };
    let free_bits = u32::from(width - prefix.bits());
    prefix_v4 == peer_v4 && (free_bits == 128 || prefix_number >> free_bits == peer_number >> free_bits)
}

/// How many conditions these are, how many bits of the mark they look at, whether the limit of the RTT is a lower one, and how
/// narrow it is.
type Met = (u32, u32, u32, i32);

/// None where the socket does not meet them all.
fn conditions_met(conditions: &Conditions, attributes: &Attributes) -> Option<Met> {
    let hex = |text: &str| u32::from_str_radix(text.trim_start_matches("0x"), 16).expect("a number");
    let (mut count, mut bits) = (0, 0);
    if let Some(text) = conditions.mark.map(|mark| mark.to_string()) {
        let (value, mask) = text.split_once('/').unwrap_or((&text, "0xffffffff"));
        let (value, mask) = (hex(value), hex(mask));
        (count, bits) = (count + 1, (0..32).filter(|bit| mask >> bit & 1 == 1).count() as u32);
        if (0..32).any(|bit| mask >> bit & 1 == 1 && attributes.mark >> bit & 1 != value >> bit & 1) {
            return None;
        }
    }
    if let Some(priority) = conditions.priority {
        count += 1;
        if priority != attributes.priority {
            return None;
        }
    }
    let (mut kind, mut narrow) = (0, 0);
    if let Some(text) = conditions.rtt.map(|limit| limit.to_string()) {
        let limit_us: i32 = text[1..].trim_end_matches("us").parse().expect("microseconds");
        let rtt_us = attributes.rtt_us? as i32;
        count += 1;
        (kind, narrow) = if text.starts_with('>') { (2, limit_us) } else { (1, -limit_us) };
        if (kind == 2 && rtt_us <= limit_us) || (kind == 1 && rtt_us >= limit_us) {
            return None;
        }
    }
    Some((count, bits, kind, narrow))
}

/// The documented order, and nothing clever.
fn by_the_book(table: &RuleTable, flow: &Flow) -> Option<u32> {
    let mut best: Option<((usize, i32, bool, Met), u32)> = None;
    for rule in table.rules() {
        let (cgroup, inside) = (rule.selector.cgroup.as_str(), flow.cgroup.as_str());
        let under = cgroup == "/" || inside == cgroup || inside.starts_with(&format!("{cgroup}/"));
        let peer_fits = rule.selector.to.is_none_or(|to| flow.peer.is_some_and(|peer| is_in(to, peer)));
        let port_fits = rule.selector.to_port.is_none_or(|port| port == flow.service_port);
        let met = conditions_met(&rule.selector.conditions, &flow.attributes);
        let Some(met) = met.filter(|_| under && peer_fits && port_fits) else { continue };
        let depth = cgroup.matches('/').count() - usize::from(cgroup == "/");
        let bits = rule.selector.to.map_or(-1, |to| i32::from(to.bits()));
        let rank = (depth, bits, rule.selector.to_port.is_some(), met);
        // By id: of two rules of one rank the older one stays.
        if best.is_none_or(|(best_rank, _)| rank > best_rank) {
            best = Some((rank, rule.id));
        }
    }
    best.map(|(_, id)| id)
}

/// What `bpf/policy/rule_match.h` does.
fn by_the_maps(compiled: &Compiled, flow: &Flow) -> Option<u32> {
    let (mut node, mut scope) = (0, compiled.header.root_scope);
    for component in flow.cgroup.components() {
        let child = compiled.nodes.iter().find(|(key, _)| key.parent == node && c_text(&key.name) == component);
        let Some((_, found)) = child else { break };
        (node, scope) = (found.id, found.scope);
    }
    if let only @ 1.. = compiled.scopes[scope as usize].only_rule {
        return Some(compiled.rules[only as usize].id);
    }
    let (mut set, mut candidate) = (0, 0);
    for _ in 0..RULE_SEARCH_STEPS {
        if candidate != 0 {
            match compiled.conditions.get(candidate as usize) {
                Some(conditions) if !meets(conditions, &flow.attributes) => candidate = conditions.next,
                _ => return Some(compiled.rules[candidate as usize].id),
            }
        } else if set != 0 {
            let contents = compiled.sets[set as usize];
            let port =
                compiled.ports.iter().find(|(key, _)| key.set == set && key.port == u32::from(flow.service_port));
            let rule = port.map_or(contents.any_port, |(_, rule)| *rule);
            if rule != 0 && compiled.conditions_of_rules() == 0 {
                return Some(compiled.rules[rule as usize].id);
            }
            (candidate, set) = (rule, contents.wider);
        } else if scope != 0 {
            let contents = compiled.scopes[scope as usize];
            let longest = flow.peer.and_then(|peer| longest_prefix(compiled, scope, peer));
            set = longest.filter(|_| contents.has_prefixes != 0).unwrap_or(contents.any_peer);
            scope = contents.outer;
        } else {
            return None;
        }
    }
    panic!("the search does not end");
}

fn meets(conditions: &rule_conditions, attributes: &Attributes) -> bool {
    let has = |which: u32| conditions.has >> which & 1 == 1;
    (!has(RULE_MARK) || attributes.mark & conditions.mark_mask == conditions.mark)
        && (!has(RULE_PRIORITY) || attributes.priority == conditions.priority)
        && (!has(RULE_RTT_ABOVE) || attributes.rtt_us.is_some_and(|rtt_us| rtt_us > conditions.rtt_us))
        && (!has(RULE_RTT_BELOW) || attributes.rtt_us.is_some_and(|rtt_us| rtt_us < conditions.rtt_us))
}

/// A trie of longest prefixes: the data are the bytes after the length, in memory order.
fn longest_prefix(compiled: &Compiled, scope: u32, peer: IpAddr) -> Option<u32> {
    let (peer, is_v4) = number(peer);
    let octets = if is_v4 { (peer << 96).to_be_bytes() } else { peer.to_be_bytes() };
    let wanted: Vec<u8> = [&scope.to_ne_bytes()[..], &u32::to_ne_bytes(if is_v4 { 4 } else { 6 }), &octets].concat();
    let matching = compiled.prefixes.iter().filter(|(key, _)| {
        let data: Vec<u8> = [&key.scope.to_ne_bytes()[..], &key.family.to_ne_bytes(), &key.address].concat();
        (0..key.bits as usize).all(|bit| (data[bit / 8] ^ wanted[bit / 8]) >> (7 - bit % 8) & 1 == 0)
    });
    matching.max_by_key(|(key, _)| key.bits).map(|(_, set)| *set)
}

#[test]
fn the_maps_say_what_the_book_says() {
    let mut random = Random(0x5eed_0fcc_0c71);
    let (mut matched, mut flows, mut by_conditions) = (0, 0, 0);
    for _ in 0..SETS {
        let table = random.table();
        let compiled = compile(&table).expect("it is not that deep");
        for _ in 0..FLOWS {
            let flow = random.flow();
            let expected = by_the_book(&table, &flow);
            assert_eq!(by_the_maps(&compiled, &flow), expected, "{flow:?} of {table:?}");
            let told = consider(&table, &flow);
            let winners: Vec<u32> =
                told.iter().filter(|(_, verdict)| *verdict == Verdict::Won).map(|(rule, _)| rule.id).collect();
            assert_eq!(winners, expected.into_iter().collect::<Vec<_>>(), "{flow:?} of {table:?}");
            assert_eq!(told.len(), table.rules().len());
            matched += u32::from(expected.is_some());
            let won = expected.and_then(|id| table.rule(id));
            by_conditions += u32::from(won.is_some_and(|rule| !rule.selector.conditions.is_empty()));
            flows += 1;
        }
    }
    assert!(matched > flows / 4 && matched < flows, "{matched} of {flows} flows match a rule: that tests little");
    assert!(by_conditions > flows / 50, "{by_conditions} of {flows} flows match by conditions: that tests little");
}

/// Conditions: mark, priority, RTT.
type Written<'a> = (Option<&'a str>, Option<u32>, Option<&'a str>);

#[test]
fn what_outranks_a_rule_is_told() {
    let mut table = RuleTable::default();
    let mut put_with = |cgroup: &str, to: Option<&str>, to_port, (mark, priority, rtt): Written| {
        let to = to.map(|text| text.parse().expect("a prefix"));
        let mark = mark.map(|mark| Setting::Text(mark.to_owned()));
        let conditions = Conditions::parse(mark.as_ref(), priority, rtt).expect("they are right");
        let selector = Selector { cgroup: CgroupPath::parse(cgroup).expect("a path"), to, to_port, conditions };
        let reno = Choice { names: vec!["reno".to_owned()], weight: 1 };
        table.put(selector, vec![reno].into(), 0).expect("room").0
    };
    let both = Some("10.0.0.0/8");
    let won = put_with("/a/b", both, Some(80), (Some("1"), Some(6), None));
    let mut put_at = |written: Written| put_with("/a/b", both, Some(80), written);
    let with_conditions = [
        (won, Verdict::Won),
        (put_at((Some("1"), None, None)), Verdict::WeakerConditions),
        (put_at((Some("1/0xff"), None, None)), Verdict::WeakerConditions),
        (put_at((Some("1/0xf1"), None, None)), Verdict::WeakerConditions),
        (put_at((Some("1/0x1f"), None, None)), Verdict::WeakerConditions),
        (put_at((None, None, Some(">19ms"))), Verdict::WeakerConditions),
        (put_at((None, None, Some(">5ms"))), Verdict::WeakerConditions),
        (put_at((None, None, Some("<21ms"))), Verdict::WeakerConditions),
        (put_at((None, None, Some("<100ms"))), Verdict::WeakerConditions),
        (put_at((None, Some(6), None)), Verdict::WeakerConditions),
    ];
    let unmet = [
        (put_at((Some("2"), Some(6), None)), Verdict::OtherMark),
        (put_at((Some("1"), Some(5), None)), Verdict::OtherPriority),
        (put_at((None, None, Some(">20ms"))), Verdict::OtherRtt),
        (put_at((Some("1"), Some(6), Some("<20ms"))), Verdict::OtherRtt),
    ];
    let mut put = |cgroup: &str, to: Option<&str>, to_port| put_with(cgroup, to, to_port, (None, None, None));
    let without = [
        (put("/a/b", both, Some(80)), Verdict::WeakerConditions),
        (put("/a/b", Some("10.0.0.0/8"), None), Verdict::AnyPort),
        (put("/a/b", Some("0.0.0.0/0"), Some(80)), Verdict::WiderPrefix),
        (put("/a/b", None, Some(80)), Verdict::WiderPrefix),
        (put("/a", Some("10.0.0.1/32"), Some(80)), Verdict::WiderCgroup),
        (put("/", None, None), Verdict::WiderCgroup),
    ];
    let others = [
        (put("/a/c", None, None), Verdict::OtherCgroup),
        (put("/a/b", Some("::/0"), None), Verdict::OtherPeer),
        (put("/a/b", Some("10.0.0.1/32"), Some(443)), Verdict::OtherPort),
    ];
    let cgroup = CgroupPath::parse("/a/b/c").expect("a path");
    let peer = Some("::ffff:10.0.0.1".parse().expect("an address"));
    let attributes = Attributes { mark: 1, priority: 6, rtt_us: Some(20_000) };
    let flow = Flow { cgroup, peer, service_port: 80, attributes };
    let told: Vec<(u32, Verdict)> = consider(&table, &flow).iter().map(|(rule, verdict)| (rule.id, *verdict)).collect();
    assert_eq!(told, [&with_conditions[..], &without, &unmet, &others].concat());
}

/// Rules with conditions that nothing meets are looked at one by one, in each set that a connection is in.
#[test]
fn the_longest_chain_is_searched_and_a_longer_one_refused() {
    let chain = |rules: u32| {
        let mut table = RuleTable::default();
        for mark in 1..=rules {
            let mark = Setting::Whole(mark.into());
            let conditions = Conditions::parse(Some(&mark), None, None).expect("they are right");
            let selector = Selector { cgroup: CgroupPath::root(), to: None, to_port: None, conditions };
            let reno = Choice { names: vec!["reno".to_owned()], weight: 1 };
            table.put(selector, vec![reno].into(), 0).expect("room");
        }
        table
    };
    // 2 steps more: to the scope, and to its set
    let longest = chain(RULE_SEARCH_STEPS - 3);
    let compiled = compile(&longest).expect("1,023 steps are few enough");
    let attributes = |mark| Attributes { mark, ..Attributes::default() };
    let flow = |mark| Flow { cgroup: CgroupPath::root(), peer: None, service_port: 1, attributes: attributes(mark) };
    assert_eq!(by_the_maps(&compiled, &flow(0)), None);
    for mark in [1, RULE_SEARCH_STEPS - 3] {
        assert_eq!(by_the_maps(&compiled, &flow(mark)), Some(mark), "ids are given in turn");
    }
    assert!(compile(&chain(RULE_SEARCH_STEPS - 2)).is_err(), "1,024 steps are too many");
}

#[test]
fn the_deepest_nest_is_searched_and_a_deeper_one_refused() {
    let nest = |levels: usize| {
        let mut table = RuleTable::default();
        for level in 0..=levels {
            let cgroup = CgroupPath::of_components(vec!["x"; level]);
            for bits in 0..=128 {
                let to = Some(Prefix::of(Ipv6Addr::LOCALHOST.into(), bits));
                let reno = Choice { names: vec!["reno".to_owned()], weight: 1 };
                let conditions = Conditions::default();
                let selector = Selector { cgroup: cgroup.clone(), to, to_port: Some(9), conditions };
                table.put(selector, vec![reno].into(), 0).expect("room");
            }
        }
        table
    };
    // 130 steps a level: its own, and one for each of 129 prefixes
    let deepest = nest(6);
    let flow = |port| Flow {
        cgroup: CgroupPath::of_components(vec!["x"; 6]),
        peer: Some(Ipv6Addr::LOCALHOST.into()),
        service_port: port,
        attributes: Attributes::default(),
    };
    let compiled = compile(&deepest).expect("910 steps are few enough");
    assert_eq!(by_the_maps(&compiled, &flow(8)), None);
    assert_eq!(by_the_maps(&compiled, &flow(9)), by_the_book(&deepest, &flow(9)));
    assert!(compile(&nest(7)).is_err(), "1,040 steps are too many");
}

/// An older ccctl reads format 2, and its maps have the same layout.
#[test]
fn rules_that_give_an_algorithm_alone_are_written_in_the_older_format() {
    let settings = |text: &str| {
        let value = Setting::Text(text.to_owned());
        SocketSettings::parse([(SocketSetting::MinRto, Some(&value))]).expect("it is right")
    };
    let selector = |path: &str| Selector {
        cgroup: CgroupPath::parse(path).expect("a path"),
        to: None,
        to_port: None,
        conditions: Conditions::default(),
    };
    let reno = || RuleContent::from(vec![Choice { names: vec!["reno".to_owned()], weight: 1 }]);
    let mut table = RuleTable::default();
    table.put(selector("/a"), reno(), 0).expect("room");
    let compiled = compile(&table).expect("it is not that deep");
    assert_eq!((compiled.header.format, compiled.settings.len(), compiled.rules[1].settings), (2, 1, 0));
    assert_eq!((compiled.conditions.len(), compiled.conditions_of_rules()), (1, 0));
    assert_eq!(size_of_val(&compiled.rules[1]), 624, "as in 0.2.0");

    table.put(selector("/b"), RuleContent { settings: settings("50ms"), ..RuleContent::default() }, 0).expect("room");
    table.put(selector("/c"), RuleContent { settings: settings("60ms"), ..reno() }, 0).expect("room");
    let compiled = compile(&table).expect("it is not that deep");
    let places: Vec<u32> = compiled.rules.iter().map(|rule| rule.settings).collect();
    assert_eq!((compiled.header.format, places), (3, vec![0, 0, 1, 2]));
    let available = ["reno", "web", "cubic"].map(str::to_owned);
    let all = compiled.settings_of_rules(&available);
    assert_eq!((all.has, c_text(&all.not_reno)), (0b10, "cubic".to_owned()));
    assert_eq!(c_text(&compiled.settings_of_rules(&available[..2]).not_reno), "web");
    assert_eq!(c_text(&compiled.settings_of_rules(&available[..1]).not_reno), "");

    // a rule that leaves the algorithm alone is changed into one that does not, and back
    let (id, before) = table.put(selector("/b"), reno(), 1).expect("room");
    assert_eq!((id, before.map(|rule| rule.content.to_string())), (2, Some("min_rto=50ms".to_owned())));
    assert_eq!(table.rule(2).map(|rule| (rule.added_ns, rule.content.to_string())), Some((1, "reno".to_owned())));

    // one with a condition is another rule for the same cgroup, and takes a format that older readers refuse
    let mark = Conditions::parse(Some(&Setting::Whole(1)), None, None).expect("it is right");
    let (id, before) = table.put(Selector { conditions: mark, ..selector("/b") }, reno(), 1).expect("room");
    assert_eq!((id, before), (4, None));
    let compiled = compile(&table).expect("it is not that deep");
    let all: Vec<(u32, u32)> = compiled.conditions.iter().map(|conditions| (conditions.has, conditions.next)).collect();
    assert_eq!((compiled.header.format, compiled.conditions_of_rules()), (4, 1 << RULE_MARK));
    assert_eq!(
        all,
        [(0, 0), (0, 0), (0, 0), (0, 0), (1 << RULE_MARK, 2)],
        "the rule for all sockets of /b is the second"
    );
    let of_b = compiled.scopes.iter().filter(|scope| scope.any_peer == 2).map(|scope| scope.only_rule);
    assert!(of_b.eq([0]), "there are two");
    assert_eq!((compiled.parameters.len(), size_of_val(&compiled.rules[1])), (0, 624));

    // one with parameters takes a newer format, and its maps are as they were
    let fixed = vec![Choice { names: vec!["slow".to_owned()], weight: 1 }];
    let program = Program::named("fixed").expect("it exists");
    let written = [("rate", "50mbit".to_owned())];
    let parameters = RuleParameters::parse(written, &fixed, &[("slow", &program)]).expect("it is right");
    let content = RuleContent { parameters, ..RuleContent::from(fixed) };
    assert_eq!(content.to_string(), "slow rate=50mbit");
    let (id, _) = table.put(selector("/d"), content, 1).expect("room");
    let compiled = compile(&table).expect("it is not that deep");
    let ids: Vec<u32> = compiled.parameters.iter().map(|(id, _)| *id).collect();
    assert_eq!((compiled.header.format, ids, size_of_val(&compiled.rules[1])), (5, vec![id], 624));
    assert_eq!(table.rename("slow", "reno"), 1);
    assert_eq!(table.rule(id).map(|rule| rule.content.to_string()), Some("reno".to_owned()));
}
