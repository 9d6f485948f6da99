// SPDX-License-Identifier: GPL-2.0-only
//! Records as structs, and algorithms' C files as libraries that are compiled when they are needed: as they are, with
//! counters for branches, or with an error planted. The only place with `unsafe`.

#![allow(unsafe_code)]

mod bindings;

use std::ffi::c_void;
use std::mem::offset_of;
use std::path::Path;
use std::sync::atomic::AtomicU64;

use anyhow::{Context as _, Result};
use ccctl_catalog::kernel::{self, CC_SHARED_BYTES};
use ccctl_sim::{Arguments, Instance};
use libloading::{Library, Symbol};

pub use bindings::*;

use crate::column::Column;
use crate::hooks::HOOK_NAMES;

/// Size of a record.
pub const CALL_BYTES: usize = size_of::<call>();
/// Bytes of private state.
pub const STATE_BYTES: usize = kernel::ICSK_CA_PRIV_SIZE as usize;

/// A record out of its bytes.
///
/// # Panics
/// Where there are fewer bytes than a record has.
pub fn call_of_bytes(bytes: &[u8]) -> call {
    assert!(bytes.len() >= CALL_BYTES, "a record has {CALL_BYTES} bytes");
    // SAFETY: long enough, and any bytes are a valid struct of integers.
    unsafe { std::ptr::read_unaligned(bytes.as_ptr().cast()) }
}

macro_rules! columns {
    ($($kind:literal: $($field:ident)+;)+) => {
        vec![$($(Column { name: stringify!($field).to_owned(), offset: offset_of!(call, $field), kind: $kind.to_owned() },)+)+]
    };
}

macro_rules! socket_columns {
    ($($kind:literal: $($field:ident)+;)+) => {
        vec![$($((stringify!($field), offset_of!(call_socket, $field), $kind),)+)+]
    };
}

/// Fields of a record.
pub fn columns() -> Vec<Column> {
    let mut columns = columns! {
        "<u8": socket time_ns jiffies;
        "<u4": hook argument ack sample_pkts;
        "<i4": sample_rtt_us;
        "<u4": sample_in_flight returned nested;
        "8<u8": extra;
    };
    let socket = socket_columns! {
        "<u8": tcp_mstamp tcp_clock_cache tcp_wstamp_ns delivered_mstamp sk_pacing_rate sk_max_pacing_rate;
        "104u1": ca_priv;
        "<u4": sk_pacing_status sk_gso_max_size mss_cache snd_una snd_nxt snd_cwnd snd_cwnd_cnt snd_cwnd_clamp snd_ssthresh prior_cwnd srtt_us
            max_packets_out delivered delivered_ce lost app_limited packets_out sacked_out lost_out retrans_out rcv_nxt
            rcv_wup rcv_tsval rcv_tsecr;
        "u1": ca_state is_cwnd_limited saw_tstamp tcp_usec_ts ecn_flags ack_pending sk_pacing_shift;
    };
    for (side, base) in [("before", offset_of!(call, before)), ("after", offset_of!(call, after))] {
        columns.extend(socket.iter().map(|(name, offset, kind)| Column {
            name: format!("{side}.{name}"),
            offset: base + offset,
            kind: (*kind).to_owned(),
        }));
    }
    columns
}

/// Private state as bytes.
pub fn state_bytes(words: &[u64; 13]) -> [u8; STATE_BYTES] {
    let mut bytes = [0; STATE_BYTES];
    for (chunk, word) in bytes.chunks_exact_mut(8).zip(words) {
        chunk.copy_from_slice(&word.to_ne_bytes());
    }
    bytes
}

/// Bytes as private state.
pub fn state_words(bytes: &[u8; STATE_BYTES]) -> [u64; 13] {
    let mut words = [0; 13];
    for (word, chunk) in words.iter_mut().zip(bytes.as_chunks().0) {
        *word = u64::from_ne_bytes(*chunk);
    }
    words
}

/// A socket of the native world as a record has it.
pub fn socket_of(recorded: &call_socket) -> tcp_sock {
    let mut tp = tcp_sock {
        tcp_mstamp: recorded.tcp_mstamp,
        tcp_clock_cache: recorded.tcp_clock_cache,
        tcp_wstamp_ns: recorded.tcp_wstamp_ns,
        delivered_mstamp: recorded.delivered_mstamp,
        mss_cache: recorded.mss_cache,
        snd_una: recorded.snd_una,
        snd_nxt: recorded.snd_nxt,
        snd_cwnd: recorded.snd_cwnd,
        snd_cwnd_cnt: recorded.snd_cwnd_cnt,
        snd_cwnd_clamp: recorded.snd_cwnd_clamp,
        snd_ssthresh: recorded.snd_ssthresh,
        prior_cwnd: recorded.prior_cwnd,
        srtt_us: recorded.srtt_us,
        max_packets_out: recorded.max_packets_out,
        delivered: recorded.delivered,
        delivered_ce: recorded.delivered_ce,
        lost: recorded.lost,
        app_limited: recorded.app_limited,
        packets_out: recorded.packets_out,
        sacked_out: recorded.sacked_out,
        lost_out: recorded.lost_out,
        retrans_out: recorded.retrans_out,
        rcv_nxt: recorded.rcv_nxt,
        rcv_wup: recorded.rcv_wup,
        ecn_flags: recorded.ecn_flags,
        ..tcp_sock::default()
    };
    tp.inet_conn.sk.sk_pacing_rate = recorded.sk_pacing_rate;
    tp.inet_conn.sk.sk_max_pacing_rate = recorded.sk_max_pacing_rate;
    tp.inet_conn.sk.sk_pacing_status = recorded.sk_pacing_status;
    tp.inet_conn.sk.sk_gso_max_size = recorded.sk_gso_max_size;
    tp.inet_conn.sk.sk_pacing_shift = recorded.sk_pacing_shift;
    tp.inet_conn.set_icsk_ca_state(recorded.ca_state);
    tp.inet_conn.icsk_ack.pending = recorded.ack_pending;
    tp.rx_opt.rcv_tsval = recorded.rcv_tsval;
    tp.rx_opt.rcv_tsecr = recorded.rcv_tsecr;
    tp.rx_opt.set_saw_tstamp(u16::from(recorded.saw_tstamp));
    tp.set_tcp_usec_ts(recorded.tcp_usec_ts);
    tp.set_is_cwnd_limited(u32::from(recorded.is_cwnd_limited));
    tp
}

/// What `cong_control` was given.
fn rate_sample_of(extra: &[u64]) -> rate_sample {
    let at = |index: u32| extra[index as usize];
    rate_sample {
        prior_delivered: at(CALL_EXTRA_PRIOR_DELIVERED) as u32,
        delivered: at(CALL_EXTRA_DELIVERED) as i32,
        interval_us: at(CALL_EXTRA_INTERVAL_US) as i64,
        rtt_us: at(CALL_EXTRA_RTT_US) as i64,
        losses: at(CALL_EXTRA_LOSSES) as i32,
        acked_sacked: (at(CALL_EXTRA_LOSSES) >> 32) as u32,
        prior_in_flight: at(CALL_EXTRA_PRIOR_IN_FLIGHT) as u32,
        is_app_limited: at(CALL_EXTRA_FLAGS) & 1 != 0,
        is_ack_delayed: at(CALL_EXTRA_FLAGS) & 2 != 0,
        ..rate_sample::default()
    }
}

/// Lets the interpreter call the hook that a record is of, on this socket; what it returned. None: the program has no such
/// hook, or a fault.
pub fn interpret(instance: &Instance, call: &call, tp: &mut tcp_sock) -> Option<u32> {
    let sample =
        ack_sample { pkts_acked: call.sample_pkts, rtt_us: call.sample_rtt_us, in_flight: call.sample_in_flight };
    let rates = rate_sample_of(&call.extra);
    let arguments = match call.hook {
        CALL_PKTS_ACKED => Arguments::AckSample((&raw const sample).cast()),
        CALL_CONG_CONTROL => Arguments::RateSample((&raw const rates).cast()),
        CALL_CONG_AVOID => Arguments::Numbers([call.ack.into(), call.argument.into()]),
        _ => Arguments::Numbers([call.argument.into(), 0]),
    };
    // SAFETY: both bindings are made of the same headers; socket and samples are whole, and outlive the call.
    unsafe { instance.interpret(HOOK_NAMES[call.hook as usize], std::ptr::from_mut(tp).cast(), arguments) }
}

/// An algorithm out of a library.
pub struct Algorithm {
    ops: tcp_congestion_ops,
    put_in_force: unsafe extern "C" fn(*const c_void, *mut c_void),
    parameters: Vec<u32>,
    shared: [AtomicU64; CC_SHARED_BYTES as usize / 8],
    library: Library, // after all that points into it
}

impl Algorithm {
    /// Loads it with these parameters.
    pub fn load(path: &Path, name: &str, parameters: &[u32]) -> Result<Self> {
        // SAFETY: the library is an algorithm's C file, which has no constructors.
        let library = unsafe { Library::new(path) }.with_context(|| format!("cannot load {}", path.display()))?;
        let symbol = format!("cc_native_{name}");
        // SAFETY: CC_ALGORITHM defines the function with this type.
        let entry: Symbol<'_, unsafe extern "C" fn() -> *const cc_native_algorithm> =
            unsafe { library.get(symbol.as_bytes()) }.with_context(|| format!("{} has no {symbol}", path.display()))?;
        // SAFETY: what it returns is static in the library, which outlives the copies made here.
        let native = unsafe { *entry() };
        anyhow::ensure!(native.params_bytes as usize == 4 * parameters.len(), "{name} has other parameters");
        Ok(Self {
            // SAFETY: `ops` is a constant of the C file.
            ops: unsafe { *native.ops },
            put_in_force: native.use_.context("CC_REGISTER sets it")?,
            parameters: parameters.to_vec(),
            shared: Default::default(),
            library,
        })
    }

    /// Has it this hook?
    pub fn has(&self, hook: u32) -> bool {
        let ops = &self.ops;
        match hook {
            CALL_INIT => ops.init.is_some(),
            CALL_RELEASE => ops.release.is_some(),
            CALL_SSTHRESH => ops.ssthresh.is_some(),
            CALL_CONG_AVOID => ops.cong_avoid.is_some(),
            CALL_SET_STATE => ops.set_state.is_some(),
            CALL_CWND_EVENT => ops.cwnd_event.is_some(),
            CALL_TX_START => ops.cwnd_event_tx_start.is_some(),
            CALL_IN_ACK_EVENT => ops.in_ack_event.is_some(),
            CALL_PKTS_ACKED => ops.pkts_acked.is_some(),
            CALL_UNDO_CWND => ops.undo_cwnd.is_some(),
            CALL_CONG_CONTROL => ops.cong_control.is_some(),
            CALL_MIN_TSO_SEGS => ops.min_tso_segs.is_some(),
            _ => false,
        }
    }

    /// Calls the hook that a record is of, on this socket; what it returns where it returns anything. None: the algorithm
    /// has no such hook.
    pub fn call(&self, call: &call, tp: &mut tcp_sock) -> Option<u32> {
        let ops = &self.ops;
        let sk: *mut sock = std::ptr::from_mut(tp).cast();
        let sample =
            ack_sample { pkts_acked: call.sample_pkts, rtt_us: call.sample_rtt_us, in_flight: call.sample_in_flight };
        let rates = rate_sample_of(&call.extra);
        // SAFETY: the hooks are the library's, which is loaded; they read the parameters put in force and what sockets share,
        // which are this struct's own, and touch a whole struct tcp_sock; the samples outlive the call.
        unsafe {
            (self.put_in_force)(self.parameters.as_ptr().cast(), self.shared.as_ptr().cast_mut().cast());
            match call.hook {
                CALL_INIT => ops.init.map(|hook| hook(sk)).map(|()| 0),
                CALL_RELEASE => ops.release.map(|hook| hook(sk)).map(|()| 0),
                CALL_SSTHRESH => ops.ssthresh.map(|hook| hook(sk)),
                CALL_CONG_AVOID => ops.cong_avoid.map(|hook| hook(sk, call.ack, call.argument)).map(|()| 0),
                CALL_SET_STATE => ops.set_state.map(|hook| hook(sk, call.argument as u8)).map(|()| 0),
                CALL_CWND_EVENT => ops.cwnd_event.map(|hook| hook(sk, call.argument)).map(|()| 0),
                CALL_TX_START => ops.cwnd_event_tx_start.map(|hook| hook(sk)).map(|()| 0),
                CALL_IN_ACK_EVENT => ops.in_ack_event.map(|hook| hook(sk, call.argument)).map(|()| 0),
                CALL_PKTS_ACKED => ops.pkts_acked.map(|hook| hook(sk, &raw const sample)).map(|()| 0),
                CALL_UNDO_CWND => ops.undo_cwnd.map(|hook| hook(sk)),
                CALL_CONG_CONTROL => ops.cong_control.map(|hook| hook(sk, 0, 0, &raw const rates)).map(|()| 0),
                CALL_MIN_TSO_SEGS => ops.min_tso_segs.map(|hook| hook(sk)),
                _ => None,
            }
        }
    }

    /// Writes what the counters for branches have counted so far; nothing where it was compiled without.
    pub fn write_counters(&self) {
        // SAFETY: clang's profiling runtime defines it so; a library without counters does not have it.
        if let Ok(write) = unsafe { self.library.get::<unsafe extern "C" fn() -> i32>(b"__llvm_profile_write_file") } {
            // SAFETY: takes nothing, writes the file that LLVM_PROFILE_FILE names.
            unsafe { write() };
        }
    }
}
