// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values as people write them are the integers that the C files mean.

use std::collections::{BTreeMap, BTreeSet};

use ccctl_catalog::{algorithm, algorithms, Parameter, ParameterSet, Profile};

fn parameter(of: &str, name: &str) -> Parameter {
    let declared = algorithm(of).expect("it exists").layout().parameters;
    declared.into_iter().find(|parameter| parameter.name == name).unwrap_or_else(|| panic!("{of} has no {name}"))
}

/// Every integer that any parameter can have prints to a text that is read as the same integer. Two parameters with the same
/// unit and step are written alike. Beyond 2^20 every 101st is taken, or all with `CCCTL_LONG=1`: 20 s.
#[test]
fn every_integer_in_range_is_read_back() {
    let mut alike: BTreeMap<(String, String), (Parameter, Vec<Parameter>)> = BTreeMap::new();
    for parameter in algorithms().iter().flat_map(|algorithm| algorithm.layout().parameters) {
        if !parameter.words.is_empty() {
            continue;
        }
        let key = (parameter.unit().to_owned(), parameter.step());
        let (widest, all) = alike.entry(key).or_insert_with(|| (parameter.clone(), Vec::new()));
        widest.minimum = widest.minimum.min(parameter.minimum);
        widest.maximum = widest.maximum.max(parameter.maximum);
        all.push(parameter);
    }
    let stride = if std::env::var_os("CCCTL_LONG").is_some() { 1 } else { 101 };
    for (widest, all) in alike.values() {
        let begin = (widest.minimum..=widest.maximum).take(1 << 20);
        for integer in begin.chain((widest.minimum..=widest.maximum).skip(1 << 20).step_by(stride)) {
            let text = widest.format(integer);
            assert_eq!(widest.parse(&text), Ok(integer), "{} of {text}", widest.name);
        }
        for one in all {
            for integer in [one.minimum, one.default, one.maximum] {
                assert_eq!(one.format(integer), widest.format(integer), "{} and {}", one.name, widest.name);
                assert_eq!(one.parse(&one.format(integer)), Ok(integer), "{}", one.name);
            }
            for beyond in [one.minimum.checked_sub(1), one.maximum.checked_add(1)].into_iter().flatten() {
                assert!(one.parse(&one.format(beyond)).is_err(), "{} takes {beyond}", one.name);
            }
        }
    }
}

#[test]
fn words_are_read_back() {
    for parameter in algorithms().iter().flat_map(|algorithm| algorithm.layout().parameters) {
        for integer in 0..parameter.words.len() as u32 {
            assert_eq!(parameter.parse(&parameter.format(integer)), Ok(integer), "{}", parameter.name);
        }
    }
}

/// The numbers of the RFCs and papers that the C files name, and what they are in C.
#[test]
fn defaults_are_those_of_their_sources() {
    for (of, name, text, integer, range) in [
        ("cubic", "beta", "0.7", 717, "0.5 to 0.977"), // RFC 9438, section 4.6; 0.7 * 1024 = 716.8
        ("cubic", "c", "0.4", 410, "0.04 to 4"),       // section 5.1; 0.4 * 1024 = 409.6
        ("bic", "beta", "0.8", 819, "0.5 to 0.999"),   // 0.8 * 1024 = 819.2
        ("illinois", "alpha_max", "10", 1280, "1 to 100"), // 10 * 128; 0.3 * 128 = 38.4
        ("illinois", "alpha_min", "0.3", 38, "0.1 to 1"), // 13 / 128 = 0.102
        ("illinois", "beta_min", "0.125", 8, "0.02 to 0.5"), // 1/64 = 0.0156: 0.02 * 64 = 1.28
        ("africa", "alpha", "1.641", 1641, "1 to 100"),
        ("bbr", "cwnd_gain", "2", 512, "1 to 7.996"),
        ("htcp", "delta_l", "1s", 1_000_000, "100ms to 10s"),
        ("htcp", "rtt_ref", "100ms", 100_000, "1ms to 10s"),
        ("htcp", "delta_b", "20%", 20, "0 to 100%"),
        ("hybla", "rtt0", "25ms", 25_000, "1ms to 1s"),
        ("fast", "mode0_up", "12mbit", 1500, "8kbit to 32gbit"), // 1500 kB/s
        ("fast", "mi", "750us", 750, "0 to 10ms"),
        ("libra", "capacity", "100mbit", 100, "1mbit to 100gbit"),
        ("bbr", "policer_diff", "4kbit", 500, "0 to 8mbit"), // 500 bytes/s
        ("bbr", "min_rtt_window", "10s", 10, "1s to 3600s"),
        ("cdg", "backoff_factor", "42ppm", 42, "1ppm to 10000ppm"),
        ("lp", "delta", "15%", 15, "1% to 90%"),
        ("yeah", "alpha_pkts", "80", 80, "1 to 10000"),
    ] {
        let parameter = parameter(of, name);
        assert_eq!((parameter.default, parameter.format(parameter.default)), (integer, text.to_owned()), "{of} {name}");
        assert_eq!((parameter.parse(text), parameter.range()), (Ok(integer), range.to_owned()), "{of} {name}");
    }
}

/// A suffix that the value says is no part of a name; an old name is answered with the new one.
#[test]
fn no_name_repeats_what_its_values_say() {
    for algorithm in algorithms() {
        let parameters = algorithm.layout().parameters;
        let names: BTreeSet<&str> = parameters.iter().map(|parameter| parameter.name.as_str()).collect();
        assert_eq!(names.len(), parameters.len(), "{}: two parameters have one name", algorithm.name());
        for name in names {
            let last = name.rsplit('_').next().unwrap_or_default();
            let is_scale = last.strip_prefix('q').is_some_and(|bits| bits.parse::<u32>().is_ok());
            let known =
                ["us", "ms", "s", "pct", "ppm", "milli", "mbps"].contains(&last) || name.ends_with("bytes_per_s");
            assert!(!is_scale && !known, "{}: {name}", algorithm.name());
        }
        let mut set = ParameterSet::defaults(algorithm.name(), &parameters);
        for parameter in parameters.iter().filter(|parameter| parameter.member != parameter.name) {
            let error = set.set(&parameter.member, &parameter.maximum.to_string()).expect_err("it has another name");
            let expected = format!("{}={}", parameter.name, parameter.format(parameter.maximum));
            assert_eq!(error.remedy(), Some(expected.as_str()));
        }
    }
}

/// What TOML takes for numbers is what a command line takes.
#[test]
fn profiles_have_the_integers_of_their_sources() {
    let set = |profile: &str, of: &str| {
        let declared = algorithm(of).expect("it exists").layout().parameters;
        let mut set = ParameterSet::defaults(of, &declared);
        Profile::named(profile)
            .and_then(|profile| profile.apply(of, &mut set))
            .unwrap_or_else(|error| panic!("{error}"));
        set
    };
    assert_eq!(set("weigle2006", "bic").get("beta"), Some(896)); // 0.875 * 1024
    assert_eq!(set("cubic2005", "cubic").get("beta"), Some(819)); // BICTCP_BETA of Linux 2.6.22
    let illinois = set("linux", "illinois"); // ALPHA_MIN 3 / 10, ALPHA_MAX 10, BETA_MIN 64 / 8, BETA_MAX 64 / 2
    let values = ["alpha_min", "alpha_max", "beta_min", "beta_max"].map(|name| illinois.get(name));
    assert_eq!(values, [Some(38), Some(1280), Some(8), Some(32)]);
    let fast = set("even2006", "fast"); // m0u, m1l, m1u, m2l of Table II
    let values = ["mode0_up", "mode1_down", "mode1_up", "mode2_down"].map(|name| fast.get(name));
    assert_eq!(values, [Some(1500), Some(1250), Some(15_000), Some(12_500)]);
}
