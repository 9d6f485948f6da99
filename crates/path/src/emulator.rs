// SPDX-License-Identifier: GPL-2.0-only
//! The whole path: namespaces, devices, router, latency probe.

use std::time::{Duration, Instant};

use super::clock::PathTime;
use super::devices;
use super::endpoints::Endpoints;
use super::latency_probe::LatencyProbe;
use super::nice::Nice;
use super::plan::{sender_v4, sender_v6, RECEIVER_V4, RECEIVER_V6};
use super::report::PathReport;
use super::router::{Router, Shared};
use super::routers::RunningRouter;
use super::spec::{PathSpec, Waiting};
use super::tun::TunWire;
use ccctl_testbed::{ip, CpuTime, Namespace, TestbedError};

const DEVICE: &str = "tun0";
/// Packets that a device may keep for the router: more than any burst, so that none is dropped outside of the queue.
const DEVICE_QUEUE_PKTS: &str = "20000";
/// RFC 8200: on a link of smaller packets there is no IPv6.
const LEAST_V6_BYTES: u32 = 1280;

/// A path at work. Dropped without [`Path::stop`], it is taken down without a report.
#[derive(Debug)]
pub struct Path {
    ends: Endpoints,
    spec: PathSpec,
    cpu: CpuTime,
    origin: Instant,
    shared: Shared,
    router: Option<RunningRouter>,
    latency_probe: Option<LatencyProbe>,
    _nice: Nice,
}

impl Path {
    /// Makes the namespaces and starts the router.
    pub fn start(spec: &PathSpec) -> Result<Self, TestbedError> {
        spec.check()?;
        let ends = Endpoints::new(spec.senders.len())?;
        let mut wires = Vec::new();
        for (number, sender) in ends.senders().iter().enumerate() {
            let addresses = [format!("{}/32", sender_v4(number)), format!("{}/128", sender_v6(number))];
            wires.push(connect(sender, &addresses, spec)?);
        }
        wires.push(connect(ends.receiver(), &[format!("{RECEIVER_V4}/32"), format!("{RECEIVER_V6}/128")], spec)?);
        let nice = Nice::take()?;
        let origin = Instant::now();
        let shared = Shared::default();
        // A busy router on the only processor would keep TCP from it.
        let waiting = if ends.affinity().is_shared() { Waiting::Sleep } else { spec.waiting };
        let spec = PathSpec { waiting, ..spec.clone() };
        let router = Some(RunningRouter::start(Router::new(&spec, wires, origin, shared.clone()), ends.affinity())?);
        let cpu = CpuTime::now()?;
        let latency_probe = Some(LatencyProbe::start(&spec, ends.senders(), ends.affinity())?);
        Ok(Self { ends, spec, cpu, origin, shared, router, latency_probe, _nice: nice })
    }

    /// Its senders and its receiver.
    #[must_use]
    pub fn endpoints(&self) -> &Endpoints {
        &self.ends
    }

    /// Gives the routes of all ends these attributes, as `ip route` has them.
    pub fn set_routes(&self, attributes: &[String]) -> Result<(), TestbedError> {
        self.ends.all().try_for_each(|end| self.set_route(end, attributes))
    }

    /// Likewise the route of one of its ends.
    pub fn set_route(&self, end: &Namespace, attributes: &[String]) -> Result<(), TestbedError> {
        let attributes: Vec<&str> = attributes.iter().map(String::as_str).collect();
        ip(&[&["-n", end.name(), "-4", "route", "change", "default", "dev", DEVICE], &attributes[..]].concat())?;
        Ok(())
    }

    /// From now on every second data packet to the receiver is lost, until `count` are: so many holes for SACK to tell of.
    /// They come before the queue, and are counted apart ([`RouterReport::holes_pkts`](crate::RouterReport::holes_pkts)).
    pub fn force_drops(&self, count: u32) {
        self.shared.forced_drops.ask(count);
    }

    /// Ends the run.
    pub fn stop(mut self) -> Result<PathReport, TestbedError> {
        let latency_probe = self.latency_probe.take().map(LatencyProbe::stop);
        let stolen = CpuTime::now()?.since(self.cpu).stolen;
        let devices = self.ends.all().map(|end| devices::counters(end, DEVICE)).collect::<Result<Vec<_>, _>>()?;
        let gone = |what: &str| TestbedError::Unexpected(format!("the {what} is gone"));
        let router = self.router.take().ok_or_else(|| gone("router"))?.stop()?;
        let latency_probe = latency_probe.ok_or_else(|| gone("latency_probe"))?;
        Ok(PathReport { router, latency_probe, devices, stolen, bounds: self.spec.bounds })
    }

    /// The path's time.
    #[must_use]
    pub fn time(&self) -> PathTime {
        PathTime::new(self.origin, self.shared.clock_pause.clone())
    }

    /// Ends the run; the times of its series are counted from `before`, a time of the path, and what was before is left out.
    pub fn stop_counted_from(self, before: Duration) -> Result<PathReport, TestbedError> {
        let mut report = self.stop()?;
        report.router.series.retain(|sample| sample.time >= before);
        report.router.series.iter_mut().for_each(|sample| sample.time -= before);
        report.router.stalls.retain(|stall| stall.at >= before);
        report.router.stalls.iter_mut().for_each(|stall| stall.at -= before);
        Ok(report)
    }
}

impl Drop for Path {
    fn drop(&mut self) {
        if let Some(latency_probe) = self.latency_probe.take() {
            latency_probe.stop();
        }
        if let Some(Err(error)) = self.router.take().map(RunningRouter::stop) {
            eprintln!("testbed: {error}");
        }
    }
}

/// Makes the device of an end, with its addresses, and buffers for what its connections can have in flight.
fn connect(end: &Namespace, addresses: &[String], spec: &PathSpec) -> Result<TunWire, TestbedError> {
    end.set_sysctl("net/ipv6/conf/default/router_solicitations", "0")?;
    let wire = TunWire::new(end)?;
    let name = end.name();
    let mtu = spec.mtu_bytes.to_string();
    let has_v6 = spec.mtu_bytes >= LEAST_V6_BYTES;
    // Where a link is too small for IPv6, the kernel has no settings of it there.
    let no_link_local: &[&str] = if has_v6 { &["addrgenmode", "none"] } else { &[] };
    // Where TCP can hand over several packets at once, it waits until it may send up to a millisecond's worth of them, and does so
    // also where the device has no offload and the kernel cuts them apart.
    let single = ["gso_max_segs", "1"];
    let shape = ["-n", name, "link", "set", DEVICE, "mtu", &mtu, "txqueuelen", DEVICE_QUEUE_PKTS, single[0], single[1]];
    ip(&[&shape, no_link_local, &["up"]].concat())?;
    for address in addresses.iter().filter(|address| has_v6 || !address.contains(':')) {
        let family = if address.contains(':') { "-6" } else { "-4" };
        let nodad: &[&str] = if family == "-6" { &["nodad"] } else { &[] };
        ip(&[&["-n", name, "addr", "add", address, "dev", DEVICE], nodad].concat())?;
        ip(&["-n", name, family, "route", "add", "default", "dev", DEVICE])?;
    }
    set_buffers(end, spec)?;
    Ok(wire)
}

/// Buffers for what the connections of an end can have in flight. The receiver's has its size from the start: one that the kernel
/// sizes offers two flights, and a recovery of more than a round trip ends in a burst of all that the window held back.
pub(super) fn set_buffers(end: &Namespace, spec: &PathSpec) -> Result<(), TestbedError> {
    let most = spec.buffer_bytes();
    end.set_sysctl("net/ipv4/tcp_rmem", &format!("4096 {most} {most}"))?;
    end.set_sysctl("net/ipv4/tcp_wmem", &format!("4096 65536 {most}"))?;
    end.set_sysctl("net/ipv4/tcp_no_metrics_save", "1")
}
