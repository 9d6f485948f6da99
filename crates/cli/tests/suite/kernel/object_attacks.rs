// SPDX-License-Identifier: MIT OR Apache-2.0
//! Object files made to harm who looks at them. Each is refused within a second, in one line.

use std::time::{Duration, Instant};

use crate::support;
use support::compile::compile;
use support::{ccctl, code, is_refusal, Folder};

/// BTF is read twice, by the process that looks first and by the one that asked, in an unoptimized build.
const PATIENCE: Duration = Duration::from_secs(2);

/// An algorithm with this state.
fn algorithm(state: &str) -> String {
    format!(
        r#"#include "cc.h"

#define AIMD_PARAMS(P) P(CC_PARAM(steps, 2, 1, 64, "pkts", "packets a round trip"))
CC_PARAMS(aimd, AIMD_PARAMS);

typedef u32 aimd_word;
struct aimd_inner {{
	u32 value;
}};
struct aimd_empty {{
}};
struct aimd_state {{
	{state}
}};
CC_KEEP_IN_BTF(aimd_state);

void CC_HOOK(aimd_cong_avoid, struct sock *sk, u32 ack, u32 acked_pkts)
{{
	tcp_sk(sk)->snd_cwnd += aimd_params()->steps;
}}

CC_ALGORITHM(aimd,
	.cong_avoid = CC_FN(aimd_cong_avoid),
	.ssthresh = CC_FN(tcp_reno_ssthresh),
	.undo_cwnd = CC_FN(tcp_reno_undo_cwnd),
);
"#
    )
}

#[track_caller]
fn is_refused_quickly(folder: &Folder, label: &str, bytes: &[u8], words: &[&str]) {
    let file = folder.file(&format!("{label}.o"), bytes);
    let began = Instant::now();
    let output = ccctl(&["check", &file]);
    let took = began.elapsed();
    is_refusal(label, &output, code::USAGE, words);
    assert!(!output.stderr.contains('\u{1b}'), "{label}: {:?}", output.stderr);
    assert!(took < PATIENCE, "{label} took {took:?}");
}

fn compiled(folder: &Folder, label: &str, state: &str) -> Vec<u8> {
    std::fs::read(compile(folder, &algorithm(state), label)).unwrap()
}

#[test]
fn attack_states_without_end_are_refused() {
    support::test("endless states", 120, || {
        let folder = Folder::new("endless");
        for (label, state, words) in [
            ("array", "u32 values[20000000];", "a socket has room for 104"),
            ("large", "u32 values[4000000000];", "a socket has room for 104"),
            ("empty", "struct aimd_empty none[4000000000];", "a socket has room for 104 bytes"),
            ("wide", "unsigned __int128 value;", "value has 128 bits"),
        ] {
            is_refused_quickly(&folder, label, &compiled(&folder, label, state), &["struct aimd_state", words]);
        }
        let mut object = compiled(&folder, "self", "struct aimd_inner inner;");
        let state = btf_type(&object, STRUCT, "aimd_state");
        put(&mut object, state.position + 12 + 4, state.id);
        is_refused_quickly(&folder, "self", &object, &["structs are nested more than"]);
        let mut object = compiled(&folder, "typedef", "aimd_word value;");
        let typedef = btf_type(&object, TYPEDEF, "aimd_word");
        put(&mut object, typedef.position + 8, typedef.id);
        is_refused_quickly(&folder, "typedef", &object, &["value is a typedef without end"]);
    });
}

#[test]
fn attack_names_that_no_c_file_has_are_refused() {
    support::test("wild names", 60, || {
        let folder = Folder::new("wild");
        let object = compiled(&folder, "whole", "u32 value;");
        assert!(ccctl(&["check", &folder.file("whole.o", &object)]).success());
        let mut unended = object.clone();
        replace(&mut unended, b"bpf_aimd\0\0\0\0\0\0\0\0", &[0xff; 16]);
        is_refused_quickly(&folder, "unended", &unended, &["cannot be a kernel name"]);
        let mut escape = object.clone();
        replace(&mut escape, b"\0aimd_params\0", b"\0\x1b[3m_params\0");
        is_refused_quickly(&folder, "escape", &escape, &["names are C identifiers"]);
        let mut folders = object;
        replace(&mut folders, b"\0aimd_params\0", b"\0/../_params\0");
        is_refused_quickly(&folder, "folders", &folders, &["names are C identifiers"]);
    });
}

/// Puts `new` in the place of each `old`: debug information has some of the names, too.
#[track_caller]
fn replace(object: &mut [u8], old: &[u8], new: &[u8]) {
    assert_eq!(old.len(), new.len());
    let places: Vec<usize> = (0..object.len()).filter(|place| object[*place..].starts_with(old)).collect();
    assert!(!places.is_empty(), "the object does not have these bytes");
    for place in places {
        object[place..place + new.len()].copy_from_slice(new);
    }
}

const STRUCT: u32 = 4;
const TYPEDEF: u32 = 8;

/// A type in the BTF of an object file.
struct Type {
    id: u32,
    /// Of its `struct btf_type` in the file.
    position: usize,
}

/// Finds a type as Documentation/bpf/btf.rst lays BTF out.
#[track_caller]
fn btf_type(object: &[u8], wanted_kind: u32, wanted_name: &str) -> Type {
    let magic = [0x9f, 0xeb, 1, 0, 24, 0, 0, 0];
    let header = object.windows(8).position(|bytes| bytes == magic).expect("a .BTF section");
    let [types, types_bytes, strings] = [8, 12, 16].map(|offset| word(object, header + offset) as usize);
    let (mut position, end) = (header + 24 + types, header + 24 + types + types_bytes);
    let mut id = 1;
    while position < end {
        let [name, info] = [0, 4].map(|offset| word(object, position + offset));
        let name = &object[header + 24 + strings + name as usize..];
        let name = &name[..name.iter().position(|byte| *byte == 0).unwrap()];
        let (kind, members) = (info >> 24 & 0x1f, info as usize & 0xffff);
        if kind == wanted_kind && name == wanted_name.as_bytes() {
            return Type { id, position };
        }
        position += 12
            + match kind {
                1 | 14 | 17 => 4,
                3 => 12,
                4 | 5 | 15 | 19 => 12 * members,
                6 | 13 => 8 * members,
                _ => 0,
            };
        id += 1;
    }
    panic!("no type {wanted_name} of kind {wanted_kind}");
}

fn word(object: &[u8], position: usize) -> u32 {
    u32::from_le_bytes(object[position..position + 4].try_into().unwrap())
}

fn put(object: &mut [u8], position: usize, word: u32) {
    object[position..position + 4].copy_from_slice(&word.to_le_bytes());
}
