// SPDX-License-Identifier: GPL-2.0-only
/*
 * HighSpeed TCP: AIMD whose increase and decrease depend on the window.
 *
 * For      study: windows of thousands of packets at low loss rates
 * Use      when you compare with RFC 3649, an experimental standard.
 * Not      when Reno flows share the path at low loss rates: it takes more than they do, by its response function.
 * Source   S. Floyd, "HighSpeed TCP for Large Congestion Windows", RFC 3649; hstcp.h has formulas and table.
 * Law      each window acked: W += a(W); loss: W -= b(W) W; Reno (a = 1, b = 1/2) up to low_window_pkts
 * Why      A response function of W = 0.12 / p^0.835 makes 10 Gbit/s reachable at loss rates that real paths have,
 *          and leaves the behaviour at loss rates above 10^-3, where Reno lives, as it was.
 * Differs  From Linux: a(W) is earned per packet acked. Linux adds it per ACK (per_ack=on), so that with delayed ACKs it
 *          grows at half the speed (12, 6, 3 packets a round trip at W = 2000 for 1, 2, 4 packets an ACK). Linux also
 *          drops what an ACK has left over after slow start, and decreases by the row of the last window in congestion
 *          avoidance, which after a slow start is an old one: often half. With 40 ms and 100 kB five Linux flows send
 *          188 packets again where profile linux sends 216. The table is Linux's, with one more row above 89,053 packets.
 * State    16 bytes of 104.
 * Range    windows up to 2^20 packets; above 1.2 High_Window (99,600) a and b stay what they are there.
 */
#include "hstcp.h"

#define HIGHSPEED_PARAMS(P)                                                                                            \
	P(CC_VARIANT(CC_CHOICE(table, 0, 1, "rfc3649|even2006",                                                        \
			       "a(W) and b(W): of the RFC's rounded line, or of the exact one from Low_Window = 31"))) \
	P(CC_VARIANT(CC_SWITCH(per_ack, 0, "a(W) / W for each ACK, however many packets it acknowledges (Linux: on)")))
CC_PARAMS(highspeed, HIGHSPEED_PARAMS);

struct highspeed_state {
	u64 credit_q10;
	u8 row; /* of the window at the last ACK; a(W) = row + 1 */
};
CC_STATE_STRUCT(highspeed);

CC_INLINE const struct hstcp_table *highspeed_table(const struct highspeed_params *p)
{
	return p->table ? &hstcp_even2006 : &hstcp_rfc3649;
}

void CC_HOOK(highspeed_cong_avoid, struct sock *sk, u32 ack, u32 acked_pkts)
{
	const struct highspeed_params *p = highspeed_params();
	struct highspeed_state *ca = CC_STATE(highspeed, sk);
	struct tcp_sock *tp = tcp_sk(sk);

	acked_pkts = cc_begin_growth(sk, acked_pkts);
	if (!acked_pkts)
		return;
	if (p->per_ack)
		acked_pkts = 1;
	ca->row = hstcp_row_from(highspeed_table(p), ca->row, tp->snd_cwnd);
	cc_additive_increase_q10(tp, &ca->credit_q10, (ca->row + 1ULL) << 10, acked_pkts);
}

u32 CC_HOOK(highspeed_ssthresh, struct sock *sk)
{
	CC_STATE(highspeed, sk)->credit_q10 = 0;
	return cc_ssthresh_floor(hstcp_kept_pkts(highspeed_table(highspeed_params()), tcp_sk(sk)->snd_cwnd));
}

CC_ALGORITHM(highspeed,
	.cong_avoid = CC_FN(highspeed_cong_avoid),
	.ssthresh = CC_FN(highspeed_ssthresh),
	.undo_cwnd = CC_FN(tcp_reno_undo_cwnd),
);
