// SPDX-License-Identifier: GPL-2.0-only
/*
 * BBRv3: sends at the rate that the path delivers, and no more in flight than it takes without losing 2 %.
 *
 * For      production: fast, long or slightly lossy paths, with less loss than BBR v1
 * Use      when random losses or deep queues cost loss-based algorithms their throughput, and BBR v1 loses too many packets.
 * Not      when a path's losses must stay near none, or when its queue holds less than a few packets: probes lose up to 2 %
 *          in a round trip.
 * Source   N. Cardwell, I. Swett, J. Beshay, "BBR Congestion Control", draft-ietf-ccwg-bbr-06, 2026; google/bbr, branch v3,
 *          for what the draft leaves to Linux.
 * Law      rate = gain bw, W = gain bw RTT_min; bw = largest delivery rate of this cycle of probing and the one before
 *          STARTUP: gains 2.77 and 2, until bw has not grown by 1.25 in 3 rounds, or 2 % are lost at 6 ACKs of a round
 *          DRAIN: rate gain 0.5 until W = bw RTT_min; then PROBE_BW, over and over:
 *          DOWN 0.9 until drained, CRUISE 1 for 2 to 3 s or W rounds (63 at most), REFILL 1 for a round, UP 1.25 until bw
 *          does not grow or 2 % are lost
 *          long term: W <= the flight that lost 2 % in UP (less 15 % in CRUISE); it is raised by 1, 2, 4, ... in UP
 *          short term: a round with losses, not in UP: bw and W down to what was delivered in it, 0.7 of before at most
 *          PROBE_RTT: gain 0.5 for 200 ms, where RTT_min was not seen again for 5 s
 * Why      As BBR: rate and volume are measured. Losses bound both, so that short queues are not overrun and flows that go by
 *          losses get their share; below 2 % they are noise to a probe.
 * Differs  The draft's notes on each packet are a ring of notes on ACKs (sent.h), and the packet lost is taken for the one
 *          acknowledged. Marks are losses, and end a probe at half of a flight: the draft has no law of its own for them.
 *          Not here of Linux's: ecn_alpha, repair of TLP, fast_ack_mode, tso_segs. More on the algorithm's page.
 * Needs    pacing: sk_pacing_rate and TCP's own timer, or the fq queue discipline; 1.1 kB of socket storage.
 * State    104 bytes of 104.
 * Range    bandwidth below 256 packets/us (u32 in Q24), gains below 10, windows up to 2^20 packets.
 */
#include "sent.h"

/*
 * Two time scales
 *
 * BBR v1 asked two questions in turn: how fast does the path deliver, and how long is it when it is empty? It did not
 * ask how much the path holds, and where queues are shorter than a path it lost packets without end. This version keeps
 * two bounds on bandwidth and volume:
 *
 * long term    what a probe has shown. max_bw is the best of two cycles. inflight_longterm is what was in flight when more
 *              than 2 % of it were lost; it is there only after such a loss, and rises only while a probe fills it without.
 * short term   what the last losses have shown, outside of a probe. They may be somebody else's, so they last until the
 *              next probe and no longer.
 *
 *     STARTUP --(1)--> DRAIN --(2)--> DOWN --(2)--> CRUISE --(3)--> REFILL --(4)--> UP --(1)--> DOWN ...
 *
 *     (1) bw stopped growing, or too much was lost; in UP also: the bound of a probe that failed is reached
 *     (2) at most bw RTT_min in flight; in DOWN also: below the long-term bound by the headroom
 *     (3) 2 to 3 s, or W rounds; also from DOWN         (4) a round
 *     PROBE_RTT from anywhere: RTT_min not seen for 5 s; then CRUISE, or STARTUP where bw was still growing
 *
 * STARTUP    4 ln 2 = 2.77 is the smallest gain of a smooth rate that doubles each round.
 * DOWN       0.9 lets flows converge: with UP's 1.25 it is the smallest gain that does.
 * CRUISE     leaves 15 % of the long-term bound to others. Reno needs time without losses for its window to grow: W
 *            rounds are what it would take to grow by W; beyond 63 rounds or 3 s it is not waited for.
 * REFILL     fills the pipe before UP: were UP to begin with less, its first losses would look like a smaller path's.
 * UP         A probe that lost too much makes the next one a careful one: it ends where it reaches the bound. If that went
 *            well, the one after it follows at once, and may raise the bound.
 * ack_phase  ACKs come a round trip after what they are of: samples of a probe arrive until a round after it.
 * Bursts     ACKs beyond bw in the last 5 to 10 rounds are added to the window, as in v1.
 */
#define BBR3_PARAMS(P)                                                                                                 \
	P(CC_PARAM(startup_gain_pct, 277, 101, 900, "%", "rate gain of STARTUP (4 ln 2)"))                             \
	P(CC_PARAM(drain_gain_pct, 50, 1, 99, "%", "rate gain of DRAIN"))                                              \
	P(CC_PARAM(cwnd_gain_pct, 200, 100, 900, "%", "window gain"))                                                  \
	P(CC_PARAM(probe_up_gain_pct, 125, 101, 400, "%", "rate gain of UP, which looks for more"))                    \
	P(CC_PARAM(probe_up_cwnd_gain_pct, 225, 100, 900, "%", "window gain of UP"))                                   \
	P(CC_PARAM(probe_down_gain_pct, 90, 1, 99, "%", "rate gain of DOWN, which drains what UP has queued"))         \
	P(CC_PARAM(pacing_margin_pct, 1, 0, 50, "%", "pace below the measured bandwidth by this"))                     \
	P(CC_PARAM(full_bw_growth_pct, 125, 101, 400, "%", "less growth in a round: the pipe may be full"))            \
	P(CC_PARAM(full_bw_rounds, 3, 1, 255, "RTTs", "rounds of that: the pipe is full"))                             \
	P(CC_PARAM(startup_loss_acks, 6, 0, 255, "ACKs", "ACKs with losses in a round that end STARTUP; 0 = none do")) \
	P(CC_PARAM(loss_thresh_pct, 2, 1, 50, "%", "share of a flight that a probe may lose"))                         \
	P(CC_PARAM(ecn_thresh_pct, 50, 1, 100, "%", "share of a flight that may have congestion marks in a probe"))    \
	P(CC_PARAM(beta_pct, 70, 10, 100, "%", "what a round with losses leaves at least of bandwidth and window"))    \
	P(CC_PARAM(headroom_pct, 15, 0, 50, "%", "share of the long-term bound that is left to others"))               \
	P(CC_PARAM(min_cwnd_pkts, 4, 1, 1000, "pkts", "smallest window"))                                              \
	P(CC_PARAM(min_rtt_window_s, 10, 1, 3600, "s", "memory of the smallest RTT"))                                  \
	P(CC_PARAM(probe_rtt_interval_ms, 5000, 100, 3600000, "ms", "time without a smaller RTT before PROBE_RTT"))    \
	P(CC_PARAM(probe_rtt_ms, 200, 0, 10000, "ms", "length of PROBE_RTT; 0 = none"))                                \
	P(CC_PARAM(probe_rtt_cwnd_gain_pct, 50, 1, 100, "%", "window gain of PROBE_RTT"))                              \
	P(CC_PARAM(probe_wait_ms, 2000, 1, 100000, "ms", "time between probes of the bandwidth, at least"))            \
	P(CC_PARAM(probe_wait_random_ms, 1000, 0, 100000, "ms", "and at most so much longer"))                         \
	P(CC_PARAM(probe_rounds, 63, 1, 250, "RTTs", "rounds between probes for the sake of Reno, at most"))           \
	P(CC_PARAM(aggregation_rounds, 5, 1, 31, "RTTs", "half of the memory of the largest burst of ACKs"))
CC_PARAMS(bbr3, BBR3_PARAMS);

#define BBR3_INFINITE 0xffffffffU
#define BBR3_UP_ROUNDS_MAX 30 /* the bound rises by 2^rounds in a round */
#define BBR3_DRAIN_ROUNDS 3 /* and then DRAIN ends anyhow */
#define BBR3_QUANTUM_BYTES (65536 - 1 - 320) /* a full burst: GSO's legacy limit less the headers */

enum bbr3_mode { BBR3_STARTUP, BBR3_DRAIN, BBR3_DOWN, BBR3_CRUISE, BBR3_REFILL, BBR3_UP, BBR3_PROBE_RTT };

/* What the ACKs that come now are of */
enum bbr3_acks { BBR3_ACKS_OTHER, BBR3_ACKS_REFILLING, BBR3_ACKS_STARTING, BBR3_ACKS_PROBE, BBR3_ACKS_STOPPING };

/* What to go back to if the losses were none */
enum bbr3_undo { BBR3_UNDO_NOTHING, BBR3_UNDO_STARTUP, BBR3_UNDO_UP };

struct bbr3_state {
	u32 bw_q24, older_bw_q24; /* largest of this cycle and of the one before; packets per us */
	u32 bw_shortterm_q24 CC_NONE(BBR3_INFINITE, "no bound");
	u32 bw_latest_q24; /* largest since a round of losses began */
	u32 full_bw_q24; /* of the last round that grew */
	u32 inflight_latest_pkts;
	u32 inflight_shortterm_pkts CC_NONE(BBR3_INFINITE, "no bound");
	u32 inflight_longterm_pkts CC_NONE(BBR3_INFINITE, "no bound");
	u32 min_rtt_us CC_NONE(BBR3_INFINITE, "no RTT yet");
	u32 min_rtt_stamp_us; /* this and all other clocks: low 32 bits */
	u32 probe_rtt_min_us CC_NONE(BBR3_INFINITE, "no RTT yet");
	u32 probe_rtt_min_stamp_us;
	u32 probe_rtt_done_us CC_NONE(0, "not known yet");
	u32 next_round_delivered; /* tcp_sock.delivered at which the round ends */
	u32 loss_round_delivered; /* and the round of losses */
	u32 probe_at_us; /* time of the next probe */
	u32 prior_cwnd_pkts; /* before recovery or PROBE_RTT */
	u32 up_acked_pkts; /* since the long-term bound was raised */
	u32 up_pkts_per_increase CC_NONE(BBR3_INFINITE, "no probe");
	/* where app_limited cannot be written: up to here samples are of PROBE_RTT */
	u32 limited_delivered CC_NONE(0, "no sample is of PROBE_RTT");
	u8 mode;
	u8 acks;
	u8 undo;
	u8 full_bw_rounds;
	u8 up_rounds;
	u8 rounds_since_up;
	u8 drain_rounds;
	u8 loss_acks; /* in this round of losses */
	bool round_began; /* with this ACK */
	bool loss_round_began;
	bool loss_in_round;
	bool full_bw_reached;
	bool full_bw_now;
	bool is_probe_sample; /* ACKs are of a probe that has not lost too much */
	bool probe_was_too_high;
	bool probe_was_careful;
	bool idle_restart;
	bool probe_rtt_expired;
	bool probe_rtt_round_done;
	bool has_seen_rtt;
	bool recovers; /* recovery or timeout, at the last ACK */
};
CC_STATE_STRUCT(bbr3);

/* What does not fit there */
struct bbr3_store {
	struct cc_sent sent;
	u32 undo_bw_shortterm_q24;
	u32 undo_inflight_shortterm_pkts;
	u32 undo_inflight_longterm_pkts;
	u32 epoch_start_us; /* of ACKs that come faster than bw */
	u32 epoch_acked_pkts;
	u32 burst_pkts, older_burst_pkts; /* ACKs beyond bw, largest in two windows */
	u32 burst_rounds;
};
CC_STORE_STRUCT(bbr3);

/* What an ACK tells; the draft's RS */
struct bbr3_sample {
	struct cc_sent_then then;
	u32 bw_q24;
	u32 delivered_pkts;
	u32 acked_pkts;
	u32 lost_pkts; /* at this ACK */
	u32 prior_in_flight_pkts; /* before it: the window was used up to there */
	bool is_valid;
	bool is_limited;
};

CC_INLINE u32 bbr3_now_us(const struct sock *sk)
{
	return (u32)cc_now_us(sk);
}

CC_INLINE u32 bbr3_percent(u32 value, u32 percent)
{
	return value == BBR3_INFINITE ? value : (u64)value * percent / 100;
}

CC_INLINE u32 bbr3_max_bw_q24(const struct bbr3_state *ca)
{
	return cc_max(ca->bw_q24, ca->older_bw_q24);
}

CC_INLINE u32 bbr3_bounded_bw_q24(const struct bbr3_state *ca)
{
	return cc_min(bbr3_max_bw_q24(ca), ca->bw_shortterm_q24);
}

CC_INLINE bool bbr3_is_in_probe_bw(const struct bbr3_state *ca)
{
	return ca->mode >= BBR3_DOWN && ca->mode <= BBR3_UP;
}

/* Losses tell of the probe then, and nothing of the short term. */
CC_INLINE bool bbr3_is_probing(const struct bbr3_state *ca)
{
	return ca->mode == BBR3_STARTUP || ca->mode == BBR3_REFILL || ca->mode == BBR3_UP;
}

CC_INLINE u32 bbr3_pacing_gain_pct(const struct bbr3_state *ca, const struct bbr3_params *p)
{
	switch (ca->mode) {
	case BBR3_STARTUP:
		return p->startup_gain_pct;
	case BBR3_DRAIN:
		return p->drain_gain_pct;
	case BBR3_DOWN:
		return p->probe_down_gain_pct;
	case BBR3_UP:
		return p->probe_up_gain_pct;
	}
	return 100;
}

CC_INLINE u32 bbr3_cwnd_gain_pct(const struct bbr3_state *ca, const struct bbr3_params *p)
{
	if (ca->mode == BBR3_UP)
		return p->probe_up_cwnd_gain_pct;
	return ca->mode == BBR3_PROBE_RTT ? p->probe_rtt_cwnd_gain_pct : p->cwnd_gain_pct;
}

/* Rate and pacing: section 5.6.2 */

/* bw < 2^32, MSS < 2^16, gain < 2^10: below 2^58, then 2^52; (100 - margin) 10^4 < 2^20 */
CC_INLINE u64 bbr3_bytes_per_s(u64 bw_q24, u32 mss_bytes, u32 gain_pct, u32 margin_pct)
{
	u64 bytes_per_us_q24 = bw_q24 * mss_bytes * gain_pct / 100;
	u64 per_us_to_s = 10000 * (100 - cc_min(margin_pct, 100));

	if (bytes_per_us_q24 < 1ULL << 43)
		return bytes_per_us_q24 * per_us_to_s >> 24;
	return (bytes_per_us_q24 >> 12) * per_us_to_s >> 12;
}

CC_INLINE u64 bbr3_pacing_rate(const struct sock *sk, const struct bbr3_params *p, u32 bw_q24, u32 gain_pct)
{
	u64 rate = bbr3_bytes_per_s(bw_q24, tcp_sk(sk)->mss_cache, gain_pct, p->pacing_margin_pct);

	return cc_min(rate, sk->sk_max_pacing_rate);
}

/* Until there is an RTT: the first window in a millisecond */
CC_INLINE void bbr3_init_pacing_rate(struct bbr3_state *ca, const struct bbr3_params *p, struct sock *sk)
{
	u32 rtt_us = 1000;

	ca->has_seen_rtt = tcp_sk(sk)->srtt_us;
	if (ca->has_seen_rtt)
		rtt_us = cc_max(cc_srtt_us(sk), 1);
	sk->sk_pacing_rate = bbr3_pacing_rate(sk, p, cc_min(((u64)tcp_sk(sk)->snd_cwnd << 24) / rtt_us, 0xffffffffU),
					      p->startup_gain_pct);
}

/* In STARTUP the rate only rises: a low sample there is of an application that is slow to begin. */
CC_INLINE void bbr3_set_pacing_rate(struct bbr3_state *ca, const struct bbr3_params *p, struct sock *sk, u32 bw_q24,
				    u32 gain_pct)
{
	u64 rate = bbr3_pacing_rate(sk, p, bw_q24, gain_pct);

	if (!ca->has_seen_rtt && tcp_sk(sk)->srtt_us)
		bbr3_init_pacing_rate(ca, p, sk);
	if (ca->full_bw_reached || rate > sk->sk_pacing_rate)
		sk->sk_pacing_rate = rate;
}

u32 CC_HOOK(bbr3_min_tso_segs, struct sock *sk)
{
	return 2;
}

/* Volume: section 5.6.4.2 */

CC_INLINE u32 bbr3_quantum_pkts(const struct sock *sk)
{
	u64 bytes = cc_min(sk->sk_pacing_rate >> (sk->sk_pacing_shift & 31), BBR3_QUANTUM_BYTES);

	return cc_max(cc_div(bytes, tcp_sk(sk)->mss_cache), 2);
}

/* bw RTT_min gain, rounded up; below 2^29 packets: bw < 2^32 and RTT_min < 2^30 us are cut to 2^53, gain < 2^10 */
CC_INLINE u32 bbr3_bdp_pkts(const struct bbr3_state *ca, u32 bw_q24, u32 gain_pct)
{
	u64 pkts_q24;

	if (ca->min_rtt_us == BBR3_INFINITE)
		return TCP_INIT_CWND;
	pkts_q24 = cc_min((u64)bw_q24 * cc_min(ca->min_rtt_us, 1U << 30), 1ULL << 53) * gain_pct / 100;
	return cc_min((pkts_q24 + (1 << 24) - 1) >> 24, 1U << 30);
}

/* Three bursts: one waits here, one is cut up, one is not acknowledged yet */
CC_INLINE u32 bbr3_room_for_bursts_pkts(const struct bbr3_state *ca, const struct bbr3_params *p, const struct sock *sk,
					u64 pkts)
{
	pkts = cc_max(cc_max(pkts, 3 * bbr3_quantum_pkts(sk)), p->min_cwnd_pkts);
	if (ca->mode == BBR3_UP)
		pkts += 2;
	return cc_min(pkts, 1U << 30);
}

CC_INLINE u32 bbr3_inflight_pkts(const struct bbr3_state *ca, const struct bbr3_params *p, const struct sock *sk,
				 u32 bw_q24)
{
	return bbr3_room_for_bursts_pkts(ca, p, sk, bbr3_bdp_pkts(ca, bw_q24, 100));
}

CC_INLINE u32 bbr3_target_inflight_pkts(const struct bbr3_state *ca, const struct tcp_sock *tp)
{
	return cc_min(bbr3_bdp_pkts(ca, bbr3_bounded_bw_q24(ca), 100), tp->snd_cwnd);
}

CC_INLINE u32 bbr3_inflight_with_headroom_pkts(const struct bbr3_state *ca, const struct bbr3_params *p)
{
	u32 bound = ca->inflight_longterm_pkts;

	if (bound == BBR3_INFINITE)
		return bound;
	return cc_max(cc_beyond(bound, cc_max(bbr3_percent(bound, p->headroom_pct), 1)), p->min_cwnd_pkts);
}

/* Windows to come back to, and what an undo restores: sections 5.5.11 and 5.6.4.4 */

CC_INLINE void bbr3_save_cwnd(struct bbr3_state *ca, const struct sock *sk)
{
	u32 cwnd = tcp_sk(sk)->snd_cwnd;

	if (CC_BITFIELD(inet_csk(sk), icsk_ca_state) < TCP_CA_Recovery && ca->mode != BBR3_PROBE_RTT)
		ca->prior_cwnd_pkts = cwnd;
	else
		ca->prior_cwnd_pkts = cc_max(ca->prior_cwnd_pkts, cwnd);
}

CC_INLINE void bbr3_restore_cwnd(const struct bbr3_state *ca, struct tcp_sock *tp)
{
	cc_set_cwnd(tp, cc_max(tp->snd_cwnd, ca->prior_cwnd_pkts));
}

CC_INLINE void bbr3_save(struct bbr3_state *ca, struct bbr3_store *store, const struct sock *sk)
{
	bbr3_save_cwnd(ca, sk);
	ca->undo = BBR3_UNDO_NOTHING;
	if (!store)
		return;
	store->undo_bw_shortterm_q24 = ca->bw_shortterm_q24;
	store->undo_inflight_shortterm_pkts = ca->inflight_shortterm_pkts;
	store->undo_inflight_longterm_pkts = ca->inflight_longterm_pkts;
}

CC_INLINE void bbr3_forget_short_term(struct bbr3_state *ca)
{
	ca->bw_shortterm_q24 = BBR3_INFINITE;
	ca->inflight_shortterm_pkts = BBR3_INFINITE;
}

CC_INLINE void bbr3_look_for_full_pipe(struct bbr3_state *ca, u32 bw_q24)
{
	ca->full_bw_q24 = bw_q24;
	ca->full_bw_rounds = 0;
	ca->full_bw_now = false;
}

/* Phases: section 5.3 */

CC_INLINE void bbr3_start_round(struct bbr3_state *ca, const struct tcp_sock *tp)
{
	ca->next_round_delivered = tp->delivered;
}

/* For what the host remembers of the path, as in Linux: ssthresh */
CC_INLINE void bbr3_enter_drain(struct bbr3_state *ca, const struct bbr3_params *p, struct sock *sk)
{
	u32 inflight_pkts = bbr3_inflight_pkts(ca, p, sk, bbr3_max_bw_q24(ca));

	ca->mode = BBR3_DRAIN;
	ca->drain_rounds = 0;
	tcp_sk(sk)->snd_ssthresh = cc_ssthresh_of_path(inflight_pkts);
}

CC_INLINE void bbr3_enter_down(struct bbr3_state *ca, const struct bbr3_params *p, const struct sock *sk)
{
	ca->mode = BBR3_DOWN;
	ca->acks = BBR3_ACKS_STOPPING;
	ca->loss_in_round = false;
	ca->bw_latest_q24 = 0;
	ca->inflight_latest_pkts = 0;
	ca->up_pkts_per_increase = BBR3_INFINITE;
	ca->rounds_since_up = CC_RANDOM_U32(sk) % 2;
	ca->probe_at_us = cc_plus(bbr3_now_us(sk),
				  p->probe_wait_ms * 1000 + CC_RANDOM_U32(sk) % (p->probe_wait_random_ms * 1000 + 1));
	bbr3_start_round(ca, tcp_sk(sk));
}

CC_INLINE void bbr3_enter_refill(struct bbr3_state *ca, const struct tcp_sock *tp)
{
	ca->mode = BBR3_REFILL;
	ca->acks = BBR3_ACKS_REFILLING;
	ca->up_rounds = 0;
	ca->up_acked_pkts = 0;
	ca->probe_was_careful = false;
	bbr3_forget_short_term(ca);
	bbr3_start_round(ca, tp);
}

/* The bound rises by 1, 2, 4, ... packets in a round of UP. */
CC_INLINE void bbr3_raise_slope(struct bbr3_state *ca, const struct tcp_sock *tp)
{
	ca->up_pkts_per_increase = cc_max(tp->snd_cwnd >> (ca->up_rounds & 31), 1);
	ca->up_rounds = cc_min(ca->up_rounds + 1, BBR3_UP_ROUNDS_MAX);
}

CC_INLINE void bbr3_enter_up(struct bbr3_state *ca, const struct tcp_sock *tp, const struct bbr3_sample *rs)
{
	ca->mode = BBR3_UP;
	ca->acks = BBR3_ACKS_STARTING;
	ca->is_probe_sample = true;
	bbr3_look_for_full_pipe(ca, rs->bw_q24);
	bbr3_start_round(ca, tp);
	bbr3_raise_slope(ca, tp);
}

/* Losses: section 5.5.10 */

CC_INLINE bool bbr3_is_too_high(const struct bbr3_params *p, const struct bbr3_sample *rs)
{
	if (rs->then.lost_pkts * 100ULL > (u64)rs->then.in_flight_pkts * p->loss_thresh_pct)
		return true;
	return rs->then.marked_pkts && rs->then.marked_pkts * 100ULL > (u64)rs->delivered_pkts * p->ecn_thresh_pct;
}

/*
 * What was in flight when losses passed the threshold, somewhere within those of this ACK: with n packets before these, of
 * which l were lost, and x of these, (l + x) / (n + x) = threshold.
 */
CC_INLINE u32 bbr3_inflight_at_loss_pkts(const struct bbr3_params *p, const struct bbr3_sample *rs)
{
	u32 before_pkts = cc_beyond(rs->then.in_flight_pkts, rs->lost_pkts);
	u32 lost_before_pkts = cc_beyond(rs->then.lost_pkts, rs->lost_pkts);
	u64 beyond = cc_beyond((u64)p->loss_thresh_pct * before_pkts, 100ULL * lost_before_pkts);

	return before_pkts + cc_min(beyond / (100 - cc_min(p->loss_thresh_pct, 99)), rs->lost_pkts);
}

/* Once for a probe: that much is too much. */
CC_INLINE void bbr3_judge_probe(struct bbr3_state *ca, const struct bbr3_params *p, const struct sock *sk,
				const struct bbr3_sample *rs)
{
	if (!ca->is_probe_sample || !bbr3_is_too_high(p, rs))
		return;
	ca->probe_was_too_high = true;
	ca->is_probe_sample = false;
	if (!rs->is_limited) {
		u32 target_pkts = bbr3_target_inflight_pkts(ca, tcp_sk(sk));

		ca->inflight_longterm_pkts =
			cc_max(bbr3_inflight_at_loss_pkts(p, rs), bbr3_percent(target_pkts, p->beta_pct));
	}
	if (ca->mode == BBR3_UP) {
		ca->undo = BBR3_UNDO_UP;
		bbr3_enter_down(ca, p, sk);
	}
}

CC_INLINE void bbr3_note_losses(struct bbr3_state *ca, struct bbr3_store *store, const struct sock *sk)
{
	if (!ca->loss_in_round) {
		ca->loss_round_delivered = tcp_sk(sk)->delivered;
		bbr3_save(ca, store, sk);
	}
	ca->loss_in_round = true;
	if (ca->loss_acks < 255)
		ca->loss_acks++;
}

/* The end of a round with losses, not of a probe: what was delivered in it, at most 0.7 of before. */
CC_INLINE void bbr3_bound_short_term(struct bbr3_state *ca, const struct bbr3_params *p, const struct tcp_sock *tp)
{
	if (ca->bw_shortterm_q24 == BBR3_INFINITE)
		ca->bw_shortterm_q24 = bbr3_max_bw_q24(ca);
	if (ca->inflight_shortterm_pkts == BBR3_INFINITE)
		ca->inflight_shortterm_pkts = tp->snd_cwnd;
	ca->bw_shortterm_q24 = cc_max(ca->bw_latest_q24, bbr3_percent(ca->bw_shortterm_q24, p->beta_pct));
	ca->inflight_shortterm_pkts =
		cc_max(ca->inflight_latest_pkts, bbr3_percent(ca->inflight_shortterm_pkts, p->beta_pct));
}

/* The model: section 5.5 */

CC_INLINE void bbr3_update_latest(struct bbr3_state *ca, const struct tcp_sock *tp, const struct bbr3_sample *rs,
				  u32 prior_delivered)
{
	ca->bw_latest_q24 = cc_max(ca->bw_latest_q24, rs->bw_q24);
	ca->inflight_latest_pkts = cc_max(ca->inflight_latest_pkts, rs->delivered_pkts);
	if (!after(ca->loss_round_delivered, prior_delivered)) {
		ca->loss_round_delivered = tp->delivered;
		ca->loss_round_began = true;
	}
}

CC_INLINE void bbr3_update_round(struct bbr3_state *ca, const struct tcp_sock *tp, u32 prior_delivered)
{
	if (after(ca->next_round_delivered, prior_delivered))
		return;
	bbr3_start_round(ca, tp);
	ca->round_began = true;
	if (ca->rounds_since_up < 255)
		ca->rounds_since_up++;
	if (ca->drain_rounds < 255)
		ca->drain_rounds++;
}

CC_INLINE void bbr3_update_bw(struct bbr3_state *ca, const struct bbr3_sample *rs)
{
	if (!rs->is_limited || rs->bw_q24 >= bbr3_max_bw_q24(ca))
		ca->bw_q24 = cc_max(ca->bw_q24, rs->bw_q24);
}

/* A cycle without a sample is none. */
CC_INLINE void bbr3_advance_bw(struct bbr3_state *ca)
{
	if (!ca->bw_q24)
		return;
	ca->older_bw_q24 = ca->bw_q24;
	ca->bw_q24 = 0;
}

/* ACKs that came faster than bw: what is acknowledged at once has to be in flight at once. */
CC_INLINE void bbr3_update_bursts(struct bbr3_state *ca, struct bbr3_store *store, const struct bbr3_params *p,
				  const struct sock *sk, u32 acked_pkts, u32 bw_q24)
{
	u32 window_rounds = ca->full_bw_reached ? p->aggregation_rounds : 1;
	u32 now_us = bbr3_now_us(sk);
	u64 expected_pkts, extra_pkts;

	expected_pkts = (u64)bw_q24 * cc_minus(now_us, store->epoch_start_us) >> 24;
	if (store->epoch_acked_pkts <= expected_pkts || store->epoch_acked_pkts >= 1U << 30) {
		store->epoch_acked_pkts = 0;
		store->epoch_start_us = now_us;
		expected_pkts = 0;
	}
	store->epoch_acked_pkts += acked_pkts;
	extra_pkts = cc_min(cc_beyond(store->epoch_acked_pkts, expected_pkts), tcp_sk(sk)->snd_cwnd);
	if (ca->round_began && ++store->burst_rounds >= window_rounds) {
		store->burst_rounds = 0;
		store->older_burst_pkts = store->burst_pkts;
		store->burst_pkts = 0;
	}
	store->burst_pkts = cc_max(store->burst_pkts, extra_pkts);
}

CC_INLINE void bbr3_check_full_pipe(struct bbr3_state *ca, const struct bbr3_params *p, const struct bbr3_sample *rs)
{
	if (ca->full_bw_now || !ca->round_began || rs->is_limited)
		return;
	if (rs->bw_q24 * 100ULL >= (u64)ca->full_bw_q24 * p->full_bw_growth_pct) {
		bbr3_look_for_full_pipe(ca, rs->bw_q24);
		return;
	}
	if (ca->full_bw_rounds < 255)
		ca->full_bw_rounds++;
	ca->full_bw_now = ca->full_bw_rounds >= p->full_bw_rounds;
	if (ca->full_bw_now)
		ca->full_bw_reached = true;
}

/* In recovery for a round, in which losses came with several ACKs and passed the threshold: the pipe is full. */
CC_INLINE bool bbr3_startup_loses(const struct bbr3_state *ca, const struct bbr3_params *p, const struct sock *sk,
				  const struct bbr3_sample *rs)
{
	return ca->loss_round_began && tcp_in_cwnd_reduction(sk) && p->startup_loss_acks &&
	       ca->loss_acks >= p->startup_loss_acks && bbr3_is_too_high(p, rs);
}

CC_INLINE void bbr3_check_startup(struct bbr3_state *ca, const struct bbr3_params *p, struct sock *sk,
				  const struct bbr3_sample *rs)
{
	if (ca->mode != BBR3_STARTUP)
		return;
	if (!ca->full_bw_reached && bbr3_startup_loses(ca, p, sk, rs)) {
		ca->undo = BBR3_UNDO_STARTUP;
		ca->full_bw_reached = true;
		ca->full_bw_now = true;
		ca->inflight_longterm_pkts =
			cc_max(bbr3_bdp_pkts(ca, bbr3_bounded_bw_q24(ca), 100), ca->inflight_latest_pkts);
	}
	if (ca->full_bw_reached)
		bbr3_enter_drain(ca, p, sk);
}

CC_INLINE void bbr3_check_drain(struct bbr3_state *ca, const struct bbr3_params *p, const struct sock *sk)
{
	if (ca->mode != BBR3_DRAIN)
		return;
	if (tcp_packets_in_flight(tcp_sk(sk)) <= bbr3_inflight_pkts(ca, p, sk, bbr3_bounded_bw_q24(ca)) ||
	    ca->drain_rounds > BBR3_DRAIN_ROUNDS)
		bbr3_enter_down(ca, p, sk);
}

/* PROBE_BW: section 5.3.3.9 */

/* By the clock, or as soon as Reno's window would have grown by as much as there is in flight */
CC_INLINE bool bbr3_is_time_to_probe(const struct bbr3_state *ca, const struct bbr3_params *p, const struct sock *sk)
{
	if (after(bbr3_now_us(sk), ca->probe_at_us))
		return true;
	return ca->rounds_since_up >= cc_min(bbr3_target_inflight_pkts(ca, tcp_sk(sk)), p->probe_rounds);
}

CC_INLINE bool bbr3_is_time_to_cruise(const struct bbr3_state *ca, const struct bbr3_params *p, const struct sock *sk)
{
	u32 inflight_pkts = tcp_packets_in_flight(tcp_sk(sk));

	return inflight_pkts <= bbr3_inflight_with_headroom_pkts(ca, p) &&
	       inflight_pkts <= bbr3_inflight_pkts(ca, p, sk, bbr3_max_bw_q24(ca));
}

/* The end of a probe, by itself. Held back by the long-term bound it cannot see whether the pipe is full. */
CC_INLINE bool bbr3_is_time_to_go_down(struct bbr3_state *ca, const struct tcp_sock *tp, const struct bbr3_sample *rs)
{
	if (ca->probe_was_too_high && rs->prior_in_flight_pkts >= ca->inflight_longterm_pkts) {
		ca->probe_was_careful = true;
		return true;
	}
	if (CC_BITFIELD(tp, is_cwnd_limited) && tp->snd_cwnd >= ca->inflight_longterm_pkts) {
		bbr3_look_for_full_pipe(ca, rs->bw_q24);
		return false;
	}
	return ca->full_bw_now;
}

CC_INLINE void bbr3_raise_long_term(struct bbr3_state *ca, const struct tcp_sock *tp, u32 acked_pkts)
{
	if (!CC_BITFIELD(tp, is_cwnd_limited) || tp->snd_cwnd < ca->inflight_longterm_pkts)
		return;
	ca->up_acked_pkts += acked_pkts;
	if (ca->up_acked_pkts >= ca->up_pkts_per_increase) {
		u32 pkts = cc_div(ca->up_acked_pkts, ca->up_pkts_per_increase);

		ca->up_acked_pkts -= pkts * ca->up_pkts_per_increase;
		ca->inflight_longterm_pkts = cc_min((u64)ca->inflight_longterm_pkts + pkts, 1U << 30);
	}
	if (ca->round_began)
		bbr3_raise_slope(ca, tp);
}

/* What the ACKs of a probe and of the time after it say. True: that began another phase. */
CC_INLINE bool bbr3_adapt_long_term(struct bbr3_state *ca, const struct bbr3_params *p, const struct tcp_sock *tp,
				    const struct bbr3_sample *rs)
{
	if (ca->acks == BBR3_ACKS_STARTING && ca->round_began)
		ca->acks = BBR3_ACKS_PROBE;
	if (ca->acks == BBR3_ACKS_STOPPING && ca->round_began) {
		ca->is_probe_sample = false;
		ca->acks = BBR3_ACKS_OTHER;
		if (bbr3_is_in_probe_bw(ca) && !rs->is_limited)
			bbr3_advance_bw(ca);
		if (bbr3_is_in_probe_bw(ca) && ca->probe_was_careful && !ca->probe_was_too_high) {
			bbr3_enter_refill(ca, tp);
			return true;
		}
	}
	if (ca->inflight_longterm_pkts == BBR3_INFINITE || bbr3_is_too_high(p, rs))
		return false;
	ca->inflight_longterm_pkts = cc_max(ca->inflight_longterm_pkts, rs->then.in_flight_pkts);
	if (ca->mode == BBR3_UP)
		bbr3_raise_long_term(ca, tp, rs->acked_pkts);
	return false;
}

CC_INLINE void bbr3_update_phase(struct bbr3_state *ca, const struct bbr3_params *p, const struct sock *sk,
				 const struct bbr3_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (!ca->full_bw_reached || bbr3_adapt_long_term(ca, p, tp, rs))
		return;
	if ((ca->mode == BBR3_DOWN || ca->mode == BBR3_CRUISE) && bbr3_is_time_to_probe(ca, p, sk)) {
		bbr3_enter_refill(ca, tp);
	} else if (ca->mode == BBR3_DOWN && bbr3_is_time_to_cruise(ca, p, sk)) {
		ca->mode = BBR3_CRUISE;
	} else if (ca->mode == BBR3_REFILL && ca->round_began) {
		bbr3_enter_up(ca, tp, rs);
	} else if (ca->mode == BBR3_UP && bbr3_is_time_to_go_down(ca, tp, rs)) {
		ca->probe_was_too_high = false; /* not yet: its ACKs are still to come */
		bbr3_enter_down(ca, p, sk);
	}
}

/* RTT_min and PROBE_RTT: section 5.3.4.3 */

CC_INLINE void bbr3_update_min_rtt(struct bbr3_state *ca, const struct bbr3_params *p, const struct sock *sk,
				   s64 rtt_us)
{
	ca->probe_rtt_expired = cc_since_us(sk, ca->probe_rtt_min_stamp_us) > p->probe_rtt_interval_ms * 1000ULL;
	if (rtt_us >= 0) {
		u32 sample_us = cc_clamp(rtt_us, 1, 1U << 30);

		if (sample_us < ca->probe_rtt_min_us || ca->probe_rtt_expired) {
			ca->probe_rtt_min_us = sample_us;
			ca->probe_rtt_min_stamp_us = bbr3_now_us(sk);
		}
	}
	if (ca->probe_rtt_min_us < ca->min_rtt_us ||
	    cc_since_us(sk, ca->min_rtt_stamp_us) > p->min_rtt_window_s * 1000000ULL) {
		ca->min_rtt_us = ca->probe_rtt_min_us;
		ca->min_rtt_stamp_us = ca->probe_rtt_min_stamp_us;
	}
}

/* What was lost in it says nothing of the path; there is nothing to drain, but the next probe is as far as ever. */
CC_INLINE void bbr3_check_probe_rtt_done(struct bbr3_state *ca, const struct bbr3_params *p, struct sock *sk)
{
	if (!ca->probe_rtt_done_us || !after(bbr3_now_us(sk), ca->probe_rtt_done_us))
		return;
	ca->probe_rtt_min_stamp_us = bbr3_now_us(sk);
	bbr3_restore_cwnd(ca, tcp_sk(sk));
	bbr3_forget_short_term(ca);
	if (!ca->full_bw_reached) {
		ca->mode = BBR3_STARTUP;
		return;
	}
	bbr3_enter_down(ca, p, sk);
	ca->mode = BBR3_CRUISE;
}

CC_INLINE u32 bbr3_probe_rtt_cwnd_pkts(const struct bbr3_state *ca, const struct bbr3_params *p)
{
	return cc_max(bbr3_bdp_pkts(ca, bbr3_bounded_bw_q24(ca), p->probe_rtt_cwnd_gain_pct), p->min_cwnd_pkts);
}

/* The time and one round, both from when there is little enough in flight */
CC_INLINE void bbr3_probe_rtt(struct bbr3_state *ca, const struct bbr3_params *p, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (ca->probe_rtt_done_us) {
		if (ca->round_began)
			ca->probe_rtt_round_done = true;
		if (ca->probe_rtt_round_done)
			bbr3_check_probe_rtt_done(ca, p, sk);
	} else if (tcp_packets_in_flight(tp) <= bbr3_probe_rtt_cwnd_pkts(ca, p)) {
		ca->probe_rtt_done_us = cc_max(cc_plus(bbr3_now_us(sk), p->probe_rtt_ms * 1000), 1);
		ca->probe_rtt_round_done = false;
		bbr3_start_round(ca, tp);
	}
}

/* True: this ACK is of PROBE_RTT. */
CC_INLINE bool bbr3_check_probe_rtt(struct bbr3_state *ca, const struct bbr3_params *p, struct sock *sk,
				    const struct bbr3_sample *rs)
{
	bool probes;

	if (ca->mode != BBR3_PROBE_RTT && ca->probe_rtt_expired && p->probe_rtt_ms && !ca->idle_restart) {
		ca->mode = BBR3_PROBE_RTT;
		bbr3_save_cwnd(ca, sk);
		ca->probe_rtt_done_us = 0;
		ca->acks = BBR3_ACKS_STOPPING;
		bbr3_start_round(ca, tcp_sk(sk));
	}
	probes = ca->mode == BBR3_PROBE_RTT;
	if (probes)
		bbr3_probe_rtt(ca, p, sk);
	if (rs->delivered_pkts)
		ca->idle_restart = false;
	return probes;
}

/* The window: sections 5.6.4.6 and 5.6.4.7 */

CC_INLINE u32 bbr3_bound_pkts(const struct bbr3_state *ca, const struct bbr3_params *p)
{
	u32 bound_pkts = BBR3_INFINITE;

	if (ca->mode == BBR3_CRUISE || ca->mode == BBR3_PROBE_RTT)
		bound_pkts = bbr3_inflight_with_headroom_pkts(ca, p);
	else if (bbr3_is_in_probe_bw(ca))
		bound_pkts = ca->inflight_longterm_pkts;
	return cc_max(cc_min(bound_pkts, ca->inflight_shortterm_pkts), p->min_cwnd_pkts);
}

CC_INLINE void bbr3_set_cwnd(struct bbr3_state *ca, const struct bbr3_store *store, const struct bbr3_params *p,
			     struct sock *sk, u32 acked_pkts)
{
	u64 target_pkts = bbr3_bdp_pkts(ca, bbr3_bounded_bw_q24(ca), bbr3_cwnd_gain_pct(ca, p));
	struct tcp_sock *tp = tcp_sk(sk);
	u64 cwnd = tp->snd_cwnd;

	if (store)
		target_pkts += cc_max(store->burst_pkts, store->older_burst_pkts);
	target_pkts = bbr3_room_for_bursts_pkts(ca, p, sk, target_pkts);
	if (ca->full_bw_reached)
		cwnd = cc_min(cwnd + acked_pkts, target_pkts);
	else if (cwnd < target_pkts || tp->delivered < TCP_INIT_CWND)
		cwnd += acked_pkts;
	cwnd = cc_max(cwnd, p->min_cwnd_pkts);
	if (ca->mode == BBR3_PROBE_RTT)
		cwnd = cc_min(cwnd, bbr3_probe_rtt_cwnd_pkts(ca, p));
	cc_set_cwnd(tp, cc_min(cwnd, bbr3_bound_pkts(ca, p)));
}

/* Hooks */

/*
 * The sender had less to send than the path would have taken: the application, or PROBE_RTT. The mark is of a counter that
 * wraps, and goes when it is passed.
 */
CC_INLINE bool bbr3_is_limited(struct bbr3_state *ca, const struct rate_sample *sample, bool is_valid)
{
	if (is_valid && after(sample->prior_delivered, ca->limited_delivered))
		ca->limited_delivered = 0;
	return sample->is_app_limited || ca->limited_delivered;
}

CC_INLINE struct bbr3_sample bbr3_read_sample(const struct rate_sample *sample, bool is_limited)
{
	struct bbr3_sample rs = {
		.acked_pkts = sample->acked_sacked,
		.lost_pkts = sample->losses > 0 ? sample->losses : 0,
		.prior_in_flight_pkts = sample->prior_in_flight,
		.is_valid = sample->delivered >= 0 && sample->interval_us > 0,
		.is_limited = is_limited,
	};

	__asm__ volatile("" : "+r"(rs.prior_in_flight_pkts)); /* read here: sent.h, cc_sent_since */
	if (rs.is_valid) {
		rs.delivered_pkts = sample->delivered;
		rs.bw_q24 = cc_min(((u64)rs.delivered_pkts << 24) / (u64)sample->interval_us, 0xffffffffU);
	}
	return rs;
}

/* Losses and marks of this ACK. Without memory for notes, those since the last ACK stand for a flight. */
CC_INLINE void bbr3_take_losses(struct bbr3_state *ca, struct bbr3_store *store, const struct bbr3_params *p,
				const struct sock *sk, const struct rate_sample *sample, struct bbr3_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	bool marked = false;

	rs->then = (struct cc_sent_then){ .in_flight_pkts = rs->prior_in_flight_pkts, .lost_pkts = rs->lost_pkts };
	if (store) {
		if (!store->sent.has_begun)
			cc_sent_begin(&store->sent, tp, rs->prior_in_flight_pkts);
		marked = cc_sent_ack_began(&store->sent, tp, rs->prior_in_flight_pkts);
		rs->then = cc_sent_since(&store->sent, tp, rs->is_valid ? sample->prior_delivered : tp->delivered);
	}
	if (rs->lost_pkts || marked) {
		bbr3_note_losses(ca, store, sk);
		bbr3_judge_probe(ca, p, sk, rs);
	}
	if (store)
		cc_sent_acked(&store->sent, tp, tcp_packets_in_flight(tp));
}

CC_INLINE void bbr3_update_model(struct bbr3_state *ca, struct bbr3_store *store, const struct bbr3_params *p,
				 const struct sock *sk, const struct bbr3_sample *rs, u32 prior_delivered)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	bbr3_update_latest(ca, tp, rs, prior_delivered);
	bbr3_update_round(ca, tp, prior_delivered);
	bbr3_update_bw(ca, rs);
	if (ca->loss_round_began) {
		if (ca->loss_in_round && !bbr3_is_probing(ca))
			bbr3_bound_short_term(ca, p, tp);
		ca->loss_in_round = false;
	}
	if (store)
		bbr3_update_bursts(ca, store, p, sk, rs->acked_pkts, bbr3_bounded_bw_q24(ca));
	bbr3_check_full_pipe(ca, p, rs);
}

/* The next round of losses begins with this ACK. */
CC_INLINE void bbr3_advance_latest(struct bbr3_state *ca, const struct bbr3_sample *rs)
{
	if (!ca->loss_round_began)
		return;
	ca->bw_latest_q24 = rs->bw_q24;
	ca->inflight_latest_pkts = rs->delivered_pkts;
	ca->loss_acks = 0;
}

CC_INLINE void bbr3_end_recovery(struct bbr3_state *ca, struct sock *sk)
{
	bool recovers = CC_BITFIELD(inet_csk(sk), icsk_ca_state) >= TCP_CA_Recovery;

	if (ca->recovers && !recovers)
		bbr3_restore_cwnd(ca, tcp_sk(sk));
	ca->recovers = recovers;
}

CC_CONG_CONTROL(bbr3_cong_control, sk, sample)
{
	const struct bbr3_params *p = bbr3_params();
	struct bbr3_state *ca = CC_STATE(bbr3, sk);
	struct bbr3_store *store = CC_STORE(bbr3, sk);
	struct tcp_sock *tp = tcp_sk(sk);
	struct bbr3_sample rs = bbr3_read_sample(sample, sample->is_app_limited);

	if (!CC_MAY_WRITE_APP_LIMITED)
		rs.is_limited = bbr3_is_limited(ca, sample, rs.is_valid);
	ca->round_began = ca->loss_round_began = false;
	bbr3_take_losses(ca, store, p, sk, sample, &rs);
	if (rs.is_valid)
		bbr3_update_model(ca, store, p, sk, &rs, sample->prior_delivered);
	bbr3_check_startup(ca, p, sk, &rs);
	bbr3_check_drain(ca, p, sk);
	if (rs.is_valid)
		bbr3_update_phase(ca, p, sk, &rs);
	bbr3_update_min_rtt(ca, p, sk, sample->rtt_us);
	if (bbr3_check_probe_rtt(ca, p, sk, &rs)) {
		u32 limited_delivered = cc_max(cc_plus(tp->delivered, tcp_packets_in_flight(tp)), 1);

		if (CC_MAY_WRITE_APP_LIMITED)
			tp->app_limited = limited_delivered;
		else
			ca->limited_delivered = limited_delivered;
	}
	bbr3_advance_latest(ca, &rs);
	bbr3_end_recovery(ca, sk);
	bbr3_set_pacing_rate(ca, p, sk, bbr3_bounded_bw_q24(ca), bbr3_pacing_gain_pct(ca, p));
	bbr3_set_cwnd(ca, store, p, sk, rs.acked_pkts);
}

/* The socket may have had another instance of this algorithm before. */
CC_INLINE void bbr3_clear_store(struct bbr3_store *store, const struct sock *sk)
{
	cc_sent_begin(&store->sent, tcp_sk(sk), tcp_packets_in_flight(tcp_sk(sk)));
	store->undo_bw_shortterm_q24 = 0;
	store->undo_inflight_shortterm_pkts = 0;
	store->undo_inflight_longterm_pkts = 0;
	store->epoch_start_us = bbr3_now_us(sk);
	store->epoch_acked_pkts = 0;
	store->burst_pkts = store->older_burst_pkts = 0;
	store->burst_rounds = 0;
}

void CC_HOOK(bbr3_init, struct sock *sk)
{
	struct bbr3_state *ca = CC_NEW_STATE(bbr3, sk);
	struct bbr3_store *store = CC_STORE(bbr3, sk);
	struct tcp_sock *tp = tcp_sk(sk);

	tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	ca->min_rtt_us = ca->probe_rtt_min_us = tp->rtt_min.s[0].v;
	ca->min_rtt_stamp_us = ca->probe_rtt_min_stamp_us = bbr3_now_us(sk);
	ca->next_round_delivered = ca->loss_round_delivered = tp->delivered;
	ca->inflight_longterm_pkts = BBR3_INFINITE;
	ca->up_pkts_per_increase = BBR3_INFINITE;
	ca->recovers = CC_BITFIELD(inet_csk(sk), icsk_ca_state) >= TCP_CA_Recovery;
	bbr3_forget_short_term(ca);
	if (store)
		bbr3_clear_store(store, sk);
	bbr3_init_pacing_rate(ca, bbr3_params(), sk);
	if (sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
}

/* Sending again with nothing in flight: at the bandwidth, not beyond. Idle time is no reason for PROBE_RTT. */
CC_INLINE void bbr3_restart(struct sock *sk)
{
	const struct bbr3_params *p = bbr3_params();
	struct bbr3_state *ca = CC_STATE(bbr3, sk);
	struct bbr3_store *store;

	if (!tcp_sk(sk)->app_limited)
		return;
	ca->idle_restart = true;
	store = CC_STORE(bbr3, sk);
	if (store)
		store->epoch_start_us = bbr3_now_us(sk);
	if (bbr3_is_in_probe_bw(ca))
		bbr3_set_pacing_rate(ca, p, sk, bbr3_bounded_bw_q24(ca), 100);
	else if (ca->mode == BBR3_PROBE_RTT)
		bbr3_check_probe_rtt_done(ca, p, sk);
}
CC_DEFINE_TX_START(bbr3, bbr3_restart)

/* A timeout: all that was in flight is lost. The window is already what it leaves, so the one before it is the bound. */
void CC_HOOK(bbr3_set_state, struct sock *sk, u8 new_state)
{
	struct bbr3_state *ca = CC_STATE(bbr3, sk);
	struct tcp_sock *tp = tcp_sk(sk);
	struct bbr3_sample rs = {};
	struct bbr3_store *store;

	if (new_state != TCP_CA_Loss)
		return;
	ca->recovers = true;
	if (!ca->loss_in_round)
		ca->loss_round_delivered = tp->delivered;
	ca->loss_in_round = true;
	if (!bbr3_is_probing(ca) && ca->inflight_shortterm_pkts == BBR3_INFINITE)
		ca->inflight_shortterm_pkts = cc_max(tp->snd_cwnd, ca->prior_cwnd_pkts);
	store = CC_STORE(bbr3, sk);
	if (!store)
		return;
	rs.then = cc_sent_timed_out(&store->sent, tp);
	rs.lost_pkts = rs.then.lost_pkts;
	rs.is_limited = tp->app_limited;
	bbr3_judge_probe(ca, bbr3_params(), sk, &rs);
}

/* No decrease: the model sets the window. The core only needs to know where it was. */
u32 CC_HOOK(bbr3_ssthresh, struct sock *sk)
{
	bbr3_save(CC_STATE(bbr3, sk), CC_STORE(bbr3, sk), sk);
	return cc_ssthresh_floor(tcp_sk(sk)->snd_ssthresh);
}

CC_INLINE void bbr3_undo_phase(struct bbr3_state *ca, const struct tcp_sock *tp)
{
	if (ca->undo == BBR3_UNDO_STARTUP && ca->mode != BBR3_STARTUP) {
		ca->full_bw_reached = false;
		if (ca->mode != BBR3_PROBE_RTT)
			ca->mode = BBR3_STARTUP;
	} else if (ca->undo == BBR3_UNDO_UP && ca->mode != BBR3_UP && ca->mode != BBR3_PROBE_RTT) {
		bbr3_enter_refill(ca, tp);
	}
	ca->undo = BBR3_UNDO_NOTHING;
}

/* The losses were none: bounds and phase of before */
u32 CC_HOOK(bbr3_undo_cwnd, struct sock *sk)
{
	struct bbr3_state *ca = CC_STATE(bbr3, sk);
	struct bbr3_store *store = CC_STORE(bbr3, sk);
	struct tcp_sock *tp = tcp_sk(sk);

	ca->loss_in_round = false;
	bbr3_look_for_full_pipe(ca, 0);
	if (store) {
		ca->bw_shortterm_q24 = cc_max(ca->bw_shortterm_q24, store->undo_bw_shortterm_q24);
		ca->inflight_shortterm_pkts = cc_max(ca->inflight_shortterm_pkts, store->undo_inflight_shortterm_pkts);
		ca->inflight_longterm_pkts = cc_max(ca->inflight_longterm_pkts, store->undo_inflight_longterm_pkts);
	}
	bbr3_undo_phase(ca, tp);
	return cc_restored_cwnd_pkts(tp);
}

/* Three windows of data: one in flight, one in recovery, one to go on with */
u32 CC_HOOK(bbr3_sndbuf_expand, struct sock *sk)
{
	return 3;
}

CC_ALGORITHM(bbr3,
	.init = CC_FN(bbr3_init),
	.cong_control = CC_FN(bbr3_cong_control),
	.pkts_acked = CC_NO_HOOK, /* cong_control is called for each ACK */
	.set_state = CC_FN(bbr3_set_state),
	CC_TX_START_HOOKS(bbr3),
	.ssthresh = CC_FN(bbr3_ssthresh),
	.undo_cwnd = CC_FN(bbr3_undo_cwnd),
	.min_tso_segs = CC_FN(bbr3_min_tso_segs),
	.sndbuf_expand = CC_FN(bbr3_sndbuf_expand),
);
