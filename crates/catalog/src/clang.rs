// SPDX-License-Identifier: MIT OR Apache-2.0
//! How clang compiles an algorithm: one that comes with ccctl, and a user's, with the headers that ccctl has embedded.

use std::borrow::Cow;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::clang_flags::{CLANG_FLAGS, CLANG_WARNINGS};
use crate::kernel::ICSK_CA_PRIV_SIZE;
use crate::HEADERS;

/// For this machine: a library that a simulation loads.
const NATIVE_FLAGS: [&str; 3] = ["-std=gnu11", "-shared", "-fPIC"];

/// What the sanitizers are to find: accesses outside of memory, what C leaves undefined, and unsigned arithmetic that wraps
/// where it is not marked `CC_WRAPS`. The first finding ends the process.
const SANITIZER_FLAGS: [&str; 4] = [
    "-fsanitize=address,undefined,unsigned-integer-overflow",
    "-fno-sanitize-recover=all",
    "-fno-omit-frame-pointer",
    "-g",
];

/// How the name of an algorithm's C file ends.
pub const SOURCE_ENDING: &str = ".bpf.c";

/// What an algorithm is compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// The kernel.
    Bpf,
    /// This machine.
    Native,
    /// This machine, with sanitizers: the process that loads it needs [`sanitizer_runtime`] loaded first.
    Sanitized,
}

/// Why a file was not compiled.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// There is no clang, or it cannot be executed.
    #[error("cannot run {clang}: {error}")]
    NoClang {
        /// What `CLANG` names, or `clang`.
        clang: String,
        /// The kernel's answer.
        error: io::Error,
    },
    /// What clang says of it was printed on stderr.
    #[error("clang refused {}", .file.display())]
    Refused {
        /// The C file.
        file: PathBuf,
        /// What to change.
        remedy: Cow<'static, str>,
    },
    /// Headers or the result.
    #[error("cannot {step}: {error}")]
    Files {
        /// What was tried.
        step: &'static str,
        /// The kernel's answer.
        error: io::Error,
    },
}

impl CompileError {
    /// What to do.
    #[must_use]
    pub fn remedy(&self) -> &str {
        match self {
            Self::NoClang { .. } => "install clang 14 or newer (apt install clang), or set CLANG to its path",
            Self::Refused { remedy, .. } => remedy,
            Self::Files { .. } => "set TMPDIR to a folder that you may write to",
        }
    }
}

/// The compiler's name or path.
#[must_use]
pub fn clang_path() -> String {
    std::env::var("CLANG").unwrap_or_else(|_| "clang".to_owned())
}

/// clang for a target, with nothing said yet of headers, optimization, warnings and files.
#[must_use]
pub fn clang(target: Target) -> Command {
    let mut command = Command::new(clang_path());
    match target {
        Target::Bpf => command.args(CLANG_FLAGS),
        Target::Native | Target::Sanitized => command.args(NATIVE_FLAGS),
    };
    command
}

/// Compiles a user's C file with the embedded headers: an object for BPF, a shared library for this machine. Warnings are
/// printed when it is compiled for BPF.
pub fn compile(source: &Path, target: Target) -> Result<Vec<u8>, CompileError> {
    let files = |step| move |error| CompileError::Files { step, error };
    let folder = TempDir::new().map_err(files("make a folder for the headers"))?;
    let include = folder.path().join("include");
    write_headers(&include).map_err(files("write the headers"))?;
    let out = folder.path().join("out");
    let mut command = clang(target);
    match target {
        Target::Bpf => command.args(CLANG_WARNINGS),
        Target::Native => command.args(["-O2", "-w"]),
        Target::Sanitized => command.args(["-O1", "-w"]).args(SANITIZER_FLAGS),
    };
    // Equal files give equal objects: where the headers were this time is in no debug information.
    command.arg(format!("-ffile-prefix-map={}=.", folder.path().display()));
    command.arg("-isystem").arg(&include).arg("-o").arg(&out).arg(source).stdin(Stdio::null());
    if target == Target::Bpf {
        command.arg("-c");
    }
    let output = command.output().map_err(|error| CompileError::NoClang { clang: clang_path(), error })?;
    let said = String::from_utf8_lossy(&output.stderr);
    // With stderr closed there is nobody to tell.
    let _ = io::stderr().write_all(readable(&said, source).as_bytes());
    if !output.status.success() {
        return Err(CompileError::Refused { file: source.to_owned(), remedy: remedy_of(&said) });
    }
    fs::read(&out).map_err(files("read what clang has written"))
}

/// The library of clang's sanitizers that a process needs for [`Target::Sanitized`]; none where clang has come without it.
#[must_use]
pub fn sanitizer_runtime() -> Option<PathBuf> {
    // The name in the folder of all architectures, and that in a folder of its own.
    let names = [format!("libclang_rt.asan-{}.so", std::env::consts::ARCH), "libclang_rt.asan.so".to_owned()];
    names.iter().find_map(|name| {
        let output = Command::new(clang_path()).arg(format!("-print-file-name={name}")).output().ok()?;
        let path = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
        (path.is_absolute() && path.is_file()).then_some(path)
    })
}

/// Mistakes that clang has found, by its words or by those of `cc.h`.
const MISTAKES: [(&str, &str); 4] = [
    (
        "signed division",
        "divide unsigned numbers, and keep the sign aside: BPF has signed division from Linux 6.6 on only",
    ),
    ("at most 15 characters", "use a name of at most 11 characters: the kernel's name is bpf_ and this"),
    (
        "division by zero",
        "make sure that the divisor is not 0, or use cc_div(a, b), which is 0 then, as BPF's own division",
    ),
    (
        "too many arguments",
        "a function that is not inlined has at most 5 arguments in BPF: pass a struct, or use CC_INLINE",
    ),
];

fn remedy_of(said: &str) -> Cow<'static, str> {
    if said.contains("larger than the socket's room") {
        return format!("use fewer or narrower fields in the state: a socket has {ICSK_CA_PRIV_SIZE} bytes for it")
            .into();
    }
    let known = MISTAKES.iter().find(|(words, _)| said.contains(words)).map(|(_, remedy)| *remedy);
    known.unwrap_or("its messages above name the lines; docs/guide/adding-an-algorithm.md has the macros").into()
}

/// What clang has said, without what its code generator prints of itself where it gives up.
fn readable(said: &str, source: &Path) -> String {
    let lines = said.lines().take_while(|line| !line.starts_with("fatal error: error in backend"));
    lines.fold(String::new(), |text, line| {
        let place = line.strip_prefix("Error at line ").and_then(|rest| rest.split_once(": Unsupport signed division"));
        match place {
            Some((number, _)) => format!("{text}{}:{number}: error: signed division\n", source.display()),
            None => text + line + "\n",
        }
    })
}

fn write_headers(include: &Path) -> io::Result<()> {
    for (name, text) in HEADERS {
        let header = include.join(name);
        fs::create_dir_all(header.parent().unwrap_or(include))?;
        fs::write(&header, text)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_compiled_twice_gives_the_same_object() {
        let folder = TempDir::new().expect("a folder");
        let source = folder.path().join("mine.bpf.c");
        let text = crate::algorithm("reno").expect("it exists").source();
        fs::write(&source, text).expect("room for a file");
        let object = || compile(&source, Target::Bpf).expect("it compiles");
        assert_eq!(object(), object());
    }

    /// As clang 14 says it; everything from its fatal error on is about clang.
    #[test]
    fn of_a_crash_of_the_code_generator_the_line_is_left() {
        let said = "Error at line 26: Unsupport signed division for DAG: 0x6d35720: i32 = sdiv 0x1, 0x2, mine.bpf.c:26:40 @[ x ]\n\
                    fatal error: error in backend: Cannot select: 0x6d35720: i32 = sdiv\n  0x6d35310: i32 = sub\nPLEASE submit\n";
        assert_eq!(readable(said, Path::new("mine.bpf.c")), "mine.bpf.c:26: error: signed division\n");
        assert!(remedy_of(said).starts_with("divide unsigned numbers"));
        assert_eq!(readable("a.c:1:2: warning: x\n", Path::new("a.c")), "a.c:1:2: warning: x\n");
    }
}
