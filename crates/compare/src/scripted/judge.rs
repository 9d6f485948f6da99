// SPDX-License-Identifier: GPL-2.0-only
//! Whether a module and our algorithm with profile `linux` did the same in every script.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{ensure, Context as _, Result};

use super::scripts::SCRIPTS;
use super::AGAIN;
use crate::counterparts::hybla::FOLLOWS_SMOOTHED;
use crate::counterparts::vegas::BEGINS_ANEW;
use crate::counterparts::westwood::MEASURES_ON;

/// Why the two differ in a script, as far as the first line that differs shows it.
struct Reason {
    algorithm: &'static str,
    /// What the module does: a rule or a note of the same words is in `counterparts`; a rule's calls are shown to do so.
    module: &'static str,
    shows: fn(&Standing, &Standing) -> bool,
}

/// How a connection stands at the end of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Standing {
    cwnd_pkts: u32,
    /// None: infinite.
    ssthresh_pkts: Option<u32>,
}

const REASONS: &[Reason] = &[
    Reason {
        algorithm: "highspeed",
        module: "decreases by the row of the last window in congestion avoidance, which after a slow start is an old one",
        shows: lower_threshold,
    },
    Reason {
        algorithm: "bic",
        module: "keeps its step for 1/32 s where the window stays the same",
        shows: one_packet,
    },
    Reason {
        algorithm: "cubic",
        module: "takes times in whole jiffies: renews the step once per jiffy, and keeps it for 1/32 s rounded down to jiffies",
        shows: one_packet,
    },
    Reason {
        algorithm: "cubic",
        module: "allows a train of ACKs the time of four of the device's largest packets, which are not in the recording",
        shows: end_of_slow_start,
    },
    Reason {
        algorithm: "veno",
        module: "takes the smallest RTT since the last decision, in recovery too, and adds 1 us",
        shows: one_packet,
    },
    Reason {
        algorithm: "dctcp",
        module: "ends its window with the ACK of the last byte sent before it",
        shows: one_packet_of_both,
    },
    Reason { algorithm: "vegas", module: BEGINS_ANEW, shows: one_packet },
    Reason {
        algorithm: "yeah",
        module: "adds 1 us to each RTT sample, to avoid division by 0",
        shows: one_packet_of_both,
    },
    Reason { algorithm: "westwood", module: "counts in whole bytes and jiffies", shows: one_packet_of_both },
    Reason { algorithm: "westwood", module: MEASURES_ON, shows: both_at_an_estimate_ours_higher },
    Reason {
        algorithm: "hybla",
        module: "keeps fractions of slow start and congestion avoidance in one sum; limits the window to 65,535",
        shows: sum_or_limit_of_hybla,
    },
    Reason {
        algorithm: "lp",
        module: "smooths the difference of two clocks in 32 bits: with the random offsets that time stamps have by default the sum \
                 overflows, and what it indicates is chance; so it does where the peer's tick is measured as less than 1 ms, \
                 which counts as 0",
        shows: only_ours_yields,
    },
    Reason { algorithm: "hybla", module: "rounds its powers of 2 down to 1/128", shows: hundredth },
    Reason { algorithm: "hybla", module: FOLLOWS_SMOOTHED, shows: an_eighth_of_rho },
];

/// What may differ and was not explained yet: scripts of an algorithm; none named: any.
const UNEXPLAINED: &[(&str, &[&str])] = &[];
/// So many are named in the table.
const NAMED: usize = 3;

/// Ours keeps more, a fifth at most.
fn lower_threshold(module: &Standing, ours: &Standing) -> bool {
    let (Some(module), Some(ours)) = (module.ssthresh_pkts, ours.ssthresh_pkts) else { return false };
    module < ours && ours - module <= ours / 5
}

/// A window differs by a packet, and nothing else.
fn one_packet(module: &Standing, ours: &Standing) -> bool {
    module.cwnd_pkts.abs_diff(ours.cwnd_pkts) <= 1 && module.ssthresh_pkts == ours.ssthresh_pkts
}

/// Window and threshold differ by a packet.
fn one_packet_of_both(module: &Standing, ours: &Standing) -> bool {
    let of = |standing: &Standing| standing.ssthresh_pkts.unwrap_or(u32::MAX);
    module.cwnd_pkts.abs_diff(ours.cwnd_pkts) <= 1 && of(module).abs_diff(of(ours)) <= 1
}

/// Both have just set the window to what they think that the path holds, ours to more: it has left out the time before it sent again.
fn both_at_an_estimate_ours_higher(module: &Standing, ours: &Standing) -> bool {
    let is_set = |standing: &Standing| standing.ssthresh_pkts == Some(standing.cwnd_pkts);
    is_set(module) && is_set(ours) && ours.cwnd_pkts > module.cwnd_pkts
}

/// The module is at its limit, or has a packet more, out of the fraction that slow start has left.
fn sum_or_limit_of_hybla(module: &Standing, ours: &Standing) -> bool {
    module.cwnd_pkts == 65_535 || (module.cwnd_pkts == ours.cwnd_pkts + 1 && module.ssthresh_pkts == ours.ssthresh_pkts)
}

/// Ours has halved its window at a delay, and the module has not: its own is chance.
fn only_ours_yields(module: &Standing, ours: &Standing) -> bool {
    ours.cwnd_pkts == (module.cwnd_pkts / 2).max(1) || ours.cwnd_pkts == (module.cwnd_pkts.saturating_sub(2) / 2).max(1)
    // before the growth of this ACK
}

/// Ours has more, a hundredth at most.
fn hundredth(module: &Standing, ours: &Standing) -> bool {
    let more = ours.cwnd_pkts.saturating_sub(module.cwnd_pkts);
    more > 0 && more <= module.cwnd_pkts / 100 && module.ssthresh_pkts == ours.ssthresh_pkts
}

/// Ours has less in slow start: rho is in eighths, and with one less each packet acked is worth 2^(1/8), a twelfth, less.
fn an_eighth_of_rho(module: &Standing, ours: &Standing) -> bool {
    let less = module.cwnd_pkts.saturating_sub(ours.cwnd_pkts);
    less > 0 && less <= module.cwnd_pkts / 12 && module.ssthresh_pkts.is_none() && ours.ssthresh_pkts.is_none()
}

/// One of them has ended slow start, within three packets.
fn end_of_slow_start(module: &Standing, ours: &Standing) -> bool {
    module.cwnd_pkts.abs_diff(ours.cwnd_pkts) <= 3 && module.ssthresh_pkts.is_none() != ours.ssthresh_pkts.is_none()
}

impl Standing {
    /// Of a line: `... | cwnd 12 ssthresh - open`.
    fn read(line: &str) -> Option<Self> {
        let mut words = line.rsplit_once(" | cwnd ")?.1.split(' ');
        let cwnd_pkts = words.next()?.parse().ok()?;
        let ssthresh_pkts = words.nth(1)?.parse().ok(); // behind its name
        Some(Self { cwnd_pkts, ssthresh_pkts })
    }
}

/// What a guest prints for a script that is not as it says.
const WRONG: &str = "not as expected: ";

/// Lines of each script.
type Runs<'a> = BTreeMap<&'a str, Lines<'a>>;

/// Of the runs of a script.
#[derive(Debug, Default, PartialEq, Eq)]
struct Lines<'a> {
    module: Vec<&'a str>,
    ours: Vec<&'a str>,
    /// Of the module, at other times.
    again: [Vec<&'a str>; AGAIN.len()],
}

/// Judges FOLDER/ALGORITHM.scripts, prints a line for each algorithm and each difference, and gives the table of all.
///
/// # Errors
/// What differs and is not meant to, what does not differ and is meant to, or is not as its script says.
pub fn judge(folder: &Path, algorithms: &[String]) -> Result<String> {
    let mut table =
        String::from("| algorithm | the same | the module differs from itself | the module | not explained yet |\n| --- | ---: | ---: | --- | --- |\n");
    let mut faults = Vec::new();
    for algorithm in algorithms {
        let path = folder.join(format!("{algorithm}.scripts"));
        let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let findings = judge_one(algorithm, &text)?;
        println!("{algorithm}: {} of {} scripts the same", findings.same, SCRIPTS.len());
        table += &findings.row(algorithm);
        faults.extend(findings.faults);
    }
    for fault in &faults {
        println!("{fault}");
    }
    ensure!(faults.is_empty(), "{} scripts are not as they are meant to be", faults.len());
    Ok(table)
}

/// What the scripts of an algorithm show.
#[derive(Default)]
struct Findings {
    same: usize,
    /// The module itself did otherwise at another time, there or before.
    by_clock: usize,
    /// How many scripts each reason explains.
    explained: BTreeMap<&'static str, usize>,
    unexplained: Vec<&'static str>,
    faults: Vec<String>,
}

impl Findings {
    fn row(&self, algorithm: &str) -> String {
        let explained = self.explained.iter().map(|(module, count)| format!("{module} ({count})"));
        let explained = explained.collect::<Vec<_>>().join("; ");
        let unexplained = match self.unexplained.len() {
            0..=NAMED => self.unexplained.join(", "),
            count => format!("{count} scripts"),
        };
        format!("| {algorithm} | {} | {} | {explained} | {unexplained} |\n", self.same, self.by_clock)
    }
}

fn judge_one(algorithm: &str, text: &str) -> Result<Findings> {
    let runs = read(algorithm, text)?;
    let is_unexplained = |script: &str| {
        let mut its = UNEXPLAINED.iter().filter(|(of, _)| *of == algorithm);
        its.any(|(_, scripts)| scripts.is_empty() || scripts.contains(&script))
    };
    let mut findings = Findings::default();
    for (script, _) in SCRIPTS {
        let Lines { module, ours, again } =
            runs.get(script).with_context(|| format!("{algorithm}: {script} was not run"))?;
        ensure!(again.iter().all(|lines| !lines.is_empty()), "{algorithm}: {script} was not run again");
        findings.faults.extend(wrong(algorithm, script, module, ours));
        let by_clock = again.iter().filter_map(|again| first_difference(module, again).map(|(line, ..)| line)).min();
        let Some((line, module, ours)) = first_difference(module, ours) else {
            findings.same += 1;
            continue;
        };
        if by_clock.is_some_and(|its_line| its_line <= line) {
            findings.by_clock += 1;
        } else if is_unexplained(script) {
            findings.unexplained.push(script);
        } else if let Some(reason) = reason(algorithm, module, ours) {
            *findings.explained.entry(reason.module).or_default() += 1;
        } else {
            let lines = format!("line {line}:\n  module: {module}\n  ours:   {ours}");
            findings.faults.push(format!("{algorithm}, {script}, {lines}"));
        }
    }
    Ok(findings)
}

fn reason(algorithm: &str, module: &str, ours: &str) -> Option<&'static Reason> {
    let (module, ours) = (Standing::read(module)?, Standing::read(ours)?);
    REASONS.iter().filter(|it| it.algorithm == algorithm).find(|it| (it.shows)(&module, &ours))
}

fn read<'a>(algorithm: &str, text: &'a str) -> Result<Runs<'a>> {
    let mut runs = Runs::new();
    for line in text.lines() {
        let mut cells = line.splitn(3, '\t');
        let (Some(script), Some(name), Some(line)) = (cells.next(), cells.next(), cells.next()) else {
            continue;
        };
        let lines = runs.entry(script).or_default();
        let whose = match AGAIN.iter().position(|(again, _)| *again == name) {
            Some(number) => &mut lines.again[number],
            None if name == algorithm => &mut lines.module,
            None => &mut lines.ours,
        };
        whose.push(line);
    }
    ensure!(!runs.is_empty(), "nothing of {algorithm} was run");
    Ok(runs)
}

fn wrong(algorithm: &str, script: &str, module: &[&str], ours: &[&str]) -> Vec<String> {
    let of = |whose: &str, lines: &[&str]| {
        let wrong = lines.iter().filter(|line| line.starts_with(WRONG));
        wrong.map(|line| format!("{algorithm}, {script}, {whose}: {line}")).collect::<Vec<_>>()
    };
    [of("module", module), of("ours", ours)].concat()
}

fn first_difference<'a>(module: &[&'a str], ours: &[&'a str]) -> Option<(usize, &'a str, &'a str)> {
    let line = |lines: &[&'a str], number: usize| lines.get(number).copied().unwrap_or("(no more)");
    (0..module.len().max(ours.len()))
        .map(|number| (number + 1, line(module, number), line(ours, number)))
        .find(|(_, module, ours)| module != ours)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::counterparts::COUNTERPARTS;

    #[test]
    fn the_first_line_that_differs_is_found() {
        assert_eq!(first_difference(&["a", "b"], &["a", "b"]), None);
        assert_eq!(first_difference(&["a", "b"], &["a", "c"]), Some((2, "b", "c")));
        assert_eq!(first_difference(&["a"], &["a", "c"]), Some((2, "(no more)", "c")));
    }

    #[test]
    fn each_reason_is_a_rule_or_a_note_of_the_comparison_by_calls() {
        for reason in REASONS {
            let its = COUNTERPARTS.iter().find(|it| it.name == reason.algorithm).unwrap();
            let is_rule = its.rules.iter().any(|rule| rule.module == reason.module);
            assert!(is_rule || its.notes.contains(&reason.module), "{}: {}", reason.algorithm, reason.module);
        }
    }

    #[test]
    fn a_line_says_how_the_connection_stands() {
        let standing = |cwnd_pkts, ssthresh_pkts| Some(Standing { cwnd_pkts, ssthresh_pkts });
        assert_eq!(Standing::read("ack 2 -> 3 4 | cwnd 12 ssthresh - open"), standing(12, None));
        assert_eq!(Standing::read("ack 2 -> r1 | cwnd 9 ssthresh 7 recovery"), standing(9, Some(7)));
        assert_eq!(Standing::read("ack 2 is lost"), None);
    }

    #[test]
    fn lines_belong_to_the_module_and_to_ours() {
        let text = "s\treno\tx\ns\tlinux_reno\ty\ns\tagain\tz\ns\tagain later\tu\n";
        let runs = read("reno", text).unwrap_or_default();
        let expected = Lines { module: vec!["x"], ours: vec!["y"], again: [vec!["z"], vec!["u"]] };
        assert_eq!(runs["s"], expected);
        assert!(read("reno", "").is_err());
    }
}
