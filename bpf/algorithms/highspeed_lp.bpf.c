// SPDX-License-Identifier: GPL-2.0-only
/*
 * HSTCP-LP: HighSpeed TCP that takes only the capacity that other flows leave.
 *
 * For      study: background transfers on fast and long paths
 * Use      when bulk data must yield on a path where one packet a round trip regains capacity too slowly (else: lp).
 * Not      when the transfer has a deadline, or delays are noisy. No kernel has it to compare with.
 * Source   A. Kuzmanovic, E. Knightly, R. L. Cottrell, "HSTCP-LP: a protocol for low-priority bulk data transfer in
 *          high-speed high-RTT networks", PFLDnet 2004; lp.h has the indication, hstcp.h the response function.
 * Law      each window acked: W += a(W); loss: W -= b(W) W; at the first early indication W = W / 2 and no growth for
 *          3 RTT; at one within these W = 1
 * Why      What is left over on a fast and long path is worth little to a flow that regains it by one packet a round trip.
 * Differs  Indications as in lp, and for the same reasons: kept delay range, lowered ssthresh, RTT where time stamps do
 *          not serve, nothing of delayed ACKs, nothing of less than two own packets in the queue. The decrease at an
 *          indication is Reno's half; yield=hstcp makes it b(W). The response function is the table of RFC 3649.
 *          Indications count outside recovery only, and drop the credit of growth. Linux has no HSTCP-LP.
 * State    64 bytes of 104.
 * Range    windows up to 2^20 packets, delays up to 268 s.
 */
#include "hstcp.h"
#include "lp.h"

#define HIGHSPEED_LP_PARAMS(P)                                                                                         \
	LOWPRIO_PARAMS(P)                                                                                              \
	P(CC_VARIANT(CC_CHOICE(yield, 0, 1, "half|hstcp",                                                              \
			       "share of the window given up at the first indication: a half, or b(W)")))
CC_PARAMS(highspeed_lp, HIGHSPEED_LP_PARAMS);

struct highspeed_lp_state {
	u64 credit_q10;
	struct lowprio_delay delay;
	u8 row; /* of the window at the last ACK; a(W) = row + 1 */
};
CC_STATE_STRUCT(highspeed_lp);

void CC_HOOK(highspeed_lp_init, struct sock *sk)
{
	lowprio_init(&CC_NEW_STATE(highspeed_lp, sk)->delay, LOWPRIO(highspeed_lp_params()));
}

void CC_HOOK(highspeed_lp_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	const struct highspeed_lp_params *p = highspeed_lp_params();
	struct highspeed_lp_state *ca = CC_STATE(highspeed_lp, sk);
	u32 cwnd = tcp_sk(sk)->snd_cwnd;

	if (!lowprio_indicates(&ca->delay, sk, LOWPRIO(p), sample))
		return;
	ca->credit_q10 = 0;
	lowprio_yield(&ca->delay, sk, LOWPRIO(p), p->yield ? hstcp_kept_pkts(&hstcp_rfc3649, cwnd) : cwnd >> 1);
}

void CC_HOOK(highspeed_lp_cong_avoid, struct sock *sk, u32 ack, u32 acked_pkts)
{
	struct highspeed_lp_state *ca = CC_STATE(highspeed_lp, sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (lowprio_is_inferring(&ca->delay, sk))
		return;
	acked_pkts = cc_begin_growth(sk, acked_pkts);
	if (!acked_pkts)
		return;
	ca->row = hstcp_row_from(&hstcp_rfc3649, ca->row, tp->snd_cwnd);
	cc_additive_increase_q10(tp, &ca->credit_q10, (ca->row + 1ULL) << 10, acked_pkts);
}

u32 CC_HOOK(highspeed_lp_ssthresh, struct sock *sk)
{
	CC_STATE(highspeed_lp, sk)->credit_q10 = 0;
	return cc_ssthresh_floor(hstcp_kept_pkts(&hstcp_rfc3649, tcp_sk(sk)->snd_cwnd));
}

CC_REGISTER(highspeed_lp, "bpf_hstcp_lp", 0,
	.init = CC_FN(highspeed_lp_init),
	.pkts_acked = CC_FN(highspeed_lp_pkts_acked),
	.cong_avoid = CC_FN(highspeed_lp_cong_avoid),
	.ssthresh = CC_FN(highspeed_lp_ssthresh),
	.undo_cwnd = CC_FN(tcp_reno_undo_cwnd),
);
