// SPDX-License-Identifier: GPL-2.0-only
//! A scenario's results: the simulator's, and the running kernel's where there are some.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::changes::changes;
use crate::experiment::Axis;
use crate::run::{kernels_of, load, summarise, RunError, Summary};
use crate::scenario::Scenario;
use crate::shipped::shipped;

/// Backend of the results that all others stand beside.
const SIMULATOR: &str = "sim";

/// What folders have of a scenario.
pub(super) struct Entry {
    /// Its name.
    pub(super) name: String,
    /// The simulator's, and what was set otherwise than in this repository's scenario of that name.
    pub(super) sim: Option<Results>,
    /// The simulator's with the noise of the testbed.
    pub(super) testbed: Option<Results>,
    /// The running kernel's, judged by all places of the simulator's scenario, and what was set otherwise than there.
    pub(super) kernel: Vec<Results>,
}

/// Results of one backend.
pub(super) struct Results {
    /// Measures and statements.
    pub(super) summary: Summary,
    /// What was set otherwise.
    pub(super) changes: Vec<String>,
    /// Releases of the kernels that they were made on; not of simulated ones, which are the same on each.
    pub(super) kernels: BTreeSet<String>,
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

/// All scenarios of these folders, by name. `is_known` says whether there are simulated results without a folder.
pub(super) fn entries(folders: &[PathBuf], is_known: impl Fn(&str) -> bool) -> Result<Vec<Entry>, RunError> {
    let all = folders.iter().map(|folder| Loaded::of(folder)).collect::<Result<Vec<_>, _>>()?;
    let (sims, kernels): (Vec<_>, Vec<_>) = all.into_iter().partition(|it| it.summary.versions.backend == SIMULATOR);
    let (testbeds, sims): (Vec<_>, Vec<_>) = sims.into_iter().partition(|it| it.scenario.is_testbed);
    let (mut sims, mut testbeds, mut kernels) = (by_name(sims), by_name(testbeds), by_name(kernels));
    let names: BTreeSet<String> = sims.keys().chain(testbeds.keys()).chain(kernels.keys()).cloned().collect();
    let entry = |name: String| {
        let sim = only(sims.remove(&name).unwrap_or_default())?;
        let kernels = kernels.remove(&name).unwrap_or_default();
        let shipped = || if is_known(&name) { shipped_scenario(&name) } else { None };
        let scenario = sim.as_ref().map(|sim| sim.scenario.clone()).or_else(shipped);
        let kernel = all_kernel_results(&kernels, scenario.as_ref())?;
        let testbed = only(testbeds.remove(&name).unwrap_or_default())?;
        if let (Some(testbed), None) = (&testbed, &scenario) {
            return Err(testbed.wrong(
                "a result of NAME with the noise of its testbed, but none without; add the folder of the exact runs",
            ));
        }
        Ok(Entry { name, sim: sim.map(sim_results), testbed: testbed.map(sim_results), kernel })
    };
    names.into_iter().map(entry).collect()
}

fn by_name(all: Vec<Loaded>) -> BTreeMap<String, Vec<Loaded>> {
    let mut found: BTreeMap<String, Vec<Loaded>> = BTreeMap::new();
    for one in all {
        found.entry(one.name().to_owned()).or_default().push(one);
    }
    found
}

fn only(sims: Vec<Loaded>) -> Result<Option<Loaded>, RunError> {
    match sims.get(1) {
        Some(second) => Err(second.wrong("a second result of NAME in the simulator; give one folder per scenario")),
        None => Ok(sims.into_iter().next()),
    }
}

/// Each with settings of its own.
fn all_kernel_results(kernels: &[Loaded], sim: Option<&Scenario>) -> Result<Vec<Results>, RunError> {
    let mut found: Vec<Results> = Vec::new();
    for kernel in kernels {
        let Some(sim) = sim else {
            return Err(
                kernel.wrong("a result of NAME on the kernel, but none of the simulator; add the simulator's folder")
            );
        };
        let results = kernel_results(kernel, sim)?;
        if found.iter().any(|known| known.changes == results.changes) {
            return Err(kernel.wrong("a second result of NAME on the kernel; give one folder per scenario and --set"));
        }
        found.push(results);
    }
    Ok(found)
}

fn sim_results(sim: Loaded) -> Results {
    let shipped = shipped().into_iter().find(|it| it.name == sim.name());
    let changes = shipped.map_or_else(Vec::new, |shipped| changes(shipped.text, &sim.scenario.text));
    Results { summary: sim.summary, changes, kernels: BTreeSet::new() }
}

pub(super) fn shipped_scenario(name: &str) -> Option<Scenario> {
    let shipped = shipped().into_iter().find(|it| it.name == name)?;
    Scenario::of_text(&Path::new(name).with_extension("toml"), shipped.text, &[]).ok()
}

/// What a folder of the kernel says of the simulator's scenario: places that were not run are missing, and not left out.
fn kernel_results(kernel: &Loaded, sim: &Scenario) -> Result<Results, RunError> {
    let changes = changes(&sim.text, &kernel.scenario.text);
    let is_same = |(own, sim): (&Axis, &Axis)| own.name == sim.name && own.values == sim.values;
    let (own, axes) = (&kernel.scenario.axes, &sim.axes);
    if own.len() != axes.len() || !own.iter().zip(axes).all(is_same) {
        return Err(kernel.wrong("runs of NAME over other values than the simulator's; give runs of the same scenario"));
    }
    let scenario = Scenario { repeats: sim.repeats.max(kernel.scenario.repeats), ..sim.clone() };
    let kernels = kernels_of(&kernel.folder, &scenario)?;
    Ok(Results { summary: summarise(&kernel.folder, &scenario)?, changes, kernels })
}
