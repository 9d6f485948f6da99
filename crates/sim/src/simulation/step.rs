// SPDX-License-Identifier: GPL-2.0-only
//! One event after the other.

use std::time::Duration;

use super::Simulation;
use crate::events::{Event, Kind, Source};
use crate::native::prefetch;
use crate::packet::Packet;
use crate::scenario::{Completion, FlowId};
use crate::traffic::Act;

/// So many flows' states lie near the processor anyway.
const FEW_FLOWS: usize = 200;
/// How far ahead a flow's state is asked for.
const AHEAD_PKTS: usize = 4;

impl Simulation {
    #[inline]
    pub(super) fn step(&mut self, event: Event) {
        self.network.pass_to(event.time_ns());
        let index = event.source().index();
        match event.source().kind() {
            kind @ (Kind::Crossing | Kind::Straggler) => {
                self.expect_crossings(index);
                if let Some(packet) = self.network.cross(index, kind) {
                    self.receive(&packet);
                }
            }
            Kind::Service => self.network.serve(index),
            Kind::Return => {
                self.expect_sources();
                self.expect_returns(index);
                if let Some(packet) = self.network.come_back(index) {
                    self.acknowledge(&packet);
                }
            }
            Kind::Sender => {
                self.expect_sources();
                self.sender_due(index, event.time_ns());
            }
            Kind::Receiver => {
                self.expect_sources();
                self.receiver_due(index, event.time_ns());
            }
        }
    }

    /// With thousands of flows each one's state comes from far away: it is asked for some packets ahead, and what it points to
    /// one packet ahead.
    fn expect_returns(&self, line: usize) {
        if self.senders.len() <= FEW_FLOWS {
            return;
        }
        if let Some(packet) = self.network.coming_back(line, AHEAD_PKTS) {
            prefetch(&self.senders[packet.flow as usize]);
        }
        if let Some(packet) = self.network.coming_back(line, 1) {
            self.senders[packet.flow as usize].prefetch_packets();
        }
    }

    /// Where each flow has its own delay, the queue knows whose ACK is next: its line is asked for, then its packet, then
    /// the sender.
    fn expect_sources(&self) {
        if self.senders.len() <= FEW_FLOWS {
            return;
        }
        let ahead = |events: usize| self.network.events.ahead(events).map(|source| (source.kind(), source.index()));
        let packet_of = |line| self.network.coming_back(line, 0);
        let flow_of = |source| match source {
            (Kind::Return, line) => packet_of(line).map(|packet| packet.flow as usize),
            (Kind::Sender, flow) => Some(flow),
            _ => None,
        };
        if let Some((Kind::Return, line)) = ahead(4 * AHEAD_PKTS) {
            self.network.prefetch_line(line);
        }
        match ahead(3 * AHEAD_PKTS) {
            Some((Kind::Return, line)) => packet_of(line).into_iter().for_each(prefetch),
            Some((Kind::Receiver, flow)) => prefetch(&self.receivers[flow]),
            _ => {}
        }
        if let Some(flow) = ahead(2 * AHEAD_PKTS).and_then(flow_of) {
            prefetch(&self.senders[flow]);
        }
        if let Some(flow) = ahead(AHEAD_PKTS).and_then(flow_of) {
            self.senders[flow].prefetch_packets();
        }
    }

    fn expect_crossings(&self, link: usize) {
        if self.senders.len() <= FEW_FLOWS {
            return;
        }
        let link = &self.network.links[link];
        if let Some(packet) = link.crossing(2 * AHEAD_PKTS) {
            prefetch(&self.receivers[packet.flow as usize]);
            self.network.prefetch_line_of(packet.flow);
        }
        if let Some(packet) = link.crossing(AHEAD_PKTS) {
            self.network.prefetch_end_of_line_of(packet.flow);
        }
    }

    fn receive(&mut self, packet: &Packet) {
        let Self { receivers, network, .. } = self;
        let receiver = &mut receivers[packet.flow as usize];
        let feedback_bytes_q8 = network.headers.take(packet.options).feedback_bytes_q8;
        receiver.receive(network.ends_ns(), packet, feedback_bytes_q8, |ack, options| {
            network.reply(packet.flow, ack, options);
        });
        self.schedule_receiver(packet.flow as usize);
    }

    fn schedule_receiver(&mut self, flow: usize) {
        let receiver = &mut self.receivers[flow];
        let due_ns = self.network.when_ends_show(receiver.due_ns);
        if due_ns < receiver.queued_ns {
            receiver.queued_ns = due_ns;
            self.network.events.push(due_ns, Source::new(Kind::Receiver, flow as u32));
        }
    }

    fn receiver_due(&mut self, flow: usize, time_ns: u64) {
        let receiver = &mut self.receivers[flow];
        if receiver.queued_ns != time_ns {
            return; // it was set to an earlier time since
        }
        receiver.queued_ns = u64::MAX;
        if let Some((ack, options)) = receiver.delayed_ack(self.network.ends_ns()) {
            self.network.reply(flow as u32, ack, options);
        }
        self.schedule_receiver(flow);
    }

    fn acknowledge(&mut self, packet: &Packet) {
        let flow = packet.flow as usize;
        let options = self.network.options.take(packet.options);
        let sender = &mut self.senders[flow];
        sender.set_clock(self.network.ends_ns());
        sender.acked(packet, options, &mut self.network);
        if sender.is_idle() {
            sender.leave_when_over();
            self.delivered(flow);
            return self.schedule_sender(flow);
        }
        // the application has changed nothing
        let due_ns = self.network.when_ends_show(sender.due_ns());
        if due_ns < sender.queued_ns {
            sender.queued_ns = due_ns;
            self.network.events.push(due_ns, Source::new(Kind::Sender, packet.flow));
        }
    }

    /// All that the application has written is acknowledged.
    fn delivered(&mut self, flow: usize) {
        let now_ns = self.network.now_ns;
        let (started_ns, pkts) = self.transfers[flow];
        if pkts == 0 {
            return;
        }
        self.transfers[flow] = (0, 0);
        self.completions.push(Completion {
            flow: FlowId(flow as u32),
            pkts,
            started: Duration::from_nanos(started_ns),
            finished: Duration::from_nanos(now_ns),
        });
        self.workloads[flow].delivered(now_ns);
    }

    pub(super) fn schedule_sender(&mut self, flow: usize) {
        let (sender, workload) = (&mut self.senders[flow], &self.workloads[flow]);
        let timer_ns = self.network.when_ends_show(sender.due_ns());
        let due_ns = timer_ns.min(workload.due_ns).min(workload.stop_ns);
        if due_ns < sender.queued_ns {
            sender.queued_ns = due_ns;
            self.network.events.push(due_ns, Source::new(Kind::Sender, flow as u32));
        }
    }

    fn sender_due(&mut self, flow: usize, time_ns: u64) {
        let now_ns = self.network.now_ns;
        let sender = &mut self.senders[flow];
        if sender.queued_ns != time_ns {
            return;
        }
        sender.queued_ns = u64::MAX;
        if sender.due_ns() <= self.network.ends_ns() {
            sender.timer_due(&mut self.network);
        }
        if self.workloads[flow].stop_ns <= now_ns {
            self.stop(flow);
        } else if self.workloads[flow].due_ns <= now_ns {
            self.act(flow);
        }
        self.schedule_sender(flow);
    }

    fn stop(&mut self, flow: usize) {
        self.workloads[flow].stop_ns = u64::MAX;
        self.workloads[flow].due_ns = u64::MAX;
        self.senders[flow].close();
        self.transfers[flow] = (0, 0);
    }

    fn act(&mut self, flow: usize) {
        let now_ns = self.network.now_ns;
        let act = self.workloads[flow].act(now_ns);
        let pkts = match act {
            Act::Nothing => return,
            Act::Write(pkts) => pkts,
            Act::Connect(pkts) => {
                let renewed = self.senders[flow].renewed(self.seed, Duration::from_nanos(self.network.ends_ns()));
                self.receivers[flow].renew(&renewed.spec, renewed.connection());
                self.senders[flow] = renewed;
                pkts
            }
        };
        if self.workloads[flow].has_transfers() {
            self.transfers[flow] = (now_ns, pkts);
        }
        self.senders[flow].write(pkts, &mut self.network);
    }
}
