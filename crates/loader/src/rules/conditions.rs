// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a rule may ask of a socket besides its cgroup, peer and port, and how people write it.

use std::fmt;

use ccctl_catalog::Setting;

use super::record::{rule_conditions, RULE_MARK, RULE_PRIORITY};
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

/// What a rule asks of a socket: all of it must hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Conditions {
    /// Its mark.
    pub mark: Option<Mark>,
    /// Its priority (`SO_PRIORITY`).
    pub priority: Option<u32>,
}

/// What conditions look at.
#[derive(Debug, Clone, Copy, Default)]
pub struct Attributes {
    /// Mark of the socket; 0: none.
    pub mark: u32,
    /// Its priority; 0: none.
    pub priority: u32,
}

/// A condition that does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unmet {
    Mark,
    Priority,
}

impl Conditions {
    /// From what people have written, where they have written something.
    ///
    /// # Errors
    /// Those of [`Mark::parse`].
    pub fn parse(mark: Option<&Setting>, priority: Option<u32>) -> Result<Self> {
        let mark = mark.map(|mark| Mark::parse(&mark.to_string())).transpose()?;
        Ok(Self { mark, priority })
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
        self.priority.is_some_and(|priority| priority != attributes.priority).then_some(Unmet::Priority)
    }

    /// Greater is more specific: first the number of conditions, then the bits of the mark.
    pub(super) fn rank(&self) -> (u32, u32) {
        let count = u32::from(self.mark.is_some()) + u32::from(self.priority.is_some());
        (count, self.mark.map_or(0, |mark| mark.mask.count_ones()))
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
        record
    }

    /// From the kernel.
    pub(super) fn of_record(record: &rule_conditions) -> Self {
        let has = |which: u32| record.has & 1 << which != 0;
        Self {
            mark: has(RULE_MARK).then_some(Mark { value: record.mark, mask: record.mark_mask }),
            priority: has(RULE_PRIORITY).then_some(record.priority),
        }
    }
}

/// ` mark 0x10 priority 6`: each with a space before it.
impl fmt::Display for Conditions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(mark) = self.mark {
            write!(formatter, " mark {mark}")?;
        }
        match self.priority {
            Some(priority) => write!(formatter, " priority {priority}"),
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
    fn all_conditions_must_hold_and_a_record_keeps_them() {
        let conditions = |mark: Option<&str>, priority| {
            let mark = mark.map(|text| Setting::Text(text.to_owned()));
            Conditions::parse(mark.as_ref(), priority).expect("they are right")
        };
        let attributes = |mark, priority| Attributes { mark, priority };
        let both = conditions(Some("0x10/0xf0"), Some(6));
        assert_eq!(both.to_string(), " mark 0x10/0xf0 priority 6");
        assert_eq!(both.unmet(&attributes(0x1f, 6)), None);
        assert_eq!(both.unmet(&attributes(0x2f, 6)), Some(Unmet::Mark));
        assert_eq!(both.unmet(&attributes(0x10, 5)), Some(Unmet::Priority));
        assert_eq!(conditions(Some("0"), None).unmet(&attributes(1, 0)), Some(Unmet::Mark), "one without a mark");
        assert_eq!(conditions(None, Some(0)).unmet(&attributes(1, 0)), None);
        assert!(Conditions::default().is_empty() && !conditions(None, Some(0)).is_empty());
        for kept in [both, conditions(Some("0"), None), conditions(None, Some(0)), Conditions::default()] {
            assert_eq!(Conditions::of_record(&kept.record()), kept);
        }
    }
}
