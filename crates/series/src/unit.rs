// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names of columns and fields end in their units; this reads them.

/// Ends of names, and the units that they stand for.
const UNITS: [(&str, &str); 13] = [
    ("_bytes_per_s", "bytes/s"),
    ("_bits_per_s", "bit/s"),
    ("_pkts_per_s", "packets/s"),
    ("_per_s", "1/s"),
    ("_pkts", "packets"),
    ("_bytes", "bytes"),
    ("_us", "us"),
    ("_ns", "ns"),
    ("_ms", "ms"),
    ("_s", "s"),
    ("_rtts", "round trips"),
    ("_pct", "%"),
    ("_ppm", "ppm"),
];

/// Units of time, as names end in them.
const TIMES: [&str; 4] = ["us", "ns", "ms", "s"];

/// Words of a moment, and words that make a duration of it.
const MOMENTS: [&str; 8] = ["epoch", "start", "end", "since", "stamp", "clock", "first", "last"];
const DURATIONS: [&str; 4] = ["age", "rtt", "delay", "interval"];

/// The unit of a name: `packets` of `cwnd_pkts`. A fixed-point number has `_qN`, with the unit before or right behind it:
/// `2^-3 us` of `srtt_us_q3`, `2^-10 s` of `k_q10s`. Empty for a count or a word.
#[must_use]
pub fn unit_of(name: &str) -> String {
    let bare = name.split('[').next().unwrap_or(name);
    let (stem, bits) = match fraction(bare) {
        Some((stem, bits)) => (stem, Some(bits)),
        None => (bare.to_owned(), None),
    };
    let unit = UNITS.iter().find(|(end, _)| stem.ends_with(end)).map_or("", |(_, unit)| unit);
    match bits {
        Some(bits) if unit.is_empty() => format!("2^-{bits}"),
        Some(bits) => format!("2^-{bits} {unit}"),
        None => unit.to_owned(),
    }
}

/// `k_q10s`: `k_s` and 10 bits behind the point.
fn fraction(name: &str) -> Option<(String, u32)> {
    let (stem, rest) = name.rsplit_once("_q")?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (bits, unit) = rest.split_at(digits);
    let bits = bits.parse().ok().filter(|&bits| bits < 64)?;
    match unit {
        "" => Some((stem.to_owned(), bits)),
        _ if UNITS.iter().any(|(end, _)| end[1..] == *unit) => Some((format!("{stem}_{unit}"), bits)),
        _ => None,
    }
}

/// The bits behind the point, and the unit of the whole: 8 and `packets` of `2^-8 packets`. No bits: not in fixed point.
#[must_use]
pub fn fixed_point(unit: &str) -> (Option<u32>, String) {
    let Some(rest) = unit.strip_prefix("2^-") else { return (None, unit.to_owned()) };
    let (bits, unit) = rest.split_once(' ').unwrap_or((rest, ""));
    (bits.parse().ok(), unit.to_owned())
}

/// Does the name say when, by a clock, and not for how long? Such a field only rises, and beside durations hides them.
#[must_use]
pub fn is_moment(name: &str) -> bool {
    let field = name.rsplit('.').next().unwrap_or(name);
    let words: Vec<&str> = field.split(['_', '[', ']']).filter(|word| !word.is_empty()).collect();
    let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(word));
    let is_time = words.last().is_some_and(|unit| TIMES.contains(unit));
    is_time && (has(&["stamp", "done"]) || has(&MOMENTS) && !has(&DURATIONS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_the_ends_of_names() {
        let cases = [
            ("dwnd_pkts", "packets"),
            ("srtt_us_q3", "2^-3 us"),
            ("alpha_q10", "2^-10"),
            ("k_q10s", "2^-10 s"),
            ("undo.k_q10s", "2^-10 s"),
            ("rtt.base_since_s", "s"),
            ("rates_bytes_per_s[2]", "bytes/s"),
            ("inner.high_ns", "ns"),
            ("mode", ""),
            ("seq_quick", ""),
            ("timeouts", ""),
            ("x_q99", ""),
        ];
        for (name, unit) in cases {
            assert_eq!(unit_of(name), unit, "{name}");
        }
    }

    /// Fields of the algorithms' states whose comments say what they are.
    #[test]
    fn moments_are_told_from_durations() {
        let moments = ["epoch_us", "last_active_us", "rtt.base_since_s", "window_start_us", "min_rtt_stamp_us"];
        for name in moments.into_iter().chain([
            "first_us",
            "phase_end_us",
            "probe_rtt_done_us",
            "last_congestion_us",
            "clock_offset_us",
        ]) {
            assert!(is_moment(name), "{name}");
        }
        let others = ["undo.epoch_age_us", "last_round_min_rtt_us", "rtt.base_us", "k_q10s", "last_max_pkts"];
        for name in others.into_iter().chain(["hystart.base_rtt_us", "window_end_seq", "epoch_acked_pkts"]) {
            assert!(!is_moment(name), "{name}");
        }
    }
}
