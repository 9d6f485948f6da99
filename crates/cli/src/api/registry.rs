//! The operations by name: the one list of them.

use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator};
use serde_json::Value;

use crate::engine::{self, Operation};

/// A request whose type is known no more.
pub trait Asked: Send {
    /// See [`Operation::changes`].
    fn changes(&self) -> bool;

    /// See [`Operation::opens_paths`].
    fn opens_paths(&self) -> bool;

    /// See [`Operation::is_dry_run`].
    fn is_dry_run(&self) -> bool;

    /// Does it, and gives the answer as JSON.
    fn run(&self) -> anyhow::Result<Vec<u8>>;
}

impl<O: Operation + Send> Asked for O {
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
    /// Reads a request.
    pub parse: fn(Value) -> serde_json::Result<Box<dyn Asked>>,
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
    Entry::reads::<engine::Algorithms>(),
    Entry::reads::<engine::Show>(),
    Entry::reads::<engine::Check>(),
    Entry::changes::<engine::Load>(),
    Entry::reads::<engine::List>(),
    Entry::changes::<engine::Tune>(),
    Entry::changes::<engine::Swap>(),
    Entry::changes::<engine::Migrate>(),
    Entry::changes::<engine::Unload>(),
    Entry::reads::<engine::Default>(),
    Entry::changes::<engine::Assign>(),
    Entry::changes::<engine::Unassign>(),
    Entry::reads::<engine::Rules>(),
    Entry::reads::<engine::Why>(),
    Entry::reads::<engine::Sockets>(),
    Entry::reads::<engine::Doctor>(),
    Entry::changes::<engine::Apply>(),
    Entry::reads::<engine::Status>(),
    Entry::reads::<engine::Guard>(),
    Entry::changes::<engine::Down>(),
];

/// The operation of this name.
pub fn operation(name: &str) -> Option<&'static Entry> {
    OPERATIONS.iter().find(|entry| entry.name == name)
}
