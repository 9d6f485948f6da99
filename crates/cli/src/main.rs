//! `ccctl`: TCP congestion control as something you load.

mod arguments;
mod commands;
mod engine;
mod exit;
mod output;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;

use arguments::{Arguments, Command};
use exit::Exit;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return exit::usage(&error),
    };
    match run(&arguments.command) {
        Ok(exit) => exit.into(),
        // A reader that has seen enough, such as head, is no failure.
        Err(error) if exit::is_broken_pipe(&error) => Exit::Done.into(),
        Err(error) => {
            let mut stderr = std::io::stderr();
            // With stderr closed there is nobody to tell.
            let _ = writeln!(stderr, "ccctl: {}", exit::cause(&error));
            if let Some(remedy) = exit::remedy(&error) {
                let _ = writeln!(stderr, "  try: {remedy}");
            }
            Exit::of(&error).into()
        }
    }
}

fn run(command: &Command) -> anyhow::Result<Exit> {
    match command {
        Command::Algorithms(output) => commands::algorithms::run(output),
        Command::Show(show) => commands::show::run(show),
        Command::Check(check) => commands::check::run(check),
        Command::Load(load) => commands::load::run(load),
        Command::List(output) => commands::list::run(output),
        Command::Tune(tune) => commands::tune::run(tune),
        Command::Swap(swap) => commands::swap::run(swap),
        Command::Migrate(migrate) => commands::migrate::run(migrate),
        Command::Unload(unload) => commands::unload::run(unload),
        Command::Default(default) => commands::default::run(default),
        Command::Acks(acks) => commands::acks::run(acks),
        Command::Doctor(output) => commands::doctor::run(output),
    }
}
