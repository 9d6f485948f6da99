//! `ccctl lab show`

use std::io::Write as _;

use super::load;
use crate::arguments::LabShow as Arguments;
use crate::exit::Exit;

pub fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let scenario = load::shipped(&arguments.name)?;
    std::io::stdout().lock().write_all(scenario.text.as_bytes())?;
    Ok(Exit::Done)
}
