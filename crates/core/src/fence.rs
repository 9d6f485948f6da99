// SPDX-License-Identifier: MIT OR Apache-2.0
//! The fence: what an algorithm that harms others may be used for. Its C file declares that it is one
//! (`CC_FENCED_ALGORITHM`), and whatever gives connections an algorithm asks here.
//!
//! It goes to named destinations only, and only while the guard watches it.

use std::collections::BTreeMap;

use ccctl_console::{Exit, Fault};
use ccctl_loader::owner_records::{self, OwnerRecord};
use ccctl_loader::{format_choices, read_rules, Choice, Instance, Prefix, Program};

use crate::configuration::{Guard, WantedInstance};
use crate::daemon::{self, RunningDaemon};
use crate::experiment::Design;

/// The fenced instances among those that a request may name: by kernel name, and why.
#[derive(Debug, Clone, Default)]
pub struct Fence {
    reasons: BTreeMap<String, String>,
}

impl Fence {
    /// Of the kernel's instances that can be read.
    #[must_use]
    pub fn of_kernel() -> Self {
        let names = Instance::names().unwrap_or_default().into_iter();
        let instances = names.filter_map(|name| Instance::named(&name).ok());
        Self { reasons: instances.filter_map(|instance| Some((instance.name, instance.layout.fence?))).collect() }
    }

    /// Of these among the kernel's instances. Without a file system for pins there are none.
    ///
    /// # Errors
    /// Where one of them cannot be read.
    pub fn of_named<'a>(names: impl IntoIterator<Item = &'a String>) -> anyhow::Result<Self> {
        let present = Instance::names().unwrap_or_default();
        let mut fence = Self::default();
        for name in names.into_iter().filter(|name| present.contains(name)) {
            let reason = Instance::named(name)?.layout.fence;
            fence.reasons.extend(reason.map(|reason| (name.clone(), reason)));
        }
        Ok(fence)
    }

    /// Of one that is about to be registered.
    #[must_use]
    pub fn of_new(program: &Program, name: &str) -> Self {
        Self { reasons: of_program(program).map(|reason| (name.to_owned(), reason)).into_iter().collect() }
    }

    /// Those of a file in the place of the kernel's of the same names.
    #[must_use]
    pub fn with(mut self, wanted: &[WantedInstance]) -> Self {
        for instance in wanted {
            self.reasons.remove(&instance.name);
            self.reasons.extend(of_program(&instance.program).map(|reason| (instance.name.clone(), reason)));
        }
        self
    }

    /// Refuses one that would be for everybody: `place` is what it cannot be.
    ///
    /// # Errors
    /// Where it is fenced.
    pub fn require_open(&self, name: &str, place: &str) -> anyhow::Result<()> {
        let Some(reason) = self.reasons.get(name) else { return Ok(()) };
        let cause = format!("{name} cannot be {place}: it is fenced, since {reason}");
        Err(Fault::new(Exit::Refused, cause, by_rule(name)).into())
    }

    /// Refuses one whose connections would have no destination named, or all of them.
    ///
    /// # Errors
    /// Where it is fenced.
    pub fn require_narrow(&self, name: &str, dst: Option<Prefix>, place: &str) -> anyhow::Result<()> {
        if is_narrow(dst) {
            return Ok(());
        }
        self.require_open(name, place)
    }

    /// Refuses a rule that has no destination, or all of them, for one of these.
    ///
    /// # Errors
    /// Where a choice is fenced.
    pub fn require_destination(&self, choices: &[Choice], dst: Option<Prefix>) -> anyhow::Result<()> {
        let mut names = choices.iter().flat_map(|choice| &choice.names);
        names.try_for_each(|name| self.require_narrow(name, dst, "the algorithm of a rule for all destinations"))
    }

    /// Refuses an experiment for all destinations with one of these.
    ///
    /// # Errors
    /// Where an arm is fenced.
    pub fn require_arms(&self, design: &Design) -> anyhow::Result<()> {
        let dst = design.dst.as_deref().and_then(|dst| dst.parse().ok());
        let mut arms = design.a.iter().chain([&design.b]);
        arms.try_for_each(|name| self.require_narrow(name, dst, "an arm of an experiment for all destinations"))
    }

    /// Refuses where the guard would not watch one of those of a file, or one that nobody else takes out of the kernel.
    ///
    /// # Errors
    /// Where one is fenced and not watched.
    pub fn require_watch(&self, guard: Option<&Guard>, wanted: &[WantedInstance]) -> anyhow::Result<()> {
        let leaving = owner_records::all().unwrap_or_default();
        let stays = |name: &str| {
            wanted.iter().any(|instance| instance.name == name)
                || !leaving.contains_key(&OwnerRecord::Instance(name.to_owned()))
        };
        let unwatched = |name: &&String| stays(name) && !guard.is_some_and(|guard| guard.watches(name));
        self.reasons.keys().find(unwatched).map_or(Ok(()), |name| Err(self.unwatched(name).into()))
    }

    fn unwatched(&self, name: &str) -> Fault {
        unwatched(name, self.reasons.get(name).map_or("", String::as_str))
    }
}

/// Why an algorithm is fenced.
#[must_use]
pub fn of_program(program: &Program) -> Option<String> {
    program.layout.fence.clone()
}

/// Refuses to register one under a name where this process is not the daemon whose guard watches it, or where a rule for all
/// destinations has that name already.
///
/// # Errors
/// Where it is fenced.
pub fn require_load(program: &Program, name: &str) -> anyhow::Result<()> {
    let Some(reason) = of_program(program) else { return Ok(()) };
    let guard = daemon::here().and_then(RunningDaemon::guard);
    if !guard.is_some_and(|guard| guard.watches(name)) {
        return Err(unwatched(name, &reason).into());
    }
    require_no_wide_rule(program, name)
}

/// Refuses to register one under a name that a rule for all destinations has.
///
/// # Errors
/// Where it is fenced.
pub fn require_no_wide_rule(program: &Program, name: &str) -> anyhow::Result<()> {
    let Some(reason) = of_program(program) else { return Ok(()) };
    let table = read_rules()?;
    let has_name = |choices: &[Choice]| choices.iter().any(|choice| choice.names.iter().any(|known| known == name));
    let wide = table.rules().iter().find(|rule| has_name(&rule.content.choices) && !is_narrow(rule.selector.to));
    wide.map_or(Ok(()), |rule| {
        let cause = format!(
            "rule {} gives {name} to all destinations ({}), and it is fenced, since {reason}",
            rule.id,
            format_choices(&rule.content.choices)
        );
        Err(Fault::new(Exit::Refused, cause, format!("ccctl unassign --id {}, or use another name", rule.id)).into())
    })
}

/// Refuses to put one behind the name of an instance that is not fenced: its users did not ask for it.
///
/// # Errors
/// Where it is fenced and the instance `name` is not, or there is none.
pub fn require_same(program: &Program, name: &str) -> anyhow::Result<()> {
    let Some(reason) = of_program(program) else { return Ok(()) };
    if Instance::named(name)?.layout.fence.is_some() {
        return Ok(());
    }
    let cause = format!("{} cannot take the place of {name}: it is fenced, since {reason}", program.label);
    let remedy = format!("load it under a name of its own: ccctl load {} --as ANOTHER_NAME", program.label);
    Err(Fault::new(Exit::Refused, cause, remedy).into())
}

fn unwatched(name: &str, reason: &str) -> Fault {
    let cause = format!("{name} needs the guard: it is fenced, since {reason}");
    let remedy =
        "write [guard] in /etc/ccctl/ccctl.toml, without guard = false for it, and start the daemon (ccctl daemon)";
    Fault::new(Exit::Refused, cause, remedy)
}

fn by_rule(name: &str) -> String {
    format!("give it to named destinations: ccctl assign --cgroup PATH --dst CIDR {name}")
}

/// A prefix of length 0 names nobody.
fn is_narrow(dst: Option<Prefix>) -> bool {
    dst.is_some_and(|prefix| prefix.bits() > 0)
}
