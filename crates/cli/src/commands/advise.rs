// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl advise`: looks at sockets, has `ccctl-lab` simulate what would explain them, and says what is worth an experiment.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use anyhow::Context as _;
use ccctl_catalog::kernel::TCP_CA_NAME_MAX;
use ccctl_console::output;
use ccctl_console::{Exit, Fault, Stop};
use ccctl_core::advise::candidates::Candidates;
use ccctl_core::advise::fit::{choose, connections, guesses, require, Fit, PathModel, Performance};
use ccctl_core::advise::judge::{judge, to_try, Candidate, PathRange};
use ccctl_core::advise::measure::{Measured, Watch, LOOK};
use ccctl_core::advise::scenario::{Request, Simulated};
use ccctl_core::advise::{no_help, store, Advice, Verdict};
use ccctl_core::operations::{List, Listing, SocketFilter, Sockets};
use ccctl_core::trust::Trust;
use ccctl_loader::check_name;
use ccctl_series::read_regular_text;

use super::lab;
use crate::arguments::Advise;
use crate::client;

/// Between two looks at Ctrl-C.
const TICK: Duration = Duration::from_millis(50);
const FIT_REPEATS: u32 = 1;
const CANDIDATE_REPEATS: u32 = 3;
/// Of a file of advice: one has some kilobytes for each candidate.
const MOST_ADVICE_BYTES: u64 = 4 << 20;
/// Of the names of instances and of experiments.
const MOST_LETTERS: usize = TCP_CA_NAME_MAX as usize - 1;

pub fn run(arguments: &Advise) -> anyhow::Result<Exit> {
    let candidates = Candidates::of_words(&arguments.candidates, Trust::of_option(arguments.trust_writable))?;
    lab::require("to simulate", "")?;
    if !arguments.no_keep {
        store::require()?;
    }
    let mut advice = advise(arguments, &candidates)?;
    if !arguments.no_keep {
        store::keep(&mut advice)?;
    }
    if arguments.output.json {
        output::json(&advice)?;
    } else {
        print(&advice)?;
    }
    Ok(Exit::Done)
}

fn advise(arguments: &Advise, known: &Candidates) -> anyhow::Result<Advice> {
    let (scope, measured) = match &arguments.measured {
        Some(file) => earlier(file).map(|(scope, measured)| (scope, Ok(measured)))?,
        None => (scope(&arguments.filter), watch(&arguments.filter, arguments.time)?.measured()),
    };
    let mut advice = Advice::abstained(output::time(SystemTime::now()), scope, "");
    let measured = match measured {
        Ok(measured) => measured,
        Err(why) => return Ok(Advice { why, ..advice }),
    };
    advice.measured = Some(measured.clone());
    if let Some(why) = no_help(&measured) {
        return Ok(Advice { verdict: Verdict::NoHelp, why, ..advice });
    }
    let listing = client::ask(&List {})?;
    let present = match require(&measured).and_then(|()| present(&measured, &listing, known)) {
        Ok(present) => present,
        Err(why) => return Ok(Advice { why, ..advice }),
    };
    match fit(&measured, &present)? {
        Ok(fit) => advice.fit = Some(fit),
        Err(why) => return Ok(Advice { why, ..advice }),
    }
    let candidates = candidates(&advice, &measured, &present, known, &listing)?;
    advice.conclude(candidates);
    advice.next_commands = next_commands(&advice.candidates, &measured, &listing, arguments, known);
    Ok(advice)
}

/// Scope and measurement of an earlier advice.
fn earlier(file: &Path) -> anyhow::Result<(String, Measured)> {
    let remedy = "give a file that ccctl advise has kept, or the output of ccctl advise --json";
    let refuse = |cause: String| Fault::new(Exit::Usage, format!("{}: {cause}", file.display()), remedy);
    let text = read_regular_text(file, MOST_ADVICE_BYTES).map_err(|error| refuse(error.to_string()))?;
    let advice: Advice = serde_json::from_str(&text).map_err(|error| refuse(error.to_string()))?;
    let measured = advice.measured.ok_or_else(|| refuse("nothing was measured".to_owned()))?;
    // It stands in the commands that follow, for people to paste.
    check_name(&measured.congestion_control).map_err(|error| refuse(error.to_string()))?;
    Ok((advice.scope, measured))
}

/// Looks until the time is over or Ctrl-C.
fn watch(filter: &SocketFilter, time: Duration) -> anyhow::Result<Watch> {
    let stop = Stop::listen()?;
    let filter = SocketFilter { tcp_state: vec!["established".to_owned()], ..filter.clone() };
    let asked = Sockets { filter, without_owners: true, without_algorithm_state: true, ..Sockets::default() };
    let (mut watch, began) = (Watch::default(), Instant::now());
    loop {
        let answer = client::ask(&asked)?;
        watch.look(began.elapsed(), &answer.sockets);
        let next = began.elapsed() + LOOK;
        if next > time {
            return Ok(watch);
        }
        while began.elapsed() < next {
            if stop.is_wanted()? {
                return Ok(watch);
            }
            std::thread::sleep(TICK);
        }
    }
}

fn scope(filter: &SocketFilter) -> String {
    let words = [
        ("unit", filter.unit.clone()),
        ("cgroup", filter.cgroup.clone()),
        ("instance", filter.instance.clone()),
        ("local port", filter.port.map(|port| port.to_string())),
        ("local address", filter.src.clone()),
        ("remote address", filter.dst.clone()),
        ("namespace", filter.netns.clone()),
    ];
    let words: Vec<String> = words.into_iter().filter_map(|(what, value)| Some(format!("{what} {}", value?))).collect();
    if words.is_empty() {
        "the host".to_owned()
    } else {
        words.join(", ")
    }
}

/// What runs now, for the simulator.
fn present(measured: &Measured, listing: &Listing, known: &Candidates) -> Result<Simulated, String> {
    let name = &measured.congestion_control;
    let instance = listing.instances.iter().find(|instance| instance.name == *name);
    let algorithm = measured.algorithm.as_ref().unwrap_or(name).clone();
    if !known.has(&algorithm) {
        return Err(format!(
            "the simulator does not have {name}, which is in use: if its algorithm {algorithm} is one of yours, add its object to \
            --candidates"
        ));
    }
    let set = |parameter: &ccctl_core::settings::ShownParameter| {
        let value = parameter.value_text.clone().filter(|value| *value != parameter.default_text)?;
        Some((parameter.name.clone(), value))
    };
    let parameters = instance.iter().flat_map(|instance| &instance.parameters).filter_map(set).collect();
    let file = known.file(&algorithm);
    Ok(Simulated { algorithm, file, is_built_in: instance.is_none(), parameters })
}

fn is_built_in(listing: &Listing, algorithm: &str) -> bool {
    listing.built_in.iter().any(|known| known.name == algorithm)
}

fn simulate(request: &Request<'_>) -> anyhow::Result<Vec<Vec<Performance>>> {
    let folder = tempfile::tempdir().context("make a folder for the simulations")?;
    let (file, out) = (folder.path().join("advice.toml"), folder.path().join("out"));
    std::fs::write(&file, request.text()).context("write the scenario")?;
    let (file, out_word) = (file.display().to_string(), out.display().to_string());
    let mut words = vec!["run", &file, "--out", &out_word, "--series", "none", "--json"];
    for object in request.files() {
        // Whether others may write it has been asked.
        words.extend(["--algorithm", object, "--trust-writable"]);
    }
    lab::run_quietly(&words, "to simulate")?;
    let summary = out.join("advice").join("summary.json");
    request.read(&std::fs::read_to_string(&summary).with_context(|| format!("read {}", summary.display()))?)
}

/// The outer error is one of the simulator; the inner one is that no path fits.
fn fit(measured: &Measured, present: &Simulated) -> anyhow::Result<Result<Fit, String>> {
    let guesses = guesses(measured);
    if guesses.is_empty() {
        return Ok(choose(measured, Vec::new()));
    }
    let request = Request {
        paths: &guesses,
        algorithms: std::slice::from_ref(present),
        present,
        connections: connections(measured),
        mss_bytes: measured.mss_bytes,
        with_mixes: false,
        repeats: FIT_REPEATS,
    };
    let found = simulate(&request)?;
    let tried: Vec<(PathModel, Performance)> =
        guesses.iter().cloned().zip(found.into_iter().filter_map(|of_path| of_path.first().copied())).collect();
    Ok(choose(measured, tried))
}

fn candidates(
    advice: &Advice,
    measured: &Measured,
    present: &Simulated,
    known: &Candidates,
    listing: &Listing,
) -> anyhow::Result<Vec<Candidate>> {
    let Some(fit) = &advice.fit else { return Ok(Vec::new()) };
    let others = known.names.iter().filter(|name| **name != present.algorithm);
    let others = others.map(|name| Simulated {
        algorithm: name.clone(),
        file: known.file(name),
        is_built_in: is_built_in(listing, name),
        parameters: Vec::new(),
    });
    let algorithms: Vec<Simulated> = std::iter::once(present.clone()).chain(others).collect();
    let request = Request {
        paths: &fit.plausible_paths,
        algorithms: &algorithms,
        present,
        connections: fit.simulated_connection_count,
        mss_bytes: measured.mss_bytes,
        with_mixes: true,
        repeats: CANDIDATE_REPEATS,
    };
    let names: Vec<String> = algorithms.iter().map(|simulated| simulated.algorithm.clone()).collect();
    Ok(judge(&names, &simulate(&request)?, &fit.weights, 0))
}

/// What plans an experiment of the best candidates. What the kernel does not have is loaded first.
fn next_commands(
    candidates: &[Candidate],
    measured: &Measured,
    listing: &Listing,
    arguments: &Advise,
    known: &Candidates,
) -> Vec<String> {
    let filter = &arguments.filter;
    let scope = match (&filter.unit, &filter.cgroup) {
        (Some(unit), _) => format!("--unit {unit}"),
        (None, Some(cgroup)) => format!("--cgroup {cgroup}"),
        (None, None) if filter.is_empty() && arguments.measured.is_none() => "--whole-host".to_owned(),
        (None, None) => "--unit UNIT".to_owned(),
    };
    let instances: BTreeMap<&str, &str> =
        listing.instances.iter().map(|instance| (instance.algorithm.as_str(), instance.name.as_str())).collect();
    let mut commands = Vec::new();
    for candidate in to_try(candidates) {
        let algorithm = &candidate.algorithm;
        let arm = match instances.get(algorithm.as_str()) {
            _ if is_built_in(listing, algorithm) => algorithm.clone(),
            Some(name) => (*name).to_owned(),
            None => {
                let name = name("bpf", algorithm);
                let word = known.word(algorithm);
                let trust = if arguments.trust_writable { " --trust-writable" } else { "" };
                commands.push(format!("ccctl load {word} --as {name}{trust}"));
                name
            }
        };
        let a = &measured.congestion_control;
        let experiment = name("try", algorithm);
        commands.push(format!("ccctl experiment plan {experiment} --a {a} --b {arm} {scope}"));
    }
    commands
}

fn name(prefix: &str, algorithm: &str) -> String {
    format!("{prefix}_{algorithm}").chars().take(MOST_LETTERS).collect()
}

fn print(advice: &Advice) -> anyhow::Result<()> {
    if let Some(measured) = &advice.measured {
        print_measured(measured)?;
    }
    if let Some(fit) = &advice.fit {
        print_fit(fit)?;
    }
    print_candidates(&advice.candidates)?;
    let word = match advice.verdict {
        Verdict::Try => "worth an experiment",
        Verdict::Keep => "keep what runs",
        Verdict::NoHelp => "no candidate",
        Verdict::Abstained => "no advice",
    };
    output::line(&format!("{word}: {}", advice.why))?;
    advice.next_commands.iter().try_for_each(|command| output::line(command))
}

fn mbit(bytes_per_s: f64) -> f64 {
    bytes_per_s * 8e-6
}

fn print_measured(measured: &Measured) -> anyhow::Result<()> {
    let limits = &measured.limited_by;
    output::line(&format!(
        "{}: {:.0} % of the bytes, {} of {}; measured for {:.0} s",
        measured.peer_prefix,
        measured.peer_share_pct,
        format_args!("{:.1} connections at a time", measured.limited_connection_count),
        measured.congestion_control,
        measured.measured_s
    ))?;
    output::line(&format!(
        "limited by: network {:.0} %, application {:.0} %, receiver {:.0} %, send buffer {:.0} %",
        limits.network_pct, limits.application_pct, limits.receiver_pct, limits.send_buffer_pct
    ))?;
    output::line(&format!(
        "each: goodput {:.2} Mbit/s, RTT {:.1} ms (smallest {:.1}), retransmissions {:.2} %",
        mbit(measured.goodput_bytes_per_s),
        measured.srtt_mean_us * 1e-3,
        measured.min_rtt_us as f64 * 1e-3,
        measured.retransmit_pct
    ))
}

fn print_fit(fit: &Fit) -> anyhow::Result<()> {
    for ((path, found), weight) in fit.plausible_paths.iter().zip(&fit.reproductions).zip(&fit.weights) {
        output::line(&format!(
            "plausible ({:.0} %): {path}: {:.2} Mbit/s, {:.1} ms, {:.2} %",
            weight * 100.0,
            mbit(found.goodput_bytes_per_s),
            found.srtt_mean_us * 1e-3,
            found.retransmit_pct
        ))?;
    }
    Ok(())
}

fn print_candidates(candidates: &[Candidate]) -> anyhow::Result<()> {
    if candidates.is_empty() {
        return Ok(());
    }
    let spread = |range: &PathRange, factor: f64, digits: usize| {
        let [least, most] = [range.least, range.most].map(|value| format!("{:.digits$}", value * factor));
        if least == most {
            least
        } else {
            format!("{least} to {most}")
        }
    };
    let changes = |range: &PathRange| format!("{:+.0} to {:+.0} %", range.least, range.most);
    let row = |candidate: &Candidate| {
        let note = match &candidate.dominated_by {
            _ if candidate.is_present => "in use".to_owned(),
            Some(other) => format!("{other} is better in all"),
            None => format!("{:?}", candidate.compared).to_lowercase(),
        };
        vec![
            candidate.algorithm.clone(),
            spread(&candidate.goodput_range, 8e-6, 2),
            changes(&candidate.change_range_pct),
            candidate.split_range_pct.as_ref().map_or_else(|| "-".to_owned(), changes),
            spread(&candidate.srtt_range, 1e-3, 1),
            spread(&candidate.retransmit_range_pct, 1.0, 2),
            changes(&candidate.neighbour_range_pct),
            note,
        ]
    };
    let header = ["ALGORITHM", "MBIT/S", "CHANGE", "SPLIT", "RTT MS", "RETRANSMITS %", "NEIGHBOUR", ""];
    output::table(&header, candidates.iter().map(row).collect())
}
