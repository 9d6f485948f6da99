// SPDX-License-Identifier: MIT OR Apache-2.0
//! Damaged and hostile object files, read by `ccctl check` and `ccctl load --dry-run` in processes with bounded memory and time:
//! each ends by itself, with a line that says what is wrong.
//!
//! The programs run without privileges, so that the kernel gets to see nothing of these objects: a fault of the kernel's would stop
//! the host. All that ccctl and libbpf do before that is done. 150 objects; with `CCCTL_LONG`, or after `CCCTL_OBJECTS=N`, more.
#![allow(clippy::unwrap_used)] // a test fails by panicking

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ccctl_catalog::algorithm;
use nix::sys::resource::{getrusage, UsageWho};
use tempfile::TempDir;

const SHORT: usize = 150;
const LONG: usize = 10_000;
const NOBODY: &str = "65534";
/// Address space of each process, as the process that looks at objects has it.
const MEMORY_BYTES: u64 = 1 << 30;
/// The looking process has 10 s; on a busy host that is more of the clock.
const LONGEST: Duration = Duration::from_secs(60);
const CPU_SECONDS: u32 = 30;
/// Larger than any object may be.
const ENORMOUS_BYTES: u64 = 17 << 20;
/// What commands end with that refuse an object, or that the kernel refuses for their lack of privileges.
const ENDINGS: [i32; 4] = [2, 3, 4, 5];

/// `SplitMix64`: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end.max(1) as u64).unwrap()
    }
}

/// Bytes that a reader takes for sizes, offsets and numbers of types.
const EXTREMES: [u32; 8] = [0, 1, 0x7f, 0xff, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff];

/// Where a change does most: the file's header, the table of sections at its end, or the types.
fn place(object: &[u8], random: &mut Random) -> usize {
    let types = object.windows(4).position(|bytes| bytes == [0x9f, 0xeb, 1, 0]).unwrap_or(0);
    let (start, length) = match random.below(4) {
        0 => (0, 64),
        1 => (object.len().saturating_sub(64 * 40), 64 * 40),
        2 => (types, 4096),
        _ => (0, object.len()),
    };
    (start + random.below(length)).min(object.len().saturating_sub(4))
}

fn change(object: &mut Vec<u8>, random: &mut Random) {
    if object.len() < 8 {
        return;
    }
    let at = place(object, random);
    match random.below(6) {
        0 => object[at] ^= 1 << random.below(8),
        1 => object[at] = random.next() as u8,
        2 | 3 => object[at..at + 4].copy_from_slice(&EXTREMES[random.below(EXTREMES.len())].to_le_bytes()),
        4 => {
            let (from, length) = (place(object, random), 1 + random.below(64));
            let length = length.min(object.len() - from.max(at));
            object.copy_within(from..from + length, at);
        }
        _ if random.below(8) == 0 => object.truncate(at),
        _ => object[at..at + 4].copy_from_slice(&(random.next() as u32).to_le_bytes()),
    }
}

fn mutant(number: usize) -> Vec<u8> {
    let mut random = Random(number as u64);
    let seeds = ["reno", "scalable", "cubic", "bbr"];
    let mut object = algorithm(seeds[number % seeds.len()]).unwrap().object().to_vec();
    for _ in 0..1 << random.below(6) {
        change(&mut object, &mut random);
    }
    object
}

/// A program that nobody can run, too: the folder of the build may be root's alone.
fn program(folder: &Path) -> PathBuf {
    let program = folder.join("ccctl");
    // Another process writes it: what a child of this one holds open for writing cannot be executed.
    let installed =
        Command::new("install").arg("-m755").arg(env!("CARGO_BIN_EXE_ccctl")).arg(&program).status().unwrap();
    assert!(installed.success());
    fs::set_permissions(folder, PermissionsExt::from_mode(0o755)).unwrap();
    program
}

fn run(program: &Path, words: &[&str], file: &Path) -> Output {
    let mut command = Command::new("prlimit");
    command.args([format!("--as={MEMORY_BYTES}"), format!("--cpu={CPU_SECONDS}"), "--core=0".to_owned()]);
    if nix::unistd::geteuid().is_root() {
        command.args(["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "--inh-caps=-all"]);
    }
    command.arg(program).args(words).arg(file).arg("--trust-writable").env("CCCTL_SOCKET", "");
    command.output().unwrap()
}

/// What became of all of them.
#[derive(Default)]
struct Counts {
    next: AtomicUsize,
    at_the_kernel: AtomicUsize,
    crashed: AtomicUsize,
    slow: AtomicUsize,
}

impl Counts {
    fn note(&self, output: &Output) {
        let said = String::from_utf8_lossy(&output.stderr);
        let counters = [
            (&self.at_the_kernel, "not permitted"),
            (&self.crashed, "reading it crashes"),
            (&self.slow, "reading it takes longer"),
        ];
        for (counter, words) in counters {
            counter.fetch_add(usize::from(said.contains(words)), Ordering::Relaxed);
        }
    }
}

/// What is wrong with how a command ended.
fn complaint(output: &Output, took: Duration) -> Option<String> {
    let said = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = said.lines().collect();
    if !output.status.code().is_some_and(|code| ENDINGS.contains(&code)) {
        return Some(format!("ended with {}: {said}", output.status));
    }
    let is_said = lines.first().is_some_and(|line| line.starts_with("ccctl: ") && line.len() > 12);
    if !is_said || lines.len() != 2 || !lines[1].starts_with("  try: ") || !output.stdout.is_empty() {
        return Some(format!("does not say what is wrong and what to try: {said}"));
    }
    if said.chars().any(|letter| letter.is_control() && letter != '\n') {
        return Some(format!("writes control characters: {said:?}"));
    }
    (took > LONGEST).then(|| format!("took {took:?}"))
}

fn objects() -> usize {
    let wanted = std::env::var("CCCTL_OBJECTS").ok().map(|text| text.parse().unwrap());
    wanted.unwrap_or(if std::env::var_os("CCCTL_LONG").is_some() { LONG } else { SHORT })
}

#[test]
fn attack_mutated_objects_end_in_a_message_within_bounds() {
    let folder = TempDir::new().unwrap();
    let (program, count) = (program(folder.path()), objects());
    let counts = Counts::default();
    let work = || {
        let mut longest = Duration::ZERO;
        let mut complaints = Vec::new();
        loop {
            let number = counts.next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return (longest, complaints);
            }
            let file = folder.path().join(format!("{number}.o"));
            fs::write(&file, mutant(number)).unwrap();
            for words in [&["check"][..], &["load", "--dry-run", "--as", "fuzzed"]] {
                let began = Instant::now();
                let output = run(&program, words, &file);
                let took = began.elapsed();
                longest = longest.max(took);
                counts.note(&output);
                complaints
                    .extend(complaint(&output, took).map(|text| format!("object {number}, {}: {text}", words[0])));
            }
            fs::remove_file(&file).unwrap();
        }
    };
    let ended: Vec<_> = std::thread::scope(|scope| {
        let threads = [scope.spawn(work), scope.spawn(work)];
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let longest = ended.iter().map(|(longest, _)| *longest).max().unwrap();
    let memory_mb = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap().max_rss() / 1024;
    let [at_the_kernel, crashed, slow] =
        [counts.at_the_kernel, counts.crashed, counts.slow].map(AtomicUsize::into_inner);
    println!(
        "{count} objects, 2 commands each: {at_the_kernel} came to the kernel; the longest took {longest:?}, the largest \
         {memory_mb} MB; the process that looks first crashed {crashed} times, and was ended for its time {slow} times"
    );
    assert!((1..2 * count).contains(&at_the_kernel), "some objects are still whole, and others are not");
    let complaints: Vec<&String> = ended.iter().flat_map(|(_, complaints)| complaints).collect();
    assert!(complaints.is_empty(), "{} of {}: {complaints:#?}", complaints.len(), 2 * count);
}

/// Holes take no room on the disk; what is read is bounded.
#[test]
fn attack_enormous_files_are_refused_unread() {
    let folder = TempDir::new().unwrap();
    let (program, file) = (program(folder.path()), folder.path().join("enormous.o"));
    for bytes in [ENORMOUS_BYTES, 1 << 40] {
        fs::write(&file, algorithm("reno").unwrap().object()).unwrap();
        fs::File::options().write(true).open(&file).unwrap().set_len(bytes).unwrap();
        let began = Instant::now();
        let output = run(&program, &["check"], &file);
        assert_eq!(complaint(&output, began.elapsed()), None);
        assert!(String::from_utf8_lossy(&output.stderr).contains("larger than 16 MB"));
    }
}
