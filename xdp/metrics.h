/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What metrics.bpf.c and crates/telemetry tell each other; the Rust types are made of this header. */
#ifndef CCCTL_METRICS_H
#define CCCTL_METRICS_H

#include "kernel/constants.h"

#define METRIC_SERIES 512 /* pairs of algorithm and cgroup; what is beyond is counted in the first one */
#define METRIC_CGROUPS 1024 /* named in rules */
#define METRIC_REASONS 1024
#define METRIC_SCOPES 32 /* of rules with a prefix or a port, whose sockets are counted apart */
#define METRIC_EXPERIMENTS 64

/* Histograms: bucket b has values from 2^(b-1), exclusive, to 2^b, inclusive; the last one has all that is larger. */
#define METRIC_BUCKETS 28

/*
 * Time in queues is counted more finely: two buckets in each power of two. Bucket 2e + h has the values from
 * 2^e (1 + h/2), inclusive, to 2^e (1 + (h+1)/2), exclusive; buckets 0 and 1 have the values 0 and 1.
 */
#define METRIC_QUEUE_BUCKETS 50

/*
 * Completion times of connections, us, in buckets as those of time in queues, by bytes that the peer has acknowledged: below
 * 15 kB, 150 kB, 1.5 MB, and larger.
 */
#define METRIC_SIZES 4
#define METRIC_TIME_BUCKETS 64

/* Peers are put together by prefix, IPv4 /24 and IPv6 /48, and prefixes by chance into so many clusters. */
#define METRIC_CLUSTERS 64
#define METRIC_CLUSTER_COUNTS 8192

/* What both ends agreed to on congestion marks: 1, if TCP_ECN_OK is set, and 2, if TCP_ECN_MODE_ACCECN is, added up */
#define METRIC_ECN_MODES 4

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
	unsigned long long ecn_modes[METRIC_ECN_MODES]; /* of them: see METRIC_ECN_MODES */
	unsigned long long delivery_bytes_per_s;
	unsigned long long ages_ms[METRIC_BUCKETS]; /* of those opened since the counting began */
};

/* Sockets of a cgroup that have a number of their own: those of one rule. The most specific one comes first. */
struct metric_scope {
	unsigned int cgroup; /* number of the cgroup */
	unsigned int number; /* theirs; 0: an end of the list */
	unsigned int family; /* of the prefix: 4, 6, or 0 for any peer */
	unsigned int prefix_bits;
	unsigned int address[4]; /* network order */
	unsigned int port; /* of the service, host order; 0: any */
};

/* What is counted for an experiment, by the number of its cgroup or scope. */
struct metric_experiment {
	unsigned long long since_ns; /* connections that were opened since count by size; 0: none does */
	unsigned int has_clusters; /* count by cluster, too */
	unsigned int unused;
};

struct completion_counts {
	unsigned long long times_us[METRIC_SIZES][METRIC_TIME_BUCKETS];
};

struct cluster_key {
	unsigned int series;
	unsigned int cluster;
};

struct cluster_counts {
	unsigned long long bytes_acked;
	unsigned long long bytes_retransmitted;
	unsigned long long data_segments;
	unsigned long long timeouts;
	unsigned long long network_limited_jiffies;
};

/* Written while the programs run. */
struct metric_control {
	unsigned int generation; /* raised when sockets have to look up algorithm and cgroup anew */
	unsigned int next_series;
};

#endif
