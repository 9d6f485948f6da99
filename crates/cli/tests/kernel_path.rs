//! The emulated path with real TCP over it: rate, delays, drops, losses, marks. Expected values are those that were asked for.
//!
//! The machine may be busy with other things. What the engine works out is exact all the same, and a test of it needs no
//! quiet machine; rates and delays are judged on runs that the path itself calls valid.
#![allow(clippy::unwrap_used)] // a test fails by panicking

use std::time::Duration;

use ccctl_lab::path::{Path, PathSpec};
use ccctl_lab::testbed::{within, Amount, Exclusive, Flows, Receiver, Sending};
use ccctl_sim::{BitRate, Limit};

#[test]
fn smoke() {
    let _exclusive = Exclusive::acquire().unwrap();
    within(Duration::from_secs(60), "path", || {
        for mbit in [10, 100] {
            let spec = PathSpec::new(BitRate::mbit_per_s(mbit), Duration::from_millis(20), Limit::Packets(100));
            let path = Path::start(&spec).unwrap();
            let delivered = path
                .placement()
                .at_endpoints(|| {
                    let receiver = Receiver::start(path.receiver(), "::").unwrap();
                    let sending = Sending {
                        to: receiver.at("10.77.0.2"),
                        algorithm: Some("reno".into()),
                        amount: Amount::For(Duration::from_secs(4)),
                        pause: Duration::ZERO,
                    };
                    Flows::start(path.sender(0), &sending, 1).unwrap().wait()
                })
                .unwrap()
                .unwrap();
            let report = path.stop().unwrap();
            let seconds = delivered[0].elapsed.as_secs_f64();
            println!("{:?}", delivered[0].bytes as f64 * 8e-6 / seconds);
            println!(
                "{:?} {:#?}",
                report.faults(),
                ccctl_lab::path::RouterReport { series: Vec::new(), ..report.router.clone() }
            );
            println!("{:?} {:?}", report.canary, report.devices);
        }
    });
}
