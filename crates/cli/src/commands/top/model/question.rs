// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is asked before anything is changed: what to change to, and whether really.

use super::change::{Change, Chosen, Migration};
use super::sockets::Line;
use super::{Model, View};
use crate::commands::top::action::Action;
use crate::commands::top::sample::Kind;

/// What a question is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// Move these.
    Move(Chosen),
    /// Load something.
    Load,
    /// Swap this instance, with so many sockets.
    Swap(String, u64),
    /// Tune it.
    Tune(String, u64),
    /// Assign this cgroup, with so many sockets on the list.
    Assign(String, usize),
    /// Enable something again.
    Rearm,
}

/// What has to be looked up before one can choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup {
    /// Algorithms that can be loaded.
    Algorithms,
    /// Parameters of this instance.
    Parameters(String),
    /// Instances that the guard has disabled.
    Disabled,
}

/// One answer to choose.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choice {
    /// What is chosen.
    pub key: String,
    /// What goes with it: a kernel name, a value, since when.
    pub more: String,
    /// What else the list says of it; of a disabled instance: why.
    pub note: String,
}

/// How far it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    /// Choices are being looked up.
    Waiting,
    /// One is chosen.
    Choosing,
    /// A value is typed.
    Typing(String),
    /// Only a yes is missing.
    Confirming,
}

/// A question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// What it is about.
    pub subject: Subject,
    /// How far it is.
    pub stage: Stage,
    /// Answers.
    pub choices: Vec<Choice>,
    /// The one under the cursor.
    pub cursor: usize,
    value: String,
}

/// What an action means for a question.
pub enum Answer {
    /// Nothing yet.
    Open,
    /// Leave it.
    No,
    /// Do it.
    Yes(Change),
}

impl Question {
    fn new(subject: Subject, choices: Vec<Choice>) -> Self {
        let stage = if choices.is_empty() { Stage::Waiting } else { Stage::Choosing };
        Self { subject, stage, choices, cursor: 0, value: String::new() }
    }

    /// What this key asks; a refusal says why there is nothing to ask.
    pub fn of(action: Action, model: &Model) -> Result<Self, String> {
        match action {
            Action::Load => Ok(Self::new(Subject::Load, Vec::new())),
            Action::Rearm => Ok(Self::new(Subject::Rearm, Vec::new())),
            Action::Swap => instance(model).map(|(name, count)| Self::new(Subject::Swap(name, count), Vec::new())),
            Action::Tune => instance(model).map(|(name, count)| Self::new(Subject::Tune(name, count), Vec::new())),
            Action::Assign => Self::about_cgroup(model),
            _ => Self::about_sockets(model),
        }
    }

    fn about_sockets(model: &Model) -> Result<Self, String> {
        let what = sockets(model)?;
        if what.is_empty() {
            return Err(format!("{} has no socket to move", what.from()));
        }
        let choices = targets(model, Some(what.from()))?;
        Ok(Self::new(Subject::Move(what), choices))
    }

    fn about_cgroup(model: &Model) -> Result<Self, String> {
        let path = match &model.view {
            View::Instances => return Err("a rule is for a cgroup: choose a socket first (Enter)".to_owned()),
            View::Sockets(_) => match model.sockets.selected_line() {
                Some(Line::Branch(branch)) => Some(branch.path.clone()),
                Some(Line::Socket(row)) => row.cgroup.as_deref().map(str::to_owned),
                None => return Err("nothing is selected".to_owned()),
            },
            View::Socket(..) => model.socket.latest.as_ref().and_then(|socket| socket.cgroup.clone()),
        };
        let path = path.filter(|path| !path.is_empty()).ok_or("the cgroup of this socket is not known")?;
        let count = model.sockets.within(&path).len();
        Ok(Self::new(Subject::Assign(path, count), targets(model, None)?))
    }

    /// What has to be looked up for it.
    pub fn lookup(&self) -> Option<Lookup> {
        match &self.subject {
            Subject::Load | Subject::Swap(..) => Some(Lookup::Algorithms),
            Subject::Tune(name, _) => Some(Lookup::Parameters(name.clone())),
            Subject::Rearm => Some(Lookup::Disabled),
            Subject::Move(_) | Subject::Assign(..) => None,
        }
    }

    /// What was looked up; nothing to choose is a refusal.
    pub fn offer(&mut self, mut choices: Vec<Choice>) -> Result<(), String> {
        if choices.is_empty() {
            return Err(match &self.subject {
                Subject::Rearm => "the guard has disabled nothing".to_owned(),
                Subject::Tune(name, _) => format!("{name} has no parameters"),
                _ => "there is nothing to choose".to_owned(),
            });
        }
        if let Subject::Swap(..) = self.subject {
            for choice in &mut choices {
                choice.more.clear(); // the instance keeps its kernel name
            }
        }
        (self.choices, self.stage) = (choices, Stage::Choosing);
        Ok(())
    }

    /// What stands above the choices.
    pub fn heading(&self) -> String {
        match &self.subject {
            Subject::Move(what) => format!("Move {} to:", what.label()),
            Subject::Load => "Load:".to_owned(),
            Subject::Swap(name, _) => format!("Swap {name} to:"),
            Subject::Tune(name, _) => format!("Tune {name}:"),
            Subject::Assign(cgroup, _) => format!("Assign new connections of {cgroup} to:"),
            Subject::Rearm => "Disabled by the guard; enable again:".to_owned(),
        }
    }

    /// In a word.
    pub fn title(&self) -> &'static str {
        match self.subject {
            Subject::Move(_) => "move",
            Subject::Load => "load",
            Subject::Swap(..) => "swap",
            Subject::Tune(..) => "tune",
            Subject::Assign(..) => "assign",
            Subject::Rearm => "guard",
        }
    }

    /// What a no comes to.
    pub fn refusal(&self) -> &'static str {
        match self.subject {
            Subject::Move(_) => "nothing was moved",
            _ => "nothing was changed",
        }
    }

    /// Takes an answer. Once everything is chosen, nothing but a yes changes anything.
    pub fn answer(&mut self, action: Action) -> Answer {
        match &mut self.stage {
            Stage::Confirming => match action {
                Action::Yes => return self.change().map_or(Answer::No, Answer::Yes),
                Action::No | Action::Back => return Answer::No,
                _ => {}
            },
            Stage::Typing(text) => match action {
                Action::Character(character) => text.push(character),
                Action::Erase => drop(text.pop()),
                Action::Enter if !text.trim().is_empty() => {
                    self.value = text.trim().to_owned();
                    self.stage = Stage::Confirming;
                }
                Action::Back => return Answer::No,
                _ => {}
            },
            Stage::Waiting if action == Action::Back => return Answer::No,
            Stage::Waiting => {}
            Stage::Choosing => return self.choose(action),
        }
        Answer::Open
    }

    fn choose(&mut self, action: Action) -> Answer {
        let last = self.choices.len().saturating_sub(1);
        match action {
            Action::Up => self.cursor = self.cursor.saturating_sub(1),
            Action::Down => self.cursor = (self.cursor + 1).min(last),
            Action::PageUp => self.cursor = self.cursor.saturating_sub(10),
            Action::PageDown => self.cursor = (self.cursor + 10).min(last),
            Action::First => self.cursor = 0,
            Action::Last => self.cursor = last,
            Action::Enter => {
                let is_typed = matches!(self.subject, Subject::Tune(..));
                let now = self.choices.get(self.cursor).map_or(String::new(), |choice| choice.more.clone());
                self.stage = if is_typed { Stage::Typing(now) } else { Stage::Confirming };
            }
            Action::Back => return Answer::No,
            _ => {}
        }
        Answer::Open
    }

    /// What it comes to.
    pub fn change(&self) -> Option<Change> {
        let Choice { key, more, note } = self.choices.get(self.cursor)?.clone();
        Some(match &self.subject {
            Subject::Move(what) => Change::Migrate(Migration { what: what.clone(), to: key }),
            Subject::Load => Change::Load { algorithm: key, name: more },
            Subject::Swap(name, sockets) => Change::Swap { name: name.clone(), with: key, sockets: *sockets },
            Subject::Tune(name, sockets) => {
                Change::Tune { name: name.clone(), key, value: self.value.clone(), before: more, sockets: *sockets }
            }
            Subject::Assign(cgroup, sockets) => Change::Assign { cgroup: cgroup.clone(), to: key, sockets: *sockets },
            Subject::Rearm => Change::Rearm { name: key, why: note },
        })
    }
}

/// The instance that is selected or looked into, and its sockets.
fn instance(model: &Model) -> Result<(String, u64), String> {
    let row = match &model.view {
        View::Instances => model.instances.selected(),
        View::Sockets(name) | View::Socket(name, _) => model.instances.named(name),
    };
    let sample = &row.ok_or("nothing is selected")?.sample;
    match sample.kind {
        Kind::Instance(_) => Ok((sample.name.clone(), sample.sockets)),
        Kind::Other => Err(format!("{} was not loaded by ccctl", sample.name)),
        Kind::BuiltIn => Err(format!("{} is built-in: load an algorithm (l) and choose that", sample.name)),
        Kind::Unloaded => Err(format!("{} is unloaded", sample.name)),
    }
}

/// Marked sockets, or what is selected.
fn sockets(model: &Model) -> Result<Chosen, String> {
    Ok(match &model.view {
        View::Instances => {
            let row = model.instances.selected().ok_or("nothing is selected")?;
            Chosen::Instance(row.sample.name.clone(), row.sample.sockets)
        }
        View::Sockets(name) if !model.sockets.marks().is_empty() => {
            Chosen::Sockets(name.clone(), model.sockets.marks().iter().copied().collect())
        }
        View::Sockets(name) => match model.sockets.selected_line() {
            Some(Line::Socket(row)) => {
                Chosen::Socket(name.clone(), row.cookie, format!("{} -> {}", row.source, row.destination))
            }
            Some(Line::Branch(branch)) => Chosen::Sockets(name.clone(), model.sockets.within(&branch.path)),
            None => Chosen::Sockets(name.clone(), Vec::new()),
        },
        View::Socket(..) if model.socket.is_closed => return Err("this socket is closed".to_owned()),
        View::Socket(_, cookie) => {
            let socket = model.socket.latest.as_ref().ok_or("there is no data for this socket yet")?;
            let addresses = format!("{} -> {}", socket.source, socket.destination);
            Chosen::Socket(socket.congestion_control.clone(), *cookie, addresses)
        }
    })
}

fn targets(model: &Model, without: Option<&str>) -> Result<Vec<Choice>, String> {
    let names = model.targets.iter().filter(|name| Some(name.as_str()) != without);
    let choices: Vec<_> = names.map(|name| Choice { key: name.clone(), ..Choice::default() }).collect();
    if choices.is_empty() {
        return Err("there is no other algorithm: load one first (l)".to_owned());
    }
    Ok(choices)
}
