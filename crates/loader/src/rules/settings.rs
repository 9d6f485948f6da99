// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a rule may set besides the algorithm, and its values as people write them.

use std::fmt;

use ccctl_catalog::{Parameter, Setting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::record::{
    rule_setting_memory, rule_settings, RULE_ECN, RULE_INITIAL_WINDOW, RULE_MAX_DELAYED_ACK, RULE_MAX_PACING_RATE,
    RULE_MIN_RTO, RULE_NOTSENT_LOWAT, RULE_NO_LIMIT, RULE_SETTINGS,
};
use crate::error::{Error, Result};
use crate::sockets::jiffy;

const COUNT: usize = RULE_SETTINGS as usize;

/// `TCP_RTO_MIN` and `TCP_DELACK_MAX` of the kernel, in us: BPF programs may set no more than these.
const LONGEST_US: u32 = 200_000;
/// `TCP_TIMEOUT_MIN` of the kernel: the least that BPF programs may set.
const SHORTEST_TICKS: u32 = 2;
/// More would be a burst that no path takes: RFC 6928 has 10, and large servers use up to 100.
const LARGEST_INITIAL_WINDOW_PKTS: u32 = 1000;
/// 8 kbit/s: a connection with less does not get on. 34 Gbit/s: the kernel takes 32 bits from BPF programs.
const PACING_RATES_BYTES_PER_S: (u32, u32) = (1000, 4_250_000_000);

/// The only word for ECN.
const ON: &str = "on";

/// What a rule may set besides the algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SocketSetting {
    /// The window with which a connection begins to send, packets: `TCP_BPF_IW`.
    InitialWindow,
    /// The shortest retransmission timeout, us: `TCP_BPF_RTO_MIN`.
    MinRto,
    /// The most that the socket is paced to, bytes per second: `SO_MAX_PACING_RATE`.
    MaxPacingRate,
    /// Bytes not sent yet from which on the socket takes no more: `TCP_NOTSENT_LOWAT`.
    NotsentLowat,
    /// The longest that an ACK is delayed, us: `TCP_BPF_DELACK_MAX`.
    MaxDelayedAck,
    /// 1: the SYN asks for ECN, whatever `net.ipv4.tcp_ecn` is: `BPF_SOCK_OPS_NEEDS_ECN`. Of connections that are made: what
    /// accepted ones agree to is their listener's.
    Ecn,
}

/// Length of the kernel's tick, in which it keeps times, us.
fn tick_us() -> u32 {
    let ticks_per_s = 1_000_000_000 / jiffy().as_nanos().max(1);
    1_000_000 / u32::try_from(ticks_per_s).unwrap_or(u32::MAX).max(1)
}

impl SocketSetting {
    /// Each, in the order in which they are listed.
    pub const ALL: [Self; COUNT] =
        [Self::InitialWindow, Self::MinRto, Self::MaxPacingRate, Self::NotsentLowat, Self::MaxDelayedAck, Self::Ecn];

    fn index(self) -> usize {
        let index = match self {
            Self::InitialWindow => RULE_INITIAL_WINDOW,
            Self::MinRto => RULE_MIN_RTO,
            Self::MaxPacingRate => RULE_MAX_PACING_RATE,
            Self::NotsentLowat => RULE_NOTSENT_LOWAT,
            Self::MaxDelayedAck => RULE_MAX_DELAYED_ACK,
            Self::Ecn => RULE_ECN,
        };
        index as usize
    }

    /// Its name in files and requests; options have a hyphen for each underscore.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::InitialWindow => "initial_window",
            Self::MinRto => "min_rto",
            Self::MaxPacingRate => "max_pacing_rate",
            Self::NotsentLowat => "notsent_lowat",
            Self::MaxDelayedAck => "max_delayed_ack",
            Self::Ecn => "ecn",
        }
    }

    /// Unit of its numbers; empty where there is none.
    #[must_use]
    pub fn unit(self) -> &'static str {
        match self {
            Self::InitialWindow => "pkts",
            Self::MinRto | Self::MaxDelayedAck => "us",
            Self::MaxPacingRate => "bytes/s",
            Self::NotsentLowat => "bytes",
            Self::Ecn => "",
        }
    }

    /// Can it be set on a connection that is alive?
    #[must_use]
    pub fn is_for_live(self) -> bool {
        !matches!(self, Self::InitialWindow | Self::Ecn)
    }

    /// How its numbers are written; None of what has only a word.
    fn parameter(self) -> Option<Parameter> {
        let times = (SHORTEST_TICKS * tick_us(), LONGEST_US);
        let (unit, range, example) = match self {
            Self::InitialWindow => ("pkts", (1, LARGEST_INITIAL_WINDOW_PKTS), 20),
            Self::MinRto => ("us", times, 50_000),
            Self::MaxPacingRate => ("bytes/s", PACING_RATES_BYTES_PER_S, 12_500_000),
            Self::NotsentLowat => ("size", (1, 1 << 30), 128 << 10),
            Self::MaxDelayedAck => ("us", times, 20_000),
            Self::Ecn => return None,
        };
        Some(Parameter::of_range(self.key(), unit, range, example))
    }

    /// The number of a value as people write it: `20`, `50ms`, `100mbit`, `128k`.
    ///
    /// # Errors
    /// Where it cannot be read, or is outside what the kernel takes; with the range.
    pub fn parse(self, text: &str) -> Result<u32> {
        match self.parameter() {
            Some(parameter) => Ok(parameter.parse(text)?),
            None if text == ON => Ok(1),
            None => Err(Error::Request {
                cause: format!("{}={text}: a rule can ask for ECN and cannot forbid it", self.key()),
                remedy: format!("{}={ON}, or leave it out: then net.ipv4.tcp_ecn decides", self.key()),
            }),
        }
    }

    /// The number as people write it.
    #[must_use]
    pub fn format(self, value: u32) -> String {
        match (self, value) {
            (Self::MaxPacingRate, RULE_NO_LIMIT) => "no limit".to_owned(),
            (Self::NotsentLowat, 0) => "that of net.ipv4.tcp_notsent_lowat".to_owned(),
            _ => self.parameter().map_or_else(|| ON.to_owned(), |parameter| parameter.format(value)),
        }
    }
}

/// What a rule sets besides the algorithm: a number for each setting that it has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SocketSettings {
    values: [Option<u32>; COUNT],
}

impl SocketSettings {
    /// From what people have written, where they have written something.
    ///
    /// # Errors
    /// Those of [`SocketSetting::parse`].
    pub fn parse<'a>(written: impl IntoIterator<Item = (SocketSetting, Option<&'a Setting>)>) -> Result<Self> {
        let mut settings = Self::default();
        for (setting, value) in written {
            settings.values[setting.index()] = value.map(|value| setting.parse(&value.to_string())).transpose()?;
        }
        Ok(settings)
    }

    /// Is there nothing to set?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.iter().all(Option::is_none)
    }

    /// Each with its number, in the order of [`SocketSetting::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = (SocketSetting, u32)> + '_ {
        SocketSetting::ALL.into_iter().filter_map(|setting| Some((setting, self.values[setting.index()]?)))
    }

    /// For the program.
    pub(super) fn record(&self) -> rule_settings {
        let mut record = rule_settings { tick_us: tick_us(), ..rule_settings::default() };
        for (setting, value) in self.iter() {
            record.has |= 1 << setting.index();
            record.value[setting.index()] = value;
        }
        record
    }

    /// From the kernel.
    pub(super) fn of_record(record: &rule_settings) -> Self {
        let mut settings = Self::default();
        for (index, value) in record.value.iter().enumerate() {
            settings.values[index] = (record.has & 1 << index != 0).then_some(*value);
        }
        settings
    }
}

/// As one types it in a request: `initial_window=20 min_rto=50ms`.
impl fmt::Display for SocketSettings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (setting, value)) in self.iter().enumerate() {
            let space = if index > 0 { " " } else { "" };
            write!(formatter, "{space}{}={}", setting.key(), setting.format(value))?;
        }
        Ok(())
    }
}

/// What came of one setting of a socket.
#[derive(Debug, Clone)]
pub struct MetSetting {
    /// Which.
    pub setting: SocketSetting,
    /// What its rule said.
    pub wanted: u32,
    /// What the socket would have without rules.
    pub before: u32,
    /// What the kernel made of it: it rounds times up to its ticks.
    pub given: u32,
    /// What the kernel has now; None where that cannot be asked: an initial window is used up.
    pub now: Option<u32>,
    /// Why the kernel did not take it: a negative errno; 0: it did.
    pub(super) error: i32,
}

impl MetSetting {
    /// Those of a socket's note, with what the kernel has now.
    pub(super) fn of_note(
        has: u32,
        memories: &[rule_setting_memory; COUNT],
        now: &[u32; COUNT],
    ) -> impl Iterator<Item = Self> {
        let all = SocketSetting::ALL.into_iter().filter(move |setting| has & 1 << setting.index() != 0);
        let one = |setting: SocketSetting| {
            let rule_setting_memory { wanted, before, given, error } = memories[setting.index()];
            let now = setting.is_for_live().then(|| now[setting.index()]);
            Self { setting, wanted, before, given, now, error }
        };
        all.map(one).collect::<Vec<_>>().into_iter()
    }

    /// Has something else changed it since?
    #[must_use]
    pub fn is_changed_since(&self) -> bool {
        self.now.is_some_and(|now| now != self.given)
    }

    /// Did the kernel refuse it?
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.error != 0
    }

    /// Why, in words.
    #[must_use]
    pub fn refusal(&self) -> Option<String> {
        let lost = self.setting == SocketSetting::InitialWindow && self.error == -nix::libc::EAGAIN;
        let text = if lost {
            "its SYN was lost more than once: it began with 1 packet".to_owned()
        } else {
            crate::sockets::reason(self.error)
        };
        self.is_refused().then_some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(setting: SocketSetting, text: &str) -> Result<u32> {
        setting.parse(text)
    }

    #[test]
    fn values_are_read_as_people_write_them_and_printed_alike() {
        use SocketSetting::{Ecn, InitialWindow, MaxDelayedAck, MaxPacingRate, MinRto, NotsentLowat};
        for (setting, typed, number, printed) in [
            (InitialWindow, "20", 20, "20"),
            (MinRto, "50ms", 50_000, "50ms"),
            (MinRto, "0.2s", 200_000, "200ms"),
            (MaxPacingRate, "100mbit", 12_500_000, "100mbit"),
            (MaxPacingRate, "2.5 Gbit/s", 312_500_000, "2.5gbit"),
            (NotsentLowat, "128k", 131_072, "128k"),
            (NotsentLowat, "131072", 131_072, "128k"),
            (MaxDelayedAck, "40ms", 40_000, "40ms"),
            (Ecn, "on", 1, "on"),
        ] {
            assert_eq!(parse(setting, typed).expect(typed), number);
            assert_eq!(setting.format(number), printed);
        }
        assert_eq!(MaxPacingRate.format(u32::MAX), "no limit");
    }

    /// `TCP_BPF_RTO_MIN` and `TCP_BPF_DELACK_MAX` of `net/core/filter.c`: two ticks to a fifth of a second.
    #[test]
    fn what_the_kernel_does_not_take_is_refused_with_the_range() {
        use SocketSetting::{Ecn, InitialWindow, MaxDelayedAck, MaxPacingRate, MinRto, NotsentLowat};
        for (setting, typed, part) in [
            (InitialWindow, "0", "1 to 1000"),
            (InitialWindow, "1001", "1 to 1000"),
            (InitialWindow, "many", "a whole number"),
            (MinRto, "50", "needs its unit"),
            (MinRto, "201ms", "to 200ms"),
            (MinRto, "1us", "to 200ms"),
            (MaxDelayedAck, "0.3s", "to 200ms"),
            (MaxPacingRate, "100", "needs its unit"),
            (MaxPacingRate, "100gbit", "8kbit to 34gbit"),
            (NotsentLowat, "0", "1 to 1g"),
            (NotsentLowat, "-1", "a size"),
            (Ecn, "off", "cannot forbid"),
            (Ecn, "1", "cannot forbid"),
        ] {
            let error = parse(setting, typed).expect_err(typed).to_string();
            assert!(error.contains(part) && error.contains(setting.key()), "{typed}: {error}");
        }
    }

    #[test]
    fn a_record_holds_what_is_set_and_no_more() {
        let written = [(SocketSetting::MinRto, "20ms"), (SocketSetting::NotsentLowat, "16k")]
            .map(|(setting, text)| (setting, Setting::Text(text.to_owned())));
        let settings = SocketSettings::parse(written.iter().map(|(setting, value)| (*setting, Some(value))));
        let settings = settings.expect("they are right");
        assert_eq!(settings.to_string(), "min_rto=20ms notsent_lowat=16k");
        let record = settings.record();
        assert_eq!((record.has, record.value), (0b00_1010, [0, 20_000, 0, 16_384, 0, 0]));
        assert_eq!(SocketSettings::of_record(&record), settings);
        assert!(SocketSettings::default().is_empty() && !settings.is_empty());
        // A tick of the kernel is 1, 3.33, 4 or 10 ms, and a whole number of them is 200 ms.
        assert_eq!(
            200_000 / record.tick_us * record.tick_us / 1000,
            200_000 / 1000 - u32::from(record.tick_us == 3333)
        );
    }
}
