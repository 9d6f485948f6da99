// SPDX-License-Identifier: MIT OR Apache-2.0
//! The report for people.

use std::fmt::Write as _;

use super::Rate;
use ccctl_core::operations::acks::{Acks, Algorithm, Drops, Histogram, Interface};

const BAR_COLUMNS: u64 = 40;

/// All of it.
pub fn report(acks: &Acks, rate: Option<&Rate>) -> String {
    let mut text = format!("ACK clock, {:.1} s; end of processing: {}\n\n", acks.elapsed_s, acks.end);
    for interface in &acks.interfaces {
        text += &arrivals(interface);
    }
    if acks.acks_by_congestion_control.is_empty() {
        text += "\nno ACKs were processed in this network namespace\n";
    }
    for (name, algorithm) in &acks.acks_by_congestion_control {
        text += &of_algorithm(name, algorithm, rate);
    }
    text + "\n" + &drops(&acks.drops) + &softnet(acks)
}

fn arrivals(interface: &Interface) -> String {
    let mut text = format!("{}: {} ACKs at {}", interface.name, interface.acks, interface.attached_to);
    let sacks = sack_blocks(&interface.sack_blocks);
    if !sacks.is_empty() {
        let _ = write!(text, "; {sacks}"); // a String takes everything
    }
    if let Some(reached) = interface.reached_tc {
        let missing = interface.stamped.saturating_sub(reached);
        let _ = write!(text, "; {missing} of {} stamped ones not seen at tc ingress", interface.stamped);
    }
    if interface.unstamped > 0 {
        let _ = write!(text, "; {} without room for a stamp", interface.unstamped);
    }
    for place in &interface.passed_over {
        let _ = write!(text, "\n  {place}");
    }
    text + "\n"
}

/// "345 with 1 SACK block, 12 with 2"
fn sack_blocks(counts: &[u64]) -> String {
    let some = counts.iter().enumerate().skip(1).filter(|(_, count)| **count > 0);
    let some: Vec<String> = some.map(|(blocks, count)| format!("{count} with {blocks}")).collect();
    let (Some(first), rest) = (some.first(), some.iter().skip(1)) else { return String::new() };
    let noun = if first.ends_with(" 1") { "SACK block" } else { "SACK blocks" };
    rest.fold(format!("{first} {noun}"), |text, more| format!("{text}, {more}"))
}

fn of_algorithm(name: &str, algorithm: &Algorithm, rate: Option<&Rate>) -> String {
    let mut text = format!(
        "\n{name}: {} ACKs processed, {} merged in socket backlogs, {} duplicate",
        algorithm.acks, algorithm.coalesced, algorithm.duplicate_acks
    );
    let sacks = sack_blocks(&algorithm.sack_blocks);
    if !sacks.is_empty() {
        let _ = write!(text, "; {sacks}");
    }
    text + "\n"
        + &histogram("waiting", &algorithm.waiting, rate)
        + &histogram("processing", &algorithm.processing, rate)
}

fn histogram(what: &str, times: &Histogram, rate: Option<&Rate>) -> String {
    let (Some(mean), Some(median), Some(p99)) = (times.mean_ns, times.median_ns, times.p99_ns) else {
        return format!("  {what}: nothing\n");
    };
    let (mean, median, p99, max) = (time(mean), time(median), time(p99), time(times.max_ns));
    let count = times.count;
    let mut text = format!("  {what}, n = {count}: mean {mean}, median {median}, 99 % {p99}, longest {max}\n");
    let octaves = octaves(times);
    let largest = octaves.iter().map(|(_, count)| *count).max().unwrap_or(1).max(1);
    for (from_ns, count) in octaves {
        let bar = "#".repeat((count * BAR_COLUMNS).div_ceil(largest) as usize);
        let share = percent(count, times.count);
        let _ = writeln!(text, "    {:>7} .. {:>7} {count:>9} {share:>6} {bar}", time(from_ns), time(from_ns * 2));
    }
    if let Some(rate) = rate {
        let interval = time(rate.packet_interval().as_nanos() as u64);
        let share = percent(times.slow, times.count);
        let _ = writeln!(text, "    longer than {interval} (1500 bytes at {rate}): {} ({share})", times.slow);
    }
    text
}

/// The four buckets of each power of two together; a power without any in between is kept, of several only the first.
fn octaves(times: &Histogram) -> Vec<(u64, u64)> {
    let mut octaves: Vec<(u64, u64)> = Vec::new();
    for bucket in &times.buckets {
        let from_ns = 1 << bucket.from_ns.max(1).ilog2();
        if let Some((last, _)) = octaves.last().filter(|(last, _)| *last * 2 < from_ns) {
            octaves.push((last * 2, 0));
        }
        match octaves.last_mut() {
            Some((last, count)) if *last == from_ns => *count += bucket.count,
            _ => octaves.push((from_ns, bucket.count)),
        }
    }
    octaves
}

fn time(ns: u64) -> String {
    let (value, unit) = match ns {
        0..=999 => return format!("{ns} ns"),
        1000..=999_999 => (ns as f64 / 1e3, "us"),
        1_000_000..=999_999_999 => (ns as f64 / 1e6, "ms"),
        _ => (ns as f64 / 1e9, "s"),
    };
    if value < 10.0 {
        format!("{value:.1} {unit}")
    } else {
        format!("{value:.0} {unit}")
    }
}

fn percent(part: u64, all: u64) -> String {
    if all == 0 {
        return "-".to_owned();
    }
    format!("{:.1} %", part as f64 * 100.0 / all as f64)
}

fn drops(drops: &[Drops]) -> String {
    let here: Vec<&Drops> = drops.iter().filter(|drops| drops.here > 0).collect();
    if here.is_empty() {
        return "no drops in this network namespace\n".to_owned();
    }
    let mut text = "drops in this network namespace:\n".to_owned();
    for drops in here {
        let cpus = drops.by_cpu.iter().enumerate().filter(|(_, count)| **count > 0);
        let cpus: Vec<String> = cpus.map(|(cpu, count)| format!("cpu{cpu}: {count}")).collect();
        let algorithms = drops.by_congestion_control.iter().map(|(name, count)| format!("; {name}: {count}"));
        let algorithms: String = algorithms.collect();
        let _ = writeln!(text, "  {:<28} {:>9}  {}{algorithms}", drops.reason, drops.here, cpus.join(", "));
    }
    text
}

fn softnet(acks: &Acks) -> String {
    let mut text = "backlogs of the whole machine:\n".to_owned();
    for cpu in &acks.softnet {
        let mean = cpu.backlog_mean_pkts.map_or("?".to_owned(), |mean| format!("{mean:.1}"));
        let _ = writeln!(
            text,
            "  cpu{}: {} processed, {} dropped, {} times squeezed, {} steered here; length {mean} pkts, at most {}",
            cpu.cpu, cpu.processed, cpu.dropped, cpu.time_squeezed, cpu.received_rps, cpu.backlog_max_pkts
        );
    }
    let both = acks.backlog_drops;
    let verdict = if both.by_trace_point == both.by_softnet_stat { "they agree" } else { "they DIFFER" };
    let _ = writeln!(
        text,
        "  dropped from full backlogs: {} by trace point, {} by softnet_stat: {verdict}",
        both.by_trace_point, both.by_softnet_stat
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use ccctl_core::operations::acks::Bucket;

    #[test]
    fn a_gap_is_one_row_and_buckets_are_added() {
        let bucket = |from_ns, count| Bucket { from_ns, to_ns: from_ns + 1, count };
        let times = Histogram {
            count: 7,
            mean_ns: None,
            median_ns: None,
            p99_ns: None,
            max_ns: 40,
            slow: 0,
            buckets: vec![bucket(8, 1), bucket(12, 2), bucket(32, 3), bucket(1024, 1)],
        };
        assert_eq!(octaves(&times), [(8, 3), (16, 0), (32, 3), (64, 0), (1024, 1)]);
    }

    #[test]
    fn sack_blocks_are_counted_in_words() {
        assert_eq!(sack_blocks(&[7, 345, 0, 2]), "345 with 1 SACK block, 2 with 3");
        assert_eq!(sack_blocks(&[7, 0, 4, 0]), "4 with 2 SACK blocks");
        assert_eq!(sack_blocks(&[7, 0, 0, 0]), "");
    }

    #[test]
    fn times_have_two_digits_and_a_unit() {
        let written: Vec<String> = [0, 999, 1000, 9_900, 48_000, 2_500_000, 3_000_000_000].map(time).into();
        assert_eq!(written, ["0 ns", "999 ns", "1.0 us", "9.9 us", "48 us", "2.5 ms", "3.0 s"]);
    }
}
