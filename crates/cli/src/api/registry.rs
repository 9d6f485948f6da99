// SPDX-License-Identifier: MIT OR Apache-2.0
//! The operations by name: the one list of them.

use schemars::generate::SchemaSettings;
use schemars::{schema_for, Schema, SchemaGenerator};
use serde_json::Value;

use ccctl_core::{operations, Operation};

/// A request whose type is known no more.
pub trait DynOperation: Send {
    /// See [`Operation::changes`].
    fn changes(&self) -> bool;

    /// See [`Operation::opens_paths`].
    fn opens_paths(&self) -> bool;

    /// See [`Operation::is_dry_run`].
    fn is_dry_run(&self) -> bool;

    /// Does it, and gives the answer as JSON.
    fn run(&self) -> anyhow::Result<Vec<u8>>;
}

impl<O: Operation + Send> DynOperation for O {
    fn changes(&self) -> bool {
        Operation::changes(self)
    }

    fn opens_paths(&self) -> bool {
        Operation::opens_paths(self)
    }

    fn is_dry_run(&self) -> bool {
        Operation::is_dry_run(self)
    }

    fn run(&self) -> anyhow::Result<Vec<u8>> {
        Ok(serde_json::to_vec(&Operation::run(self)?)?)
    }
}

/// An operation: a path of the API.
pub struct Entry {
    /// `/v1/NAME`.
    pub name: &'static str,
    /// One line.
    pub title: &'static str,
    /// Some of its requests change nothing: there is a GET.
    pub reads: bool,
    /// Schema of the request, complete in itself.
    pub request: fn() -> Schema,
    /// Reference to the schema of the request.
    pub body: fn(&mut SchemaGenerator) -> Schema,
    /// Reference to the schema of the answer.
    pub answer: fn(&mut SchemaGenerator) -> Schema,
    /// Schema of the answer, complete in itself.
    pub answer_alone: fn() -> Schema,
    /// Reads a request.
    pub parse: fn(Value) -> serde_json::Result<Box<dyn DynOperation>>,
}

impl Entry {
    const fn of<O: Operation + Send + 'static>(reads: bool) -> Self {
        Self {
            name: O::NAME,
            title: O::TITLE,
            reads,
            request: || {
                let inline = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
                O::json_schema(&mut inline.into_generator())
            },
            body: |generator| generator.subschema_for::<O>(),
            answer: |generator| generator.subschema_for::<O::Answer>(),
            answer_alone: || schema_for!(O::Answer),
            parse: |value| Ok(Box::new(serde_json::from_value::<O>(value)?)),
        }
    }

    const fn reads<O: Operation + Send + 'static>() -> Self {
        Self::of::<O>(true)
    }

    const fn changes<O: Operation + Send + 'static>() -> Self {
        Self::of::<O>(false)
    }
}

/// All of them, in the order of `ccctl --help`.
pub const OPERATIONS: &[Entry] = &[
    Entry::reads::<operations::Algorithms>(),
    Entry::reads::<operations::Show>(),
    Entry::reads::<operations::Check>(),
    Entry::changes::<operations::Load>(),
    Entry::reads::<operations::List>(),
    Entry::changes::<operations::Tune>(),
    Entry::changes::<operations::Swap>(),
    Entry::changes::<operations::Migrate>(),
    Entry::changes::<operations::Unload>(),
    Entry::reads::<operations::Default>(),
    Entry::changes::<operations::Assign>(),
    Entry::changes::<operations::Unassign>(),
    Entry::reads::<operations::Rules>(),
    Entry::reads::<operations::Why>(),
    Entry::reads::<operations::Sockets>(),
    Entry::reads::<operations::Doctor>(),
    Entry::changes::<operations::Apply>(),
    Entry::reads::<operations::Status>(),
    Entry::reads::<operations::Guard>(),
    Entry::changes::<operations::ExperimentPlan>(),
    Entry::changes::<operations::ExperimentStart>(),
    Entry::reads::<operations::ExperimentStatus>(),
    Entry::changes::<operations::ExperimentStop>(),
    Entry::changes::<operations::Down>(),
];

/// Each of them.
pub fn operations() -> impl Iterator<Item = &'static Entry> {
    OPERATIONS.iter()
}

/// The operation of this name.
pub fn operation(name: &str) -> Option<&'static Entry> {
    OPERATIONS.iter().find(|entry| entry.name == name)
}
