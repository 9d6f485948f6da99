// SPDX-License-Identifier: MIT OR Apache-2.0
//! Moving sockets: where to, and whether really.

use ccctl_console::output;

use super::{Model, View};
use crate::commands::top::keys::Action;
use ccctl_core::operations::{Migrate, SocketFilter};

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

    fn is_empty(&self) -> bool {
        match self {
            Self::Instance(_, count) => *count == 0,
            Self::Sockets(_, cookies) => cookies.is_empty(),
            Self::Socket(..) => false,
        }
    }

    fn from(&self) -> &str {
        match self {
            Self::Instance(name, _) | Self::Sockets(name, _) | Self::Socket(name, ..) => name,
        }
    }
}

/// What is asked before anything is moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// What is to be moved.
    pub what: Chosen,
    /// Where it can go.
    pub targets: Vec<String>,
    /// The one under the cursor.
    pub cursor: usize,
    /// It is chosen: only a yes is missing.
    pub is_chosen: bool,
}

/// What an action means for a question.
pub enum Answer {
    /// Nothing yet.
    Open,
    /// Leave it.
    No,
    /// Do it.
    Yes(Migration),
}

impl Question {
    /// About what is selected; a refusal says why there is nothing to ask.
    pub fn about(model: &Model) -> Result<Self, String> {
        let what = match &model.view {
            View::Instances => {
                let row = model.instances.selected().ok_or("nothing is selected")?;
                Chosen::Instance(row.sample.name.clone(), row.sample.sockets)
            }
            View::Sockets(name) => match (model.sockets.marked(), model.sockets.selected()) {
                (0, Some(row)) => {
                    Chosen::Socket(name.clone(), row.cookie, format!("{} -> {}", row.source, row.destination))
                }
                _ => Chosen::Sockets(name.clone(), model.sockets.marks()),
            },
            View::Socket(..) if model.socket.is_closed => return Err("this socket is closed".to_owned()),
            View::Socket(_, cookie) => {
                let socket = model.socket.latest.as_ref().ok_or("nothing is known of this socket yet")?;
                let addresses = format!("{} -> {}", socket.source, socket.destination);
                Chosen::Socket(socket.congestion_control.clone(), *cookie, addresses)
            }
        };
        if what.is_empty() {
            return Err(format!("{} has no socket to move", what.from()));
        }
        let targets: Vec<String> = model.targets.iter().filter(|name| *name != what.from()).cloned().collect();
        if targets.is_empty() {
            return Err("there is no other algorithm: load one first".to_owned());
        }
        Ok(Self { what, targets, cursor: 0, is_chosen: false })
    }

    /// Takes an answer. Once a target is chosen, nothing but a yes moves anything.
    pub fn answer(&mut self, action: Action) -> Answer {
        if self.is_chosen {
            return match action {
                Action::Yes => Answer::Yes(self.migration()),
                Action::No | Action::Back => Answer::No,
                _ => Answer::Open,
            };
        }
        match action {
            Action::Up => self.cursor = self.cursor.saturating_sub(1),
            Action::Down => self.cursor = (self.cursor + 1).min(self.targets.len() - 1),
            Action::First => self.cursor = 0,
            Action::Last => self.cursor = self.targets.len() - 1,
            Action::Enter => self.is_chosen = true,
            Action::Back => return Answer::No,
            _ => {}
        }
        Answer::Open
    }

    /// What it comes to.
    pub fn migration(&self) -> Migration {
        Migration { what: self.what.clone(), to: self.targets[self.cursor].clone() }
    }
}
