// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parameters of an algorithm that a rule gives to its connections alone.

use std::fmt;

use ccctl_catalog::kernel::{c_text, CC_OWN_PARAMS};
use ccctl_catalog::{Layout, ParameterSet};

use super::record::{rule_parameter, rule_parameters};
use super::table::{format_choices, Choice};
use crate::error::{Error, Result};
use crate::instance::Instance;
use crate::kernel::available_algorithms;
use crate::object::Program;
use crate::own_params::{self, cc_own_instance, cc_own_values, OWN_PARAMS_MAP};
use crate::sys::copy_name;

/// One of them, as people write it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleParameter {
    /// Name.
    pub name: String,
    /// Value: `50mbit`.
    pub value: String,
}

/// Those of a rule: for the connections that get the algorithm of one name. By default there are none.
#[derive(Debug, Clone, Default)]
pub struct RuleParameters {
    values: cc_own_values,
    written: [Option<RuleParameter>; CC_OWN_PARAMS as usize],
}

/// Long words are cut in the kernel: only the values count.
impl PartialEq for RuleParameters {
    fn eq(&self, other: &Self) -> bool {
        self.values == other.values
    }
}

impl Eq for RuleParameters {}

/// What an algorithm declares, under a kernel name.
struct Declared {
    name: String,
    algorithm: String,
    layout: Layout,
}

impl Declared {
    /// Of an instance that is to be loaded, or that the kernel has.
    fn of(name: &str, coming: &[(&str, &Program)]) -> Result<Self> {
        let declared = |algorithm: &str, layout: &Layout| Self {
            name: name.to_owned(),
            algorithm: algorithm.to_owned(),
            layout: layout.clone(),
        };
        if let Some((_, program)) = coming.iter().find(|(coming, _)| *coming == name) {
            return Ok(declared(&program.algorithm, &program.layout));
        }
        let is_instance = Instance::exists(name)?;
        if !is_instance && available_algorithms()?.iter().any(|known| known == name) {
            return Err(Error::Request {
                cause: format!("{name} is not an instance of ccctl: it has no parameters per connection"),
                remedy: "name an instance (ccctl list)".to_owned(),
            });
        }
        let instance = Instance::named(name)?;
        Ok(declared(&instance.identity.algorithm, &instance.layout))
    }

    /// Refuses what is not per connection; `key` is a parameter, or no word that the algorithm knows.
    fn require_own(&self, key: &str) -> Result<()> {
        let names: Vec<&str> = self.layout.per_connection().map(|one| one.name.as_str()).collect();
        let is_other = self.layout.parameters.iter().any(|one| one.name == key && !one.is_per_connection);
        let name = &self.name;
        if names.is_empty() {
            let cause = format!("no rule can set parameters of {name}: {} has none per connection", self.algorithm);
            let newer = ccctl_catalog::algorithm(&self.algorithm)
                .filter(|known| known.layout().per_connection().next().is_some())
                .map(|_| format!("an earlier ccctl has loaded it: ccctl swap {name} --with {}", self.algorithm));
            let remedy = newer.unwrap_or_else(|| format!("ccctl tune {name} changes them for all its connections"));
            return Err(Error::Request { cause, remedy });
        }
        if is_other {
            let may = names.join(", ");
            let cause = format!("{key} is the same for all connections of {name}: a rule may set {may}");
            let remedy = format!("ccctl tune {name} {key}=VALUE changes it for all");
            return Err(Error::Request { cause, remedy });
        }
        Ok(())
    }
}

impl RuleParameters {
    /// From words, for the first name of the only choice: `coming` are instances that are to be loaded before.
    ///
    /// # Errors
    /// Where a rule cannot have them: with several choices, with a name that is not of an instance, with a parameter that is the
    /// same for all its connections, and with a value outside its range.
    pub fn parse<'a>(
        written: impl IntoIterator<Item = (&'a str, String)>,
        choices: &[Choice],
        coming: &[(&str, &Program)],
    ) -> Result<Self> {
        let written: Vec<(&str, String)> = written.into_iter().collect();
        if written.is_empty() {
            return Ok(Self::default());
        }
        let [choice] = choices else {
            let what = if choices.is_empty() { "it names none".to_owned() } else { format_choices(choices) };
            return Err(Error::Request {
                cause: format!("parameters of a rule are for one algorithm: {what}"),
                remedy: "name one instance, and after | what to use where the kernel does not have it".to_owned(),
            });
        };
        Self::of_declared(&written, &Declared::of(&choice.names[0], coming)?)
    }

    fn of_declared(written: &[(&str, String)], declared: &Declared) -> Result<Self> {
        let Declared { name, algorithm, layout } = declared;
        let own: Vec<_> = layout.per_connection().cloned().collect();
        let mut set = ParameterSet::defaults(algorithm, &own);
        for (key, value) in written {
            declared.require_own(key)?;
            set.set(key, value)?;
        }
        let instance = cc_own_instance::of(name, algorithm, layout);
        let mut parameters = Self { values: cc_own_values { instance, ..Default::default() }, ..Self::default() };
        for (place, (parameter, value)) in set.iter().enumerate().take(CC_OWN_PARAMS as usize) {
            if written.iter().any(|(key, _)| *key == parameter.name) {
                parameters.values.has |= 1 << place;
                parameters.values.value[place] = value;
                let (name, value) = (parameter.name.clone(), parameter.format(value));
                parameters.written[place] = Some(RuleParameter { name, value });
            }
        }
        Ok(parameters)
    }

    /// Are there none?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.has == 0
    }

    /// Each, in the order of their declaration.
    pub fn iter(&self) -> impl Iterator<Item = &RuleParameter> {
        self.written.iter().flatten()
    }

    /// Kernel name of the instance that they are for; empty where there are none.
    #[must_use]
    pub fn instance(&self) -> String {
        c_text(&self.values.instance.name)
    }

    /// The same, or none where these choices do not have their instance.
    #[must_use]
    pub fn kept_for(&self, choices: &[Choice]) -> Self {
        let instance = self.instance();
        let has_it = choices.iter().any(|choice| choice.names.contains(&instance));
        if has_it {
            self.clone()
        } else {
            Self::default()
        }
    }

    /// Refuses parameters that the instance in the kernel would not read.
    ///
    /// # Errors
    /// Where it was loaded by a ccctl before there were any, or declares others.
    pub fn require_read(&self) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let instance = Instance::named(&self.instance())?;
        let now = cc_own_instance::of(&instance.name, &instance.identity.algorithm, &instance.layout);
        let shares = match instance.map(OWN_PARAMS_MAP) {
            Ok(map) => own_params::is_pinned(map)?,
            Err(_) => false,
        };
        if now.declared == self.values.instance.declared && shares {
            return Ok(());
        }
        let name = &instance.name;
        Err(Error::Request {
            cause: format!("{name} cannot read parameters of rules: another ccctl has loaded its program"),
            remedy: format!("load it again: ccctl swap {name} --with {}", instance.identity.algorithm),
        })
    }

    /// For the program.
    pub(super) fn record(&self) -> rule_parameters {
        let mut record = rule_parameters { values: self.values, ..rule_parameters::default() };
        for (one, room) in self.written.iter().zip(&mut record.written) {
            if let Some(RuleParameter { name, value }) = one {
                copy_name(&mut room.name, name);
                copy_name(&mut room.value, value);
            }
        }
        record
    }

    /// From the kernel.
    pub(super) fn of_record(record: &rule_parameters) -> Self {
        let written = |(place, one): (usize, &rule_parameter)| {
            let is_set = record.values.has & 1 << place != 0;
            is_set.then(|| RuleParameter { name: c_text(&one.name), value: c_text(&one.value) })
        };
        let mut parameters = Self { values: record.values, ..Self::default() };
        for (room, one) in parameters.written.iter_mut().zip(record.written.iter().enumerate().map(written)) {
            *room = one;
        }
        parameters
    }

    /// Are these what a socket has?
    pub(super) fn are(&self, values: &cc_own_values) -> bool {
        self.values == *values
    }
}

/// What a socket has of its own, as people write it, by what the instance that it is for declares.
pub(super) fn describe(values: &cc_own_values, instance: &Instance) -> Vec<RuleParameter> {
    let declared = cc_own_instance::of(&instance.name, &instance.identity.algorithm, &instance.layout);
    if declared != values.instance {
        return Vec::new();
    }
    let one = |(place, parameter): (usize, &ccctl_catalog::Parameter)| {
        let value = values.value.get(place).filter(|_| values.has & 1 << place != 0)?;
        Some(RuleParameter { name: parameter.name.clone(), value: parameter.format(*value) })
    };
    instance.layout.per_connection().enumerate().filter_map(one).collect()
}

/// As one types them: `rate=50mbit`.
impl fmt::Display for RuleParameters {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, RuleParameter { name, value }) in self.iter().enumerate() {
            let space = if index > 0 { " " } else { "" };
            write!(formatter, "{space}{name}={value}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choices(names: &[&[&str]]) -> Vec<Choice> {
        let one = |names: &&[&str]| Choice { names: names.iter().map(|name| (*name).to_owned()).collect(), weight: 1 };
        names.iter().map(one).collect()
    }

    fn parse(written: &[(&str, &str)], names: &[&[&str]], algorithm: &str) -> Result<RuleParameters> {
        let program = Program::named(algorithm).expect("it exists");
        let written = written.iter().map(|(key, value)| (*key, (*value).to_owned()));
        RuleParameters::parse(written, &choices(names), &[("slow", &program)])
    }

    /// 50 Mbit/s are 6,250,000 bytes per second.
    #[test]
    fn values_are_those_of_the_c_member_and_are_read_back() {
        let parameters = parse(&[("rate", "50 Mbit/s")], &[&["slow", "cubic"]], "fixed").expect("it is right");
        assert_eq!((parameters.to_string(), parameters.instance()), ("rate=50mbit".to_owned(), "slow".to_owned()));
        assert_eq!((parameters.values.has, parameters.values.value), (1, [6_250_000, 0, 0, 0]));
        let read = RuleParameters::of_record(&parameters.record());
        assert_eq!((&read, read.to_string()), (&parameters, parameters.to_string()));
        assert!(parse(&[], &[&["a"], &["b"]], "fixed").expect("there are none").is_empty());
        assert!(parameters.kept_for(&choices(&[&["cubic"]])).is_empty());
        assert_eq!(parameters.kept_for(&choices(&[&["cubic"], &["other", "slow"]])), parameters);
    }

    #[test]
    fn what_a_rule_cannot_set_is_refused_with_what_it_can() {
        for (key, value, names, algorithm, cause, remedy) in [
            (
                "rate",
                "1gb",
                &[&["slow"][..]][..],
                "fixed",
                "rate=1gb: expected a rate, 500kbit to 32gbit",
                "rate=1mbit",
            ),
            ("rate", "50", &[&["slow"]], "fixed", "rate=50: a rate needs its unit", "50mbit"),
            ("rate", "1kbit", &[&["slow"]], "fixed", "rate=1kbit: out of range: 500kbit to 32gbit", "rate=500kbit"),
            ("rat", "1mbit", &[&["slow"]], "fixed", "fixed has no parameter \"rat\"", "did you mean rate?"),
            (
                "max_sum_rate",
                "1gbit",
                &[&["slow"]],
                "fixed",
                "max_sum_rate is the same for all connections of slow: a rule may set rate",
                "ccctl tune slow max_sum_rate=VALUE",
            ),
            ("beta", "0.8", &[&["slow"]], "cubic", "cubic has none per connection", "ccctl tune slow"),
            (
                "rate",
                "1mbit",
                &[&["slow"], &["reno"]],
                "fixed",
                "for one algorithm: slow=1,reno=1",
                "name one instance",
            ),
            ("rate", "1mbit", &[], "fixed", "for one algorithm: it names none", "name one instance"),
        ] {
            let error = parse(&[(key, value)], names, algorithm).expect_err(key);
            assert!(error.to_string().contains(cause), "{key}={value}: {error}");
            assert!(error.remedy().is_some_and(|said| said.contains(remedy)), "{key}: {:?}", error.remedy());
        }
    }
}
