// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can be changed from the screen, in words.

use ccctl_console::output;
use ccctl_core::operations::{Migrate, SocketFilter};

/// One change, complete: only a yes is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Move sockets.
    Migrate(Migration),
    /// Load an algorithm, with the parameters of its file.
    Load {
        /// As `ccctl algorithms` lists it.
        algorithm: String,
        /// Kernel name that it gets.
        name: String,
    },
    /// Replace the program behind a name.
    Swap {
        /// Kernel name.
        name: String,
        /// An algorithm.
        with: String,
        /// Sockets that use it now.
        sockets: u64,
    },
    /// Set a parameter.
    Tune {
        /// Kernel name.
        name: String,
        /// Parameter.
        key: String,
        /// As people write it.
        value: String,
        /// As it is now.
        before: String,
        /// Sockets that use it now.
        sockets: u64,
    },
    /// Set a rule.
    Assign {
        /// Path of the cgroup.
        cgroup: String,
        /// Kernel name.
        to: String,
        /// Sockets of the cgroup that are listed.
        sockets: usize,
    },
    /// Enable again what the guard has disabled.
    Rearm {
        /// Kernel name.
        name: String,
        /// Why it was disabled.
        why: String,
    },
}

impl Change {
    /// The question, and what else to know before a yes.
    pub fn question(&self) -> (String, String) {
        let in_use = |count: u64| output::count(count as usize, "socket");
        match self {
            Self::Migrate(migration) => (format!("Move {}?", migration.label()), migration.what.addresses().to_owned()),
            Self::Load { algorithm, name } => (
                format!("Load {algorithm} as {name}?"),
                format!("No socket uses it until m moves one, i assigns it, or ccctl default {name}."),
            ),
            Self::Swap { name, with, sockets } => (
                format!("Swap {name} to {with}?"),
                format!("New connections use it; {} on the previous program until m moves them.", stay(*sockets)),
            ),
            Self::Tune { name, key, value, before, sockets } => {
                (format!("Set {key}={value} in {name} (now {before})?"), format!("{} it.", uses(&in_use(*sockets))))
            }
            Self::Assign { cgroup, to, sockets } => (
                format!("Assign {to} to new connections of {cgroup}?"),
                format!("{} as they are (m moves them).", stay(*sockets as u64)),
            ),
            Self::Rearm { name, why } => (format!("Enable {name} again?"), format!("The guard has disabled it: {why}")),
        }
    }

    /// While it is under way.
    pub fn progress(&self) -> String {
        match self {
            Self::Migrate(migration) => format!("moving {} ...", migration.label()),
            Self::Load { algorithm, .. } => format!("loading {algorithm} ..."),
            Self::Swap { name, with, .. } => format!("swapping {name} to {with} ..."),
            Self::Tune { name, .. } => format!("tuning {name} ..."),
            Self::Assign { cgroup, .. } => format!("assigning {cgroup} ..."),
            Self::Rearm { name, .. } => format!("enabling {name} ..."),
        }
    }
}

fn stay(count: u64) -> String {
    let verb = if count == 1 { "stays" } else { "stay" };
    format!("{} {verb}", output::count(count as usize, "socket"))
}

fn uses(sockets: &str) -> String {
    format!("{sockets} {}", if sockets.starts_with("1 ") { "uses" } else { "use" })
}

/// What is to be moved, and where to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Migration {
    /// What.
    pub what: Chosen,
    /// Kernel name.
    pub to: String,
}

/// What is to be moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Chosen {
    /// All sockets of an algorithm; how many there were when it was asked.
    Instance(String, u64),
    /// Sockets of an algorithm, by their cookies.
    Sockets(String, Vec<u64>),
    /// One of them, by its cookie, and its addresses.
    Socket(String, u64, String),
}

impl Migration {
    /// In words.
    pub fn label(&self) -> String {
        format!("{} to {}", self.what.label(), self.to)
    }

    /// What the engine is asked for.
    pub fn requests(&self) -> Vec<Migrate> {
        let request = |filter| Migrate { filter, all: false, to: self.to.clone(), dry_run: false };
        let by_cookie = |cookie: &u64| request(SocketFilter { cookie: Some(*cookie), ..SocketFilter::default() });
        match &self.what {
            Chosen::Instance(name, _) => {
                vec![request(SocketFilter { instance: Some(name.clone()), ..SocketFilter::default() })]
            }
            Chosen::Sockets(_, cookies) => cookies.iter().map(by_cookie).collect(),
            Chosen::Socket(_, cookie, _) => vec![by_cookie(cookie)],
        }
    }
}

impl Chosen {
    /// In words.
    pub fn label(&self) -> String {
        match self {
            Self::Instance(name, count) => format!("{} of {name} (all)", output::count(*count as usize, "socket")),
            Self::Sockets(name, cookies) => format!("{} of {name}", output::count(cookies.len(), "socket")),
            Self::Socket(name, ..) => format!("1 socket of {name}"),
        }
    }

    /// Of one socket, its addresses.
    pub fn addresses(&self) -> &str {
        match self {
            Self::Socket(_, _, addresses) => addresses,
            Self::Instance(..) | Self::Sockets(..) => "",
        }
    }

    /// Nothing to move?
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Instance(_, count) => *count == 0,
            Self::Sockets(_, cookies) => cookies.is_empty(),
            Self::Socket(..) => false,
        }
    }

    /// Their algorithm.
    pub fn from(&self) -> &str {
        match self {
            Self::Instance(name, _) | Self::Sockets(name, _) | Self::Socket(name, ..) => name,
        }
    }
}
