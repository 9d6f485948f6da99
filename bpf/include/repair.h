/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Windows and thresholds that nobody can have meant, and what takes their place.
 *
 * Kernels of some sandboxes leave a BPF program out now and then (docs/reference/kernel-matrix.md). Where that is ssthresh or
 * undo_cwnd, the core takes for the answer what lies on its stack, mostly half of an address: it makes a window of 10^8
 * packets of it, or none at all (a rate reduction by a threshold above 2^31 is negative). On such a kernel the hooks of
 * the same ACK are left out together, so no hook can prevent it. The next one that runs puts it right before it does
 * anything else, and before the core reduces the window again. CC_HOOK calls cc_repair_window in every hook, and
 * CC_REGISTER gives an algorithm that has none for each ACK one that does nothing else.
 *
 * Possible   1 <= snd_cwnd <= 2^20; 2 <= snd_ssthresh <= 2^20 + 1, or infinite. The simulator never leaves this range.
 * Answer     Reno's: half of the window before the reduction, or that window where it was to be undone
 */
#ifndef CCCTL_REPAIR_H
#define CCCTL_REPAIR_H

#include "fixed.h"

/* 1 <= cwnd <= 2^20 */
CC_WRAPS CC_INLINE bool cc_cwnd_possible(u32 cwnd_pkts)
{
	return cwnd_pkts - 1 < CC_CWND_MAX_PKTS;
}

/* As ssthresh would have answered. Without a reduction so far there was nothing to ask it for. */
CC_INLINE u32 cc_repaired_ssthresh_pkts(const struct tcp_sock *tp)
{
	if (!tp->prior_cwnd)
		return TCP_INFINITE_SSTHRESH;
	if (cc_cwnd_possible(tp->prior_cwnd))
		return cc_max(tp->prior_cwnd >> 1, 2);
	return cc_clamp(tp->packets_out >> 1, 2, CC_CWND_MAX_PKTS);
}

/* As undo_cwnd would have answered; a window that is in use and has grown too far stays at the limit. */
CC_INLINE u32 cc_repaired_cwnd_pkts(const struct tcp_sock *tp)
{
	u32 prior = cc_cwnd_possible(tp->prior_cwnd) ? tp->prior_cwnd : TCP_INIT_CWND;

	return cc_min(cc_max(prior, tp->packets_out), CC_CWND_MAX_PKTS);
}

CC_WRAPS CC_INLINE void cc_repair_window(struct tcp_sock *tp)
{
	u32 ssthresh = tp->snd_ssthresh, cwnd = tp->snd_cwnd;

	if (((cwnd - 1) | (ssthresh - 2)) < CC_CWND_MAX_PKTS)
		return; /* both are possible */
	if (ssthresh == TCP_INFINITE_SSTHRESH && cc_cwnd_possible(cwnd))
		return; /* before the first reduction */
	if (ssthresh - 2 >= CC_CWND_MAX_PKTS && ssthresh != TCP_INFINITE_SSTHRESH) {
		ssthresh = cc_repaired_ssthresh_pkts(tp);
		tp->snd_ssthresh = ssthresh;
		cwnd = cwnd ? cc_min(cwnd, ssthresh) : ssthresh;
	}
	tp->snd_cwnd = cc_cwnd_possible(cwnd) ? cwnd : cc_repaired_cwnd_pkts(tp);
}

#endif
