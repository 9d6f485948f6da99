// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the file means while the guard keeps instances disabled, and while canaries have a share of some.

use ccctl_loader::canary::Canary;
use ccctl_loader::guard::{rearm, trips, Trip};
use ccctl_loader::{rename_choices, Instance, Lock};

use super::step::{Kind, Step};
use crate::configuration::Configuration;
use crate::error;

/// Trips that hold under this file, and those that it ends: it guards the instance no more, or there is none any more.
pub fn sort_trips(configuration: &Configuration) -> anyhow::Result<(Vec<Trip>, Vec<Trip>)> {
    let trips = trips()?;
    if trips.is_empty() {
        return Ok((trips, Vec::new()));
    }
    let loaded = Instance::names()?;
    let exists =
        |name: &String| loaded.contains(name) || configuration.instances.iter().any(|wanted| wanted.name == *name);
    let holds = |trip: &Trip| configuration.guard.as_ref().is_some_and(|guard| guard.watches(&trip.name));
    Ok(trips.into_iter().partition(|trip| holds(trip) && exists(&trip.name)))
}

/// Ends trips, or with `dry_run` only tells of it.
pub fn end(lock: &Lock, trips: &[Trip], dry_run: bool) -> Vec<Step> {
    let mut steps = Vec::new();
    for trip in trips {
        let result = if dry_run { Ok(true) } else { rearm(lock, &trip.name) };
        let error = result.err().map(|error| error::fault(&error.into()));
        steps.push(Step { error, ..Step::new(Kind::Rearm, &trip.name, "no longer guarded by the configuration") });
    }
    steps
}

impl Configuration {
    /// The file with the fallback in the place of each disabled instance.
    #[must_use]
    pub fn diverted(&self, trips: &[Trip]) -> Self {
        let mut configuration = self.clone();
        for Trip { name, fallback, .. } in trips {
            if configuration.default.as_ref() == Some(name) {
                configuration.default = Some(fallback.clone());
            }
            for rule in &mut configuration.rules {
                rule.content.choices = rename_choices(&rule.content.choices, name, fallback);
                rule.content.parameters = rule.content.parameters.kept_for(&rule.content.choices);
            }
        }
        configuration
    }

    /// The file with the candidates of canaries beside the instances of which they have a share.
    #[must_use]
    pub fn shared(mut self, canaries: &[Canary]) -> Self {
        for canary in canaries {
            for rule in &mut self.rules {
                // A rule without room for it stays as it is.
                if let Ok(Some(choices)) = canary.split(&rule.content.choices) {
                    rule.content.choices = choices;
                }
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ccctl_loader::format_choices;

    #[test]
    fn the_fallback_replaces_a_disabled_instance_wherever_the_file_names_it() {
        let text = "default = \"web\"\n[instance.web]\nalgorithm = \"cubic\"\n[instance.bulk]\nalgorithm = \"lp\"\n\
            [[rule]]\ncgroup = \"/a\"\nuse = \"web|reno\"\n[[rule]]\ncgroup = \"/b\"\nuse = \"web=10,bulk=90\"\n\
            [[rule]]\ncgroup = \"/c\"\nuse = \"web=10,reno=90\"\n[[rule]]\ncgroup = \"/d\"\nuse = \"bulk\"";
        let configuration = Configuration::of_text("f.toml", text, crate::trust::Trust::Checked).expect("it is right");
        let trip = |name: &str| Trip {
            name: name.to_owned(),
            fallback: "reno".to_owned(),
            since: std::time::UNIX_EPOCH,
            why: String::new(),
        };
        let uses = |configuration: &Configuration| {
            configuration.rules.iter().map(|rule| format_choices(&rule.content.choices)).collect::<Vec<_>>()
        };
        let diverted = configuration.diverted(&[trip("web")]);
        assert_eq!(diverted.default.as_deref(), Some("reno"));
        assert_eq!(uses(&diverted), ["reno", "reno=10,bulk=90", "reno", "bulk"]);
        assert_eq!(uses(&configuration.diverted(&[trip("web"), trip("bulk")])), ["reno"; 4]);
        assert_eq!(uses(&configuration.diverted(&[])), uses(&configuration));
    }
}
