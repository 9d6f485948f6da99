// SPDX-License-Identifier: MIT OR Apache-2.0
//! Experiments: counts blocks, and ends what is complete, harmful or void. Which arm a moment has is not known here: the
//! plan and the clock say it, and the reconciler puts it into force.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ccctl_console::{cause, output};
use ccctl_core::daemon::{EventKind, News};
use ccctl_core::experiment::{counted_as, overlays, ring, store, Block, ClusterSums, Ended, Kept, Overlay, Plan};
use ccctl_core::operations::experiment::{self, ExperimentInfo};
use ccctl_core::plan::Step;
use ccctl_inference::schedule::{Arm, Place};

use crate::events::Journal;
use crate::metrics::{self, Counted};

/// Why a block whose beginning was not counted is none.
const NO_BEGIN: &str = "the daemon, or the switch to its arm, came too late to its start";
/// A clock that differs by more from the monotonic one was set.
const CLOCK_STEP: Duration = Duration::from_millis(500);
/// The daemon may come so late to a block's edge, or by a quarter of short blocks. The arm changes after the counters were
/// read, so what is late only makes a block or its burn-in longer.
const LATE: Duration = Duration::from_secs(5);
/// For so many blocks what an experiment needs may be missing.
const LACKING_BLOCKS: u32 = 2;
/// So many dropped pairs for each one that is wanted end an experiment.
const MOST_DROPPED: usize = 2;

/// What experiments show, for `/metrics`.
static SHOWN: Mutex<Vec<ExperimentInfo>> = Mutex::new(Vec::new());

/// What experiments that were started show now.
pub fn shown() -> Vec<ExperimentInfo> {
    SHOWN.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// A block under way.
struct Open {
    block: u64,
    arm: Arm,
    begins: Duration,
    /// Counted at the end of the burn-in, and of twice the burn-in.
    begin: Option<Counted>,
    later: Option<Counted>,
    problem: Option<String>,
}

/// Those of this host.
pub struct Experiments {
    open: BTreeMap<String, Open>,
    /// Since when an experiment lacks something that it needs.
    lacking: BTreeMap<String, Instant>,
    clocks: Option<(Instant, SystemTime)>,
    /// What was seen of the clock in this step.
    clock_step: Option<String>,
    ring: Option<(u64, Counted)>,
    /// What was put into force last.
    overlaid: Vec<Overlay>,
    journal: Arc<Journal>,
}

impl Experiments {
    /// Of this daemon.
    pub fn new(journal: Arc<Journal>) -> Self {
        Self {
            open: BTreeMap::new(),
            lacking: BTreeMap::new(),
            clocks: None,
            clock_step: None,
            ring: None,
            overlaid: Vec::new(),
            journal,
        }
    }

    /// Counts what is to be counted at this moment. Called at each edge of a block, before each comparison, and every 2 s.
    pub fn step(&mut self) {
        let now = SystemTime::now();
        self.watch_clock(now);
        if let Err(error) = self.step_all(now) {
            tracing::error!("experiments: {}", cause(&error));
        }
        if let Err(error) = self.keep_past(now) {
            tracing::error!("experiments: the counters of the last day: {}", cause(&error));
        }
    }

    /// Is another arm due than that which was put into force?
    pub fn is_due(&self) -> bool {
        overlays(SystemTime::now()).is_ok_and(|overlays| overlays != self.overlaid)
    }

    /// Is something to be counted?
    pub fn counts() -> bool {
        store::all().is_ok_and(|all| all.iter().any(Kept::is_in_force))
    }

    /// What experiments want at this moment; None: it cannot be read.
    pub fn wanted() -> Option<Vec<Overlay>> {
        overlays(SystemTime::now()).ok()
    }

    /// Rules are as experiments wanted them before these steps, or want them now.
    pub fn reconciled(&mut self, before: Option<Vec<Overlay>>, steps: &[Step]) {
        let (Some(before), Some(now)) = (before, Self::wanted()) else { return };
        if steps.iter().any(|step| step.error.is_some() && now.iter().any(|overlay| is_of(step, overlay))) {
            return; // it is still due
        }
        for overlay in changed_by_others(&self.overlaid, &before, &now, steps) {
            self.disturb(overlay, "its rule was changed by something else, and was set again");
        }
        self.overlaid = before; // where a block has ended meanwhile, it is still due
    }

    /// Lets the rules of those go that have ended, once their live connections have arm A; true if there are any.
    pub fn settle(&self) -> bool {
        experiment::settle(&self.overlaid).unwrap_or_else(|error| {
            tracing::error!("experiments: {}", cause(&error));
            false
        })
    }

    /// When the next block begins or a burn-in ends.
    pub fn due() -> Option<Instant> {
        let now = store::since_epoch(SystemTime::now());
        let edges = store::all().ok()?.into_iter().filter(Kept::runs).filter_map(|kept| {
            let schedule = kept.plan.schedule().ok()?;
            let first = schedule.start(2 * kept.progress.as_ref()?.first_pair);
            let place = schedule.place(now);
            let begins = schedule.start(place.block);
            let burn_in = kept.plan.burn_in();
            [first, begins + burn_in, begins + 2 * burn_in, place.ends].into_iter().filter(|edge| *edge > now).min()
        });
        edges.min().map(|edge| Instant::now() + edge.saturating_sub(now))
    }

    fn disturb(&mut self, overlay: &Overlay, why: &str) {
        let Ok(all) = store::all() else { return };
        for kept in all.iter().filter(|kept| kept.plan.selector().is_ok_and(|selector| selector == overlay.selector)) {
            if let Some(open) = self.open.get_mut(&kept.plan.name) {
                open.problem.get_or_insert_with(|| why.to_owned());
            }
        }
    }

    fn watch_clock(&mut self, now: SystemTime) {
        let monotonic = Instant::now();
        self.clock_step = None;
        if let Some((before, wall)) = self.clocks.replace((monotonic, now)) {
            let expected = wall + (monotonic - before);
            let (way, step) = match now.duration_since(expected) {
                Ok(step) => ("ahead", step),
                Err(error) => ("back", error.duration()),
            };
            if step > CLOCK_STEP {
                let tenths = (step.as_secs_f64() * 10.0).round() as u64;
                let why = format!("the clock was set {way} by {}", output::span(Duration::from_millis(100 * tenths)));
                for open in self.open.values_mut() {
                    open.problem.get_or_insert_with(|| why.clone());
                }
                self.clock_step = Some(why);
            }
        }
    }

    fn step_all(&mut self, now: SystemTime) -> anyhow::Result<()> {
        let all = store::all()?;
        let running: Vec<&Kept> = all.iter().filter(|kept| kept.runs()).collect();
        count_only_for(&running)?;
        self.open.retain(|name, _| running.iter().any(|kept| kept.plan.name == *name));
        let mut count = Count::default();
        let mut has_news = false;
        for kept in running {
            if self.lacks(kept)? {
                has_news = true;
                continue;
            }
            has_news |= self.step_one(kept, now, &mut count)?;
        }
        let progress =
            |name: &str| all.iter().find(|kept| kept.plan.name == name).and_then(|kept| kept.progress.clone());
        let shown = shown();
        let is_stale =
            shown.iter().any(|info| info.progress != progress(&info.name)) || shown.is_empty() && !all.is_empty();
        if has_news || is_stale {
            publish(&store::all()?)?;
        }
        Ok(())
    }

    /// A service that is restarted has no cgroup for a moment, and a host that boots has no instance: that costs a pair. What
    /// is missing for two blocks is gone, and the experiment with it.
    fn lacks(&mut self, kept: &Kept) -> anyhow::Result<bool> {
        let name = &kept.plan.name;
        let Some(lack) = experiment::lacks(&kept.plan)? else {
            self.lacking.remove(name);
            return Ok(false);
        };
        let why = lack.why;
        if let Some(open) = self.open.get_mut(name) {
            open.problem.get_or_insert_with(|| why.clone());
        }
        let since = *self.lacking.entry(name.clone()).or_insert_with(Instant::now);
        if since.elapsed() < LACKING_BLOCKS * kept.plan.block() {
            return Ok(false);
        }
        self.lacking.remove(name);
        self.end(kept, Ended::Void, &why).map(|()| true)
    }

    fn step_one(&mut self, kept: &Kept, now: SystemTime, count: &mut Count) -> anyhow::Result<bool> {
        let name = &kept.plan.name;
        let place = kept.place(now)?;
        let block = place.map(|place| place.block);
        let mut has_news = false;
        if let Some(open) = self.open.remove(name) {
            if block == Some(open.block) {
                self.open.insert(name.clone(), open);
            } else {
                self.close(kept, &open, now, count)?;
                has_news = true;
            }
        }
        // what has ended with that block runs no more
        if let Some(place) = place.filter(|_| store::named(name).is_ok_and(|kept| kept.runs())) {
            let open = match self.open.remove(name) {
                Some(open) => open,
                None => self.begin(kept, &place, now)?,
            };
            let open = if self.has_arm(kept, &open)? { count_open(kept, open, now, count) } else { open };
            has_news |= self.open.insert(name.clone(), open).is_none();
        }
        Ok(has_news)
    }

    /// Is the arm of the block in force? What was sent before counts as burn-in.
    fn has_arm(&self, kept: &Kept, open: &Open) -> anyhow::Result<bool> {
        let (selector, arm) = (kept.plan.selector()?, kept.plan.algorithm(open.arm));
        Ok(self.overlaid.iter().any(|overlay| overlay.selector == selector && overlay.arm == arm))
    }

    fn begin(&self, kept: &Kept, place: &Place, now: SystemTime) -> anyhow::Result<Open> {
        let begins = kept.plan.schedule()?.start(place.block);
        let is_late = store::since_epoch(now) > begins + late(kept);
        let known = store::blocks(&kept.plan.name)?.iter().any(|block| block.block >= place.block);
        let problem = match (known, is_late) {
            (true, _) => Some("the clock was set back".to_owned()),
            (false, true) => {
                Some(self.clock_step.clone().unwrap_or_else(|| "the daemon did not run at its start".to_owned()))
            }
            (false, false) => None,
        };
        count_for(&kept.plan, false)?;
        let arm = kept.plan.algorithm(place.arm);
        self.tell(
            &kept.plan.name,
            format!("block {}: {arm} until {}", place.block, output::time(UNIX_EPOCH + place.ends)),
        );
        Ok(Open { block: place.block, arm: place.arm, begins, begin: None, later: None, problem })
    }

    /// The counters are read before the next arm is put into force.
    fn close(&mut self, kept: &Kept, open: &Open, now: SystemTime, count: &mut Count) -> anyhow::Result<()> {
        let plan = &kept.plan;
        let ends = open.begins + plan.block();
        let is_late = store::since_epoch(now) > ends + late(kept);
        let mut problem = open.problem.clone();
        if is_late || store::since_epoch(now) < ends {
            problem.get_or_insert_with(|| "the daemon did not run at its end, or the clock was set".to_owned());
        }
        let counted = count.now();
        let found = match (&open.begin, &counted) {
            (Some(begin), Ok(end)) => found_between(plan, open.arm, begin, end),
            _ => None,
        };
        if open.begin.is_none() {
            problem.get_or_insert_with(|| NO_BEGIN.to_owned());
        }
        if found.is_none() {
            let why = counted.as_ref().err().cloned().unwrap_or_else(|| "the counting began anew in it".to_owned());
            problem.get_or_insert(why);
        }
        let name = counted_as(&plan.selector()?);
        let later = open.later.as_ref().zip(counted.as_ref().ok());
        let block = Block {
            block: open.block,
            began_at: output::time(UNIX_EPOCH + open.begins),
            congestion_control: plan.algorithm(open.arm).to_owned(),
            is_treated: open.arm == Arm::Treated,
            problem,
            later: later.and_then(|(later, end)| end.all_of(&name).since(&later.all_of(&name))),
            ..found.unwrap_or_default()
        };
        if let Some(problem) = &block.problem {
            self.tell(&plan.name, format!("block {} does not count: {problem}", block.block));
        }
        store::add_block(&plan.name, &block)?;
        if !open.block.is_multiple_of(2) {
            self.judge(kept)?;
        }
        Ok(())
    }

    /// After a pair: is it harmful, or complete?
    fn judge(&mut self, kept: &Kept) -> anyhow::Result<()> {
        let info = ExperimentInfo::of(kept, store::blocks(&kept.plan.name)?)?;
        let analysis = &info.analysis;
        if let Some(rail) = analysis.guard_rails.iter().find(|rail| rail.is_harmful) {
            let why = format!("{} {}: {}", rail.metric.label(), rail.values_text, rail.finding);
            return self.end(kept, Ended::Harmful, &why);
        }
        if analysis.pairs.len() >= kept.plan.wanted_pairs {
            if let Some(gate) = analysis.gates.iter().find(|gate| gate.is_void) {
                return self.end(kept, Ended::Void, &format!("a gate did not hold: {}", gate.text));
            }
            return self.end(kept, Ended::Complete, "it has as many pairs as the plan wants");
        }
        let dropped = analysis.dropped_pairs.len();
        if dropped > MOST_DROPPED * kept.plan.wanted_pairs {
            let last = analysis.dropped_pairs.last().map_or("", |pair| &pair.why);
            return self.end(kept, Ended::Void, &format!("{dropped} pairs had to be dropped, the last because {last}"));
        }
        Ok(())
    }

    fn end(&mut self, kept: &Kept, ended: Ended, why: &str) -> anyhow::Result<()> {
        experiment::end(kept, ended, why)?;
        self.open.remove(&kept.plan.name);
        let word = format!("{ended:?}").to_lowercase();
        if ended == Ended::Harmful {
            tracing::error!(
                "experiment {}: a guard-rail has ended it, {} is in force: {why}",
                kept.plan.name,
                kept.plan.arm_a
            );
        }
        self.tell(&kept.plan.name, format!("{word}: {why}"));
        Ok(())
    }

    fn tell(&self, name: &str, text: String) {
        tracing::info!("experiment {name}: {text}");
        self.journal.note(News::new(EventKind::Experiment, name, text));
    }

    /// Every minute, where something is counted: what plans are made of.
    fn keep_past(&mut self, now: SystemTime) -> anyhow::Result<()> {
        let step = store::since_epoch(now).as_secs() / ring::STEP_S;
        if self.ring.as_ref().is_some_and(|(known, _)| *known == step) {
            return Ok(());
        }
        let Some(exporter) = metrics::current() else {
            self.ring = None;
            return Ok(());
        };
        let counted = exporter.count(false)?;
        let before = self.ring.replace((step, counted.clone()));
        let Some((_, before)) = before.filter(|(known, _)| known + 1 == step) else { return Ok(()) };
        let since = |path: &String| Some((path.clone(), counted.all_of(path).since(&before.all_of(path))?));
        let host = counted.host.since(&before.host);
        let cgroups = counted.cgroups.keys().filter_map(since).collect();
        Ok(host.map_or(Ok(()), |host| ring::add(ring::Step { step: step - 1, cgroups, host }))?)
    }
}

fn is_of(step: &Step, overlay: &Overlay) -> bool {
    step.name == overlay.selector.to_string()
}

/// Which rules had to be set again although nothing else was due: neither since the last time, nor while these steps were planned.
fn changed_by_others<'a>(last: &[Overlay], before: &'a [Overlay], now: &[Overlay], steps: &[Step]) -> Vec<&'a Overlay> {
    if last != before || before != now {
        return Vec::new();
    }
    before.iter().filter(|overlay| steps.iter().any(|step| is_of(step, overlay))).collect()
}

/// What the sockets of an experiment did from the end of the burn-in to the end of the block; None where the counting began
/// anew.
fn found_between(plan: &Plan, arm: Arm, begin: &Counted, end: &Counted) -> Option<Block> {
    let name = counted_as(&plan.selector().ok()?);
    let [own, other] = [arm, Plan::other_arm(arm)].map(|arm| plan.algorithm(arm));
    let of = |algorithm: &str| end.of(&name, algorithm).since(&begin.of(&name, algorithm));
    let on_arm = of(own)?.data_segments;
    let mut found = Block {
        sums: end.all_of(&name).since(&begin.all_of(&name))?,
        completions: end.completions_of(&name, own).since(&begin.completions_of(&name, own))?,
        segments_on_arm: on_arm,
        host_acked_bytes: end.host.acked_bytes.checked_sub(begin.host.acked_bytes)?,
        ..Block::default()
    };
    if plan.weights().is_some() {
        let held_out = of(other)?;
        found.segments_on_arm += held_out.data_segments;
        found.held_out = Some(held_out);
        let mut by_cluster: BTreeMap<u32, ClusterSums> = BTreeMap::new();
        for (algorithm, is_own) in [(own, true), (other, false)] {
            for (cluster, sums) in end.clusters_since(begin, &name, algorithm)? {
                let both = by_cluster
                    .entry(cluster)
                    .or_insert(ClusterSums { cluster_number: cluster, ..ClusterSums::default() });
                *if is_own { &mut both.arm_flows } else { &mut both.held_out_flows } = sums;
            }
        }
        found.clusters = by_cluster.into_values().collect();
    }
    Some(found)
}

/// Has what an experiment needs counted for its block: connections by size only after the burn-in.
fn count_for(plan: &Plan, is_burnt_in: bool) -> anyhow::Result<()> {
    let Some(exporter) = metrics::current() else { return Ok(()) };
    exporter.count_for_experiment(&counted_as(&plan.selector()?), is_burnt_in, plan.weights().is_some())
}

fn count_only_for(running: &[&Kept]) -> anyhow::Result<()> {
    let Some(exporter) = metrics::current() else { return Ok(()) };
    let names: anyhow::Result<Vec<String>> =
        running.iter().map(|kept| Ok(counted_as(&kept.plan.selector()?))).collect();
    exporter.count_only_for(&names?)
}

fn late(kept: &Kept) -> Duration {
    LATE.min(kept.plan.block() / 4)
}

/// Notes what was counted when the burn-in, or twice of it, was over. What is late only shortens what counts, up to a half.
fn count_open(kept: &Kept, mut open: Open, now: SystemTime, count: &mut Count) -> Open {
    let elapsed = store::since_epoch(now).saturating_sub(open.begins);
    let burn_in = kept.plan.burn_in();
    let late = kept.plan.block().saturating_sub(burn_in) / 2;
    for (edge, at) in [(burn_in, &mut open.begin), (2 * burn_in, &mut open.later)] {
        if at.is_none() && elapsed >= edge && elapsed <= edge + late {
            if edge == burn_in {
                if let Err(error) = count_for(&kept.plan, true) {
                    open.problem.get_or_insert_with(|| cause(&error));
                }
            }
            match count.now() {
                Ok(counted) => *at = Some(counted),
                Err(why) => {
                    open.problem.get_or_insert(why);
                }
            }
        }
    }
    if open.begin.is_none() && elapsed > burn_in + late {
        open.problem.get_or_insert_with(|| NO_BEGIN.to_owned());
    }
    open
}

/// Counts once for all that need it at a moment.
#[derive(Default)]
struct Count(Option<Result<Counted, String>>);

impl Count {
    fn now(&mut self) -> Result<Counted, String> {
        let count = || {
            let exporter = metrics::current().ok_or_else(|| "nothing counts".to_owned())?;
            exporter.count(true).map_err(|error| cause(&error))
        };
        self.0.get_or_insert_with(count).clone()
    }
}

fn publish(all: &[Kept]) -> anyhow::Result<()> {
    let started = all.iter().filter(|kept| kept.progress.is_some());
    let infos: anyhow::Result<Vec<_>> =
        started.map(|kept| ExperimentInfo::of(kept, store::blocks(&kept.plan.name)?)).collect();
    *SHOWN.lock().unwrap_or_else(PoisonError::into_inner) = infos?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ccctl_core::experiment::Sums;
    use ccctl_loader::{CgroupPath, Conditions, Selector};

    fn open() -> Open {
        Open { block: 4, arm: Arm::Control, begins: Duration::ZERO, begin: None, later: None, problem: None }
    }

    #[test]
    fn a_clock_that_was_set_costs_the_open_blocks() {
        for (step_ms, is_problem) in [(0_i64, false), (300, false), (700, true), (-700, true), (3_600_000, true)] {
            let mut experiments = Experiments::new(Arc::default());
            experiments.open.insert("web".to_owned(), open());
            let now = SystemTime::now();
            experiments.watch_clock(now);
            let step = Duration::from_millis(step_ms.unsigned_abs());
            experiments.watch_clock(if step_ms < 0 { now - step } else { now + step });
            let problem = &experiments.open["web"].problem;
            assert_eq!(problem.is_some(), is_problem, "{step_ms} ms: {problem:?}");
        }
    }

    /// A daemon that is so slow that a block ends while it compares has changed the rule itself.
    #[test]
    fn a_late_switch_is_nobody_elses_change() {
        let selector = Selector {
            cgroup: CgroupPath::parse("/web").unwrap(),
            to: None,
            to_port: None,
            conditions: Conditions::default(),
        };
        let step = serde_json::json!({ "do": "assign", "name": selector.to_string(), "detail": "" });
        let steps: [Step; 1] = [serde_json::from_value(step).unwrap()];
        let of = |arm: &str| {
            vec![Overlay { selector: selector.clone(), arm: arm.to_owned(), held_out: None, existing: true }]
        };
        let (cubic, bbr) = (of("cubic"), of("bbr"));
        let blamed = |last, before, now, steps: &[Step]| changed_by_others(last, before, now, steps).len();
        assert_eq!(blamed(&cubic, &cubic, &cubic, &steps), 1);
        assert_eq!(blamed(&cubic, &cubic, &cubic, &[]), 0);
        assert_eq!(blamed(&cubic, &bbr, &bbr, &steps), 0, "it was due");
        assert_eq!(blamed(&cubic, &cubic, &bbr, &steps), 0, "it became due meanwhile");
    }

    #[test]
    fn counters_of_an_arm_are_those_of_its_scope() {
        let sums = |segments| Sums { data_segments: segments, ..Sums::default() };
        let algorithms = [("cubic".to_owned(), sums(3)), ("bbr".to_owned(), sums(4))].into();
        let counted = Counted { cgroups: [("/a".to_owned(), algorithms)].into(), host: sums(9), ..Counted::default() };
        assert_eq!((counted.all_of("/a").data_segments, counted.all_of("/b").data_segments), (7, 0));
        assert_eq!((counted.of("/a", "bbr").data_segments, counted.of("/b", "bbr").data_segments), (4, 0));
    }
}
