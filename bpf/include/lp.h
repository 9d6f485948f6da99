/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Early indication of congestion from the one-way delay, and what a flow of low priority does at it.
 *
 * Source     A. Kuzmanovic, E. Knightly, "TCP-LP: a distributed algorithm for low priority data transfer", IEEE INFOCOM
 *            2003; "TCP-LP: low-priority service via end-point congestion control", IEEE/ACM ToN 14(4), 2006.
 * Indication smoothed delay (weight 1/8) > d_min + delta (d_max - d_min), delta = 15 %
 * Reaction   the first one begins an inference phase of itt = 3 RTT without growth; one inside it: W = 1, and the phase
 *            begins anew; one reaction an RTT at most
 * Range      d_min and d_max are those of the connection, as in the paper. relearn_range=on (Linux): after an indication
 *            d_min is the smoothed delay of that moment and d_max twice that.
 * Once       The average needs more than an RTT to follow a window that was halved: each further ACK would indicate, and
 *            W = 1 come at once. So there is one reaction an RTT, as RFC 3168 section 6.1.2 has it for marks.
 *            reaction_rtts=0 (Linux): at each.
 * Delayed    The paper does not speak of them. Of a peer that delays ACKs the last of an odd window waits, by 40 ms
 *            and more, and at W = 1 all do: where the path's own range is smaller each would indicate, and the window
 *            stay there. So the delay is that of the newest packet of an ACK, which has not waited (the echo is the
 *            oldest's); and that of an ACK for a single packet counts only if it lowers the average, as the path's is no
 *            longer than it. delayed_acks=on (Linux): all of it counts.
 * Own        Delayed ACKs let packets go in pairs, of which the second waits for the first. While d_max is that of such
 *            pairs, 15 % of the range are always exceeded, and the paper's rule keeps the window between 1 and 3 for
 *            good. A queue that holds less than two packets of this flow (delay times W / RTT) therefore indicates
 *            nothing: without them it would be there as well. own_queue_pkts=0 (paper, Linux): all do.
 * Ticks      A time stamp is cut down to the peer's tick, so that d_min is that of a packet which came late in its tick,
 *            and the average half a tick above it without any queue: 0.5 ms, as much as 4 packets need at 100 Mbit/s.
 *            A tick is added to what indicates. own_queue_pkts=0: not.
 * Weak       Beside a flow that fills a queue of B packets it keeps some 2 / B of the path, and at W = 1 it learns of a queue
 *            only where a delayed ACK hides none of it.
 *
 * The delay from here to the peer is the peer's time stamp minus the time at which the packet was sent, where the
 * difference of the two clocks does not matter, only their pace: the peer's tick is measured and taken for one of the
 * nominal ones, so that no error of the estimate passes for delay. Ticks that are long for the RTT tell nothing; then,
 * and without time stamps, the RTT stands for the delay. A clock that is slower than ours would lead to a negative
 * delay: then all is learned anew.
 */
#ifndef CCCTL_LP_H
#define CCCTL_LP_H

#include "rtt.h"

#define LOWPRIO_NO_DELAY 0xffffffffU
#define LOWPRIO_MEASURE_US 1000000 /* the peer's tick is measured over this time */
#define LOWPRIO_TICKS_PER_RTT 16 /* fewer make the delay too coarse */
#define LOWPRIO_EVIDENCE_MAX 5

enum lowprio_source { LOWPRIO_AUTO, LOWPRIO_TIME_STAMPS, LOWPRIO_RTT };

/* The parameters that an algorithm of low priority has */
#define LOWPRIO_PARAMS                                                                                                 \
	CC_PARAM(delta_pct, 15, 1, 90, "%", "delta: share of the range of delays at which congestion is indicated"),   \
		CC_PARAM(inference_rtts, 3, 1, 10, "RTTs", "itt: no growth for so long after an indication"),          \
		CC_CHOICE(delay_source, 0, 2, "auto|timestamps|rtt", "what the delay is taken from"),                  \
		CC_PARAM(peer_tick_us, 0, 0, 1000000, "us", "length of the peer's time stamp tick; 0 = measure it"),   \
		CC_PARAM(min_range_us, 100, 0, 1000000, "us", "a range of delays smaller than this is noise"),         \
		CC_SWITCH(relearn_range, 0, "learn the range of delays anew after an indication (Linux: on)"),         \
		CC_SWITCH(lower_ssthresh, 1, "ssthresh follows the window at an indication (Linux: off)"),             \
		CC_SWITCH(delayed_acks, 0, "what the peer's delayed ACKs add counts as delay (Linux: on)"),            \
		CC_PARAM(reaction_rtts, 1, 0, 10, "RTTs", "one reaction at most in so long (Linux: 0)"),               \
		CC_PARAM(own_queue_pkts, 2, 0, 100, "pkts",                                                            \
			 "a queue with fewer of its own packets indicates nothing (Linux: 0)")

#define LOWPRIO_LAW(p)                                                                                                 \
	{                                                                                                              \
		.delta_pct = (p)->delta_pct, .inference_rtts = (p)->inference_rtts, .source = (p)->delay_source,       \
		.peer_tick_us = (p)->peer_tick_us, .min_range_us = (p)->min_range_us,                                  \
		.relearn_range = (p)->relearn_range, .lower_ssthresh = (p)->lower_ssthresh,                            \
		.delayed_acks = (p)->delayed_acks, .reaction_rtts = (p)->reaction_rtts,                                \
		.own_queue_pkts = (p)->own_queue_pkts,                                                                 \
	}

struct lowprio_law {
	u32 delta_pct;
	u32 inference_rtts;
	u32 source;
	u32 peer_tick_us;
	u32 min_range_us;
	u32 relearn_range;
	u32 lower_ssthresh;
	u32 delayed_acks;
	u32 reaction_rtts;
	u32 own_queue_pkts;
};

struct lowprio_delay {
	u64 phase_end_us; /* of the inference phase */
	u64 reaction_end_us; /* no further reaction until then */
	u32 min_us; /* LOWPRIO_NO_DELAY: none yet */
	u32 max_us;
	u32 smooth_q3us; /* 0: none yet */
	u32 clock_offset_us; /* the peer's clock minus ours, as far as it is known */
	u32 first_peer_stamp; /* with which the measurement of the tick began */
	u32 first_us; /* our clock then, low 32 bits */
	u32 peer_tick_us; /* 0: not known */
	bool is_measuring;
	bool has_offset;
	bool is_one_way; /* the delays are one-way delays, not RTTs */
	u8 evidence; /* that the peer delays ACKs */
};

CC_INLINE void lowprio_forget(struct lowprio_delay *d)
{
	d->min_us = LOWPRIO_NO_DELAY;
	d->max_us = 0;
	d->smooth_q3us = 0;
	d->has_offset = false;
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

/* Length of the peer's tick, if one-way delays can be had from it; 0: not */
CC_INLINE u32 lowprio_usable_tick_us(struct lowprio_delay *d, const struct sock *sk, const struct lowprio_law *law,
				     u32 own_tick_us)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (law->source == LOWPRIO_RTT || !CC_BITFIELD(tp, rx_opt.saw_tstamp))
		return 0;
	if (law->peer_tick_us)
		d->peer_tick_us = law->peer_tick_us;
	else if (!d->peer_tick_us)
		lowprio_measure_tick(d, tp);
	if (!d->is_one_way && cc_max(d->peer_tick_us, own_tick_us) * LOWPRIO_TICKS_PER_RTT > cc_srtt_us(sk))
		return 0;
	return d->peer_tick_us;
}

/* When the peer made its time stamp, by its clock, modulo 2^32 us */
CC_WRAPS CC_INLINE u32 lowprio_received_us(const struct tcp_sock *tp, u32 peer_tick_us)
{
	return tp->rx_opt.rcv_tsval * peer_tick_us;
}

/*
 * When the packet was sent whose delay it is, modulo 2^32 us: the newest that the ACK is for, or the one whose time stamp
 * is echoed, which is the oldest (RFC 7323 section 4.3)
 */
CC_WRAPS CC_INLINE u32 lowprio_sent_us(const struct tcp_sock *tp, const struct lowprio_law *law, u32 own_tick_us,
				       u32 rtt_us)
{
	return law->delayed_acks ? tp->rx_opt.rcv_tsecr * own_tick_us : (u32)tp->tcp_mstamp - rtt_us;
}

/*
 * One-way delay, all modulo 2^32 us. The first one is taken as it is where it is possible at all, that is no longer than
 * the RTT; else the clocks differ, and it is counted as one RTT.
 */
CC_WRAPS CC_INLINE u32 lowprio_one_way_us(struct lowprio_delay *d, u32 received_us, u32 sent_us, u32 rtt_us)
{
	u32 difference_us = received_us - sent_us;
	u32 delay_us = difference_us - d->clock_offset_us;

	if (d->has_offset && delay_us >> 31)
		lowprio_forget(d);
	if (!d->has_offset) {
		d->has_offset = true;
		d->clock_offset_us = difference_us <= rtt_us ? 0 : difference_us - rtt_us;
		delay_us = difference_us - d->clock_offset_us;
	}
	return delay_us;
}

/* Delay of this ACK; LOWPRIO_NO_DELAY: it has none */
CC_INLINE u32 lowprio_delay_us(struct lowprio_delay *d, const struct sock *sk, const struct lowprio_law *law,
			       s32 rtt_us)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 own_tick_us = 1000;
	u32 peer_tick_us;

	if (rtt_us < 0)
		return LOWPRIO_NO_DELAY;
	if (CC_FIELD_EXISTS(tp, tcp_usec_ts) && CC_BITFIELD(tp, tcp_usec_ts))
		own_tick_us = 1;
	peer_tick_us = lowprio_usable_tick_us(d, sk, law, own_tick_us);
	if (!peer_tick_us && law->source == LOWPRIO_TIME_STAMPS)
		return LOWPRIO_NO_DELAY;
	if (d->is_one_way != (peer_tick_us != 0)) {
		d->is_one_way = peer_tick_us != 0;
		lowprio_forget(d);
	}
	if (!peer_tick_us)
		return rtt_us;
	return lowprio_one_way_us(d, lowprio_received_us(tp, peer_tick_us),
				  lowprio_sent_us(tp, law, own_tick_us, rtt_us), rtt_us);
}

/*
 * May the peer have held this ACK back? It may where it is for one packet, and ACKs for several have shown that the peer
 * waits for them. Those for one of several packets in flight are evidence to the contrary; with one in flight there is no
 * other kind.
 */
CC_INLINE bool lowprio_may_be_delayed(struct lowprio_delay *d, const struct tcp_sock *tp, u32 acked_pkts)
{
	if (acked_pkts > 1 && d->evidence < LOWPRIO_EVIDENCE_MAX)
		d->evidence++;
	if (acked_pkts != 1 || !d->evidence)
		return false;
	if (tp->packets_out)
		d->evidence--;
	return true;
}

CC_INLINE bool lowprio_is_inferring(const struct lowprio_delay *d, const struct sock *sk)
{
	return cc_now_us(sk) < d->phase_end_us;
}

CC_INLINE void lowprio_init(struct lowprio_delay *d, const struct lowprio_law *law)
{
	lowprio_forget(d);
	d->is_one_way = law->source == LOWPRIO_TIME_STAMPS;
}

/* How much longer than the shortest the delay has to be */
CC_INLINE u64 lowprio_margin_us(const struct lowprio_delay *d, const struct sock *sk, const struct lowprio_law *law)
{
	u64 own_us = cc_div((u64)law->own_queue_pkts * cc_srtt_us(sk), cc_max(tcp_sk(sk)->snd_cwnd, 1));
	u64 margin_us = cc_max((u64)(d->max_us - d->min_us) * law->delta_pct / 100, own_us);

	if (law->own_queue_pkts && d->is_one_way)
		margin_us += d->peer_tick_us;
	return margin_us;
}

/* Takes the delay of an ACK into account: does it indicate congestion? */
CC_INLINE bool lowprio_indicates(struct lowprio_delay *d, const struct sock *sk, const struct lowprio_law *law,
				 const struct ack_sample *sample)
{
	u32 delay_us;
	bool may_be_delayed;

	if (cc_recovering(sk))
		return false;
	may_be_delayed = !law->delayed_acks && lowprio_may_be_delayed(d, tcp_sk(sk), sample->pkts_acked);
	delay_us = lowprio_delay_us(d, sk, law, sample->rtt_us);
	if (delay_us == LOWPRIO_NO_DELAY)
		return false;
	delay_us = cc_clamp(delay_us, 1, 1U << 28);
	if (may_be_delayed && delay_us >= d->smooth_q3us >> 3)
		return false;
	d->min_us = cc_min(d->min_us, delay_us);
	d->max_us = cc_max(d->max_us, delay_us);
	d->smooth_q3us = d->smooth_q3us ? cc_ewma8(d->smooth_q3us, delay_us) : delay_us << 3;
	if (cc_now_us(sk) < d->reaction_end_us || d->max_us - d->min_us < law->min_range_us)
		return false;
	return d->smooth_q3us >> 3 > d->min_us + lowprio_margin_us(d, sk, law);
}

/*
 * Congestion was indicated: to this window or, inside an inference phase, to one packet. The paper has additive increase
 * from there on: ssthresh follows, or slow start would take it all back.
 */
CC_INLINE void lowprio_yield(struct lowprio_delay *d, struct sock *sk, const struct lowprio_law *law, u32 cwnd_pkts)
{
	struct tcp_sock *tp = tcp_sk(sk);

	cc_set_cwnd(tp, lowprio_is_inferring(d, sk) ? 1 : cwnd_pkts);
	if (law->lower_ssthresh)
		tp->snd_ssthresh = cc_min(tp->snd_ssthresh, cc_ssthresh_floor(tp->snd_cwnd));
	d->phase_end_us = cc_now_us(sk) + (u64)law->inference_rtts * cc_srtt_us(sk);
	d->reaction_end_us = cc_now_us(sk) + (u64)law->reaction_rtts * cc_srtt_us(sk);
	if (law->relearn_range) {
		d->min_us = d->smooth_q3us >> 3;
		d->max_us = d->smooth_q3us >> 2;
	}
}

#endif
