// SPDX-License-Identifier: GPL-2.0-only
//! Accurate ECN (RFC 9768) and ECT(1) (RFC 9331) on the way from a queue to the sender.

use std::time::Duration;

use ccctl_sim::{Application, FlowSpec, Limit, LinkSpec, Loss, Probability, Queue, Simulation};

use crate::{instance, link, ms, Dumbbell};

const STEP: Queue = Queue::Step { mark_above: Duration::from_millis(1), limit: Limit::Packets(1000) };

/// However many ACKs are lost, and however many packets one of them is for: no mark is forgotten or counted twice.
#[test]
fn the_sender_knows_every_mark() {
    for ack_every_pkts in [1, 2, 20] {
        let mut simulation = Simulation::new(7);
        let there = simulation.add_link(&link(50, STEP));
        let lossy = Loss::Bernoulli(Probability::ratio(1, 4));
        let back = LinkSpec { loss: lossy, ..link(50, Queue::DropTail(Limit::Packets(1000))) };
        let back = simulation.add_link(&back);
        let mut spec = FlowSpec::bulk(instance("reno"), there);
        spec.ack_path = vec![back];
        spec.access_delay = ms(20);
        spec.application = Application::Transfer { bytes: 20_000 * 1448 };
        spec.tcp.accurate_ecn = Some(true);
        spec.tcp.ect_1 = true;
        spec.tcp.ack_every_pkts = ack_every_pkts;
        let flow = simulation.add_flow(&spec).expect("a valid flow");
        simulation.run_until(Duration::from_secs(900)).expect("a consistent simulation");
        let (told, marked) =
            (simulation.flow(flow).counters().delivered_ce_pkts, simulation.link(there).counters().marked_pkts);
        assert_eq!(simulation.completions().len(), 1);
        assert!(marked > 100 && simulation.link(back).counters().lost_pkts > 100);
        assert_eq!(told, marked, "an ACK for {ack_every_pkts} packets");
    }
}

/// RFC 9331 section 5.1: ECT(0) is not for scalable senders; a step marker leaves it alone.
#[test]
fn a_step_marker_marks_nothing_but_ect_1() {
    let marked = |ect_1| {
        let mut dumbbell = Dumbbell::new(&link(50, STEP)).with("reno", ms(20), |flow| {
            flow.tcp.ecn = true;
            flow.tcp.ect_1 = ect_1;
        });
        dumbbell.run_until(Duration::from_secs(5));
        dumbbell.link().marked_pkts
    };
    assert_eq!(marked(false), 0);
    assert!(marked(true) > 0);
}
