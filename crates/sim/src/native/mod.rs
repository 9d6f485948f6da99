// SPDX-License-Identifier: GPL-2.0-only
//! The algorithms' C files as this program's own code, a user's C file as a library, and a user's object interpreted. The only
//! place with `unsafe`.
//!
//! The parameters that a C file reads are a pointer of the running thread's: [`Instance`] points it at its own set
//! before each call, so that instances of one algorithm with different parameters can share threads.

#![allow(unsafe_code)]

pub mod arithmetic;
mod bindings;
mod bytecode;
mod core_fields;
mod instructions;
mod machine;
mod object_error;
mod prefetch;
mod program;
mod recorded;
mod repair;

use std::sync::atomic::AtomicU64;

use ccctl_catalog::kernel::{CC_SHARED_BYTES, ICSK_CA_PRIV_SIZE};
use ccctl_catalog::{Layout, ParameterSet};

pub(crate) use prefetch::prefetch;
pub use repair::Windows;

pub(crate) use bindings::{
    ack_sample, rate_sample, tcp_ca_event, tcp_sock, TCP_CA_Disorder, TCP_CA_Loss, TCP_CA_Open, TCP_CA_Recovery,
    CA_EVENT_COMPLETE_CWR, CA_EVENT_CWND_RESTART, CA_EVENT_LOSS, CA_EVENT_TX_START, SK_PACING_NEEDED, SK_PACING_NONE,
    TCP_CA_CWR, TCP_ECN_MODE_ACCECN, TCP_ECN_OK,
};
use bindings::{sock, tcp_congestion_ops};
use bytecode::Hook;
use machine::Machine;
pub use object_error::ObjectError;
pub use program::{Program, ProgramError};
pub use recorded::Arguments;

impl tcp_sock {
    /// `tcp_packets_in_flight`
    pub(crate) fn in_flight_pkts(&self) -> u32 {
        (self.packets_out + self.retrans_out).saturating_sub(self.sacked_out + self.lost_out)
    }
}

/// Bytes that a socket keeps for its algorithm.
pub const STATE_BYTES: usize = ICSK_CA_PRIV_SIZE as usize;

/// Why no instance could be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InstanceError {
    /// No such algorithm.
    #[error("there is no algorithm {0:?}")]
    Unknown(String),
    /// The parameters are another algorithm's.
    #[error("{algorithm} takes {expected} parameters, the set given has {given}")]
    Parameters {
        /// Algorithm.
        algorithm: String,
        /// How many it declares.
        expected: usize,
        /// How many were given.
        given: usize,
    },
    /// The interpreter refuses the program, which it did not do when the object was read.
    #[error("the algorithm cannot be interpreted: {0}")]
    Interpreter(String),
}

/// An algorithm with parameters of its own. Flows share it.
pub struct Instance {
    program: &'static Program,
    parameters: Vec<u32>,
    shared: [AtomicU64; CC_SHARED_BYTES as usize / 8], // what its flows share; of an interpreted program the machine has it
    machine: Option<Machine>,                          // of a program that is interpreted
}

impl Instance {
    /// An instance of this algorithm with these parameters.
    pub fn new(algorithm: &str, parameters: &ParameterSet) -> Result<Self, InstanceError> {
        let program = program::named(algorithm).ok_or_else(|| InstanceError::Unknown(algorithm.to_owned()))?;
        Self::of_program(program, parameters)
    }

    /// An instance of this program, whatever else has its name.
    pub fn of_program(program: &'static Program, parameters: &ParameterSet) -> Result<Self, InstanceError> {
        let values: Vec<u32> = parameters.iter().map(|(_, value)| value).collect();
        let expected = program.default_parameters().len();
        if values.len() != expected {
            let algorithm = program.name().to_owned();
            return Err(InstanceError::Parameters { algorithm, expected, given: values.len() });
        }
        let machine = program.bytecode().map(|bytecode| Machine::new(bytecode, &values));
        let machine = machine.transpose().map_err(|error| InstanceError::Interpreter(error.to_string()))?;
        Ok(Self { program, parameters: values, shared: Default::default(), machine })
    }

    /// An instance with the parameters' defaults.
    pub fn with_defaults(algorithm: &str) -> Result<Self, InstanceError> {
        let program = program::named(algorithm).ok_or_else(|| InstanceError::Unknown(algorithm.to_owned()))?;
        Self::of_program(program, &ParameterSet::defaults(algorithm, &program.layout().parameters))
    }

    /// Name of the algorithm.
    #[must_use]
    pub fn algorithm(&self) -> &'static str {
        self.program.name()
    }

    /// Parameters and state, as the BPF object's BTF describes them.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        self.program.layout()
    }

    /// The defaults that the program itself carries, in the order of declaration.
    #[must_use]
    pub fn native_defaults(&self) -> &[u32] {
        self.program.default_parameters()
    }

    /// What an interpreted program did that the interpreter refuses, such as an access out of bounds; since then none of its hooks
    /// has had an effect.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        self.machine.as_ref().and_then(Machine::fault)
    }

    /// Lets the C file's hooks read this instance's parameters, and what its flows share, until another instance of it is put in
    /// force.
    fn put_in_force(&self) -> &tcp_congestion_ops {
        self.program.put_in_force(&self.parameters, &self.shared)
    }

    pub(crate) fn init(&self, tp: &mut tcp_sock) {
        if let Some(machine) = &self.machine {
            machine.tell(Hook::Init, tp, [0; 2]);
            return;
        }
        if let Some(init) = self.put_in_force().init {
            // SAFETY: `as_sock` gives a pointer to a whole struct tcp_sock, which bpf/include/kernel limits the hook to.
            unsafe { init(as_sock(tp)) }
        }
    }

    /// The flow's end, or that of the algorithm on it.
    pub(crate) fn release(&self, tp: &mut tcp_sock) {
        if let Some(machine) = &self.machine {
            machine.tell(Hook::Release, tp, [0; 2]);
            return;
        }
        if let Some(release) = self.put_in_force().release {
            // SAFETY: as in `init`.
            unsafe { release(as_sock(tp)) }
        }
    }

    pub(crate) fn pkts_acked(&self, tp: &mut tcp_sock, sample: &ack_sample) {
        if let Some(machine) = &self.machine {
            machine.tell_ack(tp, sample);
            return;
        }
        if let Some(pkts_acked) = self.put_in_force().pkts_acked {
            // SAFETY: as in `init`; the hook reads the sample and does not keep it.
            unsafe { pkts_acked(as_sock(tp), sample) }
        }
    }

    pub(crate) fn cong_avoid(&self, tp: &mut tcp_sock, acked_pkts: u32) {
        if let Some(machine) = &self.machine {
            machine.tell(Hook::CongAvoid, tp, [tp.snd_una.into(), acked_pkts.into()]);
            return;
        }
        if let Some(cong_avoid) = self.put_in_force().cong_avoid {
            let ack = tp.snd_una;
            // SAFETY: as in `init`.
            unsafe { cong_avoid(as_sock(tp), ack, acked_pkts) }
        }
    }

    /// At each ACK; the flags are those of `enum tcp_ca_ack_event_flags`, of which no algorithm here reads any.
    pub(crate) fn in_ack_event(&self, tp: &mut tcp_sock) {
        if let Some(machine) = &self.machine {
            machine.tell(Hook::InAckEvent, tp, [0; 2]);
            return;
        }
        if let Some(in_ack_event) = self.put_in_force().in_ack_event {
            // SAFETY: as in `init`.
            unsafe { in_ack_event(as_sock(tp), 0) }
        }
    }

    /// The algorithm has `cong_control`: it sets the window itself, in every state, and `cong_avoid` is not called.
    #[must_use]
    pub fn controls_cwnd(&self) -> bool {
        self.program.controls_cwnd()
    }

    /// The algorithm is of no use without congestion marks, and wants to know of each.
    pub(crate) fn needs_ecn(&self) -> bool {
        self.program.flags() & bindings::TCP_CONG_NEEDS_ECN != 0
    }

    /// The algorithm asks for Accurate ECN (RFC 9768).
    pub(crate) fn needs_accurate_ecn(&self) -> bool {
        self.program.flags() & bindings::TCP_CONG_NEEDS_ACCECN != 0
    }

    /// All its packets carry ECT(1) (RFC 9331).
    pub(crate) fn wants_ect_1(&self) -> bool {
        self.program.flags() & bindings::CC_ECT_1_ESTABLISHED != 0
    }

    pub(crate) fn cong_control(&self, tp: &mut tcp_sock, sample: &rate_sample) {
        if let Some(machine) = &self.machine {
            machine.tell_rate(tp, sample);
            return;
        }
        if let Some(cong_control) = self.put_in_force().cong_control {
            let ack = tp.snd_una;
            // SAFETY: as in `init`; the hook reads the sample and does not keep it.
            unsafe { cong_control(as_sock(tp), ack, 0, sample) }
        }
    }

    pub(crate) fn ssthresh(&self, tp: &mut tcp_sock) -> u32 {
        if let Some(machine) = &self.machine {
            return machine.tell(Hook::Ssthresh, tp, [0; 2]).unwrap_or(tp.snd_ssthresh);
        }
        let ssthresh = self.put_in_force().ssthresh.expect("the kernel registers no algorithm without it");
        // SAFETY: as in `init`.
        unsafe { ssthresh(as_sock(tp)) }
    }

    pub(crate) fn undo_cwnd(&self, tp: &mut tcp_sock) -> u32 {
        if let Some(machine) = &self.machine {
            return machine.tell(Hook::UndoCwnd, tp, [0; 2]).unwrap_or(tp.snd_cwnd);
        }
        let undo_cwnd = self.put_in_force().undo_cwnd.expect("the kernel registers no algorithm without it");
        // SAFETY: as in `init`.
        unsafe { undo_cwnd(as_sock(tp)) }
    }

    pub(crate) fn set_state(&self, tp: &mut tcp_sock, state: u8) {
        if let Some(machine) = &self.machine {
            machine.tell(Hook::SetState, tp, [state.into(), 0]);
            return;
        }
        if let Some(set_state) = self.put_in_force().set_state {
            // SAFETY: as in `init`.
            unsafe { set_state(as_sock(tp), state) }
        }
    }

    pub(crate) fn cwnd_event(&self, tp: &mut tcp_sock, event: tcp_ca_event) {
        if let Some(machine) = &self.machine {
            machine.tell(Hook::CwndEvent, tp, [event.into(), 0]);
            return;
        }
        if let Some(cwnd_event) = self.put_in_force().cwnd_event {
            // SAFETY: as in `init`.
            unsafe { cwnd_event(as_sock(tp), event) }
        }
    }

    /// The hook of kernel 7.1, or the event of those before it.
    pub(crate) fn tx_start(&self, tp: &mut tcp_sock) {
        if let Some(machine) = &self.machine {
            if machine.has(Hook::CwndEventTxStart) {
                machine.tell(Hook::CwndEventTxStart, tp, [0; 2]);
            } else {
                self.cwnd_event(tp, CA_EVENT_TX_START);
            }
            return;
        }
        match self.put_in_force().cwnd_event_tx_start {
            // SAFETY: as in `init`.
            Some(tx_start) => unsafe { tx_start(as_sock(tp)) },
            None => self.cwnd_event(tp, CA_EVENT_TX_START),
        }
    }
}

/// The kernel's cast from struct `tcp_sock` to struct `sock`, which lies at its start.
fn as_sock(tp: &mut tcp_sock) -> *mut sock {
    std::ptr::from_mut(tp).cast()
}
