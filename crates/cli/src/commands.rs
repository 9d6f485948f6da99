//! One file a command.

pub mod acks;
pub mod algorithms;
pub mod check;
pub mod default;
pub mod doctor;
pub mod key_value;
pub mod list;
pub mod load;
pub mod migrate;
pub mod show;
pub mod swap;
pub mod tune;
pub mod unload;
