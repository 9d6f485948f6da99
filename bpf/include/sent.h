/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What was in flight, and what was lost, when a packet was sent that is acknowledged now.
 *
 * Algorithms that judge a flight by its losses need both for each packet, and unmodified kernels keep neither. But all
 * packets that are sent between two ACKs carry the same tcp_sock.delivered, and the rate sample returns it as
 * prior_delivered. So a note is made at ACKs, and found again by that number.
 *
 * Exact      where a note is made at each ACK: up to 32 packets in flight. Beyond that there is one for each 1/32 of what is
 *            in flight, so 2 flights fit, and `lost` and `in flight` are those of up to 1/32 of a flight earlier.
 * In flight  is what the next ACK finds there: what was sent after this one is in it.
 * Lost       changes with ACKs and with timeouts: cc_sent_timed_out().
 */
#ifndef CCCTL_SENT_H
#define CCCTL_SENT_H

#include "cc.h"

#define CC_SENT_NOTES 64 /* a power of two, for the search */
#define CC_SENT_SHARE 32

struct cc_sent_note {
	u32 delivered;
	u32 lost;
	u32 delivered_ce;
	u32 in_flight_pkts;
};

struct cc_sent {
	struct cc_sent_note notes[CC_SENT_NOTES]; /* a ring */
	u32 newest;
	u32 delivered_ce; /* at the last ACK */
	bool has_begun;
};

/* Since the newest packet acknowledged was sent, and what was in flight then */
struct cc_sent_then {
	u32 in_flight_pkts;
	u32 lost_pkts;
	u32 marked_pkts;
};

CC_INLINE struct cc_sent_note *cc_sent_note(struct cc_sent *sent, u32 index)
{
	return &sent->notes[index & (CC_SENT_NOTES - 1)];
}

CC_INLINE struct cc_sent_note cc_sent_now(const struct tcp_sock *tp, u32 in_flight_pkts)
{
	return (struct cc_sent_note){
		.delivered = tp->delivered,
		.lost = tp->lost,
		.delivered_ce = tp->delivered_ce,
		.in_flight_pkts = in_flight_pkts,
	};
}

CC_INLINE void cc_sent_begin(struct cc_sent *sent, const struct tcp_sock *tp, u32 in_flight_pkts)
{
	struct cc_sent_note now = cc_sent_now(tp, in_flight_pkts);

	for (u32 i = 0; i < CC_SENT_NOTES; i++)
		sent->notes[i] = now;
	sent->newest = 0;
	sent->delivered_ce = tp->delivered_ce;
	sent->has_begun = true;
}

/* An ACK comes. True: it reports congestion marks. */
CC_INLINE bool cc_sent_ack_began(struct cc_sent *sent, const struct tcp_sock *tp, u32 prior_in_flight_pkts)
{
	bool marked = sent->delivered_ce != tp->delivered_ce;

	sent->delivered_ce = tp->delivered_ce;
	cc_sent_note(sent, sent->newest)->in_flight_pkts = prior_in_flight_pkts;
	return marked;
}

/*
 * How many notes were made after packets that carry `delivered`; by halves, without a branch: the verifier follows every path.
 */
CC_WRAPS CC_INLINE u32 cc_sent_age(struct cc_sent *sent, u32 delivered)
{
	u32 age = 0;

	for (u32 step = CC_SENT_NOTES / 2; step; step >>= 1) {
		u32 since = delivered - cc_sent_note(sent, sent->newest - (age + step - 1))->delivered;

		age += step * (since >> 31);
	}
	return age;
}

/*
 * Since a packet that carries `delivered` was sent; the oldest note's where none is old enough. The empty assembly keeps clang
 * from loading here and elsewhere from one computed address, which the verifier refuses.
 */
CC_WRAPS CC_INLINE struct cc_sent_then cc_sent_since(struct cc_sent *sent, const struct tcp_sock *tp, u32 delivered)
{
	const struct cc_sent_note *then = cc_sent_note(sent, sent->newest - cc_sent_age(sent, delivered));
	u32 in_flight_pkts = then->in_flight_pkts;

	__asm__ volatile("" : "+r"(in_flight_pkts));
	return (struct cc_sent_then){
		.in_flight_pkts = in_flight_pkts,
		.lost_pkts = tp->lost - then->lost,
		.marked_pkts = tp->delivered_ce - then->delivered_ce,
	};
}

/* After an ACK */
CC_WRAPS CC_INLINE void cc_sent_acked(struct cc_sent *sent, const struct tcp_sock *tp, u32 in_flight_pkts)
{
	u32 since = tp->delivered - cc_sent_note(sent, sent->newest)->delivered;

	if (!since || (u64)since * CC_SENT_SHARE < in_flight_pkts)
		return;
	sent->newest++;
	*cc_sent_note(sent, sent->newest) = cc_sent_now(tp, in_flight_pkts);
}

/* A timeout has marked what was in flight. Since the last ACK, and what was in flight until now; what follows is sent after that. */
CC_WRAPS CC_INLINE struct cc_sent_then cc_sent_timed_out(struct cc_sent *sent, const struct tcp_sock *tp)
{
	struct cc_sent_note *newest = cc_sent_note(sent, sent->newest);
	struct cc_sent_then then = {
		.in_flight_pkts = newest->in_flight_pkts,
		.lost_pkts = tp->lost - newest->lost,
	};

	newest->lost = tp->lost;
	return then;
}

#endif
