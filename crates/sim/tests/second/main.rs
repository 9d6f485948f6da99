//! A second implementation of the algorithms for which there is no kernel module to compare with: from the formulas of papers
//! and RFCs, in floating point, without a look at the C files. It is given the calls that the C code's hooks got, recorded in
//! the simulator, and must come to the same windows.
//!
//! `docs/second-implementations.md` is printed by `CCCTL_WRITE=1 cargo test -p ccctl-sim --test second`.

mod africa;
mod bic;
mod compound;
mod cubic;
mod fast;
mod highspeed;
mod highspeed_lp;
mod htcp;
mod libra;
mod reno;
mod replay;
mod rounds;
mod runs;
mod scalable;
mod tcp;
mod yeah;

use std::sync::Arc;

use ccctl_catalog::{ParameterSet, Profile};
use ccctl_sim::{Call, Instance};

use replay::{replay, Outcome, Tolerance};
use tcp::Values;

/// One algorithm's case: parameters as they differ from the defaults, and what makes the second implementation.
struct Case {
    algorithm: &'static str,
    /// A profile, or none.
    profile: &'static str,
    set: &'static [(&'static str, &'static str)],
}

impl Case {
    fn parameters(&self) -> ParameterSet {
        let layout = ccctl_catalog::algorithm(self.algorithm).unwrap().layout();
        let mut set = ParameterSet::defaults(self.algorithm, &layout.parameters);
        if !self.profile.is_empty() {
            Profile::named(self.profile).unwrap().apply(self.algorithm, &mut set).unwrap();
        }
        for (key, value) in self.set {
            set.set(key, value).unwrap();
        }
        set
    }
}

fn replayed(algorithm: &str, values: &Values, calls: &[Call], tolerance: Tolerance) -> Outcome {
    match algorithm {
        "africa" => replay(calls, africa::Africa::new(values), tolerance),
        "bic" => replay(calls, bic::Bic::new(values), tolerance),
        "compound" => replay(calls, compound::Compound::new(values), tolerance),
        "cubic" => replay(calls, cubic::Cubic::new(values), tolerance),
        "fast" => replay(calls, fast::Fast::new(values), tolerance),
        "highspeed" => replay(calls, highspeed::HighSpeed::new(values), tolerance),
        "highspeed_lp" => replay(calls, highspeed_lp::HighSpeedLp::new(values), tolerance),
        "htcp" => replay(calls, htcp::Htcp::new(values), tolerance),
        "libra" => replay(calls, libra::Libra::new(values), tolerance),
        "reno" => replay(calls, reno::Reno::new(values), tolerance),
        "scalable" => replay(calls, scalable::Scalable::new(values), tolerance),
        "yeah" => replay(calls, yeah::Yeah::new(values), tolerance),
        _ => panic!("no second implementation of {algorithm}"),
    }
}

/// A first look.
#[test]
fn look() {
    let only = std::env::var("ONLY").unwrap_or_default();
    let tolerance = Tolerance { pkts: std::env::var("TOL").map_or(1.0, |t| t.parse().unwrap()), share: 0.0 };
    let names = ["reno", "scalable", "highspeed", "africa", "libra", "fast", "yeah", "htcp", "bic", "cubic", "compound", "highspeed_lp"];
    for algorithm in names.into_iter().filter(|name| only.is_empty() || *name == only) {
        let set: &[_] = match algorithm {
            "cubic" => &[("slow_start_exit", "loss"), ("beta_q10", "819"), ("max_step_pkts", "16")],
            "highspeed_lp" => &[("delay_source", "timestamps"), ("peer_tick_us", "1")],
            _ => &[],
        };
        let case = Case { algorithm, profile: "", set };
        let parameters = case.parameters();
        let instance = Arc::new(Instance::new(algorithm, &parameters).unwrap());
        for (index, run) in runs::weather_without_delayed_acks().iter().enumerate() {
            if std::env::var("RUN").is_ok_and(|run| run != index.to_string()) { continue; }
            let calls = run.calls(&instance, index as u64);
            let outcome = replayed(algorithm, &Values::of(&parameters), &calls, tolerance);
            println!("{algorithm} {index}: {} calls, {} apart, {} off, widest {}, edges {}", outcome.calls, outcome.apart, outcome.disagreements, outcome.widest_pkts, outcome.edges);
            println!("   {:?}", outcome.branches);
            if let Some(first) = outcome.first { println!("   {first}"); }
        }
    }
}
