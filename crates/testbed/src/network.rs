// SPDX-License-Identifier: GPL-2.0-only
//! Two namespaces joined by veth, directly or through a switch with a bottleneck.

use std::process::Command;
use std::time::Duration;

use super::namespace::ip;
use super::{marker, run_ok, Namespace, Offload, TestbedError};

/// Address of the client's end.
pub const CLIENT_V4: &str = "10.77.0.1";
/// Address of the server's end.
pub const SERVER_V4: &str = "10.77.0.2";
/// IPv6 address of the client's end.
pub const CLIENT_V6: &str = "fd77::1";
/// IPv6 address of the server's end.
pub const SERVER_V6: &str = "fd77::2";

const PREFIX_V4: &str = "10.77.0.0/24";
const PREFIX_V6: &str = "fd77::/64";
const DEVICE: &str = "veth0";
const TO_CLIENT: &str = "to-client";
const TO_SERVER: &str = "to-server";
const TC_LIMIT: Duration = Duration::from_secs(10);

/// A client and a server, each in a namespace, with IPv4 and IPv6 between them.
#[derive(Debug)]
pub struct Network {
    /// Where connections come from.
    pub client: Namespace,
    /// Where they go.
    pub server: Namespace,
    switch: Option<Namespace>,
}

impl Network {
    /// Makes both namespaces and a veth pair between them. IPv6 addresses go without duplicate detection: no waiting.
    pub fn new() -> Result<Self, TestbedError> {
        let network = Network::unconnected(None)?;
        let (client, server) = (network.client.name(), network.server.name());
        ip(&["link", "add", DEVICE, "netns", client, "type", "veth", "peer", "name", DEVICE, "netns", server])?;
        network.address()?;
        Ok(network)
    }

    /// The same addresses with a switch between: what goes to the server leaves it at `rate_mbit_per_s`, after a queue of
    /// `queue_bytes` that drops at its tail. Segments are as long as on a wire.
    pub fn with_bottleneck(rate_mbit_per_s: u32, queue_bytes: u32) -> Result<Self, TestbedError> {
        let network = Network::unconnected(Some(Namespace::new("switch")?))?;
        let switch = network.switch.as_ref().map_or("", Namespace::name);
        ip(&["-n", switch, "link", "add", "switch", "type", "bridge"])?;
        ip(&["-n", switch, "link", "set", "switch", "up"])?;
        for (end, port) in [(&network.client, TO_CLIENT), (&network.server, TO_SERVER)] {
            ip(&["link", "add", DEVICE, "netns", end.name(), "type", "veth", "peer", "name", port, "netns", switch])?;
            ip(&["-n", switch, "link", "set", port, "master", "switch", "up"])?;
        }
        network.address()?;
        for offload in [Offload::Tso, Offload::Gso, Offload::Gro] {
            network.set_offload(offload, false)?;
        }
        let (rate, queue) = (format!("{rate_mbit_per_s}mbit"), queue_bytes.to_string());
        let words = ["-n", switch, "qdisc", "add", "dev", TO_SERVER, "root", "tbf"];
        let shape = ["rate", &rate, "burst", "16kb", "limit", &queue];
        run_ok(Command::new("tc").args(words).args(shape), TC_LIMIT)?;
        Ok(network)
    }

    /// Is there one, which keeps the order of packets? Over a veth pair two processors deliver at once.
    #[must_use]
    pub fn has_bottleneck(&self) -> bool {
        self.switch.is_some()
    }

    fn unconnected(switch: Option<Namespace>) -> Result<Self, TestbedError> {
        Ok(Network { client: Namespace::new("client")?, server: Namespace::new("server")?, switch })
    }

    fn address(&self) -> Result<(), TestbedError> {
        address(&self.client, CLIENT_V4, CLIENT_V6)?;
        address(&self.server, SERVER_V4, SERVER_V6)
    }

    /// Switches an offload of both ends on or off.
    pub fn set_offload(&self, offload: Offload, on: bool) -> Result<(), TestbedError> {
        for end in [&self.client, &self.server] {
            end.enter(|| offload.set(DEVICE, on))??;
        }
        Ok(())
    }

    /// Whether an offload is on at the client's end.
    pub fn offload(&self, offload: Offload) -> Result<bool, TestbedError> {
        self.client.enter(|| offload.get(DEVICE))?
    }

    /// From now on every `every`-th data packet reaches the server with a congestion mark, if its flow is ECN-capable.
    /// Segments are as long as on a wire from then on, so that each is marked by itself.
    pub fn mark_every(&self, every: u32) -> Result<(), TestbedError> {
        for offload in [Offload::Tso, Offload::Gso, Offload::Gro] {
            self.set_offload(offload, false)?;
        }
        marker::mark_every(&self.server, DEVICE, every)
    }

    /// Both ends ask for ECN, and agree to it.
    pub fn have_ecn(&self) -> Result<(), TestbedError> {
        for end in [&self.client, &self.server] {
            end.set_sysctl("net/ipv4/tcp_ecn", "1")?;
        }
        Ok(())
    }

    /// What connections to the server have there from their SYN on, whatever it listens with: a SYN-ACK agrees to the ECN that an
    /// algorithm needs only if this end has such a one, too.
    pub fn set_server_algorithm(&self, name: &str) -> Result<(), TestbedError> {
        let server = self.server.name();
        ip(&["-n", server, "route", "replace", PREFIX_V4, "dev", DEVICE, "congctl", name])?;
        // The metric is that of the kernel's own route: only so it takes its place.
        ip(&["-n", server, "route", "replace", PREFIX_V6, "dev", DEVICE, "metric", "256", "congctl", name])?;
        Ok(())
    }

    /// Sets the largest packet of both ends.
    pub fn set_mtu(&self, bytes: u32) -> Result<(), TestbedError> {
        for end in [&self.client, &self.server] {
            ip(&["-n", end.name(), "link", "set", DEVICE, "mtu", &bytes.to_string()])?;
        }
        Ok(())
    }
}

fn address(end: &Namespace, v4: &str, v6: &str) -> Result<(), TestbedError> {
    let name = end.name();
    ip(&["-n", name, "addr", "add", &format!("{v4}/24"), "dev", DEVICE])?;
    ip(&["-n", name, "addr", "add", &format!("{v6}/64"), "dev", DEVICE, "nodad"])?;
    ip(&["-n", name, "link", "set", DEVICE, "up"])?;
    Ok(())
}
