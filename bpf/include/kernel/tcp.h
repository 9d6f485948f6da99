/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel's TCP as far as programs here use it: the socket, and the interface of congestion control. Named as in
 * include/linux/tcp.h, include/net/inet_connection_sock.h and include/net/tcp.h. A member that is not listed compiles
 * neither for BPF nor natively.
 *
 * W = a struct_ops program may write it on every kernel since 6.1; (W) = since 6.12; all others are read-only.
 * Members under __bpf__ are read by programs that watch: the simulator does not keep them, so that an algorithm which uses
 * one does not compile natively.
 */
#ifndef CCCTL_KERNEL_TCP_H
#define CCCTL_KERNEL_TCP_H

#include "../limits.h"
#include "sock.h"

CORE_STRUCTS_BEGIN

struct tcp_congestion_ops;

struct inet_connection_sock {
	struct sock sk; /* not a field of the kernel's struct: only here to place it at offset 0 natively */
#ifdef __bpf__
	const struct tcp_congestion_ops *icsk_ca_ops;
	u8 icsk_backoff; /* doublings of the retransmission timeout in a row */
	u32 icsk_rto_min; /* jiffies */
	u32 icsk_delack_max; /* jiffies: the longest that an ACK is delayed */
#endif
	u8 icsk_ca_state : 5; /* enum tcp_ca_state */
#ifdef __bpf__
	u8 icsk_ca_dst_locked : 1; /* its route names the algorithm, and nothing else may */
	u8 icsk_ca_setsockopt : 1; /* set by name, by the application or by BPF; or inherited from such a listener */
	u8 icsk_ca_initialized : 1; /* init was called, or would have been */
#endif
	struct {
		u8 pending; /* W: enum inet_csk_ack_state_t, of the receiver's ACKs */
	} icsk_ack;
	u64 icsk_ca_priv[ICSK_CA_PRIV_SIZE / 8]; /* W */
};

struct tcp_options_received {
	u32 rcv_tsval; /* time stamp of the peer, in its own ticks */
	u32 rcv_tsecr; /* our time stamp that the peer echoes: ms, or us where tcp_usec_ts is set */
	u16 saw_tstamp : 1; /* the last segment had time stamps */
#ifdef __bpf__
	u16 snd_wscale : 4;
#endif
};

struct minmax_sample {
	u32 t; /* when, in the core's ticks */
	u32 v;
};

struct minmax {
	struct minmax_sample s[3]; /* the best, and those that follow it when it is too old */
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u64 tcp_mstamp; /* us, refreshed at each ACK received and each send */
	u64 tcp_clock_cache; /* ns, the clock that tcp_mstamp was taken from */
	u64 tcp_wstamp_ns; /* departure time of the next packet, later than the clock where pacing holds it back */
	u64 delivered_mstamp; /* us, when `delivered` was last raised */
	struct tcp_options_received rx_opt;
	u32 mss_cache; /* bytes */
	u32 snd_una; /* first byte not acknowledged; already advanced when pkts_acked is called */
	u32 snd_nxt; /* next byte to be sent */
	u32 snd_cwnd; /* W: packets */
	u32 snd_cwnd_cnt; /* W: additive-increase credit, packets; the core zeroes it on each reduction */
	u32 snd_cwnd_clamp; /* packets */
	u32 snd_ssthresh; /* W: packets */
	u32 prior_cwnd; /* packets, at the start of the last reduction */
	u32 srtt_us; /* smoothed RTT in us, times 8 */
	struct minmax rtt_min; /* us, the smallest of 5 minutes, that of the SYN among them; ~0: none yet */
	u32 max_packets_out; /* most packets in flight in the last window */
	u32 delivered; /* packets delivered since the connection began */
	u32 delivered_ce; /* of those, with a congestion mark */
	u32 lost; /* packets ever marked lost */
	u32 app_limited; /* (W) not 0: the application has nothing to send; the value of `delivered` at which that is over */
	u32 packets_out; /* sent and not acknowledged */
	u32 sacked_out; /* of those, selectively acknowledged */
	u32 lost_out; /* of those, marked lost */
	u32 retrans_out; /* retransmissions in flight */
	u32 rcv_nxt; /* the next byte expected from the peer */
	u32 rcv_wup; /* rcv_nxt when the last ACK was sent */
	u8 ecn_flags; /* W: TCP_ECN_* */
	u8 tcp_usec_ts : 1; /* 6.7 */
	u32 is_cwnd_limited : 1; /* the last window was filled */
#ifdef __bpf__
	u16 tcp_header_len; /* bytes of a segment's header without anything unusual */
	u16 total_rto; /* retransmission timeouts; 6.7 */
	u8 rate_app_limited : 1; /* the application held the last rate sample back */
	u8 chrono_type : 2; /* what limits the sender now: TCP_CHRONO_... */
	u32 chrono_start; /* since when, in jiffies */
	u32 chrono_stat[3]; /* jiffies in which the network, the peer's window and the send buffer have limited it */
	u32 snd_wnd; /* bytes that the peer has room for */
	u32 write_seq; /* the next byte that the application will write */
	u32 notsent_lowat; /* bytes not sent yet from which on the socket takes no more; 0: the namespace's */
	u32 mdev_us; /* RTTVAR of RFC 6298 in us, times 4 */
	u32 rate_delivered; /* last rate sample: packets delivered over rate_interval_us */
	u32 rate_interval_us;
	u32 segs_out;
	u32 data_segs_out; /* of those, with data */
	u32 total_retrans;
	u64 bytes_acked;
	u64 bytes_retrans;
#else
	u64 random_state; /* CC_RANDOM_U32 natively: a generator for each flow */
	bool changes_to_reno; /* CC_CHANGE_TO natively */
	u64 store[CC_STORE_BYTES / 8]; /* CC_STORE natively: socket storage */
#endif
};

struct ack_sample {
	u32 pkts_acked; /* packets newly acknowledged */
	s32 rtt_us; /* < 0: no sample (retransmitted data) */
	u32 in_flight; /* bytes: mss_cache times the packets delivered since the newest acknowledged one was sent */
};

struct rate_sample {
	u32 prior_delivered; /* `delivered` when the newest acknowledged packet was sent; 0 in prior_mstamp: no sample */
	u64 prior_mstamp;
	s32 delivered; /* packets delivered over the interval; < 0: no sample */
	s64 interval_us; /* < 0: no sample */
	s64 rtt_us; /* of the newest packet acknowledged; < 0: none */
	s32 losses; /* packets marked lost at this ACK */
	u32 acked_sacked; /* packets newly delivered at this ACK */
	u32 prior_in_flight; /* packets, before this ACK */
	bool is_app_limited; /* the application had nothing to send in part of the interval */
	bool is_ack_delayed; /* the RTT holds a delayed ACK's waiting */
};

/* The hooks. A member that the running kernel lacks is dropped by libbpf together with its program. */
struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked_pkts);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event event);
	void (*cwnd_event_tx_start)(struct sock *sk); /* 7.1 */
	void (*in_ack_event)(struct sock *sk, u32 flags);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*min_tso_segs)(struct sock *sk);
	void (*cong_control)(struct sock *sk, u32 ack, int flag,
			     const struct rate_sample *sample); /* see CC_CONG_CONTROL */
	u32 (*undo_cwnd)(struct sock *sk);
	u32 (*sndbuf_expand)(struct sock *sk);
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
	u32 key; /* hash of the name, filled by the kernel; no two registered algorithms share one */
	u32 flags; /* TCP_CONG_* */
	char name[TCP_CA_NAME_MAX];
};

CORE_STRUCTS_END

static inline struct inet_connection_sock *inet_csk(const struct sock *sk)
{
	return (struct inet_connection_sock *)sk;
}

static inline struct tcp_sock *tcp_sk(const struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

static inline __attribute__((always_inline)) u32 tcp_packets_in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
}

#endif
