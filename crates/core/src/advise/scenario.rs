// SPDX-License-Identifier: MIT OR Apache-2.0
//! Paths as a scenario of the laboratory, and what its summary says. The laboratory is another program: this is the text that
//! goes to it and the JSON that comes back.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use anyhow::Context as _;
use serde::Deserialize;

use super::fit::{run_time, PathModel, Performance, HEADER_BYTES};
use super::measure::LOOK;

/// An algorithm for the simulator.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Simulated {
    /// Its name.
    pub algorithm: String,
    /// Its object, if it does not come with the simulator.
    pub file: Option<String>,
    /// Is it the kernel's own, whose constants are not always our defaults?
    pub is_built_in: bool,
    /// Parameters that differ from their defaults, as text.
    pub parameters: Vec<(String, String)>,
}

impl Simulated {
    fn profile(&self) -> &'static str {
        if self.is_built_in {
            "linux|default"
        } else {
            "default"
        }
    }
}

/// What is to be simulated: every algorithm in every path.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    /// Paths.
    pub paths: &'a [PathModel],
    /// Algorithms of the connections of the scope.
    pub algorithms: &'a [Simulated],
    /// The present one, which a neighbour has.
    pub present: &'a Simulated,
    /// Connections of the scope.
    pub connections: u32,
    /// Data of a segment.
    pub mss_bytes: u32,
    /// Also where not all connections have the algorithm.
    pub with_mixes: bool,
    /// Runs of each, with their own starts and losses.
    pub repeats: u32,
}

/// What others on the Internet use most.
const OTHERS: &str = "cubic";
/// Points of the sweep in which some connections keep the present algorithm: one more, or half of those of the scope.
const NEIGHBOUR: &str = "neighbour";
const SPLIT: &str = "split";
/// Of each run the first part does not count.
const WARM_UP_SHARE: u32 = 4;

impl Request<'_> {
    /// The scenario's file.
    #[must_use]
    pub fn text(&self) -> String {
        let mss = self.mss_bytes;
        let mut text = format!(
            "title = \"advice\"\n\
            [tcp]\nmss = \"{mss} bytes\"\nheader = \"{HEADER_BYTES} bytes\"\n\
            [[link]]\nname = \"bottleneck\"\nrate = \"1 Mbit/s\"\ndelay = \"0 ms\"\n\
            queue = {{ kind = \"droptail\", size = \"10 packets\" }}\n\
            loss = {{ kind = \"bernoulli\", probability = 0.0 }}\n"
        );
        let others = Simulated { algorithm: OTHERS.to_owned(), is_built_in: true, ..Simulated::default() };
        let groups = [("own", self.connections, self.present), ("other", 0, &others), ("neighbour", 0, self.present)];
        for (name, count, simulated) in groups {
            let (algorithm, profile, set) = (&simulated.algorithm, simulated.profile(), set(simulated));
            let _ = write!(
                text,
                "[[flows]]\nname = \"{name}\"\nalgorithm = \"{algorithm}\"\nprofile = \"{profile}\"\nset = {set}\n\
                count = {count}\npath = [\"bottleneck\"]\naccess_delay = \"1 ms\"\naccess_jitter = \"100 us\"\n\
                start_spread = \"500 ms\"\n"
            );
        }
        let _ = write!(
            text,
            "[run]\nduration = \"1 min\"\nwarm_up = \"0 s\"\nsample_interval = \"100 ms\"\nrate_interval = \"{} ms\"\nrepeats = {}\nseed = 1\n\
            [measures]\nwanted = [\"goodput_per_flow:own\", \"goodput_p90:own\", \"srtt_mean:own\", \"srtt_p95:own\", \
            \"retransmit_rate:own\"{}]\n",
            LOOK.as_millis(),
            self.repeats,
            if self.with_mixes { ", \"goodput_per_flow:neighbour\"" } else { "" }
        );
        text += &self.axes();
        text
    }

    /// Objects that the laboratory must be given, each once.
    #[must_use]
    pub fn files(&self) -> BTreeSet<&str> {
        self.algorithms.iter().chain([self.present]).filter_map(|simulated| simulated.file.as_deref()).collect()
    }

    fn axes(&self) -> String {
        let numbers = |count: usize| (0..count).map(|number| format!("\"{number}\"")).collect::<Vec<_>>().join(", ");
        let of_paths = |of: &dyn Fn(&PathModel) -> String| self.paths.iter().map(of).collect::<Vec<_>>().join(", ");
        let mut text = format!(
            "[[sweep]]\nname = \"path\"\nvalues = [{}]\n\
            with = {{ \"link.bottleneck.rate\" = [{}], \"flows.*.access_delay\" = [{}], \"link.bottleneck.queue.size\" = [{}], \
            \"link.bottleneck.loss\" = [{}], \"flows.other.count\" = [{}], \
            \"run.duration\" = [{}], \"run.warm_up\" = [{}] }}\n",
            numbers(self.paths.len()),
            of_paths(&|path| format!("\"{:.0} bit/s\"", path.link_bytes_per_s * 8.0)),
            of_paths(&|path| format!("\"{} us\"", path.base_rtt_us / 2)),
            of_paths(&|path| format!("\"{} packets\"", path.queue_limit_pkts)),
            of_paths(&loss),
            of_paths(&|path| path.other_flow_count.to_string()),
            of_paths(&|path| format!("\"{} ms\"", run_time(path).as_millis())),
            of_paths(&|path| format!("\"{} ms\"", (run_time(path) / WARM_UP_SHARE).as_millis())),
        );
        let algorithms =
            |of: &dyn Fn(&Simulated) -> String| self.algorithms.iter().map(of).collect::<Vec<_>>().join(", ");
        let _ = write!(
            text,
            "[[sweep]]\nname = \"algorithm\"\nvalues = [{}]\nwith = {{ \"flows.own.algorithm\" = [{}], \
            \"flows.own.profile\" = [{}], \"flows.own.set\" = [{}] }}\n",
            numbers(self.algorithms.len()),
            algorithms(&|it| format!("\"{}\"", it.algorithm)),
            algorithms(&|it| format!("\"{}\"", it.profile())),
            algorithms(&set),
        );
        if self.with_mixes {
            text += &self.mixes();
        }
        text
    }

    /// All connections of the scope have the algorithm; one more keeps the present one; half of them keep it.
    fn mixes(&self) -> String {
        let (all, half) = (self.connections, self.connections / 2);
        let mut mixes = vec![("all", all, 0), (NEIGHBOUR, all, 1)];
        if half > 0 {
            mixes.push((SPLIT, all - half, half));
        }
        let list = |of: &dyn Fn(&(&str, u32, u32)) -> String| mixes.iter().map(of).collect::<Vec<_>>().join(", ");
        format!(
            "[[sweep]]\nname = \"mix\"\nvalues = [{}]\nwith = {{ \"flows.own.count\" = [{}], \"flows.neighbour.count\" = [{}] }}\n",
            list(&|(name, ..)| format!("\"{name}\"")),
            list(&|(_, own, _)| own.to_string()),
            list(&|(.., present)| present.to_string()),
        )
    }

    /// What the laboratory's summary says, by path and by algorithm, in their orders.
    pub fn read(&self, summary: &str) -> anyhow::Result<Vec<Vec<Performance>>> {
        let summary: Summary = serde_json::from_str(summary).context("read the laboratory's summary")?;
        let mut found = vec![vec![Performance::default(); self.algorithms.len()]; self.paths.len()];
        for point in summary.points {
            let number = |axis: &str| point.place.get(axis).and_then(|value| value.parse::<usize>().ok());
            let (Some(path), Some(algorithm)) = (number("path"), number("algorithm")) else { continue };
            let place = found.get_mut(path).and_then(|of_path| of_path.get_mut(algorithm));
            let place = place.context("the laboratory's summary has another grid")?;
            let goodput_of =
                |group: &str| point.bytes_per_s(&format!("goodput_per_flow:{group}")).map(|(mean, _)| mean);
            match point.place.get("mix").map(String::as_str) {
                Some(NEIGHBOUR) => {
                    place.neighbour_bytes_per_s = Some(goodput_of("neighbour")?);
                    continue;
                }
                Some(SPLIT) => {
                    place.split_bytes_per_s = Some([goodput_of("own")?, goodput_of("neighbour")?]);
                    continue;
                }
                _ => {}
            }
            (place.goodput_bytes_per_s, place.goodput_error_bytes_per_s) = point.bytes_per_s("goodput_per_flow:own")?;
            place.goodput_p90_bytes_per_s = point.bytes_per_s("goodput_p90:own")?.0;
            place.srtt_mean_us = point.measure("srtt_mean:own")?.mean * 1e3;
            place.srtt_p95_us = point.measure("srtt_p95:own")?.mean * 1e3;
            place.retransmit_pct = point.measure("retransmit_rate:own")?.mean;
        }
        Ok(found)
    }
}

/// What takes packets away without a queue.
fn loss(path: &PathModel) -> String {
    match path.policer {
        None => format!("{{ kind = \"bernoulli\", probability = {:?} }}", path.random_loss_pct / 100.0),
        Some(policer) => format!(
            "{{ kind = \"policer\", rate = \"{:.0} bit/s\", burst = \"{} bytes\" }}",
            policer.policer_bytes_per_s * 8.0,
            policer.burst_bytes
        ),
    }
}

fn set(algorithm: &Simulated) -> String {
    let one = |(name, value): &(String, String)| format!("{name} = {}", toml_string(value));
    format!("{{{}}}", algorithm.parameters.iter().map(one).collect::<Vec<_>>().join(", "))
}

fn toml_string(text: &str) -> String {
    serde_json::Value::from(text).to_string() // the escapes of JSON are those of TOML
}

/// What is needed of `summary.json`.
#[derive(Deserialize)]
struct Summary {
    points: Vec<Point>,
}

#[derive(Deserialize)]
struct Point {
    place: BTreeMap<String, String>,
    measures: BTreeMap<String, Estimate>,
}

#[derive(Deserialize)]
struct Estimate {
    mean: f64,
    standard_error: Option<f64>,
}

impl Point {
    fn measure(&self, name: &str) -> anyhow::Result<&Estimate> {
        self.measures.get(name).with_context(|| format!("the laboratory's summary has no {name}"))
    }

    /// Of megabits per second, with the standard error.
    fn bytes_per_s(&self, name: &str) -> anyhow::Result<(f64, f64)> {
        let found = self.measure(name)?;
        Ok((found.mean * 125_000.0, found.standard_error.unwrap_or(0.0) * 125_000.0))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::fit::tests::path;
    use super::super::fit::Policer;
    use super::*;

    #[test]
    fn every_algorithm_is_simulated_in_every_path_and_found_again() {
        let cubic = Simulated {
            algorithm: "cubic".to_owned(),
            parameters: vec![("beta".to_owned(), "0.8".to_owned())],
            ..Simulated::default()
        };
        let bbr = Simulated { algorithm: "bbr".to_owned(), is_built_in: true, ..Simulated::default() };
        let policer = Some(Policer { policer_bytes_per_s: 1e6, burst_bytes: 15_000 });
        let paths = [
            path(),
            PathModel { random_loss_pct: 0.2, other_flow_count: 2, ..path() },
            PathModel { policer, ..path() },
        ];
        let algorithms = [cubic.clone(), bbr];
        let request = Request {
            paths: &paths,
            algorithms: &algorithms,
            present: &cubic,
            connections: 2,
            mss_bytes: 1448,
            with_mixes: true,
            repeats: 3,
        };
        let text: toml::Table = request.text().parse().unwrap();
        let axes = text["sweep"].as_array().unwrap();
        assert_eq!(axes[0]["with"]["link.bottleneck.rate"][0].as_str(), Some("10000000 bit/s"));
        assert_eq!(axes[0]["with"]["link.bottleneck.loss"][1]["probability"].as_float(), Some(0.002));
        let third = &axes[0]["with"]["link.bottleneck.loss"][2];
        assert_eq!((third["rate"].as_str(), third["burst"].as_str()), (Some("8000000 bit/s"), Some("15000 bytes")));
        assert_eq!(axes[1]["with"]["flows.own.set"][0]["beta"].as_str(), Some("0.8"));
        assert_eq!(
            axes[2]["with"]["flows.own.count"].as_array().unwrap().len(),
            3,
            "all, with a neighbour, and a split"
        );
        assert_eq!(axes[2]["with"]["flows.own.count"][2], axes[2]["with"]["flows.neighbour.count"][2], "one of two");
        let profile = |number: usize| axes[1]["with"]["flows.own.profile"][number].as_str();
        assert_eq!((profile(0), profile(1)), (Some("default"), Some("linux|default")));
        let point = |path: &str, mix: &str, mean: f64| {
            serde_json::json!({
                "place": { "path": path, "algorithm": "1", "mix": mix },
                "measures": {
                    "goodput_per_flow:own": { "mean": mean, "standard_error": 0.08 },
                    "goodput_per_flow:neighbour": { "mean": 2.0, "standard_error": null },
                    "goodput_p90:own": { "mean": 20.0, "standard_error": null },
                    "srtt_mean:own": { "mean": 44.0, "standard_error": null },
                    "srtt_p95:own": { "mean": 50.0, "standard_error": null },
                    "retransmit_rate:own": { "mean": 0.5, "standard_error": null },
                },
            })
        };
        let summary = serde_json::json!({ "points": [point("1", "all", 8.0), point("1", "neighbour", 4.0), point("1", "split", 6.0)] }).to_string();
        let found = request.read(&summary).unwrap();
        let wanted = Performance {
            goodput_bytes_per_s: 1e6,
            goodput_error_bytes_per_s: 1e4,
            goodput_p90_bytes_per_s: 2_500_000.0,
            srtt_mean_us: 44_000.0,
            srtt_p95_us: 50_000.0,
            retransmit_pct: 0.5,
            neighbour_bytes_per_s: Some(250_000.0),
            split_bytes_per_s: Some([750_000.0, 250_000.0]),
        };
        assert_eq!(found[1][1], wanted);
        assert_eq!(found[0][0], Performance::default());
        assert!(request.read(&summary.replace("srtt_mean:own", "other")).is_err());
    }
}
