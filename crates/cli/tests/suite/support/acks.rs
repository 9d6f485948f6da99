// SPDX-License-Identifier: MIT OR Apache-2.0
//! A measurement beside traffic, the kernel's own counters, and programs of others.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use aya::maps::PerCpuArray;
use aya::programs::links::FdLink;
use aya::programs::tc::TcAttachOptions;
use aya::programs::{LinkOrder, SchedClassifier, TcAttachType, Xdp, XdpMode};
use aya::Ebpf;
use ccctl_telemetry::bindings::arrival_counts;
use ccctl_telemetry::ARRIVAL_OBJECT;
use ccctl_testbed::{eventually, Namespace};
use nix::sys::signal::{kill, Signal};
use nix::unistd::Pid;
use serde_json::Value;

use crate::support::CCCTL;

/// Longest time that any one command may take on a loaded machine.
pub const LIMIT: Duration = Duration::from_secs(30);

/// Links at tc ingress (tcx) are in Linux since 6.6. Before, the clock has a filter there, and no cross-check behind XDP.
pub fn has_tc_links() -> bool {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut numbers = release.split(|character: char| !character.is_ascii_digit()).map(|part| part.parse().unwrap());
    (numbers.next(), numbers.next()) >= (Some(6_u32), Some(6))
}

/// `ccctl acks --json` in the background; killed when dropped.
pub struct Measurement(Child);

impl Measurement {
    /// Starts it and waits until all of it is attached.
    pub fn start(namespace: &Namespace, words: &[&str]) -> Self {
        Self::of_a_share(namespace, &[words, &["--every-ack"]].concat())
    }

    /// The same, timing as many ACKs as `ccctl acks` does unless it is told otherwise.
    pub fn of_a_share(namespace: &Namespace, words: &[&str]) -> Self {
        let started = namespace.enter(|| {
            let mut command = Command::new(CCCTL);
            command.args(["acks", "--json", "--for", "120s"]).args(words);
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        });
        let mut measurement = Self(started.unwrap());
        // It takes the signals first and attaches the trace point of drops last: then it sleeps between looks.
        eventually(LIMIT, || measurement.is_measuring()).unwrap();
        measurement
    }

    fn is_measuring(&mut self) -> Result<(), String> {
        if let Ok(Some(status)) = self.0.try_wait() {
            let mut said = String::new();
            self.0.stderr.take().map(|mut pipe| pipe.read_to_string(&mut said));
            panic!("ccctl acks ended with {status}: {said}");
        }
        let wait = std::fs::read_to_string(format!("/proc/{}/wchan", self.0.id())).unwrap_or_default();
        let links = std::fs::read_dir(format!("/proc/{}/fd", self.0.id())).into_iter().flatten().flatten();
        let links = links.filter(|fd| {
            let target = std::fs::read_link(fd.path()).unwrap_or_default();
            target.to_string_lossy().contains("bpf_link")
        });
        let fewest = if has_tc_links() { 4 } else { 3 };
        match links.count() {
            count if count >= fewest && wait.contains("nanosleep") => Ok(()),
            links => Err(format!("{links} links, {wait}")),
        }
    }

    /// Ctrl-C, and the report that it prints.
    pub fn stop(mut self) -> Value {
        std::thread::sleep(Duration::from_millis(200)); // ACKs on the way
        kill(Pid::from_raw(self.0.id() as i32), Signal::SIGINT).unwrap();
        let mut stdout = String::new();
        self.0.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
        let status = self.0.wait().unwrap();
        assert!(status.success(), "{status}");
        serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}"))
    }
}

impl Drop for Measurement {
    fn drop(&mut self) {
        let _ = self.0.kill(); // mostly it has ended
        let _ = self.0.wait();
    }
}

/// The TCP counters of a namespace.
#[derive(Debug)]
pub struct Counters(BTreeMap<String, u64>);

/// `/proc/net/snmp` and `/proc/net/netstat`: a line of names and a line of values for each group.
pub fn nstat(namespace: &Namespace) -> Counters {
    let read = |path| std::fs::read_to_string(path).unwrap();
    let text = namespace.enter(|| read("/proc/thread-self/net/snmp") + &read("/proc/thread-self/net/netstat")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let mut counters = BTreeMap::new();
    for pair in lines.chunks(2) {
        let (group, names) = pair[0].split_once(':').unwrap();
        let values = pair[1].split_once(':').unwrap().1;
        for (name, value) in names.split_whitespace().zip(values.split_whitespace()) {
            counters.insert(format!("{group}{name}"), value.parse().unwrap_or(0));
        }
    }
    Counters(counters)
}

impl Counters {
    pub fn since(&self, before: &Self) -> Self {
        Self(self.0.iter().map(|(name, value)| (name.clone(), value - before.get(name))).collect())
    }

    pub fn get(&self, name: &str) -> u64 {
        self.0.get(name).copied().unwrap_or_else(|| panic!("no counter {name}"))
    }
}

/// An XDP and a tc program of somebody else's, which count what they see: loads of the clock's own object, as good as any.
pub struct Foreign {
    interface: String,
    at_xdp: Ebpf,
    at_tc: Ebpf,
    _links: [FdLink; 2],
}

impl Foreign {
    /// Attaches them in the namespace of this thread.
    fn attach(interface: &str) -> Self {
        let [mut at_xdp, mut at_tc] = [(); 2].map(|()| Ebpf::load(ARRIVAL_OBJECT).unwrap());
        let index = nix::net::if_::if_nametoindex(interface).unwrap();
        let xdp: &mut Xdp = at_xdp.program_mut("stamp_at_xdp").unwrap().try_into().unwrap();
        xdp.load().unwrap();
        let link = xdp.attach_to_if_index(index, XdpMode::Driver).unwrap();
        let xdp_link = FdLink::try_from(xdp.take_link(link).unwrap()).unwrap();
        let tc: &mut SchedClassifier = at_tc.program_mut("stamp_at_tc").unwrap().try_into().unwrap();
        tc.load().unwrap();
        let options = TcAttachOptions::TcxOrder(LinkOrder::default());
        let link = tc.attach_with_options(interface, TcAttachType::Ingress, options).unwrap();
        let tc_link = FdLink::try_from(tc.take_link(link).unwrap()).unwrap();
        Foreign { interface: interface.to_owned(), at_xdp, at_tc, _links: [xdp_link, tc_link] }
    }

    /// The ids of both programs, as the kernel shows them on the interface: the same before and after.
    pub fn attached(&self, namespace: &Namespace) -> String {
        let mut ip = Command::new("ip");
        ip.args(["-d", "link", "show", &self.interface]);
        let shown = namespace.run(&mut ip, LIMIT).unwrap().stdout;
        let xdp = shown.lines().find(|line| line.contains("prog/xdp")).expect("the XDP program is on the interface");
        let tc = namespace.enter(|| SchedClassifier::query_tcx(&self.interface, TcAttachType::Ingress).unwrap());
        let ids: Vec<u32> = tc.unwrap().1.iter().map(aya::programs::ProgramInfo::id).collect();
        format!("{xdp} {ids:?}")
    }

    /// ACKs that the XDP and the tc program saw.
    pub fn acks(&self) -> [u64; 2] {
        [&self.at_xdp, &self.at_tc].map(|object| {
            let map: PerCpuArray<_, arrival_counts> = object.map("arrivals").unwrap().try_into().unwrap();
            map.get(&0, 0).unwrap().iter().map(|counts| counts.acks).sum()
        })
    }
}

/// Attaches them to an interface of a namespace.
pub fn foreign_programs(namespace: &Namespace, interface: &str) -> Foreign {
    namespace.enter(|| Foreign::attach(interface)).unwrap()
}
