/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One recorded call of a hook: its arguments, and the socket before and after. The recorder writes these one after the
 * other; docs/internals/recorded-calls.md describes the file. The fields are those of bpf/include/kernel/tcp.h, all the
 * time in the kernel's own units.
 */
#ifndef CCCTL_CALL_H
#define CCCTL_CALL_H

#define CALL_EXTRA_WORDS 8

enum call_hook {
	CALL_INIT,
	CALL_RELEASE,
	CALL_SSTHRESH,
	CALL_CONG_AVOID,
	CALL_SET_STATE,
	CALL_CWND_EVENT,
	CALL_TX_START,
	CALL_IN_ACK_EVENT,
	CALL_PKTS_ACKED,
	CALL_UNDO_CWND,
	CALL_CONG_CONTROL,
	CALL_MIN_TSO_SEGS,
	CALL_HOOKS,
};

/* What extra has of cong_control's struct rate_sample, as signed numbers; init has the first alone */
enum call_extra {
	CALL_EXTRA_RTT_MIN, /* tcp_min_rtt(): us */
	CALL_EXTRA_PRIOR_DELIVERED,
	CALL_EXTRA_DELIVERED,
	CALL_EXTRA_INTERVAL_US,
	CALL_EXTRA_RTT_US,
	CALL_EXTRA_LOSSES, /* and, shifted by 32, acked_sacked */
	CALL_EXTRA_PRIOR_IN_FLIGHT,
	CALL_EXTRA_FLAGS, /* 1: is_app_limited, 2: is_ack_delayed */
};

struct call_socket {
	u64 tcp_mstamp;
	u64 tcp_clock_cache;
	u64 tcp_wstamp_ns;
	u64 delivered_mstamp;
	u64 sk_pacing_rate;
	u64 sk_max_pacing_rate;
	u64 ca_priv[ICSK_CA_PRIV_SIZE / 8];
	u32 sk_pacing_status;
	u32 sk_gso_max_size;
	u32 mss_cache;
	u32 snd_una;
	u32 snd_nxt;
	u32 snd_cwnd;
	u32 snd_cwnd_cnt;
	u32 snd_cwnd_clamp;
	u32 snd_ssthresh;
	u32 prior_cwnd;
	u32 srtt_us;
	u32 max_packets_out;
	u32 delivered;
	u32 delivered_ce;
	u32 lost;
	u32 app_limited;
	u32 packets_out;
	u32 sacked_out;
	u32 lost_out;
	u32 retrans_out;
	u32 rcv_nxt;
	u32 rcv_wup;
	u32 rcv_tsval;
	u32 rcv_tsecr;
	u8 ca_state;
	u8 is_cwnd_limited;
	u8 saw_tstamp;
	u8 tcp_usec_ts;
	u8 ecn_flags;
	u8 ack_pending;
	u8 sk_pacing_shift;
	u8 padding[1];
};

struct call {
	u64 socket; /* tells connections apart; a later one may have the number of one that ended (init comes between) */
	u64 time_ns; /* CLOCK_MONOTONIC when the hook was entered */
	u64 jiffies;
	u32 hook; /* enum call_hook */
	u32 argument; /* acked packets, new state, event or flags */
	u32 ack; /* cong_avoid's second argument */
	u32 sample_pkts; /* pkts_acked: struct ack_sample */
	s32 sample_rtt_us;
	u32 sample_in_flight;
	u32 returned; /* by ssthresh, undo_cwnd and min_tso_segs */
	u32 nested; /* hooks of this socket that were running already */
	u64 extra
		[CALL_EXTRA_WORDS]; /* memory that the private state points to, before the call; for two hooks enum call_extra */
	struct call_socket before;
	struct call_socket after;
};

#endif
