// SPDX-License-Identifier: GPL-2.0-only
//! What there is to run: the algorithms that come with ccctl, and those that a command line names.

use std::any::Any;
use std::ffi::{c_void, CStr};
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::{LazyLock, Mutex, OnceLock, PoisonError, RwLock};

use ccctl_catalog::{Algorithm, Layout};
use libloading::{Library, Symbol};

use super::bindings;
use super::bindings::tcp_congestion_ops;
use super::bytecode::{Bytecode, Hook};
use super::machine::Machine;
use super::object_error::ObjectError;

include!(concat!(env!("OUT_DIR"), "/algorithms.rs"));

/// Why a user's algorithm cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// The library that the compiler made of its C file cannot be loaded.
    #[error("the library of {name} cannot be loaded: {cause}")]
    Library {
        /// Algorithm.
        name: String,
        /// The loader's words.
        cause: String,
    },
    /// The library and the object have other parameters: they are not of one file.
    #[error("{name} has {native} parameters natively, and {declared} in its object")]
    Parameters {
        /// Algorithm.
        name: String,
        /// In the library.
        native: usize,
        /// In the object.
        declared: usize,
    },
    /// Its object cannot be interpreted.
    #[error("{name} cannot be interpreted: {error}")]
    Object {
        /// Algorithm.
        name: String,
        /// Why not.
        error: ObjectError,
    },
}

/// What runs the hooks.
enum Engine {
    Native { ops: tcp_congestion_ops, put_in_force: unsafe extern "C" fn(*const c_void, *mut c_void) },
    Interpreter(Bytecode),
}

/// An algorithm that can be run. It is never unloaded.
pub struct Program {
    name: &'static str,
    engine: Engine,
    default_parameters: Vec<u32>,
    layout: OnceLock<Layout>, // reading it out of BTF takes longer than many a simulation
}

static BUILT_IN: LazyLock<Vec<Program>> = LazyLock::new(|| {
    // SAFETY: the entries are the functions that CC_ALGORITHM defines, one per file that build.rs found.
    ENTRIES.iter().map(|entry| unsafe { describe(entry()) }).collect()
});

static ADDED: RwLock<Vec<&'static Program>> = RwLock::new(Vec::new());

/// Programs and libraries that were made: they stay for as long as the process, and somebody has to know where they are.
static KEPT: Mutex<Vec<&'static (dyn Any + Send + Sync)>> = Mutex::new(Vec::new());

fn keep<T: Any + Send + Sync>(value: T) -> &'static T {
    let kept: &'static T = Box::leak(Box::new(value));
    KEPT.lock().unwrap_or_else(PoisonError::into_inner).push(kept);
    kept
}

/// The program of an algorithm: one that comes with ccctl, or the last one that was added under this name.
pub(super) fn named(name: &str) -> Option<&'static Program> {
    BUILT_IN.iter().find(|program| program.name == name).or_else(|| {
        let added = ADDED.read().unwrap_or_else(PoisonError::into_inner);
        added.iter().rev().find(|program| program.name == name).copied()
    })
}

/// # Safety
/// `native` comes from the function that `CC_ALGORITHM` defines: it and all that it points to are static.
unsafe fn describe(native: *const bindings::cc_native_algorithm) -> Program {
    // SAFETY: static by this function's contract; nothing writes to it after it was returned.
    let native = unsafe { &*native };
    let words = native.params_bytes as usize / size_of::<u32>();
    // SAFETY: a parameter set is a struct of u32 members only, params_bytes long, and constant.
    let defaults = unsafe { std::slice::from_raw_parts(native.default_params.cast::<u32>(), words) };
    // SAFETY: `name` is a string literal.
    let name = unsafe { CStr::from_ptr(native.name) };
    Program {
        name: name.to_str().expect("an algorithm's name is a C identifier"),
        engine: Engine::Native {
            // SAFETY: `ops` is a constant of the C file.
            ops: unsafe { *native.ops },
            put_in_force: native.use_.expect("CC_REGISTER sets it"),
        },
        default_parameters: defaults.to_vec(),
        layout: OnceLock::new(),
    }
}

impl Program {
    /// An algorithm out of the library that [`ccctl_catalog::compile`] has made of its C file.
    pub fn of_library(algorithm: &'static Algorithm, library: &Path) -> Result<&'static Self, ProgramError> {
        let name = algorithm.name();
        let failed =
            |error: libloading::Error| ProgramError::Library { name: name.to_owned(), cause: error.to_string() };
        // SAFETY: the user asks for this code to be run; an algorithm's C file has no constructors.
        let library = keep(unsafe { Library::new(library) }.map_err(failed)?);
        let symbol = format!("cc_native_{name}");
        // SAFETY: CC_ALGORITHM defines the function with this type.
        let entry: Symbol<'_, unsafe extern "C" fn() -> *const bindings::cc_native_algorithm> =
            unsafe { library.get(symbol.as_bytes()) }.map_err(failed)?;
        // SAFETY: what it returns is static in the library, which is never unloaded.
        let program = unsafe { describe(entry()) };
        let (native, declared) = (program.default_parameters.len(), algorithm.layout().parameters.len());
        if native != declared {
            return Err(ProgramError::Parameters { name: name.to_owned(), native, declared });
        }
        Ok(keep(program))
    }

    /// An algorithm's object, to be interpreted.
    pub fn of_object(algorithm: &'static Algorithm) -> Result<&'static Self, ProgramError> {
        Self::of_bytes(algorithm, algorithm.object())
    }

    /// Another object of an algorithm, with the same parameters and state: of a changed C file.
    pub fn of_bytes(algorithm: &'static Algorithm, object: &[u8]) -> Result<&'static Self, ProgramError> {
        let name = algorithm.name();
        let failed = |error| ProgramError::Object { name: name.to_owned(), error };
        let bytecode = Bytecode::of_object(name, object).map_err(failed)?;
        let layout = algorithm.layout();
        let program = keep(Self {
            name,
            engine: Engine::Interpreter(bytecode),
            default_parameters: layout.parameters.iter().map(|parameter| parameter.default).collect(),
            layout: OnceLock::from(layout),
        });
        let tried = program.bytecode().map(|bytecode| Machine::new(bytecode, &program.default_parameters));
        tried.transpose().map_err(failed)?;
        Ok(program)
    }

    /// From now on, the name of its algorithm means this program.
    pub fn add(&'static self) {
        ADDED.write().unwrap_or_else(PoisonError::into_inner).push(self);
    }

    /// Name of the algorithm.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    pub(super) fn layout(&self) -> &Layout {
        self.layout.get_or_init(|| {
            ccctl_catalog::algorithm(self.name).expect("both builds are made of the same files").layout()
        })
    }

    pub(super) fn default_parameters(&self) -> &[u32] {
        &self.default_parameters
    }

    pub(super) fn bytecode(&self) -> Option<&Bytecode> {
        match &self.engine {
            Engine::Native { .. } => None,
            Engine::Interpreter(bytecode) => Some(bytecode),
        }
    }

    /// Points the C file of this thread at these parameters and at what the flows share, and gives its hooks.
    ///
    /// # Panics
    /// Where it is interpreted: its instances have a machine, which is asked first.
    pub(super) fn put_in_force(&self, parameters: &[u32], shared: &[AtomicU64]) -> &tcp_congestion_ops {
        let Engine::Native { ops, put_in_force } = &self.engine else { panic!("{} is interpreted", self.name) };
        // SAFETY: only the pointers are kept, for this thread, and only hooks read them. Hooks are called by instances alone,
        // each time after this call, and an instance owns both for as long as the hook runs. What is shared may be written by
        // several threads, each of which does so atomically.
        unsafe { put_in_force(parameters.as_ptr().cast(), shared.as_ptr().cast_mut().cast()) };
        ops
    }

    pub(super) fn controls_cwnd(&self) -> bool {
        match &self.engine {
            Engine::Native { ops, .. } => ops.cong_control.is_some(),
            Engine::Interpreter(bytecode) => bytecode.has(Hook::CongControl),
        }
    }

    /// Flags of `struct tcp_congestion_ops`.
    pub(super) fn flags(&self) -> u32 {
        match &self.engine {
            Engine::Native { ops, .. } => ops.flags,
            Engine::Interpreter(bytecode) => bytecode.flags,
        }
    }
}
