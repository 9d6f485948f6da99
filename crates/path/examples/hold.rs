// SPDX-License-Identifier: GPL-2.0-only
//! Holds a path until its standard input ends, for scripts that bring their own programs to its ends.
//! `hold --mbit=30 --rtt-ms=40 --buffer=10 --loss-ppm=0 --policer-kbit=0 --burst-kb=15 --senders=1 --seed=1`; the buffer is in
//! packets of 1500 bytes, the policer, if there is one, behind it.
//!
//! The first line of output has the namespaces and addresses of the ends, the last one the faults of the path, both as JSON.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Read as _;
use std::time::Duration;

use ccctl_path::{sender_v4, Path, PathSpec, SenderSpec, Waiting, RECEIVER_V4};
use ccctl_sim::{BitRate, Limit, Loss, Probability};
use serde_json::json;

const OPTIONS: [(&str, u64); 8] = [
    ("mbit", 30),
    ("rtt-ms", 40),
    ("buffer", 100),
    ("loss-ppm", 0),
    ("policer-kbit", 0),
    ("burst-kb", 15),
    ("senders", 1),
    ("seed", 1),
];

/// Options of the form --name=value, all of them whole numbers.
fn options(arguments: impl Iterator<Item = String>) -> Result<BTreeMap<String, u64>, Box<dyn Error>> {
    let mut options: BTreeMap<_, _> = OPTIONS.map(|(name, value)| (name.to_owned(), value)).into();
    for argument in arguments {
        let option = argument.strip_prefix("--").and_then(|text| text.split_once('='));
        let known = option.and_then(|(name, value)| Some((options.get_mut(name)?, value.parse().ok()?)));
        let (place, value) = known.ok_or_else(|| format!("not one of --NAME=NUMBER of {OPTIONS:?}: {argument}"))?;
        *place = value;
    }
    Ok(options)
}

fn spec(options: &BTreeMap<String, u64>) -> Result<PathSpec, Box<dyn Error>> {
    let rtt = Duration::from_millis(options["rtt-ms"]);
    let limit = Limit::Packets(u32::try_from(options["buffer"])?);
    let mut spec = PathSpec::new(BitRate::mbit_per_s(options["mbit"]), rtt, limit);
    spec.senders = vec![SenderSpec::with_rtt(rtt); usize::try_from(options["senders"])?];
    spec.seed = options["seed"];
    spec.waiting = Waiting::Sleep;
    if options["loss-ppm"] > 0 {
        spec.forward.loss = Loss::Bernoulli(Probability::ratio(options["loss-ppm"], 1_000_000));
    }
    if options["policer-kbit"] > 0 {
        let rate = BitRate::bits_per_s(options["policer-kbit"] * 1000);
        spec.forward.loss = Loss::Policer { rate, burst_bytes: options["burst-kb"] * 1000 };
    }
    Ok(spec)
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = Path::start(&spec(&options(std::env::args().skip(1))?)?)?;
    let ends = path.endpoints();
    let senders = ends.senders().iter().enumerate();
    let senders: Vec<_> =
        senders.map(|(number, end)| json!({"netns": end.name(), "address": sender_v4(number)})).collect();
    println!("{}", json!({"senders": senders, "receiver": {"netns": ends.receiver().name(), "address": RECEIVER_V4}}));
    std::io::stdin().read_to_end(&mut Vec::new())?;
    let report = path.stop()?;
    let faults: Vec<String> = report.faults().iter().map(ToString::to_string).collect();
    println!("{}", json!({"faults": faults, "dropped_pkts": report.router.forward.all.dropped_full_pkts}));
    Ok(())
}
