// SPDX-License-Identifier: GPL-2.0-only
/*
 * UDT's DAIMD: a rate that grows every 10 ms, by less the nearer it comes to the link's.
 *
 * For      study in the laboratory: the law of UDT on TCP's transport
 * Source   Y. Gu, R. L. Grossman, "UDT: UDP-based data transfer for high-speed wide area networks", Computer Networks 51(7),
 *          2007; draft-gg-udt-03, section 7.
 * Law      each SYN of 10 ms with an ACK: x += max(10^ceil(log10(B - C)) 1.5e-6 / S, 1 / S) packets per SYN, with C = 8 S x / SYN in
 *          bit/s and S in bytes; the first loss of a round: x -= x / 9
 * Why      The step is that of a decade of the free rate, so errors of B matter little; the clock is not the RTT, so the
 *          rate grows alike at all of them.
 * Differs  B is a parameter: TCP's receiver measures no packet pairs. The window is twice x (RTT + SYN) + 16, from the rate
 *          and not from the arrivals, and so never decides. No slow start: x begins at one packet per SYN. A round has one
 *          decrease; UDT adds up to five small ones where losses go on. So a flow with a longer RTT has fewer, and more of
 *          the link: 70 to 26 Mbit/s at RTTs of 100 and 10 ms.
 * State    16 bytes of 104.
 * Range    B up to 32 Gbit/s: 10^11 * 1.5 * 2^20 / 10^6 < 2^38; x up to 2^18 packets per SYN in Q20.
 */
#include "cc.h"

#define UDT_SYN_US 10000
#define UDT_SYNS_PER_S 100
#define UDT_MAX_RATE_Q20 (1ULL << 38)

#define UDT_PARAMS(P)                                                                                                  \
	P(CC_PARAM(capacity_kbytes_per_s, 125000, 1, 4000000, "kB/s", "B: rate of the link"))                          \
	P(CC_PARAM(packet_bytes, 1500, 64, 65535, "bytes", "S: size of a packet"))                                     \
	P(CC_PARAM(decrease_divisor, 9, 2, 100, "", "share of the rate given up on loss: 1/9"))
CC_PARAMS(udt, UDT_PARAMS);

struct udt_state {
	u64 rate_q20; /* x: packets per SYN */
	u32 syn_start_us;
};
CC_STATE_STRUCT(udt);

/* 10^ceil(log10(bits)): the least power of ten that is not below */
CC_INLINE u64 udt_decade(u64 bits_per_s)
{
	u64 decade = 1;
	int i;

	for (i = 0; i < 11 && decade < bits_per_s; i++)
		decade *= 10;
	return decade;
}

CC_INLINE u64 udt_step_q20(const struct udt_params *p, u64 rate_q20)
{
	u64 capacity_bits_per_s = (u64)p->capacity_kbytes_per_s * 8000;
	u64 rate_bits_per_s = rate_q20 * p->packet_bytes / (1 << 20) * 8 * UDT_SYNS_PER_S;
	u64 least_q20 = (1 << 20) / cc_max(p->packet_bytes, 1);
	u64 step_q20;

	if (rate_bits_per_s >= capacity_bits_per_s)
		return least_q20;
	/* 1.5e-6 * 2^20 = 1.572864 */
	step_q20 = udt_decade(capacity_bits_per_s - rate_bits_per_s) * 1572864 / 1000000 / cc_max(p->packet_bytes, 1);
	return cc_max(step_q20, least_q20);
}

CC_INLINE void udt_apply(struct sock *sk, const struct udt_state *ca, const struct udt_params *p)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u64 window_us = cc_min(cc_srtt_us(sk) + UDT_SYN_US, 1 << 24);

	sk->sk_pacing_rate = cc_max(ca->rate_q20 * p->packet_bytes * UDT_SYNS_PER_S >> 20, 1);
	cc_set_cwnd(tp, 2 * (ca->rate_q20 >> 10) * window_us / UDT_SYN_US / (1 << 10) + 16);
}

void CC_HOOK(udt_init, struct sock *sk)
{
	struct udt_state *ca = CC_NEW_STATE(udt, sk);

	ca->rate_q20 = 1 << 20;
	ca->syn_start_us = (u32)cc_now_us(sk);
	tcp_sk(sk)->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	if (sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
	udt_apply(sk, ca, udt_params());
}

/* One step for each SYN that has an ACK; the clock keeps its beat. */
CC_CONG_CONTROL(udt_cong_control, sk, sample)
{
	const struct udt_params *p = udt_params();
	struct udt_state *ca = CC_STATE(udt, sk);
	u32 past_us = cc_since_us(sk, ca->syn_start_us);

	if (past_us >= UDT_SYN_US) {
		ca->syn_start_us = cc_plus(ca->syn_start_us, past_us - past_us % UDT_SYN_US);
		ca->rate_q20 = cc_min(ca->rate_q20 + udt_step_q20(p, ca->rate_q20), UDT_MAX_RATE_Q20);
	}
	udt_apply(sk, ca, p);
}

/* Recovery begins: once a round */
u32 CC_HOOK(udt_ssthresh, struct sock *sk)
{
	const struct udt_params *p = udt_params();
	struct udt_state *ca = CC_STATE(udt, sk);

	ca->rate_q20 -= ca->rate_q20 / cc_max(p->decrease_divisor, 2);
	udt_apply(sk, ca, p);
	return TCP_INFINITE_SSTHRESH;
}

u32 CC_HOOK(udt_undo_cwnd, struct sock *sk)
{
	return tcp_sk(sk)->snd_cwnd;
}

CC_ALGORITHM(udt,
	.init = CC_FN(udt_init),
	.cong_control = CC_FN(udt_cong_control),
	.pkts_acked = CC_NO_HOOK, /* cong_control is called for each ACK */
	.ssthresh = CC_FN(udt_ssthresh),
	.undo_cwnd = CC_FN(udt_undo_cwnd),
);
