//! Counts that BPF programs have made, beside the kernel's own.

/// So often a count that has to be exact is taken.
const TRIES: u32 = 3;

/// What fell short in one try. Kernels of some sandboxes leave programs out now and then (docs/kernel-matrix.md): a count may be
/// too low by chance, and never too high.
#[derive(Debug, Default)]
pub struct Beside {
    short: Vec<String>,
}

impl Beside {
    /// Of what also depends on when something happened.
    pub fn at_least(&mut self, what: &str, ours: u64, least: u64) {
        if ours < least {
            self.short.push(format!("{what}: {ours} counted, of at least {least}"));
        }
    }

    #[track_caller]
    pub fn same(&mut self, what: &str, ours: u64, kernels: u64) {
        assert!(ours <= kernels, "{what}: {ours} counted, the kernel has {kernels}");
        if ours < kernels {
            self.short.push(format!("{what}: {ours} counted, the kernel has {kernels}"));
        }
    }
}

/// Counts again until nothing falls short.
#[track_caller]
pub fn exactly(mut count: impl FnMut() -> Beside) {
    for _ in 0..TRIES {
        let Beside { short } = count();
        if short.is_empty() {
            return;
        }
        println!("the kernel has left something out: {short:?}");
    }
    panic!("in each of {TRIES} tries something was not counted");
}
