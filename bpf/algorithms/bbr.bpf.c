// SPDX-License-Identifier: GPL-2.0-only
/*
 * BBR v1: sends at the rate that the path was measured to deliver, with no more in flight than that needs.
 *
 * For      production: fast or lossy paths, from servers to the Internet
 * Use      when random losses or deep queues on the path cost loss-based algorithms their throughput or keep RTTs high.
 * Not      when it shares a short queue with Reno or CUBIC: it takes more than its share and retransmits much. Compare
 *          retransmissions first.
 * Source   N. Cardwell, Y. Cheng, C. S. Gunn, S. H. Yeganeh, V. Jacobson, "BBR: congestion-based congestion control", ACM
 *          Queue 14(5), 2016; draft-cardwell-iccrg-bbr-congestion-control-00; Linux tcp_bbr.c for constants.
 * Law      rate = gain bw, W = gain bw RTT_min; bw = largest delivery rate of 10 rounds, RTT_min of 10 s
 *          STARTUP: gains 2.89 until bw has not grown by 1.25 in 3 rounds; DRAIN: rate gain 0.34 until W = bw RTT_min
 *          PROBE_BW: rate gains 1.25, 0.75, 1, 1, 1, 1, 1, 1, one RTT_min each, window gain 2
 *          PROBE_RTT: W = 4 for 200 ms, where RTT_min was not seen again for 10 s
 *          a policer: 20 % of the packets lost at a rate that repeats itself; that rate for 48 rounds
 * Why      The delivery rate is largest, and the RTT smallest, where the pipe is full and the queue empty: these two are
 *          measured in turn, as they cannot be at once. Losses say little of either, and are not asked.
 * Differs  From Linux: clocks in us, where it has jiffies, so that RTT_min and PROBE_RTT may end two ticks earlier;
 *          before 6.10, where app_limited is not written, a mark of our own keeps the samples of PROBE_RTT from
 *          lowering bw; an undo gives the window back at once. From the draft: RTT_min begins with that of the SYN, as
 *          in Linux.
 * Needs    pacing: sk_pacing_rate and TCP's own timer, or the fq queue discipline.
 * State    104 bytes of 104.
 * Range    bandwidth below 256 packets/us (u32 in Q24), gains below 8, windows up to 2^20 packets.
 */
#include "rtt.h"

/*
 * The model
 *
 * A path is a pipe: a narrowest place that delivers bw packets a microsecond, and an empty round
 * trip of RTT_min. What fills it exactly is their product. With less in flight the rate falls;
 * with more the rate stays, the surplus waits in the queue of the narrowest place, and the RTT
 * grows; once that queue is full, packets are lost. Reno and CUBIC work at that last point. BBR
 * aims at the first: everything the path delivers, and no queue.
 *
 * The two numbers cannot be measured at the same time. bw shows only while the pipe is full, which
 * builds a queue; RTT_min shows only while the queue is empty, which needs less in flight than the
 * pipe holds. So BBR takes turns: most of the time it sends at bw, now and then a little faster to
 * see whether there is more, and rarely it lets the pipe run dry.
 *
 *              bw stopped growing           at most bw RTT_min in flight
 *     STARTUP ----------------------> DRAIN ----------------------------> PROBE_BW
 *        ^                              |                                  |   ^
 *        |          from any of the three: RTT_min not seen for 10 s       |   |
 *        |                              v                                  v   |
 *        +------------------------- PROBE_RTT ---------------------------------+
 *          bw was still growing         200 ms and a round    bw had stopped growing
 *
 * STARTUP    doubles the rate each round, as slow start does. Packets sent in a round trip go out
 *            evenly, so what the ACKs report lags behind what is sent; 2 / ln 2 = 2.885 is the
 *            smallest gain with which the delivery rate doubles nevertheless. The pipe counts as
 *            full when three rounds in a row grew by less than a quarter: one round is too few,
 *            since a receiver may be enlarging its window, or another flow may just have left.
 * DRAIN      the inverse gain removes in one round the queue that STARTUP's last round has built.
 * PROBE_BW   sends at bw. One RTT with 5/4 asks for more: if the path has it, the next samples
 *            show it; if not, the surplus is a quarter of the pipe in the queue, and one RTT with
 *            3/4 takes it out again. Six RTTs at bw follow, to leave the path alone. A flow enters
 *            at a random phase (not the draining one, it has nothing to drain), so that flows do
 *            not probe together. The window of two pipes is no target: it lets sending go on while
 *            ACKs are delayed or come in bunches, and bounds the queue if bw was overestimated.
 * PROBE_RTT  four packets, for 200 ms and at least a round: few enough to empty the queue even
 *            where many flows share it, and long enough that flows with different RTTs overlap in
 *            it; all of them see the empty queue at once and stay in step from then on. 200 ms in
 *            10 s cost 2 % of the throughput. An application that pauses empties the queue by
 *            itself, and then PROBE_RTT is not needed.
 *
 * Memory     The maximum of bw is that of 10 rounds: more than one cycle of 8 phases, so that a
 *            probe's result lasts until the next one, and short enough to follow a path that
 *            became slower. RTT_min is that of 10 s: routes change in minutes.
 * Samples    of a sender that had nothing to send are too low. They count only where they are
 *            higher than the maximum.
 * Policer    A token bucket lets a burst pass and then drops all that exceeds its rate. The burst
 *            makes bw too large, and without this check BBR would lose packets for 10 rounds. Two
 *            intervals that both begin and end with a loss, lose 20 %, and deliver at the same
 *            rate (to 1/8, or 4 kbit/s) show one. 48 rounds later the check begins anew.
 * Bursts     Wireless links and some receivers acknowledge many packets at once, then none for a
 *            while. What was acknowledged beyond bw at most, in the last 5 to 10 rounds, is added
 *            to the window, up to 100 ms of bw.
 * Margin     1 % below bw, so that a queue which exists anyway drains slowly.
 */
#define BBR_PARAMS(P)                                                                                                  \
	P(CC_PARAM(startup_gain_q8, 739, 257, 2047, "1/256",                                                           \
		   "gain of STARTUP (2 / ln 2), also DRAIN's for the window"))                                         \
	P(CC_PARAM(drain_gain_q8, 88, 1, 255, "1/256", "rate gain of DRAIN (the inverse of STARTUP's)"))               \
	P(CC_PARAM(cwnd_gain_q8, 512, 256, 2047, "1/256", "window gain of PROBE_BW"))                                  \
	P(CC_PARAM(probe_up_gain_q8, 320, 257, 1024, "1/256", "rate gain of PROBE_BW that looks for more bandwidth"))  \
	P(CC_PARAM(probe_down_gain_q8, 192, 1, 255, "1/256",                                                           \
		   "rate gain of PROBE_BW that drains what that has queued"))                                          \
	P(CC_PARAM(bw_window_rounds, 10, 1, 1000, "RTTs", "memory of the largest delivery rate"))                      \
	P(CC_PARAM(min_rtt_window_s, 10, 1, 3600, "s", "memory of the smallest RTT"))                                  \
	P(CC_PARAM(probe_rtt_ms, 200, 0, 10000, "ms", "length of PROBE_RTT; 0 = none"))                                \
	P(CC_PARAM(min_cwnd_pkts, 4, 1, 1000, "pkts", "smallest window, and that of PROBE_RTT"))                       \
	P(CC_PARAM(full_bw_growth_q8, 320, 256, 2048, "1/256",                                                         \
		   "less growth in a round of STARTUP: the pipe may be full"))                                         \
	P(CC_PARAM(full_bw_rounds, 3, 1, 255, "RTTs", "rounds of that: the pipe is full"))                             \
	P(CC_PARAM(pacing_margin_pct, 1, 0, 50, "%", "pace below the measured bandwidth by this"))                     \
	P(CC_PARAM(policer_min_rounds, 4, 1, 60, "RTTs",                                                               \
		   "a policer is looked for over at least so long, and four times that at most"))                      \
	P(CC_PARAM(policer_loss_q8, 50, 1, 256, "1/256", "share of packets lost that suggests a policer"))             \
	P(CC_PARAM(policer_ratio_q8, 32, 0, 256, "1/256", "two rates this close are the policer's"))                   \
	P(CC_PARAM(policer_diff_bytes_per_s, 500, 0, 1000000, "bytes/s", "or this close"))                             \
	P(CC_PARAM(policer_rounds, 48, 1, 255, "RTTs", "how long the policer's rate is believed"))                     \
	P(CC_PARAM(aggregation_gain_q8, 256, 0, 1024, "1/256",                                                         \
		   "window for ACKs that come in bursts, of the largest burst; 0 = none"))                             \
	P(CC_PARAM(aggregation_rounds, 5, 1, 31, "RTTs", "half of the memory of the largest burst"))                   \
	P(CC_PARAM(aggregation_max_us, 100000, 0, 1000000, "us",                                                       \
		   "window for bursts of ACKs, at most, in time at the bandwidth"))
CC_PARAMS(bbr, BBR_PARAMS);

#define BBR_ONE_Q8 256
#define BBR_NO_RTT 0xffffffffU
#define BBR_CYCLE 8 /* phases of PROBE_BW: up, down, and six at bw */
#define BBR_EPOCH_PKTS (1U << 20) /* Linux: bursts are reckoned anew after so many packets */
#define BBR_LOW_RATE_BYTES_PER_S 150000 /* 1.2 Mbit/s: below it single segments */
#define BBR_TSO_BYTES (65536 - 1 - 320) /* a full burst: GSO's legacy limit less the headers */

enum bbr_mode { BBR_STARTUP, BBR_DRAIN, BBR_PROBE_BW, BBR_PROBE_RTT };

/* Whose gain the rate has */
enum bbr_pace { BBR_PACE_STARTUP, BBR_PACE_DRAIN, BBR_PACE_CRUISE, BBR_PACE_UP, BBR_PACE_DOWN };

/*
 * A sliding maximum in constant room (K. Nichols; Linux win_minmax.c): the best sample of the window, the best after that
 * one, and the best after that. When the first becomes too old the others take its place.
 */
struct bbr_best {
	u32 round;
	u32 bw_q24;
};

struct bbr_state {
	struct bbr_best best, second, third; /* packets per us */
	u32 min_rtt_us CC_NONE(BBR_NO_RTT, "no RTT yet");
	u32 min_rtt_stamp_us; /* this and all other clocks: low 32 bits */
	u32 probe_rtt_done_us CC_NONE(0, "not known yet");
	u32 rounds;
	u32 next_round_delivered; /* tcp_sock.delivered at which the round ends */
	u32 cycle_start_us;
	u32 policer_bw_q24 CC_NONE(0, "no policer found");
	u32 policer_delivered; /* counters at the start of its interval */
	u32 policer_lost;
	u32 policer_start_ms;
	u32 prior_cwnd_pkts; /* before recovery or PROBE_RTT */
	u32 full_bw_q24; /* of the last round that grew */
	u32 epoch_start_us; /* of ACKs that come faster than bw */
	u32 epoch_acked_pkts;
	/* where app_limited cannot be written: up to here samples are of PROBE_RTT */
	u32 limited_delivered CC_NONE(0, "no sample is of PROBE_RTT");
	u16 burst_pkts, older_burst_pkts; /* ACKs beyond bw, largest in two windows */
	u8 mode;
	u8 prior_ca_state;
	u8 cycle;
	u8 full_bw_rounds;
	u8 policer_rounds;
	u8 burst_rounds;
	u8 pace; /* since the last ACK: what is in flight was sent with it */
	bool round_began; /* with this ACK */
	bool idle_restart;
	bool probe_rtt_round_done;
	bool policer_watched;
	bool policed;
	bool full_bw_reached;
	bool has_seen_rtt;
	bool conserves; /* the first round of recovery sends a packet for each that was delivered */
};
CC_STATE_STRUCT(bbr);

CC_INLINE u32 bbr_now_us(const struct sock *sk)
{
	return (u32)cc_now_us(sk);
}

CC_INLINE u32 bbr_bw_q24(const struct bbr_state *ca)
{
	return ca->policed ? ca->policer_bw_q24 : ca->best.bw_q24;
}

CC_INLINE void bbr_note_bw(struct bbr_state *ca, u32 window, u32 bw_q24)
{
	struct bbr_best sample = { .round = ca->rounds, .bw_q24 = bw_q24 };
	u32 age = cc_minus(sample.round, ca->best.round);

	if (bw_q24 >= ca->best.bw_q24 || cc_minus(sample.round, ca->third.round) > window) {
		ca->best = ca->second = ca->third = sample;
		return;
	}
	if (bw_q24 >= ca->second.bw_q24)
		ca->second = ca->third = sample;
	else if (bw_q24 >= ca->third.bw_q24)
		ca->third = sample;
	if (age > window) { /* the best one is too old: the others move up */
		ca->best = ca->second;
		ca->second = ca->third;
		ca->third = sample;
		if (cc_minus(sample.round, ca->best.round) > window) {
			ca->best = ca->second;
			ca->second = ca->third;
		}
	} else if (ca->second.round == ca->best.round && age > window / 4) {
		ca->second = ca->third = sample; /* a quarter passed without a second one */
	} else if (ca->third.round == ca->second.round && age > window / 2) {
		ca->third = sample;
	}
}

CC_INLINE void bbr_set_pace(struct bbr_state *ca)
{
	if (ca->mode == BBR_STARTUP)
		ca->pace = BBR_PACE_STARTUP;
	else if (ca->mode == BBR_DRAIN)
		ca->pace = BBR_PACE_DRAIN;
	else if (ca->mode == BBR_PROBE_RTT || ca->policed || ca->cycle > 1)
		ca->pace = BBR_PACE_CRUISE;
	else
		ca->pace = ca->cycle ? BBR_PACE_DOWN : BBR_PACE_UP;
}

CC_INLINE u32 bbr_pacing_gain_q8(const struct bbr_state *ca, const struct bbr_params *p)
{
	switch (ca->pace) {
	case BBR_PACE_STARTUP:
		return p->startup_gain_q8;
	case BBR_PACE_DRAIN:
		return p->drain_gain_q8;
	case BBR_PACE_UP:
		return p->probe_up_gain_q8;
	case BBR_PACE_DOWN:
		return p->probe_down_gain_q8;
	}
	return BBR_ONE_Q8;
}

CC_INLINE u32 bbr_cwnd_gain_q8(const struct bbr_state *ca, const struct bbr_params *p)
{
	if (ca->mode == BBR_PROBE_RTT)
		return BBR_ONE_Q8;
	return ca->mode == BBR_PROBE_BW ? p->cwnd_gain_q8 : p->startup_gain_q8;
}

/* bw < 2^32, MSS < 2^16, gain < 2^11: the product is below 2^59 before and 2^51 after the shift */
CC_INLINE u64 bbr_bytes_per_s(u64 bw_q24, u32 mss_bytes, u32 gain_q8, u32 margin_pct)
{
	u64 bytes_per_us_q24 = bw_q24 * mss_bytes * gain_q8 >> 8;
	u64 per_us_to_s = 10000 * (100 - cc_min(margin_pct, 100));

	if (bytes_per_us_q24 < 1ULL << 43)
		return bytes_per_us_q24 * per_us_to_s >> 24;
	return (bytes_per_us_q24 >> 12) * per_us_to_s >> 12;
}

CC_INLINE u64 bbr_pacing_rate(const struct sock *sk, const struct bbr_params *p, u32 bw_q24, u32 gain_q8)
{
	u64 rate = bbr_bytes_per_s(bw_q24, tcp_sk(sk)->mss_cache, gain_q8, p->pacing_margin_pct);

	return cc_min(rate, sk->sk_max_pacing_rate);
}

/* Until there is an RTT: the first window in a millisecond */
CC_INLINE void bbr_init_pacing_rate(struct bbr_state *ca, const struct bbr_params *p, struct sock *sk)
{
	u32 rtt_us = 1000;

	if (tcp_sk(sk)->srtt_us) {
		rtt_us = cc_max(cc_srtt_us(sk), 1);
		ca->has_seen_rtt = true;
	}
	sk->sk_pacing_rate = bbr_pacing_rate(sk, p, cc_min(((u64)tcp_sk(sk)->snd_cwnd << 24) / rtt_us, 0xffffffffU),
					     p->startup_gain_q8);
}

/* In STARTUP the rate only rises: a low sample there is of an application that is slow to begin. */
CC_INLINE void bbr_set_pacing_rate(struct bbr_state *ca, const struct bbr_params *p, struct sock *sk, u32 bw_q24,
				   u32 gain_q8)
{
	u64 rate = bbr_pacing_rate(sk, p, bw_q24, gain_q8);

	if (!ca->has_seen_rtt && tcp_sk(sk)->srtt_us)
		bbr_init_pacing_rate(ca, p, sk);
	if (ca->full_bw_reached || rate > sk->sk_pacing_rate)
		sk->sk_pacing_rate = rate;
}

u32 CC_HOOK(bbr_min_tso_segs, struct sock *sk)
{
	return sk->sk_pacing_rate < BBR_LOW_RATE_BYTES_PER_S ? 1 : 2;
}

/* Packets that one burst of TSO will have */
CC_INLINE u32 bbr_burst_goal_pkts(const struct sock *sk)
{
	u64 bytes = cc_min(sk->sk_pacing_rate >> (sk->sk_pacing_shift & 31), BBR_TSO_BYTES);
	u32 least = sk->sk_pacing_rate < BBR_LOW_RATE_BYTES_PER_S ? 1 : 2;

	return cc_clamp(cc_div(bytes, tcp_sk(sk)->mss_cache), least, 127);
}

/* bw RTT_min gain, and room for what waits in TSO here, in the receiver's and in the ACKs between */
CC_INLINE u32 bbr_room_for_bursts_pkts(const struct bbr_state *ca, const struct sock *sk, u64 pkts)
{
	pkts += 3 * bbr_burst_goal_pkts(sk);
	pkts = (pkts + 1) & ~1ULL; /* fewer delayed ACKs */
	if (ca->mode == BBR_PROBE_BW && ca->cycle == 0)
		pkts += 2; /* probing must reach beyond the pipe even where that is small */
	return cc_min(pkts, 1U << 30);
}

CC_INLINE u64 bbr_bdp_pkts(const struct bbr_state *ca, u32 bw_q24, u32 gain_q8)
{
	return ca->min_rtt_us == BBR_NO_RTT ? TCP_INIT_CWND : cc_bdp_pkts(bw_q24, ca->min_rtt_us, gain_q8);
}

CC_INLINE u32 bbr_inflight_pkts(const struct bbr_state *ca, const struct sock *sk, u32 gain_q8)
{
	return bbr_room_for_bursts_pkts(ca, sk, bbr_bdp_pkts(ca, ca->best.bw_q24, gain_q8));
}

/* What will be in the network when the next packet, held back by pacing, departs */
CC_INLINE u32 bbr_inflight_at_departure_pkts(const struct bbr_state *ca, const struct bbr_params *p,
					     const struct sock *sk, u32 inflight_pkts)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 wait_us = cc_min(cc_beyond(tp->tcp_wstamp_ns, tp->tcp_clock_cache) / 1000, 1 << 30);
	u64 delivered_pkts = bbr_bw_q24(ca) * wait_us >> 24;
	u64 pkts = inflight_pkts;

	if (bbr_pacing_gain_q8(ca, p) > BBR_ONE_Q8)
		pkts += bbr_burst_goal_pkts(sk);
	return cc_beyond(pkts, delivered_pkts);
}

/* The window to come back to */
CC_INLINE void bbr_save_cwnd(struct bbr_state *ca, const struct tcp_sock *tp)
{
	if (ca->prior_ca_state < TCP_CA_Recovery && ca->mode != BBR_PROBE_RTT)
		ca->prior_cwnd_pkts = tp->snd_cwnd;
	else
		ca->prior_cwnd_pkts = cc_max(ca->prior_cwnd_pkts, tp->snd_cwnd);
}

CC_INLINE void bbr_next_phase(struct bbr_state *ca, const struct tcp_sock *tp)
{
	ca->cycle = (ca->cycle + 1) & (BBR_CYCLE - 1);
	ca->cycle_start_us = (u32)tp->delivered_mstamp;
}

/* From any phase but the one that drains: there is nothing to drain */
CC_INLINE void bbr_start_probe_bw(struct bbr_state *ca, const struct sock *sk)
{
	ca->mode = BBR_PROBE_BW;
	ca->cycle = BBR_CYCLE - 1 - CC_RANDOM_U32(sk) % (BBR_CYCLE - 1);
	bbr_next_phase(ca, tcp_sk(sk));
}

CC_INLINE u32 bbr_delivered_ms(const struct tcp_sock *tp)
{
	return (u32)(tp->delivered_mstamp / 1000);
}

CC_INLINE void bbr_watch_policer_anew(struct bbr_state *ca, const struct tcp_sock *tp)
{
	ca->policer_start_ms = bbr_delivered_ms(tp);
	ca->policer_delivered = tp->delivered;
	ca->policer_lost = tp->lost;
	ca->policer_rounds = 0;
}

CC_INLINE void bbr_forget_policer(struct bbr_state *ca, const struct tcp_sock *tp)
{
	ca->policer_bw_q24 = 0;
	ca->policed = false;
	ca->policer_watched = false;
	bbr_watch_policer_anew(ca, tp);
}

/* An interval between losses had this rate: the same as the one before? */
CC_INLINE void bbr_judge_policer(struct bbr_state *ca, const struct bbr_params *p, const struct tcp_sock *tp,
				 u32 bw_q24)
{
	u64 difference_q24 = cc_distance(bw_q24, ca->policer_bw_q24);

	if (ca->policer_bw_q24 && (difference_q24 << 8 <= (u64)p->policer_ratio_q8 * ca->policer_bw_q24 ||
				   bbr_bytes_per_s(difference_q24, tp->mss_cache, BBR_ONE_Q8, p->pacing_margin_pct) <=
					   p->policer_diff_bytes_per_s)) {
		ca->policer_bw_q24 = ((u64)bw_q24 + ca->policer_bw_q24) >> 1;
		ca->policed = true;
		ca->pace = BBR_PACE_CRUISE;
		ca->policer_rounds = 0;
		return;
	}
	ca->policer_bw_q24 = bw_q24;
	bbr_watch_policer_anew(ca, tp);
}

/* The end of an interval: a loss, after long enough, with enough lost */
CC_INLINE void bbr_end_policer_interval(struct bbr_state *ca, const struct bbr_params *p, const struct tcp_sock *tp)
{
	u32 delivered = cc_minus(tp->delivered, ca->policer_delivered);
	u64 lost = cc_minus(tp->lost, ca->policer_lost);
	u32 elapsed_ms = cc_minus(bbr_delivered_ms(tp), ca->policer_start_ms);

	if (!delivered || lost << 8 < (u64)p->policer_loss_q8 * delivered || (s32)elapsed_ms < 1)
		return;
	if (elapsed_ms >= 0xffffffffU / 1000) {
		bbr_forget_policer(ca, tp);
		return;
	}
	bbr_judge_policer(ca, p, tp, cc_min(((u64)delivered << 24) / (1000 * (u64)elapsed_ms), 0xffffffffU));
}

CC_INLINE void bbr_watch_policer(struct bbr_state *ca, const struct bbr_params *p, const struct sock *sk, bool lost,
				 bool app_limited)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (ca->policed) {
		if (ca->mode == BBR_PROBE_BW && ca->round_began && ++ca->policer_rounds >= p->policer_rounds) {
			bbr_forget_policer(ca, tp);
			bbr_start_probe_bw(ca, sk);
		}
		return;
	}
	if (!ca->policer_watched) {
		if (!lost) /* begin with a loss: the policer's bucket is empty */
			return;
		bbr_watch_policer_anew(ca, tp);
		ca->policer_watched = true;
	}
	if (app_limited) {
		bbr_forget_policer(ca, tp);
		return;
	}
	if (ca->round_began)
		ca->policer_rounds++;
	if (ca->policer_rounds > 4 * p->policer_min_rounds)
		bbr_forget_policer(ca, tp);
	else if (ca->policer_rounds >= p->policer_min_rounds && lost)
		bbr_end_policer_interval(ca, p, tp);
}

CC_INLINE bool bbr_is_sample(const struct rate_sample *sample)
{
	return sample->delivered >= 0 && sample->interval_us > 0;
}

/*
 * The sender had less to send than the path would have taken: the application, or PROBE_RTT. The mark is of a counter that
 * wraps, and goes when it is passed.
 */
CC_INLINE bool bbr_is_limited(struct bbr_state *ca, const struct rate_sample *sample)
{
	if (bbr_is_sample(sample) && after(sample->prior_delivered, ca->limited_delivered))
		ca->limited_delivered = 0;
	return sample->is_app_limited || ca->limited_delivered;
}

CC_INLINE void bbr_update_bw(struct bbr_state *ca, const struct bbr_params *p, const struct sock *sk,
			     const struct rate_sample *sample, bool limited)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 bw_q24;

	if (!after(ca->next_round_delivered, sample->prior_delivered)) {
		ca->next_round_delivered = tp->delivered;
		ca->rounds++;
		ca->round_began = true;
		ca->conserves = false;
	}
	bbr_watch_policer(ca, p, sk, sample->losses > 0, limited);
	bw_q24 = cc_min(((u64)(u32)sample->delivered << 24) / (u64)sample->interval_us, 0xffffffffU);
	if (!limited || bw_q24 >= ca->best.bw_q24)
		bbr_note_bw(ca, p->bw_window_rounds, bw_q24);
}

/* ACKs that came faster than bw: what is acknowledged at once has to be in flight at once. */
CC_INLINE void bbr_update_bursts(struct bbr_state *ca, const struct bbr_params *p, const struct tcp_sock *tp,
				 u32 acked_pkts, u32 bw_q24)
{
	u64 expected_pkts, epoch_pkts, burst_pkts;

	if (!p->aggregation_gain_q8 || !acked_pkts)
		return;
	if (ca->round_began && ++ca->burst_rounds >= p->aggregation_rounds) {
		ca->burst_rounds = 0;
		ca->older_burst_pkts = ca->burst_pkts;
		ca->burst_pkts = 0;
	}
	expected_pkts = (u64)bw_q24 * cc_minus((u32)tp->delivered_mstamp, ca->epoch_start_us) >> 24;
	epoch_pkts = (u64)ca->epoch_acked_pkts + acked_pkts;
	if (ca->epoch_acked_pkts <= expected_pkts || epoch_pkts >= BBR_EPOCH_PKTS) {
		ca->epoch_start_us = (u32)tp->delivered_mstamp;
		epoch_pkts = cc_min(acked_pkts, BBR_EPOCH_PKTS - 1);
		expected_pkts = 0;
	}
	ca->epoch_acked_pkts = epoch_pkts;
	burst_pkts = cc_min(cc_min(cc_beyond(epoch_pkts, expected_pkts), tp->snd_cwnd), 0xffff);
	if (burst_pkts > ca->burst_pkts)
		ca->burst_pkts = burst_pkts;
}

CC_INLINE u64 bbr_burst_window_pkts(const struct bbr_state *ca, const struct bbr_params *p, u32 bw_q24)
{
	u64 limit_pkts, burst_pkts;

	if (!ca->full_bw_reached)
		return 0;
	limit_pkts = (u64)bw_q24 * p->aggregation_max_us >> 24;
	burst_pkts = p->aggregation_gain_q8 * cc_max(ca->burst_pkts, ca->older_burst_pkts) >> 8;
	return cc_min(burst_pkts, limit_pkts);
}

/* PROBE_BW: probing lasts until it has filled its share, or met losses; draining until it has drained. */
CC_INLINE void bbr_update_cycle(struct bbr_state *ca, const struct bbr_params *p, const struct sock *sk,
				const struct rate_sample *sample)
{
	bool next = cc_minus((u32)tcp_sk(sk)->delivered_mstamp, ca->cycle_start_us) > ca->min_rtt_us;
	u32 gain_q8 = bbr_pacing_gain_q8(ca, p);

	if (next && gain_q8 > BBR_ONE_Q8 && sample->losses <= 0)
		next = bbr_inflight_at_departure_pkts(ca, p, sk, sample->prior_in_flight) >=
		       bbr_inflight_pkts(ca, sk, gain_q8);
	else if (!next && gain_q8 < BBR_ONE_Q8)
		next = bbr_inflight_at_departure_pkts(ca, p, sk, sample->prior_in_flight) <=
		       bbr_inflight_pkts(ca, sk, BBR_ONE_Q8);
	if (next)
		bbr_next_phase(ca, tcp_sk(sk));
}

CC_INLINE void bbr_check_full_pipe(struct bbr_state *ca, const struct bbr_params *p, bool app_limited)
{
	if (ca->full_bw_reached || !ca->round_began || app_limited)
		return;
	if (ca->best.bw_q24 >= (u64)ca->full_bw_q24 * p->full_bw_growth_q8 >> 8) {
		ca->full_bw_q24 = ca->best.bw_q24;
		ca->full_bw_rounds = 0;
		return;
	}
	ca->full_bw_rounds++;
	ca->full_bw_reached = ca->full_bw_rounds >= p->full_bw_rounds;
}

CC_INLINE void bbr_check_drain(struct bbr_state *ca, const struct bbr_params *p, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (ca->mode == BBR_STARTUP && ca->full_bw_reached) {
		ca->mode = BBR_DRAIN;
		tp->snd_ssthresh = cc_ssthresh_of_path(bbr_inflight_pkts(ca, sk, BBR_ONE_Q8));
	}
	if (ca->mode == BBR_DRAIN && bbr_inflight_at_departure_pkts(ca, p, sk, tcp_packets_in_flight(tp)) <=
					     bbr_inflight_pkts(ca, sk, BBR_ONE_Q8))
		bbr_start_probe_bw(ca, sk);
}

CC_INLINE void bbr_check_probe_rtt_done(struct bbr_state *ca, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!ca->probe_rtt_done_us || !after(bbr_now_us(sk), ca->probe_rtt_done_us))
		return;
	ca->min_rtt_stamp_us = bbr_now_us(sk);
	cc_set_cwnd(tp, cc_max(tp->snd_cwnd, ca->prior_cwnd_pkts));
	if (ca->full_bw_reached)
		bbr_start_probe_bw(ca, sk);
	else
		ca->mode = BBR_STARTUP;
}

/* 200 ms and one round, both from when there are few enough packets in flight */
CC_INLINE void bbr_probe_rtt(struct bbr_state *ca, const struct bbr_params *p, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 inflight_pkts = tcp_packets_in_flight(tp);

	if (ca->probe_rtt_done_us) {
		if (ca->round_began)
			ca->probe_rtt_round_done = true;
		if (ca->probe_rtt_round_done)
			bbr_check_probe_rtt_done(ca, sk);
	} else if (inflight_pkts <= p->min_cwnd_pkts) {
		ca->probe_rtt_done_us = cc_max(cc_plus(bbr_now_us(sk), p->probe_rtt_ms * 1000), 1);
		ca->probe_rtt_round_done = false;
		ca->next_round_delivered = tp->delivered;
	}
}

/* True: this ACK is of PROBE_RTT. */
CC_INLINE bool bbr_update_min_rtt(struct bbr_state *ca, const struct bbr_params *p, struct sock *sk,
				  const struct rate_sample *sample)
{
	bool probes;
	bool expired = (u64)cc_since_us(sk, ca->min_rtt_stamp_us) > p->min_rtt_window_s * 1000000ULL;

	if (sample->rtt_us >= 0) {
		u32 rtt_us = cc_clamp(sample->rtt_us, 1, 1U << 30);

		if (rtt_us < ca->min_rtt_us || (expired && !sample->is_ack_delayed)) {
			ca->min_rtt_us = rtt_us;
			ca->min_rtt_stamp_us = bbr_now_us(sk);
		}
	}
	if (expired && p->probe_rtt_ms && !ca->idle_restart && ca->mode != BBR_PROBE_RTT) {
		ca->mode = BBR_PROBE_RTT;
		bbr_save_cwnd(ca, tcp_sk(sk));
		ca->probe_rtt_done_us = 0;
	}
	probes = ca->mode == BBR_PROBE_RTT;
	if (probes)
		bbr_probe_rtt(ca, p, sk);
	if (sample->delivered > 0)
		ca->idle_restart = false;
	return probes;
}

CC_INLINE u64 bbr_conserved_pkts(const struct tcp_sock *tp, const struct rate_sample *sample)
{
	return (u64)tcp_packets_in_flight(tp) + sample->acked_sacked;
}

/*
 * Recovery begins with a packet sent for each one delivered, for a round, and ends with the window before it. True: the
 * window is that of conservation.
 */
CC_INLINE bool bbr_recovers(struct bbr_state *ca, const struct sock *sk, const struct rate_sample *sample, u64 *cwnd)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u8 state = CC_BITFIELD(inet_csk(sk), icsk_ca_state);

	*cwnd = tp->snd_cwnd;
	if (sample->losses > 0)
		*cwnd = cc_max(cc_beyond(*cwnd, (u32)sample->losses), 1);
	if (state != ca->prior_ca_state) {
		if (state == TCP_CA_Recovery) {
			ca->conserves = true;
			ca->next_round_delivered = tp->delivered;
			*cwnd = bbr_conserved_pkts(tp, sample);
		} else if (state < TCP_CA_Recovery && ca->prior_ca_state >= TCP_CA_Recovery) {
			*cwnd = cc_max(*cwnd, ca->prior_cwnd_pkts);
			ca->conserves = false;
		}
		ca->prior_ca_state = state;
	}
	if (ca->conserves)
		*cwnd = cc_max(*cwnd, bbr_conserved_pkts(tp, sample));
	return ca->conserves;
}

CC_INLINE u64 bbr_next_cwnd_pkts(struct bbr_state *ca, const struct bbr_params *p, const struct sock *sk,
				 const struct rate_sample *sample, u32 bw_q24)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 target, cwnd;

	if (!sample->acked_sacked)
		return tp->snd_cwnd;
	if (bbr_recovers(ca, sk, sample, &cwnd))
		return cwnd;
	target = bbr_bdp_pkts(ca, bw_q24, bbr_cwnd_gain_q8(ca, p)) + bbr_burst_window_pkts(ca, p, bw_q24);
	target = bbr_room_for_bursts_pkts(ca, sk, target);
	if (ca->full_bw_reached)
		cwnd = cc_min(cwnd + sample->acked_sacked, target);
	else if (cwnd < target || tp->delivered < TCP_INIT_CWND)
		cwnd += sample->acked_sacked;
	return cc_max(cwnd, p->min_cwnd_pkts);
}

CC_CONG_CONTROL(bbr_cong_control, sk, sample)
{
	const struct bbr_params *p = bbr_params();
	struct bbr_state *ca = CC_STATE(bbr, sk);
	struct tcp_sock *tp = tcp_sk(sk);
	bool limited = CC_MAY_WRITE_APP_LIMITED ? sample->is_app_limited : bbr_is_limited(ca, sample);
	u32 bw_q24;

	ca->round_began = false;
	if (bbr_is_sample(sample)) {
		bbr_update_bw(ca, p, sk, sample, limited);
		bbr_update_bursts(ca, p, tp, sample->acked_sacked, bbr_bw_q24(ca));
	}
	bw_q24 = bbr_bw_q24(ca);
	if (ca->mode == BBR_PROBE_BW)
		bbr_update_cycle(ca, p, sk, sample);
	bbr_check_full_pipe(ca, p, limited);
	bbr_check_drain(ca, p, sk);
	if (bbr_update_min_rtt(ca, p, sk, sample)) {
		u32 limited_delivered = cc_max(cc_plus(tp->delivered, tcp_packets_in_flight(tp)), 1);

		if (CC_MAY_WRITE_APP_LIMITED)
			tp->app_limited = limited_delivered;
		else
			ca->limited_delivered = limited_delivered;
	}
	bbr_set_pace(ca);
	bbr_set_pacing_rate(ca, p, sk, bw_q24, bbr_pacing_gain_q8(ca, p));
	cc_set_cwnd(tp, bbr_next_cwnd_pkts(ca, p, sk, sample, bw_q24));
	if (ca->mode == BBR_PROBE_RTT)
		cc_set_cwnd(tp, cc_min(tp->snd_cwnd, p->min_cwnd_pkts));
}

void CC_HOOK(bbr_init, struct sock *sk)
{
	struct bbr_state *ca = CC_NEW_STATE(bbr, sk);
	struct tcp_sock *tp = tcp_sk(sk);

	tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	ca->min_rtt_us = tp->rtt_min.s[0].v;
	ca->min_rtt_stamp_us = ca->epoch_start_us = bbr_now_us(sk);
	ca->next_round_delivered = tp->delivered;
	bbr_forget_policer(ca, tp);
	bbr_init_pacing_rate(ca, bbr_params(), sk);
	if (sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
}

/* Sending again with nothing in flight: at the bandwidth, not beyond. Idle time is no reason for PROBE_RTT. */
CC_INLINE void bbr_restart(struct sock *sk)
{
	struct bbr_state *ca = CC_STATE(bbr, sk);

	if (!tcp_sk(sk)->app_limited)
		return;
	ca->idle_restart = true;
	ca->epoch_start_us = bbr_now_us(sk);
	ca->epoch_acked_pkts = 0;
	if (ca->mode == BBR_PROBE_BW)
		bbr_set_pacing_rate(ca, bbr_params(), sk, bbr_bw_q24(ca), BBR_ONE_Q8);
	else if (ca->mode == BBR_PROBE_RTT)
		bbr_check_probe_rtt_done(ca, sk);
}
CC_DEFINE_TX_START(bbr, bbr_restart)

void CC_HOOK(bbr_set_state, struct sock *sk, u8 new_state)
{
	struct bbr_state *ca = CC_STATE(bbr, sk);

	if (new_state != TCP_CA_Loss)
		return;
	ca->prior_ca_state = TCP_CA_Loss;
	ca->full_bw_q24 = 0;
	ca->round_began = true; /* whatever was in flight is lost: the round is over */
	bbr_watch_policer(ca, bbr_params(), sk, true, false);
}

/* No decrease: the model sets the window. The core only needs to know where it was. */
u32 CC_HOOK(bbr_ssthresh, struct sock *sk)
{
	bbr_save_cwnd(CC_STATE(bbr, sk), tcp_sk(sk));
	return cc_ssthresh_floor(tcp_sk(sk)->snd_ssthresh);
}

/* The losses were none: look for a full pipe anew, and for no policer. */
u32 CC_HOOK(bbr_undo_cwnd, struct sock *sk)
{
	struct bbr_state *ca = CC_STATE(bbr, sk);

	ca->full_bw_q24 = 0;
	ca->full_bw_rounds = 0;
	bbr_forget_policer(ca, tcp_sk(sk));
	return cc_restored_cwnd_pkts(tcp_sk(sk));
}

/* Three windows of data: one in flight, one in recovery, one to go on with */
u32 CC_HOOK(bbr_sndbuf_expand, struct sock *sk)
{
	return 3;
}

CC_ALGORITHM(bbr,
	.init = CC_FN(bbr_init),
	.cong_control = CC_FN(bbr_cong_control),
	.pkts_acked = CC_NO_HOOK, /* cong_control is called for each ACK */
	.set_state = CC_FN(bbr_set_state),
	CC_TX_START_HOOKS(bbr),
	.ssthresh = CC_FN(bbr_ssthresh),
	.undo_cwnd = CC_FN(bbr_undo_cwnd),
	.min_tso_segs = CC_FN(bbr_min_tso_segs),
	.sndbuf_expand = CC_FN(bbr_sndbuf_expand),
);
