// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two hooks which each ACK calls and which do nothing. What the kernel's statistics read for these is what they read for any
 * hook before it has done anything: their own two readings of the clock. For paths that hold the window: it never grows.
 */
#include "cc.h"

#define EMPTY_HOOKS_PARAMS(P)                                                                                          \
	P(CC_PARAM(kept_q10, 512, 1, 1024, "1/1024", "share of the window kept on loss (the loader wants a parameter)"))
CC_PARAMS(empty_hooks, EMPTY_HOOKS_PARAMS);

void CC_HOOK(empty_hooks_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
}

void CC_HOOK(empty_hooks_cong_avoid, struct sock *sk, u32 ack, u32 acked_pkts)
{
}

u32 CC_HOOK(empty_hooks_ssthresh, struct sock *sk)
{
	return cc_ssthresh_floor((u64)tcp_sk(sk)->snd_cwnd * empty_hooks_params()->kept_q10 >> 10);
}

CC_REGISTER(empty_hooks, "bpf_empty", 0,
	.cong_avoid = CC_FN(empty_hooks_cong_avoid),
	.ssthresh = CC_FN(empty_hooks_ssthresh),
	.pkts_acked = CC_FN(empty_hooks_pkts_acked),
	.undo_cwnd = CC_FN(tcp_reno_undo_cwnd),
);
