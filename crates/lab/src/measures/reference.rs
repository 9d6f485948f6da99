// SPDX-License-Identifier: GPL-2.0-only
//! How scenarios name a measure: `jain`, `goodput:reno`, `asymmetry:first/second@250 s..500 s`.

use std::fmt;
use std::time::Duration;

use super::definition::{definition, About, Definition, DEFINITIONS};
use super::names::Names;
use crate::experiment::did_you_mean;
use crate::experiment::quantity::Time;

/// What a measure is about; no names: all flows.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// The flows of these groups.
    Flows(Vec<String>),
    /// Those of some, and those of others.
    Pair(Vec<String>, Vec<String>),
    /// A link.
    Link(String),
}

/// A measure of something.
#[derive(Debug, Clone, PartialEq)]
pub struct Reference {
    /// Which; `state.FIELD` for a field.
    pub name: String,
    /// Of what.
    pub subject: Subject,
    /// Over another window than that of the averages.
    pub window: Option<(Duration, Duration)>,
    /// What is known of it.
    pub definition: Definition,
}

impl Reference {
    /// Reads a text. What is wrong comes with what to write.
    pub fn parse(text: &str, names: &Names) -> Result<Self, (String, String)> {
        let (rest, window) = match text.split_once('@') {
            None => (text, None),
            Some((rest, window)) => (rest, Some(parse_window(window, names.duration)?)),
        };
        let (name, subject) = match rest.split_once(':') {
            None => (rest.trim(), None),
            Some((name, subject)) => (name.trim(), Some(subject.trim())),
        };
        let Some(definition) = definition(name) else {
            let remedy = did_you_mean(name, DEFINITIONS.iter().map(|known| known.name));
            return Err((format!("there is no measure {name:?}"), remedy));
        };
        let subject = match definition.about {
            About::Flows => Subject::Flows(subject.map_or_else(|| Ok(Vec::new()), |text| parse_groups(text, names))?),
            About::Pair => parse_pair(name, subject, names)?,
            About::Link => Subject::Link(parse_link(subject, names)?),
        };
        if window.is_some() && definition.needs_baseline {
            return Err((format!("{name} does not take a window"), format!("{name} without @")));
        }
        Ok(Self { name: name.to_owned(), subject, window, definition })
    }

    /// A measure of the flows of these groups, of all without one.
    pub(crate) fn of_flows(name: &str, groups: &[String]) -> Self {
        Self::known(name, Subject::Flows(groups.to_vec()))
    }

    /// A measure of a link.
    pub(crate) fn of_link(name: &str, link: &str) -> Self {
        Self::known(name, Subject::Link(link.to_owned()))
    }

    fn known(name: &str, subject: Subject) -> Self {
        let definition = definition(name).expect("this program names what is in its table");
        Self { name: name.to_owned(), subject, window: None, definition }
    }

    /// The field of a `state.FIELD`.
    #[must_use]
    pub fn state_field(&self) -> Option<&str> {
        self.name.strip_prefix(ccctl_series::columns::STATE_PREFIX)
    }

    /// The measure at each point that this one is made of: the goodput for those that compare with a baseline.
    #[must_use]
    pub fn at_each_point(&self) -> Self {
        let name = match self.name.as_str() {
            "impact" => "goodput_per_flow",
            "fair_to_reno" => "goodput",
            _ => return self.clone(),
        };
        Self { window: self.window, ..Self::known(name, self.subject.clone()) }
    }
}

/// For people: "Goodput of the early flow". `count` says how many flows a group has.
impl Reference {
    /// The measure's name in a heading.
    #[must_use]
    pub fn heading(&self, count: impl Fn(&str) -> usize) -> String {
        let title = self.definition.title;
        let text = match (&self.subject, self.state_field()) {
            (Subject::Link(link), _) if title.contains("the link") => {
                title.replace("the link", &format!("link {link}"))
            }
            (Subject::Link(link), _) => format!("{title} at link {link}"),
            (Subject::Pair(a, b), _) => format!("{title} of {} and {}", a.join(" + "), b.join(" + ")),
            (Subject::Flows(groups), Some(field)) => format!("State {field}, {}", flows(groups, count)),
            // "goodput of a flow of ..." would be read as a flow of something.
            (Subject::Flows(groups), None) if title.contains(" of ") => format!("{title}, {}", flows(groups, count)),
            (Subject::Flows(groups), None) => format!("{title} of {}", flows(groups, count)),
        };
        let window = self
            .window
            .map_or_else(String::new, |(from, to)| format!(" from {} to {} s", from.as_secs_f64(), to.as_secs_f64()));
        let first: String = text.chars().take(1).flat_map(char::to_uppercase).collect();
        format!("{first}{}{window}", text.chars().skip(1).collect::<String>())
    }
}

/// "the early flow", "the reno flows", "all flows"
fn flows(groups: &[String], count: impl Fn(&str) -> usize) -> String {
    match groups {
        [] => "all flows".to_owned(),
        [group] if count(group) == 1 => format!("the {group} flow"),
        groups => format!("the {} flows", groups.join(" and ")),
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.name)?;
        match &self.subject {
            Subject::Flows(groups) if groups.is_empty() => {}
            Subject::Flows(groups) => write!(formatter, ":{}", groups.join("+"))?,
            Subject::Pair(a, b) => write!(formatter, ":{}/{}", a.join("+"), b.join("+"))?,
            Subject::Link(link) => write!(formatter, ":{link}")?,
        }
        match self.window {
            None => Ok(()),
            Some((from, to)) => write!(formatter, "@{} s..{} s", from.as_secs_f64(), to.as_secs_f64()),
        }
    }
}

fn parse_groups(text: &str, names: &Names) -> Result<Vec<String>, (String, String)> {
    let group = |name: &str| {
        let name = name.trim();
        if names.groups.iter().any(|known| known == name) {
            return Ok(name.to_owned());
        }
        Err((format!("there is no group {name:?}"), did_you_mean(name, names.groups.iter().map(String::as_str))))
    };
    text.split('+').map(group).collect()
}

fn parse_pair(measure: &str, subject: Option<&str>, names: &Names) -> Result<Subject, (String, String)> {
    let Some((a, b)) = subject.and_then(|subject| subject.split_once('/')) else {
        return Err((format!("{measure} compares two groups"), format!("\"{measure}:FIRST/SECOND\"")));
    };
    Ok(Subject::Pair(parse_groups(a, names)?, parse_groups(b, names)?))
}

fn parse_link(subject: Option<&str>, names: &Names) -> Result<String, (String, String)> {
    let first = names.links.first().cloned().unwrap_or_default();
    let Some(name) = subject else { return Ok(first) };
    if names.links.iter().any(|known| known == name) {
        return Ok(name.to_owned());
    }
    Err((format!("there is no link {name:?}"), did_you_mean(name, names.links.iter().map(String::as_str))))
}

fn parse_window(text: &str, duration: Duration) -> Result<(Duration, Duration), (String, String)> {
    let remedy = || "write \"MEASURE@250 s..500 s\", inside the run".to_owned();
    let (from, to) = text.split_once("..").ok_or_else(|| (format!("{text:?} is not a window"), remedy()))?;
    let time = |text: &str| Time::parse(text).map(|time| time.0).map_err(|(cause, _)| (cause, remedy()));
    let (from, to) = (time(from)?, time(to)?);
    if from >= to || to > duration {
        return Err((format!("the window {text:?} is empty or exceeds the run of {duration:?}"), remedy()));
    }
    Ok((from, to))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test fails by panicking
mod tests {
    use super::*;

    #[test]
    fn headings_are_sentences_and_not_keys() {
        let names = Names {
            groups: ["early", "web", "late"].map(str::to_owned).to_vec(),
            links: vec!["bottleneck".to_owned()],
            duration: Duration::from_secs(500),
        };
        let heading =
            |text: &str| Reference::parse(text, &names).unwrap().heading(|group| if group == "web" { 20 } else { 1 });
        let cases = [
            ("goodput:early", "Goodput of the early flow"),
            ("goodput", "Goodput of all flows"),
            ("retransmits:web", "Retransmissions of the web flows"),
            ("goodput:early+late", "Goodput of the early and late flows"),
            ("goodput_per_flow:web", "Goodput of a flow, the web flows"),
            ("share:late", "Share of the link, the late flow"),
            ("asymmetry:early/late", "Asymmetry A of early and late"),
            ("utilisation", "Use of link bottleneck"),
            ("queue_mean:bottleneck", "Mean queue at link bottleneck"),
            ("jain@250 s..500 s", "Jain's index of all flows from 250 to 500 s"),
            ("state.alpha_q7:early", "State alpha_q7, the early flow"),
        ];
        for (key, text) in cases {
            assert_eq!(heading(key), text);
        }
    }
}
