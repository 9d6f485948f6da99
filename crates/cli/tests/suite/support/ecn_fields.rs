// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the IP headers of a connection say of ECN: 0 nothing, 1 ECT(1), 2 ECT(0), 3 a mark (RFC 3168 section 5).

use std::process::Command;
use std::time::Duration;

use ccctl_testbed::Namespace;

const LIMIT: Duration = Duration::from_secs(20);

/// Data from one end of a connection to the other over the algorithms that are named, and the ECN fields of its packets: those of the
/// handshake, then those with data.
const ECN_FIELDS: &str = "
import socket, sys
raw = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
raw.settimeout(0.5)
listener = socket.socket()
listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, sys.argv[2].encode())
listener.bind(('127.0.0.1', 0))
listener.listen()
client = socket.socket()
client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, sys.argv[1].encode())
client.connect(listener.getsockname())
server = listener.accept()[0]
for _ in range(20):
    client.sendall(bytes(1000))
    server.recv(1000)
handshake, data = set(), set()
try:
    while True:
        packet = raw.recv(2000)
        is_syn = packet[33] & 2
        if is_syn or len(packet) > 1000:
            (handshake if is_syn else data).add(packet[1] & 3)
except TimeoutError:
    print(*sorted(handshake), 'then', *sorted(data))
";

/// Of a connection on the loopback of a namespace: `0 2 then 0`, the fields of the handshake and of what the client sends then.
pub fn ecn_fields(namespace: &Namespace, client: &str, server: &str) -> String {
    let mut python = Command::new("python3");
    let seen = namespace.run(python.args(["-c", ECN_FIELDS, client, server]), LIMIT).unwrap();
    assert!(seen.success(), "{}", seen.stderr);
    seen.stdout.trim().to_owned()
}
