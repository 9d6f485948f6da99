// SPDX-License-Identifier: GPL-2.0-only
//! What the kernel says of a connection, again and again. With `native` and `btf` the only place with `unsafe`.

#![allow(unsafe_code)]

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::net::TcpStream;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use nix::libc;

const EVERY: Duration = Duration::from_millis(20);
/// The part of `struct tcp_info` of linux/tcp.h that is read.
const BYTES: usize = 128;
/// `TCP_ESTABLISHED`
const ESTABLISHED: u8 = 1;
/// `TCP_CA_CWR`, and beyond it `TCP_CA_Recovery` and `TCP_CA_Loss`
const REDUCING: u8 = 2;
/// Slow start and what it leaves behind: not counted.
const START: Duration = Duration::from_secs(3);

/// Counts the reductions of a connection, and tells by a file that there were enough.
pub struct Epochs {
    /// So many.
    pub enough: u32,
    /// Made then.
    pub file: PathBuf,
    /// So far.
    pub count: u32,
}

impl Epochs {
    /// A reduction has begun.
    fn one_more(&mut self) -> Result<()> {
        self.count += 1;
        if self.count == self.enough {
            File::create(&self.file)?;
        }
        Ok(())
    }
}

/// Writes a line to this file every 20 ms, as long as the connection is open: `MS CWND SSTHRESH BYTES_ACKED RETRANSMITTED
/// CA_STATE`, with milliseconds since `start`.
pub fn watch(stream: &TcpStream, start: Instant, file: &Path, mut epochs: Option<Epochs>) -> Result<()> {
    let mut out = BufWriter::new(File::create(file)?);
    let mut due = Instant::now();
    let mut last_state = 0;
    loop {
        let bytes = tcp_info(stream)?;
        if bytes[0] != ESTABLISHED {
            return Ok(out.flush()?);
        }
        let u32_at = |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let acked_bytes = u64::from(u32_at(120)) | u64::from(u32_at(124)) << 32;
        let ms = start.elapsed().as_millis();
        writeln!(out, "{ms} {} {} {acked_bytes} {} {}", u32_at(80), u32_at(76), u32_at(100), bytes[1])?;
        if let Some(epochs) = epochs.as_mut().filter(|_| bytes[1] >= REDUCING && last_state < REDUCING) {
            if start.elapsed() > START {
                epochs.one_more()?;
            }
        }
        last_state = bytes[1];
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
