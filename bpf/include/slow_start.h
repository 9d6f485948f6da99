/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ways out of slow start before it overshoots.
 *
 * HyStart    S. Ha, I. Rhee, "Taming the elephants: new TCP slow start", Computer Networks 55(9), 2011, as in Linux
 *            tcp_cubic.c: leaves when a train of closely spaced ACKs is longer than half the base RTT, or when the
 *            round's RTT exceeds the base RTT by 4 to 16 ms.
 * HyStart++  RFC 9406: on such an RTT increase grows at a quarter of the speed for up to five rounds (conservative slow
 *            start), returns to slow start if the RTT falls back, and leaves only after that.
 * SEARCH     search.h: leaves when deliveries fall behind what was sent one round trip before.
 *
 * Differs    HyStart: nothing is decided in recovery, where Linux may lower ssthresh to a window on its way to it; an
 *            algorithm that is to be as Linux asks for that.
 */
#ifndef CCCTL_SLOW_START_H
#define CCCTL_SLOW_START_H

#include "search.h"

enum cc_slow_start_exit { CC_EXIT_ON_LOSS, CC_EXIT_HYSTART, CC_EXIT_HYSTARTPP, CC_EXIT_SEARCH };

#define HYSTART_LOW_WINDOW_PKTS 16 /* Linux: below this the signals are noise */
#define HYSTART_TRAIN_GAP_US 2000 /* Linux: ACKs closer than this belong to one train */
#define HYSTART_SAMPLES 8 /* RFC 9406 N_RTT_SAMPLE; Linux HYSTART_MIN_SAMPLES, of which it looks at the next */
#define HYSTART_MIN_THRESHOLD_US 4000 /* RFC 9406 MIN_RTT_THRESH, and Linux HYSTART_DELAY_MIN */
#define HYSTART_MAX_THRESHOLD_US 16000 /* RFC 9406 MAX_RTT_THRESH, and Linux HYSTART_DELAY_MAX */
#define HYSTART_CSS_DIVISOR 4 /* RFC 9406 CSS_GROWTH_DIVISOR */
#define HYSTART_CSS_ROUNDS 5 /* RFC 9406 CSS_ROUNDS */
#define HYSTART_UNPACED_LIMIT_PKTS 8 /* RFC 9406 L, without pacing */
#define HYSTART_NO_RTT 0xffffffffU

struct hystart_state {
	u32 round_end_seq;
	u32 round_start_us; /* low 32 bits of the clock */
	u32 last_ack_us; /* of the ACK train; low 32 bits */
	u32 base_rtt_us CC_NONE(0, "no RTT yet"); /* HyStart: smallest RTT of the connection */
	u32 last_round_min_rtt_us CC_NONE(HYSTART_NO_RTT, "no RTT in the round before"); /* lastRoundMinRTT */
	u32 round_min_rtt_us CC_NONE(HYSTART_NO_RTT, "no RTT in this round"); /* HyStart++: currentRoundMinRTT */
	u32 css_baseline_us; /* cssBaselineMinRtt */
	u8 samples;
	u8 css_rounds; /* rounds begun in conservative slow start; 0: not in it */
	bool done; /* left: HyStart until a timeout, HyStart++ for good, with a loss too */
	u8 css_credit_pkts; /* packets acked that have not yet made up a quarter */
};

CC_INLINE void hystart_start_round(struct hystart_state *h, const struct tcp_sock *tp)
{
	h->round_end_seq = tp->snd_nxt;
	h->round_start_us = h->last_ack_us = (u32)tp->tcp_mstamp;
	h->last_round_min_rtt_us = h->round_min_rtt_us;
	h->round_min_rtt_us = HYSTART_NO_RTT;
	h->samples = 0;
}

CC_INLINE void hystart_init(struct hystart_state *h, const struct tcp_sock *tp)
{
	h->round_min_rtt_us = HYSTART_NO_RTT;
	hystart_start_round(h, tp);
}

/* RFC 9406 section 4.2: RttThresh; also the delay threshold of Linux */
CC_INLINE u32 hystart_threshold_us(u32 rtt_us)
{
	return cc_clamp(rtt_us >> 3, HYSTART_MIN_THRESHOLD_US, HYSTART_MAX_THRESHOLD_US);
}

CC_INLINE void hystart_leave(struct hystart_state *h, struct tcp_sock *tp)
{
	h->done = true;
	h->css_rounds = 0;
	tp->snd_ssthresh = cc_ssthresh_floor(tp->snd_cwnd);
}

/* Pacing spreads a window's ACKs over up to half an RTT, so only a train longer than a whole RTT tells anything. */
CC_INLINE u32 hystart_train_limit_us(const struct sock *sk, u32 base_rtt_us)
{
	u64 rate = sk->sk_pacing_rate;
	u64 burst_us =
		cc_min(cc_div(4ULL * sk->sk_gso_max_size * 1000000, rate), 1000); /* of four bursts of segments */

	if (sk->sk_pacing_status == SK_PACING_NONE)
		return (base_rtt_us + burst_us) >> 1;
	return base_rtt_us + burst_us;
}

CC_INLINE bool hystart_train_is_long(struct hystart_state *h, const struct sock *sk)
{
	if (cc_since_us(sk, h->last_ack_us) > HYSTART_TRAIN_GAP_US)
		return false;
	h->last_ack_us = (u32)cc_now_us(sk);
	return cc_since_us(sk, h->round_start_us) > hystart_train_limit_us(sk, h->base_rtt_us);
}

/* Eight samples are counted, and at the next one the round's smallest RTT is looked at. */
CC_INLINE bool hystart_delay_is_high(const struct hystart_state *h)
{
	return h->samples > HYSTART_SAMPLES &&
	       h->round_min_rtt_us > h->base_rtt_us + hystart_threshold_us(h->base_rtt_us);
}

CC_INLINE void hystart_check(struct hystart_state *h, struct sock *sk)
{
	if (hystart_train_is_long(h, sk) || hystart_delay_is_high(h))
		hystart_leave(h, tcp_sk(sk));
}

/* RFC 9406 section 4.2: enter, or give up, conservative slow start */
CC_INLINE void hystartpp_check(struct hystart_state *h)
{
	if (h->samples < HYSTART_SAMPLES)
		return;
	if (h->css_rounds) {
		if (h->round_min_rtt_us < h->css_baseline_us)
			h->css_rounds = 0;
		return;
	}
	if (h->last_round_min_rtt_us == HYSTART_NO_RTT)
		return;
	if (h->round_min_rtt_us >= h->last_round_min_rtt_us + hystart_threshold_us(h->last_round_min_rtt_us)) {
		h->css_baseline_us = h->round_min_rtt_us;
		h->css_rounds = 1; /* the partial round counts */
	}
}

CC_INLINE void hystartpp_end_round(struct hystart_state *h, struct tcp_sock *tp)
{
	if (!h->css_rounds)
		return;
	if (h->css_rounds >= HYSTART_CSS_ROUNDS)
		hystart_leave(h, tp);
	else
		h->css_rounds++;
}

/*
 * At each ACK with an RTT sample, while in slow start. in_recovery_too: also while the window, on its way to ssthresh, is
 * below it, which is no slow start; only tcp_cubic.c does.
 */
CC_INLINE void hystart_sample(struct hystart_state *h, struct sock *sk, u32 rtt_us, enum cc_slow_start_exit exit,
			      bool in_recovery_too)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!h->base_rtt_us || rtt_us < h->base_rtt_us)
		h->base_rtt_us = cc_max(rtt_us, 1);
	if (exit == CC_EXIT_ON_LOSS || exit == CC_EXIT_SEARCH || !tcp_in_slow_start(tp) || h->done)
		return;
	if (!in_recovery_too && tcp_in_cwnd_reduction(sk))
		return;
	if (after(tp->snd_una, h->round_end_seq)) {
		if (exit == CC_EXIT_HYSTARTPP)
			hystartpp_end_round(h, tp);
		hystart_start_round(h, tp);
	}
	if (exit == CC_EXIT_HYSTART && tp->snd_cwnd < HYSTART_LOW_WINDOW_PKTS)
		return;
	h->round_min_rtt_us = cc_min(h->round_min_rtt_us, cc_max(rtt_us, 1));
	if (h->samples < 255)
		h->samples++;
	if (exit == CC_EXIT_HYSTARTPP)
		hystartpp_check(h);
	else
		hystart_check(h, sk);
}

/* How many of acked_pkts may grow the window in slow start */
CC_INLINE u32 hystart_growth_pkts(struct hystart_state *h, const struct sock *sk, u32 acked_pkts,
				  enum cc_slow_start_exit exit)
{
	u32 pkts = acked_pkts;

	if (exit != CC_EXIT_HYSTARTPP || h->done)
		return pkts;
	if (sk->sk_pacing_status == SK_PACING_NONE)
		pkts = cc_min(pkts, HYSTART_UNPACED_LIMIT_PKTS);
	if (!h->css_rounds)
		return pkts;
	pkts += h->css_credit_pkts;
	h->css_credit_pkts = pkts % HYSTART_CSS_DIVISOR;
	return pkts / HYSTART_CSS_DIVISOR;
}

/* A loss or a congestion mark ends HyStart++ (RFC 9406 section 4.2) */
CC_INLINE void hystart_congestion(struct hystart_state *h, enum cc_slow_start_exit exit)
{
	h->done |= exit == CC_EXIT_HYSTARTPP;
	h->css_rounds = 0;
}

/* After a timeout HyStart knows nothing of the path, and may leave the slow start that follows. */
CC_INLINE void hystart_timeout(struct hystart_state *h, const struct tcp_sock *tp, enum cc_slow_start_exit exit)
{
	if (exit != CC_EXIT_HYSTARTPP) {
		h->base_rtt_us = 0;
		h->done = false;
	}
	hystart_start_round(h, tp);
}

#endif
