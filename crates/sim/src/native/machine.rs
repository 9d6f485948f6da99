// SPDX-License-Identifier: GPL-2.0-only
//! The interpreter with one instance's program: a hook is called on a copy of the socket, and what it has changed is copied back.

use std::cell::Cell;
use std::sync::{Mutex, OnceLock, PoisonError};

use rbpf::EbpfVmMbuff;

use super::bindings::{ack_sample, rate_sample, tcp_sock};
use super::bytecode::{Bytecode, Hook};
use super::instructions::{
    stack_bytes, DELETE_HELPER, INSTRUCTION_BYTES, LOOKUP_HELPER, RANDOM_HELPER, SEND_ACK_HELPER, SET_OPTION_HELPER,
    STORE_HELPER,
};
use super::object_error::ObjectError;
use crate::random::splitmix64;

/// What a program may touch, in this order: a socket, a sample, its data.
const SOCKET_BYTES: usize = size_of::<tcp_sock>().next_multiple_of(8);
const SAMPLE_BYTES: usize = if size_of::<rate_sample>() > size_of::<ack_sample>() {
    size_of::<rate_sample>().next_multiple_of(8)
} else {
    size_of::<ack_sample>().next_multiple_of(8)
};
const DATA_AT: usize = SOCKET_BYTES + SAMPLE_BYTES;

thread_local! {
    /// The random numbers of the flow whose hook is running.
    static RANDOM: Cell<u64> = const { Cell::new(0) };
    /// Its algorithm leaves it to Reno.
    static CHANGES_TO_RENO: Cell<bool> = const { Cell::new(false) };
}

/// An instance's program, ready to be called.
pub(super) struct Machine {
    bytecode: &'static Bytecode,
    running: Mutex<Running>,
    fault: OnceLock<String>,
}

struct Running {
    vm: EbpfVmMbuff<'static>, // dropped before the code, into which it points
    memory: Vec<u64>,
    _code: Vec<u8>,
}

// SAFETY: the interpreter is `Send` but for the data of its stack calculator, and that is `()`.
unsafe impl Send for Running {}

impl Machine {
    /// The program with these parameters.
    pub(super) fn new(bytecode: &'static Bytecode, parameters: &[u32]) -> Result<Self, ObjectError> {
        let data_words = bytecode.data.len().div_ceil(8);
        let mut memory = vec![0_u64; DATA_AT / 8 + data_words];
        let mut data = bytecode.data.clone();
        data.resize(8 * data_words, 0);
        put_parameters(&mut data[bytecode.parameters_at..], parameters)?;
        for (word, bytes) in memory[DATA_AT / 8..].iter_mut().zip(data.as_chunks().0) {
            *word = u64::from_ne_bytes(*bytes);
        }
        let mut code = bytecode.code.clone();
        let base = memory.as_ptr() as u64 + DATA_AT as u64;
        for (at, offset) in &bytecode.addresses {
            put_address(&mut code[at * INSTRUCTION_BYTES..], base + offset)?;
        }
        // SAFETY: the vector is kept with the interpreter, never changed, and dropped after it; its bytes do not move with it.
        let program: &'static [u8] = unsafe { std::slice::from_raw_parts(code.as_ptr(), code.len()) };
        let vm = interpreter(program).map_err(|error| ObjectError::Interpreter(error.to_string()))?;
        Ok(Self { bytecode, running: Mutex::new(Running { vm, memory, _code: code }), fault: OnceLock::new() })
    }

    pub(super) fn has(&self, hook: Hook) -> bool {
        self.bytecode.has(hook)
    }

    pub(super) fn fault(&self) -> Option<String> {
        self.fault.get().cloned()
    }

    /// Calls a hook that gets numbers, and gives what it returned: not meant for anybody where its C function returns nothing. None
    /// after a fault, or where there is no such hook; so are the others.
    pub(super) fn tell(&self, hook: Hook, tp: &mut tcp_sock, arguments: [u64; 2]) -> Option<u32> {
        self.call(hook, tp, |_| vec![arguments[0], arguments[1]])
    }

    /// Calls `pkts_acked`.
    pub(super) fn tell_ack(&self, tp: &mut tcp_sock, sample: &ack_sample) -> Option<u32> {
        self.call(Hook::PktsAcked, tp, |room| {
            // SAFETY: the room has SAMPLE_BYTES, which a sample fits into, at a multiple of 8.
            unsafe { std::ptr::write(room.cast(), *sample) };
            vec![room as u64]
        })
    }

    /// Calls `cong_control`, as kernels since 6.10 do.
    pub(super) fn tell_rate(&self, tp: &mut tcp_sock, sample: &rate_sample) -> Option<u32> {
        let ack = u64::from(tp.snd_una);
        self.call(Hook::CongControl, tp, |room| {
            // SAFETY: as above.
            unsafe { std::ptr::write(room.cast(), *sample) };
            vec![ack, 0, room as u64]
        })
    }

    /// Calls a hook, if the algorithm has it; `arguments` gets the room for a sample, and gives those behind the socket.
    fn call(&self, hook: Hook, tp: &mut tcp_sock, arguments: impl FnOnce(*mut u8) -> Vec<u64>) -> Option<u32> {
        if !self.has(hook) || self.fault.get().is_some() {
            return None;
        }
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let (bytes, memory) = (8 * running.memory.len(), running.memory.as_mut_ptr());
        // SAFETY: the memory begins with room for a socket, at a multiple of 8.
        unsafe { std::ptr::write(memory.cast(), *tp) };
        // SAFETY: within the memory.
        let room = unsafe { memory.cast::<u8>().add(SOCKET_BYTES) };
        let mut context = vec![hook as u64, memory as u64];
        context.extend(arguments(room));
        let context: Vec<u8> = context.into_iter().flat_map(u64::to_ne_bytes).collect();
        RANDOM.set(tp.random_state);
        CHANGES_TO_RENO.set(tp.changes_to_reno);
        // SAFETY: all of the memory, whose words are bytes as well; nobody else has it while the lock is held.
        let all = unsafe { std::slice::from_raw_parts(memory.cast::<u8>(), bytes) };
        match running.vm.execute_program(all, &context) {
            Ok(value) => {
                // SAFETY: a struct of integers only, of which any bytes are a value.
                *tp = unsafe { std::ptr::read(memory.cast()) };
                tp.random_state = RANDOM.get();
                tp.changes_to_reno = CHANGES_TO_RENO.get();
                Some(value as u32)
            }
            Err(error) => {
                let text = error.to_string();
                let what = text.lines().next().unwrap_or_default().trim_start_matches("Error: ");
                let _ = self.fault.set(format!("{} of {}: {what}", hook.name(), self.bytecode.name)); // the first counts
                None
            }
        }
    }
}

fn interpreter(program: &'static [u8]) -> Result<EbpfVmMbuff<'static>, std::io::Error> {
    let mut vm = EbpfVmMbuff::new(None)?;
    vm.set_stack_usage_calculator(|program, _, _| stack_bytes(program), Box::new(()))?;
    vm.set_program(program)?;
    vm.register_helper(LOOKUP_HELPER, nothing_found)?;
    vm.register_helper(DELETE_HELPER, nothing_found)?;
    vm.register_helper(RANDOM_HELPER, random_number)?;
    vm.register_helper(SET_OPTION_HELPER, set_option)?;
    vm.register_helper(STORE_HELPER, socket_store)?;
    vm.register_helper(SEND_ACK_HELPER, send_ack)?;
    Ok(vm)
}

/// Both sets have the values, and the first is in force.
fn put_parameters(store: &mut [u8], values: &[u32]) -> Result<(), ObjectError> {
    let words = std::iter::once(0).chain(values.iter().copied()).chain(values.iter().copied());
    let bytes: Vec<u8> = words.flat_map(u32::to_ne_bytes).collect();
    let room = store.get_mut(..bytes.len()).ok_or(ObjectError::Missing("two sets of parameters"))?;
    room.copy_from_slice(&bytes);
    Ok(())
}

/// Into the two halves of an instruction that loads an address.
fn put_address(instructions: &mut [u8], address: u64) -> Result<(), ObjectError> {
    let damaged = ObjectError::Missing("second half of an address");
    let both = instructions.get_mut(..2 * INSTRUCTION_BYTES).ok_or(damaged)?;
    let (low, high) = (address as u32, (address >> 32) as u32);
    both[4..8].copy_from_slice(&low.to_le_bytes());
    both[12..16].copy_from_slice(&high.to_le_bytes());
    Ok(())
}

/// `CC_RANDOM_U32` of the native target.
fn random_number(_: u64, _: u64, _: u64, _: u64, _: u64) -> u64 {
    let mut state = RANDOM.get();
    let number = splitmix64(&mut state) >> 32;
    RANDOM.set(state);
    number
}

/// Of the only map that may be asked, that of connections' own parameters: it is empty.
fn nothing_found(_: u64, _: u64, _: u64, _: u64, _: u64) -> u64 {
    0
}

/// `CC_STORE` of the native target: a part of the socket.
fn socket_store(_: u64, socket: u64, _: u64, _: u64, _: u64) -> u64 {
    socket.wrapping_add(std::mem::offset_of!(tcp_sock, store) as u64)
}

/// `CC_CHANGE_TO` of the native target, the only use of it: noted, and done after the hook.
fn set_option(_: u64, _: u64, _: u64, _: u64, _: u64) -> u64 {
    CHANGES_TO_RENO.set(true);
    u64::MAX
}

/// The flow has no receiver.
fn send_ack(_: u64, _: u64, _: u64, _: u64, _: u64) -> u64 {
    0
}
