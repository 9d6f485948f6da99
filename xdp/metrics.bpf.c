// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Counters for Prometheus, by algorithm and cgroup, added up where things happen: reading them costs the same at any number of
 * sockets.
 *
 * What a socket counts itself (bytes acknowledged and retransmitted, ECN marks) is taken over as a difference, against what the
 * socket had when it was last met; that is kept in storage of the socket. It is met at each ACK while it has data on the way,
 * when it closes, and in a look at all sockets every few seconds. So nothing is missed and nothing is counted twice, whichever
 * way a segment took through the kernel. A socket from before counts from when it is first met.
 *
 * Every caller holds the socket, so the storage needs no lock. Counters are per processor and still atomic: the look at all
 * sockets, and a process that works on its backlog, can be interrupted by softirqs that count.
 */
#include "kernel/skb.h"
#include "metrics.h"
#include "peer.h"
#include "socket_read.h"
#include "tcp_options.h"

#define CGROUP_LEVELS 64

char _license[] SEC("license") = "GPL";

/* What a socket had counted when it was last met, and where that goes. */
struct socket_met {
	u64 bytes_acked;
	u64 bytes_retransmitted;
	u32 retransmits_pkts;
	u32 ecn_pkts;
	u64 opened_ns; /* 0: before the counting began */
	u32 data_segments;
	u32 network_limited_jiffies;
	u64 ops; /* the algorithm for which the series was looked up */
	u32 series;
	u32 generation;
	u32 number; /* of its cgroup or scope */
	u32 timeouts;
	u8 begins; /* enum beginning */
	struct {
		u64 bytes_acked;
		u64 bytes_retransmitted;
		u32 data_segments;
		u32 timeouts;
		u32 network_limited_jiffies;
	} clustered; /* what its cluster has of it */
};

enum beginning { UNKNOWN, ACTIVE, PASSIVE };

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct socket_met);
} met SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, METRIC_SERIES);
	__type(key, struct series_key);
	__type(value, u32);
} series SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, METRIC_SERIES);
	__type(key, u32);
	__type(value, struct series_counts);
} counts SEC(".maps");

/* Numbers of series that are no more. */
struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, METRIC_SERIES);
	__type(value, u32);
} released SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, METRIC_SERIES);
	__type(key, u32);
	__type(value, struct series_present);
} present SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, METRIC_CGROUPS);
	__type(key, u64);
	__type(value, u32);
} cgroups SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct metric_control);
} control SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, METRIC_REASONS);
	__type(key, u32);
	__type(value, u64);
} drops SEC(".maps");

static __always_inline void add(unsigned long long *counter, u64 more)
{
	__sync_fetch_and_add(counter, more);
}

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, METRIC_SCOPES);
	__type(key, u32);
	__type(value, struct metric_scope);
} scopes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, METRIC_EXPERIMENTS);
	__type(key, u32);
	__type(value, struct metric_experiment);
} experiments SEC(".maps");

/* By number of the series: only those of experiments. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, METRIC_SERIES);
	__type(key, u32);
	__type(value, struct completion_counts);
} completions SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, METRIC_CLUSTER_COUNTS);
	__type(key, struct cluster_key);
	__type(value, struct cluster_counts);
} clusters SEC(".maps");

static const struct completion_counts no_completions; /* too large for the stack */

/* Upwards from the socket's cgroup: the first one that a rule names. */
static u32 cgroup_of(struct tcp_sock *tp)
{
	const struct sock *sk = (const void *)tp;
	struct cgroup_subsys_state *parent;
	struct cgroup *cgroup;
	u32 *named;
	u64 id;

	if (!bpf_core_field_exists(sk->sk_cgrp_data))
		return 0;
	cgroup = sk->sk_cgrp_data.cgroup;
	for (int level = 0; level < CGROUP_LEVELS && cgroup; level++) {
		id = cgroup->kn->id;
		named = bpf_map_lookup_elem(&cgroups, &id);
		if (named)
			return *named;
		parent = cgroup->self.parent;
		if (!parent)
			return 0;
		cgroup = parent->cgroup;
	}
	return 0;
}

/* Which scope a socket is in; what is needed of the socket, since a step of bpf_loop() cannot read it. */
struct scope_search {
	u32 address[4];
	u32 family;
	u32 cgroup;
	u32 local_port; /* 0: it is not that of the service */
	u32 remote_port;
	u32 found;
};

static __always_inline bool has_prefix(const struct metric_scope *scope, const u32 *address)
{
	u32 left = scope->prefix_bits, mask;

	for (int i = 0; i < 4 && left; i++) {
		mask = left >= 32 ? ~0U : ~(~0U >> left);
		if ((address[i] ^ scope->address[i]) & __builtin_bswap32(mask))
			return false;
		left = left >= 32 ? left - 32 : 0;
	}
	return true;
}

static long scope_step(u32 index, struct scope_search *search)
{
	const struct metric_scope *scope = bpf_map_lookup_elem(&scopes, &index);

	if (!scope || !scope->number)
		return 1;
	if (scope->cgroup != search->cgroup)
		return 0;
	if (scope->port && scope->port != search->local_port && scope->port != search->remote_port)
		return 0;
	if (scope->family && (scope->family != search->family || !has_prefix(scope, search->address)))
		return 0;
	search->found = scope->number;
	return 1;
}

/* Number of the socket's scope within its cgroup, or that of the cgroup. Of a socket from before the counting either port may be
 * that of the service. */
static __noinline u32 scope_of(struct tcp_sock *tp, u32 cgroup, u8 begins)
{
	const struct sock_common *skc = (const void *)tp;
	struct scope_search search = { .cgroup = cgroup, .found = cgroup };
	const struct metric_scope *first;
	u32 zero = 0;

	first = bpf_map_lookup_elem(&scopes, &zero);
	if (!first || !first->number)
		return cgroup;
	search.family = read_peer(skc, search.address);
	if (begins != ACTIVE)
		search.local_port = skc->skc_num;
	if (begins != PASSIVE)
		search.remote_port = __builtin_bswap16(skc->skc_dport);
	bpf_loop(METRIC_SCOPES, scope_step, &search, 0);
	return search.found;
}

/* A number that no series has; 0 where there is none left. */
static u32 fresh_number(struct metric_control *state)
{
	u32 fresh = 0;

	if (!bpf_map_pop_elem(&released, &fresh))
		return fresh;
	if (state->next_series >= METRIC_SERIES - 1)
		return 0;
	fresh = __sync_fetch_and_add(&state->next_series, 1) + 1;
	return fresh < METRIC_SERIES ? fresh : 0;
}

/* Number of the series; a new one where there is room. Two processors may make the same one: the second gives its number back. */
static u32 series_of(struct tcp_sock *tp, u32 number, struct metric_control *state)
{
	struct series_key key = { .cgroup = number };
	u32 *found, fresh;

	read_algorithm(tp, key.instance);
	found = bpf_map_lookup_elem(&series, &key);
	if (found)
		return *found;
	fresh = fresh_number(state);
	if (!fresh)
		return 0;
	if (bpf_map_update_elem(&series, &key, &fresh, BPF_NOEXIST))
		bpf_map_push_elem(&released, &fresh, 0);
	found = bpf_map_lookup_elem(&series, &key);
	return found ? *found : 0;
}

static __always_inline struct metric_control *control_now(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&control, &zero);
}

/* Prefixes are mixed by the multipliers of MurmurHash3's finalizer. */
static __always_inline u32 cluster_of(struct tcp_sock *tp)
{
	u32 address[4] = {}, mixed;

	if (read_peer((const void *)tp, address) == 4)
		mixed = address[0] & __builtin_bswap32(0xffffff00);
	else
		mixed = address[0] * 31 + (address[1] & __builtin_bswap32(0xffff0000));
	mixed ^= mixed >> 16;
	mixed *= 0x85ebca6b;
	mixed ^= mixed >> 13;
	mixed *= 0xc2b2ae35;
	mixed ^= mixed >> 16;
	return mixed % METRIC_CLUSTERS;
}

static __noinline void give_to_cluster(struct tcp_sock *tp, struct socket_met *before)
{
	const struct cluster_counts none = {};
	struct cluster_counts *sums;
	struct cluster_key key = { .series = before->series, .cluster = cluster_of(tp) };

	sums = bpf_map_lookup_elem(&clusters, &key);
	if (!sums) {
		bpf_map_update_elem(&clusters, &key, &none, BPF_NOEXIST);
		sums = bpf_map_lookup_elem(&clusters, &key);
	}
	if (!sums)
		return;
	add(&sums->bytes_acked, before->bytes_acked - before->clustered.bytes_acked);
	add(&sums->bytes_retransmitted, before->bytes_retransmitted - before->clustered.bytes_retransmitted);
	add(&sums->data_segments, before->data_segments - before->clustered.data_segments);
	add(&sums->timeouts, before->timeouts - before->clustered.timeouts);
	add(&sums->network_limited_jiffies,
	    before->network_limited_jiffies - before->clustered.network_limited_jiffies);
	before->clustered.bytes_acked = before->bytes_acked;
	before->clustered.bytes_retransmitted = before->bytes_retransmitted;
	before->clustered.data_segments = before->data_segments;
	before->clustered.timeouts = before->timeouts;
	before->clustered.network_limited_jiffies = before->network_limited_jiffies;
}

/*
 * Where an experiment wants clusters. That is when a socket changes its series, when it closes, and in a look at all: never at
 * an ACK. What it did before the experiment comes with the first time, which is before anything counts.
 */
static __always_inline void cluster(struct tcp_sock *tp, struct socket_met *before)
{
	struct metric_experiment *experiment = bpf_map_lookup_elem(&experiments, &before->number);

	if (experiment && experiment->has_clusters)
		give_to_cluster(tp, before);
}

static __always_inline u32 series_of_met(struct tcp_sock *tp, struct socket_met *before, struct metric_control *state)
{
	u64 ops = (u64)tp->inet_conn.icsk_ca_ops;

	if (before->ops == ops && before->generation == state->generation)
		return before->series;
	if (before->ops)
		cluster(tp, before);
	if (!before->ops || before->generation != state->generation)
		before->number = scope_of(tp, cgroup_of(tp), before->begins);
	before->series = series_of(tp, before->number, state);
	before->ops = ops;
	before->generation = state->generation;
	return before->series;
}

/* Of a socket without storage */
static __always_inline u32 series_unmet(struct tcp_sock *tp, struct metric_control *state)
{
	return series_of(tp, scope_of(tp, cgroup_of(tp), UNKNOWN), state);
}

/* What the socket's storage has; one that is first met begins with what it has now. */
static struct socket_met *meet(struct tcp_sock *tp)
{
	struct socket_met *found = bpf_sk_storage_get(&met, tp, NULL, 0);
	struct socket_met now = {};

	if (found)
		return found;
	now.bytes_acked = tp->bytes_acked;
	now.bytes_retransmitted = tp->bytes_retrans;
	now.retransmits_pkts = tp->total_retrans;
	now.ecn_pkts = tp->delivered_ce;
	now.data_segments = tp->data_segs_out;
	now.network_limited_jiffies = chrono_jiffies(tp, TCP_CHRONO_BUSY);
	return bpf_sk_storage_get(&met, tp, &now, BPF_SK_STORAGE_GET_F_CREATE);
}

/* The 32-bit counters wrap; so do their differences, and are right. */
static void add_news(struct series_counts *sums, const struct tcp_sock *tp, struct socket_met *before)
{
	u64 bytes_acked = tp->bytes_acked - before->bytes_acked;
	u32 ecn_pkts = tp->delivered_ce - before->ecn_pkts;
	u32 retransmits_pkts = tp->total_retrans - before->retransmits_pkts;
	u64 bytes_retransmitted = tp->bytes_retrans - before->bytes_retransmitted;
	u32 data_segments = tp->data_segs_out - before->data_segments;
	u32 jiffies = chrono_jiffies(tp, TCP_CHRONO_BUSY) - before->network_limited_jiffies;

	if (data_segments) {
		add(&sums->data_segments, data_segments);
		before->data_segments += data_segments;
	}
	if (jiffies) {
		add(&sums->network_limited_jiffies, jiffies);
		before->network_limited_jiffies += jiffies;
	}
	if (bytes_acked) {
		add(&sums->bytes_acked, bytes_acked);
		before->bytes_acked += bytes_acked;
	}
	if (ecn_pkts) {
		add(&sums->ecn_pkts, ecn_pkts);
		before->ecn_pkts += ecn_pkts;
	}
	if (retransmits_pkts) {
		add(&sums->retransmits_pkts, retransmits_pkts);
		before->retransmits_pkts += retransmits_pkts;
	}
	if (bytes_retransmitted) {
		add(&sums->bytes_retransmitted, bytes_retransmitted);
		before->bytes_retransmitted += bytes_retransmitted;
	}
}

static __always_inline struct series_counts *counts_at(u32 number)
{
	return bpf_map_lookup_elem(&counts, &number);
}

/* The least b for which the value is at most 2^b */
static __always_inline u32 bucket_of(u32 value)
{
	u32 bucket = 0;

	if (value < 2)
		return 0;
	value--;
	for (u32 half = 16; half; half >>= 1) {
		if (value >> half) {
			value >>= half;
			bucket += half;
		}
	}
	return bucket + 1;
}

static __always_inline void observe(struct metric_histogram *histogram, u32 value)
{
	u32 bucket = bucket_of(value);

	add(&histogram->sum, value);
	if (bucket >= METRIC_BUCKETS)
		bucket = METRIC_BUCKETS - 1;
	barrier_var(bucket);
	if (bucket < METRIC_BUCKETS)
		add(&histogram->buckets[bucket], 1);
}

/* See METRIC_QUEUE_BUCKETS. */
static __always_inline u32 fine_bucket_of(u32 value)
{
	u32 exponent;

	if (value < 2)
		return value;
	if (value == ~0U)
		value--;
	exponent = bucket_of(value + 1) - 1; /* the floor of log2, where bucket_of() rounds up */
	return 2 * exponent + (value >> (exponent - 1) & 1);
}

/* The time that packets wait, as the sender sees it */
static __always_inline void observe_queueing(struct series_counts *sums, const struct tcp_sock *tp)
{
	u32 srtt_us = tp->srtt_us >> 3, least_us = tp->rtt_min.s[0].v;
	u32 bucket = fine_bucket_of(srtt_us > least_us ? srtt_us - least_us : 0);

	if (bucket >= METRIC_QUEUE_BUCKETS)
		bucket = METRIC_QUEUE_BUCKETS - 1;
	barrier_var(bucket);
	if (bucket < METRIC_QUEUE_BUCKETS)
		add(&sums->queueing_us[bucket], 1);
}

struct option_walk {
	u8 options[TCP_OPTIONS_MAX];
	u32 bytes;
	u32 at;
	bool has_sack;
};

static long option_step(u32 number, struct option_walk *walk)
{
	u32 at = walk->at;
	u8 kind, length;

	if (at >= walk->bytes || at >= TCP_OPTIONS_MAX - 1)
		return 1;
	kind = walk->options[at];
	length = walk->options[at + 1];
	if (kind == OPTION_END)
		return 1;
	if (kind == OPTION_NOP) {
		walk->at = at + 1;
		return 0;
	}
	if (length < 2 || at + length > walk->bytes)
		return 1;
	if (kind == OPTION_SACK && length >= 10)
		walk->has_sack = true;
	walk->at = at + length;
	return 0;
}

/* Only what is longer than the usual header can have SACK blocks, so most ACKs are not looked into. */
static bool has_sack(const struct tcp_sock *tp, const struct sk_buff *skb)
{
	struct option_walk walk = {};
	u8 offset = 0;

	if (skb->len == tp->tcp_header_len || bpf_probe_read_kernel(&offset, 1, skb->data + 12))
		return false;
	walk.bytes = (offset >> 4) * 4;
	if (walk.bytes <= TCP_BYTES || walk.bytes == tp->tcp_header_len)
		return false;
	walk.bytes -= TCP_BYTES;
	if (walk.bytes > TCP_OPTIONS_MAX || bpf_probe_read_kernel(walk.options, walk.bytes, skb->data + TCP_BYTES))
		return false;
	bpf_loop(TCP_OPTIONS_MAX, option_step, &walk, 0);
	return walk.has_sack;
}

/* A segment for an established connection that has data on the way: it acknowledges something, or says that something is missing. */
SEC("tp_btf/tcp_probe")
int BPF_PROG(ack_arrives, struct sock *sk, struct sk_buff *skb)
{
	struct metric_control *state;
	struct series_counts *sums;
	struct socket_met *before;
	struct tcp_sock *tp;

	/* most segments are data for a receiver, and leave here */
	if (!sk->sk_wmem_queued)
		return 0;
	state = control_now();
	tp = bpf_skc_to_tcp_sock(sk);
	if (!state || !tp || !tp->packets_out)
		return 0;
	before = meet(tp);
	if (!before)
		return 0;
	sums = counts_at(series_of_met(tp, before, state));
	if (!sums)
		return 0;
	add(&sums->acks, 1);
	if (has_sack(tp, skb))
		add(&sums->sack_acks, 1);
	if (tp->srtt_us) {
		observe(&sums->rtt_us, tp->srtt_us >> 3);
		observe_queueing(sums, tp);
	}
	observe(&sums->cwnd_pkts, tp->snd_cwnd);
	add_news(sums, tp, before);
	return 0;
}

static void count_opened(struct tcp_sock *tp, u8 begins, struct metric_control *state)
{
	const struct socket_met none = {};
	struct series_counts *sums;
	struct socket_met *before;

	/* from zero: what came with the handshake is new */
	before = bpf_sk_storage_get(&met, tp, (void *)&none, BPF_SK_STORAGE_GET_F_CREATE);
	if (!before)
		return;
	before->ops = 0;
	before->begins = begins;
	before->opened_ns = bpf_ktime_get_ns();
	sums = counts_at(series_of_met(tp, before, state));
	if (sums)
		add(&sums->opened, 1);
}

static __always_inline u32 age_ms(const struct socket_met *before)
{
	u64 age_ms = (bpf_ktime_get_ns() - before->opened_ns) / 1000000;

	return age_ms > 0xffffffff ? 0xffffffff : age_ms;
}

static __always_inline u32 size_of(u64 bytes)
{
	return bytes < 15000 ? 0 : bytes < 150000 ? 1 : bytes < 1500000 ? 2 : 3;
}

/* From the end of the handshake to the last acknowledgement */
static __always_inline void observe_completion(struct tcp_sock *tp, const struct socket_met *before)
{
	u64 opened_us = before->opened_ns / 1000, ended_us = tp->delivered_mstamp;
	u64 time_us = ended_us > opened_us ? ended_us - opened_us : 0;
	u32 bucket = fine_bucket_of(time_us > ~0U ? ~0U : time_us), size = size_of(tp->bytes_acked);
	u32 number = before->series;
	struct completion_counts *sums = bpf_map_lookup_elem(&completions, &number);

	if (!sums) {
		bpf_map_update_elem(&completions, &number, &no_completions, BPF_NOEXIST);
		sums = bpf_map_lookup_elem(&completions, &number);
	}
	barrier_var(bucket);
	barrier_var(size);
	if (sums && bucket < METRIC_TIME_BUCKETS && size < METRIC_SIZES)
		add(&sums->times_us[size][bucket], 1);
}

static __always_inline void count_for_experiment(struct tcp_sock *tp, struct socket_met *before)
{
	struct metric_experiment *experiment = bpf_map_lookup_elem(&experiments, &before->number);

	if (!experiment)
		return;
	if (experiment->has_clusters)
		give_to_cluster(tp, before);
	if (experiment->since_ns && before->opened_ns >= experiment->since_ns)
		observe_completion(tp, before);
}

static void count_closed(struct tcp_sock *tp, struct metric_control *state)
{
	struct socket_met *before = bpf_sk_storage_get(&met, tp, NULL, 0);
	struct series_counts *sums;

	sums = counts_at(before ? series_of_met(tp, before, state) : series_unmet(tp, state));
	if (!sums)
		return;
	add(&sums->closed, 1);
	if (!before)
		return;
	add_news(sums, tp, before);
	if (before->opened_ns)
		observe(&sums->life_ms, age_ms(before));
	count_for_experiment(tp, before);
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(state_changes, struct sock *sk, int from, int to)
{
	struct metric_control *state = control_now();
	struct tcp_sock *tp;

	if (to != TCP_ESTABLISHED && to != TCP_CLOSE)
		return 0;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp || !state)
		return 0;
	if (to == TCP_ESTABLISHED)
		count_opened(tp, from == TCP_SYN_SENT ? ACTIVE : PASSIVE, state);
	else if (from != TCP_SYN_SENT && from != TCP_SYN_RECV && from != TCP_LISTEN && from != TCP_CLOSE)
		count_closed(tp, state);
	return 0;
}

/* Called before the new state is in force; a timeout in Loss calls it again. */
SEC("tp_btf/tcp_cong_state_set")
int BPF_PROG(recovery_changes, struct sock *sk, u8 to)
{
	struct metric_control *state = control_now();
	struct series_counts *sums;
	struct socket_met *before;
	struct tcp_sock *tp;
	u8 from;

	if (to < TCP_CA_CWR)
		return 0;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp || !state)
		return 0;
	before = meet(tp);
	if (!before)
		return 0;
	sums = counts_at(series_of_met(tp, before, state));
	if (!sums)
		return 0;
	from = ca_state_of(tp);
	if (to == TCP_CA_Loss) {
		add(&sums->timeouts, 1);
		before->timeouts++;
	} else if (to == TCP_CA_Recovery && from != TCP_CA_Recovery) {
		add(&sums->loss_events, 1);
	} else if (to == TCP_CA_CWR && from != TCP_CA_CWR) {
		add(&sums->window_reductions, 1);
	}
	return 0;
}

SEC("tp_btf/kfree_skb")
int packet_dropped(u64 *ctx)
{
	u32 reason = (u32)ctx[2];
	u64 *count = bpf_map_lookup_elem(&drops, &reason);
	u64 one = 1;

	if (count)
		__sync_fetch_and_add(count, 1);
	else
		bpf_map_update_elem(&drops, &reason, &one, BPF_NOEXIST);
	return 0;
}

/* See METRIC_ECN_MODES. */
static __always_inline u32 ecn_mode_of(const struct tcp_sock *tp)
{
	return !!(tp->ecn_flags & TCP_ECN_OK) + 2 * !!(tp->ecn_flags & TCP_ECN_MODE_ACCECN);
}

static void add_present(struct series_present *sum, const struct tcp_sock *tp)
{
	u32 mode = ecn_mode_of(tp);

	sum->connections++;
	barrier_var(mode);
	if (mode < METRIC_ECN_MODES)
		sum->ecn_modes[mode]++;
	if (tp->rate_interval_us)
		sum->delivery_bytes_per_s += (u64)tp->rate_delivered * tp->mss_cache * 1000000 / tp->rate_interval_us;
}

/* One look at all sockets of a network namespace: what they have counted since, and how many there are. */
SEC("iter/tcp")
int look(struct bpf_iter__tcp *ctx)
{
	struct sock_common *skc = ctx->sk_common;
	struct metric_control *state = control_now();
	struct series_present *sum;
	struct series_counts *sums;
	struct socket_met *before;
	struct tcp_sock *tp;
	u32 number, bucket;

	if (!skc || !state || skc->skc_state == TCP_LISTEN)
		return 0;
	tp = bpf_skc_to_tcp_sock(skc);
	if (!tp)
		return 0;
	before = bpf_sk_storage_get(&met, tp, NULL, 0);
	number = before ? series_of_met(tp, before, state) : series_unmet(tp, state);
	sums = counts_at(number);
	sum = bpf_map_lookup_elem(&present, &number);
	if (!sums || !sum)
		return 0;
	if (before) {
		add_news(sums, tp, before);
		cluster(tp, before);
	}
	if (before && before->opened_ns) {
		bucket = bucket_of(age_ms(before));
		if (bucket >= METRIC_BUCKETS)
			bucket = METRIC_BUCKETS - 1;
		barrier_var(bucket);
		if (bucket < METRIC_BUCKETS)
			sum->ages_ms[bucket]++;
	}
	add_present(sum, tp);
	return 0;
}
