// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a person asks of an experiment: the options of `plan`, the API's request, and a section of the file.

use clap::{ArgGroup, Args, ValueEnum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::metric::Metric;
use super::text::{Margin, Percent, Span};

/// Which connections change their algorithm at a block's start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Moves {
    /// All: live connections are migrated
    #[default]
    Live,
    /// Those that begin in the block
    New,
}

/// An experiment as it is asked for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema, Args)]
#[serde(default, deny_unknown_fields)]
#[group(skip)]
#[command(group(ArgGroup::new("scope").required(true).args(["cgroup", "unit", "whole_host"])))]
pub struct Design {
    /// Name of the experiment
    pub name: String,
    /// What runs now: an instance or built-in algorithm [default: what the scope gets now]
    #[arg(long, value_name = "NAME")]
    pub a: Option<String>,
    /// What might be better: an instance or built-in algorithm
    #[arg(long, value_name = "NAME")]
    pub b: String,
    /// The connections of this cgroup and all below it
    #[arg(long, value_name = "PATH|UNIT")]
    pub cgroup: Option<String>,
    /// The connections of this systemd unit
    #[arg(long)]
    pub unit: Option<String>,
    /// All connections of the host that no rule names
    #[arg(long)]
    pub whole_host: bool,
    /// Only connections with peers in this prefix
    #[arg(long, value_name = "CIDR", conflicts_with = "whole_host")]
    pub dst: Option<String>,
    /// Only this service port: remote port for outgoing connections, local port for accepted ones
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), conflicts_with = "whole_host")]
    pub port: Option<u16>,
    /// The one metric that decides
    #[arg(long, value_enum, default_value_t)]
    pub metric: Metric,
    /// The smallest change of it that matters [default: what a day can show]
    #[arg(long, value_name = "PERCENT")]
    pub effect: Option<Percent>,
    /// Length of a block [default: the one that shows the smallest effect per day]
    #[arg(long, value_name = "TIME")]
    pub block: Option<Span>,
    /// Time at a block's start that does not count [default: 60s, or a fifth of blocks shorter than 5m]
    #[arg(long, value_name = "TIME")]
    pub burn_in: Option<Span>,
    /// Pairs of blocks [default: as many as the effect needs]
    #[arg(long, value_name = "N")]
    pub pairs: Option<usize>,
    /// Refuse what needs longer [default: 14d]
    #[arg(long, value_name = "TIME")]
    pub within: Option<Span>,
    /// Standard deviation of a pair's difference, instead of that of the last day
    #[arg(long, value_name = "PERCENT")]
    pub spread: Option<Percent>,
    /// Which connections change at a block's start
    #[arg(long, value_enum, default_value_t)]
    pub moves: Moves,
    /// Share of the connections that has the other arm in each block: says what a split would have said
    #[arg(long, value_name = "PERCENT")]
    pub hold_out: Option<Percent>,
    /// End the experiment where a metric is worse by more than this: METRIC=PERCENT; may be repeated [default:
    /// `retransmits=100%`, `queueing_p95=100%`]
    #[arg(long = "guard-rail", value_name = "METRIC=PERCENT")]
    pub guard_rails: Vec<Margin>,
    /// Of the coins; hosts with the same name, seed and cluster switch together [default: drawn]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Hosts of one cluster share their coins
    #[arg(long, value_name = "WORD")]
    pub cluster: Option<String>,
    /// Accept arms that are the same: the experiment must then find no effect
    #[arg(long)]
    pub same_arms: bool,
}
