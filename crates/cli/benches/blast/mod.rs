// SPDX-License-Identifier: MIT OR Apache-2.0
//! Connections over the emulated path that send zeros as fast as they may.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::Command;
use std::thread::spawn;
use std::time::Duration;

use ccctl_path::{Path, RECEIVER_V4};
use ccctl_testbed::connect;

const BUFFER_BYTES: usize = 256 * 1024;
const LIMIT: Duration = Duration::from_secs(10);

/// From the first sender. Their threads end when the connections are cut off.
pub fn blast(path: &Path, algorithm: &str, flows: usize) {
    let listener = path.endpoints().receiver().enter(|| TcpListener::bind((RECEIVER_V4, 0)).unwrap()).unwrap();
    let to = listener.local_addr().unwrap().to_string();
    for _ in 0..flows {
        let mut sender = path.endpoints().sender(0).enter(|| connect(&to, Some(algorithm), LIMIT).unwrap()).unwrap();
        let (mut receiver, _) = listener.accept().unwrap();
        let (mut sink, source) = (vec![0; BUFFER_BYTES], vec![0; BUFFER_BYTES]);
        spawn(move || while receiver.read(&mut sink).is_ok_and(|bytes| bytes > 0) {});
        spawn(move || while sender.write(&source).is_ok() {});
    }
}

/// Ends all connections of both ends at once.
pub fn cut_off(path: &Path) {
    let mut cut = Command::new("ss");
    cut.args(["-K", "-t", "-n", "state", "established"]);
    for end in [path.endpoints().sender(0), path.endpoints().receiver()] {
        end.run(&mut cut, LIMIT).unwrap();
    }
}
