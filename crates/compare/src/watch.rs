// SPDX-License-Identifier: GPL-2.0-only
//! What the kernel says of a connection, again and again.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use ccctl_testbed::tcp_info;

const EVERY: Duration = Duration::from_millis(20);
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
        let info = tcp_info(stream)?;
        if info.tcpi_state != ESTABLISHED {
            return Ok(out.flush()?);
        }
        let (ms, acked_bytes) = (start.elapsed().as_millis(), info.tcpi_bytes_acked);
        let (cwnd, ssthresh) = (info.tcpi_snd_cwnd, info.tcpi_snd_ssthresh);
        writeln!(out, "{ms} {cwnd} {ssthresh} {acked_bytes} {} {}", info.tcpi_total_retrans, info.tcpi_ca_state)?;
        if let Some(epochs) = epochs.as_mut().filter(|_| info.tcpi_ca_state >= REDUCING && last_state < REDUCING) {
            if start.elapsed() > START {
                epochs.one_more()?;
            }
        }
        last_state = info.tcpi_ca_state;
        due += EVERY;
        thread::sleep(due.saturating_duration_since(Instant::now()));
    }
}
