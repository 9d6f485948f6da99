// SPDX-License-Identifier: GPL-2.0-only
/*
 * CDG: gives way to delay that grows, at random, and tells losses of its own making from others.
 *
 * For      study: short queues without congestion marks
 * Use      when you study delay gradients as a signal of congestion.
 * Not      when throughput beside loss-based flows counts: the shadow window limits what it loses to them, no more.
 * Source   D. Hayes, G. Armitage, "Revisiting TCP congestion control using delay gradients", IFIP Networking 2011;
 *          Linux tcp_cdg.c (K. Kjellsen Jonassen, 2015); HyStart: S. Ha, I. Rhee, Computer Networks 55(9), 2011.
 * Law      g = growth of the smallest, or else of the largest, RTT of a round, summed over 8 rounds
 *          each round: with probability 1 - exp(-42 g / s): W = 0.7071 W; otherwise Reno
 *          loss: W = max(s / 2, W / 2), s = shadow window, which knows no such backoffs
 *          after 5 backoffs without an effect on g: none until g falls
 * Why      A gradient needs no base RTT, so that a route change or a standing queue deceives nobody; chance keeps flows
 *          from giving way together; the shadow window holds its own against flows that only know losses.
 * Differs  From the paper: sums for averages, largest RTTs consulted only where the smallest do not grow (both as in Linux).
 *          From Linux: Linux enters CWR for a backoff, which BPF cannot: here the window goes down by the packets
 *          acknowledged of one round, evenly, as it does there by PRR (RFC 6937); gradients are kept within 32.7 ms a
 *          round; the window of rounds is 8 at most.
 * State    92 bytes of 104.
 * Range    gradients up to 0.26 s over 8 rounds; e^-x is at most 0.002 above the curve.
 */
#include "rtt.h"

/*
 * The model
 *
 * A queue that grows makes RTTs longer from round to round. The difference, the gradient, needs no
 * idea of how long an empty queue's RTT is: neither a base RTT that a standing queue has
 * falsified, nor a threshold that fits one path only.
 *
 *   smallest RTT of a round grows, and so does the largest:   the queue fills
 *   the smallest grows, the largest does not:                 the queue is full
 *   one of them falls:                                        the queue empties
 *
 *              gradient > 0, and the dice say so
 *     [ Reno ] ---------------------------------> [ a round of backoff: W falls to 0.7 W ]
 *              <---------------------------------
 *              the round has ended; no gradient is taken of it
 *
 * dice       The chance of a backoff is 1 - exp(-g / G), G = 3 ms of gradient: 42 ppm per us with
 *            sums over 8 rounds. A small gradient may be noise, and is mostly ignored; a large one
 *            is acted on. Flows that share a queue see the same gradient. If all acted at once the
 *            queue would run empty and fill again, all together.
 * sum        of 8 rounds, as the paper's average times 8: a single round's gradient is a
 *            difference of two extremes.
 * 0.7071     less than Reno's half: a backoff answers a queue that begins, not one that overflows.
 * shadow     A flow that only knows losses takes what CDG's backoffs leave. So CDG keeps the
 *            window that it would have without them, and at a loss goes back to half of that, but
 *            not above the window it has: losses then do not hit it twice.
 * 5          backoffs in a row without the queue getting shorter (by 32 us, above timer noise)
 *            mean that others fill it. Then giving way is of no use, and CDG is Reno until the
 *            delay falls.
 * tolerance  With a queue that was not seen full a loss is not one of congestion (a radio link's).
 *            Off by default, as in Linux: where a queue is too short to be seen full this would
 *            ignore real congestion.
 */
#define CDG_PARAMS(P)                                                                                                  \
	P(CC_PARAM(window_shift, 3, 0, 3, "", "gradients are summed over 2^shift rounds"))                             \
	P(CC_PARAM(backoff_factor_ppm, 42, 1, 10000, "ppm",                                                            \
		   "exponent of the backoff per us of gradient: 1 / (8 G), G = 3 ms"))                                 \
	P(CC_PARAM(backoff_beta_q10, 724, 512, 1023, "1/1024", "share of the window kept at a backoff"))               \
	P(CC_PARAM(ineffective_backoffs, 5, 0, 255, "",                                                                \
		   "backoffs without effect before there are no more; 0 = no limit"))                                  \
	P(CC_SWITCH(shadow_window, 1, "a loss counts from the window that there would be without backoffs"))           \
	P(CC_SWITCH(loss_tolerance, 0, "losses while the queue was not seen to be full do not lower the window"))      \
	P(CC_CHOICE(hystart, 3, 3, "off|train|delay|both", "what ends slow start besides losses and backoffs"))
CC_PARAMS(cdg, CDG_PARAMS);

#define CDG_WINDOW 8
#define CDG_NOISE_US 32 /* Linux: smaller gradients do not show that a backoff had an effect */
#define CDG_DELACK_MAX 5
#define CDG_TRAIN_GAP_US 3000
#define CDG_MIN_OWD_US 125
#define CDG_SAMPLES 8

enum cdg_queue { CDG_UNKNOWN, CDG_NOT_FULL, CDG_FULL };

struct cdg_rtt {
	u32 min_us CC_NONE(0, "no RTT in this round");
	u32 max_us;
};

struct cdg_gradient {
	s16 min_us;
	s16 max_us;
};

struct cdg_state {
	struct cdg_gradient gradient[CDG_WINDOW]; /* of the last rounds, the newest first */
	struct cdg_rtt rtt; /* of this round */
	struct cdg_rtt last_rtt; /* of the round before */
	u32 round_end_seq;
	u32 shadow_pkts;
	u32 gradient_us; /* sum that the last decision was made on; 0: not growing */
	u32 backoff_chance_q16; /* of that decision */
	u32 backoff_cwnd_pkts; /* the window that the last backoff lowers */
	u32 backoff_acked_pkts; /* of it */
	u32 base_rtt_us CC_NONE(0, "no RTT yet"); /* HyStart */
	u32 train_start_us; /* low 32 bits */
	u32 train_last_us CC_NONE(0, "no train of ACKs");
	u8 rounds; /* with a gradient, as far as there is room */
	u8 backoffs; /* without effect */
	u8 delayed_acks; /* ACKs of single packets that may have been delayed */
	u8 samples; /* HyStart, in this round */
	u8 queue; /* enum cdg_queue */
	bool backing_off; /* this round is a backoff's: no growth, no gradient */
};
CC_STATE_STRUCT(cdg);

CC_INLINE void cdg_start_round(struct cdg_state *ca, const struct tcp_sock *tp)
{
	ca->round_end_seq = tp->snd_nxt;
	ca->last_rtt = ca->rtt;
	ca->rtt.min_us = ca->rtt.max_us = 0;
	ca->train_last_us = 0;
	ca->samples = 0;
}

void CC_HOOK(cdg_init, struct sock *sk)
{
	struct cdg_state *ca = CC_NEW_STATE(cdg, sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	ca->round_end_seq = tp->snd_nxt;
	ca->shadow_pkts = tp->snd_cwnd;
}

/* a - b, kept within 16 bits */
CC_INLINE s16 cdg_difference_us(u32 a_us, u32 b_us)
{
	u32 size_us = cc_min(cc_distance(a_us, b_us), 32767);

	return a_us >= b_us ? (s32)size_us : -(s32)size_us;
}

/* Is a sum positive or negative by more than noise? */
CC_INLINE void cdg_judge_queue(struct cdg_state *ca, s32 min_us, s32 max_us)
{
	bool min_grows = min_us >= CDG_NOISE_US, max_grows = max_us >= CDG_NOISE_US;

	if (min_grows && !max_grows)
		ca->queue = CDG_FULL; /* the longest delay can grow no further */
	else if (min_grows || max_us <= -CDG_NOISE_US)
		ca->queue = CDG_NOT_FULL;
}

/* Takes the round's gradient into the window: the sum, where it is positive; else 0 */
CC_INLINE u32 cdg_take_gradient_us(struct cdg_state *ca, const struct cdg_params *p)
{
	u32 window = 1U << (p->window_shift & 3);
	s32 min_sum_us = 0, max_sum_us = 0, sum_us;

	for (u32 i = CDG_WINDOW - 1; i > 0; i--)
		ca->gradient[i] = ca->gradient[i - 1];
	ca->gradient[0].min_us = cdg_difference_us(ca->rtt.min_us, ca->last_rtt.min_us);
	ca->gradient[0].max_us = cdg_difference_us(ca->rtt.max_us, ca->last_rtt.max_us);
	ca->rounds = cc_min(ca->rounds + 1, CDG_WINDOW);
	for (u32 i = 0; i < CDG_WINDOW; i++) {
		/* A mask: all bits set where i < window, else none. Branches would be 2^8 paths for the verifier. */
		s32 counts = 0 - (s32)cc_at_least(window, i + 1);

		min_sum_us += ca->gradient[i].min_us & counts;
		max_sum_us += ca->gradient[i].max_us & counts;
	}
	if (min_sum_us <= -CDG_NOISE_US || max_sum_us <= -CDG_NOISE_US)
		ca->backoffs = 0;
	cdg_judge_queue(ca, min_sum_us, max_sum_us);
	sum_us = min_sum_us > 0 ? min_sum_us : max_sum_us;
	if (sum_us <= 0)
		return 0;
	if (ca->rounds < window) /* as if the rounds to come were like those so far */
		return cc_div((u64)(u32)sum_us * window, ca->rounds);
	return sum_us;
}

/* Throws the dice of a round */
CC_INLINE bool cdg_backs_off(struct cdg_state *ca, const struct cdg_params *p, const struct sock *sk)
{
	u64 exponent_q16 = ((u64)ca->gradient_us * p->backoff_factor_ppm << 16) / 1000000;

	ca->backoff_chance_q16 = (1 << 16) - cc_exp_neg_q16(exponent_q16);
	if ((CC_RANDOM_U32(sk) >> 16) >= ca->backoff_chance_q16)
		return false;
	if (!p->ineffective_backoffs)
		return true;
	if (ca->backoffs < 255)
		ca->backoffs++;
	return ca->backoffs <= p->ineffective_backoffs;
}

CC_INLINE void cdg_back_off(struct cdg_state *ca, const struct cdg_params *p, struct tcp_sock *tp)
{
	ca->shadow_pkts = cc_max(ca->shadow_pkts, tp->snd_cwnd);
	ca->backing_off = true;
	ca->backoff_cwnd_pkts = tp->snd_cwnd;
	ca->backoff_acked_pkts = 0;
	tp->snd_ssthresh = cc_ssthresh_floor((u64)tp->snd_cwnd * p->backoff_beta_q10 >> 10);
	tp->snd_cwnd_cnt = 0;
}

/*
 * The round of a backoff: its packets were sent before it, and its RTTs are those of the queue as it was. Lowered at
 * once, the window leaves a gap. The first packet after it ends the round and, with its low RTT, is the round's smallest;
 * the next gradient then lacks the fall that the backoff has brought, and the sum leads to another one.
 */
CC_INLINE void cdg_lower(struct cdg_state *ca, struct tcp_sock *tp, u32 acked_pkts)
{
	u32 from_pkts = ca->backoff_cwnd_pkts, less_pkts = from_pkts - cc_min(from_pkts, tp->snd_ssthresh);

	ca->backoff_acked_pkts = cc_min((u64)ca->backoff_acked_pkts + acked_pkts, from_pkts);
	less_pkts = cc_div((u64)less_pkts * ca->backoff_acked_pkts, from_pkts);
	cc_set_cwnd(tp, cc_min(tp->snd_cwnd, from_pkts - less_pkts));
}

CC_INLINE void cdg_end_backoff(struct cdg_state *ca, struct tcp_sock *tp)
{
	ca->backing_off = false;
	ca->queue = CDG_UNKNOWN;
	cc_set_cwnd(tp, cc_min(tp->snd_cwnd, tp->snd_ssthresh));
}

/* True: a backoff begins. */
CC_INLINE bool cdg_end_round(struct cdg_state *ca, const struct cdg_params *p, struct sock *sk)
{
	bool measured = ca->last_rtt.min_us && !ca->backing_off;

	ca->gradient_us = measured ? cdg_take_gradient_us(ca, p) : 0;
	if (ca->backing_off)
		cdg_end_backoff(ca, tcp_sk(sk));
	cdg_start_round(ca, tcp_sk(sk));
	if (!ca->gradient_us || !cdg_backs_off(ca, p, sk))
		return false;
	cdg_back_off(ca, p, tcp_sk(sk));
	return true;
}

/* ACKs close to each other, for longer than half the base RTT: the path is full. */
CC_INLINE bool cdg_train_is_long(struct cdg_state *ca, const struct sock *sk)
{
	u32 now_us = cc_max((u32)cc_now_us(sk), 1);

	if (!ca->train_last_us || !tcp_is_cwnd_limited(sk)) {
		ca->train_last_us = ca->train_start_us = now_us;
		return false;
	}
	if (cc_minus(now_us, ca->train_last_us) >= CDG_TRAIN_GAP_US)
		return false;
	ca->train_last_us = now_us;
	return cc_minus(now_us, ca->train_start_us) > cc_max(ca->base_rtt_us / 2, CDG_MIN_OWD_US);
}

CC_INLINE bool cdg_delay_is_high(struct cdg_state *ca)
{
	if (ca->samples < CDG_SAMPLES) {
		ca->samples++;
		return false;
	}
	return ca->rtt.min_us > cc_max(ca->base_rtt_us + ca->base_rtt_us / 8, CDG_MIN_OWD_US);
}

CC_INLINE void cdg_watch_slow_start(struct cdg_state *ca, struct sock *sk, u32 hystart)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (ca->rtt.min_us && (!ca->base_rtt_us || ca->rtt.min_us < ca->base_rtt_us))
		ca->base_rtt_us = ca->rtt.min_us;
	if (!ca->base_rtt_us)
		return;
	if ((hystart & 1 && cdg_train_is_long(ca, sk)) || (hystart & 2 && cdg_delay_is_high(ca)))
		tp->snd_ssthresh = cc_ssthresh_floor(tp->snd_cwnd);
}

void CC_HOOK(cdg_cong_avoid, struct sock *sk, u32 ack, u32 acked_pkts)
{
	const struct cdg_params *p = cdg_params();
	struct cdg_state *ca = CC_STATE(cdg, sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 before_pkts = tp->snd_cwnd;

	if (tcp_in_slow_start(tp) && p->hystart)
		cdg_watch_slow_start(ca, sk, p->hystart);
	if (ca->rtt.min_us && after(tp->snd_una, ca->round_end_seq) && cdg_end_round(ca, p, sk))
		return;
	if (ca->backing_off) {
		cdg_lower(ca, tp, acked_pkts);
		return;
	}
	if (!tcp_is_cwnd_limited(sk)) {
		ca->shadow_pkts = cc_min(ca->shadow_pkts, tp->snd_cwnd);
		return;
	}
	cc_reno_grow(tp, acked_pkts);
	ca->shadow_pkts = cc_min((u64)ca->shadow_pkts + tp->snd_cwnd - cc_min(before_pkts, tp->snd_cwnd), 1U << 30);
}

/*
 * The RTT of a packet whose ACK may have been delayed counts for the smallest only, and only if it is smaller.
 * (D. Hayes, CAIA TR 100219A)
 */
void CC_HOOK(cdg_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct cdg_state *ca = CC_STATE(cdg, sk);
	u32 rtt_us = sample->rtt_us;

	if (sample->rtt_us <= 0)
		return;
	if (!tcp_sk(sk)->sacked_out) {
		if (sample->pkts_acked == 1 && ca->delayed_acks) {
			ca->rtt.min_us = cc_min(ca->rtt.min_us, rtt_us);
			ca->delayed_acks--;
			return;
		}
		if (sample->pkts_acked > 1 && ca->delayed_acks < CDG_DELACK_MAX)
			ca->delayed_acks++;
	}
	ca->rtt.min_us = ca->rtt.min_us ? cc_min(ca->rtt.min_us, rtt_us) : rtt_us;
	ca->rtt.max_us = cc_max(ca->rtt.max_us, rtt_us);
}

u32 CC_HOOK(cdg_ssthresh, struct sock *sk)
{
	const struct cdg_params *p = cdg_params();
	struct cdg_state *ca = CC_STATE(cdg, sk);
	u32 cwnd = tcp_sk(sk)->snd_cwnd;

	if (ca->backing_off) { /* of the window that is being lowered already: one reduction a round, as in CWR */
		ca->backing_off = false;
		return cc_ssthresh_floor(tcp_sk(sk)->snd_ssthresh);
	}
	if (p->loss_tolerance && ca->queue == CDG_NOT_FULL)
		return cc_ssthresh_floor(cwnd);
	ca->shadow_pkts = cc_min(ca->shadow_pkts >> 1, cwnd);
	if (!p->shadow_window)
		return cc_ssthresh_floor(cwnd >> 1);
	return cc_ssthresh_floor(cc_max(ca->shadow_pkts, cwnd >> 1));
}

/* The RTTs of a reduction are those of a queue that it empties: the next gradient is from here on. */
CC_INLINE void cdg_reduced(struct cdg_state *ca, const struct tcp_sock *tp)
{
	ca->queue = CDG_UNKNOWN;
	ca->backing_off = false;
	cdg_start_round(ca, tp);
}

/* Sending again after idle: all is learned anew. */
CC_INLINE void cdg_restart(struct cdg_state *ca, const struct tcp_sock *tp)
{
	*ca = (struct cdg_state){ .round_end_seq = tp->snd_nxt, .shadow_pkts = tp->snd_cwnd };
}

void CC_HOOK(cdg_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct cdg_state *ca = CC_STATE(cdg, sk);

	if (event == CA_EVENT_CWND_RESTART)
		cdg_restart(ca, tcp_sk(sk));
	else if (event == CA_EVENT_COMPLETE_CWR)
		cdg_reduced(ca, tcp_sk(sk));
}

CC_ALGORITHM(cdg,
	.init = CC_FN(cdg_init),
	.pkts_acked = CC_FN(cdg_pkts_acked),
	.cong_avoid = CC_FN(cdg_cong_avoid),
	.ssthresh = CC_FN(cdg_ssthresh),
	.cwnd_event = CC_FN(cdg_cwnd_event),
	.undo_cwnd = CC_FN(tcp_reno_undo_cwnd),
);
