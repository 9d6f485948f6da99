// SPDX-License-Identifier: GPL-2.0-only
//! What `ss` says of each TCP socket: the second witness beside ccctl.

use std::process::Command;
use std::time::Duration;

use super::{run_ok, Namespace, TestbedError};

const LIMIT: Duration = Duration::from_secs(30);

/// One TCP socket as `ss` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Socket {
    /// `ESTAB`, `LISTEN`, ...
    pub state: String,
    /// Local address and port.
    pub local: String,
    /// Remote address and port.
    pub remote: String,
    /// Name of the congestion control algorithm; none where the kernel does not tell (time-wait).
    pub algorithm: Option<String>,
}

/// All TCP sockets of a namespace in these states (`established`, `listening`, `all`, ...).
pub fn sockets(namespace: &Namespace, state: &str) -> Result<Vec<Socket>, TestbedError> {
    let mut ss = Command::new("ss");
    ss.args(["-H", "-O", "-t", "-i", "-n", "-e", "state", state]);
    let text = namespace.enter(|| run_ok(&mut ss, LIMIT))??;
    // With a filter of one state, ss leaves the column of the state out.
    let named = matches!(state, "all" | "connected" | "synchronized" | "bucket" | "big");
    Ok(text.lines().filter_map(|line| parse(line, if named { None } else { Some(state) })).collect())
}

fn parse(line: &str, state: Option<&str>) -> Option<Socket> {
    let mut words = line.split_whitespace();
    let state = match state {
        Some(state) => state.to_owned(),
        None => words.next()?.to_owned(),
    };
    let mut words = words.skip(2); // the queues
    let (local, remote) = (words.next()?.to_owned(), words.next()?.to_owned());
    Some(Socket { state, local, remote, algorithm: algorithm(words) })
}

/// The algorithm stands between the option flags and the first `key:value` that every socket has.
fn algorithm<'a>(words: impl Iterator<Item = &'a str>) -> Option<String> {
    const FLAGS: [&str; 6] = ["ts", "sack", "ecn", "ecnseen", "fastopen", "<->"];
    const NEXT: [&str; 6] = ["wscale:", "rto:", "backoff:", "rtt:", "mss:", "cwnd:"];
    let mut before = None;
    for word in words {
        if NEXT.iter().any(|key| word.starts_with(key)) {
            return before.filter(|word: &&str| !FLAGS.contains(word) && !word.contains(':')).map(str::to_owned);
        }
        before = Some(word);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const ESTABLISHED: &str = "0 0 10.77.0.1:41402 10.77.0.2:5201 timer:(on,200ms,0) ino:9 sk:1 cgroup:/ <-> ts sack \
        bpf_cubic wscale:7,7 rto:201 rtt:0.1/0.05 mss:1448 cwnd:10";

    #[test]
    fn the_algorithm_is_the_word_after_the_flags() {
        let socket = parse(ESTABLISHED, Some("established"));
        let expected = Socket {
            state: "established".into(),
            local: "10.77.0.1:41402".into(),
            remote: "10.77.0.2:5201".into(),
            algorithm: Some("bpf_cubic".into()),
        };
        assert_eq!(socket, Some(expected));
    }

    #[test]
    fn a_listener_and_a_socket_without_name() {
        let listener = "LISTEN 0 128 *:22 *:* ino:3 sk:4 <-> reno cwnd:10";
        assert_eq!(parse(listener, None).and_then(|s| s.algorithm), Some("reno".into()));
        let waiting = "TIME-WAIT 0 0 10.0.0.1:1 10.0.0.2:2 timer:(timewait,59sec,0) ino:0 sk:5";
        assert_eq!(parse(waiting, None).and_then(|s| s.algorithm), None);
        let unnamed = "0 0 10.0.0.1:1 10.0.0.2:2 ts sack wscale:7,7 rto:1";
        assert_eq!(parse(unnamed, Some("established")).and_then(|s| s.algorithm), None);
    }
}
