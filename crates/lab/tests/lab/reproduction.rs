//! The table of what papers state: the simulator's part and the running kernel's, on made-up numbers.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use ccctl_lab::backend::{Backend, BackendError, Outcome, Sim, Watch};
use ccctl_lab::report::{reproduction, Note};
use ccctl_lab::run::{run, Options};
use ccctl_lab::scenario::{Override, Scenario, Setup};

use crate::running::{Scratch, SMALL};

/// Beside T-1, utilisation > 10 at all five points.
const MORE: &str = r#"
[[statement]]
id = "T-2"
text = "cubic uses half of the link"
where = "Fig. 1"
check = [{ measure = "utilisation", at = { algorithm = "cubic", buffer = "20 % BDP" }, is = ">", value = 50 }]
[[statement]]
id = "T-3"
text = "so does scalable"
where = "Fig. 2"
check = [{ measure = "utilisation", at = { algorithm = "scalable" }, is = ">", value = 50 }]
[[paper]]
measure = "utilisation"
at = { algorithm = "cubic", buffer = "20 % BDP" }
value = 50
unit = "%"
where = "Table 1"
"#;

/// The simulator under the name of the kernel's backend.
struct Kernel;

impl Backend for Kernel {
    fn name(&self) -> &'static str {
        "netns"
    }

    fn is_deterministic(&self) -> bool {
        false
    }

    fn host(&self) -> Option<String> {
        Some("Linux 1.2.3".to_owned())
    }

    fn settings(&self) -> BTreeMap<String, String> {
        BTreeMap::from([("late".to_owned(), "7ms".to_owned())])
    }

    fn check(&self, setup: &Setup) -> Result<(), BackendError> {
        Sim.check(setup)
    }

    fn run(&self, setup: &Setup, seed: u64, watch: &Watch<'_>) -> Result<Outcome, BackendError> {
        Sim.run(setup, seed, watch)
    }
}

/// A folder of runs whose utilisation is this, by repeat.
fn made_up(out: PathBuf, backend: &dyn Backend, set: &[(&str, &str)], utilisation: [f64; 2]) -> PathBuf {
    let set: Vec<Override> = set.iter().map(|(path, value)| ((*path).to_owned(), (*value).to_owned())).collect();
    let scenario = Scenario::of_text(Path::new("small.toml"), &format!("{SMALL}{MORE}"), &set).unwrap();
    let options = Options { out: out.clone(), jobs: 2, shard: None, series: None, retries: 0 };
    run(&scenario, backend, &options, &|_| (), &AtomicBool::new(false)).unwrap();
    for unit in fs::read_dir(out.join("units")).unwrap().flatten() {
        let mut record: serde_json::Value = serde_json::from_slice(&fs::read(unit.path()).unwrap()).unwrap();
        let repeat = record["repeat"].as_u64().unwrap() as usize;
        record["measures"]["utilisation:l"] = utilisation[repeat].into();
        fs::write(unit.path(), record.to_string()).unwrap();
    }
    out
}

const ONE_POINT: (&str, &str) = ("run.only", "[{ algorithm = \"cubic\", buffer = \"20 % BDP\" }]");

#[track_caller]
fn has(text: &str, line: &str) {
    assert!(text.contains(line), "no {line:?} in\n{text}");
}

/// 40 and 50 have the mean 45, and the standard error is that of two values, half of what they are apart.
#[test]
fn the_kernel_stands_beside_the_simulator() {
    let scratch = Scratch::new("column");
    let sim = made_up(scratch.folder("small"), &Sim, &[], [90.0, 90.0]);
    let set = [ONE_POINT, ("link.l.rate", "10 Mbit/s")];
    let kernel = made_up(scratch.folder("small-netns"), &Kernel, &set, [40.0, 50.0]);
    let text = reproduction(&[kernel, sim.clone()], &BTreeMap::new()).unwrap();
    // Three statements, all hold in ten simulated runs; on the kernel T-2 does not, T-1 has one place of five, T-3 none.
    has(&text, "| [small](#small) | 3 | 3 | 0 | 0 | 10 | 0 | 1 | 1 | 1 | 2 |\n");
    has(&text, "| **all** | **3** | **3** | **0** | **0** | **10** | **0** | **1** | **1** | **1** | **2** |\n");
    let said = "Kernel: 2 runs at 1 of 5 points, Linux 1.2.3, ccctl ";
    has(&text, said);
    has(&text, "; bound of lateness: 7ms. Not as in the simulator: link.l.rate = 10 Mbit/s instead of 5 Mbit/s.\n");
    has(&text, "| by 1 of 5 places: algorithm = cubic, buffer = 20 % BDP: utilisation:l 45 ± 5 > 10 | not decided |\n");
    let place = "algorithm = cubic, buffer = 20 % BDP: utilisation:l";
    has(&text, &format!("| Fig. 1 | {place} 90 ± 0 > 50 | holds | {place} 45 ± 5 > 50 | **does not hold** |\n"));
    has(&text, " 90 ± 0 > 50 | holds | not run | - |\n");
    has(&text, "**T-2** on the kernel does not hold. Not explained yet.\n");
    // 90 and 45 against 50
    has(&text, "| % | 50 | 90 ± 0 | +80.0 | 45 ± 64 | -10.0 |\n");

    let note = Note { kernel: "half of the link is other work".to_owned(), ..Note::default() };
    let noted =
        reproduction(&[sim.clone(), scratch.folder("small-netns")], &BTreeMap::from([("T-2".to_owned(), note)]));
    has(&noted.unwrap(), "**T-2** on the kernel does not hold. half of the link is other work.\n");
    let alone = reproduction(&[sim], &BTreeMap::new()).unwrap();
    assert!(!alone.contains("ernel"), "{alone}");
}

/// One place that contradicts it decides a statement about all places, whatever the others would say.
#[test]
fn a_place_that_contradicts_decides() {
    let scratch = Scratch::new("contradicts");
    let sim = made_up(scratch.folder("small"), &Sim, &[], [90.0, 90.0]);
    let kernel = made_up(scratch.folder("small-netns"), &Kernel, &[ONE_POINT], [9.0, 9.0]);
    let text = reproduction(&[sim, kernel], &BTreeMap::new()).unwrap();
    has(
        &text,
        "by 1 of 5 places: algorithm = cubic, buffer = 20 % BDP: utilisation:l 9 ± 0 > 10 | **does not hold** |\n",
    );
}

#[test]
fn folders_that_do_not_fit_are_refused() {
    let scratch = Scratch::new("unfit");
    let sim = made_up(scratch.folder("small"), &Sim, &[], [90.0, 90.0]);
    let kernel = made_up(scratch.folder("small-netns"), &Kernel, &[ONE_POINT], [9.0, 9.0]);
    let refused = |folders: &[&PathBuf]| {
        let folders: Vec<PathBuf> = folders.iter().copied().cloned().collect();
        reproduction(&folders, &BTreeMap::new()).unwrap_err().to_string()
    };
    assert!(refused(&[&kernel]).contains("a result of small on the kernel and none of the simulator; "));
    assert!(refused(&[&sim, &sim]).contains("a second result of small; "));
    assert!(refused(&[&sim, &kernel, &kernel]).contains("a second result of small; "));
}

/// A statement about places that are left out is not judged by those that are run.
#[test]
fn what_only_leaves_out_is_missing() {
    let scratch = Scratch::new("left-out");
    let part = made_up(scratch.folder("small"), &Sim, &[ONE_POINT], [90.0, 90.0]);
    let text = reproduction(&[part], &BTreeMap::new()).unwrap();
    has(&text, "| [small](#small) | 3 | 1 | 0 | 2 | 2 |\n");
}
