// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hybla: the growth of a short path for connections over a long one, such as a satellite's.
 *
 * For      study: long paths such as a satellite's
 * Use      when a sender serves a long path that no flows of short RTT share.
 * Not      when RTTs are 25 ms or less, where it is Reno, or the queue is short: slow start grows by 2^rho - 1 per packet
 *          acked, in bursts.
 * Source   C. Caini, R. Firrincieli, "TCP Hybla: a TCP enhancement for heterogeneous networks", International Journal of
 *          Satellite Communications and Networking 22(5), 2004; Linux tcp_hybla.c.
 * Law      rho = max(RTT / RTT_0, 1), RTT_0 = 25 ms; each packet acked: W += 2^rho - 1 in slow start, rho^2 / W after it;
 *          loss: Reno
 * Why      Reno's rate falls with the square of the RTT; rho^2 per window and 2^rho undo exactly that.
 * Differs  The connection starts with the kernel's window (Linux: rho packets) and the kernel's limit (Linux: 65,535).
 *          rho follows the smallest RTT, Linux's the smallest smoothed RTT. Only in Open does it grow so, else as Reno.
 *          Growth is per packet acked; Linux's is per ACK (per_ack=on), so that with delayed ACKs it is half as fast. One
 *          ACK at most doubles the window in congestion avoidance; pacing is advised for long paths.
 * State    24 bytes of 104.
 * Range    rho up to 400 (RTT 10 s): rho^2 < 2^18; exponent of slow start held at 16.
 */
#include "rtt.h"

#define HYBLA_PARAMS(P)                                                                                                \
	P(CC_PARAM(rtt0_us, 25000, 1000, 1000000, "us", "RTT_0: the RTT whose growth is the aim"))                     \
	P(CC_VARIANT(CC_SWITCH(per_ack, 0,                                                                             \
			       "growth for each ACK as for one packet, however many it acknowledges (Linux: on)")))
CC_PARAMS(hybla, HYBLA_PARAMS);

struct hybla_state {
	u64 credit_q10;
	u32 min_rtt_us CC_NONE(0, "no RTT yet");
	u32 rho_q3;
	u8 slow_start_rest_q7; /* fraction of a packet left over in slow start */
};
CC_STATE_STRUCT(hybla);

/* The ACK of the SYN has come before: its RTT may stay the smallest for long, and rho is that of it. */
void CC_HOOK(hybla_init, struct sock *sk)
{
	struct hybla_state *ca = CC_STATE(hybla, sk);

	ca->rho_q3 = cc_max(ca->rho_q3, 1 << 3);
}

void CC_HOOK(hybla_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct hybla_state *ca = CC_STATE(hybla, sk);
	u32 rtt_us;

	if (sample->rtt_us < 0)
		return;
	rtt_us = cc_clamp(sample->rtt_us, 1, 10000000);
	if (ca->min_rtt_us && rtt_us >= ca->min_rtt_us)
		return;
	ca->min_rtt_us = rtt_us;
	ca->rho_q3 = cc_max(cc_div((u64)rtt_us << 3, hybla_params()->rtt0_us), 1 << 3);
}

/*
 * 2^(eighths / 8) in Q7 for eighths 0 to 7: 128, 140, 152, 166, 181, 197, 215, 235; rounded, where Linux cuts them
 * down. One number, a byte
 * each: clang would put an array into a section that libbpf refuses.
 */
CC_INLINE u32 hybla_power_q7(u32 eighths)
{
	return (0xebd7c5b5a6988c80ULL >> (8 * (eighths & 7))) & 0xff;
}

/* 2^rho - 1 packets for each packet acked, no further than ssthresh; returns nothing over for congestion avoidance */
CC_INLINE void hybla_slow_start(struct hybla_state *ca, struct tcp_sock *tp, u32 acked_pkts)
{
	u32 whole = cc_min(ca->rho_q3 >> 3, 16);
	u64 increase_q7 = ((u64)hybla_power_q7(ca->rho_q3) << whole) - 128;
	u64 total_q7 = increase_q7 * acked_pkts + ca->slow_start_rest_q7;

	ca->slow_start_rest_q7 = total_q7 & 127;
	cc_set_cwnd(tp, cc_min(tp->snd_cwnd + (total_q7 >> 7), tp->snd_ssthresh));
}

void CC_HOOK(hybla_cong_avoid, struct sock *sk, u32 ack, u32 acked_pkts)
{
	struct hybla_state *ca = CC_STATE(hybla, sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (CC_BITFIELD(inet_csk(sk), icsk_ca_state) != TCP_CA_Open) {
		cc_reno_grow(tp, acked_pkts);
		return;
	}
	if (hybla_params()->per_ack)
		acked_pkts = 1;
	if (tcp_in_slow_start(tp))
		hybla_slow_start(ca, tp, acked_pkts);
	else /* rho^2: Q3 times Q3 is Q6 */
		cc_additive_increase_q10(tp, &ca->credit_q10, (u64)ca->rho_q3 * ca->rho_q3 << 4, acked_pkts);
}

u32 CC_HOOK(hybla_ssthresh, struct sock *sk)
{
	CC_STATE(hybla, sk)->credit_q10 = 0;
	return cc_half_cwnd_pkts(tcp_sk(sk));
}

CC_ALGORITHM(hybla,
	.init = CC_FN(hybla_init),
	.cong_avoid = CC_FN(hybla_cong_avoid),
	.ssthresh = CC_FN(hybla_ssthresh),
	.pkts_acked = CC_FN(hybla_pkts_acked),
	.undo_cwnd = CC_FN(tcp_reno_undo_cwnd),
);
