// SPDX-License-Identifier: GPL-2.0-only
//! What scenarios mean.

use std::path::Path;
use std::time::Duration;

use ccctl_lab::experiment::Point;
use ccctl_lab::measures::DEFINITIONS;
use ccctl_lab::scenario::Scenario;
use ccctl_sim::{Limit, LinkRate, Loss, Queue};

use crate::{file, scenario};

/// S4's dumbbell: 622 Mbit/s, 48 ms, access links of 1 ms, packets of 1000 bytes: BDP 7775 packets, a fifth of it 1555.
const WEIGLE: &str = r#"title = "S4"
[[link]]
name = "oc12"
rate = "622 Mbit/s"
delay = "48 ms"
queue = { kind = "droptail", size = "20 % BDP" }
[tcp]
mss = "960 bytes"
header = "40 bytes"
max_window = "67000 packets"
[[flows]]
name = "first"
algorithm = "bic"
profile = "weigle2006"
path = ["oc12"]
access_delay = "2 ms"
[[flows]]
name = "second"
algorithm = "htcp"
profile = "weigle2006"
set = { adaptive_backoff = "off" }
path = ["oc12"]
access_delay = "2 ms"
start = "50 s"
[run]
duration = "500 s"
window = ["250 s", "500 s"]
"#;

#[test]
fn a_share_of_the_bdp_becomes_the_papers_number_of_packets() {
    let scenario = scenario(WEIGLE).unwrap();
    let setup = &scenario.points[0].setup;
    assert_eq!(setup.links[0].spec.queue, Queue::DropTail(Limit::Packets(1555)));
    assert!(matches!(setup.links[0].spec.rate, LinkRate::Constant(rate) if rate.as_bits_per_s() == 622_000_000));
    assert_eq!(setup.links[0].spec.loss, Loss::None);
    let group = &setup.groups[0];
    assert_eq!(
        (group.base_rtt, group.tcp.max_window_pkts, group.packet_bytes()),
        (Duration::from_millis(100), 67_000, 1000)
    );
    assert_eq!(group.parameters.get("beta"), Some(896));
    assert_eq!(setup.groups[1].parameters.get("adaptive_backoff"), Some(0));
    assert_eq!(setup.groups[1].schedule[0].start, Duration::from_secs(50));
    assert_eq!(setup.window, (Duration::from_secs(250), Duration::from_secs(500)));
}

/// 0.8 * 1024 is 819.2 and 0.75 * 1024 is 768.
#[test]
fn parameters_are_written_with_their_units_in_files_sweeps_and_overrides() {
    let text = WEIGLE
        .replace("set = { adaptive_backoff = \"off\" }", "set = { rtt_ref = \"80 ms\", delta_b = \"30%\" }")
        + "[[sweep]]\nname = \"beta\"\nset = [\"flows.first.set.beta\"]\nvalues = [0.8, 0.75, \"60%\"]\n";
    let points = |overrides: &[(&str, &str)]| {
        let overrides: Vec<_> =
            overrides.iter().map(|(path, value)| ((*path).to_owned(), (*value).to_owned())).collect();
        Scenario::of_text(Path::new("s.toml"), &text, &overrides).unwrap().points
    };
    let swept = points(&[]);
    let betas: Vec<_> = swept.iter().map(|point| point.setup.groups[0].parameters.get("beta")).collect();
    assert_eq!(betas, [Some(819), Some(768), Some(614)]);
    let htcp = |point: &Point| ["rtt_ref", "delta_b"].map(|name| point.setup.groups[1].parameters.get(name));
    assert_eq!(htcp(&swept[0]), [Some(80_000), Some(30)]);
    let changed = points(&[("flows.second.set.rtt_ref", "1.5s"), ("flows.second.set.delta_b", "25%")]);
    assert_eq!(htcp(&changed[0]), [Some(1_500_000), Some(25)]);
}

/// S3: slow start threshold of half the BDP; 500 Mbit/s times 80 ms are 3333 packets of 1500 bytes
#[test]
fn a_threshold_may_be_a_share_of_the_bdp() {
    let text = WEIGLE
        .replace("622 Mbit/s", "500 Mbit/s")
        .replace("48 ms", "38 ms")
        .replace("mss = \"960 bytes\"", "mss = \"1460 bytes\"\ninitial_ssthresh = \"50 % BDP\"");
    let scenario = scenario(&text).unwrap();
    assert_eq!(scenario.points[0].setup.groups[0].tcp.initial_ssthresh_pkts, Some(1666));
}

/// S2: flow k starts 5 (k - 1) minutes late, and they stop in reverse order; eight come in pairs
#[test]
fn flows_start_and_stop_one_after_the_other() {
    let text = WEIGLE.replace(
        "start = \"50 s\"",
        "count = 4\ntogether = 2\nstagger = \"50 s\"\nstop = \"400 s\"\nstop_stagger = \"20 s\"",
    );
    let scenario = scenario(&text).unwrap();
    let times: Vec<(u64, u64)> = scenario.points[0].setup.groups[1]
        .schedule
        .iter()
        .map(|it| (it.start.as_secs(), it.stop.unwrap().as_secs()))
        .collect();
    assert_eq!(times, [(0, 400), (0, 400), (50, 380), (50, 380)]);
}

#[test]
fn a_sweep_is_the_product_of_its_axes_without_what_is_excluded() {
    let text = WEIGLE.to_owned()
        + r#"exclude = [{ buffer = "40 packets", rtt = "long" }]
[[sweep]]
name = "buffer"
values = ["20 % BDP", "40 packets"]
set = ["link.oc12.queue.size"]
[[sweep]]
name = "rtt"
values = ["short", "long"]
with = { "link.oc12.delay" = ["8 ms", "48 ms"], "flows.*.access_delay" = ["0 ms", "2 ms"], "flows.second.tcp.sack" = [false, true] }
"#;
    let scenario = scenario(&text).unwrap();
    let labels: Vec<String> = scenario.points.iter().map(|point| scenario.label(&point.position)).collect();
    assert_eq!(
        labels,
        ["buffer = 20 % BDP, rtt = short", "buffer = 20 % BDP, rtt = long", "buffer = 40 packets, rtt = short"]
    );
    let short = &scenario.points[2].setup;
    assert_eq!((short.groups[0].base_rtt, short.groups[0].tcp.sack), (Duration::from_millis(16), true));
    assert!(!short.groups[1].tcp.sack);
    // 622 Mbit/s times 16 ms: 1244 packets, a fifth 248.8
    assert_eq!(scenario.points[0].setup.links[0].spec.queue, Queue::DropTail(Limit::Packets(248)));
}

#[test]
fn reverse_traffic_makes_the_way_back_a_link() {
    let text = WEIGLE.replace("start = \"50 s\"", "reverse = true");
    assert!(scenario(&text).unwrap().points[0].setup.links[0].back_is_link);
    assert!(!scenario(WEIGLE).unwrap().points[0].setup.links[0].back_is_link);
    let error = scenario(&text.replace("delay = \"48 ms\"", "delay = \"48 ms\"\nback = \"delay\"")).unwrap_err();
    assert!(error.to_string().contains("whose reverse path is only a delay"), "{error}");
}

#[test]
fn values_of_a_command_line_replace_those_of_the_file() {
    let set = |path: &str, value: &str| {
        Scenario::of_text(Path::new("s.toml"), WEIGLE, &[(path.to_owned(), value.to_owned())])
    };
    assert_eq!(set("run.duration", "600 s").unwrap().points[0].setup.duration, Duration::from_secs(600));
    assert_eq!(set("run.seed", "7").unwrap().seed, 7);
    assert_eq!(set("flows.first.algorithm", "cubic").unwrap().points[0].setup.groups[0].algorithm, "cubic");
    let wrong = set("flows.first.algorithm", "bick").unwrap_err().to_string();
    assert!(wrong.starts_with("--set:1:23: there is no algorithm \"bick\"; did you mean bic?"), "{wrong}");
    let wrong = set("flows.frist.algorithm", "bic").unwrap_err().to_string();
    assert!(wrong.starts_with("--set:1:1:") && wrong.contains("did you mean first?"), "{wrong}");
}

/// An axis that sets other things besides its own values leaves them to the command line; its own it keeps.
#[test]
fn a_value_of_a_command_line_counts_more_than_that_of_an_axis() {
    let text = WEIGLE.to_owned()
        + r#"[[sweep]]
name = "rtt"
values = ["short", "long"]
with = { "run.duration" = ["600 s", "700 s"], "flows.first.access_delay" = ["3 ms", "7 ms"] }
[[sweep]]
name = "buffer"
values = ["20 % BDP", "40 packets"]
set = ["link.*.queue.size"]
with = { "flows.*.tcp.sack" = [false, true] }
"#;
    let set =
        |path: &str, value: &str| Scenario::of_text(Path::new("s.toml"), &text, &[(path.to_owned(), value.to_owned())]);
    let durations_s = |scenario: &Scenario| -> Vec<u64> {
        scenario.points.iter().map(|point| point.setup.duration.as_secs()).collect()
    };
    assert_eq!(durations_s(&set("run.seed", "1").unwrap()), [600, 600, 700, 700]);
    let shorter = set("run.duration", "800 s").unwrap();
    assert_eq!(durations_s(&shorter), [800; 4]);
    // the folder's file says the same when it is read again
    assert_eq!(durations_s(&scenario(&shorter.text).unwrap()), [800; 4]);
    let delays_ms = |scenario: &Scenario| -> Vec<u128> {
        scenario.points.iter().map(|point| point.setup.groups[0].access_delay.as_millis()).collect()
    };
    assert_eq!(delays_ms(&shorter), [3, 3, 7, 7]);
    assert_eq!(delays_ms(&set("flows.*.access_delay", "5 ms").unwrap()), [5; 4]);
    for (path, value, words) in [
        ("link.oc12.queue.size", "9 packets", "link.*.queue.size is what an axis of the sweep sets"),
        ("flows.first.tcp.sack", "true", "an axis of the sweep sets flows.*.tcp.sack, also for others"),
    ] {
        let wrong = set(path, value).unwrap_err().to_string();
        assert!(wrong.starts_with("--set:1:1:") && wrong.contains(words) && wrong.contains("--only"), "{wrong}");
    }
}

#[test]
fn spacing_comments_and_texts_do_not_change_what_is_run() {
    let same = WEIGLE.replace("title = \"S4\"", "# a comment\ntitle   =   \"other\"\nsource = \"x\"");
    assert_eq!(scenario(&same).unwrap().canonical, scenario(WEIGLE).unwrap().canonical);
    let other = WEIGLE.replace("500 s\"\nwindow", "501 s\"\nwindow");
    assert_ne!(scenario(&other).unwrap().canonical, scenario(WEIGLE).unwrap().canonical);
}

#[test]
fn all_shipped_scenarios_are_right() {
    let mut count = 0;
    for entry in std::fs::read_dir(file("configs/scenarios")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "toml") {
            Scenario::read(&path, &[]).unwrap_or_else(|error| panic!("{error}"));
            count += 1;
        }
    }
    assert!(count >= 1);
}

#[test]
fn every_measure_is_documented_with_its_unit() {
    let page = std::fs::read_to_string(file("docs/reference/scenarios.md")).unwrap();
    for definition in DEFINITIONS {
        let row = page
            .lines()
            .find(|line| line.split('|').nth(1).is_some_and(|cell| cell.contains(&format!("`{}`", definition.name))));
        let row = row.unwrap_or_else(|| panic!("docs/reference/scenarios.md has no {}", definition.name));
        assert!(row.contains(&format!("| {} |", definition.unit)), "{}: {row}", definition.name);
    }
}
