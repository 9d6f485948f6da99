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
use ccctl_sim::Instance;

use replay::{replay, Outcome, Tolerance};
use tcp::{Law, Values};

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

fn law(algorithm: &str, values: &Values) -> Box<dyn Law> {
    match algorithm {
        "africa" => Box::new(africa::Africa::new(values)),
        "bic" => Box::new(bic::Bic::new(values)),
        "compound" => Box::new(compound::Compound::new(values)),
        "cubic" => Box::new(cubic::Cubic::new(values)),
        "fast" => Box::new(fast::Fast::new(values)),
        "highspeed" => Box::new(highspeed::HighSpeed::new(values)),
        "highspeed_lp" => Box::new(highspeed_lp::HighSpeedLp::new(values)),
        "htcp" => Box::new(htcp::Htcp::new(values)),
        "libra" => Box::new(libra::Libra::new(values)),
        "reno" => Box::new(reno::Reno::new(values)),
        "scalable" => Box::new(scalable::Scalable::new(values)),
        "yeah" => Box::new(yeah::Yeah::new(values)),
        _ => panic!("no second implementation of {algorithm}"),
    }
}

/// A first look.
#[test]
fn look() {
    let only = std::env::var("ONLY").unwrap_or_default();
    let tolerance = Tolerance { pkts: 1.0, share: 0.0 };
    let names = ["reno", "scalable", "highspeed", "africa", "libra", "fast", "yeah", "htcp", "bic", "cubic", "compound", "highspeed_lp"];
    for algorithm in names.into_iter().filter(|name| only.is_empty() || *name == only) {
        let set: &[_] = match algorithm {
            "cubic" => &[("slow_start_exit", "loss")],
            "highspeed_lp" => &[("delay_source", "rtt")],
            _ => &[],
        };
        let case = Case { algorithm, profile: "", set };
        let parameters = case.parameters();
        let instance = Arc::new(Instance::new(algorithm, &parameters).unwrap());
        for (index, run) in runs::weather().iter().enumerate() {
            if std::env::var("RUN").is_ok_and(|run| run != index.to_string()) { continue; }
            let calls = run.calls(&instance, index as u64);
            let outcome = replay(&calls, &mut *law(algorithm, &Values::of(&parameters)), tolerance);
            println!("{algorithm} {index}: {} calls, {} apart, {} off, widest {}", outcome.calls, outcome.apart, outcome.disagreements, outcome.widest_pkts);
            println!("   {:?}", outcome.branches);
            if let Some(first) = outcome.first { println!("   {first}"); }
        }
    }
}
