// SPDX-License-Identifier: GPL-2.0-only
//! A scenario file: types only, each value with its place for messages. `docs/reference/scenarios.md` describes every key.

use std::collections::BTreeMap;

use ccctl_catalog::Setting;
use serde::Deserialize;
use toml::Spanned;

use super::quantity::{Amount, Bytes, Rate, Share, Time};

/// The whole file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// One line: what is compared.
    pub title: String,
    /// Paper and figure, table or section that it follows.
    #[serde(default)]
    pub source: String,
    /// What differs from the source and why; shown on pages.
    #[serde(default)]
    pub notes: String,
    /// Links, forward direction.
    pub link: Vec<Link>,
    /// TCP's settings for all groups.
    #[serde(default)]
    pub tcp: Tcp,
    /// Groups of flows.
    pub flows: Vec<Flows>,
    /// Length, window of averages, repeats.
    pub run: Run,
    /// The noise that the paper's testbed had.
    pub testbed: Option<Testbed>,
    /// Axes of the sweep.
    #[serde(default)]
    pub sweep: Vec<Axis>,
    /// What is measured beyond the standard set.
    #[serde(default)]
    pub measures: Measures,
    /// The paper's values.
    #[serde(default)]
    pub paper: Vec<PaperValue>,
    /// What the results must show.
    #[serde(default)]
    pub statement: Vec<Claim>,
}

/// `[[link]]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// How paths and measures call it.
    pub name: Spanned<String>,
    /// Constant rate,
    pub rate: Option<Spanned<Rate>>,
    /// or a file in mahimahi's format, relative to the scenario's.
    pub trace: Option<Spanned<String>>,
    /// Propagation delay, one way.
    #[serde(default)]
    pub delay: Time,
    /// Up to so much more for each packet, without reordering.
    #[serde(default)]
    pub jitter: Time,
    /// Packets leave at multiples of this only.
    pub tick: Option<Spanned<Time>>,
    /// Where packets wait.
    pub queue: Spanned<Queue>,
    /// Packets lost on the link.
    pub loss: Option<Spanned<Loss>>,
    /// The RTT of the link's BDP; the base RTT of the first group that crosses the link otherwise.
    pub bdp_rtt: Option<Spanned<Time>>,
    /// How the way back is made.
    #[serde(default)]
    pub back: Back,
}

/// The way back over a link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Back {
    /// A link of its own where a group sends data that way, else a delay.
    #[default]
    Auto,
    /// The delay, nothing else.
    Delay,
    /// A link of the same rate, delay and queue.
    Link,
}

/// `queue` of a link; which keys belong to which kind is checked later.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Queue {
    /// Discipline.
    pub kind: Spanned<QueueKind>,
    /// What fits.
    pub size: Spanned<Amount>,
    /// Threshold: marks above this.
    pub mark_above: Option<Spanned<Amount>>,
    /// Step marker and `DualPI2`: marks packets of scalable senders that wait longer.
    pub step: Option<Spanned<Time>>,
    /// RED: lower threshold,
    pub min_threshold: Option<Spanned<Amount>>,
    /// upper threshold,
    pub max_threshold: Option<Spanned<Amount>>,
    /// probability there,
    pub max_probability: Option<Spanned<Share>>,
    /// weight of the average 2^-shift,
    pub weight_shift: Option<Spanned<u32>>,
    /// rising to 1 beyond the upper threshold.
    pub gentle: Option<Spanned<bool>>,
    /// `DualPI2`: coupling factor.
    pub coupling: Option<Spanned<u32>>,
    /// `CoDel`: delay that may stand; `DualPI2`: delay that the classic queue is held at,
    pub target: Option<Spanned<Time>>,
    /// and for how long; time between two updates.
    pub interval: Option<Spanned<Time>>,
    /// RED and `CoDel`: mark instead of dropping.
    pub ecn: Option<Spanned<bool>>,
}

/// Queue disciplines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum QueueKind {
    /// Drops what does not fit.
    Droptail,
    /// Marks above a threshold.
    Threshold,
    /// Marks packets of scalable senders above a time in the queue.
    Step,
    /// Random early detection.
    Red,
    /// Controlled delay.
    Codel,
    /// Dual queue for scalable and classic senders.
    DualPi2,
    /// XCP's router.
    Xcp,
}

/// `loss` of a link.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Loss {
    /// Law.
    pub kind: Spanned<LossKind>,
    /// Bernoulli: of each packet.
    pub probability: Option<Spanned<Share>>,
    /// Gilbert-Elliott: after a packet, from good to bad,
    pub good_to_bad: Option<Spanned<Share>>,
    /// and back.
    pub bad_to_good: Option<Spanned<Share>>,
    /// Of a packet in the good state,
    pub loss_in_good: Option<Spanned<Share>>,
    /// and in the bad one.
    pub loss_in_bad: Option<Spanned<Share>>,
    /// Policer: what passes in the long run,
    pub rate: Option<Spanned<Rate>>,
    /// and beyond it after a pause.
    pub burst: Option<Spanned<Bytes>>,
}

/// Laws of loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LossKind {
    /// None.
    None,
    /// Each packet alike.
    Bernoulli,
    /// Two states.
    GilbertElliott,
    /// A token bucket.
    Policer,
}

/// `[[flows]]`: a group of alike flows.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flows {
    /// How measures call it.
    pub name: Spanned<String>,
    /// Name of the catalogue.
    pub algorithm: Spanned<String>,
    /// Profiles, the first that has this algorithm: `"weigle2006|default"`.
    pub profile: Option<Spanned<String>>,
    /// Single parameters; they count more than the profile.
    #[serde(default)]
    pub set: BTreeMap<Spanned<String>, Spanned<Setting>>,
    /// How many; 0: the group is left out.
    #[serde(default = "one")]
    pub count: Spanned<u32>,
    /// When the first begins.
    #[serde(default)]
    pub start: Option<Spanned<Time>>,
    /// How much later each further one begins.
    #[serde(default)]
    pub stagger: Time,
    /// So many begin (and stop) together.
    pub together: Option<Spanned<u32>>,
    /// Each begins up to so much later, by the seed.
    #[serde(default)]
    pub start_spread: Time,
    /// When they end; the run's end otherwise.
    pub stop: Option<Spanned<Time>>,
    /// How much earlier each further one ends.
    #[serde(default)]
    pub stop_stagger: Time,
    /// What is sent.
    pub application: Option<Spanned<Application>>,
    /// Links, in the order in which data crosses them.
    pub path: Vec<Spanned<String>>,
    /// Data goes against the links' direction.
    #[serde(default)]
    pub reverse: bool,
    /// What the path has beyond the links' delays, one way.
    #[serde(default)]
    pub access_delay: Time,
    /// Up to so much more for each ACK, in order.
    #[serde(default)]
    pub access_jitter: Time,
    /// TCP's settings of this group.
    #[serde(default)]
    pub tcp: Tcp,
}

fn one() -> Spanned<u32> {
    Spanned::new(0..0, 1)
}

/// `application` of a group.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Application {
    /// Pattern.
    pub kind: Spanned<ApplicationKind>,
    /// Transfer: its length; short: their mean length.
    pub size: Option<Spanned<Bytes>>,
    /// Limited, on-off: rate of writing.
    pub rate: Option<Spanned<Rate>>,
    /// On-off: mean time of writing,
    pub on: Option<Spanned<Time>>,
    /// and mean pause, of short transfers too.
    pub off: Option<Spanned<Time>>,
    /// Web: objects are no larger,
    pub max_size: Option<Spanned<Bytes>>,
    /// pauses no longer,
    pub max_off: Option<Spanned<Time>>,
    /// median of the body of sizes,
    pub body_median: Option<Spanned<Bytes>>,
    /// share of sizes that are of the tail,
    pub tail: Option<Spanned<Share>>,
    /// least size of the tail,
    pub tail_least: Option<Spanned<Bytes>>,
    /// shortest pause between pages.
    pub min_off: Option<Spanned<Time>>,
}

/// Patterns of applications.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApplicationKind {
    /// As much as possible.
    Bulk,
    /// One transfer.
    Transfer,
    /// Evenly at a rate.
    Limited,
    /// On and off.
    OnOff,
    /// Users of the web.
    Web,
    /// Short transfers with random pauses.
    Short,
}

/// `[tcp]`, and `tcp` of a group, which counts more.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tcp {
    /// Data of a packet.
    pub mss: Option<Spanned<Bytes>>,
    /// Headers of a packet, and size of an ACK.
    pub header: Option<Spanned<Bytes>>,
    /// First window.
    pub initial_window: Option<Spanned<Amount>>,
    /// First slow start threshold; infinite otherwise.
    pub initial_ssthresh: Option<Spanned<Amount>>,
    /// Receiver's window.
    pub max_window: Option<Spanned<Amount>>,
    /// Selective acknowledgements.
    pub sack: Option<bool>,
    /// Without SACK: duplicate ACKs tell of a loss; false: a timeout alone does.
    pub fast_retransmit: Option<Spanned<bool>>,
    /// Explicit congestion notification.
    pub ecn: Option<bool>,
    /// Accurate ECN; where the algorithm needs it otherwise.
    pub accurate_ecn: Option<bool>,
    /// Data carries ECT(1).
    pub ect_1: Option<bool>,
    /// Time stamps.
    pub time_stamps: Option<bool>,
    /// RFC 8985 section 7.
    pub tail_loss_probe: Option<bool>,
    /// RFC 5681 section 4.1.
    pub slow_start_after_idle: Option<bool>,
    /// Least retransmission timeout.
    pub min_rto: Option<Spanned<Time>>,
    /// An ACK for every second packet; false: for each.
    pub delayed_acks: Option<bool>,
    /// An ACK for so many packets.
    pub ack_every: Option<Spanned<u16>>,
    /// Longest wait of a delayed ACK.
    pub ack_delay: Option<Spanned<Time>>,
    /// The first packets are acknowledged one by one.
    pub quick_acks: Option<u16>,
    /// The receiver's window grows over the first packets, and each is acknowledged.
    pub growing_window: Option<u32>,
    /// Pacing.
    pub pacing: Option<bool>,
    /// XCP's header, and its window.
    pub xcp: Option<bool>,
}

/// `[testbed]`: what the paper's testbed had beyond the scenario, by its own documents.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Testbed {
    /// Values by their paths, as `--set` takes them; none: as the scenario.
    #[serde(default)]
    pub set: BTreeMap<String, toml::Value>,
    /// The documents that give them, or why there are none.
    pub source: String,
}

/// `[run]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Length.
    pub duration: Spanned<Time>,
    /// Averages begin here,
    pub warm_up: Option<Spanned<Time>>,
    /// or are taken from and to here.
    pub window: Option<Spanned<[Spanned<Time>; 2]>>,
    /// How often each point is run.
    #[serde(default = "one")]
    pub repeats: Spanned<u32>,
    /// Where all randomness comes from.
    #[serde(default = "seed")]
    pub seed: u64,
    /// Between two rows of a time series.
    pub sample_interval: Option<Spanned<Time>>,
    /// Windows for `sigma_f` over time, `xi_f`, smoothness and convergence.
    pub rate_interval: Option<Spanned<Time>>,
    /// Times at which the network stands still, for how long, and how much of that it makes up for at once.
    #[serde(default)]
    pub stalls: Vec<Spanned<[Time; 3]>>,
    /// Places of the sweep that are run; all otherwise.
    #[serde(default)]
    pub only: Vec<Spanned<Selection>>,
    /// Places that are not.
    #[serde(default)]
    pub exclude: Vec<Spanned<Selection>>,
}

fn seed() -> u64 {
    1
}

/// `[[sweep]]`: an axis. The points are the cross product of all axes.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// How places call it.
    pub name: Spanned<String>,
    /// Its values, each once; also their names.
    pub values: Spanned<Vec<Spanned<Word>>>,
    /// Paths that get the value itself.
    #[serde(default)]
    pub set: Vec<Spanned<String>>,
    /// Paths that get one of these, each list as long as `values`.
    #[serde(default)]
    pub with: BTreeMap<Spanned<String>, Spanned<Vec<Spanned<toml::Value>>>>,
    /// Unit for the axis of a figure, where the values are numbers without one.
    #[serde(default)]
    pub unit: String,
    /// A figure over this axis is logarithmic.
    #[serde(default)]
    pub logarithmic: bool,
}

/// A value of an axis: text, number or truth.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Word {
    /// yes or no
    Truth(bool),
    /// 8
    Integer(i64),
    /// 1e-7
    Float(f64),
    /// "16 ms"
    Text(String),
}

impl std::fmt::Display for Word {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Truth(value) => write!(formatter, "{value}"),
            Self::Integer(value) => write!(formatter, "{value}"),
            Self::Float(value) => write!(formatter, "{value:?}"),
            Self::Text(value) => formatter.write_str(value),
        }
    }
}

/// Places of the sweep: for some axes one value or several; an axis that is not named: all of them.
pub type Selection = BTreeMap<Spanned<String>, Spanned<Choice>>;

/// Values of an axis.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Choice {
    /// One.
    One(Word),
    /// Several.
    Several(Vec<Word>),
}

impl Choice {
    /// All of them.
    #[must_use]
    pub fn words(&self) -> &[Word] {
        match self {
            Self::One(word) => std::slice::from_ref(word),
            Self::Several(words) => words,
        }
    }
}

/// `[measures]`
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Measures {
    /// What pages show, such as `"goodput:reno"`.
    pub wanted: Vec<Spanned<String>>,
    /// Those of them that the source has figures of.
    pub figures: Vec<Spanned<String>>,
    /// Where in the sweep the runs are that `impact` and `fair_to_reno` compare with.
    pub baseline: Option<Spanned<Selection>>,
}

/// `[[paper]]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PaperValue {
    /// Measure.
    pub measure: Spanned<String>,
    /// Place in the sweep: exactly one point.
    #[serde(default = "everywhere")]
    pub at: Spanned<Selection>,
    /// The value.
    pub value: f64,
    /// Its unit, one that can be converted to the measure's.
    pub unit: Spanned<String>,
    /// Standard error in the same unit.
    pub error: Option<f64>,
    /// "Table 5"
    #[serde(rename = "where")]
    pub stands: String,
}

fn everywhere() -> Spanned<Selection> {
    Spanned::new(0..0, Selection::new())
}

/// `[[statement]]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Unique over all scenarios: "S4-W4".
    pub id: Spanned<String>,
    /// The statement, in words.
    pub text: String,
    /// Section, figure or table.
    #[serde(rename = "where", default)]
    pub stands: String,
    /// Its form that can be checked; all must hold,
    pub check: Spanned<Vec<Spanned<Check>>>,
    /// or at least so many.
    pub at_least: Option<Spanned<usize>>,
}

/// One check; which keys belong together is checked later.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// Measure on the left.
    pub measure: Option<Spanned<String>>,
    /// Where; all points otherwise.
    #[serde(default = "everywhere")]
    pub at: Spanned<Selection>,
    /// `<`, `<=`, `>`, `>=` or `=`.
    pub is: Option<Spanned<Relation>>,
    /// A number on the right,
    pub value: Option<Spanned<f64>>,
    /// or a measure on the right; without: the same measure, where `than_at` is given.
    pub than: Option<Spanned<String>>,
    /// The right's place: the left's, with these axes changed.
    pub than_at: Option<Spanned<Selection>>,
    /// The right side times this.
    pub times: Option<Spanned<f64>>,
    /// For `=`: relative difference that is let pass.
    pub within: Option<Spanned<Share>>,
    /// For `=`: difference that is let pass, in standard errors of the difference.
    pub within_errors: Option<Spanned<f64>>,
    /// The value lies from here to here.
    pub between: Option<Spanned<[f64; 2]>>,
    /// Over an axis or a list of measures: `ascending` or `descending`, strictly.
    pub order: Option<Spanned<Order>>,
    /// Measures that are in this order.
    #[serde(default)]
    pub measures: Vec<Spanned<String>>,
    /// Over an axis, in the order of its values: never so and so, but for `slack`.
    pub monotone: Option<Spanned<Monotone>>,
    /// The axis of `order` and `monotone`.
    pub over: Option<Spanned<String>>,
    /// Values of that axis, in the order that is stated.
    #[serde(default)]
    pub along: Vec<Spanned<Word>>,
    /// Relative step in the wrong direction that is let pass.
    pub slack: Option<Spanned<Share>>,
    /// Absolute values on both sides.
    #[serde(default)]
    pub abs: bool,
    /// It holds at least at so many of the places; at all otherwise.
    pub at_least: Option<Spanned<usize>>,
}

/// Relations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Relation {
    /// Less.
    #[serde(rename = "<")]
    Less,
    /// At most.
    #[serde(rename = "<=")]
    AtMost,
    /// More.
    #[serde(rename = ">")]
    More,
    /// At least.
    #[serde(rename = ">=")]
    AtLeast,
    /// Equal but for a tolerance.
    #[serde(rename = "=")]
    Equal,
}

/// Strict orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Each more than the one before.
    Ascending,
    /// Each less.
    Descending,
}

/// Monotone courses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Monotone {
    /// Never less than before.
    NonDecreasing,
    /// Never more than before.
    NonIncreasing,
}
