/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The response function of HighSpeed TCP (RFC 3649) as a table, worked out from the four numbers that define it.
 *
 *   p(W)  loss rate at window W: a straight line in log-log from (low_window, low_p) to (high_window, high_p)
 *   b(W)  decrease: 0.5 at low_window, high_decrease at high_window, linear in log W
 *   a(W)  increase per round trip: W^2 p(W) 2 b(W) / (2 - b(W)), at least 1
 *
 * Two lines are in use. The RFC's table rounds the line to p = 1 / (12.8 W^1.2), which meets Reno at W = 38 and is meant
 * for that low_window: with a larger one the rows still count from a = 1. Without rounding, low_p is
 * 1.5 / low_window^2, where Reno's own response function is (ns-2 tcp.cc).
 *
 * A row (W, b) is made wherever a(W) has grown by more than 1 since the row before; a window takes the first row that
 * is not below it, so a is the row's number: rounded up, as in Linux. Rows go up to 1.2 high_window.
 */
#ifndef CCCTL_HSTCP_H
#define CCCTL_HSTCP_H

#include "cc.h"

#define HSTCP_ROWS 128 /* a power of two; a(W) is held at this */

struct hstcp_table {
	u32 rows;
	u32 cwnd_pkts[HSTCP_ROWS]; /* the largest window of row i, whose increase is i + 1 packets per round trip */
	u8 decrease_q8[HSTCP_ROWS]; /* b at cwnd_pkts */
};

struct hstcp_response {
	u32 low_window_pkts;
	u32 high_window_pkts;
	u64 high_loss_ppb;
	u32 high_decrease_pct;
	bool rfc_line;
};

/* The table of RFC 3649, Appendix B */
#define HSTCP_RFC3649                                                                                                  \
	{                                                                                                              \
		.low_window_pkts = 38, .high_window_pkts = 83000, .high_loss_ppb = 100, .high_decrease_pct = 10,       \
		.rfc_line = true,                                                                                      \
	}

/* p(W) = 2^(intercept - slope log2 W), and the logarithms that b(W) needs; all Q40 */
struct hstcp_line {
	u64 log_low_q40, log_high_q40;
	u64 slope_q40;
	u64 intercept_plus_64_q40; /* plus 64, to stay above zero */
	u32 high_decrease_pct;
};

CC_INLINE struct hstcp_line hstcp_line(const struct hstcp_response *r)
{
	struct hstcp_line line = {
		.log_low_q40 = cc_log2_q40(cc_max(r->low_window_pkts, 1)),
		.log_high_q40 = cc_log2_q40(cc_max(r->high_window_pkts, 2)),
		.high_decrease_pct = r->high_decrease_pct,
	};
	const u64 log2_ten_q40 = 3652498566964; /* log2(10) 2^40 */
	const u64 log2_three_halves_q40 = 643173071355; /* log2(1.5) 2^40 */
	const u64 log2_12_8_q40 = 4044082827467; /* log2(12.8) 2^40 */
	u64 inverse_low_p_q40, inverse_high_p_q40; /* log2(1/p) */

	if (r->rfc_line) {
		line.slope_q40 = (6ULL << 40) / 5;
		line.intercept_plus_64_q40 = (64ULL << 40) - log2_12_8_q40;
		return line;
	}
	inverse_low_p_q40 = 2 * line.log_low_q40 - log2_three_halves_q40;
	inverse_high_p_q40 = 9 * log2_ten_q40 - cc_log2_q40(cc_max(r->high_loss_ppb, 1));
	inverse_high_p_q40 = cc_max(inverse_high_p_q40, inverse_low_p_q40);
	line.slope_q40 = cc_ratio_q40(inverse_high_p_q40 - inverse_low_p_q40, line.log_high_q40 - line.log_low_q40);
	line.intercept_plus_64_q40 = (64ULL << 40) - inverse_low_p_q40 + cc_mul_q40(line.slope_q40, line.log_low_q40);
	return line;
}

/* b(W) in Q40, never below 1/64; W >= low_window */
CC_INLINE u64 hstcp_decrease_q40(const struct hstcp_line *line, u64 log_q40)
{
	u64 share_q40 = cc_ratio_q40(log_q40 - line->log_low_q40, line->log_high_q40 - line->log_low_q40);
	u64 fall_q40 = cc_ratio_q40(50 - line->high_decrease_pct, 100);
	u64 fallen_q40 = cc_mul_q40(fall_q40, share_q40);

	return (1ULL << 39) - cc_min(fallen_q40, (1ULL << 39) - (1ULL << 34));
}

/* b(W) in Q8, truncated */
u8 CC_SUBPROGRAM(hstcp_decrease_q8, const struct hstcp_line *line, u32 cwnd_pkts)
{
	return line ? hstcp_decrease_q40(line, cc_log2_q40(cwnd_pkts)) >> 32 : 0;
}

/* a(W) in Q32, at least 1 and at most HSTCP_ROWS + 1 */
u64 CC_SUBPROGRAM(hstcp_increase_q32, const struct hstcp_line *line, u32 cwnd_pkts)
{
	u64 log_q40, b_q40, share_q40, exponent_q40;
	u64 square_q32; /* W^2 p(W); the exponent is its logarithm plus 64 */

	if (!line) /* the verifier looks at this function by itself */
		return 0;
	log_q40 = cc_log2_q40(cwnd_pkts);
	b_q40 = hstcp_decrease_q40(line, log_q40);
	share_q40 = cc_ratio_q40(2 * b_q40, (2ULL << 40) - b_q40); /* 2 b / (2 - b) <= 2/3 */
	exponent_q40 = line->intercept_plus_64_q40 + 2 * log_q40 - cc_mul_q40(line->slope_q40, log_q40);
	if (exponent_q40 < (64ULL << 40))
		return 1ULL << 32;
	square_q32 = cc_exp2_q32(exponent_q40 - (64ULL << 40));
	return cc_clamp(cc_mul_high(square_q32, share_q40 << 24), 1ULL << 32, (HSTCP_ROWS + 1ULL) << 32);
}

/* Bisection for the next row, one step at a call */
struct hstcp_search {
	struct hstcp_line line;
	struct hstcp_table *table;
	u64 last_increase_q32; /* a of the last row */
	u32 low, high; /* the next row's window is in (low, high] */
	u32 last_window_pkts;
	u32 rows;
};

CC_INLINE void hstcp_add_row(struct hstcp_search *s, u32 cwnd_pkts)
{
	u32 row = s->rows & (HSTCP_ROWS - 1);

	s->table->cwnd_pkts[row] = cwnd_pkts;
	s->table->decrease_q8[row] = hstcp_decrease_q8(&s->line, cwnd_pkts);
	s->last_increase_q32 = hstcp_increase_q32(&s->line, cwnd_pkts);
	s->low = cwnd_pkts;
	s->high = s->last_window_pkts + 1; /* beyond the end: found when no window qualifies */
	s->rows++;
}

static __attribute__((noinline, unused)) long hstcp_search_step(u32 i, struct hstcp_search *s)
{
	u32 middle;

	if (s->high - s->low <= 1) {
		if (s->high > s->last_window_pkts || s->rows >= HSTCP_ROWS)
			return 1;
		hstcp_add_row(s, s->high);
		return 0;
	}
	middle = s->low + (s->high - s->low) / 2;
	if (hstcp_increase_q32(&s->line, middle) > s->last_increase_q32 + (1ULL << 32))
		s->high = middle;
	else
		s->low = middle;
	return 0;
}

CC_INLINE void hstcp_fill_table(struct hstcp_table *table, const struct hstcp_response *r)
{
	struct hstcp_search search = {
		.line = hstcp_line(r),
		.table = table,
		.last_window_pkts = r->high_window_pkts + r->high_window_pkts / 5,
	};

	hstcp_add_row(&search, r->low_window_pkts);
	CC_LOOP(HSTCP_ROWS * 22, hstcp_search_step, &search);
	table->rows = search.rows;
}

/* The row of a window: 0 below low_window, the last one beyond the end */
CC_INLINE u32 hstcp_row(const struct hstcp_table *table, u32 cwnd_pkts)
{
	u32 row = 0;

	for (u32 step = HSTCP_ROWS / 2; step; step >>= 1) {
		u32 trial = (row + step) & (HSTCP_ROWS - 1);

		if (trial < table->rows && cwnd_pkts > table->cwnd_pkts[trial - 1])
			row = trial;
	}
	return row;
}

#endif
