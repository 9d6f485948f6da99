// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rules that come and go do not use up the room for series.

use crate::support;
use crate::support::metrics;
use crate::support::policy;

use ccctl_testbed::{Cgroup, Network, SERVER_V4};
use metrics::until;
use policy::{listen, pair};
use support::daemon::Daemon;

/// More than there is room for: 511 pairs of algorithm and cgroup.
const CGROUPS: usize = 520;

fn config(cgroups: &[Cgroup]) -> String {
    let rule = |cgroup: &Cgroup| format!("[[rule]]\ncgroup = \"{}\"\nuse = \"reno\"\n", cgroup.path());
    format!("[metrics]\nenabled = true\n{}", cgroups.iter().map(rule).collect::<String>())
}

#[test]
fn series_of_rules_that_are_gone_leave_their_room_to_others() {
    support::test("metrics: churn of rules", 180, || {
        let network = Network::new().unwrap();
        let (parent, outside) = (Cgroup::new("churn").unwrap(), Cgroup::new("outside").unwrap());
        let first: Vec<Cgroup> = (0..CGROUPS).map(|number| parent.child(&number.to_string()).unwrap()).collect();
        let daemon = Daemon::start("churn", &config(&first));
        let listener = listen(&outside, &network.server, SERVER_V4);
        let held: Vec<_> = first.iter().map(|cgroup| pair(cgroup, &network, &listener, SERVER_V4)).collect();
        until(&daemon, "there is no room", |scrape| {
            scrape.count("ccctl_connections_opened_total", &[("name", "other"), ("cgroup", "other")]) > 0
        });
        let second = [parent.child("second").unwrap()];
        daemon.reload(&config(&second));
        until(&daemon, "the new one has a series", |scrape| {
            drop(pair(&second[0], &network, &listener, SERVER_V4));
            scrape.count("ccctl_connections_opened_total", &[("name", "reno"), ("cgroup", second[0].path())]) > 0
        });
        drop((held, second, first));
        daemon.json(&["down", "--json"]);
    });
}
