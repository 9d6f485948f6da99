/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the kernel knows of one TCP socket: the record that the socket iterators, traces and Rust share. Members are named as
 * in the kernel, in its units. Rust has it as ccctl_catalog::kernel::socket_stats.
 */
#ifndef CCCTL_SOCKET_STATS_H
#define CCCTL_SOCKET_STATS_H

#include "kernel/constants.h"

struct socket_stats {
	unsigned long long sk_pacing_rate; /* bytes per second; ~0: no limit */
	unsigned long long bytes_acked; /* since the connection began */
	unsigned char icsk_ca_priv[ICSK_CA_PRIV_SIZE]; /* the algorithm's own state */
	unsigned int snd_cwnd; /* packets */
	unsigned int snd_ssthresh; /* packets; TCP_INFINITE_SSTHRESH: none yet */
	unsigned int srtt_us; /* times 8; 0: no sample */
	unsigned int mdev_us; /* times 4: RTTVAR of RFC 6298 */
	unsigned int rtt_min; /* us; ~0: no sample */
	unsigned int mss_cache; /* bytes */
	unsigned int rate_delivered; /* packets over rate_interval_us */
	unsigned int rate_interval_us;
	unsigned int retrans_out; /* retransmissions in flight */
	unsigned int total_retrans; /* since the connection began, like the next four */
	unsigned int segs_out;
	unsigned int data_segs_out;
	unsigned int total_rto; /* since 6.7; before, 0 */
	unsigned int delivered; /* packets */
	unsigned int delivered_ce; /* of those, with an ECN mark, as the receiver told */
	unsigned int lost; /* packets ever marked lost */
	unsigned int packets_out; /* sent and not acknowledged */
	unsigned int snd_una; /* sequence numbers: first byte not acknowledged, next to be sent, next to be written */
	unsigned int snd_nxt;
	unsigned int write_seq;
	unsigned int chrono_stat[3]; /* jiffies in which network, peer and send buffer limited it, up to now */
	unsigned char icsk_ca_state; /* enum tcp_ca_state */
	unsigned char icsk_backoff; /* doublings of the retransmission timeout in a row */
	unsigned char rate_app_limited;
	unsigned char ecn_flags; /* TCP_ECN_OK, TCP_ECN_MODE_ACCECN: what both sides agreed to */
};

#endif
