// SPDX-License-Identifier: GPL-2.0-only
//! Groups of flows.

use std::time::Duration;

use ccctl_catalog::{names, ParameterSet, Profile, ProfileError};
use ccctl_sim::{Application, BitRate, Probability, WebUser};
use toml::Spanned;

use super::super::file::{self, ApplicationKind, File};
use super::super::point_spec::{Group, Schedule};
use super::super::source_text::{did_you_mean, ScenarioError, SourceText};
use super::links::Way;
use super::{check_name, span_of, tcp, Keys};

/// At most so many flows in a group.
const MAX_FLOWS: u32 = 100_000;
/// Longer ways than any.
const LONGEST_DELAY: Duration = Duration::from_secs(3600);

pub(super) fn groups(
    source: &SourceText<'_>,
    file: &File,
    ways: &[Way],
    duration: Duration,
) -> Result<Vec<Group>, ScenarioError> {
    let mut groups: Vec<Group> = Vec::new();
    for flows in &file.flows {
        check_name(source, &flows.name, "group")?;
        if groups.iter().any(|known| known.name == *flows.name.get_ref()) {
            let cause = format!("a second group {:?}", flows.name.get_ref());
            return Err(source.wrong(&flows.name.span(), cause, "use another name"));
        }
        groups.push(group(source, file, flows, ways, duration)?);
    }
    if groups.iter().all(|group| group.schedule.is_empty()) {
        let span = file.flows.first().map_or(0..0, |flows| flows.name.span());
        return Err(source.wrong(
            &span,
            "the scenario has no flows",
            "add [[flows]] with name, algorithm and path, and a count above 0",
        ));
    }
    Ok(groups)
}

fn group(
    source: &SourceText<'_>,
    file: &File,
    flows: &file::Flows,
    ways: &[Way],
    duration: Duration,
) -> Result<Group, ScenarioError> {
    if flows.access_delay.0.max(flows.access_jitter.0) > LONGEST_DELAY {
        let cause = format!("access_delay or access_jitter of {} exceeds an hour", flows.name.get_ref());
        return Err(source.wrong(&flows.name.span(), cause, "use a shorter delay"));
    }
    let path = path(source, flows, ways)?;
    let one_way: Duration = path.iter().map(|link| ways[*link].delay).sum::<Duration>() + flows.access_delay.0;
    let base_rtt = one_way * 2;
    let mut spec = tcp::tcp(source, &flows.tcp, &file.tcp)?;
    let slowest_bits_per_s = path.iter().map(|link| ways[*link].rate.mean().as_bits_per_s()).min().unwrap_or_default();
    let packet_bytes = f64::from(u32::from(spec.mss_bytes) + u32::from(spec.header_bytes));
    let bdp_pkts = slowest_bits_per_s as f64 * base_rtt.as_secs_f64() / 8.0 / packet_bytes;
    tcp::windows(source, &mut spec, &flows.tcp, &file.tcp, bdp_pkts)?;
    Ok(Group {
        name: flows.name.get_ref().clone(),
        algorithm: flows.algorithm.get_ref().clone(),
        parameters: parameters(source, flows)?,
        schedule: schedule(source, flows, duration)?,
        start_spread: flows.start_spread.0,
        application: application(source, flows.application.as_ref())?,
        path,
        reverse: flows.reverse,
        access_delay: flows.access_delay.0,
        access_jitter: flows.access_jitter.0,
        tcp: spec,
        base_rtt,
    })
}

fn path(source: &SourceText<'_>, flows: &file::Flows, ways: &[Way]) -> Result<Vec<usize>, ScenarioError> {
    let mut path = Vec::new();
    for name in &flows.path {
        let Some(number) = ways.iter().position(|way| way.name == *name.get_ref()) else {
            let remedy = did_you_mean(name.get_ref(), ways.iter().map(|way| way.name.as_str()));
            return Err(source.wrong(&name.span(), format!("there is no link {:?}", name.get_ref()), remedy));
        };
        if path.contains(&number) {
            let cause = format!("the path crosses link {:?} twice", name.get_ref());
            return Err(source.wrong(&name.span(), cause, "name each link once"));
        }
        path.push(number);
    }
    if path.is_empty() {
        let cause = format!("the path of {} has no links", flows.name.get_ref());
        return Err(source.wrong(&flows.name.span(), cause, "path = [\"LINK\"]"));
    }
    Ok(path)
}

fn parameters(source: &SourceText<'_>, flows: &file::Flows) -> Result<ParameterSet, ScenarioError> {
    let name = flows.algorithm.get_ref();
    let Some(algorithm) = ccctl_catalog::algorithm(name) else {
        let remedy = did_you_mean(name, names());
        return Err(source.wrong(&flows.algorithm.span(), format!("there is no algorithm {name:?}"), remedy));
    };
    let mut set = ParameterSet::defaults(name, &super::super::layouts::layout(algorithm).parameters);
    if let Some(profiles) = &flows.profile {
        apply_first(source, profiles, name, &mut set)?;
    }
    for (key, value) in &flows.set {
        set.set(key.get_ref(), &value.get_ref().to_string()).map_err(|error| {
            let remedy = error.remedy().unwrap_or("ccctl show ALGORITHM --all lists parameters and ranges");
            source.wrong(&value.span(), error.to_string(), remedy)
        })?;
    }
    Ok(set)
}

/// The first profile of the list that has values for the algorithm.
fn apply_first(
    source: &SourceText<'_>,
    profiles: &Spanned<String>,
    algorithm: &str,
    set: &mut ParameterSet,
) -> Result<(), ScenarioError> {
    for name in profiles.get_ref().split('|').map(str::trim) {
        if name == "default" {
            return Ok(());
        }
        let applied = Profile::named(name).and_then(|profile| profile.apply(algorithm, set));
        match applied {
            Err(ProfileError::NotForAlgorithm { .. }) => {}
            Ok(()) => return Ok(()),
            Err(error) => return Err(source.wrong(&profiles.span(), error.to_string(), error.remedy())),
        }
    }
    let cause = format!("no profile of {:?} has values for {algorithm}", profiles.get_ref());
    Err(source.wrong(&profiles.span(), cause, format!("profile = \"{}|default\"", profiles.get_ref())))
}

fn schedule(source: &SourceText<'_>, flows: &file::Flows, duration: Duration) -> Result<Vec<Schedule>, ScenarioError> {
    let name = flows.name.get_ref();
    let count = *flows.count.get_ref();
    if count > MAX_FLOWS {
        let cause = format!("{name} has {count} flows");
        return Err(source.wrong(&flows.count.span(), cause, format!("up to {MAX_FLOWS}")));
    }
    let together = flows.together.as_ref().map_or(1, |together| *together.get_ref());
    if together == 0 {
        let span = span_of(flows.together.as_ref()).unwrap_or_default();
        return Err(source.wrong(&span, "with 0 flows at once no flow starts", "use together = 1"));
    }
    let start_span = span_of(flows.start.as_ref()).unwrap_or_else(|| flows.name.span());
    let first = flows.start.as_ref().map_or(Duration::ZERO, |start| start.get_ref().0);
    let mut schedule = Vec::new();
    for number in 0..count {
        let step = number / together;
        let start = first + flows.stagger.0 * step;
        if start + flows.start_spread.0 >= duration {
            let cause = format!(
                "flow {} of {name} begins at {:?}, but the run ends at {duration:?}",
                number + 1,
                start + flows.start_spread.0
            );
            return Err(source.wrong(&start_span, cause, "use an earlier start, less stagger, or a longer duration"));
        }
        let end = flows.stop.as_ref().map(|stop| stop.get_ref().0.saturating_sub(flows.stop_stagger.0 * step));
        if let Some(end) = end.filter(|end| *end <= start + flows.start_spread.0) {
            let span = span_of(flows.stop.as_ref()).unwrap_or_default();
            let cause = format!("flow {} of {name} ends at {end:?}, but begins at {start:?}", number + 1);
            return Err(source.wrong(&span, cause, "a later stop"));
        }
        schedule.push(Schedule { start, stop: end });
    }
    if flows.stop.is_none() && !flows.stop_stagger.0.is_zero() {
        let cause = format!("{name} has stop_stagger, but no stop");
        return Err(source.wrong(&flows.name.span(), cause, "add stop, the time at which the first flow ends"));
    }
    Ok(schedule)
}

fn application(
    source: &SourceText<'_>,
    application: Option<&Spanned<file::Application>>,
) -> Result<Application, ScenarioError> {
    let Some(spanned) = application else { return Ok(Application::Bulk) };
    let it = spanned.get_ref();
    let kind = *it.kind.get_ref();
    let what = match kind {
        ApplicationKind::Bulk => "a bulk application",
        ApplicationKind::Transfer => "a transfer",
        ApplicationKind::Limited => "a limited application",
        ApplicationKind::OnOff => "an on-off application",
        ApplicationKind::Web => "a web user",
        ApplicationKind::Short => "a user of short transfers",
    };
    let keys = Keys { source, what: what.to_owned(), span: spanned.span() };
    refuse_others(&keys, kind, it)?;
    Ok(match kind {
        ApplicationKind::Bulk => Application::Bulk,
        ApplicationKind::Transfer => match keys.need("size", it.size.as_ref())?.0 {
            0 => {
                return Err(source.wrong(
                    &span_of(it.size.as_ref()).unwrap_or_default(),
                    "a transfer of 0 bytes",
                    "size = \"10 MB\"",
                ))
            }
            bytes => Application::Transfer { bytes },
        },
        ApplicationKind::Limited => {
            Application::Limited { rate: BitRate::bits_per_s(keys.need("rate", it.rate.as_ref())?.0) }
        }
        ApplicationKind::OnOff => Application::OnOff {
            on: keys.need("on", it.on.as_ref())?.0,
            off: keys.need("off", it.off.as_ref())?.0,
            rate: BitRate::bits_per_s(keys.need("rate", it.rate.as_ref())?.0),
        },
        ApplicationKind::Web => Application::Web(web_user(it)),
        ApplicationKind::Short => Application::Short {
            mean_bytes: keys.need("size", it.size.as_ref())?.0,
            off: keys.need("off", it.off.as_ref())?.0,
        },
    })
}

fn refuse_others(keys: &Keys<'_>, kind: ApplicationKind, it: &file::Application) -> Result<(), ScenarioError> {
    if !matches!(kind, ApplicationKind::Transfer | ApplicationKind::Short) {
        keys.refuse(&[("size", span_of(it.size.as_ref()))])?;
    }
    if !matches!(kind, ApplicationKind::Limited | ApplicationKind::OnOff) {
        keys.refuse(&[("rate", span_of(it.rate.as_ref()))])?;
    }
    if kind != ApplicationKind::OnOff {
        keys.refuse(&[("on", span_of(it.on.as_ref()))])?;
    }
    if !matches!(kind, ApplicationKind::OnOff | ApplicationKind::Short) {
        keys.refuse(&[("off", span_of(it.off.as_ref()))])?;
    }
    if kind != ApplicationKind::Web {
        keys.refuse(&[
            ("max_size", span_of(it.max_size.as_ref())),
            ("max_off", span_of(it.max_off.as_ref())),
            ("body_median", span_of(it.body_median.as_ref())),
            ("tail", span_of(it.tail.as_ref())),
            ("tail_least", span_of(it.tail_least.as_ref())),
            ("min_off", span_of(it.min_off.as_ref())),
        ])?;
    }
    Ok(())
}

fn web_user(it: &file::Application) -> WebUser {
    let mut user = WebUser::default();
    let bytes = |value: &Option<Spanned<super::super::quantity::Bytes>>| value.as_ref().map(|bytes| bytes.get_ref().0);
    user.body_median_bytes = bytes(&it.body_median).unwrap_or(user.body_median_bytes);
    user.tail_least_bytes = bytes(&it.tail_least).unwrap_or(user.tail_least_bytes);
    user.max_bytes = bytes(&it.max_size).unwrap_or(user.max_bytes);
    if let Some(tail) = &it.tail {
        user.tail = Probability::per_billion((tail.get_ref().0 * 1e9).round() as u64);
    }
    user.inactive_off_least = it.min_off.as_ref().map_or(user.inactive_off_least, |time| time.get_ref().0);
    user.max_off = it.max_off.as_ref().map_or(user.max_off, |time| time.get_ref().0);
    user
}
