// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The ACK clock's second hand: how long an ACK waited before TCP saw it, how long TCP worked on it, and what was dropped.
 *
 * There are two pairs of start and end, which are of the same CPU and task:
 *
 * ack_enters, ack_returns   fentry and fexit of tcp_ack(), where the kernel lets programs trace functions. Of the data that
 *                           a receiver gets, only what leaves the fast path comes there.
 * input_starts, ack_freed   tp_btf/tcp_probe fires at the beginning of tcp_rcv_established(), for data too; the ACK's
 *                           sk_buff goes back to its cache. tcp_rcv_established() frees a segment without payload right
 *                           after tcp_ack(), before it sends what the ACK has made room for. Needs no permission beyond
 *                           tracepoints; costs a comparison at every object freed on the machine.
 *
 * ACKs wait in a socket's backlog while an application holds the socket. The kernel merges them there and counts in
 * gso_segs how many one sk_buff stands for.
 */
#include "ack_clock.h"
#include "kernel/skb.h"
#include "socket_read.h"
#include "tcp_options.h"

#define TCP_HEADER_MAX_BYTES 60
#define STAMP_AGE_MAX_NS 60000000000ULL
#define SLOT_PROBES 8
#define FLAG_DATA 0x01 /* of tcp_ack(): a payload, which skb->data points to by then */
#define SHARED_INFO_BYTES 32 /* where meta_len and gso_segs are */

char _license[] SEC("license") = "GPL";

const volatile struct clock_settings settings = {};

/* A table with open addressing: each processor puts algorithms where it finds room. No hash of the kernel's is as fast. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, u32);
	__type(value, struct algorithm_counts);
	__uint(max_entries, ACK_ALGORITHM_SLOTS);
} algorithms SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__type(key, struct drop_key);
	__type(value, u64);
	__uint(max_entries, 1024);
} drops SEC(".maps");

/* The ACK that this CPU works on */
struct current_ack {
	u64 skb; /* 0: none */
	u64 task;
	u64 started_ns;
	u32 slot;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, u32);
	__type(value, struct current_ack);
	__uint(max_entries, 1);
} current_acks SEC(".maps");

static __always_inline void *here(void *map)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(map, &zero);
}

/* Where this processor counts for the algorithm; NULL where the table is too full for one more. */
static __always_inline struct algorithm_counts *counts_of(const struct tcp_congestion_ops *ops, u32 *slot)
{
	struct algorithm_counts *counts;
	u32 key = ops->key;

	*slot = key;
	for (int probe = 0; probe < SLOT_PROBES; probe++, ++*slot) {
		*slot &= ACK_ALGORITHM_SLOTS - 1;
		counts = bpf_map_lookup_elem(&algorithms, slot);
		if (!counts)
			return NULL;
		if (counts->key == key)
			return counts;
		if (!counts->name[0]) {
			bpf_probe_read_kernel(counts->name, sizeof(counts->name), &ops->name);
			counts->key = key;
			return counts;
		}
	}
	return NULL;
}

/* Position of the highest bit, by halves */
static __always_inline u32 log2_of(u64 value)
{
	u32 log = 0;

	for (u32 half = 32; half; half >>= 1) {
		if (value >> half) {
			value >>= half;
			log += half;
		}
	}
	return log;
}

/* 4 buckets in each power of two: the two bits behind the highest one choose. */
static __always_inline u32 bucket_of(u64 ns)
{
	u32 log, bucket;

	if (ns < ACK_BUCKETS_PER_OCTAVE)
		return ns;
	log = log2_of(ns);
	bucket = (log - 1) * ACK_BUCKETS_PER_OCTAVE + ((ns >> (log - 2)) & 3);
	return bucket < ACK_BUCKETS ? bucket : ACK_BUCKETS - 1;
}

static __always_inline void add_time(struct ack_times *times, u64 ns)
{
	u32 bucket = bucket_of(ns);

	times->count++;
	times->sum_ns += ns;
	if (ns > times->max_ns)
		times->max_ns = ns;
	if (ns > settings.slow_ns)
		times->slow++;
	if (bucket < ACK_BUCKETS)
		times->buckets[bucket]++;
}

/* meta_len and gso_segs lie in the first bytes of skb_shared_info, behind the packet's buffer. */
struct shared_info {
	u8 meta_len;
	u16 gso_segs;
};

static __always_inline struct shared_info read_shared_info(const struct sk_buff *skb)
{
	u8 bytes[SHARED_INFO_BYTES] = {};
	u32 meta = bpf_core_field_offset(struct skb_shared_info, meta_len);
	u32 segs = bpf_core_field_offset(struct skb_shared_info, gso_segs);

	bpf_probe_read_kernel(bytes, sizeof(bytes), skb->head + skb->end);
	if (meta >= SHARED_INFO_BYTES || segs >= SHARED_INFO_BYTES - 1)
		return (struct shared_info){};
	return (struct shared_info){ .meta_len = bytes[meta], .gso_segs = *(u16 *)(bytes + segs) };
}

/* The stamp that XDP or tc left, if one did */
static __always_inline bool read_stamp(const struct sk_buff *skb, const struct shared_info *shared, u64 now,
				       struct arrival_stamp *stamp)
{
	u64 time = skb->tstamp;

	if (time && time <= now && now - time < STAMP_AGE_MAX_NS) {
		stamp->arrived_ns = time & ~(u64)ACK_NOTES;
		stamp->notes = time & ACK_NOTES;
		return true;
	}
	if (shared->meta_len < sizeof(*stamp))
		return false;
	bpf_probe_read_kernel(stamp, sizeof(*stamp), skb->head + skb->mac_header - sizeof(*stamp));
	return stamp->magic == ACK_STAMP_MAGIC && stamp->arrived_ns <= now;
}

/* RFC 5681: the acknowledgement number of the last one, data outstanding, no payload, the same window */
static __always_inline bool is_duplicate(const struct tcp_sock *tp, const u8 *header)
{
	u32 ack_seq = bpf_ntohl(*(u32 *)(header + 8));
	u32 window = bpf_ntohs(*(u16 *)(header + 14));

	if (!tp->packets_out || ack_seq != tp->snd_una)
		return false;
	return window << BPF_CORE_READ_BITFIELD(tp, rx_opt.snd_wscale) == tp->snd_wnd;
}

static __always_inline void count_arrival(struct algorithm_counts *counts, const struct sk_buff *skb, u64 now)
{
	struct shared_info shared = read_shared_info(skb);
	struct arrival_stamp stamp = {};

	if (shared.gso_segs > 1)
		counts->coalesced += shared.gso_segs - 1;
	if (!read_stamp(skb, &shared, now, &stamp)) {
		counts->unstamped++;
		return;
	}
	counts->sack_blocks[sack_index(stamp.notes)]++;
	if (!(stamp.notes & ACK_NOTE_UNTIMED))
		add_time(&counts->waiting, now - stamp.arrived_ns);
}

static __always_inline void start(struct sock *sk, struct sk_buff *skb)
{
	u8 header[16] __attribute__((aligned(8)));
	struct algorithm_counts *counts;
	struct current_ack *ack;
	struct tcp_sock *tp;
	u32 slot;
	u64 now;

	if (skb->len > TCP_HEADER_MAX_BYTES || sk->__sk_common.skc_net.net->ns.inum != settings.netns_inum)
		return;
	now = bpf_ktime_get_ns();
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp || bpf_probe_read_kernel(header, sizeof(header), skb->data))
		return;
	if ((header[12] >> 4) * 4 != skb->len || header[13] & 7) /* a payload; SYN, FIN or RST */
		return;
	counts = counts_of(tp->inet_conn.icsk_ca_ops, &slot);
	ack = here(&current_acks);
	if (!counts || !ack)
		return;
	counts->acks++;
	if (is_duplicate(tp, header))
		counts->duplicate_acks++;
	count_arrival(counts, skb, now);
	ack->skb = (u64)skb;
	ack->task = bpf_get_current_task();
	ack->slot = slot;
	ack->started_ns = now;
}

SEC("tp_btf/tcp_probe")
int BPF_PROG(input_starts, struct sock *sk, struct sk_buff *skb)
{
	start(sk, skb);
	return 0;
}

/* tcp_rcv_established() is for this state alone. */
SEC("fentry/tcp_ack")
int BPF_PROG(ack_enters, struct sock *sk, struct sk_buff *skb, int flag)
{
	if (!(flag & FLAG_DATA) && sk->__sk_common.skc_state == TCP_ESTABLISHED)
		start(sk, skb);
	return 0;
}

static __always_inline void input_ended(u64 skb)
{
	struct current_ack *ack = here(&current_acks);
	struct algorithm_counts *counts;

	if (!ack || !skb || ack->skb != skb)
		return;
	ack->skb = 0;
	if (ack->task != bpf_get_current_task())
		return;
	counts = bpf_map_lookup_elem(&algorithms, &ack->slot);
	if (counts)
		add_time(&counts->processing, bpf_ktime_get_ns() - ack->started_ns);
}

SEC("fexit/tcp_ack")
int BPF_PROG(ack_returns, struct sock *sk, struct sk_buff *skb)
{
	input_ended((u64)skb);
	return 0;
}

SEC("tp_btf/kmem_cache_free")
int BPF_PROG(ack_freed, unsigned long call_site, const void *object)
{
	input_ended((u64)object);
	return 0;
}

/* The namespace of a dropped packet: its socket's, else its device's; false where neither is known */
static __always_inline bool is_elsewhere(const struct sk_buff *skb, const struct sock *sk)
{
	const struct net_device *device = skb->dev;

	if (sk)
		return sk->__sk_common.skc_net.net->ns.inum != settings.netns_inum;
	return !device || device->nd_net.net->ns.inum != settings.netns_inum;
}

SEC("tp_btf/kfree_skb")
int packet_dropped(u64 *ctx)
{
	const struct sk_buff *skb;
	struct drop_key key = {};
	struct tcp_sock *tp;
	struct sock *sk;
	u64 *count, one = 1;

	skb = (const struct sk_buff *)ctx[0];
	key.reason = (u32)ctx[2];
	if (settings.drop_has_socket)
		sk = (struct sock *)ctx[3];
	else
		sk = skb->sk;
	if (sk) {
		tp = bpf_skc_to_tcp_sock(sk);
		if (tp)
			read_algorithm(tp, key.algorithm);
	}
	key.elsewhere = is_elsewhere(skb, sk);
	count = bpf_map_lookup_elem(&drops, &key);
	if (count)
		++*count;
	else
		bpf_map_update_elem(&drops, &key, &one, BPF_NOEXIST);
	return 0;
}
