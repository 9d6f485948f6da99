//! A scenario's results: the simulator's, and the running kernel's where there are some.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::changes::changes;
use super::record::Record;
use crate::run::{load, summarise, RunError, Summary};
use crate::scenario::{Axis, Scenario};
use crate::shipped::shipped;

/// Backend of the results that all others stand beside.
const SIMULATOR: &str = "sim";

/// What folders have of a scenario.
pub(super) struct Entry {
    /// Its name.
    pub(super) name: String,
    /// The simulator's.
    pub(super) sim: Option<Summary>,
    /// The running kernel's.
    pub(super) kernel: Option<KernelEntry>,
}

/// Results of the running kernel, judged by all places of the simulator's scenario.
pub(super) struct KernelEntry {
    /// Measures and statements.
    pub(super) summary: Summary,
    /// What was set otherwise than in the simulator's scenario.
    pub(super) changes: Vec<String>,
}

struct Loaded {
    folder: PathBuf,
    scenario: Scenario,
    summary: Summary,
}

impl Loaded {
    fn of(folder: &Path) -> Result<Self, RunError> {
        let scenario = load(folder)?;
        let summary = summarise(folder, &scenario)?;
        Ok(Self { folder: folder.to_owned(), scenario, summary })
    }

    fn name(&self) -> &str {
        &self.summary.versions.scenario
    }

    fn wrong(&self, what: &str) -> RunError {
        RunError::Unfit { folder: self.folder.clone(), what: what.replace("NAME", self.name()) }
    }
}

/// All scenarios of these folders, by name. A record knows of simulated results that have no folder.
pub(super) fn entries(folders: &[PathBuf], record: &Record) -> Result<Vec<Entry>, RunError> {
    let all = folders.iter().map(|folder| Loaded::of(folder)).collect::<Result<Vec<_>, _>>()?;
    let (sims, kernels): (Vec<_>, Vec<_>) = all.into_iter().partition(|it| it.summary.versions.backend == SIMULATOR);
    let (mut sims, mut kernels) = (by_name(sims)?, by_name(kernels)?);
    let names: BTreeSet<String> = sims.keys().chain(kernels.keys()).cloned().collect();
    let entry = |name: String| {
        let (sim, kernel) = (sims.remove(&name), kernels.remove(&name));
        let shipped = || if record.knows(&name) { shipped_scenario(&name) } else { None };
        let kernel = kernel.map(|kernel| match sim.as_ref().map(|sim| sim.scenario.clone()).or_else(shipped) {
            Some(scenario) => kernel_entry(&kernel, &scenario),
            None => Err(kernel.wrong("a result of NAME on the kernel and none of the simulator; its folder, too")),
        });
        Ok(Entry { name, sim: sim.map(|sim| sim.summary), kernel: kernel.transpose()? })
    };
    names.into_iter().map(entry).collect()
}

fn by_name(all: Vec<Loaded>) -> Result<BTreeMap<String, Loaded>, RunError> {
    let mut found = BTreeMap::new();
    for one in all {
        if found.contains_key(one.name()) {
            return Err(one.wrong("a second result of NAME; one folder of each scenario and backend"));
        }
        found.insert(one.name().to_owned(), one);
    }
    Ok(found)
}

fn shipped_scenario(name: &str) -> Option<Scenario> {
    let shipped = shipped().into_iter().find(|it| it.name == name)?;
    Scenario::of_text(&Path::new(name).with_extension("toml"), shipped.text, &[]).ok()
}

/// What a folder of the kernel says of the simulator's scenario: places that were not run are missing, and not left out.
fn kernel_entry(kernel: &Loaded, sim: &Scenario) -> Result<KernelEntry, RunError> {
    let changes = changes(&sim.text, &kernel.scenario.text);
    let is_same = |(own, sim): (&Axis, &Axis)| own.name == sim.name && own.values == sim.values;
    let (own, axes) = (&kernel.scenario.axes, &sim.axes);
    if own.len() != axes.len() || !own.iter().zip(axes).all(is_same) {
        return Err(kernel.wrong("runs of NAME over other values than the simulator's; runs of the same scenario"));
    }
    let scenario = Scenario { repeats: sim.repeats.max(kernel.scenario.repeats), ..sim.clone() };
    Ok(KernelEntry { summary: summarise(&kernel.folder, &scenario)?, changes })
}
