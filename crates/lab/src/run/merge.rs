// SPDX-License-Identifier: GPL-2.0-only
//! Puts the folders of shards together.

use std::io;
use std::path::{Path, PathBuf};

use super::error::RunError;
use super::execute::{flow_file, flow_series, link_file, link_series};
use super::folder::{self, create_anew, make_folder, Folder, SERIES};
use super::identity::Versions;
use super::summary::{summarise, Summary};
use super::trial::{units, FlowRecord, LinkRecord, UnitId};
use crate::scenario::Scenario;

/// Unites folders of one experiment in another one, which may be there already, and sums them up.
pub fn merge(folders: &[PathBuf], out: &Path) -> Result<Summary, RunError> {
    let first =
        folders.first().ok_or_else(|| RunError::Foreign { folder: out.to_owned(), what: "no shards".to_owned() })?;
    let versions = versions_of(first)?;
    for other in folders {
        if !versions_of(other)?.agrees_with(&versions) {
            return Err(RunError::Different { folder: other.clone(), first: first.clone() });
        }
    }
    let scenario = load(first)?;
    let united = Folder::open(out, &scenario, &versions)?;
    for shard in folders.iter().filter(|shard| shard.as_path() != out) {
        for id in units(&scenario) {
            take(shard, id, &united, out)?;
        }
    }
    let summary = summarise(out, &scenario)?;
    united.write_json("summary.json", &summary)?;
    Ok(summary)
}

/// The scenario of an output folder.
pub fn load(root: &Path) -> Result<Scenario, RunError> {
    let versions = versions_of(root)?;
    let mut scenario = Scenario::read(&root.join("scenario.toml"), &[])?;
    scenario.name = versions.scenario;
    scenario.is_testbed = versions.testbed;
    Ok(scenario)
}

fn versions_of(root: &Path) -> Result<Versions, RunError> {
    folder::read_versions(root)?.ok_or_else(|| RunError::NoRuns(root.to_owned()))
}

fn copy(from: &Path, to: &Path) -> io::Result<u64> {
    io::copy(&mut ccctl_series::open_regular(from)?, &mut create_anew(to)?)
}

/// Copies a unit, its series first.
fn take(shard: &Path, id: UnitId, united: &Folder, out: &Path) -> Result<(), RunError> {
    let Some(record) = folder::read_unit(shard, id)? else { return Ok(()) };
    if let Some(known) = folder::read_unit(out, id)? {
        let file = out.join(folder::unit_file(id));
        let what = format!("differs from the same run in {}", shard.display());
        return if known == record { Ok(()) } else { Err(RunError::Damaged { file, what }) };
    }
    let of_flow = |flow: &FlowRecord| {
        Some((flow_series(shard, id, &flow.group, flow.number)?, flow_file(&flow.group, flow.number)))
    };
    let of_link = |link: &LinkRecord| Some((link_series(shard, id, &link.name)?, link_file(&link.name)));
    let flows = record.flows.iter().filter_map(of_flow);
    let mut series = flows.chain(record.links.iter().filter_map(of_link)).peekable();
    let to = out.join(SERIES).join(id.name());
    if series.peek().is_some() {
        make_folder(&to)?;
    }
    for (from, name) in series {
        copy(&from, &to.join(name)).map_err(RunError::io("copy", &from))?;
    }
    if let Some(made) = folder::read_made(shard, id)? {
        united.keep_made(id, &made)?;
    }
    united.write_json(&folder::unit_file(id), &record)
}
