// SPDX-License-Identifier: GPL-2.0-only
/*
 * TCP-NV: a window that follows the rate that the path was seen to carry.
 *
 * For      study: data centres whose switches do not mark packets
 * Use      when every flow of a data centre runs it.
 * Not      when Reno or CUBIC flows share the path: it gives way to them.
 * Source   L. Brakmo, "TCP-NV: congestion avoidance for data centers", Linux Plumbers Conference 2010; Linux tcp_nv.c.
 * Law      each window: W_ideal = R_max RTT_min / MSS + pad; W > W_ideal: ssthresh = W_ideal and W -= 38/128 of the
 *          excess; W <= W_ideal - 2: W grows as Reno; loss: W = 0.8 W
 *          R_max = largest rate of an ACK since the last decision, RTT_min = smallest RTT of the last 5 s
 * Why      More window than rate times the RTT without queue only fills the queue. Rates and RTTs of single packets are
 *          noisy in a data center: there is a decision only after so many of them, the later the more it would cost.
 * Differs  From Linux: rates are kept in bytes/us, not in units of 100 bit/s; the base RTT that Linux asks a sockops program
 *          for is the parameter base_rtt and bounds the RTT from below without a margin. From Reno: a growth factor
 *          that every RTO halves, and that rounds without congestion give back.
 * Needs    a data center where every flow runs it: it gives way to Reno and CUBIC.
 * State    56 bytes of 104.
 * Range    rates up to 8 MB/us and RTTs up to 16 s: their product is below 2^63 in Q16.
 */
#include "rtt.h"

/*
 * The model
 *
 * Vegas compares the window with base RTT times rate, where the rate is that of the whole round.
 * In a data center an RTT is some ten microseconds: one interrupt, one ACK held back by GRO, and
 * the comparison is wrong by more than the queue it looks for. NV keeps the idea and makes each of
 * its numbers robust:
 *
 *   rate      of each ACK: bytes in flight when its packet was sent, by the smoothed RTT. The
 *             largest of many counts: noise makes an RTT longer and so a rate smaller, hardly ever
 *             larger.
 *   RTT_min   renewed every few seconds, since a route may change, at a random moment, since flows
 *             that renew it together would all measure each other's queue.
 *   decision  only at the end of a round, and only after enough ACKs with a sample. The samples of
 *             too small a number may all be noise. A mistaken decrease costs throughput at once, a
 *             mistaken increase costs a little queue: so a decrease takes 60 samples over at least
 *             2 rounds, growth 20. To end slow start 30 suffice, because there waiting costs a
 *             doubling a round.
 *
 *                    W > ideal, 60 samples: W -= 0.3 of the excess
 *                    W > ideal for 10 rounds without so many
 *     [ may grow ] -------------------------------------------------> [ may not grow ]
 *                  <-------------------------------------------------
 *                    W <= ideal - 2, 20 samples: Reno's growth
 *
 * pad        10 packets: a window of exactly rate times RTT_min measures the rate that it causes
 *            itself and could never find more. The pad is what the queue holds for each flow.
 * buffer     2 packets below the ideal window nothing happens: without this gap the window would
 *            move at each decision.
 * 0.3        of the excess in a round: what is in the queue leaves over several rounds, and RTTs
 *            measured meanwhile are averages of before and after.
 * ssthresh   is the ideal window itself: after the decrease growth is linear, not slow start back
 *            into the queue.
 * 0.8        at a loss: the queue of a data center's switch is short against the pipe, half would
 *            be too much.
 * growth     After timeouts Reno's growth is too fast for a switch with very many flows (incast):
 *            each timeout halves it, down to 1/256, and 8 decisions without congestion give back a
 *            doubling. In Linux this is one number, cwnd_growth_factor: here slow_shift is its
 *            negative half and fast_shift its positive.
 */
#define NV_PARAMS(P)                                                                                                   \
	P(CC_PARAM(pad_pkts, 10, 0, 1000, "pkts", "window beyond rate times RTT"))                                     \
	P(CC_PARAM(pad_buffer_pkts, 2, 0, 1000, "pkts", "no growth within this distance below the ideal window"))      \
	P(CC_PARAM(reset_s, 5, 1, 3600, "s", "the smallest RTT is renewed this often, give or take a quarter"))        \
	P(CC_PARAM(min_cwnd_pkts, 2, 1, 1000, "pkts", "smallest window that a decision leaves"))                       \
	P(CC_PARAM(decrease_q7, 38, 0, 128, "1/128",                                                                   \
		   "share of the excess over the ideal window that is given up in a round"))                           \
	P(CC_PARAM(ssthresh_q3, 8, 1, 16, "1/8", "ssthresh after congestion, of the ideal window"))                    \
	P(CC_PARAM(rtt_weight_q8, 128, 0, 256, "1/256", "weight of a new sample in the RTT; 0 = the sample alone"))    \
	P(CC_PARAM(loss_keep_q10, 819, 512, 1023, "1/1024", "share of the window kept on loss"))                       \
	P(CC_PARAM(regain_rtts, 8, 0, 255, "RTTs",                                                                     \
		   "without congestion, to double a growth that RTOs reduced; 0 = no reduction"))                      \
	P(CC_PARAM(speedup_rtts, 0, 0, 255, "RTTs",                                                                    \
		   "without congestion, to double the growth beyond Reno's; 0 = never"))                               \
	P(CC_PARAM(decrease_calls, 60, 1, 255, "", "ACKs with a sample before the window is reduced"))                 \
	P(CC_PARAM(increase_calls, 20, 1, 255, "", "ACKs with a sample before growth is allowed"))                     \
	P(CC_PARAM(slow_start_calls, 30, 1, 255, "", "ACKs with a sample before the first slow start is ended"))       \
	P(CC_PARAM(stop_rtts, 10, 1, 255, "RTTs", "of suspected congestion without decision before growth stops"))     \
	P(CC_PARAM(decision_rtts, 2, 1, 255, "RTTs", "between decisions for a smaller window"))                        \
	P(CC_PARAM(base_rtt_us, 0, 0, 10000000, "us", "no RTT is taken to be smaller; 0 = no bound"))
CC_PARAMS(nv, NV_PARAMS);

#define NV_NO_RTT 0xffffffffU
#define NV_FIRST_RESET_US 2000000 /* Linux: the first renewal of the smallest RTT comes early */
#define NV_SEGMENTS_BOUND 80 /* Linux: most packets that one ACK may stand for (TSO, GRO) */
#define NV_MIN_ACKED_PKTS 4 /* Linux: NV_MIN_CWND */
#define NV_MIN_ACKED_STEP 2 /* Linux: NV_MIN_CWND_GROW */
#define NV_SHIFT_MAX 8 /* Linux: a growth of 1/256 of Reno's at the least */
#define NV_RATE_MAX_Q16 (1ULL << 39)

struct nv_state {
	u64 max_rate_q16; /* bytes per us, largest since the last decision */
	u64 rtt_reset_us; /* when the smallest RTT is renewed */
	u32 rtt_us CC_NONE(0, "no RTT yet"); /* smoothed */
	u32 min_rtt_us CC_NONE(NV_NO_RTT, "no RTT yet");
	u32 next_min_rtt_us CC_NONE(NV_NO_RTT, "no RTT in this period"); /* its smallest, in force in the next */
	u32 round_end_seq;
	u32 last_una; /* at the last sample */
	u32 acked_bound_pkts; /* fewer packets at a round's only ACK are not many enough to be its only ones */
	u32 calls; /* ACKs with a sample since the last decision */
	u32 rounds; /* since the last decision */
	u32 quiet_rounds; /* decisions in a row that saw no congestion */
	u8 slow_shift; /* growth is Reno's times 2^-slow_shift */
	u8 fast_shift; /* or times 2^fast_shift */
	bool may_grow;
	bool has_lost; /* begin anew when the loss is repaired */
};
CC_STATE_STRUCT(nv);

CC_INLINE void nv_reset(struct nv_state *ca, const struct tcp_sock *tp)
{
	ca->has_lost = false;
	ca->rtt_us = 0;
	ca->max_rate_q16 = 0;
	ca->calls = ca->rounds = ca->quiet_rounds = 0;
	ca->round_end_seq = ca->last_una = tp->snd_una;
}

void CC_HOOK(nv_init, struct sock *sk)
{
	struct nv_state *ca = CC_NEW_STATE(nv, sk);

	nv_reset(ca, tcp_sk(sk));
	ca->may_grow = true;
	ca->min_rtt_us = ca->next_min_rtt_us = NV_NO_RTT;
	ca->rtt_reset_us = cc_now_us(sk) + NV_FIRST_RESET_US;
	ca->acked_bound_pkts = NV_MIN_ACKED_PKTS;
}

CC_INLINE void nv_smooth_rtt(struct nv_state *ca, const struct nv_params *p, u32 sample_us)
{
	u32 weight_q8 = cc_min(p->rtt_weight_q8, 256);

	if (ca->rtt_us && weight_q8)
		sample_us = ((u64)sample_us * weight_q8 + (u64)ca->rtt_us * (256 - weight_q8)) >> 8;
	else if (!ca->rtt_us)
		ca->min_rtt_us = 2 * sample_us;
	ca->rtt_us = cc_max(sample_us, 1);
}

CC_INLINE void nv_update_min_rtt(struct nv_state *ca, const struct nv_params *p, const struct sock *sk)
{
	u32 rtt_us = cc_max(ca->rtt_us, p->base_rtt_us);

	ca->min_rtt_us = cc_min(ca->min_rtt_us, rtt_us);
	ca->next_min_rtt_us = cc_min(ca->next_min_rtt_us, rtt_us);
	if (cc_now_us(sk) < ca->rtt_reset_us)
		return;
	ca->min_rtt_us = ca->next_min_rtt_us;
	ca->next_min_rtt_us = NV_NO_RTT;
	/* three to five quarters: flows that began together do not renew it together */
	ca->rtt_reset_us = cc_now_us(sk) + (((u64)p->reset_s * 1000000 * (384 + (CC_RANDOM_U32(sk) & 255))) >> 9);
	ca->acked_bound_pkts = cc_max(ca->acked_bound_pkts / 2, NV_MIN_ACKED_PKTS);
}

CC_INLINE u32 nv_ideal_cwnd_pkts(const struct nv_state *ca, const struct nv_params *p, u32 mss_bytes)
{
	u64 bytes = ca->max_rate_q16 * cc_min(ca->min_rtt_us, 1U << 24) >> 16;

	return cc_min(cc_div(bytes, mss_bytes), CC_CWND_MAX_PKTS) + p->pad_pkts;
}

/* Is what was seen of this round enough to say that the window is too large? */
CC_INLINE bool nv_may_reduce(struct nv_state *ca, const struct nv_params *p, const struct tcp_sock *tp)
{
	if (ca->rounds < p->decision_rtts)
		return false;
	if (tp->snd_ssthresh == TCP_INFINITE_SSTHRESH)
		return ca->calls >= p->slow_start_calls;
	if (ca->calls >= p->decrease_calls)
		return true;
	if (ca->rounds > p->stop_rtts)
		ca->may_grow = false;
	return false;
}

CC_INLINE void nv_reduce(struct nv_state *ca, const struct nv_params *p, struct tcp_sock *tp, u32 ideal_pkts)
{
	u32 excess_pkts = tp->snd_cwnd - ideal_pkts;

	ca->may_grow = false;
	ca->fast_shift = 0;
	ca->quiet_rounds = 0;
	tp->snd_ssthresh = cc_ssthresh_of_path((u64)p->ssthresh_q3 * ideal_pkts >> 3);
	if (excess_pkts > 2)
		cc_set_cwnd(tp, tp->snd_cwnd - cc_max(2, (u64)excess_pkts * cc_min(p->decrease_q7, 128) >> 7));
	else if (p->decrease_q7)
		cc_set_cwnd(tp, ideal_pkts);
}

CC_INLINE void nv_allow_growth(struct nv_state *ca, const struct nv_params *p)
{
	ca->may_grow = true;
	ca->quiet_rounds++;
	if (ca->slow_shift && p->regain_rtts && ca->quiet_rounds > p->regain_rtts) {
		ca->slow_shift--;
		ca->quiet_rounds = 0;
	} else if (!ca->slow_shift && p->speedup_rtts && ca->quiet_rounds > p->speedup_rtts) {
		ca->fast_shift = cc_min(ca->fast_shift + 1, 31);
		ca->quiet_rounds = 0;
	}
}

/* Once a round. True: there was a decision, and the next one begins from nothing. */
CC_INLINE bool nv_decide(struct nv_state *ca, const struct nv_params *p, struct tcp_sock *tp)
{
	u32 ideal_pkts = nv_ideal_cwnd_pkts(ca, p, tp->mss_cache);

	if (tp->snd_cwnd > ideal_pkts) {
		if (!nv_may_reduce(ca, p, tp))
			return false;
		nv_reduce(ca, p, tp, ideal_pkts);
		return true;
	}
	if (tp->snd_cwnd + p->pad_buffer_pkts > ideal_pkts || ca->calls < p->increase_calls)
		return false;
	nv_allow_growth(ca, p);
	return true;
}

/*
 * A round's only ACK stands for many packets: the window is too small for what TSO or GRO put together. It has to grow
 * before anything can be said. (Linux: "the cwnd is probably too small".)
 */
CC_INLINE bool nv_window_is_one_ack(struct nv_state *ca, const struct tcp_sock *tp, u32 acked_bytes)
{
	if (ca->calls != 1 || acked_bytes < (u64)(ca->acked_bound_pkts - 1) * tp->mss_cache ||
	    ca->acked_bound_pkts > NV_SEGMENTS_BOUND)
		return false;
	ca->acked_bound_pkts = cc_min(ca->acked_bound_pkts + NV_MIN_ACKED_STEP, NV_SEGMENTS_BOUND + 1);
	ca->round_end_seq = cc_plus(tp->snd_nxt, ca->acked_bound_pkts * tp->mss_cache);
	ca->calls = 0;
	ca->may_grow = true;
	return true;
}

CC_INLINE void nv_end_round(struct nv_state *ca, const struct nv_params *p, struct tcp_sock *tp, u32 acked_bytes)
{
	u32 floor_pkts = cc_min(tp->snd_cwnd, p->min_cwnd_pkts);

	if (ca->rounds < 255)
		ca->rounds++;
	if (nv_window_is_one_ack(ca, tp, acked_bytes) || !nv_decide(ca, p, tp))
		return;
	ca->calls = ca->rounds = 0;
	ca->max_rate_q16 = 0;
	if (tp->snd_cwnd < floor_pkts)
		cc_set_cwnd(tp, floor_pkts);
}

void CC_HOOK(nv_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	const struct nv_params *p = nv_params();
	struct nv_state *ca = CC_STATE(nv, sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 acked_bytes;
	u64 rate_q16;
	u32 rtt_us;

	if (sample->rtt_us < 0 || cc_in_reduction_or_loss(sk))
		return;
	acked_bytes = cc_minus(tp->snd_una, ca->last_una);
	ca->last_una = tp->snd_una;
	if (!sample->in_flight)
		return;
	nv_smooth_rtt(ca, p, cc_clamp(sample->rtt_us, 1, 1U << 24));
	rtt_us = cc_max(ca->rtt_us, p->base_rtt_us);
	rate_q16 = cc_div(((u64)sample->in_flight << 16) + rtt_us - 1,
			  rtt_us); /* up, or its product would miss a packet */
	ca->max_rate_q16 = cc_max(ca->max_rate_q16, cc_min(rate_q16, NV_RATE_MAX_Q16));
	if (ca->calls < 255)
		ca->calls++;
	nv_update_min_rtt(ca, p, sk);
	if (cc_round_ended(tp, &ca->round_end_seq))
		nv_end_round(ca, p, tp, acked_bytes);
}

void CC_HOOK(nv_cong_avoid, struct sock *sk, u32 ack, u32 acked_pkts)
{
	struct nv_state *ca = CC_STATE(nv, sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u64 divisor;

	if (!ca->may_grow)
		return;
	acked_pkts = cc_begin_growth(sk, acked_pkts);
	if (!acked_pkts)
		return;
	divisor = (u64)tp->snd_cwnd << (ca->slow_shift & 15);
	if (!ca->slow_shift)
		divisor = cc_max(divisor >> (ca->fast_shift & 31), 4);
	tcp_cong_avoid_ai(tp, cc_min(divisor, 1U << 31), acked_pkts);
}

u32 CC_HOOK(nv_ssthresh, struct sock *sk)
{
	return cc_ssthresh_floor((u64)tcp_sk(sk)->snd_cwnd * nv_params()->loss_keep_q10 >> 10);
}

void CC_HOOK(nv_set_state, struct sock *sk, u8 new_state)
{
	struct nv_state *ca = CC_STATE(nv, sk);

	if (new_state == TCP_CA_Open && ca->has_lost)
		nv_reset(ca, tcp_sk(sk));
	if (new_state == TCP_CA_Open || new_state == TCP_CA_Disorder)
		return;
	ca->has_lost = true;
	ca->may_grow = false;
	if (new_state != TCP_CA_Loss)
		return;
	ca->fast_shift = 0;
	if (nv_params()->regain_rtts && ca->slow_shift < NV_SHIFT_MAX)
		ca->slow_shift++;
}

CC_ALGORITHM(nv,
	.init = CC_FN(nv_init),
	.pkts_acked = CC_FN(nv_pkts_acked),
	.cong_avoid = CC_FN(nv_cong_avoid),
	.ssthresh = CC_FN(nv_ssthresh),
	.set_state = CC_FN(nv_set_state),
	.undo_cwnd = CC_FN(tcp_reno_undo_cwnd),
);
