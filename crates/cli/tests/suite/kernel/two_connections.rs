// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two connections against one, on the running kernel: what a split says of users of one link, and what a switchback finds.

use std::thread::sleep;
use std::time::Duration;

use ccctl_path::{Path, PathSpec, Waiting, RECEIVER_V4};
use ccctl_sim::{BitRate, Limit};
use ccctl_testbed::Cgroup;

use crate::support::verified::Verified;
use crate::support::{self, times};
use crate::two_users::{every_second, split, Users};

const USERS: usize = 4;
const BLOCK: Duration = Duration::from_secs(3);
const BURN_IN: Duration = Duration::from_secs(1);
/// For what is seen once.
const SPLIT: Duration = Duration::from_secs(12);

/// Bytes that each user got in `time` after the burn-in.
fn bytes_of_users(path: &Path, cgroup: &Cgroup, connections: &[usize], time: Duration) -> Vec<f64> {
    let ends = path.endpoints();
    let to = RECEIVER_V4.to_string();
    let open = |count: &usize| Verified::start(cgroup, ends.sender(0), (ends.receiver(), &to), *count);
    let users: Vec<Verified> = connections.iter().map(open).collect();
    let count = || -> Vec<u64> { users.iter().map(Verified::bytes).collect() };
    sleep(BURN_IN);
    let before = count();
    sleep(time);
    let after = count();
    users.into_iter().for_each(Verified::end);
    after.iter().zip(before).map(|(after, before)| (after - before) as f64).collect()
}

#[test]
fn a_split_of_users_says_what_the_switchback_does_not_find() {
    support::test("two-connections", 150, || {
        let mut spec = PathSpec::new(BitRate::mbit_per_s(20), Duration::from_millis(20), Limit::Packets(33));
        spec.waiting = Waiting::Sleep;
        let (path, cgroup) = (Path::start(&spec).unwrap(), Cgroup::new("users").unwrap());
        path.endpoints().sender(0).set_sysctl("net/ipv4/tcp_congestion_control", "reno").unwrap();
        let time = SPLIT * u32::try_from(times(1, 5)).unwrap();
        let (ratio, others) = split(
            &bytes_of_users(&path, &cgroup, &every_second(USERS), time),
            &bytes_of_users(&path, &cgroup, &[1; USERS], time),
        );
        let users = Users { count: USERS, block: BLOCK, burn_in: BURN_IN };
        let switchback = users
            .switchback(|connections, _| bytes_of_users(&path, &cgroup, connections, BLOCK.saturating_sub(BURN_IN)));
        let interval = switchback.final_interval.unwrap();
        let (lower, upper) = (interval.lower_pct.unwrap(), interval.upper_pct.unwrap());
        println!(
            "a split says {:+.0} %, the others lose {:.0} %; switchback {:+.1} %, 95 %: {lower:+.1} to {upper:+.1} %",
            (ratio - 1.0) * 100.0,
            (1.0 - others) * 100.0,
            switchback.estimate_pct.unwrap()
        );
        // by the closed form +100 %, and 33 % less for the others
        assert!((ratio - 2.0).abs() < 0.5, "a split says {:+.0} %", (ratio - 1.0) * 100.0);
        assert!((others - 2.0 / 3.0).abs() < 0.15, "the others have {others:.2} of before");
        // seconds after their start, one connection of each user fills the link less well than two
        assert!(lower > -10.0 && upper < 10.0 && lower < 3.0, "{lower} % to {upper} %");
    });
}
