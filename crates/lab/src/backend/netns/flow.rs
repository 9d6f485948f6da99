// SPDX-License-Identifier: GPL-2.0-only
//! One flow on the running kernel, as it stands at each look.

use std::net::{Ipv4Addr, Shutdown, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use ccctl_catalog::kernel::{TCP_CA_Recovery, TCP_CA_CWR};

use super::super::outcome::FlowSample;
use super::super::windows;
use super::endpoints::{Endpoints, Load};
use super::moment::{moment, Moment};
use ccctl_testbed::{close_with_reset, Namespace, TestbedError};

/// What the threads of a flow and its owner share.
#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    ends: OnceLock<Endpoints>,
    finished: OnceLock<Instant>,
    failure: Mutex<Option<String>>,
}

/// Where a flow goes, and how.
pub(super) struct FlowPlan<'a> {
    pub(super) from: &'a Namespace,
    pub(super) to: &'a Namespace,
    pub(super) address: Ipv4Addr,
    pub(super) kernel_name: String,
    pub(super) load: Load,
    pub(super) initial_ssthresh_pkts: Option<u32>,
}

/// A flow that was started.
pub(super) struct RunningFlow {
    shared: Arc<Shared>,
    writing: Option<JoinHandle<()>>,
    last: FlowSample,
    last_state: u8,
    initial_ssthresh_pkts: Option<u32>,
    /// The first window that no algorithm can mean, of all looks: it may be gone before the next sample.
    impossible: Option<String>,
    /// The reduction that was counted last is over when so much is acknowledged.
    reduced_until_bytes: u64,
}

impl RunningFlow {
    /// Starts it; it connects on its own.
    pub(super) fn start(plan: &FlowPlan<'_>) -> Result<Self, TestbedError> {
        let listener = Endpoints::listen(plan.to, plan.address, &plan.kernel_name)?;
        let shared = Arc::new(Shared::default());
        let (own, name, load) = (shared.clone(), plan.kernel_name.clone(), plan.load);
        let writing = plan.from.spawn(move || {
            if let Err(error) = serve(&own, &listener, &name, &load) {
                *own.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
            }
            Ok(())
        })?;
        let writing = Some(thread::spawn(move || {
            let _ = writing.join(); // its failure is in `shared`
        }));
        Ok(Self {
            shared,
            writing,
            last: FlowSample::default(),
            last_state: 0,
            initial_ssthresh_pkts: plan.initial_ssthresh_pkts,
            impossible: None,
            reduced_until_bytes: 0,
        })
    }

    /// It writes no more; what was written is still sent.
    pub(super) fn stop(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(ends) = self.shared.ends.get() {
            let _ = ends.sender.shutdown(Shutdown::Write); // wakes a writer; it may have ended by itself
        }
    }

    /// When all of a transfer was acknowledged.
    pub(super) fn finished(&self) -> Option<Instant> {
        self.shared.finished.get().copied()
    }

    /// Why it does not run.
    pub(super) fn failure(&self) -> Option<String> {
        self.shared.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Local port of the sending socket.
    pub(super) fn port(&self) -> Option<u16> {
        self.shared.ends.get()?.sender.local_addr().ok().map(|address| address.port())
    }

    /// How it stands. The kernel does not count reductions: those that begin and end between two looks are not in it. One that
    /// follows another at once is told by what is acknowledged: a reduction ends when all that was sent before it is.
    pub(super) fn look(&mut self) -> FlowSample {
        let Some(ends) = self.shared.ends.get() else { return self.last };
        let (Ok(sender), Ok(receiver)) = (moment(&ends.sender), moment(&ends.receiver)) else { return self.last };
        if !sender.is_closed {
            self.take_up(&sender);
        }
        self.last.received_bytes = self.last.received_bytes.max(receiver.received_bytes);
        self.last
    }

    fn take_up(&mut self, sender: &Moment) {
        let is_new = self.last_state != sender.ca_state || sender.acked_bytes > self.reduced_until_bytes;
        let enters = |state: u32| u64::from(u32::from(sender.ca_state) == state && is_new);
        if is_new && [TCP_CA_CWR, TCP_CA_Recovery].contains(&sender.ca_state.into()) {
            self.reduced_until_bytes = sender.new_bytes;
        }
        self.last = FlowSample {
            cwnd_pkts: sender.cwnd_pkts,
            ssthresh_pkts: sender.ssthresh_pkts,
            srtt_us: sender.srtt_us,
            in_flight_pkts: sender.in_flight_pkts,
            pipe_pkts: sender.pipe_pkts,
            ca_state: sender.ca_state,
            received_bytes: self.last.received_bytes,
            acked_bytes: sender.acked_bytes,
            delivered_pkts: u64::from(sender.delivered_pkts),
            delivered_ce_pkts: u64::from(sender.delivered_ce_pkts),
            data_segments_sent_pkts: u64::from(sender.data_segments_sent_pkts),
            retransmits_pkts: u64::from(sender.retransmits_pkts),
            recoveries: self.last.recoveries + enters(TCP_CA_Recovery),
            mark_reductions: self.last.mark_reductions + enters(TCP_CA_CWR),
            timeouts: u64::from(sender.timeouts),
        };
        self.last_state = sender.ca_state;
        if self.impossible.is_none() {
            self.impossible = windows::impossible(&self.last, self.initial_ssthresh_pkts);
        }
    }

    /// The first window of all looks that no algorithm can mean.
    pub(super) fn impossible(&self) -> Option<&str> {
        self.impossible.as_deref()
    }
}

impl Drop for RunningFlow {
    /// Cuts it off: nothing is left to be sent or waited for.
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(ends) = self.shared.ends.get() {
            for end in [&ends.sender, &ends.receiver] {
                let _ = close_with_reset(end).and_then(|()| end.shutdown(Shutdown::Both));
                // it may be closed already
            }
        }
        if let Some(writing) = self.writing.take() {
            let _ = writing.join(); // its failure is in `shared`
        }
    }
}

fn serve(shared: &Shared, listener: &TcpListener, algorithm: &str, load: &Load) -> Result<(), TestbedError> {
    let ends = Endpoints::connect(listener, algorithm, load)?;
    let _ = shared.ends.set(ends.copy()?); // nobody else does
    ends.carry(load, &shared.stop, &shared.finished)
}
