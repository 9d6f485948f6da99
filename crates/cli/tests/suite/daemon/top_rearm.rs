// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the guard has disabled is enabled again from `ccctl top`, through the daemon.

use crate::support;
use crate::support::daemon::Daemon;
use crate::support::top::Screen;

use ccctl_testbed::{Cgroup, Network};

use super::guard::{cut_from, guard, instance_with_rule, soon, tripped, Traffic};

const NAME: &str = "karm";
const CLIENT: &str = "10.77.0.1";

#[test]
fn a_disabled_instance_is_enabled_after_a_yes() {
    support::test("top rearms", 180, || {
        let path = Network::new().unwrap();
        let cgroup = Cgroup::new("toparm").unwrap();
        let daemon = Daemon::start("toparm", &instance_with_rule(NAME, &cgroup));
        let traffic = Traffic::start(&cgroup, &path);
        cut_from(&path.server, CLIENT, "add");
        soon("it has tripped", &daemon, || tripped(&daemon) == [NAME]);
        cut_from(&path.server, CLIENT, "del");
        let variables = format!("LC_ALL=C.UTF-8 CCCTL_SOCKET={}", daemon.socket().display());
        let screen = Screen::open_with(100, 30, &variables, "--every 300ms");
        screen.press(&["r"]);
        screen.wait("what is disabled", |text| text.contains("enable again:") && text.contains("reno in its place"));
        screen.press(&["Enter"]);
        // impossible windows where the kernel leaves hooks out, or else stalls
        let why = guard(&daemon)["tripped"][0]["why"].as_str().unwrap().to_owned();
        let reason = why.split_whitespace().next().unwrap();
        assert!(["stalled", "impossible"].contains(&reason), "{why}");
        screen.wait("the question", |text| text.contains("Enable karm again?") && text.contains(reason));
        screen.press(&["n"]);
        screen.wait("a no", |text| text.contains("nothing was changed"));
        assert_eq!(tripped(&daemon), [NAME]);
        screen.press(&["r"]);
        screen.wait("what is disabled", |text| text.contains("enable again:") && text.contains("reno in its place"));
        screen.press(&["Enter", "y"]);
        screen.wait("the result", |text| text.contains("karm is used and watched again"));
        assert_eq!(tripped(&daemon), [""; 0]);
        screen.press(&["q"]);
        assert_eq!(screen.ended(), "0");
        drop(traffic);
        daemon.json(&["down", "--json"]);
    });
}
