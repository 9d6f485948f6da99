// SPDX-License-Identifier: GPL-2.0-only
//! BPF instructions: what the interpreter would do otherwise than the kernel is written otherwise, or refused.

use std::collections::BTreeMap;

use super::object_error::ObjectError;

pub(super) const INSTRUCTION_BYTES: usize = 8;

/// The kernel's limit for all functions of a call together, and the interpreter's.
const STACK_BYTES: u16 = 512;

/// `bpf_map_lookup_elem`, `bpf_map_delete_elem`, `bpf_get_prandom_u32`, `bpf_setsockopt`, `bpf_sk_storage_get`, `bpf_tcp_send_ack`
const HELPERS: [u32; 6] =
    [LOOKUP_HELPER, DELETE_HELPER, RANDOM_HELPER, SET_OPTION_HELPER, STORE_HELPER, SEND_ACK_HELPER];
pub(super) const LOOKUP_HELPER: u32 = 1;
pub(super) const DELETE_HELPER: u32 = 3;
pub(super) const RANDOM_HELPER: u32 = 7;
pub(super) const SET_OPTION_HELPER: u32 = 49;
pub(super) const STORE_HELPER: u32 = 107;
pub(super) const SEND_ACK_HELPER: u32 = 116;

// opcodes of include/uapi/linux/bpf.h
const LOAD_32: u8 = 0x61;
const LOAD_64: u8 = 0x79;
const STORE_32: u8 = 0x63;
const STORE_64: u8 = 0x7b;
const ATOMIC_32: u8 = 0xc3;
const ATOMIC_64: u8 = 0xdb;
const ADD_REGISTER_64: u8 = 0x0f;
/// The operation of an atomic instruction that returns nothing.
const ATOMIC_ADD: i32 = 0;
/// The register of the stack.
const FRAME: u8 = 10;
const ADD_64: u8 = 0x07;
const MOVE_64: u8 = 0xb7;
const JUMP_EQUAL: u8 = 0x15;
const LOAD_ADDRESS: u8 = 0x18;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;
const JUMP: u8 = 0x05;
const JUMP_SIGNED_GREATER: u8 = 0x65;
const JUMP_SIGNED_GREATER_EQUAL: u8 = 0x75;
const JUMP_SIGNED_LESS: u8 = 0xc5;
const JUMP_SIGNED_LESS_EQUAL: u8 = 0xd5;
/// Of the classes of instructions: jumps that compare all 64 bits.
const CLASS: u8 = 7;
const JUMP_64: u8 = 5;
const OF_REGISTER: u8 = 8;

type Instruction = [u8; INSTRUCTION_BYTES];

pub(super) fn immediate(instruction: Instruction) -> i32 {
    i32::from_le_bytes([instruction[4], instruction[5], instruction[6], instruction[7]])
}

/// Gives an instruction the value of a relocation: where it has a constant, there; otherwise as offset.
pub(super) fn patch(instruction: &mut Instruction, value: u64) -> Option<()> {
    match instruction[0] & CLASS {
        // loads of a constant, arithmetic with one
        0 | 4 | 7 => instruction[4..].copy_from_slice(&i32::try_from(value).ok()?.to_le_bytes()),
        // loads and stores
        1..=3 => instruction[2..4].copy_from_slice(&i16::try_from(value).ok()?.to_le_bytes()),
        _ => return None,
    }
    Some(())
}

/// Refuses what the interpreter would take for something else, and what the simulator does not have.
pub(super) fn vet(code: &[u8]) -> Result<(), ObjectError> {
    const ALU_32: u8 = 4;
    const ALU_64: u8 = 7;
    for (at, instruction) in instructions(code) {
        let [opcode, registers, ..] = *instruction;
        let has_offset = instruction[2..4] != [0, 0];
        let refuse = |what| Err(ObjectError::Instruction { at, what });
        match (opcode & CLASS, opcode >> 4) {
            (ALU_32 | ALU_64, 3 | 9) if has_offset => return refuse("a signed division (-mcpu=v4)"),
            (ALU_32 | ALU_64, 0xb) if has_offset => return refuse("a sign-extending move (-mcpu=v4)"),
            _ => {}
        }
        if matches!(opcode, ATOMIC_32 | ATOMIC_64) && immediate(*instruction) != ATOMIC_ADD {
            return refuse("an atomic operation other than an addition without a result");
        }
        let source = registers >> 4;
        let helper = immediate(*instruction) as u32;
        if opcode == CALL && source == 0 && !HELPERS.contains(&helper) {
            return Err(ObjectError::Foreign(format!("BPF helper {helper}")));
        }
        if opcode == LOAD_ADDRESS && source != 0 {
            return Err(ObjectError::Foreign("a map".to_owned()));
        }
    }
    Ok(())
}

/// With their numbers; the second half of a constant of 64 bits is none.
fn instructions(code: &[u8]) -> impl Iterator<Item = (usize, &Instruction)> {
    let mut is_second_half = false;
    code.as_chunks().0.iter().enumerate().filter(move |(_, instruction): &(usize, &Instruction)| {
        let is_instruction = !is_second_half;
        is_second_half = is_instruction && instruction[0] == LOAD_ADDRESS;
        is_instruction
    })
}

/// The kernel extends the sign of a constant that 64 bits are compared with; rbpf 0.4 does so for signed comparisons only. An
/// unsigned comparison with a negative constant becomes a jump to two signed ones behind the program.
pub(super) fn with_wide_comparisons(code: &[u8]) -> Result<Vec<u8>, ObjectError> {
    let mut all = code.to_vec();
    for (at, instruction) in instructions(code) {
        let [opcode, registers, low, high, ..] = *instruction;
        let is_candidate = opcode & (CLASS | OF_REGISTER) == JUMP_64 && immediate(*instruction) < 0;
        let Some((first, second, is_met)) = is_candidate.then(|| signed_pair(opcode)).flatten() else { continue };
        let next = at + 1;
        let there = next.wrapping_add_signed(i16::from_le_bytes([low, high]).into());
        let stub = all.len() / INSTRUCTION_BYTES;
        let compare = |(opcode, constant): (u8, Option<i32>), skip: i16| {
            encoded(opcode, registers, skip, constant.unwrap_or(immediate(*instruction)))
        };
        let (else_to, then_to) = if is_met { (next, there) } else { (there, next) };
        all[at * INSTRUCTION_BYTES..][..INSTRUCTION_BYTES].copy_from_slice(&jump(at, stub)?);
        all.extend(compare(first, 2));
        all.extend(compare(second, 1));
        all.extend(jump(stub + 2, else_to)?);
        all.extend(jump(stub + 3, then_to)?);
    }
    Ok(all)
}

/// A signed comparison: its opcode, and 0 where it is not with the constant itself.
type Comparison = (u8, Option<i32>);

/// Two signed comparisons for an unsigned one with a negative constant, and whether it holds where one of them does.
fn signed_pair(opcode: u8) -> Option<(Comparison, Comparison, bool)> {
    let (greater, less) = ((JUMP_SIGNED_GREATER, None), (JUMP_SIGNED_LESS, None));
    let (not_negative, less_equal) = ((JUMP_SIGNED_GREATER_EQUAL, Some(0)), (JUMP_SIGNED_LESS_EQUAL, None));
    match opcode >> 4 {
        1 => Some((greater, less, false)),             // ==
        2 => Some((not_negative, less_equal, false)),  // >
        3 => Some((not_negative, less, false)),        // >=
        5 => Some((greater, less, true)),              // !=
        0xa => Some((not_negative, less, true)),       // <
        0xb => Some((not_negative, less_equal, true)), // <=
        _ => None,
    }
}

/// rbpf 0.4 has no atomic instructions, and the interpreter runs one hook of an instance at a time: an atomic addition becomes a
/// jump to a load, an addition and a store behind the program.
pub(super) fn with_plain_additions(code: &[u8]) -> Result<Vec<u8>, ObjectError> {
    let mut all = code.to_vec();
    let slot = stack_bytes(code) + 8;
    for (at, instruction) in instructions(code).filter(|(_, it)| matches!(it[0], ATOMIC_32 | ATOMIC_64)) {
        if slot > STACK_BYTES {
            return Err(ObjectError::Instruction { at, what: "an atomic addition with a full stack" });
        }
        let stub = all.len() / INSTRUCTION_BYTES;
        all[at * INSTRUCTION_BYTES..][..INSTRUCTION_BYTES].copy_from_slice(&jump(at, stub)?);
        all.extend(plain_addition(*instruction, slot as i16).concat());
        all.extend(jump(all.len() / INSTRUCTION_BYTES, at + 1)?);
    }
    Ok(all)
}

/// An atomic addition in steps; the register in between is kept at `slot` of the stack meanwhile.
fn plain_addition([opcode, registers, low, high, ..]: Instruction, slot: i16) -> [Instruction; 5] {
    let offset = i16::from_le_bytes([low, high]);
    let (to, source) = (registers & 0xf, registers >> 4);
    let between = (0..FRAME).find(|register| ![to, source].contains(register)).unwrap_or_default(); // of ten
    let (load, store) = if opcode == ATOMIC_64 { (LOAD_64, STORE_64) } else { (LOAD_32, STORE_32) };
    let pair = |to: u8, source: u8| to | source << 4;
    [
        encoded(STORE_64, pair(FRAME, between), -slot, 0),
        encoded(load, pair(between, to), offset, 0),
        encoded(ADD_REGISTER_64, pair(between, source), 0, 0),
        encoded(store, pair(to, between), offset, 0),
        encoded(LOAD_64, pair(between, FRAME), -slot, 0),
    ]
}

fn jump(from: usize, to: usize) -> Result<Instruction, ObjectError> {
    let distance = i16::try_from(to as i64 - from as i64 - 1).map_err(|_| ObjectError::Missing("jump within reach"))?;
    Ok(encoded(JUMP, 0, distance, 0))
}

/// What each function of the program may take of the stack, so that none of them takes what belongs to its caller: the largest
/// distance from r10 that any instruction has, or may have.
pub(super) fn stack_bytes(program: &[u8]) -> u16 {
    let depth = |instruction: &Instruction| {
        let [opcode, registers, low, high, ..] = *instruction;
        let is_of_frame = match opcode & CLASS {
            1 => registers >> 4 == FRAME,
            2 | 3 => registers & 0xf == FRAME,
            _ => false,
        };
        let added = (opcode == ADD_64).then(|| immediate(*instruction));
        let offset = is_of_frame.then(|| i16::from_le_bytes([low, high]).into()).or(added).unwrap_or(0);
        if (-i32::from(STACK_BYTES)..0).contains(&offset) {
            (-offset) as u16
        } else {
            0
        }
    };
    program.as_chunks().0.iter().map(depth).max().unwrap_or(0).next_multiple_of(8)
}

fn encoded(opcode: u8, registers: u8, offset: i16, constant: i32) -> Instruction {
    let ([low, high], [a, b, c, d]) = (offset.to_le_bytes(), constant.to_le_bytes());
    [opcode, registers, low, high, a, b, c, d]
}

/// The program, and before it the jump to the hook whose number is in the context's first word; the hook sees the words after
/// it. Of a hook that is missing, nothing happens.
pub(super) fn with_dispatcher(code: &[u8], entries: &BTreeMap<usize, usize>) -> Result<Vec<u8>, ObjectError> {
    let before = entries.len() + 4;
    let mut all = vec![encoded(LOAD_64, 0x12, 0, 0), encoded(ADD_64, 0x01, 0, 8)];
    for (hook, entry) in entries {
        let distance = before + entry - all.len() - 1;
        let distance = i16::try_from(distance).map_err(|_| ObjectError::Missing("hook within reach"))?;
        all.push(encoded(JUMP_EQUAL, 0x02, distance, *hook as i32));
    }
    all.extend([encoded(MOVE_64, 0x00, 0, 0), encoded(EXIT, 0x00, 0, 0)]);
    Ok(all.concat().into_iter().chain(code.iter().copied()).collect())
}
