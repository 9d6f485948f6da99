// SPDX-License-Identifier: GPL-2.0-only
//! All scripts, by their names.

macro_rules! scripts {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../scripts/", $name, ".script")))),*]
    };
}

/// Name and text.
pub const SCRIPTS: &[(&str, &str)] = scripts![
    "acks-lost-all-but-last",
    "acks-lost",
    "application-limited-avoidance",
    "application-limited",
    "avoidance-delayed-acks",
    "avoidance-long-rtt",
    "avoidance-reno",
    "avoidance-stretch-acks",
    "ecn-and-loss",
    "ecn-each-mark",
    "ecn-marks-in-turn",
    "ecn-one-mark",
    "idle-after-loss",
    "idle",
    "loss-again-at-once",
    "loss-first-packet",
    "loss-in-avoidance",
    "loss-last-packet",
    "loss-many-no-sack",
    "loss-many-sack",
    "loss-of-a-burst",
    "loss-of-a-retransmission",
    "loss-one-no-sack",
    "loss-one-sack",
    "loss-two-apart",
    "losses-in-turn",
    "receiver-window",
    "reordering-little",
    "reordering-no-sack",
    "slow-start-delayed-acks",
    "slow-start-every-packet",
    "slow-start-long-rtt",
    "slow-start-no-timestamps",
    "slow-start-rising-delay",
    "slow-start-small-window",
    "slow-start-stretch-acks",
    "timeout-backoff",
    "timeout-in-recovery",
    "timeout-no-sack",
    "timeout-one",
    "undo-reordering",
    "undo-timeout-dsack",
    "undo-timeout-timestamps",
];

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::language::Script;
    use super::*;

    #[test]
    fn each_is_a_script_with_a_title_of_its_own() {
        let mut titles: Vec<String> = SCRIPTS.iter().map(|(_, text)| Script::parse(text).unwrap().title).collect();
        titles.sort();
        titles.dedup();
        assert_eq!(titles.len(), SCRIPTS.len());
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts");
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), SCRIPTS.len(), "one that is not listed");
    }
}
