// SPDX-License-Identifier: GPL-2.0-only
//! One event after the other.

use std::time::Duration;

use super::Simulation;
use crate::events::{Event, Kind, Source};
use crate::native::prefetch;
use crate::network::Place;
use crate::packet::{Packet, Sack};
use crate::scenario::{Completion, FlowId};
use crate::traffic::Act;

/// So many flows' states lie near the processor anyway.
const FEW_FLOWS: usize = 200;
/// How far ahead a flow's state is asked for.
const AHEAD_PKTS: usize = 4;

impl Simulation {
    pub(super) fn step(&mut self, event: Event) {
        self.network.now_ns = event.time_ns();
        let index = event.source().index();
        match event.source().kind() {
            kind @ (Kind::Crossing | Kind::Straggler) => {
                self.expect_crossings(index);
                if let Place::Receiver(packet) = self.network.cross(index, kind) {
                    self.receive(&packet);
                }
            }
            Kind::Service => self.network.serve(index),
            Kind::Return => {
                self.expect_returns(index);
                if let Place::Sender(packet) = self.network.come_back(index) {
                    self.acknowledge(&packet);
                }
            }
            Kind::Sender => self.sender_due(index),
            Kind::Receiver => self.receiver_due(index),
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

    fn expect_crossings(&self, link: usize) {
        if self.senders.len() <= FEW_FLOWS {
            return;
        }
        if let Some(packet) = self.network.links[link].crossing(AHEAD_PKTS) {
            prefetch(&self.receivers[packet.flow as usize]);
        }
    }

    fn receive(&mut self, packet: &Packet) {
        let flow = packet.flow as usize;
        let replies = self.receivers[flow].receive(self.network.now_ns, packet);
        for reply in [replies.before, replies.now].into_iter().flatten() {
            self.reply(packet.flow, reply);
        }
        self.schedule_receiver(flow);
    }

    fn reply(&mut self, flow: u32, (mut packet, sack): (Packet, Option<Sack>)) {
        packet.flow = flow;
        if let Some(sack) = sack {
            packet.sack = self.network.sacks.put(sack);
        }
        self.network.send(packet);
    }

    fn schedule_receiver(&mut self, flow: usize) {
        let receiver = &mut self.receivers[flow];
        if receiver.due_ns < receiver.queued_ns {
            receiver.queued_ns = receiver.due_ns;
            self.network.events.push(receiver.due_ns, Source::new(Kind::Receiver, flow as u32));
        }
    }

    fn receiver_due(&mut self, flow: usize) {
        let receiver = &mut self.receivers[flow];
        if receiver.queued_ns != self.network.now_ns {
            return; // it was set to an earlier time since
        }
        receiver.queued_ns = u64::MAX;
        if let Some(reply) = receiver.delayed_ack(self.network.now_ns) {
            self.reply(flow as u32, reply);
        }
        self.schedule_receiver(flow);
    }

    fn acknowledge(&mut self, packet: &Packet) {
        let flow = packet.flow as usize;
        let sack = self.network.sacks.take(packet.sack);
        let sender = &mut self.senders[flow];
        sender.set_clock(self.network.now_ns);
        sender.acked(packet, sack, &mut self.network);
        if sender.is_idle() {
            self.delivered(flow);
            return self.schedule_sender(flow);
        }
        // the application has changed nothing
        let due_ns = sender.due_ns();
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
        self.programs[flow].delivered(now_ns);
    }

    pub(super) fn schedule_sender(&mut self, flow: usize) {
        let (sender, program) = (&mut self.senders[flow], &self.programs[flow]);
        let due_ns = sender.due_ns().min(program.due_ns).min(program.stop_ns);
        if due_ns < sender.queued_ns {
            sender.queued_ns = due_ns;
            self.network.events.push(due_ns, Source::new(Kind::Sender, flow as u32));
        }
    }

    fn sender_due(&mut self, flow: usize) {
        let now_ns = self.network.now_ns;
        let sender = &mut self.senders[flow];
        if sender.queued_ns != now_ns {
            return;
        }
        sender.queued_ns = u64::MAX;
        if sender.due_ns() <= now_ns {
            sender.timer_due(&mut self.network);
        }
        if self.programs[flow].stop_ns <= now_ns {
            self.stop(flow);
        } else if self.programs[flow].due_ns <= now_ns {
            self.act(flow);
        }
        self.schedule_sender(flow);
    }

    fn stop(&mut self, flow: usize) {
        self.programs[flow].stop_ns = u64::MAX;
        self.programs[flow].due_ns = u64::MAX;
        self.senders[flow].close();
        self.transfers[flow] = (0, 0);
    }

    fn act(&mut self, flow: usize) {
        let now_ns = self.network.now_ns;
        let act = self.programs[flow].act(now_ns);
        let pkts = match act {
            Act::Nothing => return,
            Act::Write(pkts) => pkts,
            Act::Connect(pkts) => {
                let renewed = self.senders[flow].renewed(self.seed, Duration::from_nanos(now_ns));
                self.receivers[flow].renew(&renewed.spec, renewed.connection());
                self.senders[flow] = renewed;
                pkts
            }
        };
        if self.programs[flow].has_transfers() {
            self.transfers[flow] = (now_ns, pkts);
        }
        self.senders[flow].write(pkts, &mut self.network);
    }
}
