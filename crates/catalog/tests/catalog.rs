// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every algorithm says all that the commands and the docs need of it, and every profile fits.
#![allow(clippy::unwrap_used)] // a test fails by panicking

use ccctl_catalog::kernel::ICSK_CA_PRIV_SIZE;
use ccctl_catalog::{algorithm, algorithms, ParameterSet, Profile};

#[test]
fn every_algorithm_has_all_rows_of_a_header() {
    assert!(!algorithms().is_empty());
    for algorithm in algorithms() {
        let description = algorithm.description();
        for (row, text) in [
            ("title", &description.title),
            ("For", &description.good_for),
            ("Use", &description.use_when),
            ("Not", &description.not_when),
            ("Source", &description.source),
            ("Law", &description.law.join(" ")),
            ("Why", &description.why),
            ("Differs", &description.differs),
            ("State", &description.state),
            ("Range", &description.range),
        ] {
            assert!(!text.is_empty(), "{}: header has no row {row}", algorithm.name());
        }
    }
}

/// Those with an RFC that says where to deploy them, the default of systems in use, and what is deployed and maintained for one
/// purpose; the rest has no deployment that somebody maintains.
#[test]
fn purposes_are_those_of_deployments() {
    let mut production = Vec::new();
    for algorithm in algorithms() {
        let description = algorithm.description();
        match description.purpose.as_str() {
            "production" => production.push(algorithm.name()),
            other => assert_eq!(other, "study", "{}: the row For begins with another word", algorithm.name()),
        }
        assert!(description.good_for.len() <= 72, "{}: For is one short line", algorithm.name());
        for advice in [&description.use_when, &description.not_when] {
            assert!(advice.starts_with("when ") && advice.ends_with(['.', ')']), "{}: {advice:?}", algorithm.name());
        }
    }
    assert_eq!(production, ["bbr", "bbr3", "cubic", "dctcp", "fixed", "ledbatpp", "lp", "reno"]);
}

/// Those that a rule may give to its connections alone. Each has a place in the state, for `init` keeps it there.
#[test]
fn parameters_per_connection_are_kept_in_the_state() {
    let mut found = Vec::new();
    for algorithm in algorithms() {
        let layout = algorithm.layout();
        for parameter in layout.per_connection() {
            let place = format!("own_{}", parameter.member);
            assert!(layout.field(&place).is_some_and(|field| field.none.is_some()), "{}: no {place}", algorithm.name());
            assert!(parameter.minimum > 0, "{}: 0 is for none", parameter.name);
            found.push((algorithm.name(), parameter.name.clone()));
        }
    }
    let named = [("fixed", "rate"), ("ledbatpp", "target"), ("ledbatpp", "gain_divisor_max")];
    assert_eq!(found, named.map(|(algorithm, name)| (algorithm, name.to_owned())));
}

/// The page for those who choose: its tables name each algorithm with the purpose that its file has.
#[test]
fn which_algorithm_says_what_the_headers_say() {
    let page = include_str!("../../../docs/guide/which-algorithm.md");
    let (by_use, generated) = page.split_once("<!-- made by").expect("a table by use, then a generated one");
    let rows: Vec<Vec<&str>> = by_use
        .lines()
        .skip_while(|line| !line.starts_with("| your traffic"))
        .take_while(|line| line.starts_with("| "))
        .filter(|line| !line.starts_with("| ---"))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    assert_eq!(rows[0], ["your traffic", "production", "study", "why, and what to watch"]);
    for row in &rows[1..] {
        for (cell, purpose) in [(row[1], "production"), (row[2], "study")] {
            for name in cell.split('`').skip(1).step_by(2) {
                let description = algorithm(name).unwrap_or_else(|| panic!("no algorithm {name}")).description();
                assert_eq!(description.purpose, purpose, "{name} in {row:?}");
            }
        }
    }
    for use_case in ["CDN edge", "backup", "satellite", "data centre", "long fat pipe"] {
        assert!(rows.iter().any(|row| row[0].contains(use_case)), "no row for {use_case}");
    }
    for algorithm in algorithms() {
        let link = format!("[`{0}`](../reference/algorithms/{0}.md)", algorithm.name());
        assert!(generated.contains(&link), "{} is missing: scripts/describe-algorithms", algorithm.name());
    }
}

#[test]
fn every_parameter_is_explained_and_every_state_fits_its_socket() {
    for algorithm in algorithms() {
        let layout = algorithm.layout();
        assert!(!layout.parameters.is_empty(), "{}: no parameters", algorithm.name());
        for parameter in &layout.parameters {
            assert!(parameter.text.len() > 3, "{}.{}: no explanation", algorithm.name(), parameter.name);
            let words = parameter.words.len() as u32;
            assert!(words == 0 || words == parameter.maximum + 1, "{}: words do not fit range", parameter.name);
        }
        assert!(layout.state_bytes <= ICSK_CA_PRIV_SIZE as usize, "{}: {} bytes", algorithm.name(), layout.state_bytes);
        for field in &layout.state {
            assert!(field.offset + field.size <= layout.state_bytes, "{}.{}", algorithm.name(), field.name);
        }
    }
}

/// The header's State row is written by hand; the number in it must be the size that the compiler gives.
#[test]
fn the_state_row_tells_the_size_of_the_state() {
    for algorithm in algorithms() {
        let bytes = algorithm.layout().state_bytes;
        let row = algorithm.description().state;
        let expected = if bytes == 0 { "none".to_owned() } else { format!("{bytes} byte") };
        assert!(row.starts_with(&expected), "{}: State row {row:?}, size {bytes}", algorithm.name());
    }
}

/// What the C files declare by `CC_NONE`, the only place that has it, is what the layout has.
#[test]
fn numbers_that_stand_for_no_value_are_declared_in_c() {
    let none_of = |algorithm: &str, field: &str| {
        let field = ccctl_catalog::algorithm(algorithm).unwrap().layout().field(field).unwrap().clone();
        field.none.map(|none| (none.number, none.meaning))
    };
    assert_eq!(none_of("bbr", "min_rtt_us"), Some((u32::MAX.into(), "no RTT yet".to_owned())));
    assert_eq!(none_of("yeah", "rtt.round_min_us"), Some((0, "no RTT in this round".to_owned())));
    assert_eq!(none_of("cubic", "undo.epoch_age_us"), Some((0, "no growth curve before that loss".to_owned())));
    assert_eq!(
        none_of("cubic", "hystart.round_min_rtt_us"),
        Some((u32::MAX.into(), "no RTT in this round".to_owned()))
    );
    assert_eq!(none_of("cubic", "w_max_pkts"), None);
    for (path, text) in c_files() {
        let members = text.lines().filter(|line| line.starts_with('\t'));
        let fields = members.filter_map(|line| line.split_once(" CC_NONE("));
        let names: Vec<&str> = fields.filter_map(|(field, _)| field.rsplit(' ').next()?.split('[').next()).collect();
        let users: Vec<_> = algorithms()
            .iter()
            .filter(|it| !path.ends_with(".bpf.c") || path.contains(&format!("/{}.", it.name())))
            .collect();
        for name in names {
            let is_it = |field: &str| field.split(['.', '[']).any(|word| word == name);
            let mut states = users.iter().flat_map(|it| it.layout().state);
            assert!(states.any(|field| is_it(&field.name) && field.none.is_some()), "{path}: {name}");
        }
        let old = text.lines().find(|line| line.starts_with('\t') && line.contains(": none") && line.contains("; /*"));
        assert!(old.is_none() || path.ends_with("socket_stats.h"), "{path}: write CC_NONE in {old:?}");
    }
}

/// Path and text of the algorithms and of the headers that they share.
fn c_files() -> Vec<(String, String)> {
    let folders = ["algorithms", "include"].map(|name| format!("{}/../../bpf/{name}", env!("CARGO_MANIFEST_DIR")));
    let entries = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let paths = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    paths.map(|path| (path.display().to_string(), std::fs::read_to_string(&path).unwrap())).collect()
}

#[test]
fn every_profile_fits_the_algorithms_it_names() {
    let names = Profile::names();
    assert!(names.iter().any(|name| name == "even2006"));
    for name in names {
        let profile = Profile::named(&name).unwrap_or_else(|error| panic!("{error}"));
        assert!(profile.algorithms().count() > 0, "{name} is empty");
        for target in profile.algorithms() {
            let known = algorithm(target).unwrap_or_else(|| panic!("{name}: no algorithm {target}"));
            let mut set = ParameterSet::defaults(target, &known.layout().parameters);
            profile.apply(target, &mut set).unwrap_or_else(|error| panic!("{error}"));
        }
    }
}

#[test]
fn an_unknown_profile_is_answered_with_the_nearest_one() {
    let error = Profile::named("even206").expect_err("there is none");
    assert_eq!(error.to_string(), "there is no profile \"even206\"");
    assert!(error.remedy().contains("did you mean even2006"), "{}", error.remedy());
}
