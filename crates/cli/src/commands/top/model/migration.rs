//! Moving sockets: where to, and whether really.

use super::{Model, View};
use crate::commands::top::keys::Action;
use crate::engine::{Migrate, SocketFilter};
use crate::output;

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
}

impl Migration {
    /// In words.
    pub fn label(&self) -> String {
        format!("{} to {}", self.what.label(), self.to)
    }

    /// What the engine is asked for.
    pub fn requests(&self) -> Vec<Migrate> {
        let request = |filter| Migrate { filter, all: false, to: self.to.clone(), dry_run: false };
        match &self.what {
            Chosen::Instance(name, _) => {
                vec![request(SocketFilter { instance: Some(name.clone()), ..SocketFilter::default() })]
            }
            Chosen::Sockets(_, cookies) => {
                let one = |cookie: &u64| request(SocketFilter { cookie: Some(*cookie), ..SocketFilter::default() });
                cookies.iter().map(one).collect()
            }
        }
    }
}

impl Chosen {
    /// In words.
    pub fn label(&self) -> String {
        match self {
            Self::Instance(name, count) => format!("{} of {name} (all)", output::count(*count as usize, "socket")),
            Self::Sockets(name, cookies) => format!("{} of {name}", output::count(cookies.len(), "socket")),
        }
    }

    fn from(&self) -> &str {
        match self {
            Self::Instance(name, _) | Self::Sockets(name, _) => name,
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
            View::Sockets(name) => Chosen::Sockets(name.clone(), model.sockets.chosen()),
            View::Socket(_, _) if model.socket.is_closed => return Err("this socket is closed".to_owned()),
            View::Socket(name, cookie) => {
                let now = model.socket.latest.as_ref().map(|socket| socket.algorithm.clone());
                Chosen::Sockets(now.unwrap_or_else(|| name.clone()), vec![*cookie])
            }
        };
        let is_empty = match &what {
            Chosen::Instance(_, count) => *count == 0,
            Chosen::Sockets(_, cookies) => cookies.is_empty(),
        };
        if is_empty {
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
