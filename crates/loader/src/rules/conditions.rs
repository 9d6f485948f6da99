// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a rule may ask of a socket besides its cgroup, peer and port, and how people write it.

use std::fmt;

use ccctl_catalog::{Parameter, ParameterError, Setting};

use super::record::{rule_conditions, RULE_MARK, RULE_PRIORITY, RULE_RTT_ABOVE, RULE_RTT_BELOW};
use super::settings::{SocketSetting, SocketSettings};
use crate::error::{Error, Result};

/// All bits of a mark.
const WHOLE: u32 = u32::MAX;

/// A mark (`SO_MARK`), or some bits of it: `0x10`, `0x10/0xf0`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark {
    value: u32,
    mask: u32,
}

impl Mark {
    /// From `VALUE` or `VALUE/MASK`, each in hex with `0x` or in decimal, as `ip rule` has `fwmark`.
    ///
    /// # Errors
    /// Where it is not that, or no mark or every mark would be meant.
    pub fn parse(text: &str) -> Result<Self> {
        let refused = |cause: &str, remedy: String| Error::Request { cause: format!("mark={text}: {cause}"), remedy };
        let malformed =
            || refused("expected VALUE or VALUE/MASK, of 32 bits", "mark=0x10 or mark=0x10/0xf0".to_owned());
        let (value, mask) = match text.split_once('/') {
            Some((value, mask)) => (number(value).ok_or_else(malformed)?, number(mask).ok_or_else(malformed)?),
            None => (number(text).ok_or_else(malformed)?, WHOLE),
        };
        if mask == 0 {
            return Err(refused(
                "a mask of 0 covers every mark",
                "leave it out, or give a mask such as 0xff".to_owned(),
            ));
        }
        if value & !mask != 0 {
            let remedy = Self { value: value & mask, mask };
            return Err(refused("no mark matches: the value has bits that the mask lacks", format!("mark={remedy}")));
        }
        Ok(Self { value, mask })
    }

    fn matches(self, mark: u32) -> bool {
        mark & self.mask == self.value
    }
}

/// In hex with `0x`, or in decimal without zeros before it: elsewhere these make a number octal.
fn number(text: &str) -> Option<u32> {
    let (digits, radix) = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None if text.len() > 1 && text.starts_with('0') => return None,
        None => (text, 10),
    };
    let is_number = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u32::from_str_radix(digits, radix).ok().filter(|_| is_number)
}

impl fmt::Display for Mark {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { value, mask } = self;
        match *mask {
            WHOLE => write!(formatter, "{value:#x}"),
            mask => write!(formatter, "{value:#x}/{mask:#x}"),
        }
    }
}

/// From 1 us to a minute: no connection lives with more.
const RTTS_US: (u32, u32) = (1, 60_000_000);

/// A limit of the RTT: `>100ms`, `<5ms`. The limit itself is on neither side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RttLimit {
    /// More than so many us.
    Above(u32),
    /// Less than so many us.
    Below(u32),
}

impl RttLimit {
    /// From `>` or `<` and a time.
    ///
    /// # Errors
    /// Where it is not that, or the time is not within 1 us and 60 s.
    pub fn parse(text: &str) -> Result<Self> {
        let refused = |cause: &str, remedy: String| Error::Request { cause: format!("rtt={text}: {cause}"), remedy };
        let (limit, sign): (fn(u32) -> Self, char) = match text.chars().next() {
            Some('>') => (Self::Above, '>'),
            Some('<') => (Self::Below, '<'),
            _ => return Err(refused("expected > or < and a time", "rtt='>100ms' or rtt='<5ms'".to_owned())),
        };
        let us = rtt().parse(text[1..].trim_start()).map_err(|error| match &error {
            ParameterError::Value { cause, remedy, .. } => refused(cause, with_sign(remedy, sign)),
            _ => error.into(),
        })?;
        Ok(limit(us))
    }

    fn matches(self, rtt_us: u32) -> bool {
        match self {
            Self::Above(limit_us) => rtt_us > limit_us,
            Self::Below(limit_us) => rtt_us < limit_us,
        }
    }

    /// Greater is narrower; of a lower and an upper limit the lower one counts more.
    fn rank(self) -> (u32, u32) {
        match self {
            Self::Above(us) => (2, us),
            Self::Below(us) => (1, u32::MAX - us),
        }
    }
}

/// What to type instead, with the sign that a time lacks.
fn with_sign(remedy: &str, sign: char) -> String {
    let each = remedy.split(" or ").map(|time| format!("rtt={sign}{}", time.trim_start_matches("rtt=")));
    each.collect::<Vec<_>>().join(" or ")
}

/// How an RTT is written.
fn rtt() -> Parameter {
    Parameter::of_range("rtt", "us", RTTS_US, 100_000)
}

impl fmt::Display for RttLimit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Above(us) => write!(formatter, ">{}", rtt().format(*us)),
            Self::Below(us) => write!(formatter, "<{}", rtt().format(*us)),
        }
    }
}

/// What a rule asks of a socket: all of it must hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Conditions {
    /// Its mark.
    pub mark: Option<Mark>,
    /// Its priority (`SO_PRIORITY`).
    pub priority: Option<u32>,
    /// Its RTT.
    pub rtt: Option<RttLimit>,
}

/// What conditions look at.
#[derive(Debug, Clone, Copy, Default)]
pub struct Attributes {
    /// Mark of the socket; 0: none.
    pub mark: u32,
    /// Its priority; 0: none.
    pub priority: u32,
    /// Its smoothed RTT, us; None: not known yet.
    pub rtt_us: Option<u32>,
}

/// Number of conditions, bits of the mark, kind and narrowness of the limit of the RTT.
pub(super) type ConditionsRank = (u32, u32, (u32, u32));

/// A condition that does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unmet {
    Mark,
    Priority,
    Rtt,
}

impl Conditions {
    /// From what people have written, where they have written something.
    ///
    /// # Errors
    /// Those of [`Mark::parse`] and [`RttLimit::parse`].
    pub fn parse(mark: Option<&Setting>, priority: Option<u32>, rtt: Option<&str>) -> Result<Self> {
        let mark = mark.map(|mark| Mark::parse(&mark.to_string())).transpose()?;
        Ok(Self { mark, priority, rtt: rtt.map(RttLimit::parse).transpose()? })
    }

    /// Refuses what a rule with these conditions cannot set: when the RTT is known, the SYN has gone.
    ///
    /// # Errors
    /// Where there is something of it.
    pub fn require_in_time(&self, settings: &SocketSettings) -> Result<()> {
        if self.rtt.is_none() || settings.iter().all(|(setting, _)| setting != SocketSetting::Ecn) {
            return Ok(());
        }
        Err(Error::Request {
            cause: "a rule with an RTT cannot ask for ECN: the SYN is sent before the RTT is known".to_owned(),
            remedy: "leave out ecn, or give it to a rule without rtt".to_owned(),
        })
    }

    /// Does it ask nothing?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The first that does not hold.
    pub(super) fn unmet(&self, attributes: &Attributes) -> Option<Unmet> {
        if self.mark.is_some_and(|mark| !mark.matches(attributes.mark)) {
            return Some(Unmet::Mark);
        }
        if self.priority.is_some_and(|priority| priority != attributes.priority) {
            return Some(Unmet::Priority);
        }
        let is_met = |limit: RttLimit| attributes.rtt_us.is_some_and(|rtt_us| limit.matches(rtt_us));
        self.rtt.is_some_and(|limit| !is_met(limit)).then_some(Unmet::Rtt)
    }

    /// Greater is more specific: the number of conditions, the bits of the mark, the limit of the RTT.
    pub(super) fn rank(&self) -> ConditionsRank {
        let has = [self.mark.is_some(), self.priority.is_some(), self.rtt.is_some()];
        let count = has.into_iter().map(u32::from).sum();
        (count, self.mark.map_or(0, |mark| mark.mask.count_ones()), self.rtt.map_or((0, 0), RttLimit::rank))
    }

    /// For the program.
    pub(super) fn record(&self) -> rule_conditions {
        let mut record = rule_conditions::default();
        if let Some(Mark { value, mask }) = self.mark {
            (record.mark, record.mark_mask) = (value, mask);
            record.has |= 1 << RULE_MARK;
        }
        if let Some(priority) = self.priority {
            record.priority = priority;
            record.has |= 1 << RULE_PRIORITY;
        }
        if let Some(limit) = self.rtt {
            let (which, us) = match limit {
                RttLimit::Above(us) => (RULE_RTT_ABOVE, us),
                RttLimit::Below(us) => (RULE_RTT_BELOW, us),
            };
            record.rtt_us = us;
            record.has |= 1 << which;
        }
        record
    }

    /// From the kernel.
    pub(super) fn of_record(record: &rule_conditions) -> Self {
        let has = |which: u32| record.has & 1 << which != 0;
        Self {
            mark: has(RULE_MARK).then_some(Mark { value: record.mark, mask: record.mark_mask }),
            priority: has(RULE_PRIORITY).then_some(record.priority),
            rtt: match (has(RULE_RTT_ABOVE), has(RULE_RTT_BELOW)) {
                (true, _) => Some(RttLimit::Above(record.rtt_us)),
                (_, true) => Some(RttLimit::Below(record.rtt_us)),
                _ => None,
            },
        }
    }
}

/// ` mark 0x10 priority 6 rtt >100ms`: each with a space before it.
impl fmt::Display for Conditions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(mark) = self.mark {
            write!(formatter, " mark {mark}")?;
        }
        if let Some(priority) = self.priority {
            write!(formatter, " priority {priority}")?;
        }
        match self.rtt {
            Some(limit) => write!(formatter, " rtt {limit}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_read_as_people_write_them_and_printed_alike() {
        for (typed, value, mask, printed) in [
            ("0x10", 16, u32::MAX, "0x10"),
            ("16", 16, u32::MAX, "0x10"),
            ("0", 0, u32::MAX, "0x0"),
            ("0XFF", 255, u32::MAX, "0xff"),
            ("0x10/0xf0", 0x10, 0xf0, "0x10/0xf0"),
            ("0/1", 0, 1, "0x0/0x1"),
            ("4294967295", u32::MAX, u32::MAX, "0xffffffff"),
            ("1/0xffffffff", 1, u32::MAX, "0x1"),
        ] {
            let mark = Mark::parse(typed).expect(typed);
            assert_eq!((mark, mark.to_string().as_str()), (Mark { value, mask }, printed));
            assert_eq!(Mark::parse(printed).expect(printed), mark);
        }
    }

    #[test]
    fn what_is_no_mark_is_refused_in_one_line() {
        for (typed, part) in [
            ("", "VALUE/MASK"),
            ("red", "VALUE/MASK"),
            ("-1", "VALUE/MASK"),
            ("+1", "VALUE/MASK"),
            ("0x", "VALUE/MASK"),
            ("0x+1", "VALUE/MASK"),
            ("010", "VALUE/MASK"),
            ("1.5", "VALUE/MASK"),
            ("4294967296", "VALUE/MASK"),
            ("0x100000000", "VALUE/MASK"),
            ("1/", "VALUE/MASK"),
            ("/1", "VALUE/MASK"),
            ("1/1/1", "VALUE/MASK"),
            ("0/0", "every mark"),
            ("0x10/0", "every mark"),
            ("0x11/0xf0", "the mask lacks"),
        ] {
            let error = Mark::parse(typed).expect_err(typed);
            let text = error.to_string();
            assert!(text.starts_with(&format!("mark={typed}: ")) && text.contains(part), "{typed}: {text}");
            assert!(!text.contains('\n') && error.remedy().is_some(), "{typed}: {text}");
        }
        assert_eq!(Mark::parse("0x11/0xf0").expect_err("it has").remedy().as_deref(), Some("mark=0x10/0xf0"));
    }

    #[test]
    fn limits_of_the_rtt_are_read_as_people_write_them_and_printed_alike() {
        for (typed, limit, printed) in [
            (">100ms", RttLimit::Above(100_000), ">100ms"),
            ("<5ms", RttLimit::Below(5000), "<5ms"),
            ("> 0.1s", RttLimit::Above(100_000), ">100ms"),
            ("<500us", RttLimit::Below(500), "<500us"),
            (">60s", RttLimit::Above(60_000_000), ">60s"),
        ] {
            let read = RttLimit::parse(typed).expect(typed);
            assert_eq!((read, read.to_string().as_str()), (limit, printed));
            assert_eq!(RttLimit::parse(printed).expect(printed), limit);
        }
        let (above, below) = (RttLimit::Above(100), RttLimit::Below(100));
        assert_eq!([99, 100, 101].map(|rtt_us| above.matches(rtt_us)), [false, false, true]);
        assert_eq!([99, 100, 101].map(|rtt_us| below.matches(rtt_us)), [true, false, false]);
    }

    #[test]
    fn what_is_no_limit_of_the_rtt_is_refused_in_one_line() {
        for (typed, part, remedy) in [
            ("", "expected > or <", "rtt='>100ms'"),
            ("100ms", "expected > or <", "rtt='>100ms'"),
            ("=100ms", "expected > or <", "rtt='<5ms'"),
            ("ä", "expected > or <", "rtt='<5ms'"),
            (">", "a time", "rtt=>100ms"),
            (">100", "needs its unit", "rtt=>100us or rtt=>100ms or rtt=>100s"),
            (">=100ms", "a time", "rtt=>100ms"),
            (">-1ms", "a time", "rtt=>100ms"),
            ("<0ms", "out of range: 1us to 60s", "rtt=<1us"),
            (">2min", "out of range: 1us to 60s", "rtt=>60s"),
            (">99999999999999999s", "out of range", "rtt=>60s"),
            ("<1.5us", "finer than", "rtt=<1us or rtt=<2us"),
            (">100mbit", "a time", "rtt=>100ms"),
        ] {
            let error = RttLimit::parse(typed).expect_err(typed);
            let (text, said) = (error.to_string(), error.remedy().unwrap_or_default());
            assert!(text.starts_with(&format!("rtt={typed}: ")) && text.contains(part), "{typed}: {text}");
            assert!(!text.contains('\n') && said.contains(remedy), "{typed}: {said}");
        }
    }

    #[test]
    fn all_conditions_must_hold_and_a_record_keeps_them() {
        let conditions = |mark: Option<&str>, priority| {
            let mark = mark.map(|text| Setting::Text(text.to_owned()));
            Conditions::parse(mark.as_ref(), priority, None).expect("they are right")
        };
        let attributes = |mark, priority| Attributes { mark, priority, rtt_us: Some(5000) };
        let both = conditions(Some("0x10/0xf0"), Some(6));
        assert_eq!(both.to_string(), " mark 0x10/0xf0 priority 6");
        assert_eq!(both.unmet(&attributes(0x1f, 6)), None);
        assert_eq!(both.unmet(&attributes(0x2f, 6)), Some(Unmet::Mark));
        assert_eq!(both.unmet(&attributes(0x10, 5)), Some(Unmet::Priority));
        assert_eq!(conditions(Some("0"), None).unmet(&attributes(1, 0)), Some(Unmet::Mark), "one without a mark");
        assert_eq!(conditions(None, Some(0)).unmet(&attributes(1, 0)), None);
        assert!(Conditions::default().is_empty() && !conditions(None, Some(0)).is_empty());
        let all = |text: &str| Conditions { rtt: Some(RttLimit::parse(text).expect(text)), ..both };
        assert_eq!(all(">4ms").to_string(), " mark 0x10/0xf0 priority 6 rtt >4ms");
        assert_eq!(all(">4ms").unmet(&attributes(0x1f, 6)), None);
        assert_eq!(all("<5ms").unmet(&attributes(0x1f, 6)), Some(Unmet::Rtt));
        let unknown = Attributes { rtt_us: None, ..attributes(0x1f, 6) };
        assert_eq!(
            [">1us", "<60s"].map(|text| all(text).unmet(&unknown)),
            [Some(Unmet::Rtt); 2],
            "before the handshake"
        );
        let none = Conditions::default();
        for kept in [both, all(">4ms"), all("<5ms"), conditions(Some("0"), None), conditions(None, Some(0)), none] {
            assert_eq!(Conditions::of_record(&kept.record()), kept);
        }
    }

    #[test]
    fn ecn_is_refused_where_it_would_come_after_the_syn() {
        let on = Setting::Text("on".to_owned());
        let ecn = SocketSettings::parse([(SocketSetting::Ecn, Some(&on))]).expect("it is right");
        let rtt = Conditions::parse(None, None, Some(">1ms")).expect("it is right");
        assert!(
            Conditions::default().require_in_time(&ecn).is_ok()
                && rtt.require_in_time(&SocketSettings::default()).is_ok()
        );
        assert!(rtt.require_in_time(&ecn).expect_err("it is too late").to_string().contains("cannot ask for ECN"));
    }
}
