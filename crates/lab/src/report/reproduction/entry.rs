//! A scenario's results: the simulator's, and the running kernel's where there are some.

use std::path::{Path, PathBuf};

use super::changes::changes;
use crate::run::{load, summarise, PaperRow, RunError, Summary};
use crate::scenario::{Axis, Scenario};
use crate::statements::Judged;

/// Backend of the results that all others stand beside.
const SIMULATOR: &str = "sim";

/// What there is of a scenario.
pub(super) struct Entry {
    /// The simulator's.
    pub(super) sim: Summary,
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

impl KernelEntry {
    /// What became of a statement there.
    pub(super) fn judged(&self, id: &str) -> Option<&Judged> {
        self.summary.statements.iter().find(|judged| judged.id == id)
    }

    /// The same row of the paper's values.
    pub(super) fn paper(&self, row: &PaperRow) -> Option<&PaperRow> {
        self.summary
            .paper
            .iter()
            .find(|it| it.measure == row.measure && it.place == row.place && it.stands == row.stands)
    }
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

/// All scenarios of these folders, by name.
pub(super) fn entries(folders: &[PathBuf]) -> Result<Vec<Entry>, RunError> {
    let all = folders.iter().map(|folder| Loaded::of(folder)).collect::<Result<Vec<_>, _>>()?;
    let (mut sims, mut kernels): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|it| it.summary.versions.backend == SIMULATOR);
    for list in [&mut sims, &mut kernels] {
        list.sort_by(|a, b| a.name().cmp(b.name()));
        if let Some(pair) = list.windows(2).find(|pair| pair[0].name() == pair[1].name()) {
            return Err(pair[1].wrong("a second result of NAME; one folder of each scenario and backend"));
        }
    }
    if let Some(alone) = kernels.iter().find(|it| sims.iter().all(|sim| sim.name() != it.name())) {
        return Err(alone.wrong("a result of NAME on the kernel and none of the simulator; its folder, too"));
    }
    let entry = |sim: Loaded| {
        let kernel = kernels.iter().find(|it| it.name() == sim.name());
        let kernel = kernel.map(|kernel| kernel_entry(kernel, &sim.scenario)).transpose()?;
        Ok(Entry { sim: sim.summary, kernel })
    };
    sims.into_iter().map(entry).collect()
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
