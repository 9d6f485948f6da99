// SPDX-License-Identifier: GPL-2.0-only
//! The algorithms' C files as this program's own code. The only place with `unsafe`.
//!
//! The parameters that a C file reads are a pointer of the running thread's: [`Instance`] points it at its own set
//! before each call, so that instances of one algorithm with different parameters can share threads.

#![allow(unsafe_code)]

pub mod arithmetic;
mod bindings;
mod prefetch;
mod repair;

use std::ffi::{c_void, CStr};
use std::sync::{LazyLock, OnceLock};

use ccctl_catalog::kernel::ICSK_CA_PRIV_SIZE;
use ccctl_catalog::{Layout, ParameterSet};

pub(crate) use prefetch::prefetch;
pub use repair::Windows;

pub(crate) use bindings::{
    ack_sample, rate_sample, tcp_ca_event, tcp_sock, TCP_CA_Disorder, TCP_CA_Loss, TCP_CA_Open, TCP_CA_Recovery,
    CA_EVENT_COMPLETE_CWR, CA_EVENT_CWND_RESTART, CA_EVENT_LOSS, CA_EVENT_TX_START, SK_PACING_NEEDED, SK_PACING_NONE,
    TCP_CA_CWR, TCP_ECN_MODE_ACCECN, TCP_ECN_OK,
};
use bindings::{sock, tcp_congestion_ops};

include!(concat!(env!("OUT_DIR"), "/algorithms.rs"));

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
}

/// One C file, as `struct cc_native_algorithm` describes it.
struct NativeAlgorithm {
    name: &'static str,
    ops: tcp_congestion_ops,
    default_parameters: Vec<u32>,
    put_in_force: unsafe extern "C" fn(*const c_void),
    layout: OnceLock<Layout>, // reading it out of BTF takes longer than many a simulation
}

impl NativeAlgorithm {
    fn layout(&self) -> &Layout {
        self.layout.get_or_init(|| {
            ccctl_catalog::algorithm(self.name).expect("both builds are made of the same files").layout()
        })
    }
}

static ALGORITHMS: LazyLock<Vec<NativeAlgorithm>> = LazyLock::new(|| {
    // SAFETY: the entries are the functions that CC_ALGORITHM defines, one per file that build.rs found.
    ENTRIES.iter().map(|entry| unsafe { describe(entry()) }).collect()
});

/// # Safety
/// `native` comes from the function that `CC_ALGORITHM` defines: it and all that it points to are static.
unsafe fn describe(native: *const bindings::cc_native_algorithm) -> NativeAlgorithm {
    // SAFETY: static by this function's contract; nothing writes to it after it was returned.
    let native = unsafe { &*native };
    let words = native.params_bytes as usize / size_of::<u32>();
    // SAFETY: a parameter set is a struct of u32 members only, params_bytes long, and constant.
    let defaults = unsafe { std::slice::from_raw_parts(native.default_params.cast::<u32>(), words) };
    // SAFETY: `name` is a string literal.
    let name = unsafe { CStr::from_ptr(native.name) };
    NativeAlgorithm {
        name: name.to_str().expect("an algorithm's name is a C identifier"),
        // SAFETY: `ops` is a constant of the C file.
        ops: unsafe { *native.ops },
        default_parameters: defaults.to_vec(),
        put_in_force: native.use_.expect("CC_REGISTER sets it"),
        layout: OnceLock::new(),
    }
}

/// An algorithm with parameters of its own. Flows share it.
pub struct Instance {
    native: &'static NativeAlgorithm,
    parameters: Vec<u32>,
}

impl Instance {
    /// An instance of this algorithm with these parameters.
    pub fn new(algorithm: &str, parameters: &ParameterSet) -> Result<Self, InstanceError> {
        let unknown = || InstanceError::Unknown(algorithm.to_owned());
        let native = ALGORITHMS.iter().find(|native| native.name == algorithm).ok_or_else(unknown)?;
        let values: Vec<u32> = parameters.iter().map(|(_, value)| value).collect();
        if values.len() != native.default_parameters.len() {
            return Err(InstanceError::Parameters {
                algorithm: algorithm.to_owned(),
                expected: native.default_parameters.len(),
                given: values.len(),
            });
        }
        Ok(Self { native, parameters: values })
    }

    /// An instance with the parameters' defaults.
    pub fn with_defaults(algorithm: &str) -> Result<Self, InstanceError> {
        let native = ALGORITHMS.iter().find(|native| native.name == algorithm);
        let native = native.ok_or_else(|| InstanceError::Unknown(algorithm.to_owned()))?;
        Self::new(algorithm, &ParameterSet::defaults(algorithm, &native.layout().parameters))
    }

    /// Name of the algorithm.
    #[must_use]
    pub fn algorithm(&self) -> &'static str {
        self.native.name
    }

    /// Parameters and state, as the BPF object's BTF describes them.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        self.native.layout()
    }

    /// The defaults that the native build carries, in the order of declaration.
    #[must_use]
    pub fn native_defaults(&self) -> &[u32] {
        &self.native.default_parameters
    }

    /// Lets the C file's hooks read this instance's parameters until another instance of it is put in force.
    fn put_in_force(&self) -> &tcp_congestion_ops {
        // SAFETY: only the pointers are kept, for this thread, and only hooks read them. Hooks are called in this module
        // alone, each time after this call, on an instance that is borrowed for as long as the hook runs.
        unsafe { (self.native.put_in_force)(self.parameters.as_ptr().cast()) };
        &self.native.ops
    }

    pub(crate) fn init(&self, tp: &mut tcp_sock) {
        if let Some(init) = self.put_in_force().init {
            // SAFETY: `as_sock` gives a pointer to a whole struct tcp_sock, which bpf/include/kernel limits the hook to.
            unsafe { init(as_sock(tp)) }
        }
    }

    pub(crate) fn pkts_acked(&self, tp: &mut tcp_sock, sample: &ack_sample) {
        if let Some(pkts_acked) = self.put_in_force().pkts_acked {
            // SAFETY: as in `init`; the hook reads the sample and does not keep it.
            unsafe { pkts_acked(as_sock(tp), sample) }
        }
    }

    pub(crate) fn cong_avoid(&self, tp: &mut tcp_sock, acked_pkts: u32) {
        if let Some(cong_avoid) = self.put_in_force().cong_avoid {
            let ack = tp.snd_una;
            // SAFETY: as in `init`.
            unsafe { cong_avoid(as_sock(tp), ack, acked_pkts) }
        }
    }

    /// At each ACK; the flags are those of `enum tcp_ca_ack_event_flags`, of which no algorithm here reads any.
    pub(crate) fn in_ack_event(&self, tp: &mut tcp_sock) {
        if let Some(in_ack_event) = self.put_in_force().in_ack_event {
            // SAFETY: as in `init`.
            unsafe { in_ack_event(as_sock(tp), 0) }
        }
    }

    /// The algorithm has `cong_control`: it sets the window itself, in every state, and `cong_avoid` is not called.
    pub(crate) fn controls_cwnd(&self) -> bool {
        self.native.ops.cong_control.is_some()
    }

    /// The algorithm is of no use without congestion marks, and wants to know of each.
    pub(crate) fn needs_ecn(&self) -> bool {
        self.native.ops.flags & bindings::TCP_CONG_NEEDS_ECN != 0
    }

    pub(crate) fn cong_control(&self, tp: &mut tcp_sock, sample: &rate_sample) {
        if let Some(cong_control) = self.put_in_force().cong_control {
            let ack = tp.snd_una;
            // SAFETY: as in `init`; the hook reads the sample and does not keep it.
            unsafe { cong_control(as_sock(tp), ack, 0, sample) }
        }
    }

    pub(crate) fn ssthresh(&self, tp: &mut tcp_sock) -> u32 {
        let ssthresh = self.put_in_force().ssthresh.expect("the kernel registers no algorithm without it");
        // SAFETY: as in `init`.
        unsafe { ssthresh(as_sock(tp)) }
    }

    pub(crate) fn undo_cwnd(&self, tp: &mut tcp_sock) -> u32 {
        let undo_cwnd = self.put_in_force().undo_cwnd.expect("the kernel registers no algorithm without it");
        // SAFETY: as in `init`.
        unsafe { undo_cwnd(as_sock(tp)) }
    }

    pub(crate) fn set_state(&self, tp: &mut tcp_sock, state: u8) {
        if let Some(set_state) = self.put_in_force().set_state {
            // SAFETY: as in `init`.
            unsafe { set_state(as_sock(tp), state) }
        }
    }

    pub(crate) fn cwnd_event(&self, tp: &mut tcp_sock, event: tcp_ca_event) {
        if let Some(cwnd_event) = self.put_in_force().cwnd_event {
            // SAFETY: as in `init`.
            unsafe { cwnd_event(as_sock(tp), event) }
        }
    }

    /// The hook of kernel 7.1, or the event of those before it.
    pub(crate) fn tx_start(&self, tp: &mut tcp_sock) {
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
