// SPDX-License-Identifier: MIT OR Apache-2.0
//! A frozen plan: everything that decides what an experiment does and how it is read. Its file is never changed, and its
//! hash is the SHA-256 of that file.

use std::time::Duration;

use ccctl_inference::schedule::{Arm, Schedule};
use ccctl_inference::Refusal;
use ccctl_loader::{CgroupPath, Conditions, Selector};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::design::{Design, Moves};
use super::lines;
use super::metric::Metric;

/// Format of the plan's file and of blocks.
pub const FORMAT: u32 = 1;

/// Chance of an interval to miss the effect.
pub const ALPHA: f64 = 0.05;
/// Chance to end a harmless experiment by one of its guard-rails.
pub const GUARD_RAIL_ALPHA: f64 = 0.01;

/// Sum of the weights of a rule with a hold-out.
const WEIGHTS: u32 = 100_000;

/// A plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// Format of this file.
    pub plan_format: u32,
    /// Name of the experiment.
    pub name: String,
    /// Kernel name of arm A, the control.
    pub arm_a: String,
    /// Kernel name of arm B, the treatment.
    pub arm_b: String,
    /// As people call the scope.
    pub scope: String,
    /// Path of the cgroup whose connections take part.
    pub cgroup: String,
    /// Prefix of the peers of those connections; null: any.
    pub dst: Option<String>,
    /// Port of the service; null: any.
    pub port: Option<u16>,
    /// The metric that decides.
    pub metric: Metric,
    /// Length of a block, ms.
    pub block_ms: u64,
    /// Time at a block's start that does not count, ms.
    pub burn_in_ms: u64,
    /// Pairs of blocks after which the experiment is complete.
    pub wanted_pairs: usize,
    /// Which connections change at a block's start.
    pub moves: Moves,
    /// Share of the connections that has the other arm in each block, %; null: none has.
    pub hold_out_pct: Option<f64>,
    /// Key of the coins.
    pub coin_seed: u64,
    /// Hosts of one cluster share their coins.
    pub cluster: String,
    /// Standard deviation of a pair's difference, as a difference of logarithms.
    pub sigma: f64,
    /// Where the standard deviation is from.
    pub sigma_origin: String,
    /// The effect that the experiment finds with `power`, as a difference of logarithms.
    pub detectable: f64,
    /// Chance to find it.
    pub power: f64,
    /// Metrics that must not get worse.
    pub guard_rail_plans: Vec<GuardRailPlan>,
    /// Coins drawn again over the time before: sequences, and those for which the test found an effect.
    pub redrawn: Option<(usize, usize)>,
    /// As it was asked for, as JSON.
    pub asked: String,
}

/// A metric that must not get worse.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GuardRailPlan {
    /// The metric.
    pub metric: Metric,
    /// By how much at most, as a difference of logarithms.
    pub margin: f64,
    /// Standard deviation of a pair's difference, as a difference of logarithms.
    pub sigma: f64,
}

impl Plan {
    /// The text of its file.
    pub fn text(&self) -> serde_json::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// As it was asked for.
    pub fn design(&self) -> serde_json::Result<Design> {
        serde_json::from_str(&self.asked)
    }

    /// The hash of its file.
    pub fn hash(&self) -> serde_json::Result<String> {
        Ok(lines::hash(self.text()?.as_bytes()))
    }

    /// Length of a block.
    #[must_use]
    pub fn block(&self) -> Duration {
        Duration::from_millis(self.block_ms)
    }

    /// Time at its start that does not count.
    #[must_use]
    pub fn burn_in(&self) -> Duration {
        Duration::from_millis(self.burn_in_ms)
    }

    /// Its coins.
    pub fn schedule(&self) -> Result<Schedule, Refusal> {
        let seed = self.coin_seed.to_string();
        Schedule::new(seed.as_bytes(), &self.name, &self.cluster, self.block(), self.burn_in())
    }

    /// Kernel name of an arm.
    #[must_use]
    pub fn algorithm(&self, arm: Arm) -> &str {
        match arm {
            Arm::Control => &self.arm_a,
            Arm::Treated => &self.arm_b,
        }
    }

    /// Whose connections take part.
    pub fn selector(&self) -> ccctl_loader::Result<Selector> {
        let to = self.dst.as_deref().map(str::parse).transpose()?;
        let cgroup = CgroupPath::parse(&self.cgroup)?;
        Ok(Selector { cgroup, to, to_port: self.port, conditions: Conditions::default() })
    }

    /// Does it have connections in common with these?
    pub fn overlaps(&self, other: &Selector) -> ccctl_loader::Result<bool> {
        let own = self.selector()?;
        let cgroups = own.cgroup.covers(&other.cgroup) || other.cgroup.covers(&own.cgroup);
        let peers = own.to.zip(other.to).is_none_or(|(own, other)| own.overlaps(&other));
        let ports = own.to_port.zip(other.to_port).is_none_or(|(own, other)| own == other);
        Ok(cgroups && peers && ports)
    }

    /// The arm that is compared with this one.
    #[must_use]
    pub fn other_arm(arm: Arm) -> Arm {
        match arm {
            Arm::Control => Arm::Treated,
            Arm::Treated => Arm::Control,
        }
    }

    /// Weights of a block's arm and of the other one, as a rule has them; None without a hold-out.
    #[must_use]
    pub fn weights(&self) -> Option<[u32; 2]> {
        let held_out = (self.hold_out_pct? * f64::from(WEIGHTS) / 100.0).round() as u32;
        Some([WEIGHTS - held_out, held_out])
    }

    /// Share of the connections that has the other arm in each block.
    #[must_use]
    pub fn hold_out(&self) -> Option<f64> {
        self.weights().map(|[_, held_out]| f64::from(held_out) / f64::from(WEIGHTS))
    }

    /// How long it takes.
    #[must_use]
    pub fn duration(&self) -> Duration {
        self.block() * 2 * u32::try_from(self.wanted_pairs).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A plan with blocks of 20 s.
    pub(crate) fn plan() -> Plan {
        Plan {
            plan_format: FORMAT,
            name: "web".to_owned(),
            arm_a: "cubic".to_owned(),
            arm_b: "bbr".to_owned(),
            scope: "nginx.service".to_owned(),
            cgroup: "/system.slice/nginx.service".to_owned(),
            dst: None,
            port: None,
            metric: Metric::Goodput,
            block_ms: 20_000,
            burn_in_ms: 4000,
            wanted_pairs: 8,
            moves: Moves::Live,
            hold_out_pct: None,
            coin_seed: 7,
            cluster: String::new(),
            sigma: 0.1,
            sigma_origin: "as given".to_owned(),
            detectable: 0.1,
            power: 0.8,
            guard_rail_plans: vec![GuardRailPlan { metric: Metric::Retransmits, margin: 0.5, sigma: 0.1 }],
            redrawn: None,
            asked: "{}".to_owned(),
        }
    }

    #[test]
    fn the_hash_is_that_of_the_text_and_every_field_changes_it() {
        let hash = plan().hash().expect("it has one");
        assert_eq!(hash, lines::hash(plan().text().expect("it has one").as_bytes()));
        let read: Plan = serde_json::from_str(&plan().text().expect("it has one")).expect("it is read");
        assert_eq!(read.hash().expect("it has one"), hash, "a plan that was read has the hash of its file");
        let Ok(serde_json::Value::Object(fields)) = serde_json::to_value(plan()) else { panic!("an object") };
        for key in fields.keys() {
            let mut changed = fields.clone();
            changed.insert(key.clone(), serde_json::Value::Null);
            let text = serde_json::to_string_pretty(&changed).expect("it has one") + "\n";
            if fields[key] != serde_json::Value::Null {
                assert_ne!(lines::hash(text.as_bytes()), hash, "{key}");
            }
        }
    }

    #[test]
    fn scopes_overlap_where_one_is_in_the_other() {
        let own = Plan { dst: Some("10.1.0.0/16".to_owned()), port: Some(443), ..plan() };
        let selector = |path: &str, to: Option<&str>, to_port| Selector {
            cgroup: CgroupPath::parse(path).expect("a path"),
            to: to.map(|to| to.parse().expect("a prefix")),
            to_port,
            conditions: Conditions::default(),
        };
        for (path, to, port, overlaps) in [
            ("/system.slice", None, None, true),
            ("/system.slice/nginx.service/worker", None, None, true),
            ("/", None, None, true),
            ("/system.slice/other.service", None, None, false),
            ("/user.slice", None, None, false),
            ("/", Some("10.0.0.0/8"), Some(443), true),
            ("/", Some("10.1.2.0/24"), None, true),
            ("/", Some("10.2.0.0/16"), None, false),
            ("/", Some("::/0"), None, false),
            ("/", None, Some(443), true),
            ("/", None, Some(80), false),
        ] {
            assert_eq!(
                own.overlaps(&selector(path, to, port)).expect("it is known"),
                overlaps,
                "{path} {to:?} {port:?}"
            );
        }
        assert!(plan().overlaps(&selector("/", Some("::/0"), Some(80))).expect("it is known"), "any peer, any port");
    }

    #[test]
    fn a_hold_out_has_the_weight_of_its_share() {
        let weights = |hold_out_pct| Plan { hold_out_pct, ..plan() }.weights();
        assert_eq!(
            [weights(None), weights(Some(5.0)), weights(Some(12.5))],
            [None, Some([95_000, 5000]), Some([87_500, 12_500])]
        );
    }
}
