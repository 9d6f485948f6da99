//! What the kernel says of a connection, again and again. With `native` and `btf` the only place with `unsafe`.

#![allow(unsafe_code)]

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::net::TcpStream;
use std::os::fd::AsRawFd as _;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use nix::libc;

const EVERY: Duration = Duration::from_millis(20);
/// The part of `struct tcp_info` of linux/tcp.h that is read.
const BYTES: usize = 128;
/// `TCP_ESTABLISHED`
const ESTABLISHED: u8 = 1;

/// Writes a line to this file every 20 ms, as long as the connection is open: `MS CWND SSTHRESH BYTES_ACKED RETRANSMITTED
/// CA_STATE`, with milliseconds since `start`.
pub fn watch(stream: &TcpStream, start: Instant, file: &Path) -> Result<()> {
    let mut out = BufWriter::new(File::create(file)?);
    let mut due = Instant::now();
    loop {
        let bytes = tcp_info(stream)?;
        if bytes[0] != ESTABLISHED {
            return Ok(out.flush()?);
        }
        let u32_at = |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let acked_bytes = u64::from(u32_at(120)) | u64::from(u32_at(124)) << 32;
        let ms = start.elapsed().as_millis();
        writeln!(out, "{ms} {} {} {acked_bytes} {} {}", u32_at(80), u32_at(76), u32_at(100), bytes[1])?;
        due += EVERY;
        thread::sleep(due.saturating_duration_since(Instant::now()));
    }
}

fn tcp_info(stream: &TcpStream) -> std::io::Result<[u8; BYTES]> {
    let mut bytes = [0_u8; BYTES];
    let mut length = BYTES as libc::socklen_t;
    // SAFETY: the socket is open, and the kernel writes at most `length` bytes to the buffer, which outlives the call.
    let result = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            bytes.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if result == 0 {
        Ok(bytes)
    } else {
        Err(std::io::Error::last_os_error())
    }
}
