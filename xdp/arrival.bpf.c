// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The ACK clock's first hand: stamps each arriving ACK with its time, and counts it.
 *
 * Every ACK is counted; reading the clock for each would cost more than all the rest, so one in so many is stamped.
 *
 * Only ACKs are stamped. GRO does not merge packets whose metadata differs, so a stamp on data segments would cost a
 * receiver its GRO; ACKs are never merged there.
 *
 * XDP writes the stamp into packet metadata (struct arrival_stamp). tc ingress has no metadata to write; there the time
 * goes into skb->tstamp, unless somebody has asked for receive time stamps: then that field is theirs. Nobody but the
 * clock reads it of a segment without payload. Its last four bits are the stamp's notes: the time is exact to 16 ns.
 *
 * Loaded once for each interface. Every program passes every packet on, to the next program if there is one.
 */
#include "ack_clock.h"
#include "packet.h"

#define NO_STAMP (-1)

#define HEADERS_MAX_BYTES 128 /* what tc programs are given in one piece, at least, where the packet has it */

char _license[] SEC("license") = "GPL";

const volatile u32 stamp_mask = 0; /* 0: stamp every ACK; 7: one in 8 */

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, u32);
	__type(value, struct arrival_counts);
	__uint(max_entries, 1);
} arrivals SEC(".maps");

static __always_inline struct arrival_counts *counts_here(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&arrivals, &zero);
}

static __always_inline void count_ack(struct arrival_counts *counts, u32 blocks)
{
	counts->acks++;
	counts->sack_blocks[sack_index(blocks)]++;
}

static __always_inline struct frame xdp_frame(const struct xdp_md *ctx)
{
	return (struct frame){ .data = (const u8 *)(long)ctx->data, .end = (const u8 *)(long)ctx->data_end };
}

/*
 * What the stamp is to say, or NO_STAMP. By chance and not by turns: ACKs come in bursts of round numbers. Numerical
 * Recipes' generator, of which the high bits are good; the count of ACKs is all the state it needs.
 */
static __always_inline int notes_for(const struct arrival_counts *counts, u32 blocks)
{
	u32 random = (u32)counts->acks * 2654435761u;

	random = random * 1664525u + 1013904223u;
	if (!((random >> 20) & stamp_mask))
		return (int)blocks;
	return blocks ? (int)(blocks | ACK_NOTE_UNTIMED) : NO_STAMP;
}

static __always_inline bool put_stamp(struct xdp_md *ctx, u32 notes)
{
	struct arrival_stamp *stamp;

	if (bpf_xdp_adjust_meta(ctx, -(int)sizeof(*stamp)))
		return false;
	stamp = (void *)(long)ctx->data_meta;
	if ((void *)(stamp + 1) > (void *)(long)ctx->data)
		return false;
	stamp->arrived_ns = bpf_ktime_get_ns();
	stamp->magic = ACK_STAMP_MAGIC;
	stamp->notes = notes;
	return true;
}

SEC("xdp.frags")
int stamp_at_xdp(struct xdp_md *ctx)
{
	struct frame frame = xdp_frame(ctx);
	struct arrival_counts *counts;
	int blocks = parse_ack(&frame);
	int notes;

	if (blocks == NO_ACK)
		return XDP_PASS;
	counts = counts_here();
	if (!counts)
		return XDP_PASS;
	count_ack(counts, blocks);
	notes = notes_for(counts, blocks);
	if (notes == NO_STAMP)
		return XDP_PASS;
	if (put_stamp(ctx, notes))
		counts->stamped++;
	else
		counts->unstamped++;
	return XDP_PASS;
}

/* Behind XDP and receive packet steering: what has a stamp has not been dropped in between. */
static __always_inline bool has_stamp(const struct __sk_buff *skb)
{
	const struct arrival_stamp *stamp = (const void *)(long)skb->data_meta;

	return (const void *)(stamp + 1) <= (const void *)(long)skb->data && stamp->magic == ACK_STAMP_MAGIC;
}

SEC("classifier")
int count_at_tc(struct __sk_buff *skb)
{
	struct arrival_counts *counts;

	if (!has_stamp(skb))
		return TC_ACT_UNSPEC;
	counts = counts_here();
	if (counts)
		counts->reached_tc++;
	return TC_ACT_UNSPEC;
}

static __always_inline struct frame tc_frame(struct __sk_buff *skb)
{
	return (struct frame){ .data = (const u8 *)(long)skb->data, .end = (const u8 *)(long)skb->data_end };
}

/* The earliest stamp stays: that of a lower device, such as the port of a bridge, or of another clock. */
static __always_inline bool is_stamped(const struct __sk_buff *skb, u64 now)
{
	return has_stamp(skb) || (skb->tstamp && skb->tstamp <= now);
}

SEC("classifier")
int stamp_at_tc(struct __sk_buff *skb)
{
	struct arrival_counts *counts;
	struct frame frame;
	int blocks, notes;
	u64 now;

	frame = tc_frame(skb);
	if (frame.end - frame.data < HEADERS_MAX_BYTES && frame.end - frame.data < skb->len) {
		bpf_skb_pull_data(skb, skb->len < HEADERS_MAX_BYTES ? skb->len : HEADERS_MAX_BYTES);
		frame = tc_frame(skb);
	}
	blocks = parse_ack(&frame);
	if (blocks == NO_ACK)
		return TC_ACT_UNSPEC;
	counts = counts_here();
	if (!counts)
		return TC_ACT_UNSPEC;
	count_ack(counts, blocks);
	notes = notes_for(counts, blocks);
	if (notes == NO_STAMP)
		return TC_ACT_UNSPEC;
	now = bpf_ktime_get_ns();
	if (is_stamped(skb, now))
		return TC_ACT_UNSPEC;
	if (skb->tstamp) {
		counts->unstamped++;
		return TC_ACT_UNSPEC;
	}
	skb->tstamp = (now & ~(u64)ACK_NOTES) | (u32)notes;
	counts->stamped++;
	return TC_ACT_UNSPEC;
}
