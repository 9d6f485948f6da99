// SPDX-License-Identifier: GPL-2.0-only
//! What a script of a connection says: a step a line.
//!
//! | line | what it does |
//! | --- | --- |
//! | `title TEXT` | says what is shown |
//! | `set sack off`, `timestamps off`, `dsack off` | the peer has it not |
//! | `set ecn on`, `set echo each` | both ends have ECN; the peer echoes each packet's mark (DCTCP) instead of one until it is answered |
//! | `set rtt MS`, `set initcwnd PKTS` | round trip (40), first window (10) |
//! | `write PKTS` | the application writes so many packets |
//! | `round [COUNT]` | what is under way arrives, and a round trip after it was sent its ACKs come back; so often |
//! | `lose PKTS`, `mark PKTS` | of the next round's packets these (`3,5-7`; the first is 1) are lost, are marked |
//! | `lose-acks ACKS` | of the next round's ACKs these are lost |
//! | `move PKT after PKT` | of the next round's packets one arrives later than others |
//! | `delay MS` | the next round's ACKs come so much later |
//! | `every PKTS` | from now on the peer acknowledges every so many packets (2) |
//! | `window PKTS` | from now on the peer offers so much |
//! | `timeout [COUNT]` | nothing arrives until the retransmission timer has ended, so often |
//! | `wait MS` | nothing happens from outside |
//! | `expect cwnd PKTS`, `ssthresh PKTS`, `sent PKTS`, `retransmitted PKTS`, `state NAME` | how it stands; sent since the last round began; `for NAME,NAME` at the end: only these algorithms |

use anyhow::{bail, ensure, Context as _, Result};

/// A connection, step by step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    pub title: String,
    pub settings: Settings,
    pub steps: Vec<Step>,
}

/// What both ends are like.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // each is a setting of its own
pub struct Settings {
    pub sack: bool,
    pub duplicate_sack: bool,
    pub timestamps: bool,
    pub ecn: bool,
    /// The peer echoes as DCTCP wants it (RFC 8257 section 3.2).
    pub echoes_each_mark: bool,
    pub rtt_ms: u64,
    pub initial_window_pkts: Option<u32>,
}

/// Numbers from 1, in order of appearance.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Numbers(Vec<(u32, u32)>);

/// What happens next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    Write(u32),
    Round(u32),
    Lose(Numbers),
    Mark(Numbers),
    LoseAcks(Numbers),
    Move { packet: u32, after: u32 },
    DelayMs(u64),
    AckEvery(u32),
    Window(u32),
    Timeout(u32),
    WaitMs(u64),
    Expect(Expectation),
}

/// How it is to stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expectation {
    pub what: String,
    pub value: String,
    /// None: all.
    pub algorithms: Vec<String>,
}

const EXPECTED: [&str; 5] = ["cwnd", "ssthresh", "sent", "retransmitted", "state"];

impl Default for Settings {
    fn default() -> Self {
        Self {
            sack: true,
            duplicate_sack: true,
            timestamps: true,
            ecn: false,
            echoes_each_mark: false,
            rtt_ms: 40,
            initial_window_pkts: None,
        }
    }
}

impl Numbers {
    /// Is this number one of them?
    pub fn contains(&self, number: u32) -> bool {
        self.0.iter().any(|(first, last)| (*first..=*last).contains(&number))
    }

    fn parse(text: &str) -> Result<Self> {
        let one = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (first.parse()?, last.parse()?);
            ensure!(0 < first && first <= last, "{part:?} is no range of numbers from 1");
            Ok((first, last))
        };
        text.split(',').map(one).collect::<Result<_>>().map(Self)
    }
}

impl Script {
    /// Reads it.
    ///
    /// # Errors
    /// The line that is wrong, and why.
    pub fn parse(text: &str) -> Result<Self> {
        let mut script = Self { title: String::new(), settings: Settings::default(), steps: Vec::new() };
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if !line.is_empty() {
                script.take(line).with_context(|| format!("line {}: {line:?}", number + 1))?;
            }
        }
        ensure!(!script.title.is_empty() && !script.steps.is_empty(), "a script has a title and steps");
        Ok(script)
    }

    fn take(&mut self, line: &str) -> Result<()> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["title", ..] => line["title".len()..].trim().clone_into(&mut self.title),
            ["set", name, value] => {
                ensure!(self.steps.is_empty(), "set comes before the first step");
                self.settings.set(name, value)?;
            }
            _ => self.steps.push(step(&words)?),
        }
        Ok(())
    }
}

impl Settings {
    /// Linux's hybla begins with a window of rho packets, the RTT by 25 ms, whatever the route says; ours by the route. So that the
    /// rest can be compared, the route says the same.
    pub fn begin_as_hybla(&mut self) {
        self.initial_window_pkts = u32::try_from(self.rtt_ms / 25).ok().map(|rho| rho.max(1));
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        match (name, value) {
            ("sack", "off") => self.sack = false,
            ("dsack", "off") => self.duplicate_sack = false,
            ("timestamps", "off") => self.timestamps = false,
            ("ecn", "on") => self.ecn = true,
            ("echo", "each") => self.echoes_each_mark = true,
            ("rtt", ms) => self.rtt_ms = ms.parse()?,
            ("initcwnd", pkts) => self.initial_window_pkts = Some(pkts.parse()?),
            _ => bail!("there is no such setting"),
        }
        Ok(())
    }
}

fn step(words: &[&str]) -> Result<Step> {
    Ok(match words {
        ["write", pkts] => Step::Write(pkts.parse()?),
        ["round"] => Step::Round(1),
        ["round", count] => Step::Round(count.parse()?),
        ["lose", numbers] => Step::Lose(Numbers::parse(numbers)?),
        ["mark", numbers] => Step::Mark(Numbers::parse(numbers)?),
        ["lose-acks", numbers] => Step::LoseAcks(Numbers::parse(numbers)?),
        ["move", packet, "after", after] => Step::Move { packet: packet.parse()?, after: after.parse()? },
        ["delay", ms] => Step::DelayMs(ms.parse()?),
        ["every", pkts] => Step::AckEvery(pkts.parse()?),
        ["window", pkts] => Step::Window(pkts.parse()?),
        ["timeout"] => Step::Timeout(1),
        ["timeout", count] => Step::Timeout(count.parse()?),
        ["wait", ms] => Step::WaitMs(ms.parse()?),
        ["expect", what, value, rest @ ..] if EXPECTED.contains(what) => {
            let algorithms = match rest {
                [] => Vec::new(),
                ["for", names] => names.split(',').map(str::to_owned).collect(),
                _ => bail!("expect WHAT VALUE [for NAME,NAME]"),
            };
            Step::Expect(Expectation { what: (*what).to_owned(), value: (*value).to_owned(), algorithms })
        }
        _ => bail!("there is no such step"),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_read_line_by_line() {
        let script =
            Script::parse("title A loss # and no more\nset sack off\n\nwrite 20\nlose 3,5-7\nround 2\n").unwrap();
        assert_eq!((script.title.as_str(), script.settings.sack), ("A loss", false));
        let [Step::Write(20), Step::Lose(lost), Step::Round(2)] = &script.steps[..] else { panic!("{script:?}") };
        assert_eq!((1..=8).filter(|number| lost.contains(*number)).collect::<Vec<_>>(), [3, 5, 6, 7]);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for line in ["lose 0", "lose 5-3", "rounds 3", "expect cwnds 3", "expect cwnd 3 reno", "set sack on"] {
            let error = Script::parse(&format!("title t\n{line}\nround\n")).unwrap_err();
            assert!(format!("{error:#}").starts_with("line 2: "), "{error:#}");
        }
        assert!(Script::parse("title t\nround\nset rtt 10\n").is_err());
    }
}
