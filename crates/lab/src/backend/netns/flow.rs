// SPDX-License-Identifier: GPL-2.0-only
//! One flow on the running kernel, as it stands at each look.

use std::net::{Ipv4Addr, Shutdown, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle, Thread};
use std::time::Instant;

use ccctl_catalog::kernel::{TCP_CA_Recovery, TCP_CA_CWR};

use super::super::outcome::FlowSample;
use super::super::windows;
use super::application::{Clocked, Work};
use super::endpoints::{Endpoints, Load};
use super::moment::{moment, Moment};
use ccctl_testbed::{close_with_reset, Namespace, TestbedError};

/// What the threads of a flow and its owner share.
#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    connections: Mutex<Connections>,
    failure: Mutex<Option<String>>,
}

/// Most flows have one.
#[derive(Default)]
struct Connections {
    now: Option<Arc<Endpoints>>,
    /// How many are over,
    ended: u32,
    /// and what they did: its counters.
    past: FlowSample,
    transfers: Vec<Done>,
}

/// What was sent and acknowledged.
#[derive(Debug, Clone, Copy)]
pub(super) struct Done {
    pub(super) bytes: u64,
    /// Before its connection was opened.
    pub(super) started: Instant,
    /// With the last acknowledgement.
    pub(super) finished: Instant,
}

/// Where a flow goes, and how.
pub(super) struct FlowPlan<'a> {
    pub(super) from: &'a Namespace,
    pub(super) to: &'a Namespace,
    pub(super) address: Ipv4Addr,
    pub(super) kernel_name: String,
    pub(super) load: Load,
    pub(super) work: Work,
    pub(super) mss_bytes: u16,
    pub(super) initial_ssthresh_pkts: Option<u32>,
}

/// A flow that was started.
pub(super) struct RunningFlow {
    shared: Arc<Shared>,
    writer: Thread,
    writing: Option<JoinHandle<()>>,
    last: FlowSample,
    last_state: u8,
    initial_ssthresh_pkts: Option<u32>,
    /// The first window that no algorithm can mean, of all looks: it may be gone before the next sample.
    impossible: Option<String>,
    /// The reduction that was counted last is over when so much is acknowledged,
    reduced_until_bytes: u64,
    /// on the connection after so many.
    ended: u32,
}

impl RunningFlow {
    /// Starts it; it connects on its own.
    pub(super) fn start(plan: FlowPlan<'_>) -> Result<Self, TestbedError> {
        let listener = Endpoints::listen(plan.to, plan.address, &plan.kernel_name)?;
        let shared = Arc::new(Shared::default());
        let FlowPlan { kernel_name, load, work, mss_bytes, initial_ssthresh_pkts, .. } = plan;
        let server = Server { shared: shared.clone(), listener, kernel_name, load, mss_bytes };
        let writing = plan.from.spawn(move || {
            if let Err(error) = server.serve(work) {
                *server.shared.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
            }
            Ok(())
        })?;
        let writer = writing.thread().clone();
        let writing = Some(thread::spawn(move || {
            let _ = writing.join(); // its failure is in `shared`
        }));
        Ok(Self {
            shared,
            writer,
            writing,
            last: FlowSample::default(),
            last_state: 0,
            initial_ssthresh_pkts,
            impossible: None,
            reduced_until_bytes: 0,
            ended: 0,
        })
    }

    /// It writes no more; what was written is still sent.
    pub(super) fn stop(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.writer.unpark();
        if let Some(ends) = self.ends() {
            let _ = ends.sender.shutdown(Shutdown::Write); // wakes a writer; it may have ended by itself
        }
    }

    /// What was acknowledged to the end: of applications that send so much and no more.
    pub(super) fn transfers(&self) -> Vec<Done> {
        self.shared.connections().transfers.clone()
    }

    /// Why it does not run.
    pub(super) fn failure(&self) -> Option<String> {
        self.shared.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Local port of the sending socket.
    pub(super) fn port(&self) -> Option<u16> {
        self.ends()?.sender.local_addr().ok().map(|address| address.port())
    }

    fn ends(&self) -> Option<Arc<Endpoints>> {
        self.shared.connections().now.clone()
    }

    /// How it stands. The kernel does not count reductions: those that begin and end between two looks are not in it. One that
    /// follows another at once is told by what is acknowledged: a reduction ends when all that was sent before it is.
    pub(super) fn look(&mut self) -> FlowSample {
        let (ends, ended, past) = {
            let connections = self.shared.connections();
            (connections.now.clone(), connections.ended, connections.past)
        };
        if self.ended != ended {
            (self.ended, self.last_state, self.reduced_until_bytes) = (ended, 0, 0);
            self.last = with_counters(&self.last, &past);
        }
        let Some(ends) = ends else { return self.last };
        let (Ok(sender), Ok(receiver)) = (moment(&ends.sender), moment(&ends.receiver)) else { return self.last };
        if !sender.is_closed {
            self.take_up(&sender, &past);
        }
        self.last.received_bytes = self.last.received_bytes.max(past.received_bytes + receiver.received_bytes);
        self.last
    }

    fn take_up(&mut self, sender: &Moment, past: &FlowSample) {
        let is_new = self.last_state != sender.ca_state || sender.acked_bytes > self.reduced_until_bytes;
        let enters = |state: u32| u64::from(u32::from(sender.ca_state) == state && is_new);
        if is_new && [TCP_CA_CWR, TCP_CA_Recovery].contains(&sender.ca_state.into()) {
            self.reduced_until_bytes = sender.new_bytes;
        }
        let state = FlowSample {
            cwnd_pkts: sender.cwnd_pkts,
            ssthresh_pkts: sender.ssthresh_pkts,
            srtt_us: sender.srtt_us,
            in_flight_pkts: sender.in_flight_pkts,
            pipe_pkts: sender.pipe_pkts,
            ca_state: sender.ca_state,
            recoveries: self.last.recoveries + enters(TCP_CA_Recovery),
            mark_reductions: self.last.mark_reductions + enters(TCP_CA_CWR),
            received_bytes: self.last.received_bytes,
            ..FlowSample::default()
        };
        self.last = with_counters(&state, &after(past, sender, 0));
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
        self.writer.unpark();
        if let Some(ends) = self.ends() {
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

/// The counters after a connection that did this, and whose receiver got so much.
fn after(past: &FlowSample, sender: &Moment, received_bytes: u64) -> FlowSample {
    FlowSample {
        received_bytes: past.received_bytes + received_bytes,
        acked_bytes: past.acked_bytes + sender.acked_bytes,
        delivered_pkts: past.delivered_pkts + u64::from(sender.delivered_pkts),
        delivered_ce_pkts: past.delivered_ce_pkts + u64::from(sender.delivered_ce_pkts),
        data_segments_sent_pkts: past.data_segments_sent_pkts + u64::from(sender.data_segments_sent_pkts),
        retransmits_pkts: past.retransmits_pkts + u64::from(sender.retransmits_pkts),
        timeouts: past.timeouts + u64::from(sender.timeouts),
        ..FlowSample::default()
    }
}

/// A state with what connections have counted; reductions are counted by who looks.
fn with_counters(state: &FlowSample, counters: &FlowSample) -> FlowSample {
    FlowSample {
        received_bytes: state.received_bytes.max(counters.received_bytes),
        acked_bytes: counters.acked_bytes,
        delivered_pkts: counters.delivered_pkts,
        delivered_ce_pkts: counters.delivered_ce_pkts,
        data_segments_sent_pkts: counters.data_segments_sent_pkts,
        retransmits_pkts: counters.retransmits_pkts,
        timeouts: counters.timeouts,
        ..*state
    }
}

impl Shared {
    fn connections(&self) -> MutexGuard<'_, Connections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Of the connection that is there now.
    fn note_transfer(&self, done: Done) {
        self.connections().transfers.push(done);
    }

    /// The connection is over, and what it did is kept.
    fn end_connection(&self) -> Result<(), TestbedError> {
        let mut connections = self.connections();
        let Some(ends) = connections.now.take() else { return Ok(()) };
        let ask = || Ok((moment(&ends.sender)?, moment(&ends.receiver)?));
        let (sender, receiver) = ask().map_err(TestbedError::io("ask for a connection's counters"))?;
        connections.past = after(&connections.past, &sender, receiver.received_bytes);
        connections.ended += 1;
        Ok(())
    }
}

/// Who opens a flow's connections and writes.
struct Server {
    shared: Arc<Shared>,
    listener: TcpListener,
    kernel_name: String,
    load: Load,
    mss_bytes: u16,
}

impl Server {
    fn serve(&self, work: Work) -> Result<(), TestbedError> {
        match work {
            Work::Steady => self.carry(&self.load, None).map(drop),
            Work::Timed(mut clocked) => self.carry(&self.load, Some(&mut clocked)).map(drop),
            Work::Connections(clocked) => self.serve_connections(clocked),
        }
    }

    /// One connection, which stays for those who look at it.
    fn carry(&self, load: &Load, clocked: Option<&mut Clocked>) -> Result<Option<Done>, TestbedError> {
        let started = Instant::now();
        let Some(ends) = Endpoints::connect(&self.listener, &self.kernel_name, load, &self.shared.stop)? else {
            return Ok(None);
        };
        self.shared.connections().now = Some(Arc::new(ends.copy()?));
        let finished = ends.carry(load, clocked, &self.shared.stop)?;
        let done = load.bytes.zip(finished).map(|(bytes, finished)| Done { bytes, started, finished });
        if let Some(done) = done {
            self.shared.note_transfer(done);
        }
        Ok(done)
    }

    fn serve_connections(&self, mut clocked: Clocked) -> Result<(), TestbedError> {
        while let Some(pkts) = clocked.next_connection_pkts(|| self.shared.is_stopped()) {
            let load = Load { bytes: Some(u64::from(pkts) * u64::from(self.mss_bytes)), ..self.load };
            match self.carry(&load, None)? {
                Some(done) => clocked.delivered(done.finished),
                None if self.shared.is_stopped() => return Ok(()),
                None => return Err(TestbedError::Unexpected("a connection ended before all was acknowledged".into())),
            }
            self.shared.end_connection()?;
        }
        Ok(())
    }
}
