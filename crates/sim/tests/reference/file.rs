// SPDX-License-Identifier: GPL-2.0-only
//! Calls as JSON lines: the form in which those of a kernel come.

use std::collections::BTreeMap;

use ccctl_catalog::ParameterSet;
use ccctl_sim::{Call, Flow, Instance, Recording};
use std::sync::Arc;

use crate::cases::SUBJECTS;
use crate::tcp::Values;

/// A head, and a call a line.
fn read(text: &str) -> (Recording, Vec<Call>) {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let head = serde_json::from_str(lines.next().expect("a recording has a head")).unwrap();
    (head, lines.map(|line| serde_json::from_str(line).unwrap_or_else(|fault| panic!("{fault}: {line}"))).collect())
}

fn write(head: &Recording, calls: &[Call]) -> String {
    let mut text = serde_json::to_string(head).unwrap() + "\n";
    for call in calls {
        text += &(serde_json::to_string(call).unwrap() + "\n");
    }
    text
}

#[test]
fn what_is_written_is_read() {
    let instance = Arc::new(Instance::with_defaults("reno").unwrap());
    let mut flow = Flow::open_connection(instance);
    flow.record();
    flow.acked(&ccctl_sim::Ack::of(2, Some(std::time::Duration::from_millis(40))));
    flow.lost();
    flow.undone();
    flow.timed_out();
    flow.restarted(1);
    flow.tx_started();
    let calls = flow.take_calls();
    let head = Recording { algorithm: "reno".into(), parameters: BTreeMap::from([("abc_limit_pkts".into(), 0)]) };
    let text = write(&head, &calls);
    assert_eq!(read(&text), (head, calls));
    assert!(text.contains(r#"{"hook":{"cong_avoid":{"acked":2}},"socket":{"tcp_mstamp":0,"ca_state":0,"#), "{text}");
    assert!(
        text.contains(r#""after":{"snd_cwnd":12,"snd_cwnd_cnt":0,"snd_ssthresh":2147483647,"sk_pacing_rate":18446744073709551615},"returned":null}"#),
        "{text}"
    );
}

/// Files of calls that were recorded elsewhere, named in `CCCTL_CALLS`.
#[test]
#[ignore = "replays the files that CCCTL_CALLS names"]
fn files_agree() {
    let names = std::env::var("CCCTL_CALLS").expect("CCCTL_CALLS=FILE[:FILE]...");
    for name in names.split(':') {
        let (head, calls) = read(&std::fs::read_to_string(name).unwrap());
        let subject = SUBJECTS.iter().find(|it| it.algorithm == head.algorithm).expect("a second implementation");
        let layout = ccctl_catalog::algorithm(&head.algorithm).unwrap().layout();
        let mut values = Values::of(&ParameterSet::defaults(&head.algorithm, &layout.parameters));
        for (parameter, value) in &head.parameters {
            values = values.with(parameter, *value);
        }
        let outcome = crate::replayed(&head.algorithm, &values, &calls, subject.tolerance);
        println!("{name}: {} calls, widest {}, {:?}", outcome.calls, outcome.widest_pkts, outcome.branches);
        assert_eq!(outcome.disagreements, 0, "{name}: {}", outcome.first.unwrap_or_default());
    }
}
