//! What the file means: algorithms, parameters and rules that exist, or what is wrong with it.

use std::path::Path;

use ccctl_catalog::ParameterSet;
use ccctl_loader::Program;
use toml::Spanned;

use super::file::{self, wrong, File, Place};
use crate::engine::{request, Setting};
use crate::exit::{cause, remedy};

/// An instance that is to be there.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// Kernel name.
    pub name: String,
    /// The algorithm.
    pub program: Program,
    /// Name of the profile; empty: none.
    pub profile: String,
    /// All parameters.
    pub parameters: ParameterSet,
}

/// A file that was understood.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    /// Default of the daemon's network namespace.
    pub default: Option<String>,
    /// Instances, by name.
    pub instances: Vec<Wanted>,
    /// The API.
    pub api: file::Api,
    /// The log.
    pub log: file::Log,
}

impl Policy {
    /// Reads and checks a text; `name` is how messages call it. The kernel is asked nothing.
    pub fn of_text(name: &str, text: &str) -> anyhow::Result<Self> {
        let file = File::of_text(name, text)?;
        let place = Place { file: name, text };
        let instances = file.instance.iter().map(|(name, instance)| wanted(&place, name, instance));
        let instances = instances.collect::<anyhow::Result<Vec<_>>>()?;
        Ok(Self { default: file.default.map(Spanned::into_inner), instances, api: file.api, log: file.log })
    }
}

fn wanted(place: &Place<'_>, name: &Spanned<String>, instance: &file::Instance) -> anyhow::Result<Wanted> {
    ccctl_loader::check_name(name.get_ref()).map_err(|error| at(place, name, &error.into()))?;
    let word = instance.algorithm.get_ref();
    if Program::is_file(word) && !Path::new(word).is_absolute() {
        let cause = format!("{word:?} is no absolute path");
        return Err(wrong(place, instance.algorithm.span().start, cause, "an object file goes by its absolute path"));
    }
    let program = request::program(word).map_err(|error| at(place, &instance.algorithm, &error))?;
    let profile = instance.profile.as_ref();
    let parameters = match profile {
        None => Ok(program.defaults()),
        Some(profile) => {
            request::parameters(&program, program.defaults(), Some(profile.get_ref()), &Default::default())
                .map_err(|error| at(place, profile, &error))
        }
    };
    let mut parameters = parameters?;
    for (key, value) in &instance.set {
        set(&mut parameters, key, value).map_err(|error| at(place, key, &error))?;
    }
    let profile = profile.map_or_else(String::new, |profile| profile.get_ref().clone());
    Ok(Wanted { name: name.get_ref().clone(), program, profile, parameters })
}

fn set(parameters: &mut ParameterSet, key: &Spanned<String>, value: &Spanned<Setting>) -> anyhow::Result<()> {
    Ok(parameters.set(key.get_ref(), &value.get_ref().to_string()).map_err(ccctl_loader::Error::from)?)
}

/// An error, at the place of the value that it is about.
fn at<T>(place: &Place<'_>, value: &Spanned<T>, error: &anyhow::Error) -> anyhow::Error {
    wrong(place, value.span().start, cause(error), remedy(error).unwrap_or_else(|| "docs/daemon.md".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_have_their_profiles_and_their_own_values() {
        let text = "[instance.web]\nalgorithm = \"cubic\"\nprofile = \"linux\"\nset = { beta_q10 = 800 }\n";
        let policy = Policy::of_text("f.toml", text).expect("it is right");
        let web = &policy.instances[0];
        assert_eq!(
            (web.name.as_str(), web.program.algorithm.as_str(), web.profile.as_str()),
            ("web", "cubic", "linux")
        );
        assert_eq!(web.parameters.get("beta_q10"), Some(800));
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
            ("[instance.web]\nalgorithm = \"cubic\"\nset = { beta_q1 = 1 }", "f.toml:3:", "beta_q10"),
            ("[instance.web]\nalgorithm = \"cubic\"\nset = { beta_q10 = 1 }", "f.toml:3:", "512"),
            ("[instance.much_too_long_name]\nalgorithm = \"cubic\"", "f.toml:1:", "1 to 15"),
            ("[instance.web]\nalgorithm = \"x.o\"", "f.toml:2:", "absolute"),
            ("[instance.web]\nalgorithm = \"/none.o\"", "f.toml:2:", "none.o"),
        ] {
            let error = Policy::of_text("f.toml", text).expect_err("it is wrong");
            let said = format!("{} {}", cause(&error), remedy(&error).unwrap_or_default());
            assert!(said.starts_with(place) && said.contains(hint), "{text:?}: {said}");
        }
    }
}
