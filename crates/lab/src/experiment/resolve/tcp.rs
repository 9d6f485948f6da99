// SPDX-License-Identifier: GPL-2.0-only
//! TCP's settings: those of a group over those of all.

use ccctl_catalog::kernel::CC_CWND_MAX_PKTS;
use ccctl_sim::TcpSpec;
use toml::Spanned;

use super::super::file::Tcp;
use super::super::quantity::{Amount, Bytes};
use super::super::source_text::{ScenarioError, SourceText};

/// Everything but amounts that depend on the path.
pub(super) fn tcp(source: &SourceText<'_>, own: &Tcp, all: &Tcp) -> Result<TcpSpec, ScenarioError> {
    let default = TcpSpec::default();
    let ack_every = match own.delayed_acks.or(all.delayed_acks) {
        Some(false) => 1,
        _ => default.ack_every_pkts,
    };
    let ack_every = match own.ack_every.as_ref().or(all.ack_every.as_ref()) {
        Some(count) if *count.get_ref() == 0 => {
            return Err(source.wrong(&count.span(), "the receiver would send no ACKs", "use ack_every = 2"));
        }
        Some(count) => *count.get_ref(),
        None => ack_every,
    };
    let mss = own.mss.as_ref().or(all.mss.as_ref());
    let header = own.header.as_ref().or(all.header.as_ref());
    let mss_bytes = bytes(source, mss, default.mss_bytes)?;
    let header_bytes = bytes(source, header, default.header_bytes)?;
    if mss_bytes.checked_add(header_bytes).is_none() {
        let span = mss.or(header).map_or(0..0, Spanned::span);
        return Err(source.wrong(&span, "mss and header together exceed 65535 bytes", "a smaller mss"));
    }
    let min_timeout = match own.min_rto.as_ref().or(all.min_rto.as_ref()) {
        None => default.min_timeout,
        Some(time) if time.get_ref().0.is_zero() || time.get_ref().0.as_secs() > 60 => {
            return Err(source.wrong(&time.span(), "min_rto is out of range", "use more than 0 and up to 60 s"));
        }
        Some(time) => time.get_ref().0,
    };
    let ack_delay = own.ack_delay.as_ref().or(all.ack_delay.as_ref());
    let sack = own.sack.or(all.sack).unwrap_or(default.sack);
    Ok(TcpSpec {
        mss_bytes,
        header_bytes,
        sack,
        fast_retransmit: fast_retransmit(source, own.fast_retransmit.as_ref().or(all.fast_retransmit.as_ref()), sack)?,
        ecn: own.ecn.or(all.ecn).unwrap_or(default.ecn),
        accurate_ecn: own.accurate_ecn.or(all.accurate_ecn).or(default.accurate_ecn),
        ect_1: own.ect_1.or(all.ect_1).unwrap_or(default.ect_1),
        time_stamps: own.time_stamps.or(all.time_stamps).unwrap_or(default.time_stamps),
        tail_loss_probe: own.tail_loss_probe.or(all.tail_loss_probe).unwrap_or(default.tail_loss_probe),
        slow_start_after_idle: own
            .slow_start_after_idle
            .or(all.slow_start_after_idle)
            .unwrap_or(default.slow_start_after_idle),
        min_timeout,
        ack_every_pkts: ack_every,
        ack_delay: ack_delay.map_or(default.ack_delay, |time| time.get_ref().0),
        quick_acks: own.quick_acks.or(all.quick_acks).unwrap_or(default.quick_acks),
        growing_window_pkts: own.growing_window.or(all.growing_window).unwrap_or(default.growing_window_pkts),
        pacing: own.pacing.or(all.pacing).unwrap_or(default.pacing),
        xcp: own.xcp.or(all.xcp).unwrap_or(default.xcp),
        ..default
    })
}

/// On, but where timeouts alone are asked for: SACK tells of losses by itself.
fn fast_retransmit(source: &SourceText<'_>, value: Option<&Spanned<bool>>, sack: bool) -> Result<bool, ScenarioError> {
    match value {
        Some(value) if !value.get_ref() && sack => {
            Err(source.wrong(&value.span(), "SACK tells of losses without duplicate ACKs", "use it with sack = false"))
        }
        value => Ok(value.is_none_or(|value| *value.get_ref())),
    }
}

fn bytes(source: &SourceText<'_>, value: Option<&Spanned<Bytes>>, default: u16) -> Result<u16, ScenarioError> {
    let Some(value) = value else { return Ok(default) };
    match u16::try_from(value.get_ref().0) {
        Ok(bytes) if bytes > 0 => Ok(bytes),
        _ => Err(source.wrong(&value.span(), "the size is out of range", "use 1 to 65535 bytes")),
    }
}

/// The windows, with what the path holds for "% BDP".
pub(super) fn windows(
    source: &SourceText<'_>,
    spec: &mut TcpSpec,
    own: &Tcp,
    all: &Tcp,
    bdp_pkts: f64,
) -> Result<(), ScenarioError> {
    let pkts = |amount: Option<&Spanned<Amount>>, least: u32| {
        amount.map(|amount| window(source, amount, spec.mss_bytes, bdp_pkts, least)).transpose()
    };
    let initial = pkts(own.initial_window.as_ref().or(all.initial_window.as_ref()), 1)?;
    let ssthresh = pkts(own.initial_ssthresh.as_ref().or(all.initial_ssthresh.as_ref()), 2)?;
    let max = pkts(own.max_window.as_ref().or(all.max_window.as_ref()), 1)?;
    spec.initial_window_pkts = initial.unwrap_or(spec.initial_window_pkts);
    spec.initial_ssthresh_pkts = ssthresh;
    spec.max_window_pkts = max.unwrap_or(spec.max_window_pkts);
    Ok(())
}

fn window(
    source: &SourceText<'_>,
    amount: &Spanned<Amount>,
    mss_bytes: u16,
    bdp_pkts: f64,
    least: u32,
) -> Result<u32, ScenarioError> {
    let pkts = match *amount.get_ref() {
        Amount::Packets(pkts) => f64::from(pkts),
        Amount::Bytes(bytes) => bytes as f64 / f64::from(mss_bytes),
        Amount::OfBdp(share) => (bdp_pkts * share + 1e-6).max(f64::from(least)),
    };
    let pkts = pkts.floor();
    if (f64::from(least)..=f64::from(CC_CWND_MAX_PKTS)).contains(&pkts) {
        return Ok(pkts as u32);
    }
    let cause = format!("a window of {pkts} packets");
    Err(source.wrong(&amount.span(), cause, format!("{least} to {CC_CWND_MAX_PKTS} packets")))
}
