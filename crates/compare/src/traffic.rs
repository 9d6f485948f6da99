// SPDX-License-Identifier: GPL-2.0-only
//! Traffic of the comparison: a sender that follows a list of steps on one connection, and a receiver that reads all.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{bail, Context as _, Result};
use socket2::{Domain, Protocol, SockRef, Socket, Type};

use crate::watch::{self, Epochs};

const BLOCK_BYTES: usize = 16 * 1024;
const STALL: Duration = Duration::from_secs(60);

/// One step of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// As much as the connection takes, for so long.
    Bulk(Duration),
    /// Nothing.
    Idle(Duration),
    /// So many bytes every so often: less than the window.
    Drip(usize, Duration, Duration),
    /// A command of bash (busybox's shell has commands of its own): changes the path.
    Run(String),
}

impl std::str::FromStr for Step {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let (kind, rest) = text.split_once(':').with_context(|| format!("unknown step: {text:?}"))?;
        let ms = |text: &str| Ok::<_, anyhow::Error>(Duration::from_millis(text.parse()?));
        Ok(match kind {
            "bulk" => Self::Bulk(ms(rest)?),
            "idle" => Self::Idle(ms(rest)?),
            "drip" => {
                let words: Vec<&str> = rest.split(',').collect();
                let [bytes, every, total] = words[..] else { bail!("drip:BYTES,EVERY_MS,TOTAL_MS, not {text:?}") };
                Self::Drip(bytes.parse()?, ms(every)?, ms(total)?)
            }
            "run" => Self::Run(rest.to_owned()),
            _ => bail!("unknown step: {text:?}"),
        })
    }
}

/// What of a connection is written down, and when it ends early.
#[derive(Default)]
pub struct Watched {
    /// Before it connects.
    pub wait: Duration,
    /// What the kernel says of it goes there.
    pub series: Option<PathBuf>,
    /// After so many reductions there is a file SERIES.enough.
    pub enough: Option<u32>,
    /// Sending ends when this file is there.
    pub stop: Option<PathBuf>,
}

/// Sends over a connection that uses this algorithm, step by step.
pub fn send(algorithm: &str, to: SocketAddr, steps: &[Step], watched: &Watched) -> Result<()> {
    let start = Instant::now();
    thread::sleep(watched.wait);
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
    socket.set_tcp_congestion(algorithm.as_bytes()).with_context(|| format!("there is no algorithm {algorithm}"))?;
    socket.set_tcp_nodelay(true)?;
    socket.connect(&to.into())?;
    socket.set_write_timeout(Some(STALL))?;
    let mut stream = TcpStream::from(socket);
    let stop = watched.stop.as_deref();
    if let Some(file) = watched.series.clone() {
        let copy = stream.try_clone()?;
        let epochs = watched.enough.map(|enough| Epochs { enough, file: file.with_extension("enough"), count: 0 });
        let writer = thread::spawn(move || watch::watch(&copy, start, &file, epochs));
        follow(&mut stream, steps, stop)?;
        stream.shutdown(Shutdown::Write)?;
        return writer.join().expect("it does not panic");
    }
    follow(&mut stream, steps, stop)
}

fn follow(stream: &mut TcpStream, steps: &[Step], stop: Option<&Path>) -> Result<()> {
    let is_over = || stop.is_some_and(Path::exists);
    let block = vec![0; BLOCK_BYTES];
    for step in steps {
        match step {
            Step::Bulk(time) => {
                let start = Instant::now();
                while start.elapsed() < *time && !is_over() {
                    stream.write_all(&block).context("the connection is stalled")?;
                }
            }
            Step::Idle(time) => thread::sleep(*time),
            Step::Drip(bytes, every, total) => {
                let start = Instant::now();
                while start.elapsed() < *total {
                    stream.write_all(&vec![0; *bytes])?;
                    thread::sleep(*every);
                }
            }
            Step::Run(command) => {
                let status = Command::new("bash").args(["-c", command]).status()?;
                anyhow::ensure!(status.success(), "{command}: {status}");
            }
        }
    }
    Ok(())
}

/// Accepts connections for ever and reads what they bring; on the port after `address`'s, ACKs are never delayed.
pub fn receive(address: SocketAddr) -> Result<()> {
    let mut quick = address;
    quick.set_port(address.port() + 1);
    let quick = TcpListener::bind(quick)?;
    let listener = TcpListener::bind(address)?;
    thread::spawn(move || accept(&quick, true));
    accept(&listener, false)
}

fn accept(listener: &TcpListener, quick: bool) -> Result<()> {
    for stream in listener.incoming() {
        let stream = stream?;
        thread::spawn(move || drain(stream, quick));
    }
    Ok(())
}

fn drain(mut stream: TcpStream, quick: bool) -> std::io::Result<()> {
    let mut block = vec![0; 4 * BLOCK_BYTES];
    loop {
        if quick {
            SockRef::from(&stream).set_tcp_quickack(true)?;
        }
        if stream.read(&mut block)? == 0 {
            return Ok(());
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_read_and_others_refused() {
        let step = |text: &str| text.parse::<Step>();
        assert_eq!(step("bulk:250").unwrap(), Step::Bulk(Duration::from_millis(250)));
        let drip = Step::Drip(4000, Duration::from_millis(15), Duration::from_secs(2));
        assert_eq!(step("drip:4000,15,2000").unwrap(), drip);
        assert_eq!(step("run:tc qdisc show dev a:b").unwrap(), Step::Run("tc qdisc show dev a:b".to_owned()));
        for wrong in ["bulk", "bulk:soon", "drip:1,2", "jump:1"] {
            assert!(step(wrong).is_err(), "{wrong}");
        }
    }
}
