//! One file a command.

pub mod algorithms;
pub mod check;
pub mod default;
pub mod doctor;
pub mod list;
pub mod load;
pub mod migrate;
mod request;
pub mod show;
pub mod swap;
pub mod tune;
pub mod unload;
