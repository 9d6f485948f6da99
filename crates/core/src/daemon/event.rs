// SPDX-License-Identifier: MIT OR Apache-2.0
//! What happens on a host: an event for each change of instances, rules and default, found by comparing the kernel with
//! what it was, whoever has changed it.

use std::collections::BTreeMap;

use ccctl_loader::{current_default, read_rules, Instance};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something that has happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Its number, from 1 at the daemon's start; one more than that of the event before.
    pub number: u64,
    /// When, RFC 3339.
    pub at: String,
    /// What kind.
    pub kind: EventKind,
    /// To which instance or rule; for a default, which algorithm; empty: to the daemon itself.
    pub name: String,
    /// The rest of the sentence.
    pub text: String,
}

/// Kinds of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EventKind {
    /// The daemon was started.
    Started,
    /// An instance was loaded.
    Loaded,
    /// An instance was unloaded.
    Unloaded,
    /// The program behind an instance's name was replaced.
    Swapped,
    /// Parameters of an instance were changed.
    Tuned,
    /// A rule was set or changed.
    Assigned,
    /// A rule was removed.
    Unassigned,
    /// The default of the daemon's network namespace was changed.
    Default,
    /// The daemon has brought the kernel to the configuration.
    Corrected,
    /// A step towards the configuration failed.
    Failed,
    /// The configuration was read again, or could not be.
    Reloaded,
    /// The guard has something to say of an instance.
    Guard,
    /// The guard has disabled an instance.
    Disabled,
    /// A disabled instance was enabled again.
    Enabled,
    /// An experiment was started, has begun another block, or has ended.
    Experiment,
}

impl EventKind {
    /// As it is written in JSON.
    #[must_use]
    pub fn word(self) -> String {
        format!("{self:?}").to_lowercase()
    }
}

impl Event {
    /// To what, and the rest, as far as there are both.
    #[must_use]
    pub fn sentence(&self) -> String {
        let parts = [self.name.as_str(), self.text.as_str()];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ")
    }
}

/// An event before it has a number and a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct News {
    /// What kind.
    pub kind: EventKind,
    /// To what.
    pub name: String,
    /// The rest of the sentence.
    pub text: String,
}

impl News {
    /// One of these words.
    pub fn new(kind: EventKind, name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { kind, name: name.into(), text: text.into() }
    }
}

/// What the kernel has, as far as events tell of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snapshot {
    instances: BTreeMap<String, SeenInstance>,
    /// By id: for whom, and what they get.
    rules: BTreeMap<u32, (String, String)>,
    default: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct SeenInstance {
    algorithm: String,
    map_id: u32,
    /// Names and values as they are written.
    parameters: Vec<(String, String)>,
}

impl Snapshot {
    /// Reads the kernel.
    ///
    /// # Errors
    /// Those of the loader.
    pub fn take() -> anyhow::Result<Self> {
        let rules = read_rules()?;
        let rule = |rule: &ccctl_loader::Rule| (rule.id, (rule.selector.to_string(), rule.content.to_string()));
        Ok(Self {
            instances: Instance::all()?.iter().map(|one| (one.name.clone(), SeenInstance::of(one))).collect(),
            rules: rules.rules().iter().map(rule).collect(),
            default: current_default()?,
        })
    }

    /// What has happened from `before` to this one.
    #[must_use]
    pub fn since(&self, before: &Self) -> Vec<News> {
        let mut news = Vec::new();
        for (name, now) in &self.instances {
            match before.instances.get(name) {
                None => news.push(News::new(EventKind::Loaded, name, format!("runs {}", now.described()))),
                Some(before) => news.extend(now.since(before, name)),
            }
        }
        for name in before.instances.keys().filter(|name| !self.instances.contains_key(*name)) {
            news.push(News::new(EventKind::Unloaded, name, ""));
        }
        for (id, (selector, targets)) in &self.rules {
            let text = match before.rules.get(id) {
                Some((_, earlier)) if earlier == targets => continue,
                Some((_, earlier)) => format!("{selector} gets {targets} (was {earlier})"),
                None => format!("{selector} gets {targets}"),
            };
            news.push(News::new(EventKind::Assigned, format!("rule {id}"), text));
        }
        for (id, (selector, targets)) in before.rules.iter().filter(|(id, _)| !self.rules.contains_key(id)) {
            news.push(News::new(EventKind::Unassigned, format!("rule {id}"), format!("{selector} got {targets}")));
        }
        if self.default != before.default {
            news.push(News::new(EventKind::Default, &self.default, format!("was {}", before.default)));
        }
        news
    }
}

impl SeenInstance {
    fn of(instance: &Instance) -> Self {
        let value =
            |(parameter, value): (&ccctl_catalog::Parameter, u32)| (parameter.name.clone(), parameter.format(value));
        Self {
            algorithm: instance.identity.algorithm.clone(),
            map_id: instance.map_id,
            parameters: instance.parameters.iter().map(value).collect(),
        }
    }

    fn described(&self) -> String {
        format!("{} (map {})", self.algorithm, self.map_id)
    }

    fn since(&self, before: &Self, name: &str) -> Option<News> {
        if self.map_id != before.map_id {
            let text = format!("runs {}, before {}", self.described(), before.described());
            return Some(News::new(EventKind::Swapped, name, text));
        }
        let changed = self.parameters.iter().zip(&before.parameters).filter(|(now, before)| now != before);
        let texts: Vec<String> =
            changed.map(|((key, value), (_, before))| format!("{key}={value} (was {before})")).collect();
        (!texts.is_empty()).then(|| News::new(EventKind::Tuned, name, texts.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instance(algorithm: &str, map_id: u32, beta: &str) -> SeenInstance {
        SeenInstance {
            algorithm: algorithm.to_owned(),
            map_id,
            parameters: vec![("beta".to_owned(), beta.to_owned()), ("other".to_owned(), "1".to_owned())],
        }
    }

    fn told(news: &[News]) -> Vec<String> {
        news.iter().map(|one| format!("{} {} {}", one.kind.word(), one.name, one.text)).collect()
    }

    #[test]
    fn a_kind_is_written_in_json_as_its_word() {
        for kind in [EventKind::Started, EventKind::Unassigned, EventKind::Default, EventKind::Guard] {
            assert_eq!(serde_json::json!(kind), kind.word());
        }
    }

    #[test]
    fn each_difference_is_one_event() {
        let before = Snapshot {
            instances: [
                ("goes".to_owned(), instance("reno", 1, "0.5")),
                ("stays".to_owned(), instance("cubic", 2, "0.7")),
                ("tuned".to_owned(), instance("cubic", 3, "0.7")),
                ("swapped".to_owned(), instance("cubic", 4, "0.7")),
            ]
            .into(),
            rules: [
                (1, ("cgroup /a".to_owned(), "web".to_owned())),
                (2, ("cgroup /b".to_owned(), "web".to_owned())),
                (3, ("cgroup /c".to_owned(), "web".to_owned())),
            ]
            .into(),
            default: "cubic".to_owned(),
        };
        let mut after = before.clone();
        after.instances.remove("goes");
        after.instances.insert("comes".to_owned(), instance("bbr", 9, "0.5"));
        after.instances.insert("tuned".to_owned(), instance("cubic", 3, "0.8"));
        after.instances.insert("swapped".to_owned(), instance("bbr", 5, "0.8"));
        after.rules.remove(&1);
        after.rules.insert(2, ("cgroup /b".to_owned(), "web=1,reno=2".to_owned()));
        after.rules.insert(4, ("cgroup /d".to_owned(), "reno".to_owned()));
        after.default = "web".to_owned();
        assert_eq!(
            told(&after.since(&before)),
            [
                "loaded comes runs bbr (map 9)",
                "swapped swapped runs bbr (map 5), before cubic (map 4)",
                "tuned tuned beta=0.8 (was 0.7)",
                "unloaded goes ",
                "assigned rule 2 cgroup /b gets web=1,reno=2 (was web)",
                "assigned rule 4 cgroup /d gets reno",
                "unassigned rule 1 cgroup /a got web",
                "default web was cubic",
            ]
        );
        assert_eq!(after.since(&after), []);
    }
}
