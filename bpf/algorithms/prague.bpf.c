// SPDX-License-Identifier: GPL-2.0-only
/*
 * Prague: a scalable window for paths with L4S.
 *
 * For      study: networks with L4S, in the simulator
 * Use      when you study what L4S (DualPI2, a step marker) does to queues below 1 ms, and to the flows beside it.
 * Not      when it is to be loaded: no kernel lets an algorithm send ECT(1) once a connection is established, and with
 *          ECT(0) it would take the share of flows that halve their windows.
 * Source   draft-briscoe-iccrg-prague-congestion-control-04; RFC 9330, RFC 9331 section 4; constants of L4STeam's module.
 * Law      each packet acked without a mark: W += s / W, s = min(1, RTT / T)^2, T = 25 ms; marks do not stop this
 *          each virtual RTT, max(RTT, T): alpha += g (F - alpha), F = share of its packets with a mark
 *          marks: W -= alpha / 2 W, once a virtual RTT; loss: W = W / 2; first mark: W = W / 2
 * Why      At a steady share p of marks W = 2 (1 - p) / p: two marks a round trip at any rate, so that control does not get
 *          coarser or slower as rates grow, where Reno's needs W^2 packets for a mark. Scaled by s, and with a virtual RTT,
 *          the rate below T is that of a flow with an RTT of T: short paths do not push long ones aside.
 * Differs  From the draft: F is of packets; packets are never made smaller; below 2 packets only the pacing rate holds back.
 *          Bursts are the core's, 1 ms at the pacing rate, not 0.25 ms: BPF has no tso_segs. From L4STeam's module: the
 *          window follows by the packets acked, not by 1 per ACK; virtual RTTs go by the clock, not by whole RTTs; no mode
 *          by rate, and no variation of the pacing rate by 3 %.
 * Needs    Accurate ECN, and ECT(1) on all packets: no kernel up to 7.3 gives an algorithm that; pacing.
 * State    64 bytes of 104.
 * Range    windows below 2^20 packets, RTTs up to 71 minutes.
 */
#include "cc.h"

#define PRAGUE_PARAMS(P)                                                                                               \
	P(CC_PARAM(gain_shift, 4, 0, 10, "", "g = 2^-shift: weight of the newest virtual RTT in alpha"))               \
	P(CC_PARAM(rtt_virtual_ms, 25, 0, 100, "ms", "T: shorter RTTs count as this long; 0 = all as they are"))       \
	P(CC_PARAM(rtt_transition_rtts, 4, 0, 1000, "RTTs", "after slow start RTTs count as they are for so long"))
CC_PARAMS(prague, PRAGUE_PARAMS);

#define PRAGUE_ALPHA_MAX_Q24 (1ULL << 24)
#define PRAGUE_MIN_RATE_BYTES_PER_S 12500 /* 100 kbit/s */
#define PRAGUE_HEADER_BYTES 52 /* IPv4, TCP, time stamps: pacing counts them */
#define PRAGUE_MIN_CWND_Q20 (1ULL << 16) /* a 16th of a packet: what the pacing rate may be cut to */

struct prague_state {
	u64 cwnd_q20; /* the window with its fraction */
	u64 increase_q20; /* s */
	u64 alpha_us; /* when alpha was updated */
	u64 cut_us; /* when the window was last reduced */
	u32 alpha_q24;
	u32 round_delivered; /* tcp_sock.delivered at the start of what alpha is of */
	u32 round_delivered_ce;
	u32 last_delivered_ce; /* at the last ACK */
	u32 prior_cwnd_pkts; /* window before the last loss */
	u32 rtts; /* round trips since slow start */
	bool is_accurate; /* Accurate ECN was negotiated, and that was seen */
	bool saw_mark;
	bool in_loss;
};
CC_STATE_STRUCT(prague);

CC_INLINE bool prague_is_rtt_independent(const struct prague_state *ca, const struct tcp_sock *tp,
					 const struct prague_params *p)
{
	return !tcp_in_slow_start(tp) && ca->rtts >= p->rtt_transition_rtts;
}

/* T where it counts, or 0: each RTT is as it is. */
CC_INLINE u32 prague_least_rtt_us(const struct prague_state *ca, const struct tcp_sock *tp,
				  const struct prague_params *p)
{
	return prague_is_rtt_independent(ca, tp, p) ? p->rtt_virtual_ms * 1000 : 0;
}

/* Has a virtual RTT passed since then? By the clock: a multiple of the RTT may be far from T. */
CC_INLINE bool prague_has_passed(const struct prague_state *ca, const struct sock *sk, const struct prague_params *p,
				 u64 since_us)
{
	u32 rtt_us = cc_srtt_us(sk);

	return rtt_us && cc_now_us(sk) - since_us >= cc_max(rtt_us, prague_least_rtt_us(ca, tcp_sk(sk), p));
}

/* s: the draft's section on RTT independence. At most 2^20. */
CC_INLINE u64 prague_increase_q20(const struct sock *sk, u32 least_rtt_us)
{
	u64 rtt_us = cc_srtt_us(sk);
	u64 share_q20;

	if (!rtt_us || rtt_us >= least_rtt_us)
		return 1 << 20;
	share_q20 = (rtt_us << 20) / least_rtt_us;
	return share_q20 * share_q20 >> 20;
}

CC_INLINE void prague_start_round(struct prague_state *ca, const struct sock *sk, const struct prague_params *p)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	ca->round_delivered = tp->delivered;
	ca->round_delivered_ce = tp->delivered_ce;
	ca->alpha_us = cc_now_us(sk);
	ca->increase_q20 = prague_increase_q20(sk, prague_least_rtt_us(ca, tp, p));
}

/*
 * Without Accurate ECN the connection is left to Reno. A rule gives the algorithm before the SYN is sent, and from the init that this
 * calls the kernel does not let it go (EBUSY). So the first ACK asks, too: that of the SYN where we connected, of data elsewhere.
 */
CC_INLINE bool prague_falls_back(struct prague_state *ca, struct sock *sk)
{
	if (ca->is_accurate)
		return false;
	if (!(tcp_sk(sk)->ecn_flags & TCP_ECN_MODE_ACCECN))
		return CC_CHANGE_TO(sk, "reno");
	ca->is_accurate = true;
	if (sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
	return false;
}

void CC_HOOK(prague_init, struct sock *sk)
{
	struct prague_state *ca = CC_NEW_STATE(prague, sk);

	if (prague_falls_back(ca, sk))
		return;
	ca->cwnd_q20 = (u64)tcp_sk(sk)->snd_cwnd << 20;
	ca->last_delivered_ce = tcp_sk(sk)->delivered_ce;
	prague_start_round(ca, sk, prague_params());
}

/* RFC 8257 section 3.3 with more digits: shares of marks are small at high rates. */
CC_INLINE void prague_update_alpha(struct prague_state *ca, const struct tcp_sock *tp, u32 gain_shift)
{
	u32 delivered = cc_minus(tp->delivered, ca->round_delivered);
	u32 marked = cc_minus(tp->delivered_ce, ca->round_delivered_ce);
	u64 share_q24 = cc_min(((u64)marked << 24) / cc_max(delivered, 1), PRAGUE_ALPHA_MAX_Q24);

	gain_shift &= 15;
	ca->alpha_q24 = ca->alpha_q24 - (ca->alpha_q24 >> gain_shift) + (share_q24 >> gain_shift);
}

CC_INLINE void prague_end_round(struct prague_state *ca, const struct sock *sk, const struct prague_params *p)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (tp->delivered == ca->round_delivered || !prague_has_passed(ca, sk, p, ca->alpha_us))
		return;
	if (ca->saw_mark)
		prague_update_alpha(ca, tp, p->gain_shift);
	if (!tcp_in_slow_start(tp))
		ca->rtts = cc_min(ca->rtts, 0xfffffffeU) + 1;
	prague_start_round(ca, sk, p);
}

CC_INLINE void prague_cut_to(struct prague_state *ca, const struct sock *sk, u64 cwnd_q20)
{
	ca->cwnd_q20 = cc_max(cwnd_q20, PRAGUE_MIN_CWND_Q20);
	ca->cut_us = cc_now_us(sk);
}

CC_INLINE void prague_cut_by_alpha(struct prague_state *ca, const struct sock *sk)
{
	prague_cut_to(ca, sk, ca->cwnd_q20 - (ca->cwnd_q20 * ca->alpha_q24 >> 25));
}

/* Packets with a mark since the last ACK. */
CC_INLINE u32 prague_marked_pkts(struct prague_state *ca, const struct tcp_sock *tp)
{
	u32 marked_pkts = cc_minus(tp->delivered_ce, ca->last_delivered_ce);

	ca->last_delivered_ce = tp->delivered_ce;
	return marked_pkts;
}

/* The first mark of a connection ends slow start: alpha knows nothing yet. */
CC_INLINE void prague_react_to_marks(struct prague_state *ca, const struct sock *sk, const struct prague_params *p)
{
	if (!ca->saw_mark) {
		ca->saw_mark = true;
		prague_cut_to(ca, sk, ca->cwnd_q20 >> 1);
	} else if (!ca->in_loss && prague_has_passed(ca, sk, p, ca->cut_us)) {
		prague_cut_by_alpha(ca, sk);
	}
}

/* acked_pkts < 2^20: s acked < 2^40 */
CC_INLINE void prague_grow(struct prague_state *ca, struct sock *sk, u32 acked_pkts)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (ca->in_loss || (!tcp_is_cwnd_limited(sk) && ca->cwnd_q20 >= 2 << 20))
		return;
	if (tcp_in_slow_start(tp) && ca->cwnd_q20 >= (u64)tp->snd_cwnd << 20) {
		acked_pkts = tcp_slow_start(tp, acked_pkts);
		ca->cwnd_q20 = (u64)tp->snd_cwnd << 20;
	}
	acked_pkts = cc_min(acked_pkts, 1 << 20);
	ca->cwnd_q20 += (ca->increase_q20 * acked_pkts << 20) / cc_max(ca->cwnd_q20, PRAGUE_MIN_CWND_Q20);
	ca->cwnd_q20 = cc_min(ca->cwnd_q20, (u64)tp->snd_cwnd_clamp << 20);
}

/* The core's window follows, by no more than what is acknowledged: a cut is no reason to fall silent. */
CC_INLINE void prague_follow(const struct prague_state *ca, struct tcp_sock *tp, u32 acked_pkts)
{
	u64 wanted_pkts = cc_max((ca->cwnd_q20 + (1 << 20) - 1) >> 20, 2);
	u32 cwnd = tp->snd_cwnd;

	if (cwnd > wanted_pkts) {
		cc_set_cwnd(tp, cwnd - cc_min(cwnd - wanted_pkts, cc_max(acked_pkts, 1)));
		tp->snd_ssthresh = cc_ssthresh_floor(tp->snd_cwnd);
	} else if (cwnd < wanted_pkts) {
		cc_set_cwnd(tp, cwnd + cc_min(wanted_pkts - cwnd, acked_pkts));
	}
}

/* W / RTT, with the fraction; twice that in slow start. Rates are below 2^20 packets of 2^16 bytes a microsecond. */
CC_INLINE void prague_pace(const struct prague_state *ca, struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 pkt_bytes = tp->mss_cache + PRAGUE_HEADER_BYTES;
	u64 cwnd_q20 = cc_max(ca->cwnd_q20, (u64)tcp_packets_in_flight(tp) << 20);
	u64 rate;

	if (!tp->srtt_us)
		return;
	if (ca->cwnd_q20 < 2 << 20)
		cwnd_q20 = ca->cwnd_q20; /* less than the core's window can be */
	rate = ((cwnd_q20 >> 4) * pkt_bytes / cc_max(cc_srtt_us(sk), 1)) * 1000000 >> 16;
	if (tp->snd_cwnd < tp->snd_ssthresh / 2)
		rate <<= 1;
	rate = cc_max(rate, PRAGUE_MIN_RATE_BYTES_PER_S);
	sk->sk_pacing_rate = cc_min(rate, sk->sk_max_pacing_rate);
}

CC_CONG_CONTROL(prague_cong_control, sk, sample)
{
	struct prague_state *ca = CC_STATE(prague, sk);
	const struct prague_params *p = prague_params();
	u32 acked_pkts = sample->acked_sacked;
	u32 marked_pkts;

	if (prague_falls_back(ca, sk))
		return;
	marked_pkts = prague_marked_pkts(ca, tcp_sk(sk));
	if (marked_pkts)
		prague_react_to_marks(ca, sk, p);
	prague_grow(ca, sk, acked_pkts - cc_min(marked_pkts, acked_pkts));
	prague_follow(ca, tcp_sk(sk), acked_pkts);
	prague_end_round(ca, sk, p);
	prague_pace(ca, sk);
}

/* Half, as for any loss (RFC 9331 section 4.3). Growth waits until it is repaired. */
CC_INLINE void prague_enter_loss(struct sock *sk)
{
	struct prague_state *ca = CC_STATE(prague, sk);
	struct tcp_sock *tp = tcp_sk(sk);

	ca->prior_cwnd_pkts = tp->snd_cwnd;
	ca->in_loss = true;
	prague_cut_to(ca, sk, ca->cwnd_q20 >> 1);
	tp->snd_ssthresh = cc_ssthresh_floor(ca->cwnd_q20 >> 20);
}

void CC_HOOK(prague_set_state, struct sock *sk, u8 new_state)
{
	struct prague_state *ca = CC_STATE(prague, sk);

	if (new_state == CC_BITFIELD(inet_csk(sk), icsk_ca_state))
		return;
	if (new_state == TCP_CA_Recovery)
		prague_enter_loss(sk);
	else if (new_state == TCP_CA_Open)
		ca->in_loss = false;
}

void CC_HOOK(prague_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_LOSS)
		prague_enter_loss(sk);
}

/* Marks are answered at ACKs, losses where the state changes. */
u32 CC_HOOK(prague_ssthresh, struct sock *sk)
{
	return tcp_sk(sk)->snd_ssthresh;
}

u32 CC_HOOK(prague_undo_cwnd, struct sock *sk)
{
	struct prague_state *ca = CC_STATE(prague, sk);
	u32 pkts = cc_max(tcp_sk(sk)->snd_cwnd, ca->prior_cwnd_pkts);

	ca->in_loss = false;
	ca->cwnd_q20 = cc_max(ca->cwnd_q20, (u64)pkts << 20);
	return pkts;
}

u32 CC_HOOK(prague_min_tso_segs, struct sock *sk)
{
	return 1;
}

CC_REGISTER(prague, "bpf_prague", TCP_CONG_NEEDS_ECN | TCP_CONG_NEEDS_ACCECN | TCP_CONG_ECT_1_NEGOTIATION | CC_ECT_1_ESTABLISHED,
	    .init = CC_FN(prague_init), .cong_control = CC_FN(prague_cong_control), .pkts_acked = CC_NO_HOOK,
	    .set_state = CC_FN(prague_set_state), .cwnd_event = CC_FN(prague_cwnd_event),
	    .ssthresh = CC_FN(prague_ssthresh), .undo_cwnd = CC_FN(prague_undo_cwnd),
	    .min_tso_segs = CC_FN(prague_min_tso_segs), );
