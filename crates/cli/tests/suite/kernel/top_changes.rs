// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `ccctl top` changes after a yes, compared with what the commands then list; its file, and its mouse.

use crate::support;
use crate::support::policy::{self, listen, rules};
use crate::support::top::Screen;
use crate::support::{listed, names, succeeds, Folder};

use ccctl_testbed::{Cgroup, Network, SERVER_V4};

use super::top_keys::{choose, go_into};

const NAME: &str = "bpf_cubic";

#[track_caller]
fn confirm(screen: &Screen, question: &str, result: &str) {
    screen.wait("the question", |text| text.contains(question));
    screen.press(&["Enter"]);
    assert!(screen.text().contains(question), "Enter is no yes");
    screen.press(&["y"]);
    screen.wait("the result", |text| text.contains(result));
}

fn parameter(name: &str) -> String {
    let instance = listed(NAME).unwrap();
    let all = instance["parameters"].as_array().unwrap().clone();
    let one = all.into_iter().find(|parameter| parameter["name"] == name).unwrap();
    one["value_text"].as_str().unwrap().to_owned()
}

fn loads(screen: &Screen) {
    support::prepare(&["load", "cubic"]);
    screen.press(&["l"]);
    choose(screen, "cubic");
    screen.wait("the question", |text| text.contains("Load cubic as bpf_cubic?"));
    screen.press(&["n"]);
    screen.wait("a no", |text| text.contains("nothing was changed"));
    assert!(!names().contains(&NAME.to_owned()));
    screen.press(&["l"]);
    choose(screen, "cubic");
    confirm(screen, "Load cubic as bpf_cubic?", "loaded cubic as bpf_cubic");
    assert!(names().contains(&NAME.to_owned()));
}

fn tunes(screen: &Screen) {
    for (value, result) in [("0.8", "bpf_cubic: beta = 0.8 (was 0.7)"), ("8", "beta")] {
        screen.press(&["u"]);
        choose(screen, "beta");
        screen.wait("the present value", |text| text.contains("beta = 0."));
        screen.press(&["BSpace"; 3]);
        screen.enter(value);
        screen.press(&["Enter"]);
        confirm(screen, &format!("Set beta={value} in {NAME} (now 0."), result);
    }
    assert_eq!(parameter("beta"), "0.8", "8 is out of range");
}

fn swaps(screen: &Screen) {
    screen.press(&["x"]);
    choose(screen, "htcp");
    screen.wait("the number", |text| text.contains("1 socket stays on the previous program"));
    confirm(screen, "Swap bpf_cubic to htcp?", "new connections use htcp; 1 socket on the previous program");
    assert_eq!(listed(NAME).unwrap()["algorithm"], "htcp");
}

fn assigns(screen: &Screen, cgroup: &Cgroup) {
    screen.press(&["i"]);
    choose(screen, "reno");
    let question = format!("Assign reno to new connections of {}?", cgroup.path());
    confirm(screen, &question, &format!("cgroup {} gets reno", cgroup.path()));
    let found = rules();
    assert_eq!((found.len(), &found[0]["targets"]), (1, &"reno".into()), "{found:?}");
    screen.press(&["r"]);
    screen.wait("no trip", |text| text.contains("the guard has disabled nothing"));
}

/// A second time the file is there, and stays as it is.
fn writes(screen: &Screen, folder: &Folder, source: &str) {
    let path = folder.path().join("view.csv");
    for result in ["wrote 1 row to", "File exists"] {
        screen.press(&["w"]);
        screen.wait("the name", |text| text.contains("write to: ccctl-top-"));
        screen.press(&["BSpace"; 40]);
        screen.wait("no name", |text| text.contains("write to: _"));
        screen.enter(&path.display().to_string());
        screen.press(&["Enter"]);
        screen.wait("the end of it", |text| text.contains(result));
    }
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.starts_with("cookie,state,source,") && text.contains(source), "{text}");
    assert_eq!(text.lines().count(), 2, "{text}");
}

#[test]
fn algorithms_are_loaded_tuned_swapped_and_assigned_after_a_yes() {
    support::test("changes", 300, || {
        support::claim_rules();
        let folder = Folder::new("top-changes");
        let (front, back) = (Cgroup::new("front").unwrap(), Cgroup::new("back").unwrap());
        let network = Network::new().unwrap();
        let screen = Screen::open(140, 40, "--every 300ms");
        loads(&screen);
        network.client.set_sysctl("net/ipv4/tcp_congestion_control", NAME).unwrap();
        let listener = listen(&back, &network.server, "::");
        let pair = policy::pair(&front, &network, &listener, SERVER_V4);
        assert_eq!(pair.algorithms()[0], NAME);
        go_into(&screen, NAME);
        let source = pair.client.local_addr().unwrap().to_string();
        screen.wait("its socket", |text| text.contains("1 in all") && text.contains(&source));
        tunes(&screen);
        swaps(&screen);
        assigns(&screen, &front);
        assert_eq!(
            policy::pair(&front, &network, &listener, SERVER_V4).algorithms()[0],
            "reno",
            "the rule is in force"
        );
        writes(&screen, &folder, &source);
        screen.press(&["t"]);
        screen.wait("the tree", |text| text.contains("line 1 of 2") || text.contains("line 2 of 2"));
        screen.enter("\u{1b}[<0;3;2M"); // a click on the heading, as a terminal reports it
        screen.wait("another order", |text| text.contains("SOURCE^"));
        screen.press(&["q"]);
        assert_eq!(screen.ended(), "0");
        succeeds(&["unassign", "--all"]);
        drop((pair, listener, network));
        succeeds(&["unload", NAME]);
    });
}
