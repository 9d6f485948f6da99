// SPDX-License-Identifier: GPL-2.0-only
//! `fixed` on paths: it has its rate, whatever the path loses and whoever shares it.

use std::time::Duration;

use ccctl_sim::{FlowSpec, Limit, Loss, Probability, Queue};

use crate::{assert_near, instance_with, link, lossy, ms, Dumbbell};

const RTT: Duration = ms(40);
/// Of the wire: pacing counts headers, as the fq queue discipline does.
const RATE: f64 = 20e6;

fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn fixed(parameters: &'static [(&'static str, &'static str)]) -> impl FnOnce(&mut FlowSpec) {
    move |flow| {
        let all: Vec<_> = [("rate", "20mbit")].into_iter().chain(parameters.iter().copied()).collect();
        flow.instance = instance_with("fixed", &all);
    }
}

/// Bits per second that arrive at a flow's receiver, of the wire, between 10 s and 70 s.
fn arriving(dumbbell: &mut Dumbbell, flow: usize) -> f64 {
    dumbbell.run_until(s(10));
    let before = dumbbell.flow(flow).received_bytes();
    dumbbell.run_until(s(70));
    (dumbbell.flow(flow).received_bytes() - before) as f64 * 8.0 / 60.0 * 1500.0 / 1448.0
}

#[test]
fn alone_it_has_its_rate() {
    let mut dumbbell = Dumbbell::new(&link(100, Queue::DropTail(Limit::Packets(1000)))).with("fixed", RTT, fixed(&[]));
    assert_near(arriving(&mut dumbbell, 0), RATE, 0.01, "rate");
    assert_eq!(dumbbell.flow(0).dropped_pkts(), 0);
}

/// With a loss of p a rate of R / (1 - p) delivers R, and a rate of R delivers R (1 - p).
#[test]
fn under_random_losses_the_rate_arrives_where_they_are_compensated() {
    let goodput = |parameters, loss_pct| {
        arriving(
            &mut lossy("fixed", 100, RTT, Loss::Bernoulli(Probability::ratio(loss_pct, 100)), fixed(parameters)),
            0,
        )
    };
    assert_near(goodput(&[], 5), RATE, 0.01, "5 %, compensated");
    assert_near(goodput(&[("compensates_loss", "off")], 5), 0.95 * RATE, 0.01, "5 %, not compensated");
    assert_near(goodput(&[], 30), 0.7 / 0.8 * RATE, 0.01, "30 %, of which 20 % are compensated");
}

/// CUBIC alone has all of the link. Beside `fixed` it has what is left.
#[test]
fn beside_cubic_it_takes_its_rate() {
    let path = || Dumbbell::new(&link(25, Queue::DropTail(Limit::Packets(83))));
    let mut dumbbell = path().with("fixed", RTT, fixed(&[])).with("cubic", RTT, |_| {});
    assert_near(arriving(&mut dumbbell, 0), RATE, 0.01, "beside CUBIC");
    let mut dumbbell = path().with("fixed", RTT, fixed(&[])).with("cubic", RTT, |_| {});
    let left = arriving(&mut dumbbell, 1);
    println!("CUBIC has {:.2} of 25 Mbit/s", left / 1e6);
    assert_near(left, 25e6 - RATE, 0.02, "what is left");
}

/// More than the link has: the losses are its own, and it sends a quarter more for them.
#[test]
fn beyond_the_link_it_leaves_nothing_to_cubic() {
    let path = || Dumbbell::new(&link(25, Queue::DropTail(Limit::Packets(83))));
    let mut dumbbell = path().with("fixed", RTT, fixed(&[("rate", "30mbit")])).with("cubic", RTT, |_| {});
    let left = arriving(&mut dumbbell, 1);
    println!("CUBIC has {:.3} of 25 Mbit/s", left / 1e6);
    assert!(left < 0.02 * 25e6, "{left}");
}
