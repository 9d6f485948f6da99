// SPDX-License-Identifier: GPL-2.0-only
//! Links: first their ways, which the groups need, then their queues, which need the groups.

use std::sync::Arc;
use std::time::Duration;

use ccctl_series::read_regular_text;
use ccctl_sim::{BitRate, Codel, DualPi2, Limit, LinkRate, LinkSpec, Loss, Queue, RateTrace, Red};
use toml::Spanned;

use super::super::file::{self, Back, File, LossKind, QueueKind};
use super::super::point_spec::{Group, Link};
use super::super::quantity::{Amount, Bytes, Share, Time};
use super::super::source_text::{ScenarioError, SourceText};
use super::super::TRACE_BYTES_MAX;
use super::{check_name, span_of, Context, Keys};

/// No way is longer, no queue larger.
const LONGEST_DELAY: Duration = Duration::from_secs(3600);
const LONGEST_TICK: Duration = Duration::from_secs(1);
const LARGEST_QUEUE_PKTS: f64 = 100_000_000.0;
const LARGEST_BURST_BYTES: u64 = 1_000_000_000;

/// Name, rate and delay.
pub(super) struct Way {
    pub(super) name: String,
    pub(super) rate: LinkRate,
    trace_file: Option<String>,
    pub(super) delay: Duration,
}

pub(super) fn ways(context: &Context<'_>, links: &[file::Link]) -> Result<Vec<Way>, ScenarioError> {
    let source = &context.source;
    let mut ways: Vec<Way> = Vec::new();
    for link in links {
        check_name(source, &link.name, "link")?;
        let name = link.name.get_ref().clone();
        if ways.iter().any(|known| known.name == name) {
            return Err(source.wrong(&link.name.span(), format!("two links are named {name:?}"), "use another name"));
        }
        if link.delay.0.max(link.jitter.0) > LONGEST_DELAY {
            return Err(source.wrong(
                &link.name.span(),
                format!("the delay of link {name:?} exceeds an hour"),
                "use a shorter delay",
            ));
        }
        ways.push(Way {
            rate: rate(context, link)?,
            trace_file: link.trace.as_ref().map(|file| file.get_ref().clone()),
            delay: link.delay.0,
            name,
        });
    }
    if ways.is_empty() {
        return Err(source.wrong(&(0..0), "the scenario has no links", "add [[link]] with name, rate and queue"));
    }
    Ok(ways)
}

fn rate(context: &Context<'_>, link: &file::Link) -> Result<LinkRate, ScenarioError> {
    let source = &context.source;
    match (&link.rate, &link.trace) {
        (Some(rate), None) => Ok(LinkRate::Constant(BitRate::bits_per_s(rate.get_ref().0))),
        (None, Some(trace)) => read_trace(context, trace),
        (Some(_), Some(trace)) => {
            Err(source.wrong(&trace.span(), "the link has both a rate and a trace", "remove one of them"))
        }
        (None, None) => {
            let cause = format!("link {:?} has no rate", link.name.get_ref());
            Err(source.wrong(&link.name.span(), cause, "add rate = \"100 Mbit/s\", or trace = \"FILE\""))
        }
    }
}

fn read_trace(context: &Context<'_>, name: &Spanned<String>) -> Result<LinkRate, ScenarioError> {
    let (source, file) = (&context.source, name.get_ref());
    let is_inside = std::path::Path::new(file).components().all(|part| matches!(part, std::path::Component::Normal(_)));
    if !is_inside {
        let cause = format!("{file:?} is not in the scenario's folder or below");
        return Err(source.wrong(&name.span(), cause, "write trace = \"traces/FILE\""));
    }
    let text = read_regular_text(&context.folder.join(file), TRACE_BYTES_MAX).map_err(|error| {
        source.wrong(&name.span(), format!("cannot read {file:?}: {error}"), "use a path relative to the scenario")
    })?;
    let trace = RateTrace::parse(&text).map_err(|error| {
        source.wrong(
            &name.span(),
            format!("{file:?}: {error}"),
            "write one time in milliseconds per line, as mahimahi does",
        )
    })?;
    Ok(LinkRate::Trace(Arc::new(trace)))
}

pub(super) fn links(
    source: &SourceText<'_>,
    file: &File,
    ways: &[Way],
    groups: &[Group],
) -> Result<Vec<Link>, ScenarioError> {
    let link = |(number, (link, way)): (usize, (&file::Link, &Way))| {
        let users: Vec<&Group> = groups.iter().filter(|group| group.path.contains(&number)).collect();
        let packet_bytes = users.first().map_or(1500, |group| group.packet_bytes());
        let rtt = bdp_rtt(source, link, users.first().copied())?;
        let bdp_pkts = way.rate.mean().as_bits_per_s() as f64 * rtt.as_secs_f64() / 8.0 / f64::from(packet_bytes);
        let has_data_back = users.iter().any(|group| group.reverse && !group.schedule.is_empty());
        Ok(Link {
            name: way.name.clone(),
            spec: LinkSpec {
                rate: way.rate.clone(),
                delay: way.delay,
                jitter: link.jitter.0,
                tick: tick(source, link)?,
                queue: QueueReader { source, queue: &link.queue, packet_bytes, bdp_pkts }.read()?,
                loss: loss(source, packet_bytes, link.loss.as_ref())?,
                reordering: None,
            },
            trace_file: way.trace_file.clone(),
            back_is_link: link.back == Back::Link || (link.back == Back::Auto && has_data_back),
            packet_bytes,
        })
    };
    let links = file.link.iter().zip(ways).enumerate().map(link).collect::<Result<Vec<Link>, ScenarioError>>()?;
    for (spec, group) in file.flows.iter().zip(groups).filter(|(_, group)| group.reverse) {
        if let Some(number) = group.path.iter().find(|number| !links[**number].back_is_link) {
            let cause = format!(
                "{} sends data back over link {:?}, whose reverse path is only a delay",
                group.name, links[*number].name
            );
            return Err(source.wrong(&spec.name.span(), cause, "use back = \"link\" or \"auto\""));
        }
    }
    Ok(links)
}

fn tick(source: &SourceText<'_>, link: &file::Link) -> Result<Duration, ScenarioError> {
    let Some(tick) = &link.tick else { return Ok(Duration::ZERO) };
    let kind = *link.queue.get_ref().kind.get_ref();
    if matches!(kind, QueueKind::Codel | QueueKind::DualPi2) {
        let what = if kind == QueueKind::Codel { "codel" } else { "dualpi2" };
        let cause = format!("link {:?} has ticks and a {what} queue", link.name.get_ref());
        return Err(source.wrong(&tick.span(), cause, "remove tick, or use another kind of queue"));
    }
    if tick.get_ref().0 > LONGEST_TICK {
        let cause = format!("the tick of link {:?} exceeds a second", link.name.get_ref());
        return Err(source.wrong(&tick.span(), cause, "use a shorter tick, such as \"1 ms\""));
    }
    Ok(tick.get_ref().0)
}

fn bdp_rtt(source: &SourceText<'_>, link: &file::Link, user: Option<&Group>) -> Result<Duration, ScenarioError> {
    if let Some(rtt) = &link.bdp_rtt {
        return Ok(rtt.get_ref().0);
    }
    let is_of_bdp = |amount: &Option<Spanned<Amount>>| {
        amount.as_ref().is_some_and(|amount| matches!(amount.get_ref(), Amount::OfBdp(_)))
    };
    let queue = link.queue.get_ref();
    let needs_it = matches!(queue.size.get_ref(), Amount::OfBdp(_))
        || [&queue.mark_above, &queue.min_threshold, &queue.max_threshold].into_iter().any(is_of_bdp);
    match user.map(|group| group.base_rtt) {
        Some(rtt) if !rtt.is_zero() || !needs_it => Ok(rtt),
        None if !needs_it => Ok(Duration::ZERO),
        _ => {
            let cause = format!(
                "link {:?}: a share of the BDP needs an RTT, but no group that crosses the link has one",
                link.name.get_ref()
            );
            Err(source.wrong(&queue.size.span(), cause, "add delays or bdp_rtt = \"100 ms\", or use a size in packets"))
        }
    }
}

struct QueueReader<'a> {
    source: &'a SourceText<'a>,
    queue: &'a Spanned<file::Queue>,
    packet_bytes: u32,
    bdp_pkts: f64,
}

impl QueueReader<'_> {
    fn read(&self) -> Result<Queue, ScenarioError> {
        let queue = self.queue.get_ref();
        let (kind, what) = match queue.kind.get_ref() {
            QueueKind::Droptail => (QueueKind::Droptail, "a droptail queue"),
            QueueKind::Threshold => (QueueKind::Threshold, "a threshold queue"),
            QueueKind::Step => (QueueKind::Step, "a step queue"),
            QueueKind::Red => (QueueKind::Red, "a red queue"),
            QueueKind::Codel => (QueueKind::Codel, "a codel queue"),
            QueueKind::DualPi2 => (QueueKind::DualPi2, "a dualpi2 queue"),
            QueueKind::Xcp => (QueueKind::Xcp, "an xcp queue"),
        };
        let keys = Keys { source: self.source, what: what.to_owned(), span: self.queue.span() };
        self.refuse_others(&keys, kind)?;
        match kind {
            QueueKind::Droptail => Ok(Queue::DropTail(self.limit()?)),
            QueueKind::Threshold => {
                keys.need("mark_above", queue.mark_above.as_ref())?;
                let mark_above_pkts = self.pkts(queue.mark_above.as_ref())?.unwrap_or_default();
                Ok(Queue::Threshold { mark_above_pkts, limit: self.limit()? })
            }
            QueueKind::Step => Ok(Queue::Step { mark_above: self.time(queue.step.as_ref(), 1)?, limit: self.limit()? }),
            QueueKind::Red => self.red(&keys),
            QueueKind::Codel => self.codel(),
            QueueKind::DualPi2 => self.dual_pi2(),
            QueueKind::Xcp => Ok(Queue::Xcp(self.limit()?)),
        }
    }

    fn refuse_others(&self, keys: &Keys<'_>, kind: QueueKind) -> Result<(), ScenarioError> {
        let queue = self.queue.get_ref();
        if kind != QueueKind::Threshold {
            keys.refuse(&[("mark_above", span_of(queue.mark_above.as_ref()))])?;
        }
        if kind != QueueKind::DualPi2 {
            keys.refuse(&[("coupling", span_of(queue.coupling.as_ref()))])?;
        }
        if !matches!(kind, QueueKind::Step | QueueKind::DualPi2) {
            keys.refuse(&[("step", span_of(queue.step.as_ref()))])?;
        }
        if kind != QueueKind::Red {
            keys.refuse(&[
                ("min_threshold", span_of(queue.min_threshold.as_ref())),
                ("max_threshold", span_of(queue.max_threshold.as_ref())),
                ("max_probability", span_of(queue.max_probability.as_ref())),
                ("weight_shift", span_of(queue.weight_shift.as_ref())),
                ("gentle", span_of(queue.gentle.as_ref())),
            ])?;
        }
        if !matches!(kind, QueueKind::Codel | QueueKind::DualPi2) {
            keys.refuse(&[("target", span_of(queue.target.as_ref())), ("interval", span_of(queue.interval.as_ref()))])?;
        }
        if !matches!(kind, QueueKind::Red | QueueKind::Codel) {
            keys.refuse(&[("ecn", span_of(queue.ecn.as_ref()))])?;
        }
        Ok(())
    }

    fn red(&self, keys: &Keys<'_>) -> Result<Queue, ScenarioError> {
        let queue = self.queue.get_ref();
        let max_span =
            keys.need("max_threshold", queue.max_threshold.as_ref()).map(|_| span_of(queue.max_threshold.as_ref()))?;
        keys.need("min_threshold", queue.min_threshold.as_ref())?;
        let min_threshold_pkts = self.pkts(queue.min_threshold.as_ref())?.unwrap_or_default();
        let max_threshold_pkts = self.pkts(queue.max_threshold.as_ref())?.unwrap_or_default();
        if min_threshold_pkts >= max_threshold_pkts {
            let cause = format!("min_threshold is {min_threshold_pkts} packets, max_threshold {max_threshold_pkts}");
            return Err(self.source.wrong(&max_span.unwrap_or_default(), cause, "use a larger max_threshold"));
        }
        let weight_shift = queue.weight_shift.as_ref().map_or(9, |shift| *shift.get_ref());
        if !(1..=30).contains(&weight_shift) {
            let span = span_of(queue.weight_shift.as_ref()).unwrap_or_default();
            return Err(self.source.wrong(&span, format!("weight_shift is {weight_shift}"), "1 to 30"));
        }
        Ok(Queue::Red(Red {
            min_threshold_pkts,
            max_threshold_pkts,
            max_probability: queue.max_probability.as_ref().map_or(Share(0.1), |share| *share.get_ref()).probability(),
            weight_shift,
            gentle: queue.gentle.as_ref().is_none_or(|gentle| *gentle.get_ref()),
            ecn: queue.ecn.as_ref().is_some_and(|ecn| *ecn.get_ref()),
            limit_pkts: self.limit_pkts()?,
        }))
    }

    fn codel(&self) -> Result<Queue, ScenarioError> {
        let queue = self.queue.get_ref();
        Ok(Queue::Codel(Codel {
            target: self.time(queue.target.as_ref(), 5)?,
            interval: self.time(queue.interval.as_ref(), 100)?,
            ecn: queue.ecn.as_ref().is_some_and(|ecn| *ecn.get_ref()),
            limit_pkts: self.limit_pkts()?,
        }))
    }

    fn dual_pi2(&self) -> Result<Queue, ScenarioError> {
        let queue = self.queue.get_ref();
        let default = DualPi2::default();
        let coupling = queue.coupling.as_ref().map_or(default.coupling, |coupling| *coupling.get_ref());
        if !(1..=16).contains(&coupling) {
            let span = span_of(queue.coupling.as_ref()).unwrap_or_default();
            return Err(self.source.wrong(&span, format!("coupling is {coupling}"), "1 to 16; the default is 2"));
        }
        Ok(Queue::DualPi2(DualPi2 {
            target: self.time(queue.target.as_ref(), 15)?,
            interval: self.time(queue.interval.as_ref(), 16)?,
            coupling,
            step: self.time(queue.step.as_ref(), 1)?,
            limit_pkts: self.limit_pkts()?,
            ..default
        }))
    }

    fn time(&self, time: Option<&Spanned<Time>>, default_ms: u64) -> Result<Duration, ScenarioError> {
        match time {
            None => Ok(Duration::from_millis(default_ms)),
            Some(time) if time.get_ref().0.is_zero() => {
                let remedy = format!("use more than 0; the default is {default_ms} ms");
                Err(self.source.wrong(&time.span(), "a time of 0", remedy))
            }
            Some(time) => Ok(time.get_ref().0),
        }
    }

    fn limit_pkts(&self) -> Result<u32, ScenarioError> {
        Ok(self.pkts(Some(&self.queue.get_ref().size))?.unwrap_or(1))
    }

    fn limit(&self) -> Result<Limit, ScenarioError> {
        let size = &self.queue.get_ref().size;
        match *size.get_ref() {
            Amount::Bytes(bytes) if bytes >= u64::from(self.packet_bytes) => Ok(Limit::Bytes(bytes)),
            Amount::Bytes(bytes) => {
                let cause =
                    format!("a queue of {bytes} bytes is too small for a packet of {} bytes", self.packet_bytes);
                Err(self.source.wrong(&size.span(), cause, "use a larger size"))
            }
            _ => self.limit_pkts().map(Limit::Packets),
        }
    }

    fn pkts(&self, amount: Option<&Spanned<Amount>>) -> Result<Option<u32>, ScenarioError> {
        let Some(amount) = amount else { return Ok(None) };
        let pkts = match *amount.get_ref() {
            Amount::Packets(pkts) => f64::from(pkts),
            Amount::Bytes(bytes) => bytes as f64 / f64::from(self.packet_bytes),
            Amount::OfBdp(share) => (self.bdp_pkts * share + 1e-6).max(1.0),
        };
        if (1.0..=LARGEST_QUEUE_PKTS).contains(&pkts) {
            return Ok(Some(pkts.floor() as u32));
        }
        let cause = format!("{pkts:.1} packets of {} bytes", self.packet_bytes);
        Err(self.source.wrong(&amount.span(), cause, "1 to 100 million packets"))
    }
}

fn loss(source: &SourceText<'_>, packet_bytes: u32, loss: Option<&Spanned<file::Loss>>) -> Result<Loss, ScenarioError> {
    let Some(spanned) = loss else { return Ok(Loss::None) };
    let loss = spanned.get_ref();
    let (kind, what) = match loss.kind.get_ref() {
        LossKind::None => (LossKind::None, "no loss"),
        LossKind::Bernoulli => (LossKind::Bernoulli, "bernoulli loss"),
        LossKind::GilbertElliott => (LossKind::GilbertElliott, "gilbert-elliott loss"),
        LossKind::Policer => (LossKind::Policer, "a policer"),
    };
    let keys = Keys { source, what: what.to_owned(), span: spanned.span() };
    if kind != LossKind::Bernoulli {
        keys.refuse(&[("probability", span_of(loss.probability.as_ref()))])?;
    }
    if kind != LossKind::GilbertElliott {
        keys.refuse(&[
            ("good_to_bad", span_of(loss.good_to_bad.as_ref())),
            ("bad_to_good", span_of(loss.bad_to_good.as_ref())),
            ("loss_in_good", span_of(loss.loss_in_good.as_ref())),
            ("loss_in_bad", span_of(loss.loss_in_bad.as_ref())),
        ])?;
    }
    if kind != LossKind::Policer {
        keys.refuse(&[("rate", span_of(loss.rate.as_ref())), ("burst", span_of(loss.burst.as_ref()))])?;
    }
    let share = |value: &Option<Spanned<Share>>, default: f64| {
        value.as_ref().map_or(Share(default), |value| *value.get_ref()).probability()
    };
    Ok(match kind {
        LossKind::None => Loss::None,
        LossKind::Bernoulli => match keys.need("probability", loss.probability.as_ref())? {
            share if share.0 > 0.0 => Loss::Bernoulli(share.probability()),
            _ => Loss::None,
        },
        LossKind::GilbertElliott => Loss::GilbertElliott {
            good_to_bad: keys.need("good_to_bad", loss.good_to_bad.as_ref())?.probability(),
            bad_to_good: keys.need("bad_to_good", loss.bad_to_good.as_ref())?.probability(),
            loss_in_good: share(&loss.loss_in_good, 0.0),
            loss_in_bad: share(&loss.loss_in_bad, 1.0),
        },
        LossKind::Policer => Loss::Policer {
            rate: BitRate::bits_per_s(keys.need("rate", loss.rate.as_ref())?.0),
            burst_bytes: burst_bytes(source, packet_bytes, &keys, loss.burst.as_ref())?,
        },
    })
}

/// A bucket that a whole packet fits into: nothing would ever pass a smaller one.
fn burst_bytes(
    source: &SourceText<'_>,
    packet_bytes: u32,
    keys: &Keys<'_>,
    burst: Option<&Spanned<Bytes>>,
) -> Result<u64, ScenarioError> {
    let burst_bytes = keys.need("burst", burst)?.0;
    if (u64::from(packet_bytes)..=LARGEST_BURST_BYTES).contains(&burst_bytes) {
        return Ok(burst_bytes);
    }
    let cause = format!("a burst of {burst_bytes} bytes, with packets of {packet_bytes}");
    let span = span_of(burst).unwrap_or_default();
    Err(source.wrong(&span, cause, "one packet to 1 GB"))
}
