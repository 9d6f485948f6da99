// SPDX-License-Identifier: MIT OR Apache-2.0
//! Experiments whose truth is known: a service by the minute, with what real ones have and textbooks leave out.

use ccctl_inference::draws::Draws;
use ccctl_inference::{cross_checks, flips::SignFlips, guard_rail, planning, sequential, Refusal};

/// 5 % for effects.
pub const ALPHA: f64 = 0.05;
/// 1 % for guard-rails.
pub const GUARD_ALPHA: f64 = 0.01;

const MINUTES_PER_DAY: f64 = 1440.0;

/// What makes blocks differ without any treatment, in logarithms, and how an arm takes hold.
#[derive(Debug, Clone, Copy)]
pub struct Service {
    /// Growth per day.
    pub trend_per_day: f64,
    /// Amplitude of the daily curve.
    pub daily: f64,
    /// Deviation of the share of the load that long flows make, and how long these live.
    pub long_flows: f64,
    /// Mean life of a long flow.
    pub life_minutes: f64,
    /// Deviation of a minute's noise.
    pub noise: f64,
    /// Pareto index of bursts, which have no variance below 2; none: no bursts.
    pub bursts: Option<f64>,
    /// Mean time for which traffic of the arm before is still there.
    pub hold_minutes: f64,
}

/// Blocks and how much of each is thrown away.
pub const BLOCK_MINUTES: usize = 10;
/// The burn-in.
pub const BURN_IN_MINUTES: usize = 2;

impl Service {
    /// Trend, daily curve, flows that outlive blocks, and noise.
    pub const SMOOTH: Self = Self {
        trend_per_day: 0.3,
        daily: 0.5,
        long_flows: 0.1,
        life_minutes: 25.0,
        noise: 0.2,
        bursts: None,
        hold_minutes: 0.3,
    };
    /// The same with bursts.
    pub const BURSTY: Self = Self { bursts: Some(1.5), ..Self::SMOOTH };

    /// Values of blocks: the mean of their minutes after the burn-in, with `effect` in the treated ones.
    fn blocks(&self, treated: &[bool], effect: f64, draws: &mut Draws) -> Vec<f64> {
        let phase = draws.unit() * MINUTES_PER_DAY;
        let stays = (-1.0 / self.life_minutes).exp();
        let fades = (-1.0 / self.hold_minutes).exp();
        let (mut long_flows, mut exposure) = (self.long_flows * draws.normal(), f64::from(u8::from(treated[0])));
        let mut values = Vec::with_capacity(treated.len());
        for (block, arm) in treated.iter().enumerate() {
            let mut sum = 0.0;
            for minute in 0..BLOCK_MINUTES {
                long_flows = stays * long_flows + (1.0 - stays * stays).sqrt() * self.long_flows * draws.normal();
                exposure = fades * exposure + (1.0 - fades) * f64::from(u8::from(*arm));
                let days = (phase + (block * BLOCK_MINUTES + minute) as f64) / MINUTES_PER_DAY;
                let load = self.trend_per_day * days + self.daily * (std::f64::consts::TAU * days).sin();
                let burst = self.bursts.map_or(0.0, |index| 0.05 * (1.0 - draws.unit()).powf(-1.0 / index));
                if minute >= BURN_IN_MINUTES {
                    sum += load + long_flows + self.noise * draws.normal() + burst + effect * exposure;
                }
            }
            values.push(sum / (BLOCK_MINUTES - BURN_IN_MINUTES) as f64);
        }
        values
    }

    /// The differences of an experiment with its own coins.
    fn experiment(&self, pairs: usize, effect: f64, draws: &mut Draws) -> Vec<f64> {
        let mut treated = Vec::with_capacity(2 * pairs);
        draws.coins(pairs, |_, first| treated.extend([first, !first]));
        let values = self.blocks(&treated, effect, draws);
        let difference =
            |(pair, both): (usize, &[f64])| ccctl_inference::pairs::difference(both[0], both[1], treated[2 * pair]);
        values.chunks_exact(2).enumerate().map(difference).collect()
    }

    /// The spread that a plan measures, over this number of days without treatment.
    pub fn sigma(&self, days: usize, seed: u64) -> Result<f64, Refusal> {
        let blocks = days * MINUTES_PER_DAY as usize / BLOCK_MINUTES;
        planning::sigma(&self.blocks(&vec![false; blocks], 0.0, &mut Draws::new(seed)))
    }
}

/// How often something was found where nothing is.
#[derive(Debug, Clone, Copy, Default)]
pub struct FalseFindings {
    /// By the sign-flip test at the end.
    pub at_end: f64,
    /// By the confidence sequence, looked at after each pair.
    pub ever: f64,
    /// By the z-test, looked at after each pair from the sixth on.
    pub z_ever: f64,
    /// Harm, by a guard-rail whose metric is exactly at its margin.
    pub guard_ever: f64,
}

/// Experiments with two arms that are the same: `at_end` pairs for the test at the end, `looks` for the others.
pub fn false_findings(
    service: Service,
    experiments: usize,
    at_end: usize,
    looks: usize,
    seed: u64,
) -> Result<FalseFindings, Refusal> {
    let sigma = service.sigma(1, seed)?;
    let mut draws = Draws::new(seed);
    let mut found = FalseFindings::default();
    for _ in 0..experiments {
        let differences = service.experiment(at_end.max(looks), 0.0, &mut draws);
        let p = SignFlips::new(&differences[..at_end], draws.word())?.p_value(0.0);
        let (ever, guard_ever) = looked_at(&differences[..looks], sigma)?;
        let z_ever = z_rejects(&differences[..looks])?;
        found.at_end += f64::from(u8::from(p <= ALPHA));
        found.ever += f64::from(u8::from(ever));
        found.guard_ever += f64::from(u8::from(guard_ever));
        found.z_ever += f64::from(u8::from(z_ever));
    }
    let share = |count: f64| count / experiments as f64;
    Ok(FalseFindings {
        at_end: share(found.at_end),
        ever: share(found.ever),
        z_ever: share(found.z_ever),
        guard_ever: share(found.guard_ever),
    })
}

fn looked_at(differences: &[f64], sigma: f64) -> Result<(bool, bool), Refusal> {
    let mut sequence = sequential::ConfidenceSequence::new(sigma)?;
    let mut rail = guard_rail::GuardRail::new(guard_rail::Worse::Higher, sigma, sigma, GUARD_ALPHA)?;
    for difference in differences {
        sequence.push(*difference)?;
        rail.push(difference + sigma)?;
    }
    Ok((sequence.p_value() <= ALPHA, matches!(rail.finding(), guard_rail::GuardFinding::Harmful { .. })))
}

fn z_rejects(differences: &[f64]) -> Result<bool, Refusal> {
    for pairs in 6..=differences.len() {
        if cross_checks::z_test(&differences[..pairs], ALPHA)?.p <= ALPHA {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What a plan promised, and what came of it.
#[derive(Debug, Clone, Copy)]
pub struct Power {
    /// Pairs of the plan.
    pub pairs: usize,
    /// The power of these pairs at the end, which is more than the plan asked for.
    pub planned: f64,
    /// Share of experiments that found the effect.
    pub found: f64,
}

/// Plans an effect of `ratio` standard deviations, and carries out the experiments. The spread is that of 100 days:
/// what is tested is the formula, not luck with one day.
pub fn power(
    service: Service,
    experiments: usize,
    ratio: f64,
    demand: planning::Demand,
    seed: u64,
) -> Result<Power, Refusal> {
    let sigma = service.sigma(100, seed)?;
    let pairs = demand.pairs(ratio * sigma, sigma)?;
    let mut draws = Draws::new(seed);
    let mut found = 0;
    for _ in 0..experiments {
        let differences = service.experiment(pairs, ratio * sigma, &mut draws);
        let p = if demand.anytime {
            let mut sequence = sequential::ConfidenceSequence::new(sigma)?;
            differences.iter().try_for_each(|difference| sequence.push(*difference))?;
            sequence.p_value()
        } else {
            SignFlips::new(&differences, draws.word())?.p_value(0.0)
        };
        found += usize::from(p <= ALPHA);
    }
    let planned = planning::power_at_end(pairs, ratio, demand.alpha)?;
    Ok(Power { pairs, planned, found: found as f64 / experiments as f64 })
}
