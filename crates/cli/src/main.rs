// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl`: load, tune, swap and inspect TCP congestion control algorithms at run time.

mod api;
mod arguments;
mod client;
mod commands;
mod daemon;
mod http;
#[cfg(test)]
mod json_keys;
mod log;
mod metrics;

use std::process::ExitCode;

use ccctl_console::{cause, is_broken_pipe, output, raise_file_limit, usage, Exit};
use clap::Parser as _;

use arguments::{Arguments, Command};

fn main() -> ExitCode {
    raise_file_limit();
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return usage("ccctl", &error),
    };
    match run(&arguments.command) {
        Ok(exit) => exit.into(),
        // A reader that has seen enough, such as head, is no failure.
        Err(error) if is_broken_pipe(&error) => Exit::Done.into(),
        Err(error) => {
            let ending = ccctl_core::error::ending(&error);
            output::failure("ccctl", &cause(&error), ending.remedy.as_deref());
            ending.exit.into()
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
        Command::Sockets(sockets) => commands::sockets::run(sockets),
        Command::Unload(unload) => commands::unload::run(unload),
        Command::Default(default) => commands::default::run(default),
        Command::Apply(apply) => commands::apply::run(apply),
        Command::Status(output) => commands::status::run(output),
        Command::Guard(guard) => commands::guard::run(guard),
        Command::Down(output) => commands::down::run(output),
        Command::Daemon(daemon) => commands::daemon::run(daemon),
        Command::Assign(assign) => commands::assign::run(assign),
        Command::Unassign(unassign) => commands::unassign::run(unassign),
        Command::Rules(output) => commands::rules::run(output),
        Command::Why(why) => commands::why::run(why),
        Command::Acks(acks) => commands::acks::run(acks),
        Command::Top(top) => commands::top::run(top),
        Command::Metrics(output) => commands::metrics::run(output),
        Command::Trace(trace) => commands::trace::run(trace),
        Command::Plot(plot) => commands::plot::run(plot),
        Command::Lab(lab) => commands::lab::run(lab).map(|never| match never {}),
        Command::Doctor(output) => commands::doctor::run(output),
        Command::Look(look) => Ok(ccctl_core::object_scan::run(look.parent)),
    }
}
