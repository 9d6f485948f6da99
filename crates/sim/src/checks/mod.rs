// SPDX-License-Identifier: GPL-2.0-only
//! What an algorithm is tested with, whether it comes with ccctl or is a user's: vectors, and what holds for all of them
//! whatever happens.

mod history;
mod properties;
mod trace;
mod vectors;

pub use history::{any_history, any_window, Event, History};
pub use properties::{broken, interpreter_agrees, kept_of_the_syn, Broken, Property, Seen, PROPERTIES};
pub use trace::Trace;
pub use vectors::{Differences, Kind, Names, Vector, VectorFile};
