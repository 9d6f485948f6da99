// SPDX-License-Identifier: GPL-2.0-only
//! Scenarios: TOML files that describe experiments and what is claimed of them. `docs/reference/scenarios.md` has the format.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::experiment::{
    self, file, label, memory, resolve, Axis, Document, Point, Position, Region, ScenarioError, SourceText, Sweep,
    SCENARIO_BYTES_MAX,
};
use crate::measures::Reference;
use crate::statements::{statements, Claim, PaperValue, Reader};

/// A scenario that can be run: nothing in it is wrong.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Name of the file without ending.
    pub name: String,
    /// Where names of traces are relative to.
    pub folder: PathBuf,
    /// What is compared.
    pub title: String,
    /// Paper and figure.
    pub source: String,
    /// What differs from it.
    pub notes: String,
    /// What its testbed had beyond it.
    pub testbed: Option<Testbed>,
    /// It is run with that.
    pub is_testbed: bool,
    /// Axes of the sweep.
    pub axes: Vec<Axis>,
    /// All that are run, in the order of the sweep.
    pub points: Vec<Point>,
    /// Places of these and of those that `only` leaves out: what statements are about.
    pub meant: Vec<Position>,
    /// How often each.
    pub repeats: u32,
    /// Where all randomness comes from.
    pub seed: u64,
    /// What pages show.
    pub wanted: Vec<Reference>,
    /// Those of them that the source has figures of.
    pub figures: Vec<Reference>,
    /// Where `impact` and `fair_to_reno` find what they compare with.
    pub baseline: Option<Region>,
    /// The paper's values.
    pub paper: Vec<PaperValue>,
    /// What the results must show.
    pub statements: Vec<Claim>,
    /// The file as it is run, overrides included.
    pub text: String,
    /// What decides about a run, independent of spacing and comments.
    pub canonical: String,
    /// Files that links take their rates from, as the scenario names them.
    pub traces: Vec<String>,
}

/// The noise of a paper's testbed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Testbed {
    /// What is set for it; nothing: the testbed has none, or no document tells of it.
    pub set: Vec<Override>,
    /// The documents that give it, or why there is none.
    pub source: String,
}

/// `--set PATH=VALUE`: the value as TOML, or as a text where it is none.
pub type Override = (String, String);

impl Scenario {
    /// Reads a file.
    pub fn read(path: &Path, overrides: &[Override]) -> Result<Self, ScenarioError> {
        let shown = path.display().to_string();
        let text = ccctl_series::read_regular_text(path, SCENARIO_BYTES_MAX).map_err(|error| ScenarioError {
            file: shown.clone(),
            line: 1,
            column: 1,
            cause: format!("cannot be read: {error}"),
            remedy: "name a scenario's path, such as configs/scenarios/example-dumbbell.toml".to_owned(),
        })?;
        Self::of_text(path, &text, overrides)
    }

    /// Reads a text as if it stood in this file.
    pub fn of_text(path: &Path, text: &str, overrides: &[Override]) -> Result<Self, ScenarioError> {
        let shown = path.display().to_string();
        let whole = with_overrides(text, overrides);
        let source = SourceText { file: &shown, text: &whole, length: text.len() };
        let mut document = Document::of_text(source)?;
        let mut start = text.len() + 1;
        for (path, value) in overrides {
            document.override_value(path, start, value)?;
            start += path.len() + value.len() + 2;
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        let name = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        let mut scenario = of_document(&document, folder)?;
        scenario.name = name;
        scenario.text = if overrides.is_empty() { text.to_owned() } else { document.to_table()?.to_string() };
        Ok(scenario)
    }

    /// The same text with what its testbed had; the overrides count more. None where the testbed had no noise.
    pub fn at_testbed(path: &Path, text: &str, overrides: &[Override]) -> Result<Option<Self>, ScenarioError> {
        let exact = Self::of_text(path, text, &[])?;
        let set = exact.testbed.map_or_else(Vec::new, |testbed| testbed.set);
        if set.is_empty() {
            return Ok(None);
        }
        let scenario = Self::of_text(path, text, &[&set, overrides].concat())?;
        Ok(Some(Self { is_testbed: true, ..scenario }))
    }

    /// Name of the folder of its runs.
    #[must_use]
    pub fn folder_name(&self) -> String {
        if self.is_testbed {
            format!("{}-testbed", self.name)
        } else {
            self.name.clone()
        }
    }

    /// The values of a point's axes, as text.
    #[must_use]
    pub fn values(&self, position: &[usize]) -> Vec<&str> {
        self.axes.iter().zip(position).map(|(axis, at)| axis.values[*at].as_str()).collect()
    }

    /// "algorithm = cubic, buffer = 20 % BDP"; empty without a sweep.
    #[must_use]
    pub fn label(&self, position: &[usize]) -> String {
        label(&self.axes, position)
    }

    /// Values of the axes there, by name.
    #[must_use]
    pub fn place(&self, position: &[usize]) -> BTreeMap<String, String> {
        let names = self.axes.iter().map(|axis| axis.name.clone());
        names.zip(self.values(position).into_iter().map(str::to_owned)).collect()
    }

    /// The scenario and the place, for messages: "s4-pairs, buffer = 40 packets".
    #[must_use]
    pub fn place_text(&self, position: &[usize]) -> String {
        [self.name.clone(), self.label(position)]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// The point there, if it is run.
    #[must_use]
    pub fn point_at(&self, position: &[usize]) -> Option<&Point> {
        self.points.iter().find(|point| point.position == position)
    }
}

/// The text, and the overrides behind it, one a line, so that both have places.
fn with_overrides(text: &str, overrides: &[Override]) -> String {
    let lines = overrides.iter().map(|(path, value)| format!("\n{path}={value}"));
    std::iter::once(text.to_owned()).chain(lines).collect()
}

fn testbed(testbed: &file::Testbed) -> Testbed {
    let set = testbed.set.iter().map(|(path, value)| (path.clone(), value.to_string())).collect();
    Testbed { set, source: testbed.source.trim().to_owned() }
}

fn traces(points: &[Point]) -> Vec<String> {
    let links = points.iter().flat_map(|point| &point.setup.links);
    let files = links.filter_map(|link| link.trace_file.clone());
    files.collect::<std::collections::BTreeSet<String>>().into_iter().collect()
}

fn of_document(document: &Document<'_>, folder: &Path) -> Result<Scenario, ScenarioError> {
    let source = document.source;
    let sweep = Sweep::of_document(document)?;
    let mut positions: Vec<(usize, Position)> = sweep.positions().into_iter().enumerate().collect();
    let first = sweep.document_at(document, &positions[0].1)?.file()?;
    let (only, exclude) = (&first.run.only, &first.run.exclude);
    let regions = |list: &[toml::Spanned<file::Selection>]| {
        list.iter().map(|it| experiment::region(&source, &sweep.axes, it.get_ref())).collect::<Result<Vec<Region>, _>>()
    };
    let (only, exclude) = (regions(only)?, regions(exclude)?);
    positions.retain(|(_, position)| !exclude.iter().any(|region| region.contains(position)));
    let (mut points, mut bytes) = (Vec::new(), 0);
    for (index, position) in positions {
        let at = |mut error: ScenarioError| {
            if !sweep.axes.is_empty() {
                error.cause = format!("{} (at {})", error.cause, label(&sweep.axes, &position));
            }
            error
        };
        let file = sweep.document_at(document, &position)?.file().map_err(at)?;
        let setup = resolve::setup(&resolve::Context { source, folder }, &file).map_err(at)?;
        bytes += setup.bytes();
        if bytes > memory::SWEEP_BYTES_MAX {
            let most = memory::SWEEP_BYTES_MAX >> 20;
            let cause = format!("the first {} points alone take more than {most} MB of memory", points.len() + 1);
            return Err(source.wrong(&(0..0), cause, "use fewer flows, or several scenarios"));
        }
        points.push(Point { index, position, setup });
    }
    let meant = points.clone();
    points.retain(|point| only.is_empty() || only.iter().any(|region| region.contains(&point.position)));
    if points.is_empty() {
        return Err(source.wrong(
            &(0..0),
            "only and exclude leave no point of the sweep",
            "make only or exclude select fewer values",
        ));
    }
    let repeats = &first.run.repeats;
    let runs = u64::from(*repeats.get_ref()) * points.len() as u64;
    if runs > memory::MAX_RUNS {
        let cause = format!(
            "{} repeats of {} points are {runs} runs; the limit of a scenario is {}",
            repeats.get_ref(),
            points.len(),
            memory::MAX_RUNS
        );
        return Err(source.wrong(&repeats.span(), cause, "use fewer repeats: an interval needs 3, and 10 are many"));
    }
    if *repeats.get_ref() > 1 && !points.iter().any(|point| point.setup.is_random()) {
        let cause =
            format!("{} repeats would be identical, because the scenario has no random part", repeats.get_ref());
        return Err(source.wrong(&repeats.span(), cause, "use start_spread = \"100 ms\" in a group, or repeats = 1"));
    }
    let reader = Reader::new(source, &sweep.axes, &meant);
    Ok(Scenario {
        name: String::new(),
        folder: folder.to_owned(),
        title: first.title.clone(),
        source: first.source.clone(),
        notes: first.notes.clone(),
        testbed: first.testbed.as_ref().map(testbed),
        is_testbed: false,
        repeats: *repeats.get_ref(),
        seed: first.run.seed,
        wanted: first.measures.wanted.iter().map(|text| reader.reference(text)).collect::<Result<_, _>>()?,
        figures: reader.figures(&first)?,
        baseline: reader.baseline(&first)?,
        paper: reader.paper(&first.paper)?,
        statements: statements(&reader, &first.statement)?,
        text: String::new(),
        canonical: document.canonical()?,
        traces: traces(&points),
        axes: sweep.axes.clone(),
        meant: meant.iter().map(|point| point.position.clone()).collect(),
        points,
    })
}
