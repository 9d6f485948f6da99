//! `ccctl doctor`

use ccctl_loader::{check_all, Status};
use serde_json::json;

use crate::arguments::Output;
use crate::exit::Exit;
use crate::output;

pub fn run(arguments: &Output) -> anyhow::Result<Exit> {
    let checks = check_all();
    let ok = checks.iter().all(|check| check.status != Status::Fail);
    if arguments.json {
        let kernel = checks.iter().find(|check| check.name == "kernel").map(|check| check.detail.clone());
        output::json(&json!({ "kernel": kernel, "ok": ok, "checks": checks }))?;
        return Ok(if ok { Exit::Done } else { Exit::Host });
    }
    for check in &checks {
        let mark = match check.status {
            Status::Ok => "ok",
            Status::Warn => "warn",
            Status::Fail => "FAIL",
        };
        output::line(&format!("{mark:<5}{:<18}{}", check.name, check.detail))?;
        if let Some(remedy) = &check.remedy {
            output::line(&format!("       try: {remedy}"))?;
        }
    }
    output::line(if ok { "algorithms can be loaded here" } else { "algorithms cannot be loaded here" })?;
    Ok(if ok { Exit::Done } else { Exit::Host })
}
