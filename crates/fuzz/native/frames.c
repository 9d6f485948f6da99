// SPDX-License-Identifier: GPL-2.0-only
/*
 * The programs of xdp/arrival.bpf.c as functions of this process, and what the kernel does around them.
 *
 * Contexts hold addresses of 32 bits, so frames lie in the first 2 GB. The part of a frame that a program may read ends where a
 * page without access begins: one byte too many is a fault.
 */
#include "arrival.bpf.c"

#define META_BYTES_MAX 64

/* What a program is run on, and what it left. The Rust side has the same struct. */
struct frame_run {
	const u8 *frame;
	u8 *room_end; /* before it is room for the frame and its metadata, behind it a page without access */
	u32 frame_bytes;
	u32 linear_bytes; /* of these, in the first buffer of the driver, or in the head of the sk_buff */
	u32 meta_bytes; /* room for metadata at XDP; metadata at tc */
	u8 meta[META_BYTES_MAX];
	u64 now_ns;
	u64 tstamp;
	/* afterwards */
	int verdict;
	u32 changed; /* bytes of the frame that are not what they were */
	struct arrival_counts counts;
};

static struct frame_run *current_run;

static u32 address(const u8 *at)
{
	return (u32)(unsigned long)at;
}

/* Puts so many bytes of the frame, and the metadata before them, where programs read them. */
static u8 *place(u32 bytes)
{
	u8 *data = current_run->room_end - bytes;

	__builtin_memcpy(data, current_run->frame, bytes);
	__builtin_memcpy(data - current_run->meta_bytes, current_run->meta, current_run->meta_bytes);
	return data;
}

static u32 changed_bytes(const u8 *data, const u8 *end)
{
	u32 changed = 0;

	for (u32 at = 0; data + at < end; at++)
		changed += data[at] != current_run->frame[at];
	return changed;
}

static void *bpf_map_lookup_elem(void *map, const void *key)
{
	return map == &arrivals && *(const u32 *)key == 0 ? &current_run->counts : NULL;
}

static u64 bpf_ktime_get_ns(void)
{
	return current_run->now_ns;
}

static long bpf_loop(u32 count, void *step, void *context, u64 flags)
{
	long (*function)(u32, void *) = step;
	u32 at = 0;

	while (at < count && !function(at, context))
		at++;
	return at;
}

/* As bpf_xdp_adjust_meta() of net/core/filter.c: metadata ends where the frame begins. */
static long bpf_xdp_adjust_meta(struct xdp_md *ctx, int delta)
{
	u32 meta = ctx->data_meta + (u32)delta;

	if (meta > ctx->data || ctx->data - meta > current_run->meta_bytes || (ctx->data - meta) % 4)
		return -1;
	ctx->data_meta = meta;
	return 0;
}

/* As skb_ensure_writable(): so many bytes in one piece, or an error and no change. */
static long bpf_skb_pull_data(struct __sk_buff *skb, u32 bytes)
{
	u8 *data;

	if (bytes > skb->len)
		return -1;
	if (bytes <= skb->data_end - skb->data)
		return 0;
	data = place(bytes);
	skb->data = address(data);
	skb->data_meta = skb->data - current_run->meta_bytes;
	skb->data_end = address(data) + bytes;
	return 0;
}

/* stamp_at_xdp(); `meta` then has what is in the room for metadata. */
void frames_run_xdp(struct frame_run *run)
{
	struct xdp_md ctx;
	u8 *data;

	current_run = run;
	data = place(run->linear_bytes);
	ctx = (struct xdp_md){ .data = address(data), .data_end = address(run->room_end), .data_meta = address(data) };
	run->verdict = stamp_at_xdp(&ctx);
	run->changed = changed_bytes(data, run->room_end);
	__builtin_memcpy(run->meta, data - run->meta_bytes, run->meta_bytes);
}

/* count_at_tc() or stamp_at_tc() */
static void run_tc(struct frame_run *run, int (*program)(struct __sk_buff *))
{
	struct __sk_buff skb = { .len = run->frame_bytes, .tstamp = run->tstamp };
	u8 *data;

	current_run = run;
	data = place(run->linear_bytes);
	skb.data = address(data);
	skb.data_meta = skb.data - run->meta_bytes;
	skb.data_end = address(run->room_end);
	run->verdict = program(&skb);
	run->changed = changed_bytes((const u8 *)(unsigned long)skb.data, run->room_end);
	run->tstamp = skb.tstamp;
}

void frames_run_count(struct frame_run *run)
{
	run_tc(run, count_at_tc);
}

void frames_run_tc(struct frame_run *run)
{
	run_tc(run, stamp_at_tc);
}
