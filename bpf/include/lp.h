/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TCP-LP: early indication of congestion by the one-way delay, and what a flow of low priority does then.
 *
 * First the law (source: lp.bpf.c), then its repairs, then the delay. Each repair has a parameter that disables it;
 * docs/reference/algorithms/lp.md has the reasons.
 */
#ifndef CCCTL_LP_H
#define CCCTL_LP_H

#include "rtt.h"

#define LOWPRIO_NO_DELAY 0xffffffffU
#define LOWPRIO_MEASURE_US 1000000 /* the peer's tick is measured over this time */
#define LOWPRIO_TICKS_PER_RTT 16 /* fewer make the delay too coarse */
#define LOWPRIO_EVIDENCE_MAX 5

enum lowprio_source { LOWPRIO_AUTO, LOWPRIO_TIME_STAMPS, LOWPRIO_RTT };

/* An algorithm of low priority has these first, and others after them: LOWPRIO(its parameters). */
#define LOWPRIO_PARAMS(P)                                                                                              \
	P(CC_PARAM(delta_pct, 15, 1, 90, "%", "delta: share of the range of delays at which congestion is indicated")) \
	P(CC_PARAM(inference_rtts, 3, 1, 10, "RTTs", "itt: no growth for so long after an indication"))                \
	P(CC_CHOICE(delay_source, 0, 2, "auto|timestamps|rtt", "what the delay is taken from"))                        \
	P(CC_PARAM(peer_tick_us, 0, 0, 1000000, "us", "length of the peer's time stamp tick; 0 = measure it"))         \
	P(CC_PARAM(min_range_us, 100, 0, 1000000, "us", "a range of delays smaller than this is noise"))               \
	P(CC_VARIANT(CC_SWITCH(relearn_range, 0, "learn the range of delays anew after an indication (Linux: on)")))   \
	P(CC_VARIANT(CC_SWITCH(lower_ssthresh, 1, "ssthresh follows the window at an indication (Linux: off)")))       \
	P(CC_VARIANT(CC_SWITCH(delayed_acks, 0, "what the peer's delayed ACKs add counts as delay (Linux: on)")))      \
	P(CC_VARIANT(CC_PARAM(reaction_rtts, 1, 0, 10, "RTTs", "one reaction at most in so long (Linux: 0)")))         \
	P(CC_VARIANT(CC_PARAM(own_queue_pkts, 2, 0, 100, "pkts",                                                       \
			      "a queue with fewer of its own packets indicates nothing (Linux: 0)")))

#define LOWPRIO_MEMBER(item) LOWPRIO_MEMBER_OF(item)
#define LOWPRIO_MEMBER_OF(tag, whose, name, ...) u32 name;
struct lowprio_params {
	LOWPRIO_PARAMS(LOWPRIO_MEMBER)
};
#define LOWPRIO(p) ((const struct lowprio_params *)(p))

struct lowprio_delay {
	u64 phase_end_us; /* of the inference phase */
	u64 reaction_end_us; /* no further reaction until then */
	u32 min_us CC_NONE(LOWPRIO_NO_DELAY, "no delay yet");
	u32 max_us;
	u32 smooth_q3us CC_NONE(0, "no delay yet");
	u32 clock_offset_us; /* the peer's clock minus ours */
	u32 first_peer_stamp; /* at the start of the measurement of the tick */
	u32 first_us; /* our clock then, low 32 bits */
	u32 peer_tick_us CC_NONE(0, "not known yet");
	bool is_measuring;
	bool has_offset;
	bool is_one_way; /* the delays are one-way delays, not RTTs */
	u8 evidence; /* that the peer delays ACKs */
};

/* ---- The law: smoothed delay > d_min + margin; then W = W / 2 and no growth in the phase; in the phase W = 1 ---- */

CC_INLINE void lowprio_average(struct lowprio_delay *d, u32 delay_us)
{
	d->min_us = cc_min(d->min_us, delay_us);
	d->max_us = cc_max(d->max_us, delay_us);
	d->smooth_q3us = d->smooth_q3us ? cc_ewma8(d->smooth_q3us, delay_us) : delay_us << 3;
}

/* Is a delay beyond d_min larger than the margin? For whole numbers x > floor(a / b) is the same as b x > a. */
CC_INLINE bool lowprio_exceeds_margin(const struct lowprio_delay *d, const struct lowprio_params *p, u64 beyond_us)
{
	return 100 * beyond_us > (u64)(d->max_us - d->min_us) * p->delta_pct;
}

CC_INLINE bool lowprio_is_inferring(const struct lowprio_delay *d, const struct sock *sk)
{
	return cc_now_us(sk) < d->phase_end_us;
}

/* At an indication. The last three steps are the repairs threshold and once, and Linux's new range. */
CC_INLINE void lowprio_yield(struct lowprio_delay *d, struct sock *sk, const struct lowprio_params *p, u32 cwnd_pkts)
{
	struct tcp_sock *tp = tcp_sk(sk);

	cc_set_cwnd(tp, lowprio_is_inferring(d, sk) ? 1 : cwnd_pkts);
	d->phase_end_us = cc_now_us(sk) + (u64)p->inference_rtts * cc_srtt_us(sk);
	if (p->lower_ssthresh)
		tp->snd_ssthresh = cc_min(tp->snd_ssthresh, cc_ssthresh_floor(tp->snd_cwnd));
	d->reaction_end_us = cc_now_us(sk) + (u64)p->reaction_rtts * cc_srtt_us(sk);
	if (p->relearn_range) {
		d->min_us = d->smooth_q3us >> 3;
		d->max_us = d->smooth_q3us >> 2;
	}
}

/* ---- The repairs ---- */

/* delayed: the peer may have held back an ACK for one packet, if ACKs for several have shown that it does so. */
CC_INLINE bool lowprio_may_be_delayed(struct lowprio_delay *d, const struct tcp_sock *tp, u32 acked_pkts)
{
	if (acked_pkts > 1 && d->evidence < LOWPRIO_EVIDENCE_MAX)
		d->evidence++;
	if (acked_pkts != 1 || !d->evidence)
		return false;
	if (tp->packets_out) /* an ACK for one of several packets: not delayed */
		d->evidence--;
	return true;
}

/* own: the delay of a queue that only this flow fills. tick: half a tick of the peer's clock is no queue. */
CC_INLINE bool lowprio_exceeds_repaired_margin(const struct lowprio_delay *d, const struct sock *sk,
					       const struct lowprio_params *p)
{
	u64 tick_us = p->own_queue_pkts && d->is_one_way ? d->peer_tick_us : 0;
	u64 beyond_us = cc_beyond(d->smooth_q3us >> 3, d->min_us + tick_us);

	if (!lowprio_exceeds_margin(d, p, beyond_us))
		return false;
	return beyond_us * cc_max(tcp_sk(sk)->snd_cwnd, 1) > (u64)p->own_queue_pkts * cc_srtt_us(sk);
}

/* ---- The delay: the peer's time stamp minus the time of sending, up to a constant; else the RTT ---- */

CC_INLINE void lowprio_forget(struct lowprio_delay *d)
{
	d->min_us = LOWPRIO_NO_DELAY;
	d->max_us = 0;
	d->smooth_q3us = 0;
	d->has_offset = false;
}

CC_INLINE void lowprio_init(struct lowprio_delay *d, const struct lowprio_params *p)
{
	lowprio_forget(d);
	d->is_one_way = p->delay_source == LOWPRIO_TIME_STAMPS;
}

/* The nominal tick of a peer whose measured one is at most an eighth away; 0: none */
CC_INLINE u32 lowprio_nominal_tick_us(u32 tick_us)
{
	const u32 nominal_us[] = { 1, 1000, 2000, 4000, 10000, 100000, 500000 };
	u32 found_us = 0;

	for (u32 i = 0; i < sizeof(nominal_us) / sizeof(nominal_us[0]); i++)
		if (cc_distance(tick_us, nominal_us[i]) * 8 <= nominal_us[i])
			found_us = nominal_us[i];
	return found_us;
}

CC_INLINE void lowprio_measure_tick(struct lowprio_delay *d, const struct tcp_sock *tp)
{
	u32 elapsed_us = cc_minus((u32)tp->tcp_mstamp, d->first_us);
	u32 ticks = cc_minus(tp->rx_opt.rcv_tsval, d->first_peer_stamp);

	if (d->is_measuring && elapsed_us < LOWPRIO_MEASURE_US)
		return;
	if (d->is_measuring && ticks) {
		d->peer_tick_us = lowprio_nominal_tick_us(((u64)elapsed_us + ticks / 2) / ticks);
		if (d->peer_tick_us)
			return;
	}
	d->is_measuring = true;
	d->first_us = (u32)tp->tcp_mstamp;
	d->first_peer_stamp = tp->rx_opt.rcv_tsval;
}

CC_INLINE u32 lowprio_own_tick_us(const struct tcp_sock *tp)
{
	return CC_FIELD_EXISTS(tp, tcp_usec_ts) && CC_BITFIELD(tp, tcp_usec_ts) ? 1 : 1000;
}

/* The peer's tick, if it is fine enough for one-way delays; else 0 */
CC_INLINE u32 lowprio_usable_tick_us(struct lowprio_delay *d, const struct sock *sk, const struct lowprio_params *p)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (p->delay_source == LOWPRIO_RTT || !CC_BITFIELD(tp, rx_opt.saw_tstamp))
		return 0;
	if (p->peer_tick_us)
		d->peer_tick_us = p->peer_tick_us;
	else if (!d->peer_tick_us)
		lowprio_measure_tick(d, tp);
	if (!d->is_one_way && cc_max(d->peer_tick_us, lowprio_own_tick_us(tp)) * LOWPRIO_TICKS_PER_RTT > cc_srtt_us(sk))
		return 0;
	return d->peer_tick_us;
}

/* Modulo 2^32 us; of the newest packet, or with delayed_acks of the echoed, oldest one. Negative: learn all anew. */
CC_WRAPS CC_INLINE u32 lowprio_one_way_us(struct lowprio_delay *d, const struct tcp_sock *tp,
					  const struct lowprio_params *p, u32 peer_tick_us, u32 rtt_us)
{
	u32 sent_us = p->delayed_acks ? tp->rx_opt.rcv_tsecr * lowprio_own_tick_us(tp) : (u32)tp->tcp_mstamp - rtt_us;
	u32 difference_us = tp->rx_opt.rcv_tsval * peer_tick_us - sent_us;

	if (d->has_offset && (difference_us - d->clock_offset_us) >> 31)
		lowprio_forget(d);
	if (!d->has_offset) {
		d->has_offset = true;
		d->clock_offset_us = difference_us <= rtt_us ? 0 : difference_us - rtt_us;
	}
	return difference_us - d->clock_offset_us;
}

/* Delay of this ACK; LOWPRIO_NO_DELAY: it has none */
CC_INLINE u32 lowprio_delay_us(struct lowprio_delay *d, const struct sock *sk, const struct lowprio_params *p,
			       s32 rtt_us)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 peer_tick_us;

	if (rtt_us < 0)
		return LOWPRIO_NO_DELAY;
	peer_tick_us = lowprio_usable_tick_us(d, sk, p);
	if (!peer_tick_us && p->delay_source == LOWPRIO_TIME_STAMPS)
		return LOWPRIO_NO_DELAY;
	if (d->is_one_way != (peer_tick_us != 0)) {
		d->is_one_way = peer_tick_us != 0;
		lowprio_forget(d);
	}
	return peer_tick_us ? lowprio_one_way_us(d, tp, p, peer_tick_us, rtt_us) : (u32)rtt_us;
}

/* Takes the delay of an ACK into account: does it indicate congestion? */
CC_INLINE bool lowprio_indicates(struct lowprio_delay *d, const struct sock *sk, const struct lowprio_params *p,
				 const struct ack_sample *sample)
{
	bool may_be_delayed;
	u32 delay_us;

	if (cc_in_reduction_or_loss(sk))
		return false;
	may_be_delayed = !p->delayed_acks && lowprio_may_be_delayed(d, tcp_sk(sk), sample->pkts_acked);
	delay_us = lowprio_delay_us(d, sk, p, sample->rtt_us);
	if (delay_us == LOWPRIO_NO_DELAY)
		return false;
	delay_us = cc_clamp(delay_us, 1, 1U << 28);
	if (may_be_delayed && delay_us >= d->smooth_q3us >> 3)
		return false;
	lowprio_average(d, delay_us);
	if (cc_now_us(sk) < d->reaction_end_us || d->max_us - d->min_us < p->min_range_us)
		return false;
	return lowprio_exceeds_repaired_margin(d, sk, p);
}

#endif
