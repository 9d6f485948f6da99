// SPDX-License-Identifier: GPL-2.0-only
//! Every mistake is found before anything runs, and told with its place and what to write instead.

use crate::scenario;

/// A scenario without fault; each case below changes one thing of it.
const GOOD: &str = r#"title = "t"
[[link]]
name = "bottleneck"
rate = "10 Mbit/s"
delay = "10 ms"
queue = { kind = "droptail", size = "20 % BDP" }
[[flows]]
name = "first"
algorithm = "cubic"
path = ["bottleneck"]
[[flows]]
name = "second"
algorithm = "reno"
path = ["bottleneck"]
start = "1 s"
[run]
duration = "10 s"
window = ["5 s", "10 s"]
[[sweep]]
name = "buffer"
values = ["20 % BDP", "1 BDP"]
set = ["link.bottleneck.queue.size"]
[measures]
wanted = ["jain", "goodput:first"]
[[paper]]
measure = "jain"
at = { buffer = "1 BDP" }
value = 0.9
unit = "1"
where = "Table 1"
[[statement]]
id = "X-1"
text = "w"
check = [{ measure = "jain", is = ">", value = 0.5 }]
"#;

/// What is replaced, by what, where the fault is reported, words of the message.
type Case = (&'static str, &'static str, &'static str, &'static [&'static str]);

const FORMAT: &[Case] = &[
    ("title = \"t\"", "title = 3", "1:9", &["invalid type", "docs/reference/scenarios.md"]),
    ("title = \"t\"", "", "1:1", &["missing field `title`"]),
    ("title = \"t\"", "titel = \"t\"", "1:1", &["unknown field `titel`", "did you mean title?"]),
    ("title = \"t\"", "title = \"t", "1:11", &["invalid basic string"]),
    ("[run]", "[rum]", "16:2", &["unknown field `rum`", "did you mean run?"]),
    ("delay = \"10 ms\"", "dealy = \"10 ms\"", "5:1", &["unknown field `dealy`", "did you mean delay?"]),
    ("delay = \"10 ms\"", "delay = 10", "5:9", &["invalid type", "a time with its unit"]),
    ("delay = \"10 ms\"", "delay = \"10\"", "5:9", &["\"10\" is not a valid time", "48 ms"]),
    ("delay = \"10 ms\"", "delay = \"-1 ms\"", "5:9", &["is not a valid time"]),
    ("rate = \"10 Mbit/s\"", "rate = \"10 MB/s\"", "4:8", &["is not a valid rate", "622 Mbit/s"]),
    ("rate = \"10 Mbit/s\"", "rate = \"0 Mbit/s\"", "4:8", &["the rate \"0 Mbit/s\" is 0"]),
    ("kind = \"droptail\"", "kind = \"dropptail\"", "6:18", &["unknown variant `dropptail`", "did you mean droptail?"]),
];

const LINKS: &[Case] = &[
    ("name = \"second\"", "name = \"the second\"", "12:8", &["not a valid name of a group", "letters"]),
    ("rate = \"10 Mbit/s\"\n", "", "3:8", &["has no rate", "trace"]),
    ("rate = \"10 Mbit/s\"", "rate = \"10 Mbit/s\"\ntrace = \"x\"", "5:9", &["both a rate and a trace"]),
    ("rate = \"10 Mbit/s\"", "trace = \"missing\"", "4:9", &["cannot read \"missing\""]),
    ("rate = \"10 Mbit/s\"", "trace = \"../../etc/passwd\"", "4:9", &["not in the scenario's folder"]),
    ("delay = \"10 ms\"", "delay = \"10 ms\"\nloss = { kind = \"bernoulli\" }", "6:8", &["bernoulli loss needs probability"]),
    ("delay = \"10 ms\"", "delay = \"10 ms\"\nloss = { kind = \"bernoulli\", probability = 2 }", "6:44", &["2 is not a share", "0 to 1"]),
    ("delay = \"10 ms\"", "delay = \"10 ms\"\nloss = { kind = \"none\", loss_in_bad = 1 }", "6:39", &["no loss has no loss_in_bad"]),
    ("delay = \"10 ms\"\nqueue", "delay = \"0 ms\"\nqueue", "21:11", &["share of the BDP", "bdp_rtt"]),
    ("queue = { kind = \"droptail\", size = \"20 % BDP\" }", "queue = { kind = \"red\", size = \"9 packets\" }", "6:9", &["a red queue needs max_threshold"]),
    (
        "queue = { kind = \"droptail\", size = \"20 % BDP\" }",
        "queue = { kind = \"red\", size = \"9 packets\", min_threshold = \"5 packets\", max_threshold = \"4 packets\" }",
        "6:90",
        &["min_threshold is 5 packets, max_threshold 4"],
    ),
    ("kind = \"droptail\",", "kind = \"droptail\", ecn = true,", "6:36", &["a droptail queue has no ecn"]),
    ("kind = \"droptail\",", "kind = \"droptail\", step = \"1 ms\",", "6:37", &["a droptail queue has no step"]),
    ("kind = \"droptail\",", "kind = \"step\", step = \"0 ms\",", "6:33", &["a time of 0", "the default is 1 ms"]),
    ("kind = \"droptail\",", "kind = \"dualpi2\", coupling = 17,", "6:40", &["coupling is 17", "the default is 2"]),
    ("kind = \"droptail\",", "kind = \"xcp\", target = \"1 ms\",", "6:34", &["an xcp queue has no target"]),
    ("kind = \"droptail\",", "kind = \"codel\", coupling = 2,", "6:38", &["a codel queue has no coupling"]),
    ("kind = \"droptail\",", "kind = \"codel\", mark_above = \"1 packets\",", "6:40", &["a codel queue has no mark_above"]),
    ("values = [\"20 % BDP\", \"1 BDP\"]", "values = [\"100 bytes\", \"1 BDP\"]", "21:11", &["too small for a packet", "buffer = 100 bytes"]),
];

const FLOWS: &[Case] = &[
    (
        "{ kind = \"droptail\", size = \"20 % BDP\" }\n[[flows]]\nname = \"first\"\nalgorithm = \"cubic\"",
        "{ kind = \"xcp\", size = \"20 % BDP\" }\n[[flows]]\nname = \"first\"\nalgorithm = \"bbr\"\ntcp = { xcp = true }",
        "9:13",
        &["bbr sets its window itself", "algorithm = \"reno\""],
    ),
    (
        "algorithm = \"cubic\"",
        "algorithm = \"cubic\"\ntcp = { xcp = true }",
        "8:8",
        &["no link of its path has an xcp queue", "kind = \"xcp\""],
    ),
    ("algorithm = \"cubic\"", "algorithm = \"cubci\"", "9:13", &["no algorithm \"cubci\"", "did you mean cubic?"]),
    (
        "algorithm = \"cubic\"",
        "algorithm = \"cubic\"\nprofile = \"weigle2005\"",
        "10:11",
        &["no profile", "weigle2006"],
    ),
    (
        "algorithm = \"cubic\"",
        "algorithm = \"reno\"\nprofile = \"weigle2006\"",
        "10:11",
        &["has values for reno", "weigle2006|default"],
    ),
    (
        "algorithm = \"cubic\"",
        "algorithm = \"cubic\"\nset = { bta = 0.7 }",
        "10:15",
        &["no parameter", "did you mean beta?"],
    ),
    (
        "algorithm = \"cubic\"",
        "algorithm = \"cubic\"\nset = { beta = 1.5 }",
        "10:16",
        &["beta=1.5: out of range: 0.5 to 0.977", "beta=0.977"],
    ),
    (
        "algorithm = \"cubic\"",
        "algorithm = \"cubic\"\nset = { beta_q10 = 717 }",
        "10:20",
        &["no parameter \"beta_q10\"", "beta=0.7"],
    ),
    (
        "algorithm = \"cubic\"",
        "algorithm = \"htcp\"\nset = { rtt_ref = 100 }",
        "10:19",
        &["a time needs its unit (1ms to 10s)", "rtt_ref=100us or 100ms or 100s"],
    ),
    ("algorithm = \"cubic\"", "algorithm = \"cubic\"\nset = { beta = true }", "10:16", &["a number or a text"]),
    (
        "path = [\"bottleneck\"]\nstart",
        "path = [\"botleneck\"]\nstart",
        "14:9",
        &["no link \"botleneck\"", "did you mean bottleneck?"],
    ),
    ("path = [\"bottleneck\"]\nstart", "path = []\nstart", "12:8", &["has no links"]),
    ("path = [\"bottleneck\"]\nstart", "path = [\"bottleneck\", \"bottleneck\"]\nstart", "14:23", &["twice"]),
    ("name = \"second\"", "name = \"first\"", "12:8", &["a second group \"first\""]),
    ("start = \"1 s\"", "start = \"10 s\"", "15:9", &["begins at 10s, but the run ends at 10s"]),
    ("start = \"1 s\"", "start = \"5 s\"\nstop = \"4 s\"", "16:8", &["ends at 4s, but begins at 5s"]),
    ("start = \"1 s\"", "start = \"1 s\"\ncount = 4\nstagger = \"3 s\"", "15:9", &["flow 4 of second begins at 10s"]),
    ("start = \"1 s\"", "together = 0", "15:12", &["0 flows at once"]),
    ("start = \"1 s\"", "stop_stagger = \"1 s\"", "12:8", &["stop_stagger, but no stop"]),
    ("start = \"1 s\"", "application = { kind = \"transfer\" }", "15:15", &["a transfer needs size"]),
    (
        "start = \"1 s\"",
        "application = { kind = \"bulk\", rate = \"1 Mbit/s\" }",
        "15:39",
        &["a bulk application has no rate"],
    ),
    ("start = \"1 s\"", "tcp = { mss = \"99999 bytes\" }", "15:15", &["out of range", "65535"]),
    ("start = \"1 s\"", "tcp = { initial_ssthresh = \"1 packets\" }", "15:28", &["a window of 1 packets", "2 to"]),
    ("start = \"1 s\"", "tcp = { ack_every = 0 }", "15:21", &["the receiver would send no ACKs"]),
    ("start = \"1 s\"", "tcp = { fast_retransmit = false }", "15:27", &["SACK tells of losses", "sack = false"]),
];

const RUN: &[Case] = &[
    ("duration = \"10 s\"", "duration = \"0 s\"", "17:12", &["the duration is 0"]),
    (
        "duration = \"10 s\"",
        "duration = \"10 s\"\nstalls = [[\"2 s\", \"1 ms\", \"0 s\"], [\"1 s\", \"1 ms\", \"0 s\"]]",
        "18:35",
        &["a stall at 1s is not after that at 2s"],
    ),
    (
        "duration = \"10 s\"",
        "duration = \"10 s\"\nstalls = [[\"2 s\", \"1 ms\", \"2 ms\"]]",
        "18:11",
        &["a stall of 1ms is made up for by 2ms"],
    ),
    ("duration = \"10 s\"", "duration = \"8 s\"", "18:18", &["the window ends at 10s, but the run at 8s"]),
    ("window = [\"5 s\", \"10 s\"]", "window = [\"6 s\", \"5 s\"]", "18:10", &["ends before it begins"]),
    ("window = [\"5 s\", \"10 s\"]", "warm_up = \"10 s\"", "18:11", &["warm_up ends at 10s, but the run at 10s"]),
    (
        "window = [\"5 s\", \"10 s\"]",
        "window = [\"5 s\", \"10 s\"]\nwarm_up = \"1 s\"",
        "19:11",
        &["both warm_up and window"],
    ),
    ("duration = \"10 s\"", "duration = \"10 s\"\nrepeats = 3", "18:11", &["no random part", "start_spread"]),
    ("duration = \"10 s\"", "duration = \"10 s\"\nrepeats = 0", "18:11", &["repeats is 0"]),
    (
        "duration = \"10 s\"",
        "duration = \"10 s\"\nsample_interval = \"20 s\"",
        "18:19",
        &["interval of 20s in a window of 5s"],
    ),
    (
        "duration = \"10 s\"",
        "duration = \"10 s\"\nonly = [{ buffr = \"1 BDP\" }]",
        "18:11",
        &["no axis \"buffr\"", "did you mean buffer?"],
    ),
    (
        "duration = \"10 s\"",
        "duration = \"10 s\"\nexclude = [{ buffer = [\"1 BDP\", \"20 % BDP\"] }]",
        "1:1",
        &["leave no point of the sweep"],
    ),
    (
        "duration = \"10 s\"",
        "duration = \"10 s\"\nsample_interval = \"1 us\"",
        "18:19",
        &["20000000 samples of 2 flows", "a longer sample_interval"],
    ),
];

const SWEEP: &[Case] = &[
    (
        "set = [\"link.bottleneck.queue.size\"]",
        "set = [\"link.botleneck.queue.size\"]",
        "22:8",
        &["does not exist", "did you mean bottleneck?"],
    ),
    (
        "set = [\"link.bottleneck.queue.size\"]",
        "set = [\"links.bottleneck.queue.size\"]",
        "22:8",
        &["does not exist", "did you mean link?"],
    ),
    (
        "set = [\"link.bottleneck.queue.size\"]",
        "set = [\"link.bottleneck.queue.sise\"]",
        "22:8",
        &["unknown field `sise`", "did you mean size?"],
    ),
    (
        "set = [\"link.bottleneck.queue.size\"]",
        "set = [\"link.bottleneck\"]",
        "22:8",
        &["a key is missing after the name"],
    ),
    ("set = [\"link.bottleneck.queue.size\"]", "set = [\"run.seed\"]", "22:8", &["run.seed cannot be swept"]),
    ("set = [\"link.bottleneck.queue.size\"]", "set = [\"run.duration.x\"]", "22:8", &["duration is a string"]),
    ("set = [\"link.bottleneck.queue.size\"]", "set = [\"flows..start\"]", "22:8", &["a name is missing"]),
    ("set = [\"link.bottleneck.queue.size\"]\n", "", "20:8", &["changes nothing"]),
    ("values = [\"20 % BDP\", \"1 BDP\"]", "values = [\"1 BDP\", \"1 BDP\"]", "21:20", &["\"1 BDP\" twice"]),
    ("values = [\"20 % BDP\", \"1 BDP\"]", "values = []", "21:10", &["no values"]),
    (
        "set = [\"link.bottleneck.queue.size\"]",
        "with = { \"tcp.sack\" = [true] }",
        "22:23",
        &["has 1 values, the axis \"buffer\" has 2"],
    ),
    (
        "[measures]",
        "[[sweep]]\nname = \"buffer\"\nvalues = [1]\nset = [\"tcp.sack\"]\n[measures]",
        "24:8",
        &["two axes are named"],
    ),
    (
        "[measures]",
        "[[sweep]]\nname = \"x\"\nvalues = [1]\nset = [\"link.bottleneck.queue.size\"]\n[measures]",
        "26:8",
        &["set twice by the sweep"],
    ),
    (
        "values = [\"20 % BDP\", \"1 BDP\"]",
        "values = [\"20 % BDP\", \"1 BPD\"]",
        "21:23",
        &["is not a valid amount", "20 % BDP"],
    ),
];

const RESULTS: &[Case] = &[
    ("wanted = [\"jain\",", "wanted = [\"jian\",", "24:11", &["no measure \"jian\"", "did you mean jain?"]),
    (
        "\"goodput:first\"]",
        "\"goodput:first\"]\nfigures = [\"rtos\"]",
        "25:12",
        &["\"rtos\" is not in `wanted`", "add it there"],
    ),
    ("\"goodput:first\"]", "\"goodput:frist\"]", "24:19", &["no group \"frist\"", "did you mean first?"]),
    ("\"goodput:first\"]", "\"queue_mean:x\"]", "24:19", &["no link \"x\"", "bottleneck"]),
    ("\"goodput:first\"]", "\"asymmetry:first\"]", "24:19", &["compares two groups", "asymmetry:FIRST/SECOND"]),
    ("\"goodput:first\"]", "\"jain@5 s..20 s\"]", "24:19", &["exceeds the run of 10s"]),
    ("\"goodput:first\"]", "\"state.w_mx:first\"]", "24:19", &["has a state field \"w_mx\""]),
    ("\"goodput:first\"]", "\"fair_to_reno:first\"]", "24:19", &["compares with a baseline"]),
    ("at = { buffer = \"1 BDP\" }", "at = { buffer = \"2 BDP\" }", "27:17", &["no value \"2 BDP\"", "did you mean"]),
    ("at = { buffer = \"1 BDP\" }\n", "", "26:11", &["matches 2 points"]),
    ("unit = \"1\"", "unit = \"Mbit/s\"", "29:8", &["jain is not measured in \"Mbit/s\"", "unit = \"1\""]),
    ("id = \"X-1\"", "id = \"\"", "32:6", &["the id \"\" is empty"]),
    ("check = [{ measure = \"jain\", is = \">\", value = 0.5 }]", "check = []", "34:9", &["0 of 0 checks"]),
    ("is = \">\", value = 0.5", "is = \"=\", value = 0.5", "34:10", &["needs a tolerance", "within"]),
    ("is = \">\", value = 0.5", "is = \">\"", "34:10", &["the check has no right side"]),
    ("is = \">\", value = 0.5", "is = \">\", between = [0, 1]", "34:10", &["exactly one of"]),
    ("is = \">\", value = 0.5", "is = \">\", value = 0.5, slack = 0.1", "34:10", &["does not use slack"]),
    ("is = \">\", value = 0.5", "is = \">\", than = \"goodput\"", "34:10", &["compare measures of the same unit"]),
    ("is = \">\", value = 0.5", "is = \"≫\", value = 0.5", "34:35", &["unknown variant"]),
    (
        "is = \">\", value = 0.5",
        "monotone = \"non-increasing\", over = \"bufer\"",
        "34:66",
        &["no axis \"bufer\"", "did you mean buffer?"],
    ),
    (
        "is = \">\", value = 0.5",
        "order = \"ascending\", over = \"buffer\", along = [\"1 BDP\"]",
        "34:10",
        &["the check has one value on its axis"],
    ),
];

#[test]
fn the_file_that_the_cases_change_has_no_fault() {
    let scenario = scenario(GOOD).expect("it is right");
    assert_eq!(scenario.points.len(), 2);
}

#[test]
fn every_fault_is_one_line_with_its_place_and_a_remedy() {
    let mut wrong = Vec::new();
    for (from, to, place, words) in [FORMAT, LINKS, FLOWS, RUN, SWEEP, RESULTS].concat() {
        assert_eq!(GOOD.matches(from).count(), 1, "{from:?} is not there once");
        let message = match scenario(&GOOD.replace(from, to)) {
            Ok(_) => "no fault was found".to_owned(),
            Err(error) => error.to_string(),
        };
        let begins = message.starts_with(&format!("s.toml:{place}: "));
        if !begins || message.contains('\n') || !words.iter().all(|word| message.contains(word)) {
            wrong.push(format!("{to:?}: {message}\n    not {place} {words:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
