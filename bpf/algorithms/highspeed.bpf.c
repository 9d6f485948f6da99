// SPDX-License-Identifier: GPL-2.0-only
/*
 * HighSpeed TCP: AIMD whose increase and decrease depend on the window.
 *
 * Source   S. Floyd, "HighSpeed TCP for Large Congestion Windows", RFC 3649; hstcp.h has the formulas.
 * Law      each window acked: W += a(W); loss: W -= b(W) W; Reno (a = 1, b = 1/2) up to low_window_pkts
 * Why      A response function of W = 0.12 / p^0.835 makes 10 Gbit/s reachable at loss rates that real paths have,
 *          and leaves the behaviour at loss rates above 10^-3, where Reno lives, as it was.
 * Differs  From Linux: a(W) is earned per packet acked. Linux adds it per ACK (per_ack=on), so that with delayed ACKs it
 *          grows at half the speed (12, 6, 3 packets a round trip at W = 2000 for 1, 2, 4 packets an ACK). Linux also
 *          drops what an ACK has left over after slow start, and decreases by the row of the last window in congestion
 *          avoidance, which after a slow start is an old one: often half. The rows are computed from the parameters when
 *          these change (Linux has 72 fixed ones, and the default parameters give the same).
 * State    16 bytes of 104.
 * Range    windows up to 2^20 packets; above 1.2 high_window_pkts a and b stay what they are there.
 */
#include "hstcp.h"

CC_PARAMS(highspeed,
	CC_PARAM(low_window_pkts, 38, 10, 1000, "pkts", "Low_Window: up to here Reno"),
	CC_PARAM(high_window_pkts, 83000, 2000, 1000000, "pkts", "High_Window: other end of the response function"),
	CC_PARAM(high_loss_ppb, 100, 1, 1000000, "ppb", "High_P: loss rate at high_window_pkts, in 10^-9 (exact line only)"),
	CC_PARAM(high_decrease_pct, 10, 2, 50, "%", "High_Decrease: b at high_window_pkts"),
	CC_CHOICE(response_line, 0, 1, "rfc|exact", "p(W): the RFC's rounded line, or one exactly through both end points"),
	CC_SWITCH(per_ack, 0, "a(W) / W for each ACK, however many packets it acknowledges (Linux: on)"),
);

struct highspeed_derived {
	struct hstcp_table table;
};
CC_DERIVED(highspeed)

CC_PREPARE(highspeed)
{
	struct hstcp_response response = {
		.low_window_pkts = p->low_window_pkts,
		.high_window_pkts = p->high_window_pkts,
		.high_loss_ppb = p->high_loss_ppb,
		.high_decrease_pct = p->high_decrease_pct,
		.rfc_line = p->response_line == 0,
	};

	hstcp_fill_table(&d->table, &response);
}

struct highspeed_state {
	u64 credit_q10;
	u8 row; /* of the window at the last ACK; a(W) = row + 1 */
};
CC_STATE_STRUCT(highspeed);

void CC_HOOK(highspeed_cong_avoid, struct sock *sk, u32 ack, u32 acked_pkts)
{
	struct highspeed_state *ca = CC_STATE(highspeed, sk);
	struct tcp_sock *tp = tcp_sk(sk);

	acked_pkts = cc_slow_start_first(sk, acked_pkts);
	if (!acked_pkts)
		return;
	if (highspeed_params()->per_ack)
		acked_pkts = 1;
	ca->row = hstcp_row(&highspeed_derived()->table, tp->snd_cwnd);
	cc_additive_increase_q10(tp, &ca->credit_q10, (ca->row + 1ULL) << 10, acked_pkts);
}

u32 CC_HOOK(highspeed_ssthresh, struct sock *sk)
{
	const struct hstcp_table *table = &highspeed_derived()->table;
	struct highspeed_state *ca = CC_STATE(highspeed, sk);
	u64 cwnd = tcp_sk(sk)->snd_cwnd;
	u32 row = hstcp_row(table, cwnd) & (HSTCP_ROWS - 1);

	ca->credit_q10 = 0;
	return cc_ssthresh_floor(cwnd - (cwnd * table->decrease_q8[row] >> 8));
}

CC_ALGORITHM(highspeed,
	.cong_avoid = CC_FN(highspeed_cong_avoid),
	.ssthresh = CC_FN(highspeed_ssthresh),
	.undo_cwnd = CC_FN(cc_undo_cwnd),
);
