/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The frame: what every algorithm declares itself with, and the rules that all of them share.
 *
 *   CC_PARAMS(name, NAME_PARAMS)          tunables, live; name_params() gives the set in force (params.h)
 *   CC_CONNECTION_PARAMS(name)            if connections may have some of their own
 *   CC_OWN_PARAM(name, sk, param, none)   in init: a connection's own value of one; `none` where it has none
 *   CC_DROP_OWN_PARAMS(sk)                in release: those of a socket that is closed are dropped
 *   CC_HOOK(name_hook, args...)           a function that the kernel (or the simulator) calls
 *   CC_STATE_STRUCT(name)                 declares struct name_state, at most 104 bytes in each socket
 *   CC_NONE(value, "no RTT yet")          behind a member of it: this number says that there is no value
 *   CC_STATE(name, sk)                    a socket's struct name_state
 *   CC_NEW_STATE(name, sk)                the same for init: all zero
 *   CC_STORE_STRUCT(name)                 declares struct name_store, socket storage for what does not fit there
 *   CC_STORE(name, sk)                    a socket's; NULL where there is no memory for it
 *   CC_SHARED_STRUCT(name)                declares struct name_shared, one for all sockets of an instance, zero when it is loaded
 *   CC_SHARED(name)                       that struct; written with cc_add_shared() only, since other processors do so, too
 *   CC_CHANGE_TO(sk, "reno")              in init or at an ACK: leaves the connection to another algorithm of the kernel
 *   CC_ALGORITHM(name, .hook = ...)       registration as bpf_name, or with CC_REGISTER under another name and with flags
 *   CC_FENCED_ALGORITHM(name, "why", ...)  the same of one that harms others: ccctl gives it to named destinations only, and
 *                                         only while the guard watches it
 *
 * The same text is compiled for BPF and natively; target_bpf.h and target_native.h define what differs. Functions have
 * the kernel's name where they do what the kernel's do, and cc_ where they do not.
 *
 * Law of units: windows in packets, time in us, Qn = value times 2^n. Slow start iff snd_cwnd < snd_ssthresh.
 */
#ifndef CCCTL_CC_H
#define CCCTL_CC_H

#include "fixed.h"
#include "params.h"
#include "repair.h"

#ifdef __bpf__
#include "target_bpf.h"
#else
#include "target_native.h"
#endif

#define CC_NO_HOOK ((void *)0) /* in a table: the kernel is to have none */
#define CC_ALGORITHM(algorithm, ...) CC_REGISTER(algorithm, "bpf_" #algorithm, 0, __VA_ARGS__)
#define CC_REGISTER(algorithm, kernel_name, more_flags, ...)                                                           \
	CC_REGISTER_WITH(algorithm, kernel_name, TCP_CONG_NON_RESTRICTED | (more_flags), __VA_ARGS__)

/* Not every user may choose it, and no other network namespace may default to it. `why` ends the sentence "NAME is fenced:". */
#define CC_FENCED_ALGORITHM(algorithm, why, ...)                                                                       \
	CC_FENCE(why);                                                                                                 \
	CC_REGISTER_WITH(algorithm, "bpf_" #algorithm, 0, __VA_ARGS__)

/*
 * The algorithm's own struct in the socket: define struct name_state, then CC_STATE_STRUCT(name), which holds it to the
 * kernel's 104 bytes and keeps its layout in the object's BTF, where the tracer finds it.
 */
#define CC_STATE_STRUCT(algorithm)                                                                                     \
	_Static_assert(sizeof(struct algorithm##_state) <= ICSK_CA_PRIV_SIZE,                                          \
		       "state is larger than the socket's room");                                                      \
	CC_KEEP_IN_BTF(algorithm##_state)

/* In the BTF, so that sockets, traces and series have null for this number. `meaning` is for their readers. */
#define CC_NONE(value, meaning) CC_NONE_TAG(value, meaning)
#define CC_NONE_TAG(value, meaning) CC_TAG("cc_none|" #value "|" meaning)

#define CC_STATE(algorithm, sk) ((struct algorithm##_state *)inet_csk(sk)->icsk_ca_priv)

/* Adds to a number that an instance's sockets share, modulo 2^32. The result is not asked for: kernels before 5.12 could not. */
CC_INLINE void cc_add_shared(u32 *number, u32 more)
{
	__sync_fetch_and_add(number, more);
}

/* Such a number now; the next moment it may be another one. */
CC_INLINE u32 cc_read_shared(const u32 *number)
{
	return *(const volatile u32 *)number;
}

/*
 * For active opens, pkts_acked for the SYN comes before init. The SYN is a small packet: over a slow link its RTT is shorter
 * than that of any data, and a base RTT taken from it would never be seen again.
 */
#define CC_NEW_STATE(algorithm, sk)                                                                                    \
	((struct algorithm##_state *)__builtin_memset(CC_STATE(algorithm, sk), 0, sizeof(struct algorithm##_state)))

/* Time of this event, us; from the socket, never from jiffies, so that an RTT of 10 us works. */
CC_INLINE u64 cc_now_us(const struct sock *sk)
{
	return tcp_sk(sk)->tcp_mstamp;
}

/* Time since the clock's low 32 bits were then_us, modulo 2^32: right for up to 71 minutes. */
CC_WRAPS CC_INLINE u32 cc_since_us(const struct sock *sk, u32 then_us)
{
	return (u32)cc_now_us(sk) - then_us;
}

/* Time as in Linux code that counts jiffies: the clock rounded down to tick_us, and an RTT rounded up to it */
CC_INLINE u64 cc_tick_now_us(const struct sock *sk, u32 tick_us)
{
	u64 now_us = cc_now_us(sk);

	if (tick_us > 1)
		now_us -= now_us % tick_us;
	return now_us;
}

CC_INLINE u32 cc_ticks_up_us(u32 rtt_us, u32 tick_us)
{
	return tick_us > 1 ? cc_min(((u64)rtt_us + tick_us - 1) / tick_us * tick_us, 0xffffffffU) : rtt_us;
}

CC_INLINE u32 cc_srtt_us(const struct sock *sk)
{
	return tcp_sk(sk)->srtt_us >> 3;
}

/* a - b and a + b modulo 2^32: of counters, sequence numbers and low halves of clocks */
CC_WRAPS CC_INLINE u32 cc_minus(u32 a, u32 b)
{
	return a - b;
}

CC_WRAPS CC_INLINE u32 cc_plus(u32 a, u32 b)
{
	return a + b;
}

/* Sequence number a comes after b, modulo 2^32 */
CC_WRAPS CC_INLINE bool after(u32 a, u32 b)
{
	return (s32)(b - a) < 0;
}

CC_INLINE bool tcp_in_slow_start(const struct tcp_sock *tp)
{
	return tp->snd_cwnd < tp->snd_ssthresh;
}

/* CWR or Recovery: the core takes the window down to ssthresh, and does not call cong_avoid. */
CC_INLINE bool tcp_in_cwnd_reduction(const struct sock *sk)
{
	u8 state = CC_BITFIELD(inet_csk(sk), icsk_ca_state);

	return state == TCP_CA_CWR || state == TCP_CA_Recovery;
}

/*
 * RFC 2861, RFC 7661: only a window that was used may grow: filled, or in slow start more than half of it in flight at once.
 * Since 6.1 the core's is_cwnd_limited decides in slow start too: max_packets_out misses bursts.
 */
CC_INLINE bool tcp_is_cwnd_limited(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (CC_BITFIELD(tp, is_cwnd_limited))
		return true;
	return tcp_in_slow_start(tp) && tp->snd_cwnd < 2 * tp->max_packets_out;
}

CC_INLINE void cc_set_cwnd(struct tcp_sock *tp, u64 cwnd)
{
	tp->snd_cwnd = cc_max(cc_min(cwnd, tp->snd_cwnd_clamp), 1);
}

/* One packet of window for each packet acknowledged, up to ssthresh. Returns the packets left for congestion avoidance. */
CC_INLINE u32 tcp_slow_start(struct tcp_sock *tp, u32 acked_pkts)
{
	u32 before = tp->snd_cwnd;
	u32 after = cc_min((u64)before + acked_pkts, tp->snd_ssthresh);

	cc_set_cwnd(tp, after);
	return acked_pkts - (after - before);
}

/* How growth begins at an ACK. Returns the packets left for congestion avoidance; none if the window was not used. */
CC_INLINE u32 cc_begin_growth(struct sock *sk, u32 acked_pkts)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return 0;
	return tcp_in_slow_start(tp) ? tcp_slow_start(tp, acked_pkts) : acked_pkts;
}

/*
 * Additive increase: one packet of window for each pkts_per_increase packets acknowledged, the rest kept as credit in
 * snd_cwnd_cnt. Packets are counted, not ACKs. Credit earned under a larger divisor buys one packet at the most.
 */
CC_INLINE void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 pkts_per_increase, u32 acked_pkts)
{
	u32 divisor = pkts_per_increase ? pkts_per_increase : 1;
	u32 credit = tp->snd_cwnd_cnt;
	u32 cwnd = tp->snd_cwnd;

	if (credit >= divisor) {
		credit = 0;
		cwnd++;
	}
	credit += acked_pkts;
	if (credit >= divisor) {
		u32 pkts = credit / divisor;

		credit -= pkts * divisor;
		cwnd += pkts;
	}
	tp->snd_cwnd_cnt = credit;
	cc_set_cwnd(tp, cwnd);
}

/*
 * Additive increase by increase_q10 packets (Q10) per window of packets acknowledged, by no more than doubling at one
 * ACK. The credit is the algorithm's: Q10 packets times packets, to be zeroed at each reduction.
 * Bound: increase_q10 < 2^38, acked_pkts < 2^20, window < 2^20.
 */
CC_INLINE void cc_additive_increase_q10(struct tcp_sock *tp, u64 *credit_q10, u64 increase_q10, u32 acked_pkts)
{
	u64 cost_q10 = (u64)cc_max(tp->snd_cwnd, 1) << 10;
	u64 credit = *credit_q10 + increase_q10 * acked_pkts;

	if (credit >= cost_q10) {
		u64 pkts = credit / cost_q10;

		credit -= pkts * cost_q10;
		cc_set_cwnd(tp, tp->snd_cwnd + cc_min(pkts, tp->snd_cwnd));
	}
	*credit_q10 = credit;
}

/* ssthresh is never below two packets (RFC 5681, equation 4). */
CC_INLINE u32 cc_ssthresh_floor(u64 pkts)
{
	return cc_max(pkts, 2);
}

/* One that comes from a rate and a time, not from the window: long paths would take it above all that a window can be. */
CC_INLINE u32 cc_ssthresh_of_path(u64 pkts)
{
	return cc_ssthresh_floor(cc_min(pkts, CC_CWND_MAX_PKTS));
}

CC_INLINE u32 cc_half_cwnd_pkts(const struct tcp_sock *tp)
{
	return cc_ssthresh_floor(tp->snd_cwnd >> 1);
}

/* The loss did not happen: back to the window before it, unless growth since then went further. */
CC_INLINE u32 cc_restored_cwnd_pkts(const struct tcp_sock *tp)
{
	return cc_max(tp->snd_cwnd, tp->prior_cwnd);
}

/*
 * Round tracking: a round is one window of data. It ends with the first ACK beyond what was sent when it began.
 * Returns true on that ACK and starts the next round.
 */
CC_INLINE bool cc_round_ended(const struct tcp_sock *tp, u32 *round_end_seq)
{
	if (!after(tp->snd_una, *round_end_seq))
		return false;
	*round_end_seq = tp->snd_nxt;
	return true;
}

/* Hooks that algorithms may name in their table as they are. */
u32 CC_SHARED_HOOK(tcp_reno_ssthresh, struct sock *sk)
{
	return cc_half_cwnd_pkts(tcp_sk(sk));
}

u32 CC_SHARED_HOOK(tcp_reno_undo_cwnd, struct sock *sk)
{
	return cc_restored_cwnd_pkts(tcp_sk(sk));
}

/* Does what every hook does first, and nothing else: repair.h. */
void CC_SHARED_HOOK(cc_repair_per_ack, struct sock *sk, const struct ack_sample *sample)
{
}

/*
 * "The connection sends again after a pause": TX_START, which is an event up to 7.0 and a hook since 7.1. Name both
 * hooks in the table: CC_TX_START_HOOKS(name).
 */
#define CC_DEFINE_TX_START(algorithm, function)                                                                        \
	void CC_HOOK(algorithm##_cwnd_event, struct sock *sk, enum tcp_ca_event event)                                 \
	{                                                                                                              \
		if (event == CA_EVENT_TX_START)                                                                        \
			function(sk);                                                                                  \
	}                                                                                                              \
	void CC_HOOK(algorithm##_cwnd_event_tx_start, struct sock *sk)                                                 \
	{                                                                                                              \
		function(sk);                                                                                          \
	}

/* The same for algorithms that treat a restart after idle (CWND_RESTART, with the window reduced) alike */
#define CC_DEFINE_RESTART(algorithm, function)                                                                         \
	void CC_HOOK(algorithm##_cwnd_event, struct sock *sk, enum tcp_ca_event event)                                 \
	{                                                                                                              \
		if (event == CA_EVENT_TX_START || event == CA_EVENT_CWND_RESTART)                                      \
			function(sk);                                                                                  \
	}                                                                                                              \
	void CC_HOOK(algorithm##_cwnd_event_tx_start, struct sock *sk)                                                 \
	{                                                                                                              \
		function(sk);                                                                                          \
	}

#define CC_TX_START_HOOKS(algorithm)                                                                                   \
	.cwnd_event = CC_FN(algorithm##_cwnd_event), .cwnd_event_tx_start = CC_FN(algorithm##_cwnd_event_tx_start)

#endif
