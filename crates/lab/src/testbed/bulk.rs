//! As much traffic as goes, with as little work around TCP as possible: for measuring TCP itself.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use nix::sched::{sched_setaffinity, CpuSet};
use nix::unistd::Pid;

use super::socket::{algorithm_of, connect};
use super::{CpuTime, Network, TestbedError};

const BUFFER_BYTES: usize = 256 * 1024;
const SILENCE: Duration = Duration::from_secs(10);

/// One bulk transfer and what it cost.
#[derive(Debug, Clone)]
pub struct Bulk {
    /// Bytes received.
    pub bytes: u64,
    /// From the first byte to the last.
    pub elapsed: Duration,
    /// Busy time of all processors meanwhile.
    pub cpu: CpuTime,
}

impl Bulk {
    /// Sends for `time` from client to server over one connection with `algorithm`; the sender keeps to the first
    /// processor and the receiver to the second, if there is one.
    pub fn run(network: &Network, address: &str, algorithm: &str, time: Duration) -> Result<Self, TestbedError> {
        let listener = network
            .server
            .enter(|| TcpListener::bind((address, 0)).map_err(TestbedError::io(format!("listen on {address}"))))??;
        let to = listener.local_addr().map_err(TestbedError::io("ask for the listener's port"))?.to_string();
        let receiving = thread::spawn(move || receive(&listener));
        let before = CpuTime::now()?;
        let started = Instant::now();
        let sent = network.client.enter(|| send(&to, algorithm, started + time))?;
        let received = receiving.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let (elapsed, cpu) = (started.elapsed(), CpuTime::now()?.since(before));
        sent?;
        let bytes = received.map_err(TestbedError::io(format!("receive at {address}")))?;
        Ok(Bulk { bytes, elapsed, cpu })
    }

    /// Processor time for 10^9 bytes.
    #[must_use]
    pub fn cpu_per_gigabyte(&self) -> Duration {
        self.cpu.busy.mul_f64(1e9 / self.bytes.max(1) as f64)
    }
}

fn keep_to(processor: usize) {
    let mut set = CpuSet::new();
    if set.set(processor).is_ok() {
        let _ = sched_setaffinity(Pid::from_raw(0), &set); // with one processor only there is nothing to choose
    }
}

fn send(to: &str, algorithm: &str, until: Instant) -> Result<(), TestbedError> {
    keep_to(0);
    let step = || TestbedError::io(format!("send to {to}"));
    let mut stream = connect(to, Some(algorithm), SILENCE)?;
    let used = algorithm_of(&stream).map_err(step())?;
    if used != algorithm {
        return Err(TestbedError::Unexpected(format!("{algorithm} was asked for and {used} was given")));
    }
    stream.set_write_timeout(Some(SILENCE)).map_err(step())?;
    let buffer = vec![0x5a; BUFFER_BYTES];
    while Instant::now() < until {
        stream.write_all(&buffer).map_err(step())?;
    }
    Ok(())
}

fn receive(listener: &TcpListener) -> io::Result<u64> {
    keep_to(1);
    let (mut stream, _): (TcpStream, _) = listener.accept()?;
    stream.set_read_timeout(Some(SILENCE))?;
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut bytes = 0;
    loop {
        match stream.read(&mut buffer)? {
            0 => return Ok(bytes),
            count => bytes += count as u64,
        }
    }
}
