// SPDX-License-Identifier: GPL-2.0-only
//! The first threshold of slow start on the running kernel. It begins a connection with the threshold that it keeps for the
//! destination, and takes that from the route when the first connection there has ended: so one is made and ended before the
//! run.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener};
use std::time::Duration;

use super::path_backend::Road;
use crate::experiment::PointSpec;
use ccctl_path::RECEIVER_V4;
use ccctl_testbed::{connect, Namespace, TestbedError};

const CONNECTING: Duration = Duration::from_secs(20);
/// Algorithms that set the threshold themselves would hide it; this one is in every kernel.
const PLAIN: &str = "reno";

/// Gives each group's sender its threshold, where the scenario has one; `attributes` are those of its route.
pub(super) fn set(path: &Road, setup: &PointSpec, attributes: &[String]) -> Result<(), TestbedError> {
    for (number, group) in setup.groups.iter().enumerate() {
        let Some(pkts) = group.tcp.initial_ssthresh_pkts else { continue };
        let sender = path.endpoints().sender(number);
        // Locked, so that no connection changes it.
        let threshold = ["ssthresh".to_owned(), "lock".to_owned(), pkts.to_string()];
        path.set_route(sender, &[attributes, &threshold].concat())?;
        sender.set_sysctl("net/ipv4/tcp_no_ssthresh_metrics_save", "0")?;
        sender.set_sysctl("net/ipv4/tcp_no_metrics_save", "0")?;
        connect_once(sender, path.endpoints().receiver())?;
        sender.set_sysctl("net/ipv4/tcp_no_metrics_save", "1")?;
    }
    Ok(())
}

fn connect_once(from: &Namespace, to: &Namespace) -> Result<(), TestbedError> {
    let step = |what: &'static str| TestbedError::io(what);
    let listener = to.enter(|| TcpListener::bind((RECEIVER_V4, 0)))?.map_err(step("listen"))?;
    let port = listener.local_addr().map_err(step("ask for a listener's port"))?;
    let mut sender = from.enter(|| connect(&port.to_string(), Some(PLAIN), CONNECTING))??;
    let (receiver, _) = listener.accept().map_err(step("accept a connection"))?;
    sender.write_all(&[0]).map_err(step("send a byte"))?;
    sender.shutdown(Shutdown::Write).map_err(step("end a connection"))?;
    let mut receiver = receiver;
    receiver.read_to_end(&mut Vec::new()).map_err(step("receive a byte"))?;
    drop(receiver);
    // With the other side's end the sender's is over, too.
    sender.read_to_end(&mut Vec::new()).map(drop).map_err(step("wait for the end of a connection"))
}
