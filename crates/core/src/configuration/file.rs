// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl.toml`: types only, each value with its place for messages.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ccctl_console::UsageError;
use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

use crate::experiment::Design;
use crate::settings::Setting;

/// The whole file.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct File {
    /// Default of the network namespace that the daemon runs in.
    #[schemars(with = "Option<String>")]
    pub default: Option<Spanned<String>>,
    /// Instances by kernel name.
    #[schemars(with = "BTreeMap<String, Instance>")]
    pub instance: BTreeMap<Spanned<String>, Instance>,
    /// Which instance new connections get.
    pub rule: Vec<Rule>,
    /// The API.
    pub api: Api,
    /// What is written to the log.
    pub log: Log,
    /// Moves connections away from an instance that harms them.
    #[schemars(with = "Option<Guard>")]
    pub guard: Option<Spanned<Guard>>,
    /// What Prometheus gets.
    pub metrics: Metrics,
    /// Experiments: the daemon starts those that are new, and stops those that are gone.
    #[schemars(with = "Vec<Design>")]
    pub experiment: Vec<Spanned<Design>>,
}

/// `[instance.NAME]`
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Instance {
    /// An algorithm, or the absolute path of an object file.
    #[schemars(with = "String")]
    pub algorithm: Spanned<String>,
    /// Profile to take parameters from.
    #[schemars(with = "Option<String>")]
    pub profile: Option<Spanned<String>>,
    /// Single parameters; they count more than the profile.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Setting>")]
    pub set: BTreeMap<Spanned<String>, Spanned<Setting>>,
    /// Is it watched, where there is a guard?
    #[serde(default = "yes")]
    pub guard: bool,
}

fn yes() -> bool {
    true
}

/// `[[rule]]`
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Path of a cgroup, from the root of the hierarchy.
    #[schemars(with = "Option<String>")]
    pub cgroup: Option<Spanned<String>>,
    /// Or the name of a systemd unit.
    #[schemars(with = "Option<String>")]
    pub unit: Option<Spanned<String>>,
    /// Only connections to this prefix.
    #[schemars(with = "Option<String>")]
    pub dst: Option<Spanned<String>>,
    /// Only connections to this port.
    #[schemars(with = "Option<u16>")]
    pub port: Option<Spanned<u16>>,
    /// Only sockets with this mark (`SO_MARK`), or with these bits of it: `0x10`, `"0x10/0xf0"`.
    #[schemars(with = "Option<Setting>")]
    pub mark: Option<Spanned<Setting>>,
    /// Only sockets with this priority (`SO_PRIORITY`).
    #[schemars(with = "Option<u32>")]
    pub priority: Option<Spanned<u32>>,
    /// Only connections with an RTT above or below this: `">100ms"`, `"<5ms"`.
    #[schemars(with = "Option<String>")]
    pub rtt: Option<Spanned<String>>,
    /// An instance, a fallback list or a weighted split; without, the algorithm is left alone.
    #[serde(rename = "use")]
    #[schemars(with = "Option<String>")]
    pub uses: Option<Spanned<String>>,
    /// Window with which connections begin to send, packets.
    #[schemars(with = "Option<Setting>")]
    pub initial_window: Option<Spanned<Setting>>,
    /// Shortest retransmission timeout: `"50ms"`.
    #[schemars(with = "Option<Setting>")]
    pub min_rto: Option<Spanned<Setting>>,
    /// Highest rate at which each connection is paced: `"100mbit"`.
    #[schemars(with = "Option<Setting>")]
    pub max_pacing_rate: Option<Spanned<Setting>>,
    /// Unsent bytes from which on a socket takes no more: `"128k"`.
    #[schemars(with = "Option<Setting>")]
    pub notsent_lowat: Option<Spanned<Setting>>,
    /// Longest time by which an ACK is delayed: `"20ms"`.
    #[schemars(with = "Option<Setting>")]
    pub max_delayed_ack: Option<Spanned<Setting>>,
    /// `"on"`: the SYN of connections that are made asks for ECN.
    #[schemars(with = "Option<Setting>")]
    pub ecn: Option<Spanned<Setting>>,
    /// Parameters of the instance that these connections have of their own: `{ rate = "50mbit" }`.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Setting>")]
    pub parameters: BTreeMap<Spanned<String>, Spanned<Setting>>,
    /// Move the connections that are there already.
    #[serde(default)]
    pub existing: bool,
}

impl Rule {
    /// Where it is in the text.
    #[must_use]
    pub fn offset(&self) -> usize {
        let texts =
            [&self.uses, &self.cgroup, &self.unit, &self.dst, &self.rtt].into_iter().flatten().map(Spanned::span);
        let settings = [
            &self.mark,
            &self.initial_window,
            &self.min_rto,
            &self.max_pacing_rate,
            &self.notsent_lowat,
            &self.max_delayed_ack,
            &self.ecn,
        ];
        let settings = settings.into_iter().flatten().map(Spanned::span);
        let numbers = self.port.iter().map(Spanned::span).chain(self.priority.iter().map(Spanned::span));
        texts.chain(settings).chain(numbers).map(|span| span.start).next().unwrap_or(0)
    }
}

/// Where the daemon listens, unless its file says otherwise.
pub const SOCKET: &str = "/run/ccctl/ccctl.sock";

/// `[api]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Api {
    /// Where to listen.
    pub socket: PathBuf,
    /// Group whose members may ask what changes nothing.
    pub read_group: String,
}

impl Default for Api {
    fn default() -> Self {
        Self { socket: SOCKET.into(), read_group: "ccctl".to_owned() }
    }
}

/// `[log]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Log {
    /// The least important that is written.
    pub level: Level,
}

/// How much is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// What does not work.
    Error,
    /// What will not work, and who was refused.
    Warn,
    /// What was changed.
    #[default]
    Info,
    /// Each request.
    Debug,
}

/// `[guard]`; [`super::Limits`] has the defaults and says what each means.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Guard {
    #[schemars(with = "Option<String>")]
    pub fallback: Option<Spanned<String>>,
    #[schemars(with = "Option<String>")]
    pub every: Option<Spanned<String>>,
    #[schemars(with = "Option<u32>")]
    pub windows: Option<Spanned<u32>>,
    #[schemars(with = "Option<u32>")]
    pub min_connections: Option<Spanned<u32>>,
    #[schemars(with = "Option<u32>")]
    pub stalled_pct: Option<Spanned<u32>>,
    #[schemars(with = "Option<u32>")]
    pub retransmit_pct: Option<Spanned<u32>>,
    #[schemars(with = "Option<u32>")]
    pub timeouts_pct: Option<Spanned<u32>>,
    #[schemars(with = "Option<u32>")]
    pub impossible_pct: Option<Spanned<u32>>,
    #[schemars(with = "Option<u32>")]
    pub times_fallback: Option<Spanned<u32>>,
}

/// `[metrics]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Metrics {
    /// Without, nothing counts.
    pub enabled: bool,
    /// Address and port; the unix socket has the metrics in any case. Beyond the loopback it needs TLS, and a token or the
    /// certificates of clients.
    #[schemars(with = "Option<String>")]
    pub listen: Option<Spanned<String>>,
    /// PEM file with the certificate of the port, and those between it and its authority.
    #[schemars(with = "Option<PathBuf>")]
    pub tls_certificate: Option<Spanned<PathBuf>>,
    /// PEM file with its key.
    #[schemars(with = "Option<PathBuf>")]
    pub tls_key: Option<Spanned<PathBuf>>,
    /// PEM file with the authorities whose clients may read.
    #[schemars(with = "Option<PathBuf>")]
    pub tls_client_ca: Option<Spanned<PathBuf>>,
    /// File with the bearer token that clients must send.
    #[schemars(with = "Option<PathBuf>")]
    pub token_file: Option<Spanned<PathBuf>>,
    /// File that is written for the textfile collector of `node_exporter`.
    #[schemars(with = "Option<PathBuf>")]
    pub textfile: Option<Spanned<PathBuf>>,
    /// Interfaces on which the ACK clock runs.
    #[schemars(with = "Vec<String>")]
    pub acks: Vec<Spanned<String>>,
    /// Have the kernel count the run time of programs.
    pub bpf_stats: bool,
}

impl File {
    /// Reads the text of a file; `name` is how messages call it.
    pub fn of_text(name: &str, text: &str) -> anyhow::Result<Self> {
        toml::from_str(text).map_err(|error| {
            let message = error.message().lines().collect::<Vec<_>>().join(" ");
            let remedy = suggestion(&message).unwrap_or_else(|| "docs/guide/daemon.md describes every key".to_owned());
            wrong(&Place { file: name, text }, error.span().map_or(0, |span| span.start), message, remedy)
        })
    }
}

/// A text, for the line of what is wrong in it.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// How messages call the file.
    pub file: &'a str,
    /// All of it.
    pub text: &'a str,
}

/// What is wrong, with file and line.
pub fn wrong(
    place: &Place<'_>,
    offset: usize,
    cause: impl std::fmt::Display,
    remedy: impl Into<String>,
) -> anyhow::Error {
    let before = place.text.get(..offset).unwrap_or(place.text);
    let line = before.matches('\n').count() + 1;
    UsageError::new(format!("{}:{line}: {cause}", place.file), remedy).into()
}

/// Keys of a rule that 0.1.0 had, and what they are called since.
const RENAMED: [(&str, &str); 2] = [("to", "dst"), ("to_port", "port")];

/// Out of "unknown field `x`, expected one of `y`, `z`": the one most like it.
fn suggestion(message: &str) -> Option<String> {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let unknown = message.starts_with("unknown ").then(|| quoted.next()).flatten()?;
    if let Some((_, name)) = RENAMED.iter().find(|(old, _)| *old == unknown) {
        return Some(format!("it is called {name} since ccctl 0.2.0"));
    }
    let similar = ccctl_catalog::closest(unknown, quoted)?;
    Some(format!("did you mean {similar}?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> (String, String) {
        let error = File::of_text("f.toml", text).expect_err("it is wrong");
        (ccctl_console::cause(&error), crate::error::remedy(&error).unwrap_or_default())
    }

    #[test]
    fn an_empty_file_asks_for_nothing() {
        let file = File::of_text("f.toml", "").expect("it is right");
        assert!(file.default.is_none() && file.instance.is_empty() && file.rule.is_empty());
        assert_eq!((file.api, file.log, file.guard), (Api::default(), Log::default(), None));
    }

    #[test]
    fn the_manual_page_has_each_key() {
        const PAGE: &str = include_str!("../../../../packaging/man/ccctl.toml.5");
        let schema = schemars::schema_for!(File).to_value();
        let mut sections: Vec<&serde_json::Value> = vec![&schema];
        sections.extend(schema["$defs"].as_object().expect("it has sections").values());
        let keys = sections.iter().filter_map(|section| section["properties"].as_object()).flat_map(|keys| keys.keys());
        let headings: Vec<&str> = PAGE
            .lines()
            .filter(|line| [".B ", ".BR ", ".SH "].iter().any(|macro_name| line.starts_with(macro_name)))
            .flat_map(|line| line.split(|letter: char| !letter.is_ascii_lowercase() && letter != '_'))
            .collect();
        let missing: Vec<&String> = keys.filter(|key| !headings.contains(&key.as_str())).collect();
        assert!(missing.is_empty(), "ccctl.toml.5 does not have {missing:?}");
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line_and_what_was_meant() {
        for (text, place, hint) in [
            ("\ndefualt = \"web\"", "f.toml:2: unknown field `defualt`", "did you mean default?"),
            ("[instance.web]\nalgorithm = \"cubic\"\nprofil = 1", "f.toml:3: unknown field `profil`", "profile?"),
            ("[api]\nsocket = \"/x\"\nread_grup = \"x\"", "f.toml:3:", "did you mean read_group?"),
            ("[log]\nlevel = \"inof\"", "f.toml:2: unknown variant `inof`", "did you mean info?"),
            ("[[rule]]\nuse = \"x\"\nto = \"10.0.0.0/8\"", "f.toml:3: unknown field `to`", "called dst"),
            ("[[rule]]\nuse = \"x\"\nto_port = 443", "f.toml:3: unknown field `to_port`", "called port"),
            ("[[rule]]\nuse = \"x\"\nport = 70000", "f.toml:3:", "docs/guide/daemon.md"),
            ("[instance.web]\n", "f.toml:1: missing field `algorithm`", "docs/guide/daemon.md"),
            ("default = 1", "f.toml:1: invalid type", "docs/guide/daemon.md"),
            ("[api]\n[api]\n", "f.toml:2: duplicate key", "docs/guide/daemon.md"),
            ("x", "f.toml:1:", "docs/guide/daemon.md"),
        ] {
            let (cause, remedy) = error(text);
            assert!(cause.starts_with(place), "{text:?}: {cause}");
            assert!(remedy.contains(hint), "{text:?}: {remedy}");
        }
    }
}
