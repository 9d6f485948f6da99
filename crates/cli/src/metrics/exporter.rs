// SPDX-License-Identifier: MIT OR Apache-2.0
//! What stands behind `/metrics` while it is on: programs in the kernel, and a thread that looks at what cannot be counted as it
//! happens: the sockets that there are, instances, rules.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use ccctl_console::cause;
use ccctl_core::experiment::{counted_as, overlays};
use ccctl_loader::{guard, read_rules, CgroupTree, Instance, NamespaceScan, RuleTable, Selector};
use ccctl_telemetry::{
    count_run_time, Clock, Gauges, MetricKey, Reader, Scope, Settings, SocketScanner, StatsOn, CGROUPS, OTHER, SCOPES,
};

use super::numbers::Numbers;

use ccctl_core::configuration::Metrics;
use ccctl_core::sys;

/// Least time between two looks at the sockets.
const LEAST_PAUSE: Duration = Duration::from_secs(5);
/// The pause is at least so many times as long as the look: it costs a fiftieth of a processor at most,
const PAUSE_PER_LOOK: u32 = 50;
/// where it does not take longer because the machine is busy: gauges must not grow old then.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// How often the clock is looked after, as `ccctl acks` does it.
const TICK: Duration = Duration::from_millis(50);
/// For a look that somebody waits for.
const LOOK_PATIENCE: Duration = Duration::from_secs(20);
/// What could not be started is tried again.
const RETRY: Duration = Duration::from_secs(30);

/// What the last looks have found.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// When the sockets were looked at, and how long that took.
    pub looked: Option<(Instant, Duration)>,
    /// Connections.
    pub present: Vec<(MetricKey, Gauges)>,
    /// What is counted apart, by number: paths of cgroups, and rules for a part of their connections; None: no rule names it
    /// any more.
    pub names: Vec<Option<String>>,
    /// Labels of cgroups by number.
    pub cgroups: Vec<Option<String>>,
    /// Instances and their algorithms.
    pub instances: Vec<(String, String)>,
    /// Instances that the guard has disabled.
    pub disabled: Vec<String>,
    /// Runs of programs, and the time in them, by instance and name.
    pub programs: BTreeMap<(String, String), (u64, Duration)>,
    /// Collectors of what could not be looked at.
    pub failures: BTreeSet<&'static str>,
}

impl Snapshot {
    /// By what the counters of a number go: see [`ccctl_core::experiment::counted_as`].
    pub fn name(&self, number: u32) -> Option<&str> {
        self.names.get(number as usize).and_then(Option::as_deref).filter(|_| number > 0)
    }

    /// The number of such a name.
    pub fn number(&self, name: &str) -> Option<u32> {
        self.names.iter().skip(1).position(|known| known.as_deref() == Some(name)).map(|index| index as u32 + 1)
    }

    /// The label of a cgroup; None where it has none any more.
    pub fn cgroup(&self, number: u32) -> Option<&str> {
        match number {
            0 => Some(OTHER),
            number => self.cgroups.get(number as usize).and_then(Option::as_deref),
        }
    }
}

/// What the thread and scrapes share.
pub(super) struct Shared {
    /// None until the programs are loaded.
    pub reader: Mutex<Option<Arc<Reader>>>,
    /// None without `[metrics] acks`, and where it could not be started.
    pub clock: Mutex<Option<Clock>>,
    pub snapshot: Mutex<Snapshot>,
    /// When the counting began.
    pub since: SystemTime,
    wish: Mutex<Wish>,
    wished: Condvar,
    /// Told after each look at the sockets.
    looked: Condvar,
}

/// What the thread is asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Wish {
    /// To go on.
    #[default]
    Nothing,
    /// To read rules and instances anew.
    Names,
    /// The same, and to look at the sockets now.
    Look,
    /// To end.
    End,
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// Waits for a wish, and takes it.
    fn wish_within(&self, time: Duration) -> Wish {
        let waited = self.wished.wait_timeout_while(lock(&self.wish), time, |wish| *wish == Wish::Nothing);
        std::mem::take(&mut *waited.unwrap_or_else(PoisonError::into_inner).0)
    }

    fn ask(&self, new: Wish) {
        let mut wish = lock(&self.wish);
        // whoever waits for a look gets it, although names change meanwhile
        if *wish != Wish::End && (*wish, new) != (Wish::Look, Wish::Names) {
            *wish = new;
        }
        self.wished.notify_all();
    }
}

/// Counts while it lives.
pub struct Exporter {
    settings: Metrics,
    pub(super) shared: Arc<Shared>,
    worker: Option<JoinHandle<()>>,
}

impl Exporter {
    /// Begins. What cannot be started is told in the exposition, and tried again.
    pub fn start(settings: &Metrics) -> anyhow::Result<Self> {
        let shared = Arc::new(Shared {
            reader: Mutex::default(),
            clock: Mutex::default(),
            snapshot: Mutex::default(),
            since: SystemTime::now(),
            wish: Mutex::default(),
            wished: Condvar::new(),
            looked: Condvar::new(),
        });
        let mut worker = Worker::new(shared.clone(), settings.clone());
        worker.refresh(true); // so that the first scrape finds something
        let worker = std::thread::Builder::new().name("metrics".to_owned()).spawn(move || worker.run())?;
        Ok(Self { settings: settings.clone(), shared, worker: Some(worker) })
    }

    /// Does it count just this?
    pub fn is_of(&self, settings: &Metrics) -> bool {
        (&self.settings.acks, self.settings.bpf_stats) == (&settings.acks, settings.bpf_stats)
    }

    /// Looks at all sockets now, and waits until that is done.
    pub(super) fn look_now(&self) -> anyhow::Result<()> {
        let asked = Instant::now();
        self.shared.ask(Wish::Look);
        let is_older = |snapshot: &mut Snapshot| {
            snapshot.looked.is_none_or(|(at, took)| at.checked_sub(took).is_none_or(|began| began < asked))
        };
        let waited = self.shared.looked.wait_timeout_while(lock(&self.shared.snapshot), LOOK_PATIENCE, is_older);
        let timed_out = waited.unwrap_or_else(PoisonError::into_inner).1.timed_out();
        anyhow::ensure!(!timed_out, "the sockets could not be looked at");
        Ok(())
    }

    /// Rules or instances may have changed.
    pub fn names_changed(&self) {
        self.shared.ask(Wish::Names);
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        self.shared.ask(Wish::End);
        if let Some(worker) = self.worker.take() {
            let _ = worker.join(); // if it has panicked, it has ended, too
        }
    }
}

struct Worker {
    shared: Arc<Shared>,
    settings: Metrics,
    scanner: Option<SocketScanner>,
    stats: Option<StatsOn>,
    tried: Option<Instant>,
    due: Instant,
    cgroups: Numbers,
    /// Cgroups that rules name and that have no number.
    left_out: usize,
    /// Numbers of cgroups by id, as the programs have them.
    numbers: HashMap<u64, u32>,
    /// What of them is counted apart, as the programs have it.
    scopes: Vec<Scope>,
}

impl Worker {
    fn new(shared: Arc<Shared>, settings: Metrics) -> Self {
        let (cgroups, numbers) = (Numbers::default(), HashMap::new());
        Self {
            shared,
            settings,
            scanner: None,
            stats: None,
            tried: None,
            due: Instant::now(),
            cgroups,
            left_out: 0,
            numbers,
            scopes: Vec::new(),
        }
    }

    fn run(mut self) {
        loop {
            let ticks = lock(&self.shared.clock).is_some();
            let left = self.due.saturating_duration_since(Instant::now());
            match self.shared.wish_within(if ticks { TICK.min(left) } else { left }) {
                Wish::End => return,
                Wish::Names => self.refresh(false),
                Wish::Look => self.refresh(true),
                Wish::Nothing => {}
            }
            if let Some(clock) = lock(&self.shared.clock).as_mut() {
                if let Err(error) = clock.sample() {
                    tracing::error!("metrics: the ACK clock: {error}");
                }
            }
            if Instant::now() >= self.due {
                self.refresh(true);
            }
        }
    }

    /// Reads names, and where `looks` is set goes over the sockets as well.
    fn refresh(&mut self, looks: bool) {
        if self.tried.is_none_or(|tried| tried.elapsed() >= RETRY) {
            self.tried = Some(Instant::now());
            self.start_what_is_missing();
        }
        let mut next = Snapshot { failures: self.missing(), ..Snapshot::default() };
        let named = self.name_cgroups(&mut next);
        note(&mut next, "cgroups", named);
        let looked = look_at_instances(&mut next);
        note(&mut next, "instances", looked);
        self.add_own(&mut next.programs);
        if looks {
            let started = Instant::now();
            let looked = self.look(&mut next);
            note(&mut next, "look", looked);
            let took = started.elapsed();
            next.looked = self.scanner.is_some().then(|| (Instant::now(), took));
            self.due = Instant::now() + (took * PAUSE_PER_LOOK).clamp(LEAST_PAUSE, LONGEST_PAUSE);
        }
        let mut snapshot = lock(&self.shared.snapshot);
        if !looks {
            next.present = std::mem::take(&mut snapshot.present);
            next.looked = snapshot.looked;
            next.failures.extend(snapshot.failures.get("look"));
        }
        *snapshot = next;
        drop(snapshot);
        self.shared.looked.notify_all();
        sys::return_memory();
    }

    fn start_what_is_missing(&mut self) {
        if self.scanner.is_none() {
            match SocketScanner::start() {
                Ok((scanner, reader)) => {
                    self.scanner = Some(scanner);
                    *lock(&self.shared.reader) = Some(Arc::new(reader));
                }
                Err(error) => tracing::error!("metrics: sockets: {}", cause(&error.into())),
            }
        }
        if self.settings.bpf_stats && self.stats.is_none() {
            match count_run_time() {
                Ok(stats) => self.stats = Some(stats),
                Err(error) => tracing::error!("metrics: programs: {}", cause(&error.into())),
            }
        }
        let mut clock = lock(&self.shared.clock);
        if !self.settings.acks.is_empty() && clock.is_none() {
            let settings = Settings { interfaces: self.settings.acks.clone(), ..Settings::default() };
            match Clock::start(&settings) {
                Ok(started) => *clock = Some(started),
                Err(error) => tracing::error!("metrics: clock: {}", cause(&error.into())),
            }
        }
    }

    /// Collectors of what could not be started.
    fn missing(&self) -> BTreeSet<&'static str> {
        let clock = !self.settings.acks.is_empty() && lock(&self.shared.clock).is_none();
        let stats = self.settings.bpf_stats && self.stats.is_none();
        let all = [("sockets", self.scanner.is_none()), ("programs", stats), ("clock", clock)];
        all.into_iter().filter(|(_, is_missing)| *is_missing).map(|(collector, _)| collector).collect()
    }

    /// Cgroups that rules name, as far as they are there now.
    fn name_cgroups(&mut self, found: &mut Snapshot) -> anyhow::Result<()> {
        let table = read_rules()?;
        let cgroups: BTreeSet<&str> = table.rules().iter().map(|rule| rule.selector.cgroup.as_str()).collect();
        let parts = parts(&table)?;
        let named: BTreeSet<&str> = cgroups.iter().copied().chain(parts.keys().map(String::as_str)).collect();
        let left_out = self.cgroups.name(&named);
        if left_out > 0 && left_out != self.left_out {
            let all = named.len();
            tracing::warn!(
                "metrics: {left_out} of {all} cgroups that rules name have no label: the limit is {CGROUPS}"
            );
        }
        self.left_out = left_out;
        found.names = self.cgroups.labels();
        let label = |name: &String| parts.get(name).map_or_else(|| name.clone(), |rule| rule.cgroup.to_string());
        found.cgroups = found.names.iter().map(|name| name.as_ref().map(label)).collect();
        let scopes: Vec<Scope> = parts.iter().filter_map(|(name, part)| self.scope(name, part)).collect();
        let Some(scanner) = &mut self.scanner else { return Ok(()) };
        let mut numbers = HashMap::new();
        if !named.is_empty() {
            let tree = CgroupTree::find()?;
            for (number, path) in self.cgroups.named().filter(|(_, path)| cgroups.contains(path)) {
                let id = inode(&tree.mount().join(path.trim_start_matches('/')));
                numbers.extend(id.map(|id| (id, number)));
            }
        }
        if (&numbers, &scopes) != (&self.numbers, &self.scopes) {
            scanner.set_cgroups(&numbers, &scopes)?;
            (self.numbers, self.scopes) = (numbers, scopes);
        }
        Ok(())
    }

    fn scope(&self, name: &str, part: &Selector) -> Option<Scope> {
        Some(Scope {
            cgroup: self.cgroups.number(part.cgroup.as_str())?,
            number: self.cgroups.number(name)?,
            prefix: part.to.map(|to| (to.address(), to.bits())),
            port: part.to_port,
        })
    }

    /// The sockets of all network namespaces that may be entered.
    fn look(&mut self, found: &mut Snapshot) -> anyhow::Result<()> {
        let reader = lock(&self.shared.reader).clone();
        let Some((scanner, reader)) = self.scanner.as_mut().zip(reader) else { return Ok(()) };
        let namespaces = NamespaceScan::all()?.found;
        found.present = scanner.look(&reader, |go_over| {
            for namespace in &namespaces {
                let mut result = Ok(());
                let inside = &mut result;
                let _ = namespace.run(|| {
                    *inside = go_over();
                    Ok(())
                }); // one that cannot be entered has gone meanwhile
                result?;
            }
            Ok(())
        })?;
        // Every socket has met the cgroups of now: under those that were left nothing is counted any more.
        if self.cgroups.has_left() {
            scanner.release(|number| self.cgroups.is_named(number))?;
            self.cgroups.release();
        }
        Ok(())
    }

    /// What measuring itself costs.
    fn add_own(&self, programs: &mut BTreeMap<(String, String), (u64, Duration)>) {
        let clock = lock(&self.shared.clock);
        let own = self.scanner.iter().flat_map(SocketScanner::programs);
        for cost in own.chain(clock.iter().flat_map(Clock::programs)) {
            let sum = programs.entry((OTHER.to_owned(), cost.name)).or_default();
            *sum = (sum.0 + cost.run_count, sum.1 + cost.run_time);
        }
    }
}

/// Rules for a part of the connections of a cgroup, by name: as many as can be counted apart, those of experiments first. What
/// rules with conditions match is not counted apart.
fn parts(table: &RuleTable) -> anyhow::Result<BTreeMap<String, Selector>> {
    let is_part =
        |selector: &&Selector| selector.conditions.is_empty() && (selector.to.is_some() || selector.to_port.is_some());
    let mut all: Vec<&Selector> = table.rules().iter().map(|rule| &rule.selector).filter(is_part).collect();
    if all.len() > SCOPES {
        let overlays = overlays(SystemTime::now())?;
        all.sort_by_key(|part| overlays.iter().all(|overlay| overlay.selector != **part));
        all.truncate(SCOPES);
    }
    Ok(all.into_iter().map(|part| (counted_as(part), part.clone())).collect())
}

fn note(next: &mut Snapshot, collector: &'static str, result: anyhow::Result<()>) {
    if let Err(error) = result {
        tracing::error!("metrics: {collector}: {}", cause(&error));
        next.failures.insert(collector);
    }
}

fn look_at_instances(found: &mut Snapshot) -> anyhow::Result<()> {
    for instance in Instance::all()? {
        for program in &instance.programs {
            let time = Duration::from_nanos(program.run_time_ns);
            found.programs.insert((instance.name.clone(), program.name.clone()), (program.run_count, time));
        }
        found.instances.push((instance.name, instance.identity.algorithm));
    }
    found.disabled = guard::trips()?.into_iter().map(|trip| trip.name).collect();
    Ok(())
}

/// By which sockets know their cgroup.
fn inode(folder: &Path) -> Option<u64> {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata(folder).ok().map(|found| found.ino())
}
