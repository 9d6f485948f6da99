/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The response function of HighSpeed TCP (RFC 3649) as a table.
 *
 *   p(W)  loss rate at window W: a straight line in log-log
 *   b(W)  decrease: 0.5 at Low_Window, 0.1 at High_Window = 83,000 packets, linear in log W
 *   a(W)  increase per round trip: W^2 p(W) 2 b(W) / (2 - b(W)), at least 1
 *
 * Two lines are in use. That of the RFC's own table (appendix B) is rounded to p = 1 / (12.8 W^1.2), which meets Reno at
 * Low_Window = 38. Even, Li and Leith (2006) use the exact line, from Reno's 1.5 / W^2 at Low_Window = 31 to 10^-7 at
 * High_Window.
 *
 * A row is {largest window in packets, b there in 1/256, rounded down}. There is one wherever a(W) has grown by more than 1
 * since the row before; a window takes the first row that is not below it, so a is the row's number: rounded up, as in
 * Linux. Rows go up to 1.2 High_Window. crates/sim/tests/hstcp.rs derives both tables from the formulas above.
 */
#ifndef CCCTL_HSTCP_H
#define CCCTL_HSTCP_H

#include "cc.h"

#define HSTCP_ROWS 128 /* room: a power of two */

struct hstcp_row {
	u32 cwnd_pkts;
	u32 decrease_q8;
};

struct hstcp_table {
	u32 rows;
	struct hstcp_row row[HSTCP_ROWS];
};

/* clang-format off: as many rows a line as fit */
/* The first 72 are those of Linux. */
static const struct hstcp_table hstcp_rfc3649 __attribute__((unused)) = {
	.rows = 73,
	.row = {
		{ 38, 128 }, { 118, 112 }, { 221, 104 }, { 347, 98 }, { 495, 93 }, { 663, 89 },
		{ 851, 86 }, { 1058, 83 }, { 1284, 81 }, { 1529, 78 }, { 1793, 76 }, { 2076, 74 },
		{ 2378, 72 }, { 2699, 71 }, { 3039, 69 }, { 3399, 68 }, { 3778, 66 }, { 4177, 65 },
		{ 4596, 64 }, { 5036, 62 }, { 5497, 61 }, { 5979, 60 }, { 6483, 59 }, { 7009, 58 },
		{ 7558, 57 }, { 8130, 56 }, { 8726, 55 }, { 9346, 54 }, { 9991, 53 }, { 10661, 52 },
		{ 11358, 52 }, { 12082, 51 }, { 12834, 50 }, { 13614, 49 }, { 14424, 48 }, { 15265, 48 },
		{ 16137, 47 }, { 17042, 46 }, { 17981, 45 }, { 18955, 45 }, { 19965, 44 }, { 21013, 43 },
		{ 22101, 43 }, { 23230, 42 }, { 24402, 41 }, { 25618, 41 }, { 26881, 40 }, { 28193, 39 },
		{ 29557, 39 }, { 30975, 38 }, { 32450, 38 }, { 33986, 37 }, { 35586, 36 }, { 37253, 36 },
		{ 38992, 35 }, { 40808, 35 }, { 42707, 34 }, { 44694, 33 }, { 46776, 33 }, { 48961, 32 },
		{ 51258, 32 }, { 53677, 31 }, { 56230, 30 }, { 58932, 30 }, { 61799, 29 }, { 64851, 28 },
		{ 68113, 28 }, { 71617, 27 }, { 75401, 26 }, { 79517, 26 }, { 84035, 25 }, { 89053, 24 },
		{ 94717, 23 },
	},
};

static const struct hstcp_table hstcp_even2006 __attribute__((unused)) = {
	.rows = 75,
	.row = {
		{ 31, 128 }, { 93, 113 }, { 178, 105 }, { 283, 99 }, { 407, 94 }, { 550, 90 },
		{ 711, 87 }, { 890, 84 }, { 1086, 81 }, { 1300, 79 }, { 1531, 77 }, { 1780, 75 },
		{ 2046, 73 }, { 2330, 71 }, { 2632, 70 }, { 2952, 68 }, { 3291, 67 }, { 3649, 66 },
		{ 4026, 64 }, { 4422, 63 }, { 4838, 62 }, { 5274, 61 }, { 5731, 60 }, { 6209, 59 },
		{ 6708, 58 }, { 7229, 57 }, { 7773, 56 }, { 8340, 55 }, { 8930, 54 }, { 9545, 53 },
		{ 10185, 52 }, { 10850, 51 }, { 11542, 51 }, { 12261, 50 }, { 13008, 49 }, { 13784, 48 },
		{ 14590, 48 }, { 15427, 47 }, { 16296, 46 }, { 17199, 46 }, { 18136, 45 }, { 19109, 44 },
		{ 20119, 43 }, { 21168, 43 }, { 22257, 42 }, { 23388, 42 }, { 24563, 41 }, { 25784, 40 },
		{ 27054, 40 }, { 28374, 39 }, { 29748, 38 }, { 31178, 38 }, { 32667, 37 }, { 34218, 37 },
		{ 35836, 36 }, { 37524, 35 }, { 39287, 35 }, { 41131, 34 }, { 43061, 34 }, { 45083, 33 },
		{ 47205, 32 }, { 49435, 32 }, { 51783, 31 }, { 54260, 31 }, { 56879, 30 }, { 59655, 29 },
		{ 62607, 29 }, { 65757, 28 }, { 69133, 27 }, { 72769, 27 }, { 76709, 26 }, { 81012, 25 },
		{ 85758, 25 }, { 91061, 24 }, { 97095, 23 },
	},
};
/* clang-format on */

/* Index of the row of a window: 0 up to Low_Window, the last one beyond the end */
CC_INLINE u32 hstcp_row_of(const struct hstcp_table *table, u32 cwnd_pkts)
{
	u32 row = 0;

	for (u32 step = HSTCP_ROWS / 2; step; step >>= 1) {
		u32 trial = (row + step) & (HSTCP_ROWS - 1);

		if (trial < table->rows && cwnd_pkts > table->row[trial - 1].cwnd_pkts)
			row = trial;
	}
	return row;
}

/* The same, begun at the row of an earlier window: mostly the window is still in it. */
CC_INLINE u32 hstcp_row_from(const struct hstcp_table *table, u32 earlier_row, u32 cwnd_pkts)
{
	u32 row = earlier_row & (HSTCP_ROWS - 1);
	u32 below = (row + HSTCP_ROWS - 1) & (HSTCP_ROWS - 1); /* of the first row: the last one, which is empty */

	if (cwnd_pkts <= table->row[row].cwnd_pkts && cwnd_pkts > table->row[below].cwnd_pkts)
		return row;
	return hstcp_row_of(table, cwnd_pkts);
}

/* (1 - b(W)) W */
CC_INLINE u64 hstcp_kept_pkts(const struct hstcp_table *table, u64 cwnd_pkts)
{
	u32 row = hstcp_row_of(table, cwnd_pkts) & (HSTCP_ROWS - 1);

	return cwnd_pkts - (cwnd_pkts * table->row[row].decrease_q8 >> 8);
}

#endif
