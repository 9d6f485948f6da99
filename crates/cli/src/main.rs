// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl`: load, tune, swap and inspect TCP congestion control algorithms at run time.

mod api;
mod arguments;
mod client;
mod commands;
mod completion;
mod daemon;
mod events;
mod help;
mod http;
#[cfg(test)]
mod json_keys;
mod log;
mod metrics;
mod verify;

use std::process::ExitCode;

use ccctl_console::{cause, is_broken_pipe, output, raise_file_limit, usage, Exit, Fault};
use clap::{CommandFactory as _, FromArgMatches as _};

use api::fault::ErrorAnswer;
use arguments::{Arguments, Command};

/// Version, and the commit that it was built from.
pub const VERSION: &str = env!("CCCTL_VERSION");

fn main() -> ExitCode {
    raise_file_limit();
    completion::answer();
    // The text of the help is made only where it is shown.
    let matches = match Arguments::command().try_get_matches().or_else(|_| help::command().try_get_matches()) {
        Ok(matches) => matches,
        Err(error) => return usage(&help::command(), &error),
    };
    let arguments = match Arguments::from_arg_matches(&matches) {
        Ok(arguments) => arguments,
        Err(error) => return usage(&help::command(), &error),
    };
    output::set_colour(arguments.color.into());
    match run(&arguments) {
        Ok(exit) => exit.into(),
        // A reader that has seen enough, such as head, is no failure.
        Err(error) if is_broken_pipe(&error) => Exit::Done.into(),
        Err(error) => failure(&error, arguments.output.json),
    }
}

/// One line and a remedy on stderr; with `--json` also an object on stdout, as the API answers.
fn failure(error: &anyhow::Error, as_json: bool) -> ExitCode {
    let ending = ccctl_core::error::ending(error);
    let cause = cause(error);
    output::failure("ccctl", &cause, ending.remedy.as_deref());
    if as_json {
        // With stdout closed there is stderr.
        let _ = output::json(&ErrorAnswer { error: Fault { cause, remedy: ending.remedy, exit: ending.exit as u8 } });
    }
    ending.exit.into()
}

fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let command = &arguments.command;
    if let Some(name) = arguments.netns.as_ref().filter(|_| !selects_by_namespace(command)) {
        ccctl_loader::Namespace::named(name)?.enter()?;
    }
    match command {
        Command::List(viewed) => commands::watch::repeat(viewed.watch, || commands::list::run(viewed)),
        Command::Rules(viewed) => commands::watch::repeat(viewed.watch, || commands::rules::run(viewed)),
        Command::Status(viewed) => commands::watch::repeat(viewed.watch, || commands::status::run(viewed)),
        Command::Sockets(sockets) => commands::watch::repeat(sockets.view.watch, || commands::sockets::run(sockets)),
        other => run_once(other),
    }
}

/// Does `--netns` of this command choose sockets or an interface's namespace, and not the namespace to act in?
fn selects_by_namespace(command: &Command) -> bool {
    use Command::{Acks, Lab, Migrate, Sockets, Top, Trace};
    matches!(command, Acks(_) | Lab(_) | Migrate(_) | Sockets(_) | Top(_) | Trace(_))
}

fn run_once(command: &Command) -> anyhow::Result<Exit> {
    match command {
        Command::Algorithms(output) => commands::algorithms::run(output),
        Command::Show(show) => commands::show::run(show),
        Command::Check(check) => commands::check::run(check),
        Command::New(new) => commands::new::run(new),
        Command::Build(build) => commands::build::run(build),
        Command::Verify(verify) => commands::verify::run(verify),
        Command::Load(load) => commands::load::run(load),
        Command::List(viewed) => commands::list::run(viewed),
        Command::Tune(tune) => commands::tune::run(tune),
        Command::Swap(swap) => commands::swap::run(swap),
        Command::Migrate(migrate) => commands::migrate::run(migrate),
        Command::Sockets(sockets) => commands::sockets::run(sockets),
        Command::Unload(unload) => commands::unload::run(unload),
        Command::Default(default) => commands::default::run(default),
        Command::Apply(apply) => commands::apply::run(apply),
        Command::Status(viewed) => commands::status::run(viewed),
        Command::Guard(guard) => commands::guard::run(guard),
        Command::Events(events) => commands::events::run(events),
        Command::Down(down) => commands::down::run(down),
        Command::Daemon(daemon) => commands::daemon::run(daemon),
        Command::Assign(assign) => commands::assign::run(assign),
        Command::Unassign(unassign) => commands::unassign::run(unassign),
        Command::Rules(viewed) => commands::rules::run(viewed),
        Command::Canary(canary) => commands::canary::run(canary),
        Command::Experiment(experiment) => commands::experiment::run(experiment),
        Command::Advise(advise) => commands::advise::run(advise),
        Command::Why(why) => commands::why::run(why),
        Command::Acks(acks) => commands::acks::run(acks),
        Command::Top(top) => commands::top::run(top),
        Command::Metrics(output) => commands::metrics::run(output),
        Command::Trace(trace) => commands::trace::run(trace),
        Command::Plot(plot) => commands::plot::run(plot),
        Command::Lab(lab) => commands::lab::run(lab).map(|never| match never {}),
        Command::Doctor(output) => commands::doctor::run(output),
        Command::Completions(completions) => commands::completions::run(completions),
        Command::Man(man) => man.write(help::command()),
        Command::Schema(schema) => commands::schema::run(schema),
        Command::Version(output) => commands::version::run(output),
        Command::Look(look) => Ok(ccctl_core::object_scan::run(look)),
        Command::VerifyInGuest => verify::run_inside(),
    }
}
