// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether the kernel accepts an algorithm.

use ccctl_loader::Program;
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::request;
use crate::trust::Trust;
use crate::Operation;

/// Ask the kernel whether it accepts an algorithm, without registering it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[group(skip)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// An algorithm, or an object file (a path, or a name that ends in .o)
    #[arg(value_parser = request::algorithm_word)]
    pub algorithm: String,
    /// Accept an object file that others than root can write
    #[serde(default)]
    #[arg(long)]
    pub trust_writable: bool,
}

/// What the verifier did.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Checked {
    /// Algorithm, as `ccctl algorithms` lists it; of an object file, the one in it.
    pub algorithm: String,
    /// Always true: a refusal is an error.
    pub accepted: bool,
    /// What the verifier examined, by hook.
    pub verified: Vec<CheckedProgram>,
}

/// One hook.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CheckedProgram {
    /// Name of the C function.
    pub name: String,
    /// Instructions that the verifier examined.
    pub verified_instructions: u32,
}

impl CheckedProgram {
    /// Asks the kernel about each hook.
    ///
    /// # Errors
    /// The loader's: that the kernel refuses one, for instance.
    pub fn all_of(program: &Program) -> anyhow::Result<Vec<Self>> {
        let verified = ccctl_loader::check(program)?.into_iter();
        Ok(verified.map(|(name, verified_instructions)| Self { name, verified_instructions }).collect())
    }
}

impl Operation for Check {
    type Answer = Checked;
    const NAME: &'static str = "check";
    const TITLE: &'static str = "Ask the kernel whether it accepts an algorithm or object file, without registering it";

    /// Nothing is changed, but a file is read with the daemon's rights: that is for root alone.
    fn changes(&self) -> bool {
        Program::is_file(&self.algorithm)
    }

    fn run(&self) -> anyhow::Result<Checked> {
        let program = request::program(&self.algorithm, Trust::of_option(self.trust_writable))?;
        let verified = CheckedProgram::all_of(&program)?;
        Ok(Checked { algorithm: program.algorithm, accepted: true, verified })
    }
}
