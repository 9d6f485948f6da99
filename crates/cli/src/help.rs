// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command line with its help: commands in groups, and examples.

use std::fmt::Write as _;
use std::sync::LazyLock;

use ccctl_console::EXIT_CODES;
use clap::CommandFactory as _;

use crate::arguments::Arguments;
use crate::commands::version::FORMATS;
use crate::VERSION;

/// Every command that is not hidden, in the group in which one looks for it.
const GROUPS: [(&str, &[&str]); 7] = [
    ("Algorithms", &["algorithms", "show", "check", "new", "build", "verify"]),
    ("Instances", &["load", "list", "tune", "swap", "unload", "default"]),
    ("Sockets", &["sockets", "migrate", "why"]),
    ("Rules", &["assign", "unassign", "rules", "canary", "advise", "experiment"]),
    ("Observe", &["top", "trace", "plot", "acks", "metrics"]),
    ("Configuration and daemon", &["apply", "status", "daemon", "guard", "events", "down"]),
    ("Other", &["doctor", "lab", "completions", "man", "schema", "version", "help"]),
];

const EXAMPLES: &str = "Examples:
  ccctl load cubic                                load CUBIC as bpf_cubic
  ccctl load bbr --as web --default               ... BBR as web, the default of this namespace
  ccctl tune bpf_cubic beta=0.8                   change a parameter; live connections follow
  ccctl assign web --unit nginx.service           give it to the connections of a service
  ccctl migrate --instance cubic --to bpf_cubic   move live connections
  ccctl top                                       watch
  ccctl down                                      undo everything";

/// Examples of single commands.
const EXAMPLES_OF: [(&str, &str); 16] = [
    ("load", "ccctl load cubic --set beta=0.8\nccctl load ./mine.bpf.o --as mine --dry-run"),
    ("build", "ccctl new mine\nccctl build mine.bpf.c\nccctl load ./mine.bpf.o --as mine --trust-writable"),
    ("verify", "ccctl verify mine.bpf.o --kernels 6.1,6.12,newest\nccctl verify mine.bpf.o --kernels /boot/vmlinuz"),
    ("tune", "ccctl tune web beta=0.8 fast_convergence=off"),
    ("swap", "ccctl swap web --with bbr\nccctl migrate --instance web --to web    # live connections, too"),
    ("sockets", "ccctl sockets --instance bpf_cubic --sort rate --limit 10\nccctl sockets --unit nginx.service --tcp-state established --watch"),
    ("migrate", "ccctl migrate --instance cubic --to bpf_cubic --dry-run\nccctl migrate --dst 10.0.0.0/8 --to bpf_dctcp"),
    ("unload", "ccctl unload web --migrate-to cubic\nccctl unload --all --dry-run"),
    ("assign", "ccctl assign web --unit nginx.service\nccctl assign 'bbr=5,cubic=95' --cgroup /system.slice --dst 10.0.0.0/8 --port 443"),
    ("unassign", "ccctl unassign --unit nginx.service --existing\nccctl unassign --all --dry-run"),
    ("canary", "ccctl canary web --with bbr --share 5% --for 1h --abort-if 'retransmit_pct>2'\nccctl canary web --with cubic --set beta=0.8 --abort-if 'retransmit_pct>1.5x' --promote"),
    ("why", "ccctl why --src 192.0.2.1:443"),
    ("trace", "ccctl trace --instance web --for 10s -o web.csv --plot web.svg"),
    ("apply", "ccctl apply /etc/ccctl/ccctl.toml --dry-run    # code 6: something would change"),
    ("events", "ccctl events --last 0\nccctl events --once --json"),
    ("default", "ccctl default bpf_cubic\nccctl default --netns blue"),
];

/// What `--version` prints.
static LONG_VERSION: LazyLock<String> = LazyLock::new(|| format!("{VERSION}\n{FORMATS}"));

/// The command line.
pub fn command() -> clap::Command {
    let mut command = Arguments::command();
    for (name, examples) in EXAMPLES_OF {
        let text = format!("Examples:\n  {}", examples.replace('\n', "\n  "));
        command = command.mut_subcommand(name, |command| command.after_help(text));
    }
    let commands = grouped(&command);
    let help = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{commands}\nOptions:\n{{options}}{{after-help}}"
    );
    command
        .long_version(LONG_VERSION.as_str())
        .help_template(help)
        .after_help(format!("{EXAMPLES}\n\n{EXIT_CODES}\n\nccctl help COMMAND explains a command."))
}

fn grouped(command: &clap::Command) -> String {
    let mut text = String::new();
    for (group, names) in GROUPS {
        let _ = writeln!(text, "{group}:"); // a String takes everything
        for name in names {
            let about = command.find_subcommand(name).and_then(clap::Command::get_about);
            let about = about.map_or_else(|| "Explain a command".to_owned(), ToString::to_string);
            let _ = writeln!(text, "  {name:<12} {about}");
        }
    }
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn each_command_is_in_one_group() {
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let command = Arguments::command();
        let mut commands: Vec<&str> =
            command.get_subcommands().filter(|one| !one.is_hide_set()).map(clap::Command::get_name).collect();
        commands.push("help");
        grouped.sort_unstable();
        commands.sort_unstable();
        assert_eq!(grouped, commands);
    }

    #[test]
    fn the_command_line_is_consistent_and_its_examples_are_of_commands() {
        command().debug_assert();
    }

    #[test]
    fn each_example_is_understood() {
        let lines =
            EXAMPLES_OF.iter().flat_map(|(_, lines)| lines.lines()).chain(EXAMPLES.lines().skip(1).map(str::trim));
        for line in lines {
            let words: Vec<String> = line
                .split("  ")
                .next()
                .unwrap()
                .split(" #")
                .next()
                .unwrap()
                .split_whitespace()
                .map(|word| word.trim_matches('\'').to_owned())
                .collect();
            let parsed = command().try_get_matches_from(&words);
            assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
        }
    }
}
