// SPDX-License-Identifier: GPL-2.0-only
//! Vectors of kind sequence: a protocol of rounds.

use std::sync::Arc;
use std::time::Duration;

use ccctl_catalog::ParameterSet;
use ccctl_sim::checks::Differences;
use ccctl_sim::{Ack, Flow, Instance, TCP_INFINITE_SSTHRESH};
use serde::Deserialize;

#[derive(Deserialize)]
pub struct Sequence {
    expected: Vec<Round>,
}

/// State at the end of a round; `css_rounds` counts the rounds of conservative slow start begun.
#[derive(Deserialize, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
struct Round {
    #[serde(rename = "round")]
    number: u32,
    rtt_us: u64,
    samples: u32,
    css: bool,
    css_rounds: u32,
    done: bool,
}

impl Sequence {
    pub fn run(&self, id: &str) -> Differences {
        match id {
            "hystartpp-css-sequence" => self.run_hystartpp(),
            _ => vec!["unknown sequence".to_owned()],
        }
    }

    /// A round's end shows at the ACK after it, which belongs to the next round; CUBIC lends its slow start.
    fn run_hystartpp(&self) -> Differences {
        let mut flow = slow_start_of_cubic();
        let mut differences = Vec::new();
        let mut left_at_pkts = None;
        for round in &self.expected {
            for sample in 0..round.samples {
                if sample == 0 {
                    flow.end_round();
                }
                flow.acked(&Ack::of(1, Some(Duration::from_micros(round.rtt_us))));
                if sample == 0 && field(&flow, "done") == 1 && left_at_pkts.is_none() {
                    left_at_pkts = Some((round.number, flow.ssthresh_pkts()));
                }
            }
            let css_rounds = field(&flow, "css_rounds");
            if left_at_pkts.is_none() && (css_rounds != round.css_rounds.into() || round.css != (css_rounds > 0)) {
                differences.push(format!("round {}: css_rounds is {css_rounds}, expected {round:?}", round.number));
            }
        }
        let done = self.expected.iter().find(|round| round.done).map(|round| round.number + 1);
        if left_at_pkts.map(|(round, _)| round) != done {
            differences.push(format!("slow start left at {left_at_pkts:?}, expected at the start of round {done:?}"));
        }
        if left_at_pkts.is_some_and(|(_, ssthresh)| ssthresh == TCP_INFINITE_SSTHRESH) {
            differences.push("ssthresh was not lowered".to_owned());
        }
        differences
    }
}

fn field(flow: &Flow, name: &str) -> i128 {
    flow.state(&format!("hystart.{name}")).expect("CUBIC keeps HyStart's state")
}

fn slow_start_of_cubic() -> Flow {
    let layout = ccctl_catalog::algorithm("cubic").expect("it exists").layout();
    let mut parameters = ParameterSet::defaults("cubic", &layout.parameters);
    parameters.set_member("slow_start_exit", 2).expect("hystart++");
    let instance = Instance::new("cubic", &parameters).expect("it exists");
    Flow::open_connection(Arc::new(instance))
}
