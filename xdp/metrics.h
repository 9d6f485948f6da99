/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What metrics.bpf.c and crates/telemetry tell each other; the Rust types are made of this header. */
#ifndef CCCTL_METRICS_H
#define CCCTL_METRICS_H

#include "kernel/constants.h"

#define METRIC_SERIES 512 /* pairs of algorithm and cgroup; what is beyond is counted in the first one */
#define METRIC_CGROUPS 1024 /* named in rules */
#define METRIC_REASONS 1024

/* Histograms: bucket b has values from 2^(b-1), exclusive, to 2^b, inclusive; the last one has all that is larger. */
#define METRIC_BUCKETS 28

/*
 * Time in queues is counted more finely: two buckets in each power of two. Bucket 2e + h has the values from
 * 2^e (1 + h/2), inclusive, to 2^e (1 + (h+1)/2), exclusive; buckets 0 and 1 have the values 0 and 1.
 */
#define METRIC_QUEUE_BUCKETS 50

/* Number 0 is every cgroup that no rule names; number 0 of the series is what found no room. */
struct series_key {
	char instance[TCP_CA_NAME_MAX]; /* kernel name of the algorithm */
	unsigned int cgroup;
};

struct metric_histogram {
	unsigned long long sum;
	unsigned long long buckets[METRIC_BUCKETS];
};

/* Of one algorithm, cgroup and processor. */
struct series_counts {
	unsigned long long opened;
	unsigned long long closed;
	unsigned long long acks;
	unsigned long long sack_acks;
	unsigned long long bytes_acked;
	unsigned long long bytes_retransmitted;
	unsigned long long retransmits_pkts;
	unsigned long long ecn_pkts;
	unsigned long long loss_events;
	unsigned long long timeouts;
	unsigned long long window_reductions;
	unsigned long long data_segments;
	unsigned long long network_limited_jiffies; /* neither the peer nor the send buffer limited it */
	unsigned long long queueing_us[METRIC_QUEUE_BUCKETS]; /* smoothed RTT less the smallest one, at each ACK */
	struct metric_histogram life_ms; /* of connections that were opened and closed since the counting began */
	struct metric_histogram rtt_us;
	struct metric_histogram cwnd_pkts;
};

/* Of the connections of one algorithm and cgroup that a look has met. */
struct series_present {
	unsigned long long connections;
	unsigned long long delivery_bytes_per_s;
	unsigned long long ages_ms[METRIC_BUCKETS]; /* of those opened since the counting began */
};

/* Written while the programs run. */
struct metric_control {
	unsigned int generation; /* raised when sockets have to look up algorithm and cgroup anew */
	unsigned int next_series;
};

#endif
