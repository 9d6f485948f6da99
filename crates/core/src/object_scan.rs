// SPDX-License-Identifier: MIT OR Apache-2.0
//! A first look at an object file, by a process of its own: libbpf trusts what it reads, and a damaged file can crash it or
//! keep it for ever. The process gets the bytes that are loaded afterwards, not the file.

use std::fs::{self, File};
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use ccctl_console::{Exit, UsageError};
use ccctl_loader::Program;
use clap::Args;
use nix::fcntl::{fcntl, FcntlArg, SealFlag};
use nix::sys::memfd::{memfd_create, MFdFlags};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::getppid;

use crate::error;
use crate::sys;

/// The command, which is not for people, that looks.
pub const COMMAND: &str = "look-at-object";
/// Largest object file. Those that are built in have 16 to 40 kB.
pub const MOST_OBJECT_BYTES: u64 = 16 << 20;
/// Longest time that a look takes. Those of the algorithms that are built in take a tenth of a second.
const LONGEST: Duration = Duration::from_secs(10);
/// Longest time that opening takes, which asks the kernel nothing. Built-in ones take some milliseconds.
const LONGEST_TO_OPEN: Duration = Duration::from_secs(2);
/// Between two looks at whether it has ended.
const POLL: Duration = Duration::from_millis(5);
/// Address space of the process: itself, the kernel's types and the object.
const MEMORY_BYTES: u64 = 1 << 30;
/// Whom the kernel ends first where memory is short; the daemon's own value would be inherited.
const OOM_SCORE: &str = "1000";

/// How far a look goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// The file's types and tables.
    Opened,
    /// Also all that is done to load it, with the kernel's verifier.
    Verified,
}

/// What the process that looks is told.
#[derive(Debug, Args)]
pub struct Look {
    /// The process that waits for the answer
    pub parent: u32,
    /// Only open the file
    #[arg(long)]
    pub open_only: bool,
}

impl Look {
    fn depth(&self) -> Depth {
        if self.open_only {
            Depth::Opened
        } else {
            Depth::Verified
        }
    }
}

impl Depth {
    fn longest(self) -> Duration {
        match self {
            Self::Opened => LONGEST_TO_OPEN,
            Self::Verified => LONGEST,
        }
    }
}

/// Has these bytes looked at. What is wrong with an object that can be read is told where it is loaded.
pub fn look(label: &str, object: &[u8]) -> anyhow::Result<()> {
    look_to(Depth::Verified, label, object)
}

/// The same, as far as is needed.
pub fn look_to(depth: Depth, label: &str, object: &[u8]) -> anyhow::Result<()> {
    let damaged = |how: &str| {
        let cause = format!("{label} is damaged: reading it {how}");
        Err(UsageError::new(cause, "compile it again").into())
    };
    match ended(start(depth, object).context("inspect an object file")?, depth.longest())? {
        None => {
            let cause = format!(
                "{label} is damaged or has an endless loop: reading it takes longer than {} s",
                depth.longest().as_secs()
            );
            Err(UsageError::new(cause, "give each loop a constant bound, or compile it again").into())
        }
        Some(status) if status.code().is_none() => damaged("crashes"),
        Some(status) if status.code() == Some((Exit::NotLooked as u8).into()) => {
            anyhow::bail!("{label} cannot be inspected: the inspecting process cannot limit itself")
        }
        Some(_) => Ok(()),
    }
}

fn start(depth: Depth, object: &[u8]) -> anyhow::Result<Child> {
    // The link leads to the running program also where its file was replaced.
    let mut command = Command::new("/proc/self/exe");
    command.arg(COMMAND).arg(std::process::id().to_string()).env_clear();
    if depth == Depth::Opened {
        command.arg("--open-only");
    }
    command.stdin(sealed(object)?).stdout(Stdio::null()).stderr(Stdio::null());
    Ok(command.spawn()?)
}

/// The bytes as a file that nobody can change any more.
fn sealed(object: &[u8]) -> anyhow::Result<File> {
    let flags = MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING;
    let mut file = File::from(memfd_create(c"ccctl-object", flags)?);
    file.write_all(object)?;
    file.rewind()?;
    let seals = SealFlag::F_SEAL_WRITE | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_SEAL;
    fcntl(&file, FcntlArg::F_ADD_SEALS(seals))?;
    Ok(file)
}

/// None where it has not ended in time, of the clock or of a processor; it is ended then.
fn ended(mut child: Child, longest: Duration) -> anyhow::Result<Option<ExitStatus>> {
    let started = Instant::now();
    while started.elapsed() < longest {
        if let Some(status) = child.try_wait()? {
            return Ok((status.signal() != Some(Signal::SIGXCPU as i32)).then_some(status));
        }
        std::thread::sleep(POLL);
    }
    child.kill()?;
    child.wait()?;
    Ok(None)
}

/// The process's side: limits itself, and then reads what stdin has, as `load` does it.
pub fn run(look: &Look) -> Exit {
    if confine(look).is_err() {
        return Exit::NotLooked;
    }
    ccctl_loader::keep_no_verifier_logs();
    let mut object = Vec::new();
    let read = std::io::stdin().read_to_end(&mut object).map_err(anyhow::Error::from);
    let looked = read.and_then(|_| {
        let program = Program::of_object("the object", object)?;
        match look.depth() {
            Depth::Opened => drop(program.default_name()?),
            Depth::Verified => drop(ccctl_loader::check(&program)?),
        }
        Ok(())
    });
    looked.map_or_else(|error| error::ending(&error).exit, |()| Exit::Done)
}

fn confine(look: &Look) -> anyhow::Result<()> {
    set_pdeathsig(Signal::SIGKILL)?;
    anyhow::ensure!(u32::try_from(getppid().as_raw()) == Ok(look.parent), "the parent has ended");
    fs::write("/proc/self/oom_score_adj", OOM_SCORE)?;
    sys::limit_address_space(MEMORY_BYTES)?;
    sys::limit_processor_time(look.depth().longest())?;
    Ok(())
}
