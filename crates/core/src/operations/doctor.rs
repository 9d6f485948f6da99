// SPDX-License-Identifier: MIT OR Apache-2.0
//! What this host can do.

use ccctl_loader::{check_all, check_calls, Check, Status, REGISTRATION};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::local_algorithms;
use crate::Operation;

/// Check what this host supports.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Doctor {}

/// What was found.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Diagnosis {
    /// The kernel's version.
    pub kernel: Option<String>,
    /// Can algorithms be loaded here?
    pub ok: bool,
    /// All checks.
    pub checks: Vec<Check>,
}

impl Operation for Doctor {
    type Answer = Diagnosis;
    const NAME: &'static str = "doctor";
    const TITLE: &'static str = "Check what this host supports";

    fn changes(&self) -> bool {
        false
    }

    fn run(&self) -> anyhow::Result<Diagnosis> {
        let mut checks = check_all();
        let ok = checks.iter().all(|check| check.status != Status::Fail);
        let is_wedged = checks.iter().any(|check| check.name == REGISTRATION && check.status != Status::Ok);
        if !is_wedged {
            checks.push(check_calls());
        }
        checks.extend(local_algorithm_checks());
        let kernel = checks.iter().find(|check| check.name == "kernel").map(|check| check.detail.clone());
        Ok(Diagnosis { kernel, ok, checks })
    }
}

/// The algorithms of the administrator's folder, and each file of it that is not used.
fn local_algorithm_checks() -> Vec<Check> {
    const NAME: &str = "own algorithms";
    local_algorithms::refresh();
    let folder = ccctl_catalog::algorithm_folder();
    let names: Vec<String> = local_algorithms::files().into_keys().collect();
    let detail = if names.is_empty() { format!("none in {}", folder.display()) } else { names.join(", ") };
    let refused = local_algorithms::refused().into_iter().map(|refused| Check {
        name: NAME.into(),
        status: Status::Warn,
        detail: format!("not used: {}", refused.fault.cause),
        remedy: refused.fault.remedy,
    });
    let accepted = Check { name: NAME.into(), status: Status::Ok, detail, remedy: None };
    std::iter::once(accepted).chain(refused).collect()
}
