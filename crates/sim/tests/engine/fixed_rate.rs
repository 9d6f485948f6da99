// SPDX-License-Identifier: GPL-2.0-only
//! `fixed` on paths: it has its rate, whatever the path loses and whoever shares it.

use std::sync::Arc;
use std::time::Duration;

use ccctl_sim::{FlowSpec, Instance, Limit, LinkSpec, Loss, Probability, Program, Queue};

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

/// With a cap of 30 Mbit/s on all that share this instance.
fn capped() -> Arc<Instance> {
    instance_with("fixed", &[("rate", "20mbit"), ("max_sum_rate", "30mbit")])
}

const CAP: f64 = 30e6;

/// Flows of an instance over this link, each from its first to its second number of seconds.
fn sharing(link: &LinkSpec, instance: &Arc<Instance>, times: &[(u64, u64)]) -> Dumbbell {
    times.iter().fold(Dumbbell::new(link), |dumbbell, (start, stop)| {
        dumbbell.with("fixed", RTT, |flow| {
            flow.instance = Arc::clone(instance);
            (flow.start, flow.stop) = (s(*start), Some(s(*stop)));
        })
    })
}

/// Bits per second that arrive at each flow's receiver, of the wire, second by second.
fn seconds(dumbbell: &mut Dumbbell, flows: usize, end: u64) -> Vec<Vec<f64>> {
    let mut before = vec![0; flows];
    dumbbell.sample(s(1), s(end), |dumbbell| {
        let now: Vec<u64> = (0..flows).map(|flow| dumbbell.flow(flow).received_bytes()).collect();
        let bits = |(now, before): (&u64, &u64)| (now - before) as f64 * 8.0 * 1500.0 / 1448.0;
        let rates = now.iter().zip(&before).map(bits).collect();
        before = now;
        rates
    })
}

/// Four flows, and each ten seconds one less: 30 Mbit/s among 4, 3 and 2 of them, and the last one has its 20.
fn share_what_others_leave(instance: &Arc<Instance>) {
    let path = link(100, Queue::DropTail(Limit::Packets(1000)));
    let mut dumbbell = sharing(&path, instance, &[(0, 10), (0, 20), (0, 30), (0, 40)]);
    for (second, rates) in seconds(&mut dumbbell, 4, 40).into_iter().enumerate() {
        let sum: f64 = rates.iter().sum();
        assert!(sum < 1.01 * CAP, "second {second}: {rates:?}");
        let present = 4 - second / 10;
        // a flow has no RTT at its begin, and those that stay learn at their next ACK that another one has gone
        if second % 10 > 0 {
            let share = (CAP / present as f64).min(RATE);
            rates[4 - present..].iter().for_each(|rate| assert_near(*rate, share, 0.01, "a share"));
        }
    }
    assert_eq!((0..4).map(|flow| dumbbell.flow(flow).dropped_pkts()).sum::<u64>(), 0);
}

#[test]
fn together_they_stay_below_the_cap_and_share_what_others_leave() {
    share_what_others_leave(&capped());
}

/// The object's atomic additions are rewritten for the interpreter.
#[test]
fn interpreted_they_share_the_cap_as_well() {
    let algorithm = ccctl_catalog::algorithm("fixed").expect("it exists");
    let mut set = ccctl_catalog::ParameterSet::defaults("fixed", &algorithm.layout().parameters);
    for (name, value) in [("rate", "20mbit"), ("max_sum_rate", "30mbit")] {
        set.set(name, value).expect("a parameter");
    }
    let program = Program::of_object(algorithm).expect("it can be interpreted");
    share_what_others_leave(&Arc::new(Instance::of_program(program, &set).expect("it can be interpreted")));
}

/// One that has not begun has no share.
#[test]
fn who_begins_later_has_a_share_from_then_on() {
    let path = link(100, Queue::DropTail(Limit::Packets(1000)));
    let mut dumbbell = sharing(&path, &capped(), &[(0, 20), (10, 20)]);
    let rates = seconds(&mut dumbbell, 2, 20);
    assert_near(rates[9][0], RATE, 0.01, "alone");
    rates[12].iter().for_each(|rate| assert_near(*rate, CAP / 2.0, 0.01, "beside another one"));
}

#[test]
fn each_instance_has_its_own_cap() {
    let path = link(100, Queue::DropTail(Limit::Packets(1000)));
    let mut dumbbell = sharing(&path, &capped(), &[(0, 10); 2]);
    let other = capped();
    for _ in 0..2 {
        dumbbell = dumbbell.with("fixed", RTT, |flow| flow.instance = Arc::clone(&other));
    }
    seconds(&mut dumbbell, 4, 10)[8].iter().for_each(|rate| assert_near(*rate, CAP / 2.0, 0.01, "two and two"));
}

/// What is sent more for losses counts, too: of 30 Mbit/s 95 % arrive.
#[test]
fn losses_are_compensated_below_the_cap_only() {
    let loss = Loss::Bernoulli(Probability::ratio(5, 100));
    let path = LinkSpec { loss, ..link(100, Queue::DropTail(Limit::Packets(1000))) };
    let mut dumbbell = sharing(&path, &capped(), &[(0, 60); 3]);
    let rates = seconds(&mut dumbbell, 3, 60);
    let mean = rates[5..].iter().flatten().sum::<f64>() / rates[5..].len() as f64;
    assert_near(mean, 0.95 * CAP, 0.01, "5 % lost");
}
