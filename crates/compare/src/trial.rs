// SPDX-License-Identifier: GPL-2.0-only
//! One recorded call: the module before and after it, our socket, and what both left.

use ccctl_catalog::Layout;

use crate::file::Header;
use crate::native::{self, call, call_socket, socket_of, tcp_sock, Algorithm};

/// The module's private state: reads its members.
#[derive(Clone, Copy)]
pub struct Module<'a> {
    /// Of the recording.
    pub header: &'a Header,
    /// The socket that it is of.
    pub socket: &'a call_socket,
    /// The call.
    pub call: &'a call,
}

impl Module<'_> {
    /// A member of the private state.
    ///
    /// # Panics
    /// Where the module's struct has no such member: the mapping is for another kernel.
    pub fn get(&self, name: &str) -> u64 {
        let member = self.header.state.iter().find(|member| member.name == name);
        let member = member.unwrap_or_else(|| panic!("{}: no member {name}", self.header.algorithm));
        let (word, shift) = (member.bit_offset as usize / 64, member.bit_offset % 64);
        let value = self.socket.ca_priv[word] >> shift;
        if member.bits >= 64 {
            value
        } else {
            value & ((1 << member.bits) - 1)
        }
    }

    /// A member that is a time in jiffies, on our clock of microseconds.
    pub fn time_us(&self, name: &str) -> u64 {
        self.time_of_jiffies(self.get(name) as u32)
    }

    /// The same where our clock has the module's ticks: the recorded clock then began its jiffies when they began.
    pub fn tick_us(&self, name: &str) -> u64 {
        let since_tick_us = self.call.before.tcp_mstamp % self.us_per_jiffy();
        self.time_us(name).saturating_sub(since_tick_us)
    }

    /// A time in jiffies on our clock.
    pub fn time_of_jiffies(&self, jiffies: u32) -> u64 {
        let ago = i64::from((self.call.jiffies as u32).wrapping_sub(jiffies) as i32);
        (self.call.before.tcp_mstamp as i64 - ago * self.us_per_jiffy() as i64).max(0) as u64
    }

    /// Length of a jiffy.
    pub fn us_per_jiffy(&self) -> u64 {
        self.header.us_per_jiffy()
    }
}

/// Our side of a call: the socket with our private state in it.
#[derive(Clone)]
pub struct Ours<'a> {
    /// The socket.
    pub tp: tcp_sock,
    layout: &'a Layout,
    state: [u8; native::STATE_BYTES],
}

impl<'a> Ours<'a> {
    /// The socket as it was recorded, with an empty state.
    pub fn new(socket: &call_socket, layout: &'a Layout) -> Self {
        Self { tp: socket_of(socket), layout, state: [0; native::STATE_BYTES] }
    }

    /// A field of our state.
    pub fn get(&self, name: &str) -> i128 {
        let field = self.layout.field(name).unwrap_or_else(|| panic!("our state has no {name}"));
        field.read(&self.state).expect("fields lie within the state")
    }

    /// Sets a field of our state.
    pub fn set(&mut self, name: &str, value: impl TryInto<i128>) {
        let field = self.layout.field(name).unwrap_or_else(|| panic!("our state has no {name}"));
        field.write(&mut self.state, value.try_into().unwrap_or_default());
    }

    /// Calls a hook of the algorithm, and gives what it returned.
    pub fn run(&mut self, algorithm: &Algorithm, call: &call) -> u32 {
        self.tp.inet_conn.icsk_ca_priv = native::state_words(&self.state);
        let returned = algorithm.call(call, &mut self.tp).unwrap_or_default();
        self.state = native::state_bytes(&self.tp.inet_conn.icsk_ca_priv);
        returned
    }

    /// Lets `tcp_is_cwnd_limited` say this.
    pub fn set_limited(&mut self, limited: bool) {
        self.tp.max_packets_out = if limited { self.tp.snd_cwnd } else { 0 };
        self.tp.set_is_cwnd_limited(u32::from(limited));
    }
}

/// What a call left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Window.
    pub cwnd: u32,
    /// Credit in the socket.
    pub credit: u32,
    /// Slow start threshold.
    pub ssthresh: u32,
    /// What `ssthresh`, `undo_cwnd` and `min_tso_segs` returned.
    pub returned: u32,
    /// Rate, whether there is one, and the application's mark.
    pub pacing: (u64, u32, u32),
    /// Compared fields of our state, in the counterpart's order.
    pub state: Vec<i128>,
}

/// One call on its way through the comparison.
pub struct Trial<'a> {
    /// Module before the call.
    pub before: Module<'a>,
    /// Module after it.
    pub after: Module<'a>,
    /// Arguments that our hook is called with.
    pub call: call,
    /// Our socket before the call.
    pub ours: Ours<'a>,
    /// What the module left, in our terms.
    pub expected: Outcome,
    /// What our hook left.
    pub got: Outcome,
    /// Our socket after our hook.
    pub result: Ours<'a>,
    /// Names of the compared fields of our state.
    pub fields: &'static [&'static str],
    /// Our algorithm.
    pub algorithm: &'a Algorithm,
    /// The same with its second set of parameters.
    pub other: &'a Algorithm,
}

impl<'a> Trial<'a> {
    /// Calls our hook on another socket, or with other arguments.
    pub fn run(&self, mut ours: Ours<'a>, call: &call) -> (Ours<'a>, u32) {
        let returned = ours.run(self.algorithm, call);
        (ours, returned)
    }

    /// Calls our hook, of the algorithm with its second set of parameters.
    pub fn run_other(&self, mut ours: Ours<'a>, call: &call) -> (Ours<'a>, u32) {
        let returned = ours.run(self.other, call);
        (ours, returned)
    }

    /// Is what our hook left what the module left, apart from these: `cwnd`, `credit`, `ssthresh`, `returned`, or fields?
    pub fn equal_but(&self, but: &[&str]) -> bool {
        let same = |name: &str, same: bool| same || but.contains(&name);
        same("cwnd", self.got.cwnd == self.expected.cwnd)
            && same("credit", self.got.credit == self.expected.credit)
            && same("ssthresh", self.got.ssthresh == self.expected.ssthresh)
            && same("returned", self.got.returned == self.expected.returned)
            && same("pacing", self.got.pacing == self.expected.pacing)
            && self.fields.iter().enumerate().all(|(i, name)| same(name, self.got.state[i] == self.expected.state[i]))
    }

    /// Does our `cong_avoid` on this socket want this many packets for one more packet of window, no more and no fewer?
    pub fn divisor_is(&self, mut probe: Ours<'a>, divisor: u32) -> bool {
        let cwnd = probe.tp.snd_cwnd;
        probe.tp.snd_ssthresh = probe.tp.snd_ssthresh.min(cwnd);
        probe.tp.snd_cwnd_clamp = u32::MAX;
        probe.set_limited(true);
        let call = call { argument: 1, ..self.call };
        let grows_from = |credit: u32| {
            let mut probe = probe.clone();
            probe.tp.snd_cwnd_cnt = credit;
            self.run(probe, &call).0.tp.snd_cwnd > cwnd
        };
        match divisor {
            0 => false,
            1 => grows_from(0),
            _ => grows_from(divisor - 1) && !grows_from(divisor - 2),
        }
    }

    /// Packets acked for one more packet of window, as our `cong_avoid` has it on this socket, outside slow start.
    pub fn divisor_of(&self, mut probe: Ours<'a>, other: bool) -> Option<u32> {
        let cwnd = probe.tp.snd_cwnd;
        probe.tp.snd_cwnd_cnt = 0;
        probe.tp.snd_cwnd_clamp = u32::MAX;
        probe.tp.snd_ssthresh = probe.tp.snd_ssthresh.min(probe.tp.snd_cwnd);
        probe.set_limited(true);
        let many = 1 << 24;
        let call = call { argument: many, ..self.call };
        let (after, _) = if other { self.run_other(probe, &call) } else { self.run(probe, &call) };
        let grown = after.tp.snd_cwnd.checked_sub(cwnd)?;
        (many - after.tp.snd_cwnd_cnt).checked_div(grown)
    }
}
