// SPDX-License-Identifier: GPL-2.0-only
/*
 * A switch that marks: every n-th data packet of an ECN-capable flow goes on with "congestion experienced" (RFC 3168
 * section 5). Counting instead of a queue's length makes the share of marked packets exact.
 */
#include "kernel/bpf.h"

#define MARKER_DATA_BYTES 200 /* a frame shorter than this carries no data worth counting: a pure ACK, a SYN */

const volatile u32 mark_every SEC(".rodata") = 1;
u32 passed SEC(".bss.passed");

char _license[] SEC("license") = "GPL";

SEC("tc")
int marker(struct __sk_buff *packet)
{
	if (packet->len < MARKER_DATA_BYTES)
		return TC_ACT_OK;
	if (__sync_fetch_and_add(&passed, 1) % mark_every == mark_every - 1)
		bpf_skb_ecn_set_ce(packet); /* packets of other flows, which are not ECN-capable, it leaves alone */
	return TC_ACT_OK;
}
