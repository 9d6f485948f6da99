// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the file means: algorithms, parameters and rules that exist, or what is wrong with it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ccctl_catalog::{did_you_mean, ParameterSet};
use ccctl_console::{cause, UsageError};
use ccctl_loader::{
    available_algorithms, parse_targets, CgroupPath, CgroupTree, Choice, Conditions, Mark, Prefix, Program, RttLimit,
    RuleContent, RuleParameters, Selector, SocketSetting, SocketSettings, MOST_RULES,
};
use toml::Spanned;

use super::file::{self, wrong, File, Place};
use super::limits::Limits;
use super::metrics_port::{self, MetricsPort};
use crate::daemon;
use crate::error::remedy;
use crate::experiment::Design;
use crate::fence::Fence;
use crate::local_algorithms;
use crate::request;
use crate::rule_target::RuleTarget;
use crate::settings::{Setting, Settings};
use crate::trust::Trust;

/// An instance that is to be there.
#[derive(Debug, Clone)]
pub struct WantedInstance {
    /// Kernel name.
    pub name: String,
    /// The algorithm.
    pub program: Program,
    /// Name of the profile; empty: none.
    pub profile: String,
    /// All parameters.
    pub parameters: ParameterSet,
}

/// A rule that is to be in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedRule {
    /// Path of the cgroup,
    pub cgroup: Option<String>,
    /// or name of a unit.
    pub unit: Option<String>,
    /// Prefix of the peer's address.
    pub dst: Option<String>,
    /// Port of the service.
    pub port: Option<u16>,
    /// What else a socket must meet.
    pub conditions: Conditions,
    /// What connections get.
    pub content: RuleContent,
    /// Also those that are alive.
    pub existing: bool,
    /// Live connections draw anew where weights change; otherwise they keep what they have drawn.
    pub redraws: bool,
}

impl WantedRule {
    /// For whom. The cgroup may come later.
    pub fn selector(&self) -> anyhow::Result<Selector> {
        let (cgroup, unit, dst) = (self.cgroup.as_deref(), self.unit.as_deref(), self.dst.as_deref());
        RuleTarget { cgroup, unit, pid: None, dst, port: self.port, conditions: self.conditions }.selector(true)
    }

    /// For messages.
    #[must_use]
    pub fn label(&self) -> String {
        self.cgroup.clone().or(self.unit.clone()).unwrap_or_default()
    }
}

/// A file that was understood.
#[derive(Debug, Clone, Default)]
pub struct Configuration {
    /// Default of the daemon's network namespace.
    pub default: Option<String>,
    /// Instances, by name.
    pub instances: Vec<WantedInstance>,
    /// Rules.
    pub rules: Vec<WantedRule>,
    /// The API.
    pub api: file::Api,
    /// The log.
    pub log: file::Log,
    /// The guard; none: nothing is watched.
    pub guard: Option<Guard>,
    /// What Prometheus gets; none: nothing counts.
    pub metrics: Option<Metrics>,
    /// Experiments that are to run.
    pub experiments: Vec<Design>,
    /// What is fenced of its instances, and of the kernel's.
    pub fence: Fence,
}

/// What Prometheus gets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Metrics {
    /// Where to listen, beside the unix socket.
    pub port: Option<MetricsPort>,
    /// File for the textfile collector of `node_exporter`.
    pub textfile: Option<PathBuf>,
    /// Interfaces on which the ACK clock runs.
    pub acks: Vec<String>,
    /// Have the kernel count the run time of programs.
    pub bpf_stats: bool,
}

/// What is watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guard {
    /// Limits beyond which an instance is disabled.
    pub limits: Limits,
    /// Instances that the file leaves out.
    pub left_out: Vec<String>,
}

impl Guard {
    /// Is an instance of this name watched?
    #[must_use]
    pub fn watches(&self, name: &str) -> bool {
        daemon::watches(&self.limits, &self.left_out, name)
    }
}

impl Configuration {
    /// Reads and checks a text; `name` is how messages call it. The kernel is only asked which algorithms it has.
    /// `trust` is for the object files that it names.
    pub fn of_text(name: &str, text: &str, trust: Trust) -> anyhow::Result<Self> {
        let file = File::of_text(name, text)?;
        local_algorithms::refresh();
        let place = Place { file: name, text };
        let names: Vec<String> = file.instance.keys().map(|name| name.get_ref().clone()).collect();
        let mut faults = Vec::new();
        let instances = file.instance.iter().map(|(name, instance)| wanted(&place, name, instance, trust));
        let instances: Vec<_> = instances.filter_map(|wanted| noted(wanted, &mut faults)).collect();
        let fence = Fence::of_kernel().with(&instances);
        let rules = noted(check_rules(&place, &file.rule, (&names, &fence), &instances), &mut faults);
        if let Some(default) = &file.default {
            noted(check_default(&place, default, (&names, &fence)), &mut faults);
        }
        let guard = check_guard(&place, &file, (&names, &fence), &instances);
        let guard = noted(guard, &mut faults);
        let metrics = noted(check_metrics(&place, file.metrics), &mut faults);
        let experiments = noted(check_experiments(&place, &file.experiment, (&names, &fence)), &mut faults);
        let default = file.default.map(Spanned::into_inner);
        match (rules, guard, metrics, experiments) {
            (Some(rules), Some(guard), Some(metrics), Some(experiments)) if faults.is_empty() => {
                Ok(Self { default, instances, rules, api: file.api, log: file.log, guard, metrics, experiments, fence })
            }
            _ => Err(all_of(faults)),
        }
    }
}

fn noted<T>(result: anyhow::Result<T>, faults: &mut Vec<anyhow::Error>) -> Option<T> {
    result.map_err(|fault| faults.push(fault)).ok()
}

/// One error of all that is wrong with the file, each part with its line and its remedy.
fn all_of(mut faults: Vec<anyhow::Error>) -> anyhow::Error {
    if faults.len() == 1 {
        return faults.remove(0);
    }
    let causes: Vec<String> = faults.iter().map(cause).collect();
    let remedies: Vec<String> = faults.iter().filter_map(remedy).collect();
    UsageError::new(format!("{} faults: {}", faults.len(), causes.join("; ")), remedies.join("; ")).into()
}

fn wanted(
    place: &Place<'_>,
    name: &Spanned<String>,
    instance: &file::Instance,
    trust: Trust,
) -> anyhow::Result<WantedInstance> {
    ccctl_loader::check_name(name.get_ref()).map_err(|error| at(place, name, &error.into()))?;
    let word = instance.algorithm.get_ref();
    if Program::is_file(word) && !Path::new(word).is_absolute() {
        let cause = format!("{word:?} is not an absolute path");
        return Err(wrong(place, instance.algorithm.span().start, cause, "write the absolute path of an object file"));
    }
    let program = request::program(word, trust).map_err(|error| at(place, &instance.algorithm, &error))?;
    let profile = instance.profile.as_ref();
    let parameters = match profile {
        None => Ok(program.defaults()),
        Some(profile) => {
            request::parameters(&program, program.defaults(), Some(profile.get_ref()), &Settings::default())
                .map_err(|error| at(place, profile, &error))
        }
    };
    let mut parameters = parameters?;
    for (key, value) in &instance.set {
        set(&mut parameters, key, value).map_err(|error| at(place, key, &error))?;
    }
    let profile = profile.map_or_else(String::new, |profile| profile.get_ref().clone());
    Ok(WantedInstance { name: name.get_ref().clone(), program, profile, parameters })
}

fn set(parameters: &mut ParameterSet, key: &Spanned<String>, value: &Spanned<Setting>) -> anyhow::Result<()> {
    Ok(parameters.set(key.get_ref(), &value.get_ref().to_string()).map_err(ccctl_loader::Error::from)?)
}

/// Names of the file's instances, and what is fenced.
type Known<'a> = (&'a [String], &'a Fence);

fn check_default(place: &Place<'_>, default: &Spanned<String>, (names, fence): Known<'_>) -> anyhow::Result<()> {
    check_known(place, default.get_ref(), default.span().start, names)?;
    fence.require_open(default.get_ref(), "the default").map_err(|error| at(place, default, &error))
}

fn check_rules(
    place: &Place<'_>,
    rules: &[file::Rule],
    known: Known<'_>,
    instances: &[WantedInstance],
) -> anyhow::Result<Vec<WantedRule>> {
    let mut wanted: Vec<WantedRule> = Vec::new();
    let mut seen = BTreeSet::new();
    let tree = CgroupTree::find().ok();
    if let Some(first_beyond) = rules.get(MOST_RULES) {
        let cause = format!("{} rules: the limit is {MOST_RULES}", rules.len());
        let remedy = "use one rule for a parent cgroup instead of many for those below";
        return Err(wrong(place, first_beyond.offset(), cause, remedy));
    }
    let coming: Vec<(&str, &Program)> = instances.iter().map(|one| (one.name.as_str(), &one.program)).collect();
    for rule in rules {
        let (mut new, connections) = check_rule(place, rule, known, tree.as_ref())?;
        new.content.parameters = check_parameters(place, rule, &new.content.choices, &coming)?;
        if !seen.insert(connections) {
            let cause = format!("a second rule for the same connections of {}", new.label());
            return Err(wrong(
                place,
                rule.offset(),
                cause,
                "write one rule for them, such as use = \"web=90,reno=10\"",
            ));
        }
        wanted.push(new);
    }
    Ok(wanted)
}

/// Which connections a rule is for, in the only form of each name: `/a` and `/a/` are one cgroup.
type Connections = (Option<CgroupPath>, Option<String>, Option<Prefix>, Option<u16>, Conditions);

fn check_rule(
    place: &Place<'_>,
    rule: &file::Rule,
    (names, fence): Known<'_>,
    tree: Option<&CgroupTree>,
) -> anyhow::Result<(WantedRule, Connections)> {
    let cgroup = check_cgroup(place, rule, tree)?;
    let prefix = |to: &Spanned<String>| to.get_ref().parse::<Prefix>().map_err(|error| at(place, to, &error.into()));
    let to = rule.dst.as_ref().map(prefix).transpose()?;
    if let Some(port) = rule.port.as_ref().filter(|port| *port.get_ref() == 0) {
        return Err(wrong(
            place,
            port.span().start,
            "port 0 is not a service",
            "use 1 to 65535, or leave it out for all ports",
        ));
    }
    let conditions = check_conditions(place, rule)?;
    let settings = check_settings(place, rule)?;
    if let Some(ecn) = &rule.ecn {
        conditions.require_in_time(&settings).map_err(|error| at(place, ecn, &error.into()))?;
    }
    let choices = match &rule.uses {
        Some(uses) => {
            let choices = parse_targets(uses.get_ref(), names).map_err(|error| at(place, uses, &error.into()))?;
            fence.require_destination(&choices, to).map_err(|error| at(place, uses, &error))?;
            choices
        }
        None if settings.is_empty() => {
            let remedy = "write use = \"reno\", or a setting such as min_rto = \"50ms\", or both";
            return Err(wrong(place, rule.offset(), "the rule sets nothing", remedy));
        }
        None => Vec::new(),
    };
    let text = |value: &Option<Spanned<String>>| value.as_ref().map(|value| value.get_ref().clone());
    let wanted = WantedRule {
        cgroup: text(&rule.cgroup),
        unit: text(&rule.unit),
        dst: text(&rule.dst),
        port: rule.port.as_ref().map(|port| *port.get_ref()),
        conditions,
        content: RuleContent { choices, settings, ..RuleContent::default() },
        existing: rule.existing,
        redraws: false,
    };
    let connections = (cgroup, wanted.unit.clone(), to, wanted.port, conditions);
    Ok((wanted, connections))
}

fn check_conditions(place: &Place<'_>, rule: &file::Rule) -> anyhow::Result<Conditions> {
    let parse = |mark: &Spanned<Setting>| {
        Mark::parse(&mark.get_ref().to_string()).map_err(|error| at(place, mark, &error.into()))
    };
    let limit = |rtt: &Spanned<String>| RttLimit::parse(rtt.get_ref()).map_err(|error| at(place, rtt, &error.into()));
    Ok(Conditions {
        mark: rule.mark.as_ref().map(parse).transpose()?,
        priority: rule.priority.as_ref().map(|priority| *priority.get_ref()),
        rtt: rule.rtt.as_ref().map(limit).transpose()?,
    })
}

fn check_settings(place: &Place<'_>, rule: &file::Rule) -> anyhow::Result<SocketSettings> {
    let written = [
        (SocketSetting::InitialWindow, &rule.initial_window),
        (SocketSetting::MinRto, &rule.min_rto),
        (SocketSetting::MaxPacingRate, &rule.max_pacing_rate),
        (SocketSetting::NotsentLowat, &rule.notsent_lowat),
        (SocketSetting::MaxDelayedAck, &rule.max_delayed_ack),
        (SocketSetting::Ecn, &rule.ecn),
    ];
    for (setting, value) in written.iter().filter_map(|(setting, value)| Some((setting, value.as_ref()?))) {
        let parsed = setting.parse(&value.get_ref().to_string());
        parsed.map_err(|error| at(place, value, &error.into()))?;
    }
    let values = written.map(|(setting, value)| (setting, value.as_ref().map(Spanned::get_ref)));
    Ok(SocketSettings::parse(values)?)
}

/// Each by itself first, so that a refusal names the line of the value.
fn check_parameters(
    place: &Place<'_>,
    rule: &file::Rule,
    choices: &[Choice],
    coming: &[(&str, &Program)],
) -> anyhow::Result<RuleParameters> {
    let written = rule.parameters.iter().map(|(key, value)| (key.get_ref().as_str(), value.get_ref().to_string()));
    for ((key, _), one) in rule.parameters.iter().zip(written.clone()) {
        RuleParameters::parse([one], choices, coming).map_err(|error| at(place, key, &error.into()))?;
    }
    Ok(RuleParameters::parse(written, choices, coming)?)
}

/// A cgroup or a unit may be missing now, but it must be a name that one could have.
fn check_cgroup(place: &Place<'_>, rule: &file::Rule, tree: Option<&CgroupTree>) -> anyhow::Result<Option<CgroupPath>> {
    match (&rule.cgroup, &rule.unit) {
        (Some(path), None) => {
            let text = path.get_ref();
            let parsed = tree.map_or_else(|| CgroupPath::parse(text), |tree| tree.path(text));
            parsed.map(Some).map_err(|error| at(place, path, &error.into()))
        }
        (None, Some(unit)) if unit.get_ref().is_empty() || unit.get_ref().contains('/') => {
            let cause = format!("{:?} is not the name of a unit", unit.get_ref());
            Err(wrong(place, unit.span().start, cause, "write unit = \"backup.service\", or cgroup = \"/PATH\""))
        }
        (None, Some(_)) => Ok(None),
        _ => {
            let remedy = "write cgroup = \"/system.slice/backup.service\", or unit = \"backup.service\"";
            Err(wrong(place, rule.offset(), "a rule needs either a cgroup or a unit", remedy))
        }
    }
}

/// None where the file has no guard, and needs none.
fn check_guard(
    place: &Place<'_>,
    file: &File,
    (names, fence): Known<'_>,
    wanted: &[WantedInstance],
) -> anyhow::Result<Option<Guard>> {
    let guard = file.guard.as_ref().map(|guard| guard_of(place, guard, file, (names, fence))).transpose()?;
    let offset = file.guard.as_ref().map_or(0, |guard| guard.span().start);
    let watched = fence.require_watch(guard.as_ref(), wanted);
    watched.map_err(|error| wrong(place, offset, cause(&error), remedy(&error).unwrap_or_default()))?;
    Ok(guard)
}

fn guard_of(
    place: &Place<'_>,
    guard: &Spanned<file::Guard>,
    file: &File,
    (names, fence): Known<'_>,
) -> anyhow::Result<Guard> {
    let limits = Limits::of_file(place, guard.get_ref())?;
    let offset = guard.get_ref().fallback.as_ref().map_or(guard.span().start, |fallback| fallback.span().start);
    check_known(place, &limits.fallback, offset, names)?;
    let open = fence.require_open(&limits.fallback, "the fallback of the guard");
    open.map_err(|error| wrong(place, offset, cause(&error), remedy(&error).unwrap_or_default()))?;
    let left_out = file.instance.iter().filter(|(_, instance)| !instance.guard);
    Ok(Guard { limits, left_out: left_out.map(|(name, _)| name.get_ref().clone()).collect() })
}

/// What is wrong is told also where it is off. Whether there are such interfaces is known when they are needed.
fn check_metrics(place: &Place<'_>, metrics: file::Metrics) -> anyhow::Result<Option<Metrics>> {
    let port = metrics_port::check(place, &metrics)?;
    for interface in &metrics.acks {
        let name = interface.get_ref();
        if name.is_empty() || name.len() > 15 || name.contains(|letter: char| letter == '/' || letter.is_whitespace()) {
            let cause = format!("{name:?} is not the name of an interface");
            return Err(wrong(place, interface.span().start, cause, "ip link shows them: acks = [\"eth0\"]"));
        }
    }
    if let Some(file) = metrics.textfile.as_ref().filter(|file| !is_textfile(file.get_ref())) {
        let cause = format!("{} is not the absolute path of a .prom file", file.get_ref().display());
        let remedy = "textfile = \"/var/lib/prometheus/node-exporter/ccctl.prom\"";
        return Err(wrong(place, file.span().start, cause, remedy));
    }
    let acks = metrics.acks.into_iter().map(Spanned::into_inner).collect();
    let textfile = metrics.textfile.map(Spanned::into_inner);
    let meant = Metrics { port, textfile, acks, bpf_stats: metrics.bpf_stats };
    Ok(metrics.enabled.then_some(meant))
}

/// What a plan needs of the host is checked when the daemon freezes it.
fn check_experiments(
    place: &Place<'_>,
    experiments: &[Spanned<Design>],
    (names, fence): Known<'_>,
) -> anyhow::Result<Vec<Design>> {
    let mut wanted: Vec<Design> = Vec::new();
    for experiment in experiments {
        let (design, offset) = (experiment.get_ref(), experiment.span().start);
        ccctl_loader::check_name(&design.name).map_err(|error| at(place, experiment, &error.into()))?;
        for arm in design.a.iter().chain([&design.b]) {
            check_known(place, arm, offset, names)?;
        }
        fence.require_arms(design).map_err(|error| at(place, experiment, &error))?;
        if [design.cgroup.is_some(), design.unit.is_some(), design.whole_host]
            .iter()
            .filter(|is_given| **is_given)
            .count()
            != 1
        {
            let remedy = "write one of unit = \"nginx.service\", cgroup = \"/PATH\" and whole_host = true";
            return Err(wrong(place, offset, format!("experiment {} needs one scope", design.name), remedy));
        }
        check_part(place, offset, design)?;
        if wanted.iter().any(|other| other.name == design.name) {
            let cause = format!("a second experiment {}", design.name);
            return Err(wrong(place, offset, cause, "give each its own name"));
        }
        wanted.push(design.clone());
    }
    Ok(wanted)
}

/// Peers and port of an experiment's scope.
fn check_part(place: &Place<'_>, offset: usize, design: &Design) -> anyhow::Result<()> {
    if let Some(dst) = &design.dst {
        let parsed = dst.parse::<Prefix>();
        parsed.map_err(|error| wrong(place, offset, error.to_string(), error.remedy().unwrap_or_default()))?;
    }
    if design.port == Some(0) {
        return Err(wrong(place, offset, "port 0 is not a service", "use 1 to 65535, or leave it out for all ports"));
    }
    if design.whole_host && (design.dst.is_some() || design.port.is_some()) {
        let cause = format!("experiment {}: the whole host has all peers and ports", design.name);
        return Err(wrong(place, offset, cause, "write cgroup = \"/\" in the place of whole_host = true"));
    }
    Ok(())
}

/// `node_exporter` reads no others.
fn is_textfile(path: &Path) -> bool {
    path.is_absolute() && path.extension().is_some_and(|extension| extension == "prom")
}

/// A default and a fallback are an instance of the file, or something that the kernel has.
fn check_known(place: &Place<'_>, name: &str, offset: usize, names: &[String]) -> anyhow::Result<()> {
    let mut known = available_algorithms()?;
    known.extend_from_slice(names);
    if known.iter().any(|known| known == name) {
        return Ok(());
    }
    let remedy = did_you_mean(name, known.iter().map(String::as_str), || format!("there are {}", known.join(", ")));
    Err(wrong(place, offset, format!("neither the file nor the kernel has {name:?}"), remedy))
}

/// An error, at the place of the value that it is about.
fn at<T>(place: &Place<'_>, value: &Spanned<T>, error: &anyhow::Error) -> anyhow::Error {
    wrong(place, value.span().start, cause(error), remedy(error).unwrap_or_else(|| "docs/guide/daemon.md".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_faults_of_a_file_are_reported_at_once() {
        let text = "default = \"nope\"\n[instance.web]\nalgorithm = \"cubci\"\n[instance.db]\nalgorithm = \"reno\"\n\
                    set = { beta = 1 }\n[[rule]]\ncgroup = \"a\"\nuse = \"web\"\n";
        let fault = Configuration::of_text("f.toml", text, Trust::Checked).expect_err("four lines are wrong");
        let text = fault.to_string();
        assert!(text.starts_with("4 faults: f.toml:") && !text.contains("\"web\""), "{text}");
        assert!([1, 3, 6, 8].iter().all(|line| text.contains(&format!("f.toml:{line}: "))), "{text}");
        assert!(remedy(&fault).expect("there is one").contains("did you mean cubic"));
    }

    #[test]
    fn instances_have_their_profiles_and_their_own_values() {
        let text = "[instance.web]\nalgorithm = \"cubic\"\nprofile = \"linux\"\nset = { beta = 0.78125 }\n";
        let configuration = Configuration::of_text("f.toml", text, Trust::Checked).expect("it is right");
        let web = &configuration.instances[0];
        assert_eq!(
            (web.name.as_str(), web.program.algorithm.as_str(), web.profile.as_str()),
            ("web", "cubic", "linux")
        );
        assert_eq!(web.parameters.get("beta"), Some(800));
    }

    /// Without the comment signs of what is no sentence.
    fn uncommented(shipped: &str) -> String {
        let value = |line: &str| line.starts_with('[') || line.contains(" = ");
        let lines = shipped.lines().filter_map(|line| line.strip_prefix("# ")).filter(|line| value(line));
        lines.filter(|line| !line.ends_with('.')).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn the_shipped_file_is_all_comments_and_these_have_the_defaults() {
        let shipped = include_str!("../../../../configs/ccctl.toml");
        let as_it_is = Configuration::of_text("ccctl.toml", shipped, Trust::Checked).expect("it is right");
        assert!(as_it_is.instances.is_empty() && as_it_is.rules.is_empty() && as_it_is.default.is_none());
        assert_eq!((as_it_is.guard, as_it_is.metrics), (None, None));
        let text = uncommented(shipped);
        // the default stands after tables, where TOML has no place for it
        let (default, rest): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with("default"));
        let configuration = Configuration::of_text("ccctl.toml", &[default, rest].concat().join("\n"), Trust::Checked)
            .expect("the examples are right");
        assert_eq!((configuration.api, configuration.log), (file::Api::default(), file::Log::default()));
        assert_eq!(
            (configuration.instances.len(), configuration.rules.len(), configuration.default.as_deref()),
            (2, 1, Some("web"))
        );
        let web = configuration.instances.iter().find(|wanted| wanted.name == "web").expect("it is an example");
        assert_eq!(web.parameters.get("beta"), web.program.defaults().get("beta"));
        assert!(configuration.rules[0].existing);
        let conditions = configuration.rules[0].conditions;
        assert!(conditions.mark.is_some() && conditions.priority.is_some(), "each has an example");
        assert_eq!(
            configuration.rules[0].content.settings.iter().count(),
            SocketSetting::ALL.len(),
            "each has an example"
        );
        let metrics = Metrics {
            port: Some(MetricsPort { address: ([127, 0, 0, 1], 9877).into(), tls: None, token: None }),
            acks: vec!["eth0".to_owned()],
            ..Metrics::default()
        };
        assert_eq!(configuration.metrics, Some(metrics));
        let guard = configuration.guard.expect("it is in the file");
        assert_eq!((guard.limits, guard.left_out), (Limits::default(), vec!["backup".to_owned()]));
    }

    #[test]
    fn a_rule_has_an_algorithm_or_settings_or_both() {
        let rule = |text: &str| {
            let text = format!("[[rule]]\ncgroup = \"/a\"\n{text}");
            Configuration::of_text("f.toml", &text, Trust::Checked).map(|mut file| file.rules.remove(0))
        };
        let both = rule("use = \"reno\"\ninitial_window = 20\nmin_rto = \"50ms\"").expect("it is right");
        assert_eq!(both.content.to_string(), "reno, initial_window=20 min_rto=50ms");
        let settings = rule("max_pacing_rate = \"100mbit\"\nnotsent_lowat = 16384\necn = \"on\"").expect("it is right");
        assert_eq!(settings.content.to_string(), "max_pacing_rate=100mbit notsent_lowat=16k ecn=on");
        for (text, place, hint) in [
            ("", "f.toml:2: the rule sets nothing", "min_rto = \"50ms\""),
            ("min_rto = 50", "f.toml:3: min_rto=50: a time needs its unit", "50ms"),
            ("use = \"reno\"\nmin_rto = \"1s\"", "f.toml:4: min_rto=1s: out of range", "200ms"),
            ("initial_window = 0", "f.toml:3: initial_window=0: out of range: 1 to 1000", "initial_window=1"),
            ("ecn = \"off\"", "f.toml:3: ecn=off", "net.ipv4.tcp_ecn"),
        ] {
            let error = rule(text).expect_err(text);
            assert!(cause(&error).starts_with(place), "{text}: {}", cause(&error));
            assert!(remedy(&error).is_some_and(|remedy| remedy.contains(hint)), "{text}: {:?}", remedy(&error));
        }
    }

    #[test]
    fn a_rule_may_have_parameters_of_an_instance_of_the_file() {
        let rule = |uses: &str, parameters: &str| {
            let text = format!(
                "[instance.slow]\nalgorithm = \"ledbatpp\"\n[[rule]]\ncgroup = \"/a\"\nuse = \"{uses}\"\n\
                 parameters = {{ {parameters} }}\n"
            );
            Configuration::of_text("f.toml", &text, Trust::Checked).map(|mut file| file.rules.remove(0))
        };
        let both = rule("slow|cubic", "target = \"25ms\", gain_divisor_max = 4").expect("it is right");
        assert_eq!(both.content.to_string(), "slow|cubic target=25ms gain_divisor_max=4");
        assert!(rule("reno", "").expect("there are none").content.parameters.is_empty());
        for (uses, parameters, cause_part, hint) in [
            ("slow", "target = \"2s\"", "f.toml:6: target=2s: out of range: 1ms to 1s", "target=1s"),
            ("slow", "target = 25", "f.toml:6: target=25: a time needs its unit", "25ms"),
            (
                "slow",
                "exit = \"50%\"",
                "f.toml:6: exit is the same for all connections of slow: a rule may set target, gain_divisor_max",
                "ccctl tune slow",
            ),
            (
                "slow=1,reno=1",
                "target = \"25ms\"",
                "f.toml:6: parameters of a rule are for one algorithm",
                "one instance",
            ),
            ("reno", "target = \"25ms\"", "f.toml:6: reno is not an instance of ccctl", "ccctl list"),
        ] {
            let error = rule(uses, parameters).expect_err(parameters);
            assert!(cause(&error).starts_with(cause_part), "{parameters}: {}", cause(&error));
            assert!(remedy(&error).is_some_and(|said| said.contains(hint)), "{parameters}: {:?}", remedy(&error));
        }
    }

    #[test]
    fn rules_that_differ_in_their_conditions_are_for_other_connections() {
        let rule = |rest: &str| format!("[[rule]]\ncgroup = \"/a\"\nuse = \"reno\"\n{rest}\n");
        let written = [
            "",
            "mark = 0x10",
            "mark = \"0x10/0xf0\"",
            "priority = 6",
            "mark = 16\npriority = 6",
            "rtt = \">100ms\"",
            "rtt = \"< 0.1s\"",
        ];
        let text = written.map(rule).concat();
        let rules = Configuration::of_text("f.toml", &text, Trust::Checked).expect("it is right").rules;
        let conditions: Vec<String> = rules.iter().map(|rule| rule.conditions.to_string()).collect();
        assert_eq!(
            conditions,
            ["", " mark 0x10", " mark 0x10/0xf0", " priority 6", " mark 0x10 priority 6", " rtt >100ms", " rtt <100ms"],
            "as rules and apply print them"
        );
    }

    #[test]
    fn names_that_do_not_exist_are_errors_with_line_and_suggestion() {
        for (text, place, hint) in [
            (
                "[instance.web]\nalgorithm = \"cubci\"",
                "f.toml:2: there is no algorithm \"cubci\"",
                "did you mean cubic",
            ),
            ("[instance.web]\nalgorithm = \"cubic\"\nprofile = \"linxu\"", "f.toml:3:", "linux"),
            ("[instance.web]\nalgorithm = \"cubic\"\nset = { bta = 1 }", "f.toml:3:", "did you mean beta"),
            ("[instance.web]\nalgorithm = \"cubic\"\nset = { beta = 1 }", "f.toml:3:", "0.5 to 0.977"),
            ("[instance.much_too_long_name]\nalgorithm = \"cubic\"", "f.toml:1:", "1 to 15"),
            ("[instance.web]\nalgorithm = \"x.o\"", "f.toml:2:", "absolute"),
            ("[instance.web]\nalgorithm = \"/none.o\"", "f.toml:2:", "none.o"),
            ("default = \"wweb\"\n[instance.web]\nalgorithm = \"cubic\"", "f.toml:1: neither", "did you mean web"),
            ("[[rule]]\nuse = \"reno\"", "f.toml:2: a rule needs either", "cgroup = "),
            ("[[rule]]\nuse = \"reno\"\ncgroup = \"/a\"\nunit = \"a\"", "f.toml:2: a rule needs either", "cgroup = "),
            ("[[rule]]\nuse = \"reno\"\ncgroup = \"a\"", "f.toml:3:", "a path from the root"),
            ("[[rule]]\nuse = \"reno\"\nunit = \"a/b\"", "f.toml:3:", "not the name of a unit"),
            ("[[rule]]\nuse = \"reno\"\ncgroup = \"/a\"\ndst = \"10.0.0.0/33\"", "f.toml:4:", "33"),
            ("[[rule]]\nuse = \"reno\"\ncgroup = \"/a\"\nport = 0", "f.toml:4:", "65535"),
            ("[[rule]]\ncgroup = \"/a\"\nuse = \"rneo\"", "f.toml:3:", "did you mean reno"),
            ("[[rule]]\ncgroup = \"/a\"\nuse = \"reno=x\"", "f.toml:3:", "a weight of 1"),
            (
                "[[rule]]\ncgroup = \"/a\"\nuse = \"reno\"\n[[rule]]\ncgroup = \"/a\"\nuse = \"reno\"",
                "f.toml:6:",
                "second",
            ),
            (
                "[[rule]]\ncgroup = \"/a/b\"\nuse = \"reno\"\n[[rule]]\ncgroup = \"/a//b/\"\nuse = \"cubic\"",
                "f.toml:6:",
                "second",
            ),
            (
                "[[rule]]\nunit = \"a\"\ndst = \"10.0.0.1\"\nuse = \"reno\"\n\
                 [[rule]]\nunit = \"a\"\ndst = \"::ffff:10.0.0.1/128\"\nuse = \"cubic\"",
                "f.toml:8:",
                "second",
            ),
            ("[guard]\nfallback = \"rneo\"", "f.toml:2: neither", "did you mean reno"),
            ("[instance.fx]\nalgorithm = \"fixed\"", "f.toml:1: fx needs the guard", "[guard]"),
            (
                "[instance.fx]\nalgorithm = \"fixed\"\nguard = false\n[guard]\nfallback = \"reno\"",
                "f.toml:4: fx needs the guard",
                "guard = false",
            ),
            (
                "[instance.fx]\nalgorithm = \"fixed\"\n[guard]\nfallback = \"fx\"",
                "f.toml:4: fx cannot be the fallback",
                "--dst",
            ),
            (
                "default = \"fx\"\n[instance.fx]\nalgorithm = \"fixed\"\n[guard]\nfallback = \"reno\"",
                "f.toml:1: fx cannot be the default",
                "--dst",
            ),
            (
                "[instance.fx]\nalgorithm = \"fixed\"\n[guard]\n[[rule]]\ncgroup = \"/a\"\nuse = \"reno=9,fx=1\"",
                "f.toml:6: fx cannot be the algorithm of a rule for all",
                "--dst",
            ),
            (
                "[instance.fx]\nalgorithm = \"fixed\"\n[guard]\n[[rule]]\ncgroup = \"/a\"\ndst = \"::/0\"\nuse = \"fx\"",
                "f.toml:7: fx cannot be the algorithm of a rule for all",
                "--dst",
            ),
            ("[guard]\nfalback = \"reno\"", "f.toml:2:", "did you mean fallback"),
            ("[guard]\nevery = \"5\"", "f.toml:2:", "\"1s\" to \"1h\""),
            ("[guard]\nevery = \"999ms\"", "f.toml:2:", "\"1s\" to \"1h\""),
            ("[guard]\n\nwindows = 0", "f.toml:3: windows = 0", "1 to 60"),
            ("[guard]\nstalled_pct = 101", "f.toml:2: stalled_pct = 101", "1 to 100"),
            ("[guard]\nretransmit_pct = 0", "f.toml:2:", "1 to 100"),
            ("[guard]\ntimes_fallback = 1001", "f.toml:2:", "1 to 1000"),
            ("[guard]\nmin_connections = -1", "f.toml:2:", "docs/guide/daemon.md"),
            ("[instance.web]\nalgorithm = \"cubic\"\ngaurd = false", "f.toml:3:", "did you mean guard"),
            (
                "[metrics]\nlisten = \"0.0.0.0:9877\"",
                "f.toml:2: 0.0.0.0:9877 is not a loopback address",
                "tls_certificate",
            ),
            ("[metrics]\nlisten = \"192.0.2.1:9877\"", "f.toml:2:", "127.0.0.1:9877"),
            ("[metrics]\ntextfile = \"ccctl.prom\"", "f.toml:2:", "/ccctl.prom"),
            ("[metrics]\ntextfile = \"/tmp/ccctl.txt\"", "f.toml:2:", ".prom"),
            (
                "[metrics]\ntls_key = \"/etc/key\"",
                "f.toml:2: tls_key is given without tls_certificate",
                "tls_certificate",
            ),
            ("[metrics]\nlisten = \"127.0.0.1:1\"\ntoken_file = \"/nonexistent/token\"", "f.toml:3:", "token_file"),
            ("[metrics]\nlisten = \"127.0.0.1\"", "f.toml:2:", "127.0.0.1:9877"),
            ("[metrics]\nlisten = \"127.0.0.1:0\"", "f.toml:2:", "127.0.0.1:9877"),
            ("[metrics]\nlisten = \"localhost:9877\"", "f.toml:2:", "127.0.0.1:9877"),
            ("[metrics]\nenabeld = true", "f.toml:2:", "did you mean enabled"),
            ("[metrics]\n\nacks = [\"\"]", "f.toml:3:", "acks = [\"eth0\"]"),
            ("[metrics]\nacks = [\"eth 0\"]", "f.toml:2:", "acks = [\"eth0\"]"),
        ] {
            is_refused(text, place, hint);
        }
    }

    #[track_caller]
    fn is_refused(text: &str, place: &str, hint: &str) {
        let error = Configuration::of_text("f.toml", text, Trust::Checked).expect_err("it is wrong");
        let said = format!("{} {}", cause(&error), remedy(&error).unwrap_or_default());
        assert!(said.starts_with(place) && said.contains(hint), "{text:?}: {said}");
    }

    #[test]
    fn conditions_that_cannot_be_are_errors_with_line_and_suggestion() {
        for (text, place, hint) in [
            ("[[rule]]\nuse = \"reno\"\ncgroup = \"/a\"\nmark = \"red\"", "f.toml:4: mark=red: expected", "0x10/0xf0"),
            ("[[rule]]\nuse = \"reno\"\ncgroup = \"/a\"\nmark = -1", "f.toml:4: mark=-1: expected", "0x10"),
            ("[[rule]]\nuse = \"reno\"\ncgroup = \"/a\"\nmark = \"1/0\"", "f.toml:4: mark=1/0: a mask of 0", "0xff"),
            ("[[rule]]\nuse = \"reno\"\ncgroup = \"/a\"\npriority = -1", "f.toml:4:", "docs/guide/daemon.md"),
            (
                "[[rule]]\nuse = \"reno\"\ncgroup = \"/a\"\nrtt = \"100ms\"",
                "f.toml:4: rtt=100ms: expected > or <",
                "<5ms",
            ),
            ("[[rule]]\nuse = \"reno\"\ncgroup = \"/a\"\nrtt = \">100\"", "f.toml:4: rtt=>100: a time needs", ">100ms"),
            ("[[rule]]\nuse = \"reno\"\ncgroup = \"/a\"\nrtt = 100", "f.toml:4:", "docs/guide/daemon.md"),
            (
                "[[rule]]\nrtt = \">1ms\"\ncgroup = \"/a\"\necn = \"on\"",
                "f.toml:4: a rule with an RTT",
                "leave out ecn",
            ),
            ("[[rule]]\nuse = \"reno\"\ncgroup = \"/a\"\npriorty = 6", "f.toml:4:", "did you mean priority"),
            (
                "[[rule]]\ncgroup = \"/a\"\nmark = \"0x10\"\nuse = \"reno\"\n\
                 [[rule]]\ncgroup = \"/a\"\nmark = 16\nuse = \"cubic\"",
                "f.toml:8:",
                "second",
            ),
        ] {
            is_refused(text, place, hint);
        }
    }
}
