//! Scenarios: TOML files that describe experiments. `docs/scenarios.md` has the format.

pub mod file;
mod place;
pub mod quantity;

pub use place::ScenarioError;
