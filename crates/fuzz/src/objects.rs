// SPDX-License-Identifier: GPL-2.0-only
//! BPF object files, read as `check` and `load` read them before the kernel sees a program: ELF and BTF, parameters, state, hooks,
//! and the lines of C that a message of the verifier leads to.

use ccctl_catalog::kernel::ICSK_CA_PRIV_SIZE;
use ccctl_loader::{without_kernel, Program};

/// What the verifier prints of a program that it refuses, for instructions that an object has and for one that it has not.
const LOG: &str = "libbpf: prog 'cubic_init': BPF program load failed: -EACCES\n\
    0: (b7) r0 = 0\n1: (05) goto pc-2\n7: (79) r1 = *(u64 *)(r1 +0)\n4000000000: (05) goto pc-3\n\
    R1 invalid mem access 'scalar'\nprocessed 3 insns\n-- END PROG LOAD LOG --\n";

/// Reads an object.
///
/// # Panics
/// Where a field of the state lies outside of it, or an error has no words.
pub(crate) fn run(bytes: &[u8]) {
    let program = match Program::of_object("fuzzed", bytes.to_vec()) {
        Ok(program) => program,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    let mut state = [0xff; ICSK_CA_PRIV_SIZE as usize];
    for field in &program.layout.state {
        let value = field.read(&state).expect("it lies in the state");
        assert!(field.write(&mut state, value));
    }
    let defaults = program.defaults();
    assert_eq!(defaults.to_bytes().len(), 4 * program.layout.parameters.len());
    if let Err(error) = without_kernel::fit(&program) {
        assert!(!error.to_string().is_empty());
    }
    assert!(!without_kernel::refusal(&program, LOG).is_empty());
}
