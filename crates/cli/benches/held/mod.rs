// SPDX-License-Identifier: MIT OR Apache-2.0
//! Many idle connections of one namespace, held by processes of their own.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use ccctl_testbed::{connect, Namespace};
use nix::sys::resource::{getrlimit, setrlimit, Resource};

const LIMIT: Duration = Duration::from_secs(120);
/// Both ends of a connection are sockets of the namespace.
pub const ENDS: usize = 2;
/// A process has 20,000 files at most on some hosts.
const PAIRS_PER_PROCESS: usize = 9_000;

/// Is this process one that only holds connections? Then it has held them by now.
pub fn is_holder(words: &[String]) -> bool {
    match words {
        [first, address, pairs] if first == "--hold" => hold(address, pairs.parse().unwrap()),
        _ => return false,
    }
    true
}

/// Connections over loopback, held by processes of their own: one may have only so many files open.
pub fn open(namespace: &Namespace, pairs: usize) -> Vec<Child> {
    namespace.set_sysctl("net/ipv4/tcp_congestion_control", "reno").unwrap();
    let starts = (0..pairs).step_by(PAIRS_PER_PROCESS).enumerate();
    let start = |(number, first): (usize, usize)| {
        let (address, count) = (format!("127.0.0.{}", 2 + number), (pairs - first).min(PAIRS_PER_PROCESS));
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--hold", &address, &count.to_string()]).stdin(Stdio::piped()).stdout(Stdio::piped());
        namespace.enter(|| command.spawn().unwrap()).unwrap()
    };
    let mut holders: Vec<Child> = starts.map(start).collect();
    for holder in &mut holders {
        holder.stdout.take().unwrap().read_exact(&mut [0]).unwrap();
    }
    holders
}

/// The process that holds some: says that they are open, and waits for the end of its input.
fn hold(address: &str, pairs: usize) {
    let files = (ENDS * pairs) as u64 + 100;
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, soft.max(files), hard.max(files)).unwrap();
    let listener = TcpListener::bind((address, 0)).unwrap();
    let to = listener.local_addr().unwrap().to_string();
    let pair = |_| (connect(&to, None, LIMIT).unwrap(), listener.accept().unwrap().0);
    let held: Vec<_> = (0..pairs).map(pair).collect();
    drop(listener);
    std::io::stdout().write_all(b".").unwrap();
    std::io::stdout().flush().unwrap();
    let _ = std::io::stdin().read(&mut [0]); // the end, however it comes
    drop(held);
}

/// Closes all.
pub fn end(holders: Vec<Child>) {
    for mut holder in holders {
        drop(holder.stdin.take());
        holder.wait().unwrap();
    }
}
