//! `ccctl lab report`

use serde_json::json;

use super::{browser, fault};
use crate::arguments::LabReport as Arguments;
use crate::exit::Exit;
use crate::output;

pub fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let page = ccctl_lab::report::report(&arguments.folder).map_err(fault::of_run)?;
    if arguments.output.json {
        output::json(&json!({ "folder": arguments.folder, "page": page }))?;
    } else {
        output::line(&page.display().to_string())?;
    }
    if arguments.open {
        browser::show(&page);
    }
    Ok(Exit::Done)
}
