// SPDX-License-Identifier: MIT OR Apache-2.0
//! One emulated machine, from boot to answer.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use ccctl_console::{Exit, Fault};
use tempfile::TempDir;

use super::image;
use super::inside::{ANSWER, COMMAND, PROGRAM};
use super::Verdict;

/// Longest time that a guest takes. Booting takes 3 to 9 s where a processor is free.
const LONGEST: Duration = Duration::from_secs(300);
/// Between two looks at whether it has ended.
const POLL: Duration = Duration::from_millis(50);
/// Memory of the kernel, to which some images are added: packed, unpacked, and mapped.
const KERNEL_MEGABYTES: u64 = 512;
const IMAGES_IN_MEMORY: u64 = 3;

/// What emulates machines of this processor's kind.
struct Emulator {
    program: &'static str,
    package: &'static str,
    machine: [&'static str; 4],
    console: &'static str,
}

const EMULATOR: Emulator = if cfg!(target_arch = "aarch64") {
    Emulator {
        program: "qemu-system-aarch64",
        package: "qemu-system-arm",
        machine: ["-M", "virt", "-cpu", "neoverse-n1"],
        console: "ttyAMA0",
    }
} else {
    Emulator {
        program: "qemu-system-x86_64",
        package: "qemu-system-x86",
        machine: ["-M", "q35", "-cpu", "max,-cx16"], // kernels/boot says why
        console: "ttyS0",
    }
};

/// Refuses a host without QEMU.
pub fn require_emulator() -> Result<(), Fault> {
    let asked = Command::new(EMULATOR.program).arg("--version").stdin(Stdio::null()).output();
    if asked.is_ok_and(|output| output.status.success()) {
        return Ok(());
    }
    let remedy = format!("apt-get install --no-install-recommends {}", EMULATOR.package);
    Err(Fault::new(Exit::Host, format!("there is no {} here", EMULATOR.program), remedy))
}

/// Boots a kernel and has it look at the object; `word` is how the kernel was asked for.
pub fn ask(word: &str, kernel: &Path, object: &[u8]) -> anyhow::Result<Verdict> {
    let folder = TempDir::new()?;
    let (image, console) = (folder.path().join("image"), folder.path().join("console"));
    let image_bytes = image::write(&image, object).context("write the guest's image")?;
    let megabytes = KERNEL_MEGABYTES + IMAGES_IN_MEMORY * (image_bytes >> 20);
    let mut command = Command::new(EMULATOR.program);
    // KVM is not asked for: not every machine that offers it can run a distribution's kernel with it.
    command.args(EMULATOR.machine).args(["-accel", "tcg,thread=single", "-smp", "1", "-m", &megabytes.to_string()]);
    command.args(["-nodefaults", "-no-reboot", "-display", "none", "-serial", &format!("file:{}", console.display())]);
    command.arg("-kernel").arg(kernel).arg("-initrd").arg(&image);
    let first = format!("rdinit={PROGRAM} -- {COMMAND}");
    let words = format!("console={} panic=-1 quiet loglevel=1 no_timer_check {first}", EMULATOR.console);
    command.args(["-append", &words]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let said = ended(command.spawn().with_context(|| format!("start {}", EMULATOR.program))?)?;
    let console = fs::read(&console).unwrap_or_default(); // without one there is no answer
    let answer = String::from_utf8_lossy(&console).into_owned();
    Ok(match answer.lines().find_map(|line| line.trim().strip_prefix(ANSWER)) {
        Some(line) => Verdict { kernel: word.to_owned(), ..serde_json::from_str(line).context("read the answer")? },
        None => Verdict::missing(word, no_answer(&answer, &said)),
    })
}

/// Waits for its end, or ends it; gives what it wrote on stderr.
fn ended(mut child: Child) -> anyhow::Result<String> {
    let started = Instant::now();
    while child.try_wait()?.is_none() {
        if started.elapsed() > LONGEST {
            child.kill()?;
        }
        std::thread::sleep(POLL);
    }
    let output = child.wait_with_output()?;
    Ok(String::from_utf8_lossy(&output.stderr).into_owned())
}

/// The kernel's own last words, or the emulator's.
fn no_answer(console: &str, said: &str) -> Fault {
    let panic = console.lines().find(|line| line.contains("Kernel panic"));
    let last = panic.or_else(|| said.lines().last()).unwrap_or("the guest said nothing");
    let cause = format!("the guest gave no answer: {}", last.trim());
    Fault::new(Exit::Unexpected, cause, "name a kernel of this processor, with BTF and drivers for a serial port")
}
