// SPDX-License-Identifier: GPL-2.0-only
/*
 * AIMD: additive increase, multiplicative decrease, with both constants as parameters.
 *
 * For      study: the smallest algorithm that comes to equal shares
 * Use      when you learn how an algorithm is written.
 * Not      when the path is long: it needs W / a round trips to be back after a loss.
 * Source   D.-M. Chiu, R. Jain, "Analysis of the Increase and Decrease Algorithms for Congestion Avoidance in Computer
 *          Networks", Computer Networks and ISDN Systems 17(1), 1989, section 3: linear controls.
 * Law      each round trip: W += a (a = 1); each loss event: W = b W (b = 1/2)
 * Why      Of the linear controls only this one comes to equal shares: growth is the same for all, and the decrease takes
 *          more from who has more.
 * Differs  From the paper: a window instead of a load, slow start at first, and losses instead of a bit of the network.
 * State    8 bytes of 104.
 * Range    a up to 16 packets, windows up to 2^20 packets: 2^14 * 2^20 = 2^34 for the credit of one ACK.
 */
#include "cc.h"

#define AIMD_PARAMS(P)                                                                                                 \
	P(CC_PARAM(increase_q10, 1024, 102, 16384, "1/1024 pkts/RTT", "a: growth per round trip"))                     \
	P(CC_PARAM(kept_q10, 512, 102, 1000, "1/1024", "b: share of the window kept on loss"))
CC_PARAMS(aimd, AIMD_PARAMS);

struct aimd_state {
	u64 credit_q10; /* packets times 1/1024, towards the next packet of window */
};
CC_STATE_STRUCT(aimd);

void CC_HOOK(aimd_init, struct sock *sk)
{
	CC_NEW_STATE(aimd, sk);
}

void CC_HOOK(aimd_cong_avoid, struct sock *sk, u32 ack, u32 acked_pkts)
{
	struct aimd_state *ca = CC_STATE(aimd, sk);

	acked_pkts = cc_begin_growth(sk, acked_pkts);
	if (acked_pkts)
		cc_additive_increase_q10(tcp_sk(sk), &ca->credit_q10, aimd_params()->increase_q10, acked_pkts);
}

u32 CC_HOOK(aimd_ssthresh, struct sock *sk)
{
	CC_STATE(aimd, sk)->credit_q10 = 0;
	return cc_ssthresh_floor((u64)tcp_sk(sk)->snd_cwnd * aimd_params()->kept_q10 >> 10);
}

CC_ALGORITHM(aimd,
	.init = CC_FN(aimd_init),
	.cong_avoid = CC_FN(aimd_cong_avoid),
	.ssthresh = CC_FN(aimd_ssthresh),
	.undo_cwnd = CC_FN(tcp_reno_undo_cwnd),
);
