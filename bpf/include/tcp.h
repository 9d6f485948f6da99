/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The fence: the kernel types and fields that an algorithm may touch, and no others.
 *
 * For BPF every struct carries preserve_access_index: libbpf finds each field's offset in the BTF of the running
 * kernel, so the order and the distance of the fields here mean nothing. For a native build the same text is an
 * ordinary struct. A field that is not listed compiles in neither world.
 *
 * Fields are named as in the kernel (include/linux/tcp.h, include/net/inet_connection_sock.h, include/net/tcp.h).
 * W = a struct_ops program may write it on every kernel since 6.1; (W) = since 6.12; all others are read-only.
 */
#ifndef CCCTL_TCP_H
#define CCCTL_TCP_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s16 s16;
typedef __s32 s32;
typedef __s64 s64;
typedef _Bool bool;

#define true 1
#define false 0

#define CC_STATE_BYTES 104 /* ICSK_CA_PRIV_SIZE: what a socket keeps for its algorithm */

#ifdef __bpf__
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
#endif

struct sock {
	unsigned long sk_pacing_rate; /* W: bytes per second, ~0 = no limit */
	unsigned long sk_max_pacing_rate; /* bytes per second, the socket's own limit */
	u32 sk_pacing_status; /* W: enum sk_pacing */
	u32 sk_gso_max_size; /* bytes: what the device takes at once */
	u8 sk_pacing_shift; /* a burst is at most the rate times 2^-shift seconds */
};

struct inet_connection_sock {
	struct sock sk; /* not a field of the kernel's struct: only here to place it at offset 0 natively */
	u8 icsk_ca_state : 5; /* enum tcp_ca_state */
	struct {
		u8 pending; /* W: enum inet_csk_ack_state_t, of the receiver's ACKs */
	} icsk_ack;
	u64 icsk_ca_priv[CC_STATE_BYTES / 8]; /* W */
};

struct tcp_options_received {
	u32 rcv_tsval; /* time stamp of the peer, in its own ticks */
	u32 rcv_tsecr; /* our time stamp that the peer echoes: ms, or us where tcp_usec_ts is set */
	u16 saw_tstamp : 1; /* the last segment had time stamps */
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
#ifndef __bpf__
	u64 random_state; /* CC_RANDOM_U32 in the native world: a generator for each flow */
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

/* enum members keep their kernel values; those are ABI of the congestion control interface */
enum tcp_ca_state { TCP_CA_Open, TCP_CA_Disorder, TCP_CA_CWR, TCP_CA_Recovery, TCP_CA_Loss };
enum tcp_ca_event {
	CA_EVENT_TX_START, /* first send with nothing in flight; has a hook of its own since 7.1 */
	CA_EVENT_CWND_RESTART,
	CA_EVENT_COMPLETE_CWR,
	CA_EVENT_LOSS,
	CA_EVENT_ECN_NO_CE,
	CA_EVENT_ECN_IS_CE,
};

#define CC_NO_HOOK ((void *)0)

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
	u32 flags;
	char name[16];
};

#ifdef __bpf__
#pragma clang attribute pop
#endif

enum sk_pacing { SK_PACING_NONE, SK_PACING_NEEDED, SK_PACING_FQ };

enum inet_csk_ack_state { ICSK_ACK_TIMER = 2, ICSK_ACK_NOW = 16 }; /* an ACK waits for its timer; send one at once */

#define TCP_ECN_OK 1 /* both sides agreed to RFC 3168 */
#define TCP_ECN_DEMAND_CWR 4 /* our ACKs carry ECE */
#define TCP_ECN_MODE_ACCECN 16 /* or to RFC 9768, whose ACKs count the marks: tcp_ecn = 3 of newer kernels */

#define TCP_INIT_CWND 10
#define TCP_INFINITE_SSTHRESH 0x7fffffff
#define TCP_CONG_NEEDS_ECN 0x2 /* the core negotiates ECN and sends with ECT */
#define TCP_CONG_NON_RESTRICTED 0x1 /* every user may choose it, and every network namespace may default to it */

static inline struct inet_connection_sock *inet_csk(const struct sock *sk)
{
	return (struct inet_connection_sock *)sk;
}

static inline struct tcp_sock *tcp_sk(const struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

/* tcp_packets_in_flight */
static inline __attribute__((always_inline)) u32 tcp_in_flight_pkts(const struct tcp_sock *tp)
{
	return tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
}

#endif
