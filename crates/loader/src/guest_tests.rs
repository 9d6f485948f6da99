// SPDX-License-Identifier: MIT OR Apache-2.0
//! What only a guest of `just test-kernels` runs: the first test would wedge a kernel for good if the guard that it looks
//! at were broken, the others look at each kernel of the matrix.

use std::collections::VecDeque;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Mutex;
use std::time::Duration;

use ccctl_catalog::{algorithms, Algorithm};
use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::TcpCongestion;

use crate::instance::Instance;
use crate::kept_types::{structs_of_algorithms, KeptTypes};
use crate::kernel_ops::KernelOps;
use crate::load::{load, LoadRequest};
use crate::load_object::{load_by, load_object};
use crate::migrate::migrate;
use crate::object::{fit_object, full_load, LoadedObject, Program};
use crate::recover::recover;
use crate::sockets::SocketFilter;
use crate::unload::{unload, UnloadOptions};
use crate::writable_fields::{may_write, offset_of};
use crate::{bpffs, sys};

const BPF_LOG_STATS: u32 = 4; // include/linux/bpf_verifier.h

fn require_guest() {
    let line = fs::read_to_string("/proc/cmdline").expect("/proc is mounted");
    assert!(line.contains("ccctl.guest=throw-away"), "run it with just test-kernels");
}

fn loaded(program: &Program) -> (LoadedObject, OwnedFd) {
    let object = load_object(program, "guest_test", "", &program.defaults()).expect("reno loads");
    let map = object.ops_map().expect("it has a struct_ops map");
    sys::write_value(map.as_fd(), &object.value).expect("the kernel takes the table");
    (object, map)
}

#[test]
#[ignore = "only in a guest: just test-kernels"]
fn guest_update_link_refuses_the_map_that_the_link_has() {
    require_guest();
    if !KernelOps::get().expect("struct_ops").has_links {
        return;
    }
    let program = Program::named("reno").expect("reno is built in");
    let (_first_object, first) = loaded(&program);
    let (_second_object, second) = loaded(&program);
    let link = sys::create_link(first.as_fd()).expect("it registers");
    let refused = |map: &OwnedFd| {
        let answer = sys::update_link(link.as_fd(), map.as_fd());
        answer.is_err_and(|error| error.to_string().starts_with("refused: the link has map"))
    };
    assert!(refused(&first));
    sys::update_link(link.as_fd(), second.as_fd()).expect("another map is no self-update");
    assert!(refused(&second));
    let duplicate = second.try_clone().expect("a descriptor can be duplicated");
    assert!(refused(&duplicate), "another descriptor of the same map");
    sys::update_link(link.as_fd(), first.as_fd()).expect("back to the first");
    assert!(refused(&first));
}

/// With the few types that are kept, libbpf makes the same programs as with all types of the kernel.
#[test]
#[ignore = "only in a guest: just test-kernels"]
fn guest_the_short_way_loads_the_same_programs() {
    let types = KeptTypes::read(structs_of_algorithms()).expect("the kernel has BTF");
    for algorithm in algorithms() {
        let name = algorithm.name();
        let program = Program::named(name).expect("an algorithm of the catalogue");
        let full = full_load(&program, "guest_test", "").expect(name);
        let short = load_by(&types, &program, "guest_test", "").expect(name);
        assert_eq!(short.tags().expect(name), full.tags().expect(name), "{name}");
        if KernelOps::get().expect("struct_ops").has_links {
            let map = short.ops_map().expect(name);
            sys::write_value(map.as_fd(), &short.value).expect("the kernel takes the table");
            // registers nothing yet
        }
    }
}

/// Before 6.4 a kill between pin and registration leaves a pin of what is not registered. The same is made here.
#[test]
#[ignore = "only in a guest: just test-kernels"]
fn guest_a_load_that_was_cut_short_is_no_instance() {
    const NAME: &str = "guest_leftover";
    require_guest();
    let lock = recover(Duration::from_secs(5)).expect("nobody else is at work").lock;
    let program = Program::named("reno").expect("reno is built in");
    let leave_behind = || {
        let object = load_object(&program, NAME, "", &program.defaults()).expect("reno loads");
        let map = object.ops_map().expect("it has a struct_ops map");
        let folder = bpffs::PinFolder::make().expect("the BPF file system is mounted");
        let path = folder.instance(NAME).expect("it is private");
        sys::pin(map.as_fd(), &path).expect("a map can be pinned");
    };
    let names = || Instance::all().expect("list works").into_iter().map(|instance| instance.name).collect::<Vec<_>>();
    let unload_it = || unload(&lock, &[NAME.to_owned()], &UnloadOptions::default()).expect("it goes").unloaded;

    leave_behind();
    assert!(names().is_empty());
    let error = Instance::named(NAME).expect_err("it is not registered");
    assert!(error.remedy().is_some_and(|remedy| remedy.contains("was interrupted")));
    assert_eq!(unload_it(), [NAME]);
    assert!(!bpffs::instance_names().expect("it can be read").contains(&NAME.to_owned()));

    leave_behind();
    let request = LoadRequest { program: &program, name: NAME, profile: "", parameters: &program.defaults() };
    assert!(load(&lock, &request).expect("it takes the place of what is left").changed);
    assert_eq!(names(), [NAME]);
    assert_eq!(unload_it(), [NAME]);
}

/// `sk_pacing_rate` may be written on every kernel of the matrix, so the probe's "no" is tried on another field.
#[test]
#[ignore = "only in a guest: just test-kernels"]
fn guest_the_verifier_tells_what_may_be_written() {
    require_guest();
    let [rate, status] = ["sk_pacing_rate", "sk_pacing_status"].map(|field| offset_of("sock", field).expect("a field"));
    let clamp = offset_of("tcp_sock", "snd_cwnd_clamp").expect("a field");
    assert!(may_write(rate, status).expect("the verifier answers"));
    assert!(!may_write(rate, clamp).expect("the verifier answers"));
}

/// Buckets of the hash table of the namespace made here: few, so that a look at one does not fit the reader's buffer and is
/// gone on with later. That is where kernels before 6.17 skip sockets, when others of the bucket have gone meanwhile.
const BUCKETS: &str = "16";
const HELD: usize = 4000;
const COMING_AND_GOING: usize = 1000;

/// A network namespace of this thread, with a loopback and few buckets.
fn enter_namespace_of_few_buckets() {
    let unshare = || nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNET).expect("root may");
    unshare();
    fs::write("/proc/sys/net/ipv4/tcp_child_ehash_entries", BUCKETS).expect("since Linux 6.1");
    unshare();
    let up = std::process::Command::new("ip").args(["link", "set", "lo", "up"]).status().expect("there is ip");
    assert!(up.success());
}

fn use_by_default(name: &str) {
    fs::write("/proc/sys/net/ipv4/tcp_congestion_control", name).expect("the kernel has it");
}

/// Opens connections and closes the oldest ones until told to stop.
fn come_and_go(listener: &TcpListener, stop: &AtomicBool) -> usize {
    let mut open = VecDeque::new();
    let mut count = 0;
    while !stop.load(Ordering::Relaxed) {
        open.push_back(open_connection(listener));
        count += 1;
        if open.len() > COMING_AND_GOING {
            open.pop_front();
        }
    }
    count
}

fn open_connection(listener: &TcpListener) -> [TcpStream; 2] {
    let address = listener.local_addr().expect("it is bound");
    let client = TcpStream::connect(address).expect("it listens");
    let server = listener.accept().expect("a connection waits").0;
    [client, server]
}

/// 8,000 sockets stay, 2,000 others come and go; each move must reach all of those that stay.
#[test]
#[ignore = "only in a guest: just test-kernels"]
fn guest_migration_leaves_none_behind_while_others_come_and_go() {
    require_guest();
    let lock = recover(Duration::from_secs(5)).expect("nobody else is at work").lock;
    let program = Program::named("reno").expect("reno is built in");
    for name in ["guest_from", "guest_to"] {
        let request = LoadRequest { program: &program, name, profile: "", parameters: &program.defaults() };
        load(&lock, &request).expect("it loads");
    }
    enter_namespace_of_few_buckets();
    let path = format!("/proc/self/task/{}/ns/net", nix::unistd::gettid());
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a loopback");
    use_by_default("guest_from");
    let held: Vec<_> = (0..HELD).map(|_| open_connection(&listener)).collect();
    use_by_default("cubic");
    let stop = AtomicBool::new(false);
    let others = std::thread::scope(|scope| {
        let others = TcpListener::bind("127.0.0.1:0").expect("there is a loopback");
        let stop = &stop;
        let others = scope.spawn(move || come_and_go(&others, stop));
        for (from, to) in [("guest_from", "guest_to"), ("guest_to", "guest_from")].into_iter().cycle().take(6) {
            let filter = SocketFilter { namespace: Some(path.clone()), ..SocketFilter::of_kernel_name(from) };
            let done = migrate(&lock, &filter, to, false, |_, _| {}).expect("it moves");
            println!("migrated {} of {} in {} passes", done.moved, done.found, done.passes);
            let behind = held.iter().flatten().filter(|socket| algorithm_of(socket) != to).count();
            assert_eq!((behind, done.is_settled, done.failed.len()), (0, true, 0), "{done:?}");
        }
        stop.store(true, Ordering::Relaxed);
        others.join().expect("it goes on to the end")
    });
    println!("migrated {} sockets while {others} connections came and went", 2 * HELD);
    drop(held);
    use_by_default("reno");
    let names = ["guest_from".to_owned(), "guest_to".to_owned()];
    unload(&lock, &names, &UnloadOptions { force: true, ..UnloadOptions::default() }).expect("they go");
}

fn algorithm_of(socket: &TcpStream) -> String {
    let name = getsockopt(socket, TcpCongestion).expect("a socket has one");
    name.to_string_lossy().trim_end_matches('\0').to_owned()
}

/// Prints a line for each program of each algorithm: what the verifier says of it.
#[test]
#[ignore = "only in a guest: just test-kernels"]
fn guest_verifier_cost() {
    require_guest();
    for algorithm in algorithms() {
        for line in verifier_cost(algorithm) {
            println!("cost {} {line}", algorithm.name());
        }
    }
}

/// libbpf passes the verifier's log of a program that it accepts to its printer, as a debug message.
fn verifier_cost(algorithm: &Algorithm) -> Vec<String> {
    static LOG: Mutex<String> = Mutex::new(String::new());
    #[allow(clippy::needless_pass_by_value)] // libbpf-rs fixes the signature
    fn collect(_: libbpf_rs::PrintLevel, message: String) {
        LOG.lock().expect("nobody panics with it").push_str(&message);
    }
    let program = Program::named(algorithm.name()).expect("an algorithm of the catalogue");
    let mut fitted = fit_object(&program, "guest_test", "", None).expect("it opens");
    for mut program in fitted.open.progs_mut() {
        program.set_log_level(BPF_LOG_STATS);
    }
    let before = libbpf_rs::set_print(Some((libbpf_rs::PrintLevel::Debug, collect)));
    let object = fitted.open.load();
    libbpf_rs::set_print(before);
    let log = std::mem::take(&mut *LOG.lock().expect("nobody panics with it"));
    if let Err(error) = object {
        panic!("{}: {error}; the log ends with\n{}", algorithm.name(), last_lines(&log));
    }
    log.split("prog '").skip(1).filter_map(cost_line).collect()
}

/// Those that say what the verifier refused, and where.
fn last_lines(log: &str) -> String {
    const MOST: usize = 30;
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(MOST)..].join("\n")
}

/// `NAME INSTRUCTIONS STATES STACK_BYTES` out of a program's part of the log; subprograms have a stack each.
fn cost_line(part: &str) -> Option<String> {
    let (name, log) = part.split_once("': -- BEGIN PROG LOAD LOG --")?;
    let stack = log.lines().find_map(|line| line.strip_prefix("stack depth ")).unwrap_or("0");
    let stack_bytes: u32 = stack.split('+').filter_map(|depth| depth.trim().parse::<u32>().ok()).sum();
    let processed = log.lines().find(|line| line.starts_with("processed "))?;
    let number_after = |word: &str| {
        let mut words = processed.split_whitespace().skip_while(|candidate| *candidate != word);
        words.nth(1).and_then(|number| number.parse::<u64>().ok())
    };
    Some(format!("{name} {} {} {stack_bytes}", number_after("processed")?, number_after("total_states")?))
}
