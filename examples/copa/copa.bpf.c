// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copa: a rate that falls with the queueing delay.
 *
 * For      study: low delay on a path of one's own, by rate and delay alone
 * Use      when delay matters and the path is shared with other Copa flows.
 * Not      when losses alone show a full path: in its default mode it does not react to them.
 * Source   V. Arun, H. Balakrishnan, "Copa: Practical Delay-Based Congestion Control for the Internet", NSDI 2018.
 * Law      dq = RTT_standing - RTT_min; target rate 1 / (delta dq), rate W / RTT_standing;
 *          each ACK: W += v / (delta W) below the target, W -= v / (delta W) above it; pacing at 2 W / RTT_standing;
 *          v doubles each round trip once W has moved in one direction for three, and is 1 after a change of direction;
 *          competitive mode, where the queue was not nearly empty for 5 round trips: 1/delta += 1 each round trip
 *          without a loss, 1/delta /= 2 on loss
 * Why      In equilibrium each flow has about 1/delta packets in the queue, whatever the rate of the path. The steps up and
 *          down empty the queue every 5 round trips, so that RTT_min is seen; where other traffic keeps it full, that is noticed.
 * Differs  From the paper: competitive mode is off by default: a newcomer's slow start keeps a deep queue from emptying for
 *          more than 5 round trips, and then Copa flows compete with each other (docs/guide/first-algorithm.md).
 *          The windows of RTT_min (10 s), RTT_standing (srtt / 2) and RTT_max (4 RTT) move by halves of their length; an ACK
 *          moves W by no more than the packets that it acknowledges; after a timeout slow start begins anew.
 * State    64 bytes of 104.
 * Range    windows up to 2^20 packets, delays up to 2^28 us, 1/delta up to 1024: 2^56 for the comparison of rates.
 * Needs    pacing: sk_pacing_rate and TCP's own timer, or the fq queue discipline.
 */
#include "cc.h"

#define COPA_PARAMS(P)                                                                                                 \
	P(CC_PARAM(inverse_delta_q8, 512, 64, 16384, "1/256 pkts",                                                     \
		   "1/delta of the default mode: packets of its own in the queue"))                                    \
	P(CC_SWITCH(competitive, 0, "compete with traffic that fills the queue"))                                      \
	P(CC_PARAM(min_rtt_window_s, 10, 1, 300, "s", "the smallest RTT of this time is that of an empty queue"))
CC_PARAMS(copa, COPA_PARAMS);

#define COPA_MOST_INVERSE_DELTA_Q8 (1024U << 8)
#define COPA_MOST_DELAY_US (1U << 28)
#define COPA_MOST_VELOCITY (1U << 16)
#define COPA_ROUNDS_BEFORE_DOUBLING 3 /* section 2.1 */
#define COPA_ROUNDS_UNTIL_COMPETITIVE 5 /* section 2.2 */
#define COPA_NEARLY_EMPTY 10 /* a tenth of RTT_max - RTT_min: section 2.2 */
#define COPA_LEAST_PKTS 2

/* The smallest, or largest, RTT of a time, kept as that of its two halves */
struct copa_window {
	u32 now_us CC_NONE(0, "no RTT yet");
	u32 before_us CC_NONE(0, "no RTT in the half before");
	u32 since_us; /* when this half began; low 32 bits of the clock */
};

struct copa_state {
	struct copa_window least; /* RTT_min */
	struct copa_window standing; /* RTT_standing */
	struct copa_window largest; /* RTT_max */
	u32 round_end_seq;
	u32 round_cwnd_pkts; /* at the start of this round */
	u32 velocity;
	u32 inverse_delta_q8;
	u32 fraction_q16; /* of the window, beyond whole packets */
	u8 same_rounds; /* in which the window moved as in the one before */
	u8 rounds_full; /* since the queue was nearly empty */
	bool up; /* direction of the last round */
	bool slow_start;
	bool lost; /* a loss in this round */
};
CC_STATE_STRUCT(copa);

void CC_HOOK(copa_init, struct sock *sk)
{
	struct copa_state *ca = CC_NEW_STATE(copa, sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	ca->slow_start = true;
	ca->velocity = 1;
	ca->inverse_delta_q8 = copa_params()->inverse_delta_q8;
	ca->round_end_seq = tp->snd_nxt;
	ca->round_cwnd_pkts = tp->snd_cwnd;
	if (sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
}

/* Begins the next half where this one is over. True where neither says anything of now. */
CC_INLINE bool copa_turn(struct copa_window *w, const struct sock *sk, u32 rtt_us, u32 half_us)
{
	u32 age_us = cc_since_us(sk, w->since_us);

	if (w->now_us && age_us < half_us)
		return false;
	w->before_us = w->now_us && age_us / 2 < half_us ? w->now_us : rtt_us;
	w->now_us = rtt_us;
	w->since_us = (u32)cc_now_us(sk);
	return true;
}

CC_INLINE u32 copa_least_us(struct copa_window *w, const struct sock *sk, u32 rtt_us, u32 half_us)
{
	if (!copa_turn(w, sk, rtt_us, half_us))
		w->now_us = cc_min(w->now_us, rtt_us);
	return cc_min(w->now_us, w->before_us);
}

CC_INLINE u32 copa_largest_us(struct copa_window *w, const struct sock *sk, u32 rtt_us, u32 half_us)
{
	if (!copa_turn(w, sk, rtt_us, half_us))
		w->now_us = cc_max(w->now_us, rtt_us);
	return cc_max(w->now_us, w->before_us);
}

/* Section 2.1: v doubles once the direction has been the same for three rounds. */
CC_INLINE void copa_update_velocity(struct copa_state *ca, u32 cwnd)
{
	bool up = cwnd > ca->round_cwnd_pkts;

	ca->round_cwnd_pkts = cwnd;
	if (up != ca->up) {
		ca->up = up;
		ca->same_rounds = 0;
		ca->velocity = 1;
		return;
	}
	if (ca->same_rounds < COPA_ROUNDS_BEFORE_DOUBLING)
		ca->same_rounds++;
	else
		ca->velocity = cc_min(ca->velocity * 2ULL, COPA_MOST_VELOCITY);
}

/* Section 2.2: who else is there is seen by whether the queue ever empties. */
CC_INLINE void copa_update_mode(struct copa_state *ca)
{
	const struct copa_params *p = copa_params();

	if (ca->rounds_full < COPA_ROUNDS_UNTIL_COMPETITIVE)
		ca->rounds_full++;
	if (!p->competitive || ca->rounds_full < COPA_ROUNDS_UNTIL_COMPETITIVE)
		ca->inverse_delta_q8 = p->inverse_delta_q8;
	else if (!ca->lost)
		ca->inverse_delta_q8 = cc_min(ca->inverse_delta_q8 + 256ULL, COPA_MOST_INVERSE_DELTA_Q8);
	ca->lost = false;
}

/* W +- v / (delta W) for each packet acknowledged */
CC_INLINE void copa_move(struct copa_state *ca, struct tcp_sock *tp, u32 acked_pkts, bool up)
{
	u64 cwnd_q16 = ((u64)tp->snd_cwnd << 16) + ca->fraction_q16;
	u64 step_q16 = cc_div((u64)ca->velocity * ca->inverse_delta_q8 << 8, cc_max(tp->snd_cwnd, 1));

	step_q16 = cc_min(step_q16, 1 << 16) * acked_pkts;
	if (up)
		cwnd_q16 = cc_min(cwnd_q16 + step_q16, (u64)CC_CWND_MAX_PKTS << 16);
	else
		cwnd_q16 = cc_max(cc_beyond(cwnd_q16, step_q16), COPA_LEAST_PKTS << 16);
	cc_set_cwnd(tp, cwnd_q16 >> 16);
	ca->fraction_q16 = cwnd_q16 & 0xffff;
}

CC_INLINE void copa_pace(struct sock *sk, u32 standing_us)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 rate = 2ULL * tp->snd_cwnd * tp->mss_cache * 1000000 / cc_max(standing_us, 1); /* bytes/s */

	sk->sk_pacing_rate = cc_clamp(rate, 1, sk->sk_max_pacing_rate);
}

/* Is W / RTT_standing below 1 / (delta dq)? */
CC_INLINE bool copa_is_below_target(const struct copa_state *ca, u32 cwnd, u32 standing_us, u32 queue_us)
{
	u64 queue_q8 = (u64)cc_min(queue_us, COPA_MOST_DELAY_US) << 8;

	return queue_q8 * cwnd <= (u64)cc_min(standing_us, COPA_MOST_DELAY_US) * ca->inverse_delta_q8;
}

/* What the law says of an ACK with this RTT: the standing RTT, and whether the window is to grow */
CC_INLINE u32 copa_observe(struct copa_state *ca, const struct sock *sk, u32 rtt_us, bool *up)
{
	u32 srtt_us = cc_max(cc_srtt_us(sk), 1);
	u32 least_us = copa_least_us(&ca->least, sk, rtt_us, copa_params()->min_rtt_window_s * 500000);
	u32 standing_us = copa_least_us(&ca->standing, sk, rtt_us, cc_max(srtt_us / 4, 1));
	u32 largest_us = copa_largest_us(&ca->largest, sk, rtt_us, srtt_us * 2);
	u32 queue_us = cc_beyond(standing_us, least_us);

	if (queue_us <= cc_beyond(largest_us, least_us) / COPA_NEARLY_EMPTY)
		ca->rounds_full = 0;
	*up = copa_is_below_target(ca, tcp_sk(sk)->snd_cwnd, standing_us, queue_us);
	return standing_us;
}

CC_CONG_CONTROL(copa_cong_control, sk, sample)
{
	struct copa_state *ca = CC_STATE(copa, sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 acked_pkts = sample->acked_sacked;
	u32 standing_us;
	bool up;

	if (sample->rtt_us <= 0)
		return;
	standing_us = copa_observe(ca, sk, cc_min(sample->rtt_us, 0xffffffffU), &up);
	if (cc_round_ended(tp, &ca->round_end_seq)) {
		copa_update_velocity(ca, tp->snd_cwnd);
		copa_update_mode(ca);
	}
	if (!up)
		ca->slow_start = false;
	if (up && !CC_BITFIELD(tp, is_cwnd_limited))
		acked_pkts = 0;
	if (ca->slow_start)
		cc_set_cwnd(tp, cc_min((u64)tp->snd_cwnd + acked_pkts, CC_CWND_MAX_PKTS));
	else
		copa_move(ca, tp, acked_pkts, up);
	copa_pace(sk, standing_us);
}

/* A loss leaves the window alone. In competitive mode the flow asks for less from now on. */
u32 CC_HOOK(copa_ssthresh, struct sock *sk)
{
	struct copa_state *ca = CC_STATE(copa, sk);

	ca->lost = true;
	ca->inverse_delta_q8 = cc_max(ca->inverse_delta_q8 / 2, copa_params()->inverse_delta_q8);
	return cc_ssthresh_floor(tcp_sk(sk)->snd_cwnd);
}

void CC_HOOK(copa_set_state, struct sock *sk, u8 new_state)
{
	struct copa_state *ca = CC_STATE(copa, sk);

	if (new_state != TCP_CA_Loss)
		return;
	ca->slow_start = true;
	ca->velocity = 1;
	ca->same_rounds = 0;
	ca->fraction_q16 = 0;
}

CC_ALGORITHM(copa,
	.init = CC_FN(copa_init),
	.cong_control = CC_FN(copa_cong_control),
	.ssthresh = CC_FN(copa_ssthresh),
	.set_state = CC_FN(copa_set_state),
	.undo_cwnd = CC_FN(tcp_reno_undo_cwnd),
);
