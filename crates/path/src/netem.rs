// SPDX-License-Identifier: GPL-2.0-only
//! A path made of the kernel's netem, where it has one: the same ends, and a namespace between them that forwards.
//!
//! ```text
//! sender N -- netem: delay there, losses --> router -- netem: rate, queue --> receiver
//! sender N <-- netem: delay back ----------- router <--------------------- receiver
//! ```
//!
//! netem keeps what waits for the link and what is on its way in one list with one limit. So the bottleneck has no delay of its
//! own here: the link's stands before it, and losses do, too. Nothing measures how late packets are.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::{sleep, JoinHandle};
use std::time::{Duration, Instant};

use ccctl_sim::{Limit, LinkRate, Loss, Queue};
use serde::Deserialize;

use super::clock::PathTime;
use super::direction::{Counters, DirectionSample};
use super::endpoints::Endpoints;
use super::plan::{sender_v4, RECEIVER_V4};
use super::router::QueueSample;
use super::spec::PathSpec;
use ccctl_testbed::{ip, run_ok, Namespace, TestbedError};

/// In each end, towards the router.
const DEVICE: &str = "net0";
/// In the router, towards the receiver: the bottleneck.
const BOTTLENECK: &str = "out";
/// netem counts Ethernet headers, and scenarios do not.
const ETHERNET_BYTES: u64 = 14;
/// More packets than any path has on its way.
const NO_LIMIT_PKTS: &str = "1000000";
/// Buffers are whole packets: so much more than the MTU is none.
const ROOM_BYTES: u32 = 100;
const COMMAND_LIMIT: Duration = Duration::from_secs(20);
/// Each look starts `tc`.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// A path at work; it is taken down when dropped.
#[derive(Debug)]
pub struct NetemPath {
    ends: Endpoints,
    _router: Namespace,
    began: Instant,
    stop: Arc<AtomicBool>,
    looking: Option<JoinHandle<Result<Vec<QueueSample>, TestbedError>>>,
}

/// What `tc -s -j qdisc show` says of a queue.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
struct QueueState {
    bytes: u64,
    packets: u64,
    drops: u64,
    qlen: u64,
    backlog: u64,
}

impl NetemPath {
    /// Whether this kernel, and `tc`, have netem: it is tried in a namespace of its own.
    pub fn probe() -> Result<(), TestbedError> {
        let namespace = Namespace::new("netem")?;
        tc(&["-n", namespace.name(), "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"]).map(drop)
    }

    /// What of a path netem cannot do, and the key of a link that asks for it.
    #[must_use]
    pub fn lacks(spec: &PathSpec) -> Option<(&'static str, &'static str)> {
        let link = &spec.forward;
        let lacking = [
            (!matches!(link.rate, LinkRate::Constant(_)), "a changing rate", "rate"),
            (matches!(link.queue, Queue::DropTail(Limit::Bytes(_))), "a queue in bytes", "queue.size"),
            (!matches!(link.queue, Queue::DropTail(_)), "other queues than drop-tail", "queue.kind"),
            (!matches!(link.loss, Loss::None | Loss::Bernoulli(_)), "losses in bursts", "loss.kind"),
            (!link.jitter.is_zero() || link.reordering.is_some(), "jitter and reordering", "jitter"),
            (spec.reverse.is_some(), "a rate on the reverse path", "back"),
        ];
        lacking.into_iter().find(|(is_asked, ..)| *is_asked).map(|(_, what, key)| (what, key))
    }

    /// Makes the namespaces and their queues.
    pub fn start(spec: &PathSpec) -> Result<Self, TestbedError> {
        if let Some((what, _)) = Self::lacks(spec) {
            return Err(TestbedError::Unexpected(format!("netem does not support {what}")));
        }
        let router = Namespace::new("router")?;
        router.set_sysctl("net/ipv4/ip_forward", "1")?;
        let ends = Endpoints::new(spec.senders.len())?;
        connect(&router, BOTTLENECK, ends.receiver(), &RECEIVER_V4.to_string(), spec)?;
        for (number, (there, back)) in spec.delays().into_iter().zip(spec.delays_back()).enumerate() {
            let (sender, device) = (ends.sender(number), format!("to{number}"));
            connect(&router, &device, sender, &sender_v4(number).to_string(), spec)?;
            let losses = losses(spec);
            let losses: Vec<&str> = losses.iter().map(String::as_str).collect();
            netem(sender, DEVICE, &[&["limit", NO_LIMIT_PKTS, "delay", &micros(there)], &losses[..]].concat())?;
            netem(&router, &device, &["limit", NO_LIMIT_PKTS, "delay", &micros(back)])?;
        }
        let Queue::DropTail(Limit::Packets(pkts)) = spec.forward.queue else {
            return Err(TestbedError::Unexpected("netem has no such queue".to_owned()));
        };
        // Of netem's packets one is on the link and does not wait.
        let (limit, rate) = ((pkts + 1).to_string(), format!("{}bit", spec.forward.rate.mean().as_bits_per_s()));
        netem(&router, BOTTLENECK, &["limit", &limit, "rate", &rate, &format!("-{ETHERNET_BYTES}")])?;
        let (began, stop) = (Instant::now(), Arc::new(AtomicBool::new(false)));
        let has_losses = spec.forward.loss != Loss::None;
        let lossy = ends.senders().iter().filter(|_| has_losses).map(|sender| sender.name().to_owned()).collect();
        let looks = Looks { router: router.name().to_owned(), lossy, began, series: Vec::new() };
        let until = stop.clone();
        let looking = Some(std::thread::spawn(move || looks.go(&until)));
        Ok(Self { ends, _router: router, began, stop, looking })
    }

    /// Its senders and its receiver.
    #[must_use]
    pub fn endpoints(&self) -> &Endpoints {
        &self.ends
    }

    /// Gives the route of an end these attributes, as `ip route` has them.
    pub fn set_route(&self, end: &Namespace, attributes: &[String]) -> Result<(), TestbedError> {
        let number = self.ends.senders().iter().position(|sender| sender.name() == end.name());
        let gateway =
            number.map_or_else(|| gateway(&RECEIVER_V4.to_string()), |it| gateway(&sender_v4(it).to_string()));
        let attributes: Vec<&str> = attributes.iter().map(String::as_str).collect();
        let route = ["-n", end.name(), "route", "change", "default", "via", &gateway, "dev", DEVICE, "onlink"];
        ip(&[&route, &attributes[..]].concat()).map(drop)
    }

    /// Its time.
    #[must_use]
    pub fn time(&self) -> PathTime {
        PathTime::of_wall(self.began)
    }

    /// Ends the run: all looks at the bottleneck, with times counted from `before`.
    pub fn stop_counted_from(mut self, before: Duration) -> Result<Vec<QueueSample>, TestbedError> {
        let mut series = self.stop_looking().unwrap_or_else(|| Ok(Vec::new()))?;
        series.retain(|sample| sample.time >= before);
        for sample in &mut series {
            sample.time -= before;
        }
        Ok(series)
    }

    fn stop_looking(&mut self) -> Option<Result<Vec<QueueSample>, TestbedError>> {
        self.stop.store(true, Ordering::Relaxed);
        let looking = self.looking.take()?;
        Some(looking.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    }
}

impl Drop for NetemPath {
    fn drop(&mut self) {
        if let Some(Err(error)) = self.stop_looking() {
            eprintln!("testbed: {error}");
        }
    }
}

/// Who looks at the bottleneck, in a thread of its own: `tc` may take its time.
struct Looks {
    router: String,
    /// Those whose queues lose packets.
    lossy: Vec<String>,
    began: Instant,
    series: Vec<QueueSample>,
}

impl Looks {
    fn go(mut self, stop: &AtomicBool) -> Result<Vec<QueueSample>, TestbedError> {
        while !stop.load(Ordering::Relaxed) {
            self.look()?;
            sleep(BETWEEN_LOOKS);
        }
        self.look()?;
        Ok(self.series)
    }

    fn look(&mut self) -> Result<(), TestbedError> {
        let bottleneck = queue_state(&self.router, BOTTLENECK)?;
        let mut lost_pkts = 0;
        for sender in &self.lossy {
            lost_pkts += queue_state(sender, DEVICE)?.drops;
        }
        let time = self.began.elapsed();
        let before = self.series.last().map(|last| (time.saturating_sub(last.time), &last.forward));
        let forward = sample(bottleneck, lost_pkts, before);
        self.series.push(QueueSample { time, forward, reverse: NOTHING });
        Ok(())
    }
}

const NOTHING: DirectionSample =
    DirectionSample { queue_pkts: 0, queue_bytes: 0, waited_pkt_us: 0, counters: Counters::NONE };

/// The first packet in netem is on the link. How long packets have waited is worked out from look to look.
fn sample(now: QueueState, lost_pkts: u64, before: Option<(Duration, &DirectionSample)>) -> DirectionSample {
    let queue_pkts = now.qlen.saturating_sub(1);
    let waited = |(time, last): (Duration, &DirectionSample)| {
        last.waited_pkt_us + (time.as_micros() as u64) * (queue_pkts + last.queue_pkts) / 2
    };
    let without_ethernet = |bytes: u64, pkts: u64| bytes.saturating_sub(ETHERNET_BYTES * pkts);
    let counters = Counters {
        arrived_pkts: now.packets + now.qlen + now.drops + lost_pkts,
        arrived_bytes: without_ethernet(now.bytes + now.backlog, now.packets + now.qlen),
        dropped_full_pkts: now.drops,
        lost_pkts,
        delivered_pkts: now.packets,
        delivered_bytes: without_ethernet(now.bytes, now.packets),
        ..Counters::NONE
    };
    let queue_bytes = without_ethernet(now.backlog, now.qlen);
    DirectionSample { queue_pkts, queue_bytes, waited_pkt_us: before.map_or(0, waited), counters }
}

/// A pair of devices between an end and the router, with addresses, routes and buffers.
fn connect(
    router: &Namespace,
    device: &str,
    end: &Namespace,
    address: &str,
    spec: &PathSpec,
) -> Result<(), TestbedError> {
    for namespace in [router, end] {
        // Its own traffic would take room in the queue.
        namespace.set_sysctl("net/ipv6/conf/default/disable_ipv6", "1")?;
    }
    let (router, name) = (router.name(), end.name());
    ip(&["link", "add", DEVICE, "netns", name, "type", "veth", "peer", "name", device, "netns", router])?;
    let (mtu, most) = (spec.mtu_bytes.to_string(), (spec.mtu_bytes + ROOM_BYTES).to_string());
    for (namespace, device) in [(name, DEVICE), (router, device)] {
        let shape = ["mtu", &mtu, "gso_max_segs", "1", "gso_max_size", &most, "up"];
        ip(&[&["-n", namespace, "link", "set", "dev", device], &shape[..]].concat())?;
    }
    let (gateway, address) = (gateway(address), format!("{address}/32"));
    ip(&["-n", name, "addr", "add", &address, "dev", DEVICE])?;
    ip(&["-n", name, "route", "add", "default", "via", &gateway, "dev", DEVICE, "onlink"])?;
    ip(&["-n", router, "addr", "add", &format!("{gateway}/32"), "dev", device])?;
    ip(&["-n", router, "route", "add", &address, "dev", device])?;
    super::emulator::set_buffers(end, spec)
}

/// The router's address on the way to an end.
fn gateway(address: &str) -> String {
    let network = address.rsplit_once('.').map_or(address, |(network, _)| network);
    format!("{network}.254")
}

fn losses(spec: &PathSpec) -> Vec<String> {
    match spec.forward.loss {
        Loss::Bernoulli(probability) => {
            vec!["loss".to_owned(), "random".to_owned(), percent(probability.in_billion())]
        }
        _ => Vec::new(),
    }
}

fn percent(in_billion: u64) -> String {
    format!("{}.{:07}%", in_billion / 10_000_000, in_billion % 10_000_000)
}

fn micros(time: Duration) -> String {
    format!("{}us", time.as_micros())
}

fn netem(namespace: &Namespace, device: &str, words: &[&str]) -> Result<(), TestbedError> {
    tc(&[&["-n", namespace.name(), "qdisc", "add", "dev", device, "root", "netem"], words].concat()).map(drop)
}

fn queue_state(namespace: &str, device: &str) -> Result<QueueState, TestbedError> {
    let text = tc(&["-n", namespace, "-s", "-j", "qdisc", "show", "dev", device])?;
    parse(&text).ok_or_else(|| TestbedError::Unexpected(format!("tc says nothing of the queue of {device}: {text}")))
}

fn parse(text: &str) -> Option<QueueState> {
    serde_json::from_str::<Vec<QueueState>>(text).ok()?.first().copied()
}

fn tc(words: &[&str]) -> Result<String, TestbedError> {
    run_ok(Command::new("tc").args(words), COMMAND_LIMIT)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use ccctl_sim::BitRate;

    /// As iproute2 prints it: 10 packets of 1514 bytes sent, 4 in the queue, 2 dropped.
    const SHOWN: &str = r#"[{"kind":"netem","handle":"8001:","root":true,"refcnt":2,"options":{"limit":5},
        "bytes":15140,"packets":10,"drops":2,"overlimits":0,"requeues":0,"backlog":6056,"qlen":4}]"#;

    #[test]
    fn counters_are_those_of_packets_without_ethernet() {
        let first = sample(parse(SHOWN).unwrap(), 3, None);
        assert_eq!((first.queue_pkts, first.queue_bytes), (3, 4 * 1500));
        let counters = first.counters;
        assert_eq!((counters.delivered_pkts, counters.delivered_bytes), (10, 15_000));
        assert_eq!((counters.dropped_pkts(), counters.lost_pkts, counters.arrived_pkts), (2, 3, 19));
        assert_eq!(counters.inside_pkts(), 4);
        // 3 packets waited before and none now: 1.5 for 10 ms
        let empty = QueueState { qlen: 1, ..parse(SHOWN).unwrap() };
        let next = sample(empty, 3, Some((Duration::from_millis(10), &first)));
        assert_eq!(next.waited_pkt_us, 15_000);
    }

    #[test]
    fn what_netem_cannot_do_is_named() {
        let spec = || PathSpec::new(BitRate::mbit_per_s(10), Duration::from_millis(20), Limit::Packets(16));
        assert_eq!(NetemPath::lacks(&spec()), None);
        let link = spec().forward;
        let queue = |queue: Queue| PathSpec { forward: ccctl_sim::LinkSpec { queue, ..link.clone() }, ..spec() };
        let marks = Queue::Threshold { mark_above_pkts: 5, limit: Limit::Packets(16) };
        for (spec, key) in [
            (queue(Queue::DropTail(Limit::Bytes(15_000))), "queue.size"),
            (queue(marks), "queue.kind"),
            (PathSpec { reverse: Some(link.clone()), ..spec() }, "back"),
        ] {
            assert_eq!(NetemPath::lacks(&spec).map(|(_, key)| key), Some(key));
        }
    }

    #[test]
    fn shares_are_in_percent() {
        let shares = [0, 10, 10_000_000, 1_000_000_000].map(percent);
        assert_eq!(shares, ["0.0000000%", "0.0000010%", "1.0000000%", "100.0000000%"]);
        assert_eq!(
            [1, 5, 1_000_000_000].map(|it| ccctl_sim::Probability::per_billion(it).in_billion()),
            [1, 5, 1_000_000_000]
        );
    }

    #[test]
    fn the_router_is_the_last_but_one_of_each_network() {
        assert_eq!([gateway("10.77.0.2"), gateway("10.77.250.1")], ["10.77.0.254", "10.77.250.254"]);
    }
}
