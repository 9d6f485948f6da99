//! What is measured: `docs/scenarios.md` defines each measure.

mod definition;
mod reference;

pub use definition::{conversion, definition, About, Definition, DEFINITIONS};
pub use reference::{Reference, Subject};
