// SPDX-License-Identifier: MIT OR Apache-2.0
//! Move live connections.

use ccctl_console::UsageError;
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SocketFilter;
use crate::counters::COUNTERS;
use crate::fence::Fence;
use crate::request;
use crate::Operation;

/// Move live connections to another algorithm.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[group(skip)]
#[serde(deny_unknown_fields)]
pub struct Migrate {
    /// Which sockets; without any filter, `all` must be set
    #[serde(default)]
    #[command(flatten)]
    pub filter: SocketFilter,
    /// All sockets of all network namespaces
    #[serde(default)]
    #[arg(long)]
    pub all: bool,
    /// Target algorithm; the same name as --instance moves sockets to the new program after a swap
    #[arg(long, value_name = "NAME")]
    pub to: String,
    /// Only count the sockets
    #[serde(default)]
    #[arg(long)]
    pub dry_run: bool,
}

/// What was found and moved.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Migrated {
    /// Sockets that were selected.
    pub found: usize,
    /// Those that use another program now.
    pub moved: usize,
    /// Those that already used the program asked for.
    pub already: usize,
    /// Those that could not be moved.
    pub failed: Vec<NotMoved>,
    /// By namespace; only those with sockets that were selected.
    pub namespaces: Vec<MigratedIn>,
    /// Network namespaces that could not be entered, and why.
    pub unreadable: Vec<String>,
    /// How often the sockets were gone over, in the network namespace where that was most often: until nothing was found to
    /// move.
    pub passes: usize,
    /// Did the last pass find nothing to move? Where not, sockets come faster than they are moved.
    pub is_settled: bool,
    /// What the sockets were selected by; none where only something else was.
    pub congestion_control_before: Option<String>,
    /// Kernel name, as in `net.ipv4.tcp_congestion_control`: what they were to get.
    pub congestion_control: String,
    /// They were only counted.
    pub dry_run: bool,
}

/// A socket that could not be moved.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct NotMoved {
    /// Addresses.
    pub socket: String,
    /// Why.
    pub reason: String,
}

/// Result in one network namespace.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct MigratedIn {
    /// How it is called.
    pub namespace: String,
    /// Sockets that were selected in it.
    pub found: usize,
    /// Those that use another program now.
    pub moved: usize,
}

impl Operation for Migrate {
    type Answer = Migrated;
    const NAME: &'static str = "migrate";
    const TITLE: &'static str = "Move live connections to another algorithm";

    fn changes(&self) -> bool {
        true
    }

    fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    fn run(&self) -> anyhow::Result<Migrated> {
        self.require_a_choice()?;
        let filter = self.filter.resolve()?;
        if self.filter.instance.as_ref() != Some(&self.to) {
            let fence = Fence::of_named([&self.to])?;
            fence.require_narrow(&self.to, filter.destination, "the target of sockets to all destinations")?;
        }
        let lock = request::lock()?;
        let migration = ccctl_loader::migrate(&lock, &filter, &self.to, self.dry_run, |_, _| {});
        let migration = if self.dry_run { migration } else { COUNTERS.migration(migration) }?;
        if migration.found == 0 {
            self.filter.require_known_names()?;
        }
        let failed = migration.failed.into_iter();
        let namespaces = migration.namespaces.into_iter();
        Ok(Migrated {
            found: migration.found,
            moved: migration.moved,
            already: migration.already,
            failed: failed.map(|failure| NotMoved { socket: failure.socket, reason: failure.reason }).collect(),
            namespaces: namespaces
                .map(|one| MigratedIn { namespace: one.namespace, found: one.found, moved: one.moved })
                .collect(),
            unreadable: migration.unreadable,
            passes: migration.passes,
            is_settled: migration.is_settled,
            congestion_control_before: self.filter.instance.clone(),
            congestion_control: self.to.clone(),
            dry_run: self.dry_run,
        })
    }
}

impl Migrate {
    /// All sockets of a host are not moved by leaving something out.
    fn require_a_choice(&self) -> Result<(), UsageError> {
        match (self.all, self.filter.is_empty()) {
            (true, true) | (false, false) => Ok(()),
            (false, true) => Err(UsageError::new(
                "no filter selects the sockets to move",
                "use --instance NAME, --algorithm NAME, --cgroup PATH, --unit UNIT, --pid PID, --port PORT, --src ADDRESS, --dst ADDRESS, --cookie COOKIE, \
                 --tcp-state STATE, --netns NAME, or --all",
            )),
            (true, false) => {
                Err(UsageError::new("--all selects all sockets, but the other filters only some", "remove --all or the other filters"))
            }
        }
    }
}
