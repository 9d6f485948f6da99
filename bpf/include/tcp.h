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
	u32 sk_pacing_status; /* W: enum sk_pacing */
};

struct inet_connection_sock {
	struct sock sk; /* not a field of the kernel's struct: only here to place it at offset 0 natively */
	u8 icsk_ca_state : 5; /* enum tcp_ca_state */
	u64 icsk_ca_priv[CC_STATE_BYTES / 8]; /* W */
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u64 tcp_mstamp; /* us, refreshed at each ACK received and each send */
	u32 snd_una; /* first byte not acknowledged; already advanced when pkts_acked is called */
	u32 snd_nxt; /* next byte to be sent */
	u32 snd_cwnd; /* W: packets */
	u32 snd_cwnd_cnt; /* W: additive-increase credit, packets; the core zeroes it on each reduction */
	u32 snd_cwnd_clamp; /* packets */
	u32 snd_ssthresh; /* W: packets */
	u32 prior_cwnd; /* packets, at the start of the last reduction */
	u32 srtt_us; /* smoothed RTT in us, times 8 */
	u32 max_packets_out; /* most packets in flight in the last window */
	u32 delivered; /* packets delivered since the connection began */
	u32 delivered_ce; /* of those, with a congestion mark */
	u32 is_cwnd_limited : 1; /* the last window was filled */
};

struct ack_sample {
	u32 pkts_acked; /* packets newly acknowledged */
	s32 rtt_us; /* < 0: no sample (retransmitted data) */
	u32 in_flight; /* packets, before this ACK */
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

/* The hooks. A member that the running kernel lacks is dropped by libbpf together with its program. */
struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked_pkts);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event event);
	void (*cwnd_event_tx_start)(struct sock *sk); /* 7.1 */
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*undo_cwnd)(struct sock *sk);
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
	u32 flags;
	char name[16];
};

#ifdef __bpf__
#pragma clang attribute pop
#endif

enum sk_pacing { SK_PACING_NONE, SK_PACING_NEEDED, SK_PACING_FQ };

#define TCP_CONG_NON_RESTRICTED 0x1 /* every user may choose it, and every network namespace may default to it */

static inline struct inet_connection_sock *inet_csk(const struct sock *sk)
{
	return (struct inet_connection_sock *)sk;
}

static inline struct tcp_sock *tcp_sk(const struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

#endif
