//! What stands behind `/metrics` while it is on: programs in the kernel, and a thread that looks at what cannot be counted as it
//! happens: the sockets that there are, instances, rules.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use ccctl_loader::{guard, read_rules, CgroupTree, Instance, NamespaceScan};
use ccctl_telemetry::{count_run_time, Clock, Looker, Present, Reader, Series, Settings, StatsOn, OTHER};

use crate::exit::cause;
use crate::policy::Metrics;
use crate::sys;

/// Least time between two looks at the sockets.
const LEAST_PAUSE: Duration = Duration::from_secs(5);
/// The pause is at least so many times as long as the look: it costs a hundredth of a processor at most.
const PAUSE_PER_LOOK: u32 = 100;
/// How often the clock is looked after, as `ccctl acks` does it.
const TICK: Duration = Duration::from_millis(50);
/// What could not be started is tried again.
const RETRY: Duration = Duration::from_secs(30);

/// What the last looks have found.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// When the sockets were looked at, and how long that took.
    pub looked: Option<(Instant, Duration)>,
    /// Connections.
    pub present: Vec<(Series, Present)>,
    /// Labels of cgroups by number; None: no rule names it any more.
    pub cgroups: Vec<Option<String>>,
    /// Instances and their algorithms.
    pub instances: Vec<(String, String)>,
    /// Instances that the guard has taken out of use.
    pub out_of_use: Vec<String>,
    /// Runs of programs, and the time in them, by instance and name.
    pub programs: BTreeMap<(String, String), (u64, Duration)>,
    /// Collectors of what could not be looked at.
    pub failures: BTreeSet<&'static str>,
}

impl Snapshot {
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
    ending: Mutex<bool>,
    ended: Condvar,
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// Waits; true where it is the end.
    fn ends_within(&self, time: Duration) -> bool {
        let waited = self.ended.wait_timeout_while(lock(&self.ending), time, |ending| !*ending);
        *waited.unwrap_or_else(PoisonError::into_inner).0
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
            ending: Mutex::default(),
            ended: Condvar::new(),
        });
        let mut worker = Worker::new(shared.clone(), settings.clone());
        worker.refresh(); // so that the first scrape finds something
        let worker = std::thread::Builder::new().name("metrics".to_owned()).spawn(move || worker.run())?;
        Ok(Self { settings: settings.clone(), shared, worker: Some(worker) })
    }

    /// Does it count just this?
    pub fn is_of(&self, settings: &Metrics) -> bool {
        (&self.settings.acks, self.settings.bpf_stats) == (&settings.acks, settings.bpf_stats)
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        *lock(&self.shared.ending) = true;
        self.shared.ended.notify_all();
        if let Some(worker) = self.worker.take() {
            let _ = worker.join(); // if it has panicked, it has ended, too
        }
    }
}

struct Worker {
    shared: Arc<Shared>,
    settings: Metrics,
    looker: Option<Looker>,
    stats: Option<StatsOn>,
    tried: Option<Instant>,
    due: Instant,
    /// Numbers of cgroups by path. They are not used again.
    paths: Vec<String>,
    numbers: HashMap<u64, u32>,
}

impl Worker {
    fn new(shared: Arc<Shared>, settings: Metrics) -> Self {
        let (paths, numbers) = (vec![OTHER.to_owned()], HashMap::new());
        Self { shared, settings, looker: None, stats: None, tried: None, due: Instant::now(), paths, numbers }
    }

    fn run(mut self) {
        loop {
            let ticks = lock(&self.shared.clock).is_some();
            let left = self.due.saturating_duration_since(Instant::now());
            if self.shared.ends_within(if ticks { TICK.min(left) } else { left }) {
                return;
            }
            if let Some(clock) = lock(&self.shared.clock).as_mut() {
                if let Err(error) = clock.sample() {
                    tracing::error!("metrics: the ACK clock: {error}");
                }
            }
            if Instant::now() >= self.due {
                self.refresh();
            }
        }
    }

    fn refresh(&mut self) {
        if self.tried.is_none_or(|tried| tried.elapsed() >= RETRY) {
            self.tried = Some(Instant::now());
            self.start_what_is_missing();
        }
        let started = Instant::now();
        let mut failures = self.missing();
        let mut note = |collector, result: anyhow::Result<()>| {
            if let Err(error) = result {
                tracing::error!("metrics: {collector}: {}", cause(&error));
                failures.insert(collector);
            }
        };
        let mut found = Found::default();
        note("cgroups", self.name_cgroups(&mut found));
        note("instances", look_at_instances(&mut found));
        note("look", self.look(&mut found));
        let Found { present, cgroups, instances, out_of_use, mut programs } = found;
        self.add_own(&mut programs);
        let took = started.elapsed();
        let looked = self.looker.is_some().then(|| (Instant::now(), took));
        *lock(&self.shared.snapshot) = Snapshot { looked, present, cgroups, instances, out_of_use, programs, failures };
        self.due = Instant::now() + LEAST_PAUSE.max(took * PAUSE_PER_LOOK);
        sys::return_memory();
    }

    fn start_what_is_missing(&mut self) {
        if self.looker.is_none() {
            match Looker::start() {
                Ok((looker, reader)) => {
                    self.looker = Some(looker);
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
        let all = [("sockets", self.looker.is_none()), ("programs", stats), ("clock", clock)];
        all.into_iter().filter(|(_, is_missing)| *is_missing).map(|(collector, _)| collector).collect()
    }

    /// Cgroups that rules name, as far as they are there now.
    fn name_cgroups(&mut self, found: &mut Found) -> anyhow::Result<()> {
        let table = read_rules()?;
        let named: Vec<&str> = table.rules().iter().map(|rule| rule.selector.cgroup.as_str()).collect();
        for path in &named {
            if !self.paths.iter().any(|known| known == path) {
                self.paths.push((*path).to_owned());
            }
        }
        let label = |path: &String| named.contains(&path.as_str()).then(|| path.clone());
        found.cgroups = self.paths.iter().map(label).collect();
        let Some(looker) = &mut self.looker else { return Ok(()) };
        let mut numbers = HashMap::new();
        if !named.is_empty() {
            let tree = CgroupTree::find()?;
            for (number, path) in self.paths.iter().enumerate().filter(|(_, path)| named.contains(&path.as_str())) {
                numbers.extend(inode(&tree.mount().join(path.trim_start_matches('/'))).zip(u32::try_from(number).ok()));
            }
        }
        if numbers != self.numbers {
            looker.set_cgroups(&numbers)?;
            self.numbers = numbers;
        }
        Ok(())
    }

    /// The sockets of all network namespaces that may be entered.
    fn look(&mut self, found: &mut Found) -> anyhow::Result<()> {
        let reader = lock(&self.shared.reader).clone();
        let Some((looker, reader)) = self.looker.as_mut().zip(reader) else { return Ok(()) };
        let namespaces = NamespaceScan::all()?.found;
        found.present = looker.look(&reader, |go_over| {
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
        Ok(())
    }

    /// What measuring itself costs.
    fn add_own(&self, programs: &mut Programs) {
        let clock = lock(&self.shared.clock);
        let own = self.looker.iter().flat_map(Looker::programs);
        for cost in own.chain(clock.iter().flat_map(Clock::programs)) {
            let sum = programs.entry((OTHER.to_owned(), cost.name)).or_default();
            *sum = (sum.0 + cost.run_count, sum.1 + cost.run_time);
        }
    }
}

type Programs = BTreeMap<(String, String), (u64, Duration)>;

#[derive(Default)]
struct Found {
    present: Vec<(Series, Present)>,
    cgroups: Vec<Option<String>>,
    instances: Vec<(String, String)>,
    out_of_use: Vec<String>,
    programs: Programs,
}

fn look_at_instances(found: &mut Found) -> anyhow::Result<()> {
    for instance in Instance::all()? {
        for program in &instance.programs {
            let time = Duration::from_nanos(program.run_time_ns);
            found.programs.insert((instance.name.clone(), program.name.clone()), (program.run_count, time));
        }
        found.instances.push((instance.name, instance.identity.algorithm));
    }
    found.out_of_use = guard::trips()?.into_iter().map(|trip| trip.name).collect();
    Ok(())
}

/// By which sockets know their cgroup.
fn inode(folder: &Path) -> Option<u64> {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata(folder).ok().map(|found| found.ino())
}
