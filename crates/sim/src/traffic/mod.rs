// SPDX-License-Identifier: GPL-2.0-only
//! What applications send.

mod short;
mod web;

use std::time::Duration;

use crate::network::clock::BitRate;
use crate::random::{Purpose, Random};
pub use web::WebUser;

/// What an application does with its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Application {
    /// Sends as much as it can.
    Bulk,
    /// One transfer of so many bytes, in whole packets.
    Transfer {
        /// Length.
        bytes: u64,
    },
    /// Writes evenly at a rate.
    Limited {
        /// That rate.
        rate: BitRate,
    },
    /// Writes as a bulk sender does for exponentially distributed times, with such pauses between them.
    OnOff {
        /// Mean time of writing.
        on: Duration,
        /// Mean pause.
        off: Duration,
        /// Rate of writing.
        rate: BitRate,
    },
    /// A user of the web, each object on a new connection.
    Web(WebUser),
    /// Transfers of random lengths, each on a new connection, with exponentially distributed pauses between them.
    Short {
        /// Mean length.
        mean_bytes: u64,
        /// Mean pause.
        off: Duration,
    },
}

/// What an application does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Only looks at its time.
    Nothing,
    /// Writes packets.
    Write(u32),
    /// Writes packets on a connection of their own.
    Connect(u32),
}

/// At most so many writes a second of an application that writes evenly.
const WRITE_INTERVAL_NS: u64 = 1_000_000;

/// An application at work, whoever carries what it writes.
#[derive(Debug)]
pub struct Workload {
    application: Application,
    random: Random,
    mss_bytes: u64,
    written_bits_ns: u64, // rest of a packet, in bits times 10^9
    on_until_ns: u64,
    last_ns: u64,
    objects_left: u64,
    /// When it acts next; `u64::MAX`: not before what it wrote is delivered.
    pub due_ns: u64,
    pub(crate) stop_ns: u64,
}

impl Workload {
    /// That of one flow, from `start_ns` to `stop_ns`; the same seed and number of the flow lead to the same acts.
    #[must_use]
    pub fn new(application: Application, start_ns: u64, stop_ns: u64, mss_bytes: u16, seed: u64, flow: u32) -> Self {
        Self {
            application,
            random: Random::new(seed, Purpose::Application, flow),
            mss_bytes: u64::from(mss_bytes),
            written_bits_ns: 0,
            on_until_ns: 0,
            last_ns: start_ns,
            objects_left: 0,
            due_ns: start_ns,
            stop_ns,
        }
    }

    /// Its time has come.
    pub fn act(&mut self, now_ns: u64) -> Act {
        self.due_ns = u64::MAX;
        match self.application {
            Application::Bulk => Act::Write(u32::MAX),
            Application::Transfer { bytes } => Act::Write(self.pkts(bytes)),
            Application::Limited { rate } => self.write_evenly(now_ns, rate),
            Application::OnOff { on, off, rate } => self.write_by_turns(now_ns, on, off, rate),
            Application::Web(user) => {
                let bytes = user.next_object(&mut self.random, &mut self.objects_left);
                Act::Connect(self.pkts(bytes))
            }
            Application::Short { mean_bytes, .. } => {
                let bytes = short::length_bytes(&mut self.random, mean_bytes);
                Act::Connect(self.pkts(bytes))
            }
        }
    }

    fn pkts(&self, bytes: u64) -> u32 {
        u32::try_from(bytes.div_ceil(self.mss_bytes)).unwrap_or(u32::MAX).max(1)
    }

    /// Everything written has been acknowledged.
    pub fn delivered(&mut self, now_ns: u64) {
        let pause_ns = match self.application {
            Application::Web(user) => user.pause_ns(&mut self.random, self.objects_left),
            Application::Short { off, .. } => self.random.exponential(off.as_nanos() as u64),
            _ => return,
        };
        self.due_ns = now_ns.saturating_add(pause_ns);
    }

    /// Its transfers have an end that is worth knowing.
    pub(crate) fn has_transfers(&self) -> bool {
        matches!(self.application, Application::Transfer { .. } | Application::Web(_) | Application::Short { .. })
    }

    fn write_evenly(&mut self, now_ns: u64, rate: BitRate) -> Act {
        let elapsed_ns = now_ns - self.last_ns;
        self.last_ns = now_ns;
        let pkt_bits_ns = u128::from(self.mss_bytes * 8) * 1_000_000_000;
        let due_bits_ns = u128::from(self.written_bits_ns) + u128::from(elapsed_ns) * u128::from(rate.as_bits_per_s());
        let pkts = (due_bits_ns / pkt_bits_ns) as u32;
        self.written_bits_ns = (due_bits_ns % pkt_bits_ns) as u64;
        let missing_bits_ns = pkt_bits_ns - u128::from(self.written_bits_ns);
        let next_ns = missing_bits_ns.div_ceil(u128::from(rate.as_bits_per_s()));
        self.due_ns = now_ns.saturating_add(u64::try_from(next_ns).unwrap_or(u64::MAX).max(WRITE_INTERVAL_NS));
        if pkts == 0 {
            Act::Nothing
        } else {
            Act::Write(pkts)
        }
    }

    fn write_by_turns(&mut self, now_ns: u64, on: Duration, off: Duration, rate: BitRate) -> Act {
        if now_ns >= self.on_until_ns {
            if self.on_until_ns > 0 && self.last_ns < self.on_until_ns {
                let act = self.write_evenly(self.on_until_ns, rate);
                self.due_ns = now_ns.saturating_add(self.random.exponential(off.as_nanos() as u64));
                self.last_ns = u64::MAX; // until it is on again
                return act;
            }
            self.last_ns = now_ns;
            self.on_until_ns = now_ns.saturating_add(self.random.exponential(on.as_nanos() as u64)).max(now_ns + 1);
        }
        let act = self.write_evenly(now_ns, rate);
        self.due_ns = self.due_ns.min(self.on_until_ns);
        act
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(application: Application) -> Workload {
        Workload::new(application, 0, u64::MAX, 1000, 1, 0)
    }

    /// Packets written until a time.
    fn written_pkts(workload: &mut Workload, until_ns: u64) -> u64 {
        let mut pkts = 0;
        while workload.due_ns <= until_ns {
            if let Act::Write(more) = workload.act(workload.due_ns) {
                pkts += u64::from(more);
            }
        }
        pkts
    }

    #[test]
    fn a_transfer_is_written_once_in_whole_packets() {
        let mut workload = workload(Application::Transfer { bytes: 1001 });
        assert_eq!(workload.act(0), Act::Write(2));
        assert_eq!(workload.due_ns, u64::MAX);
    }

    /// 8 Mbit/s of packets with 1000 bytes: 1000 packets a second; 80 Mbit/s: ten at a time
    #[test]
    fn an_even_writer_keeps_its_rate() {
        for (megabits, pkts) in [(8, 10_000), (80, 100_000), (3, 3750)] {
            let rate = BitRate::mbit_per_s(megabits);
            let written = written_pkts(&mut workload(Application::Limited { rate }), 10_000_000_000);
            assert!(written.abs_diff(pkts) <= 10, "{written}, not {pkts}");
        }
    }

    /// A transfer is over when all of it is delivered; then comes a pause of 3 s on average: 1000 of them take about 3000 s.
    #[test]
    fn short_transfers_have_pauses_between_them() {
        let mut workload = workload(Application::Short { mean_bytes: 30_000, off: Duration::from_secs(3) });
        let mut now_ns = 0;
        for _ in 0..1000 {
            assert!(matches!(workload.act(now_ns), Act::Connect(1..)) && workload.due_ns == u64::MAX);
            workload.delivered(now_ns);
            now_ns = workload.due_ns;
        }
        assert!(workload.has_transfers() && now_ns.abs_diff(3_000_000_000_000) < 300_000_000_000, "{now_ns}");
    }

    /// On for a second, off for three: a quarter of the rate
    #[test]
    fn one_that_pauses_writes_its_share() {
        let application = Application::OnOff {
            on: Duration::from_secs(1),
            off: Duration::from_secs(3),
            rate: BitRate::mbit_per_s(8),
        };
        let written = written_pkts(&mut workload(application), 40_000_000_000_000);
        assert!(written.abs_diff(10_000_000) < 500_000, "{written}");
    }
}
