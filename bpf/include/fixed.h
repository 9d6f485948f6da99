/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Integer and fixed-point arithmetic, the same in the kernel and natively. A suffix _qN says: value times 2^N.
 *
 * Every function states its bound; crates/sim/tests/fixed.rs holds each at its bound against an independent
 * implementation. BPF has unsigned division only (signed needs cpu v4, kernel 6.6), and division by zero gives zero
 * there and kills the process natively: a divisor that can be zero goes through cc_div().
 */
#ifndef CCCTL_FIXED_H
#define CCCTL_FIXED_H

#include "kernel/tcp.h"
#include "limits.h"

#define CC_INLINE static inline __attribute__((always_inline, unused))

/* Unsigned arithmetic wraps here on purpose. Everywhere else a wrap is a fault, and scripts/test-sanitized finds it. */
#define CC_WRAPS __attribute__((no_sanitize("unsigned-integer-overflow")))

CC_INLINE u64 cc_min(u64 a, u64 b)
{
	return a < b ? a : b;
}

CC_INLINE u64 cc_max(u64 a, u64 b)
{
	return a > b ? a : b;
}

/* low <= high */
CC_INLINE u64 cc_clamp(u64 value, u64 low, u64 high)
{
	return cc_min(cc_max(value, low), high);
}

/* floor(a / b); 0 where b = 0 */
CC_INLINE u64 cc_div(u64 a, u64 b)
{
	return b ? a / b : 0;
}

/* a - b; 0 where b > a. The empty assembly keeps clang from its saturating subtraction, twice as long in BPF. */
CC_INLINE u64 cc_beyond(u64 a, u64 b)
{
	u64 common = cc_min(a, b);

	__asm__("" : "+r"(common));
	return a - common;
}

/* |a - b| */
CC_INLINE u64 cc_distance(u64 a, u64 b)
{
	return a > b ? a - b : b - a;
}

/* floor(a * b / 2^64), exact for all a, b */
CC_INLINE u64 cc_mul_high(u64 a, u64 b)
{
	u64 a_low = (u32)a, a_high = a >> 32;
	u64 b_low = (u32)b, b_high = b >> 32;
	u64 cross = a_high * b_low + ((a_low * b_low) >> 32);
	u64 carry = (u32)cross + a_low * b_high;

	return a_high * b_high + (cross >> 32) + (carry >> 32);
}

/*
 * 1 where a >= b, else 0; a, b < 2^63. Arithmetic, not a comparison, and hidden from the compiler, which would make a
 * branch of it: the verifier follows every path, and a loop of 40 steps with a branch in each has 2^40.
 */
CC_WRAPS CC_INLINE u64 cc_at_least(u64 a, u64 b)
{
	u64 result = ((a - b) >> 63) ^ 1;

	__asm__ volatile("" : "+r"(result));
	return result;
}

/* floor(square root), bit by bit; value < 2^62 */
CC_WRAPS CC_INLINE u32 cc_sqrt(u64 value)
{
	u64 root = 0;

	for (int shift = 60; shift >= 0; shift -= 2) {
		u64 trial = root + (1ULL << shift);
		u64 bit = cc_at_least(value, trial);

		value -= trial & (0 - bit);
		root = (root >> 1) + (bit << shift);
	}
	return root;
}

/* floor(cube root), bit by bit; value < 2^63 */
CC_WRAPS CC_INLINE u32 cc_cbrt(u64 value)
{
	u64 root = 0;

	for (int shift = 60; shift >= 0; shift -= 3) {
		u64 step, bit;

		root <<= 1;
		step = 3 * root * (root + 1) + 1;
		bit = cc_at_least(value >> shift, step);
		value -= (step << shift) & (0 - bit);
		root += bit;
	}
	return root;
}

/* floor(log2(value)); 1 <= value < 2^63 */
CC_INLINE u32 cc_log2_floor(u64 value)
{
	u32 log = 0;

	for (u32 width = 32; width; width >>= 1) {
		u32 step = width * cc_at_least(value >> width, 1);

		log += step;
		value >>= step;
	}
	return log;
}

/* log2(value) in Q40; 1 <= value < 2^63, error below 2^-39: the fraction comes bit by bit from repeated squaring */
CC_INLINE u64 cc_log2_q40(u64 value)
{
	u32 whole = cc_log2_floor(value);
	u64 mantissa_q63 = value << (63 - whole);
	u64 log_q40 = whole;

	for (int i = 0; i < 40; i++) {
		u64 square_q62 = cc_mul_high(mantissa_q63, mantissa_q63);
		u64 carry = square_q62 >> 63;

		log_q40 = (log_q40 << 1) | carry;
		mantissa_q63 = square_q62 << (1 - carry);
	}
	return log_q40;
}

/* 2^x in Q32 for x in Q40, x < 32 * 2^40 (2^32 - 1 in Q32 above it); relative error below 2^-31 */
CC_INLINE u64 cc_exp2_q32(u64 x_q40)
{
	const u64 ln2_q64 = 0xb17217f7d1cf79abULL;
	u64 fraction_q64 = x_q40 << 24;
	u64 y_q64 = cc_mul_high(fraction_q64, ln2_q64);
	u64 term_q62 = 1ULL << 62;
	u64 sum_q62 = term_q62;
	u32 whole = x_q40 >> 40;

	if (whole > 31)
		return ~0ULL;
	for (u32 n = 1; n <= 15; n++) { /* e^y, y < 0.694: the 16th term is below 2^-52 */
		term_q62 = cc_mul_high(term_q62, y_q64) / n;
		sum_q62 += term_q62;
	}
	return whole <= 30 ? sum_q62 >> (30 - whole) : sum_q62 << 1;
}

/* w^(3/4) in Q10, at most 2 below its floor; w <= 2^20: w^(1/2) from w 2^40, w^(1/4) from its root */
CC_INLINE u64 cc_pow075_q10(u32 w)
{
	u64 half_q20 = cc_sqrt((u64)w << 40);
	u64 quarter_q20 = cc_sqrt(half_q20 << 20);

	return (half_q20 * quarter_q20) >> 30;
}

/* e^-x in Q16 for x in Q16: a straight line between points an eighth apart, at most 0.002 above the curve; 0 from x = 8 */
CC_INLINE u32 cc_exp_neg_q16(u64 x_q16)
{
	static const u32 eighths_q16[65] = {
		65536, 57835, 51039, 45042, 39750, 35079, 30957, 27319, 24109, 21276, 18776, 16570, 14623,
		12905, 11388, 10050, 8869,  7827,  6907,  6096,	 5380,	4747,  4190,  3697,  3263,  2879,
		2541,  2243,  1979,  1746,  1541,  1360,  1200,	 1059,	935,   825,   728,   642,   567,
		500,   442,   390,   344,   303,   268,	  236,	 209,	184,   162,   143,   127,   112,
		99,    87,    77,    68,    60,	   53,	  47,	 41,	36,    32,    28,    25,    22,
	};
	u32 eighth = (x_q16 >> 13) & 63;
	u32 from_q16 = eighths_q16[eighth];

	if (x_q16 >= 8 << 16)
		return 0;
	return from_q16 - (((from_q16 - eighths_q16[eighth + 1]) * (u32)(x_q16 & 8191)) >> 13);
}

/*
 * Packets that a rate delivers in a time, 2^29 at most, times a gain; rounded up, unless the rest is below 2^-24 packets.
 * rate < 2^33 (512 packets/us), gain < 2^11; times beyond 2^30 us count as that.
 */
CC_INLINE u64 cc_bdp_pkts(u64 rate_pkts_per_us_q24, u32 rtt_us, u32 gain_q8)
{
	u64 pkts_q24 = cc_min(rate_pkts_per_us_q24 * cc_min(rtt_us, 1U << 30), 1ULL << 53);

	return ((pkts_q24 * gain_q8 >> 8) + (1 << 24) - 1) >> 24;
}

/* One step of an exponential average kept in Q3 with weight 1/8: x += sample - x/8; sample < 2^29 */
CC_INLINE u32 cc_ewma8(u32 average_q3, u32 sample)
{
	return average_q3 - (average_q3 >> 3) + sample;
}

#endif
