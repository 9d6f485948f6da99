// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fixed rate: sends at the rate that it was given, whatever the path and other traffic do.
 *
 * For      production: a path of your own of known rate, with random losses
 * Use      when nobody else's traffic shares the bottleneck, such as on a leased line, a radio link or a tunnel of your own, and its
 *          losses are random.
 * Not      when anything else shares the bottleneck: it does not slow down for anybody, and what it takes the others lose.
 *          ccctl therefore gives it to connections with named destinations only, and only while the guard watches it.
 * Source   TCP Brutal 1.0 (github.com/apernet/tcp-brutal), the law and its constants.
 * Law      pacing rate = min(rate / A, max_sum_rate / N); W = 2 RTT pacing rate, in packets, and at least 4
 *          rate: that which a rule has given the connection, else that of the instance
 *          A = acked / (acked + lost) of the packets of 5 seconds, at least 0.8; 1 where those are fewer than 50
 *          N = sockets that have the instance, idle ones too; without max_sum_rate there is no cap
 * Why      Where losses are random a sender that slows down for them wastes the path. Sending 1 / A as much delivers the rate.
 *          The bound of 0.8 limits what it adds where the losses are its own: without it, the more it loses the more it sends.
 *          The cap is for whoever shares the bottleneck: connections have a rate each, and nobody knows how many there will be.
 *          N parts of 1 / N are no more than the cap, whatever rates they have. What a slow one leaves of its part is not shared
 *          out: for that each would have to know the rates of all.
 * Differs  From Brutal: RTTs count in us and not in whole ms, A is a fraction and not rounded down to percents, ACKs without a
 *          rate sample count too, the first window is paced, a socket that is moved to it has its window at once, and there is
 *          a cap.
 * Needs    pacing: sk_pacing_rate and TCP's own timer, or the fq queue discipline.
 * State    68 bytes of 104, and 4 that the sockets of an instance share.
 * Range    rates up to 32 Gbit/s, RTTs up to 67 s, windows up to 2^20 packets.
 */
#include "cc.h"

#define FIXED_PARAMS(P)                                                                                                \
	P(CC_PER_CONNECTION(                                                                                           \
		CC_PARAM(rate_bytes_per_s, 125000, 62500, 4000000000, "bytes/s", "what each connection sends")))       \
	P(CC_PARAM(max_sum_rate_bytes_per_s, 0, 0, 4000000000, "bytes/s",                                              \
		   "what all connections of the instance send together, at most; 0: no cap"))                          \
	P(CC_SWITCH(compensates_loss, 1, "send more by what is lost, so that the rate arrives"))                       \
	P(CC_PARAM(ack_rate_min_pct, 80, 50, 100, "%", "least share of acknowledged packets that is compensated"))     \
	P(CC_PARAM(cwnd_gain_pct, 200, 50, 800, "%", "window, of rate times RTT"))                                     \
	P(CC_PARAM(min_cwnd_pkts, 4, 1, 1000, "pkts", "smallest window"))
CC_PARAMS(fixed, FIXED_PARAMS);
CC_CONNECTION_PARAMS(fixed);

#define FIXED_SLOTS 5 /* seconds that count */
#define FIXED_SAMPLES_MIN 50 /* packets in them; of fewer the share says nothing */
#define FIXED_SECOND_US 1000000
#define FIXED_RTT_MIN_US 1000
#define FIXED_RTT_MAX_US (1U << 26)
#define FIXED_ONE_Q16 (1U << 16)

/* Packets of one second */
struct fixed_slot {
	u32 second;
	u32 acked_pkts;
	u32 lost_pkts;
};

struct fixed_state {
	struct fixed_slot slots[FIXED_SLOTS];
	u32 own_rate_bytes_per_s CC_NONE(0, "no rate of its own"); /* from its rule */
	bool is_counted; /* among fixed_shared.sockets */
};
CC_STATE_STRUCT(fixed);

struct fixed_shared {
	u32 sockets; /* that have the algorithm: N */
};
CC_SHARED_STRUCT(fixed);

/* Once, in the first hook that is called: init is called again where a rule came before the SYN, and may have been left out. */
CC_INLINE void fixed_join(struct fixed_state *ca)
{
	if (ca->is_counted)
		return;
	ca->is_counted = true;
	cc_add_shared(&CC_SHARED(fixed)->sockets, 1);
}

/* The kernel also calls it for a socket whose init was never called. */
void CC_HOOK(fixed_release, struct sock *sk)
{
	struct fixed_state *ca = CC_STATE(fixed, sk);

	CC_DROP_OWN_PARAMS(sk);
	if (!ca->is_counted)
		return;
	ca->is_counted = false;
	cc_add_shared(&CC_SHARED(fixed)->sockets, ~0U);
}

CC_INLINE void fixed_count(struct fixed_state *ca, u32 second, const struct rate_sample *sample)
{
	for (u32 i = 0; i < FIXED_SLOTS; i++) {
		struct fixed_slot *slot = &ca->slots[i];

		if (i != second % FIXED_SLOTS)
			continue;
		if (slot->second != second)
			slot->acked_pkts = slot->lost_pkts = 0;
		slot->second = second;
		slot->acked_pkts += sample->acked_sacked;
		slot->lost_pkts += sample->losses;
	}
}

/* A. Bound: 5 * 2^30 packets in Q16 */
CC_INLINE u32 fixed_ack_rate_q16(const struct fixed_state *ca, const struct fixed_params *p, u32 second)
{
	u64 acked_pkts = 0, lost_pkts = 0;

	if (!p->compensates_loss)
		return FIXED_ONE_Q16;
	for (u32 i = 0; i < FIXED_SLOTS; i++) {
		if (cc_minus(second, ca->slots[i].second) >= FIXED_SLOTS)
			continue;
		acked_pkts += ca->slots[i].acked_pkts;
		lost_pkts += ca->slots[i].lost_pkts;
	}
	if (acked_pkts + lost_pkts < FIXED_SAMPLES_MIN)
		return FIXED_ONE_Q16;
	return cc_max((acked_pkts << 16) / (acked_pkts + lost_pkts), p->ack_rate_min_pct * FIXED_ONE_Q16 / 100);
}

/* Bound: rate < 2^33, RTT <= 2^26 us; their product in bytes < 2^40, times a gain < 2^10 */
CC_INLINE u64 fixed_cwnd_pkts(const struct fixed_params *p, const struct sock *sk, u64 rate_bytes_per_s)
{
	u64 rtt_us = cc_clamp(cc_srtt_us(sk), FIXED_RTT_MIN_US, FIXED_RTT_MAX_US);
	u64 bytes = rate_bytes_per_s * rtt_us / FIXED_SECOND_US * p->cwnd_gain_pct / 100;

	return cc_clamp(cc_div(bytes, tcp_sk(sk)->mss_cache), p->min_cwnd_pkts, CC_CWND_MAX_PKTS);
}

/*
 * No more than this socket's part of the cap; without the cap, and below it, nothing is divided. A rate of 0 would be no limit to
 * the kernel. Bound: rate < 2^33, sockets < 2^31
 */
CC_INLINE u64 fixed_capped(const struct fixed_params *p, u64 rate_bytes_per_s)
{
	u64 most_bytes_per_s = p->max_sum_rate_bytes_per_s;
	u32 sockets;

	if (!most_bytes_per_s)
		return rate_bytes_per_s;
	sockets = cc_read_shared(&CC_SHARED(fixed)->sockets);
	if (rate_bytes_per_s * sockets <= most_bytes_per_s)
		return rate_bytes_per_s;
	return cc_max(cc_div(most_bytes_per_s, sockets), 1);
}

CC_INLINE void fixed_set_rate(struct sock *sk, const struct fixed_params *p, u32 ack_rate_q16)
{
	u32 own_bytes_per_s = CC_STATE(fixed, sk)->own_rate_bytes_per_s;
	u64 rate_bytes_per_s = own_bytes_per_s ? own_bytes_per_s : p->rate_bytes_per_s;

	rate_bytes_per_s = fixed_capped(p, (rate_bytes_per_s << 16) / cc_max(ack_rate_q16, FIXED_ONE_Q16 / 2));
	cc_set_cwnd(tcp_sk(sk), fixed_cwnd_pkts(p, sk, rate_bytes_per_s));
	sk->sk_pacing_rate = cc_min(rate_bytes_per_s, sk->sk_max_pacing_rate);
}

void CC_HOOK(fixed_init, struct sock *sk)
{
	bool is_counted = CC_STATE(fixed, sk)->is_counted;
	struct fixed_state *ca = CC_NEW_STATE(fixed, sk);

	ca->is_counted = is_counted;
	ca->own_rate_bytes_per_s = CC_OWN_PARAM(fixed, sk, rate_bytes_per_s, 0);
	fixed_join(ca);
	tcp_sk(sk)->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	fixed_set_rate(sk, fixed_params(), FIXED_ONE_Q16);
	if (sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
}

CC_CONG_CONTROL(fixed_cong_control, sk, sample)
{
	const struct fixed_params *p = fixed_params();
	struct fixed_state *ca = CC_STATE(fixed, sk);
	u32 second = cc_now_us(sk) / FIXED_SECOND_US;

	fixed_join(ca);
	fixed_count(ca, second, sample);
	fixed_set_rate(sk, p, fixed_ack_rate_q16(ca, p, second));
}

/* No decrease: losses are compensated. */
u32 CC_HOOK(fixed_ssthresh, struct sock *sk)
{
	return cc_ssthresh_floor(tcp_sk(sk)->snd_ssthresh);
}

CC_FENCED_ALGORITHM(fixed, "it keeps its rate, whatever other traffic loses",
	.init = CC_FN(fixed_init),
	.release = CC_FN(fixed_release),
	.cong_control = CC_FN(fixed_cong_control),
	.pkts_acked = CC_NO_HOOK, /* cong_control is called for each ACK */
	.ssthresh = CC_FN(fixed_ssthresh),
	.undo_cwnd = CC_FN(tcp_reno_undo_cwnd),
);
