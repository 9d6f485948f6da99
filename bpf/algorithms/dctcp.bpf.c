// SPDX-License-Identifier: GPL-2.0-only
/*
 * DCTCP: a decrease in proportion to the share of packets that were marked.
 *
 * For      production: data centres whose switches mark packets
 * Use      when all ends of a data centre have it and the switches mark from a short queue on (RFC 8257).
 * Not      when the path leaves your own network: RFC 8257 is for controlled networks only, and where ECN is not
 *          negotiated the connection is left to Reno.
 * Source   RFC 8257; M. Alizadeh et al., "Data Center TCP (DCTCP)", ACM SIGCOMM 2010.
 * Law      each window: alpha += g (F - alpha), F = share of its packets with a congestion mark
 *          ECN echo: W -= alpha / 2 W, once a window; loss: W = W / 2; otherwise Reno
 * Why      Switches mark from a short queue on. A few marks mean a queue that has just begun: a small cut keeps it short
 *          and the link full, where Reno's halving would empty both.
 * Differs  From the SIGCOMM paper: a loss halves the window whatever alpha is (RFC 8257 section 3.5). From the RFC: F is
 *          of packets, not of bytes; an alpha too small to fall any more becomes 0. From Linux: not while there are marks,
 *          for with gain_shift > 5 it could not rise from there. A connection without ECN is left to the kernel's Reno,
 *          which takes ECT off its packets; Linux has a second table of hooks for it.
 * Needs    ECN, negotiated by both ends, classic or AccECN (the core does that for this algorithm), and switches that mark. The receiver
 *          has to run it too: it is what echoes marks packet by packet.
 * State    28 bytes of 104.
 * Range    exact for every window: marks are shifted as 64-bit numbers.
 */
#include "cc.h"

#define DCTCP_PARAMS(P)                                                                                                \
	P(CC_PARAM(gain_shift, 4, 0, 10, "", "g = 2^-shift: weight of the newest window in alpha"))                    \
	P(CC_PARAM(alpha_init_q10, 1024, 0, 1024, "1/1024",                                                            \
		   "alpha of a new connection: how hard the first mark is taken"))
CC_PARAMS(dctcp, DCTCP_PARAMS);

#define DCTCP_ALPHA_MAX_Q10 1024

struct dctcp_state {
	u32 alpha_q10;
	u32 window_end_seq; /* of the observation window */
	u32 window_delivered; /* tcp_sock.delivered at its start */
	u32 window_delivered_ce;
	u32 prior_cwnd_pkts; /* window before the last reduction */
	u32 last_rcv_nxt; /* receiver: up to where packets have the mark of received_ce */
	bool received_ce; /* receiver: DCTCP.CE of RFC 8257 */
};
CC_STATE_STRUCT(dctcp);

CC_INLINE void dctcp_start_window(struct dctcp_state *ca, const struct tcp_sock *tp)
{
	ca->window_end_seq = tp->snd_nxt;
	ca->window_delivered = tp->delivered;
	ca->window_delivered_ce = tp->delivered_ce;
}

/*
 * A connection without ECN is left to Reno: the core has set ECT for an algorithm that needs ECN, and this takes it off. A rule gives
 * the algorithm before the SYN is sent, and from the init that this calls the kernel does not let it go (EBUSY): an ACK asks again.
 */
CC_INLINE bool dctcp_falls_back(struct sock *sk)
{
	return !(tcp_sk(sk)->ecn_flags & (TCP_ECN_OK | TCP_ECN_MODE_ACCECN)) && CC_CHANGE_TO(sk, "reno");
}

void CC_HOOK(dctcp_init, struct sock *sk)
{
	struct dctcp_state *ca = CC_NEW_STATE(dctcp, sk);

	if (dctcp_falls_back(sk))
		return;
	ca->alpha_q10 = dctcp_params()->alpha_init_q10;
	ca->last_rcv_nxt = tcp_sk(sk)->rcv_nxt;
	dctcp_start_window(ca, tcp_sk(sk));
}

/* RFC 8257 section 3.3, steps 5 to 8 */
CC_INLINE void dctcp_update_alpha(struct dctcp_state *ca, const struct tcp_sock *tp, u32 gain_shift)
{
	u32 delivered = cc_minus(tp->delivered, ca->window_delivered);
	u32 marked = cc_minus(tp->delivered_ce, ca->window_delivered_ce);
	u64 share_q10 = ((u64)marked << (10 - (gain_shift & 15))) / cc_max(delivered, 1);
	u32 decay_q10 = ca->alpha_q10 >> (gain_shift & 15);

	if (!decay_q10 && !share_q10) /* or alpha would never fall below 2^gain_shift */
		decay_q10 = ca->alpha_q10;
	ca->alpha_q10 = cc_min(ca->alpha_q10 - decay_q10 + share_q10, DCTCP_ALPHA_MAX_Q10);
}

void CC_HOOK(dctcp_in_ack_event, struct sock *sk, u32 flags)
{
	struct dctcp_state *ca = CC_STATE(dctcp, sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	if (dctcp_falls_back(sk) || !after(tp->snd_una, ca->window_end_seq))
		return;
	dctcp_update_alpha(ca, tp, dctcp_params()->gain_shift);
	dctcp_start_window(ca, tp);
}

void CC_HOOK(dctcp_cong_avoid, struct sock *sk, u32 ack, u32 acked_pkts)
{
	struct tcp_sock *tp = tcp_sk(sk);

	acked_pkts = cc_begin_growth(sk, acked_pkts);
	if (acked_pkts)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked_pkts);
}

/* For a mark; a loss is told by the state or the event that follows. */
u32 CC_HOOK(dctcp_ssthresh, struct sock *sk)
{
	struct dctcp_state *ca = CC_STATE(dctcp, sk);
	u64 cwnd = tcp_sk(sk)->snd_cwnd;

	ca->prior_cwnd_pkts = cwnd;
	return cc_ssthresh_floor(cwnd - (cwnd * ca->alpha_q10 >> 11));
}

/* RFC 8257 section 3.5: half of the window, once: a loss after a mark counts from the window before the mark. */
CC_INLINE void dctcp_react_to_loss(struct sock *sk)
{
	tcp_sk(sk)->snd_ssthresh = cc_ssthresh_floor(CC_STATE(dctcp, sk)->prior_cwnd_pkts >> 1);
}

void CC_HOOK(dctcp_set_state, struct sock *sk, u8 new_state)
{
	if (new_state == TCP_CA_Recovery && CC_BITFIELD(inet_csk(sk), icsk_ca_state) != TCP_CA_Recovery)
		dctcp_react_to_loss(sk);
}

u32 CC_HOOK(dctcp_undo_cwnd, struct sock *sk)
{
	return cc_max(tcp_sk(sk)->snd_cwnd, CC_STATE(dctcp, sk)->prior_cwnd_pkts);
}

CC_INLINE void dctcp_echo(struct tcp_sock *tp, bool received_ce)
{
	if (received_ce)
		tp->ecn_flags |= TCP_ECN_DEMAND_CWR;
	else
		tp->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
}

/*
 * Is there a packet whose ACK has not gone? Not only where the timer for delayed ACKs runs: since 6.7 the core defers all
 * ACKs of packets that came while the socket was in use (tcp_backlog_ack_defer), even those that are due at once. The
 * ACK of a mark then still stands in `pending` as due, or else rcv_wup tells.
 */
CC_INLINE bool dctcp_owes_ack(const struct inet_connection_sock *icsk, const struct dctcp_state *ca,
			      const struct tcp_sock *tp)
{
	return (icsk->icsk_ack.pending & (ICSK_ACK_TIMER | ICSK_ACK_NOW)) || after(ca->last_rcv_nxt, tp->rcv_wup);
}

/*
 * RFC 8257 section 3.2: every ACK tells of packets with one and the same mark. Where the mark changes, an ACK that is
 * still held back for the packets before it goes first, and the packet itself is acknowledged at once.
 */
CC_INLINE void dctcp_received(struct sock *sk, bool received_ce)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	struct dctcp_state *ca = CC_STATE(dctcp, sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (ca->received_ce != received_ce) {
		if (dctcp_owes_ack(icsk, ca, tp)) {
			dctcp_echo(tp, ca->received_ce);
			CC_SEND_ACK(tp, ca->last_rcv_nxt);
		}
		icsk->icsk_ack.pending |= ICSK_ACK_NOW;
	}
	ca->last_rcv_nxt = tp->rcv_nxt;
	ca->received_ce = received_ce;
	dctcp_echo(tp, received_ce);
}

void CC_HOOK(dctcp_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct dctcp_state *ca = CC_STATE(dctcp, sk);

	if (event == CA_EVENT_LOSS)
		dctcp_react_to_loss(sk);
	else if (event == CA_EVENT_TX_START || event == CA_EVENT_CWND_RESTART)
		dctcp_start_window(ca, tcp_sk(sk));
	else if (event == CA_EVENT_ECN_IS_CE || event == CA_EVENT_ECN_NO_CE)
		dctcp_received(sk, event == CA_EVENT_ECN_IS_CE);
}

void CC_HOOK(dctcp_cwnd_event_tx_start, struct sock *sk)
{
	dctcp_start_window(CC_STATE(dctcp, sk), tcp_sk(sk));
}

CC_REGISTER(dctcp, "bpf_dctcp", TCP_CONG_NEEDS_ECN, .init = CC_FN(dctcp_init),
	    .in_ack_event = CC_FN(dctcp_in_ack_event), .pkts_acked = CC_NO_HOOK, .cong_avoid = CC_FN(dctcp_cong_avoid),
	    .ssthresh = CC_FN(dctcp_ssthresh), .set_state = CC_FN(dctcp_set_state), CC_TX_START_HOOKS(dctcp),
	    .undo_cwnd = CC_FN(dctcp_undo_cwnd), );
