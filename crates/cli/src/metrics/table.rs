// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every metric, in the order of the exposition: what the exporter writes and what `ccctl metrics` and docs/guide/metrics.md list.

use ccctl_core::counters::{Counter, Counters};
use ccctl_telemetry::Counts;

use super::{Family, Kind, Read};

/// Labels that there may be: never an address, a port or a process.
#[cfg(test)]
pub const LABELS: [&str; 11] = [
    "algorithm",
    "name",
    "cgroup",
    "ecn_mode",
    "reason",
    "cpu",
    "program",
    "version",
    "collector",
    "experiment",
    "metric",
];

const EACH: &[&str] = &["name", "cgroup"];
const NAME: &[&str] = &["name"];
const CPU: &[&str] = &["cpu"];
const NONE: &[&str] = &[];
const EXPERIMENT: &[&str] = &["experiment"];
const OUTCOME: &[&str] = &["experiment", "metric"];

const fn counter(
    name: &'static str,
    unit: &'static str,
    labels: &'static [&'static str],
    help: &'static str,
) -> Family {
    Family { name, kind: Kind::Counter, unit, labels, help, read: Read::Collector }
}

/// Of each series: what the programs in `xdp/metrics.bpf.c` count.
const fn counted(name: &'static str, unit: &'static str, read: fn(&Counts) -> u64, help: &'static str) -> Family {
    Family { read: Read::Series(read), ..counter(name, unit, EACH, help) }
}

/// What the daemon has done.
const fn of_daemon(name: &'static str, read: fn(&Counters) -> &Counter, help: &'static str) -> Family {
    Family { read: Read::Daemon(read), ..counter(name, "", NONE, help) }
}

const fn gauge(name: &'static str, unit: &'static str, labels: &'static [&'static str], help: &'static str) -> Family {
    Family { name, kind: Kind::Gauge, unit, labels, help, read: Read::Collector }
}

const fn histogram(
    name: &'static str,
    unit: &'static str,
    labels: &'static [&'static str],
    help: &'static str,
) -> Family {
    Family { name, kind: Kind::Histogram, unit, labels, help, read: Read::Collector }
}

/// All of them. A help says what is counted, and after "Source:" where the kernel has it.
pub const FAMILIES: &[Family] = &[
    gauge("connections", "", EACH, "TCP connections in all network namespaces, listeners and TIME_WAIT left out, at the last scan of the sockets. Source: iter/tcp, the socket's icsk_ca_ops and sk_cgrp_data"),
    gauge("ecn_connections", "", &["name", "cgroup", "ecn_mode"], "Of these, those whose ends agreed to this on congestion marks: disabled, rfc3168, accecn, or pending in the handshake. Source: iter/tcp, tcp_sock.ecn_flags"),
    counted("connections_opened", "", |counts| counts.opened, "Connections that became established, by the algorithm at that moment. Source: tp_btf/inet_sock_set_state to ESTABLISHED"),
    counted("connections_closed", "", |counts| counts.closed, "Connections that were closed. Source: tp_btf/inet_sock_set_state to CLOSE"),
    counted("acked", "bytes", |counts| counts.bytes_acked, "Bytes that the peers have acknowledged, SYN and FIN included; the last ACK of a connection that falls silent counts with the next scan. Source: tcp_sock.bytes_acked"),
    counted("retransmitted", "bytes", |counts| counts.bytes_retransmitted, "Bytes retransmitted; those of a connection without ACKs count with the next scan. Source: tcp_sock.bytes_retrans"),
    counted("retransmitted_packets", "", |counts| counts.retransmits_pkts, "Packets retransmitted, SYN included. Source: tcp_sock.total_retrans"),
    counted("ecn_marked_packets", "", |counts| counts.ecn_pkts, "Packets that arrived with an ECN mark, as reported by the peer. Source: tcp_sock.delivered_ce"),
    counted("loss_events", "", |counts| counts.loss_events, "Times that fast recovery was entered. Source: tp_btf/tcp_cong_state_set to TCP_CA_Recovery"),
    counted("retransmission_timeouts", "", |counts| counts.timeouts, "Retransmission timeouts. Source: tp_btf/tcp_cong_state_set to TCP_CA_Loss"),
    counted("window_reductions", "", |counts| counts.window_reductions, "Reductions of the window without loss, for ECN or a full local queue. Source: tp_btf/tcp_cong_state_set to TCP_CA_CWR"),
    counted("acks", "", |counts| counts.acks, "Segments that arrived in ESTABLISHED with data outstanding; those that GRO or a socket's backlog merged count once. Source: tp_btf/tcp_probe"),
    counted("sack_acks", "", |counts| counts.sack_acks, "Of these, those with SACK blocks. Source: tp_btf/tcp_probe, the segment's options"),
    histogram("rtt", "seconds", EACH, "Smoothed round-trip time, at each ACK. Source: tp_btf/tcp_probe, tcp_sock.srtt_us"),
    histogram("cwnd_packets", "", EACH, "Congestion window, at each ACK. Source: tp_btf/tcp_probe, tcp_sock.snd_cwnd"),
    gauge("delivery_rate", "bytes_per_second", EACH, "Sum of the last delivery rate of each connection, at the last scan of the sockets. Source: iter/tcp, tcp_sock.rate_delivered, rate_interval_us and mss_cache"),
    gauge("look_age", "seconds", NONE, "Time since the last scan of the sockets, on which gauges are based. Source: clock of the daemon"),
    gauge("look_duration", "seconds", NONE, "Duration of the last scan of the sockets. Source: clock of the daemon"),
    histogram("ack_waiting", "seconds", NAME, "From an ACK's arrival to the start of TCP input, sampled, in the daemon's network namespace; only with [metrics] acks. Source: XDP or tc ingress, fentry/tcp_ack or tp_btf/tcp_probe"),
    histogram("ack_processing", "seconds", NAME, "From the start of TCP input to the end of the ACK, sampled, in the daemon's network namespace; only with [metrics] acks. Source: fentry and fexit of tcp_ack, or tp_btf/tcp_probe and tp_btf/kmem_cache_free"),
    counter("duplicate_acks", "", NAME, "Duplicate ACKs (RFC 5681), in the daemon's network namespace; only with [metrics] acks. Source: fentry/tcp_ack or tp_btf/tcp_probe"),
    counter("coalesced_acks", "", NAME, "ACKs merged into others in sockets' backlogs, in the daemon's network namespace; only with [metrics] acks. Source: fentry/tcp_ack or tp_btf/tcp_probe, skb_shared_info.gso_segs"),
    counter("dropped_packets", "", &["reason", "cpu"], "Packets dropped in the whole host, of all protocols, by the kernel's name of the reason. Source: tp_btf/kfree_skb"),
    counter("backlog_dropped_packets", "", CPU, "Packets dropped because the processor's backlog was full, since boot. Source: /proc/net/softnet_stat, column 2"),
    counter("backlog_processed_packets", "", CPU, "Packets that the processor has processed, since boot. Source: /proc/net/softnet_stat, column 1"),
    counter("backlog_squeezes", "", CPU, "Rounds of the receive softirq that ended with work left, since boot. Source: /proc/net/softnet_stat, column 3"),
    gauge("instance_info", "", &["name", "algorithm"], "1 for each instance, with the algorithm behind it. Source: the struct_ops map that is pinned in /sys/fs/bpf/ccctl"),
    gauge("guard_disabled", "", NAME, "1 for each instance that the guard has disabled. Source: /sys/fs/bpf/ccctl/marks"),
    of_daemon("guard_bad_windows", |counters| &counters.guard_bad_windows, "Bad intervals that the guard has seen. Source: the daemon"),
    of_daemon("guard_trips", |counters| &counters.guard_trips, "Times that the guard has disabled an instance. Source: the daemon"),
    of_daemon("guard_rearms", |counters| &counters.guard_rearms, "Times that a disabled instance was enabled again. Source: the daemon"),
    gauge("experiment_treated", "", EXPERIMENT, "1 in a block of arm B of an experiment, 0 in a block of arm A; missing while none runs. Source: the plan and the clock"),
    gauge("experiment_block", "", EXPERIMENT, "Number of the block that runs, counted from the epoch. Source: the plan and the clock"),
    gauge("experiment_pairs", "", EXPERIMENT, "Pairs of blocks that count so far. Source: /var/lib/ccctl/experiments"),
    gauge("experiment_dropped_pairs", "", EXPERIMENT, "Pairs of blocks that do not count. Source: /var/lib/ccctl/experiments"),
    gauge("experiment_change", "", OUTCOME, "Change of the metric that decides, from arm A to arm B: 0.05 is 5 % more. Source: crates/inference"),
    gauge("experiment_change_lower", "", OUTCOME, "Lower limit of the change, 95 % at any time; missing while nothing is excluded. Source: crates/inference"),
    gauge("experiment_change_upper", "", OUTCOME, "Upper limit of the change, 95 % at any time; missing while nothing is excluded. Source: crates/inference"),
    gauge("experiment_harmful", "", EXPERIMENT, "1 where a guard-rail has ended the experiment and arm A is held in force. Source: /var/lib/ccctl/experiments"),
    gauge("experiment_void", "", EXPERIMENT, "1 where the experiment is void, or a gate does not hold. Source: /var/lib/ccctl/experiments"),
    of_daemon("swaps", |counters| &counters.swaps, "Swaps of the program behind a name. Source: the daemon"),
    of_daemon("swap_failures", |counters| &counters.swap_failures, "Swaps that failed. Source: the daemon"),
    of_daemon("migrations", |counters| &counters.migrations, "Migrations, on request or by the guard. Source: the daemon"),
    of_daemon("migration_failures", |counters| &counters.migration_failures, "Migrations that failed, or left sockets behind. Source: the daemon"),
    of_daemon("migrated_sockets", |counters| &counters.migrated_sockets, "Sockets that migrations have moved. Source: bpf_setsockopt() in iter/tcp"),
    of_daemon("unmigrated_sockets", |counters| &counters.unmigrated_sockets, "Sockets that migrations could not move. Source: bpf_setsockopt() in iter/tcp"),
    counter("bpf_run", "seconds", &["name", "program"], "Time in a program while run times are counted; name is other for ccctl's own programs. Source: bpf_prog_info.run_time_ns"),
    counter("bpf_runs", "", &["name", "program"], "Runs of a program while run times are counted; name is other for ccctl's own programs. Source: bpf_prog_info.run_cnt"),
    counter("trace_lost_events", "", NONE, "Events that ccctl trace has lost, since boot. Source: /run/ccctl/trace_lost_events, which ccctl trace writes at its end"),
    gauge("build_info", "", &["version"], "1, with the daemon's version. Source: the build"),
    gauge("start_time", "seconds", NONE, "Start of counting, in seconds since the epoch. Source: clock of the daemon"),
    gauge("scrape_duration", "seconds", NONE, "Duration of this collection. Source: clock of the daemon"),
    gauge("scrape_success", "", NONE, "1 if everything could be collected. Source: the daemon"),
    gauge("scrape_collector_success", "", &["collector"], "1 if this collector succeeded; otherwise its metrics are missing. Source: the daemon"),
];
