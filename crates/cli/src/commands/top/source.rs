// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where samples come from: the kernel, or for those who may not ask it, the operations that every command uses.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ccctl_loader::{available_algorithms, look, AlgorithmRates, CgroupPaths, Owners, Seen, SocketRates};
use ccctl_loader::{SocketFilter, SocketReader, SocketRecord};

use super::listing::{instances, Found, Known};
use super::rates::Before;
use super::sample::{Counters, Instances, OneSocket, Sample, Senders, SocketList, SocketRow, Wish};
use crate::client;
use ccctl_core::{operations, Operation};

/// Owners are asked for anew only so often: it is a walk over all open files of the host.
const OWNERS_EVERY: Duration = Duration::from_secs(3);

/// Something that can be looked at again and again.
pub trait Source: Send {
    /// Looks. Sums by algorithm only where asked for: rates want looks at even distances.
    fn look(&mut self, wish: &Wish, with_instances: bool) -> anyhow::Result<Sample>;
}

/// What this process may use.
pub fn open() -> anyhow::Result<Box<dyn Source>> {
    if nix::unistd::geteuid().is_root() {
        return Ok(Box::new(Kernel::open()?));
    }
    Ok(Box::new(Asked::default()))
}

/// Asks the daemon, or does it here. Nothing is written to stderr, which may be the screen.
pub fn ask<O: Operation>(operation: &O) -> anyhow::Result<O::Answer> {
    match client::connect() {
        client::DaemonState::Daemon(mut daemon) => daemon.ask(operation),
        client::DaemonState::Busy(fault) => Err(fault.into()),
        client::DaemonState::None | client::DaemonState::Unusable(_) => operation.run(),
    }
}

/// The kernel, asked directly: sums are made there, and of sockets only those of one algorithm leave it.
struct Kernel {
    rates: SocketRates,
    looked: Option<Instant>,
    seen: Seen,
    available: Vec<String>,
    known: Known,
    reader: Option<(String, SocketReader)>,
    labels: Labels,
}

impl Kernel {
    fn open() -> anyhow::Result<Self> {
        Ok(Self {
            rates: SocketRates::new()?,
            looked: None,
            seen: Seen::default(),
            available: Vec::new(),
            known: Known::default(),
            reader: None,
            labels: Labels::default(),
        })
    }

    /// Reads what the names stand for, if any of it has changed.
    fn refresh_names(&mut self) -> anyhow::Result<()> {
        let (seen, available) = (look(&self.seen)?, available_algorithms()?);
        if self.known.is_empty() || seen != self.seen || available != self.available {
            self.known = Known::of(&operations::List {}.run()?);
            (self.seen, self.available) = (seen, available);
        }
        Ok(())
    }

    fn instances(&mut self) -> anyhow::Result<Instances> {
        self.refresh_names()?;
        let (rates, unreadable) = self.rates.look()?;
        let now = Instant::now();
        let elapsed = self.looked.replace(now).map(|before| now - before);
        let found = rates.iter().map(|rates| ((rates.algorithm.clone(), rates.map_id), found(rates)));
        Ok(instances(&self.known, &found.collect(), elapsed, unreadable.len()))
    }

    fn sockets(&mut self, instance: &str) -> anyhow::Result<SocketList> {
        let reader = match self.reader.take() {
            Some((name, mut reader)) if name == instance => {
                reader.scan_again()?;
                reader
            }
            _ => SocketReader::new(&SocketFilter::of_kernel_name(instance))?,
        };
        let mut rows = Vec::new();
        self.labels.begin();
        let labels = &mut self.labels;
        reader.each(|namespace, record| rows.push(labels.row(namespace, record)))?;
        self.labels.end(&mut rows)?;
        self.reader = Some((instance.to_owned(), reader));
        Ok(SocketList { instance: instance.to_owned(), at: Some(Instant::now()), rows })
    }
}

fn found(rates: &AlgorithmRates) -> Found {
    Found {
        sockets: rates.sockets,
        counters: Counters {
            acked_bytes: rates.acked_bytes,
            data_segments: rates.data_segments,
            retransmits_pkts: rates.retransmits_pkts,
        },
        senders: Senders {
            count: rates.senders,
            acked_pkts: rates.acked_pkts,
            acked_cwnd: rates.acked_cwnd,
            acked_srtt_us: rates.acked_srtt_us,
        },
        impossible: rates.impossible,
    }
}

impl Source for Kernel {
    fn look(&mut self, wish: &Wish, with_instances: bool) -> anyhow::Result<Sample> {
        let mut sample = Sample::default();
        if with_instances {
            sample.instances = Some(self.instances()?);
        }
        match wish {
            Wish::Instances => {}
            Wish::Sockets(instance) => sample.sockets = Some(self.sockets(instance)?),
            Wish::Socket(cookie) => sample.socket = Some(one_socket(*cookie, &request_for(*cookie).run()?)),
        }
        Ok(sample)
    }
}

fn request_for(cookie: u64) -> operations::Sockets {
    let filter = operations::SocketFilter { cookie: Some(cookie), ..operations::SocketFilter::default() };
    operations::Sockets { filter, ..operations::Sockets::default() }
}

fn one_socket(cookie: u64, answer: &<operations::Sockets as Operation>::Answer) -> OneSocket {
    OneSocket { cookie, at: Instant::now(), socket: answer.sockets.first().cloned() }
}

/// What is looked up for sockets, kept from look to look.
#[derive(Default)]
struct Labels {
    texts: HashMap<String, Arc<str>>,
    cgroups: HashMap<u64, Option<Arc<str>>>,
    cgroup_paths: CgroupPaths,
    processes: HashMap<u64, Option<Arc<str>>>,
    owners_read: Option<Instant>,
}

impl Labels {
    /// New cgroups are found in a tree that is read anew, and only if there are some.
    fn begin(&mut self) {
        self.cgroup_paths = CgroupPaths::default();
    }

    fn text(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.texts.get(text) {
            return Arc::clone(known);
        }
        let shared: Arc<str> = text.into();
        self.texts.insert(text.to_owned(), Arc::clone(&shared));
        shared
    }

    fn row(&mut self, namespace: &str, record: &SocketRecord) -> SocketRow {
        let paths = &mut self.cgroup_paths;
        let id = record.cgroup_id();
        let cgroup = self.cgroups.entry(id).or_insert_with(|| paths.of(id).map(Into::into)).clone();
        let transport = record.transport();
        let transport = transport.as_ref();
        SocketRow {
            cookie: record.cookie(),
            namespace: self.text(namespace),
            state: self.text(record.state().name()),
            source: record.source().to_string(),
            destination: record.destination().to_string(),
            process: None,
            cgroup,
            cwnd_pkts: transport.map(|transport| transport.cwnd_pkts),
            ssthresh_pkts: transport.and_then(|transport| transport.ssthresh_pkts),
            srtt_us: transport.and_then(|transport| transport.srtt_us),
            acked_bytes: transport.map_or(0, |transport| transport.acked_bytes),
            retransmits_pkts: transport.map_or(0, |transport| transport.retransmits_pkts),
            in_flight_pkts: transport.map_or(0, |transport| transport.in_flight_pkts),
        }
    }

    /// Adds the processes; those of sockets that are gone are forgotten.
    fn end(&mut self, rows: &mut [SocketRow]) -> anyhow::Result<()> {
        let is_due = self.owners_read.is_none_or(|read| read.elapsed() >= OWNERS_EVERY);
        if is_due && rows.iter().any(|row| !self.processes.contains_key(&row.cookie)) {
            let owners = Owners::read()?;
            let of = |row: &SocketRow| (row.cookie, process(&owners.of(row.cookie)));
            self.processes = rows.iter().map(of).collect();
            self.owners_read = Some(Instant::now());
        }
        for row in rows {
            row.process = self.processes.get(&row.cookie).cloned().flatten();
        }
        Ok(())
    }
}

fn process(owners: &[ccctl_loader::Owner]) -> Option<Arc<str>> {
    let owners = owners.iter().map(|owner| (owner.pid, owner.command.as_str()));
    process_text(&owners.collect::<Vec<_>>())
}

fn process_text(owners: &[(u32, &str)]) -> Option<Arc<str>> {
    let ((pid, command), rest) = owners.split_first()?;
    let more = if rest.is_empty() { String::new() } else { format!(" +{}", rest.len()) };
    Some(format!("{pid}/{command}{more}").into())
}

/// Operations, as of any command: without root the daemon answers, or the same refusal.
#[derive(Default)]
struct Asked {
    looked: Option<Instant>,
    before: Before,
}

impl Source for Asked {
    fn look(&mut self, wish: &Wish, with_instances: bool) -> anyhow::Result<Sample> {
        let mut sample = Sample::default();
        if let Wish::Socket(cookie) = wish {
            sample.socket = Some(one_socket(*cookie, &ask(&request_for(*cookie))?));
        }
        let wanted = match wish {
            Wish::Sockets(instance) => Some(instance.as_str()),
            _ => None,
        };
        if !with_instances && wanted.is_none() {
            return Ok(sample);
        }
        let request = operations::Sockets {
            without_owners: wanted.is_none(),
            without_algorithm_state: true,
            ..operations::Sockets::default()
        };
        let answer = ask(&request)?;
        if with_instances {
            let known = Known::of(&ask(&operations::List {})?);
            let now = Instant::now();
            let elapsed = self.looked.replace(now).map(|before| now - before);
            let found = self.add_up(&answer.sockets);
            sample.instances = Some(instances(&known, &found, elapsed, answer.unreadable.len()));
        }
        sample.sockets = wanted.map(|instance| {
            let own = answer.sockets.iter().filter(|socket| socket.congestion_control == instance);
            SocketList { instance: instance.to_owned(), at: Some(Instant::now()), rows: own.map(row).collect() }
        });
        Ok(sample)
    }
}

impl Asked {
    fn add_up(&mut self, sockets: &[operations::Socket]) -> BTreeMap<(String, u32), Found> {
        let mut look = self.before.begin();
        let mut sums: BTreeMap<(String, u32), Found> = BTreeMap::new();
        for socket in sockets {
            let sum = sums.entry((socket.congestion_control.clone(), socket.map_id.unwrap_or_default())).or_default();
            sum.sockets += 1;
            let Some(transport) = &socket.transport else { continue };
            sum.impossible += u64::from(transport.is_window_impossible);
            let now = Counters {
                acked_bytes: transport.acked_bytes,
                data_segments: transport.data_segments_sent_pkts.into(),
                retransmits_pkts: transport.retransmits_pkts.into(),
            };
            let grown = look.meet(socket.cookie, now);
            sum.counters.add(grown);
            if grown.acked_bytes > 0 && transport.data_segments_sent_pkts > 0 {
                sum.senders.add(sender(grown.acked_bytes, transport));
            }
        }
        look.end();
        sums
    }
}

fn sender(acked_bytes: u64, transport: &operations::Transport) -> Senders {
    Senders::one(acked_bytes, transport.mss_bytes, transport.cwnd_pkts, transport.srtt_us.unwrap_or_default())
}

fn row(socket: &operations::Socket) -> SocketRow {
    let owners = socket.owners.iter().flatten().map(|owner| (owner.pid, owner.command.as_str()));
    let transport = socket.transport.as_ref();
    SocketRow {
        cookie: socket.cookie,
        namespace: socket.namespace.as_str().into(),
        state: socket.state.as_str().into(),
        source: socket.source.clone(),
        destination: socket.destination.clone(),
        process: process_text(&owners.collect::<Vec<_>>()),
        cgroup: socket.cgroup.as_deref().map(Into::into),
        cwnd_pkts: transport.map(|transport| transport.cwnd_pkts),
        ssthresh_pkts: transport.and_then(|transport| transport.ssthresh_pkts),
        srtt_us: transport.and_then(|transport| transport.srtt_us),
        acked_bytes: transport.map_or(0, |transport| transport.acked_bytes),
        retransmits_pkts: transport.map_or(0, |transport| transport.retransmits_pkts),
        in_flight_pkts: transport.map_or(0, |transport| transport.in_flight_pkts),
    }
}
