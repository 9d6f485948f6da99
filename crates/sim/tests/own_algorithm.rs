// SPDX-License-Identifier: GPL-2.0-only
//! Algorithms that do not come with ccctl: their C file compiled for this machine, and their object interpreted.
#![allow(clippy::unwrap_used)] // a test fails by panicking

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ccctl_catalog::{Algorithm, ParameterSet, Target};
use ccctl_sim::{Ack, Flow, Instance, Program};

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(label: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("ccctl-own-{label}-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        Self(folder)
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0); // what stays is in the folder for temporary files
    }
}

/// An algorithm of this name: declarations, then the body of `cong_avoid`, which has `sk`, `tp` and `acked_pkts`.
fn source(name: &str, declarations: &str, body: &str) -> String {
    format!(
        "#include \"rtt.h\"\n\
         #define THE_PARAMS(P) P(CC_PARAM(step_pkts, 2, 1, 64, \"pkts\", \"a step\")) \\\n\
         P(CC_PARAM(other, 7, 0, 4000000000, \"\", \"a number\"))\n\
         CC_PARAMS({name}, THE_PARAMS);\n\
         struct {name}_state {{ u64 sum; u32 last; }};\n\
         CC_STATE_STRUCT({name});\n\
         {declarations}\n\
         void CC_HOOK({name}_cong_avoid, struct sock *sk, u32 ack, u32 acked_pkts)\n\
         {{\n\tstruct tcp_sock *tp = tcp_sk(sk);\n\t{body}\n}}\n\
         CC_ALGORITHM({name}, .cong_avoid = CC_FN({name}_cong_avoid), .ssthresh = CC_FN(tcp_reno_ssthresh),\n\
         .undo_cwnd = CC_FN(tcp_reno_undo_cwnd));\n"
    )
}

fn added(folder: &Folder, name: &str, text: &str) -> &'static Algorithm {
    let path = folder.file(&format!("{name}.bpf.c"), text);
    let object = ccctl_catalog::compile(&path, Target::Bpf).unwrap();
    ccctl_catalog::add(name, object, text.to_owned()).unwrap()
}

/// As C, and as bytecode.
fn both(folder: &Folder, name: &str, text: &str) -> [&'static Program; 2] {
    let algorithm = added(folder, name, text);
    let library = folder.0.join("native.so");
    fs::write(&library, ccctl_catalog::compile(&folder.0.join(format!("{name}.bpf.c")), Target::Native).unwrap())
        .unwrap();
    [Program::of_library(algorithm, &library).unwrap(), Program::of_object(algorithm).unwrap()]
}

fn defaults(program: &Program) -> ParameterSet {
    let declared = ccctl_catalog::algorithm(program.name()).unwrap().layout().parameters;
    ParameterSet::defaults(program.name(), &declared)
}

fn flow(program: &'static Program, set: &ParameterSet) -> (Arc<Instance>, Flow) {
    let instance = Arc::new(Instance::of_program(program, set).unwrap());
    let flow = Flow::new(Arc::clone(&instance), 10, 8, Duration::ZERO);
    (instance, flow)
}

/// Calls of functions that the compiler does not inline, forwards and backwards, with arrays on the stack of caller and callee;
/// constant tables; unsigned comparisons with the largest numbers of 64 bits; bit fields; parameters.
#[test]
fn functions_tables_and_comparisons_give_the_same_natively_and_interpreted() {
    let declarations = "
static const u32 table[9] = { 3, 1, 4, 1, 5, 9, 2, 6, 5 };
static __attribute__((noinline)) u64 mixed(u64 a, u32 b)
{
	volatile u32 room[12];
	u64 sum = 0;
	for (u32 i = 0; i < 12; i++)
		room[i] = b + i;
	for (u32 i = 0; i < 12; i++)
		sum += room[i] * table[(a + i) % 9];
	return sum;
}
static __attribute__((noinline)) u64 twice(u64 a, u32 b)
{
	volatile u64 kept[8];
	for (u32 i = 0; i < 8; i++)
		kept[i] = a + i;
	u64 inner = mixed(a, b) + mixed(a + 1, b);
	for (u32 i = 0; i < 8; i++)
		inner += kept[i];
	return inner;
}
static __attribute__((noinline)) u32 compared(u64 x)
{
	u32 bits = 0;
	if (x == ~0ULL) bits |= 1;
	if (x > ~0ULL - 5) bits |= 2;
	if (x >= ~0ULL - 3) bits |= 4;
	if (x < ~0ULL - 7) bits |= 8;
	if (x <= ~0ULL - 9) bits |= 16;
	if (x != ~0ULL - 2) bits |= 32;
	return bits;
}";
    let body = "
	struct ownboth_state *ca = CC_STATE(ownboth, sk);
	u64 x = (u64)0 - (ca->sum & 15);
	ca->sum += twice(ca->sum, acked_pkts) + compared(x) + ((u64)compared(ca->sum) << 32);
	ca->last = compared(x) | (CC_BITFIELD(inet_csk(sk), icsk_ca_state) << 8) | (tcp_is_cwnd_limited(sk) << 16);
	cc_set_cwnd(tp, 1 + (ca->sum ^ ownboth_params()->other) % (64 * ownboth_params()->step_pkts));";
    let folder = Folder::new("both");
    let [native, interpreted] = both(&folder, "ownboth", &source("ownboth", declarations, body));
    for (step, other) in [("2", "7"), ("64", "4000000000")] {
        let mut set = defaults(native);
        set.set("step_pkts", step).unwrap();
        set.set("other", other).unwrap();
        let ((_, mut one), (instance, mut two)) = (flow(native, &set), flow(interpreted, &set));
        let mut windows = std::collections::BTreeSet::new();
        for number in 0..2000 {
            for flow in [&mut one, &mut two] {
                flow.advance(Duration::from_micros(700));
                flow.acked(&Ack { cwnd_limited: number % 3 == 0, ..Ack::of(1 + number % 5, None) });
                if number % 97 == 0 {
                    flow.lost();
                    flow.recovered();
                }
            }
            assert_eq!(instance.fault(), None);
            assert_eq!((one.cwnd_pkts(), one.state_bytes()), (two.cwnd_pkts(), two.state_bytes()), "call {number}");
            windows.insert(one.cwnd_pkts());
        }
        assert!(windows.len() > 50, "the windows say something: {windows:?}");
    }
}

fn refusal(folder: &Folder, name: &str, declarations: &str, body: &str) -> String {
    let algorithm = added(folder, name, &source(name, declarations, body));
    Program::of_object(algorithm).map(Program::name).unwrap_err().to_string()
}

#[test]
fn what_cannot_be_interpreted_is_refused_by_name() {
    let folder = Folder::new("refused");
    for (name, declarations, body, expected) in [
        ("ownglobal", "u64 seen;", "seen += acked_pkts; tp->snd_cwnd = seen & 7;", "global variables in .bss"),
        (
            "ownfield",
            "",
            "tp->snd_cwnd = tp->bytes_acked & 7;",
            "tcp_sock.bytes_acked, which the simulator does not keep",
        ),
        ("ownhelper", "", "tp->snd_cwnd = bpf_ktime_get_ns() & 7;", "BPF helper 5"),
        (
            "ownloop",
            "static long step(u32 i, void *sum) { *(u32 *)sum += i; return 0; }",
            "u32 sum = 0; CC_LOOP(acked_pkts, step, &sum); tp->snd_cwnd = sum & 7;",
            "CC_LOOP",
        ),
    ] {
        let refused = refusal(&folder, name, declarations, body);
        assert!(refused.contains(expected), "{name}: {refused}");
    }
}

/// Bytecode that leaves its memory stops its algorithm, and nothing else.
#[test]
fn an_access_out_of_bounds_is_a_fault_and_changes_nothing() {
    let body = "if (acked_pkts > 3) *(u32 *)((char *)tp + 100000 * acked_pkts) = 1;\n\ttp->snd_cwnd = 20;";
    let folder = Folder::new("fault");
    let program = Program::of_object(added(&folder, "ownfault", &source("ownfault", "", body))).unwrap();
    let (instance, mut flow) = flow(program, &defaults(program));
    flow.acked(&Ack::of(1, None));
    assert_eq!((flow.cwnd_pkts(), instance.fault()), (20, None));
    flow.set_cwnd(15);
    flow.acked(&Ack::of(4, None));
    let fault = instance.fault().unwrap();
    assert!(fault.contains("cong_avoid of ownfault") && fault.contains("out of bounds memory store"), "{fault}");
    flow.acked(&Ack::of(1, None));
    assert_eq!(flow.cwnd_pkts(), 15, "after a fault no hook has an effect");
}
