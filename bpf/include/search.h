/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SEARCH: leaves slow start when a window of time delivers clearly less than was sent one round trip before.
 *
 * While the path is not full, what is sent in some time is delivered in the same time one round trip later. Once it is full,
 * deliveries stay level and what was sent doubles, so the difference grows from nothing to a half in two round trips. Sums
 * over 3.5 round trips, in bins, let radio and satellite links vary their RTT without an early end.
 *
 * Source   draft-chung-ccwg-search-09; M. Kachooei et al., WoWMoM 2024.
 * Differs  What lies between two bins is taken from the older of the two, where one RTT before was; the draft takes the newer.
 *          The window stays as it is at the end, and is not taken back to that of two round trips before. Nothing is decided in
 *          recovery. Bytes are sequence numbers: what is sent again is not sent, and what SACK alone has told is not delivered.
 */
#ifndef CCCTL_SEARCH_H
#define CCCTL_SEARCH_H

#include "cc.h"

#define SEARCH_WINDOW_PERCENT 350 /* of the first RTT: WINDOW_SIZE_FACTOR */
#define SEARCH_BINS 10 /* W: in a window */
#define SEARCH_EXTRA_BINS 15 /* EXTRA_BINS: an RTT of fewer can be looked back */
#define SEARCH_THRESHOLD_PERCENT 26 /* THRESH */

/* Rings with room for more than the 11 and 26 that are looked at: powers of two are indexed without a check. */
#define SEARCH_ACKED_BINS 16
#define SEARCH_SENT_BINS 32

struct search_store {
	u32 acked_seq[SEARCH_ACKED_BINS]; /* snd_una at the end of each bin */
	u32 sent_seq[SEARCH_SENT_BINS]; /* snd_nxt */
	u32 bin; /* bins that have ended */
	u32 bin_us;
	u32 bin_end_us; /* low 32 bits of the clock */
	bool has_begun;
};

CC_INLINE u32 *search_acked(struct search_store *s, u32 bin)
{
	return &s->acked_seq[bin & (SEARCH_ACKED_BINS - 1)];
}

CC_INLINE u32 *search_sent(struct search_store *s, u32 bin)
{
	return &s->sent_seq[bin & (SEARCH_SENT_BINS - 1)];
}

CC_INLINE void search_note(struct search_store *s, const struct tcp_sock *tp)
{
	*search_acked(s, s->bin) = tp->snd_una;
	*search_sent(s, s->bin) = tp->snd_nxt;
}

CC_INLINE void search_begin(struct search_store *s, const struct sock *sk, u32 rtt_us)
{
	s->bin_us = cc_max((u64)rtt_us * SEARCH_WINDOW_PERCENT / 100 / SEARCH_BINS, 1);
	s->bin_end_us = cc_plus((u32)cc_now_us(sk), s->bin_us);
	s->bin = 0;
	s->has_begun = true;
	search_note(s, tcp_sk(sk));
}

/* Ends the bins whose time is over; in those that nothing was heard in, nothing changed. False: none, or all too long ago. */
CC_INLINE bool search_end_bins(struct search_store *s, const struct sock *sk, u32 rtt_us)
{
	u32 late_us = cc_since_us(sk, s->bin_end_us);
	u32 passed, acked_seq, sent_seq;

	if ((s32)late_us <= 0)
		return false;
	passed = late_us / s->bin_us + 1;
	if (passed > SEARCH_BINS) {
		search_begin(s, sk, rtt_us);
		return false;
	}
	acked_seq = *search_acked(s, s->bin);
	sent_seq = *search_sent(s, s->bin);
	for (u32 skipped = 1; skipped < SEARCH_BINS; skipped++) {
		if (skipped >= passed)
			break;
		*search_acked(s, s->bin + skipped) = acked_seq;
		*search_sent(s, s->bin + skipped) = sent_seq;
	}
	s->bin += passed;
	s->bin_end_us = cc_plus(s->bin_end_us, passed * s->bin_us);
	search_note(s, tcp_sk(sk));
	return true;
}

CC_WRAPS CC_INLINE u32 search_delivered(struct search_store *s)
{
	return *search_acked(s, s->bin) - *search_acked(s, s->bin - SEARCH_BINS);
}

/* In the window that ended with this bin */
CC_WRAPS CC_INLINE u32 search_sent_until(struct search_store *s, u32 bin)
{
	return *search_sent(s, bin) - *search_sent(s, bin - SEARCH_BINS);
}

/* In the window that ended one RTT ago; 0: too little is known */
CC_INLINE u64 search_sent_before(struct search_store *s, u32 rtt_us)
{
	u32 back = rtt_us / s->bin_us;
	u32 rest_us = rtt_us % s->bin_us;

	if (back >= SEARCH_EXTRA_BINS || s->bin <= SEARCH_BINS + back)
		return 0;
	return ((u64)search_sent_until(s, s->bin - back) * (s->bin_us - rest_us) +
		(u64)search_sent_until(s, s->bin - back - 1) * rest_us) /
	       s->bin_us;
}

/* At each ACK with an RTT sample, in slow start. True: the path is full. */
CC_INLINE bool search_path_is_full(struct search_store *s, const struct sock *sk, u32 rtt_us)
{
	u64 sent, delivered;

	if (!s->has_begun) {
		search_begin(s, sk, rtt_us);
		return false;
	}
	if (!search_end_bins(s, sk, rtt_us))
		return false;
	sent = search_sent_before(s, rtt_us);
	delivered = search_delivered(s);
	return sent > delivered && (sent - delivered) * 100 >= sent * SEARCH_THRESHOLD_PERCENT;
}

#endif
