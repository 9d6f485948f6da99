/* SPDX-License-Identifier: GPL-2.0-only */
/* What trace.bpf.c and crates/telemetry tell each other; the Rust types are made of this header. */
#ifndef CCCTL_TRACE_RECORD_H
#define CCCTL_TRACE_RECORD_H

#define TRACE_NAME_BYTES 16 /* TCP_CA_NAME_MAX, with the closing zero */
#define TRACE_STATE_BYTES 104 /* ICSK_CA_PRIV_SIZE */

/* What happened; the values of the record are those of this moment. */
enum trace_kind {
	TRACE_ACK, /* a segment arrived, and TCP has not looked at it yet: the values are those that it meets */
	TRACE_RETRANSMIT, /* a segment was sent again; retransmits_pkts has counted it already */
	TRACE_RECOVERY, /* loss recovery goes to the state in `recovery`; the values are those before */
	TRACE_TIMEOUT, /* the same, to TCP_CA_Loss: the retransmission timer has fired */
	TRACE_CLOSED, /* the connection is over */
};

/* Written before the programs are loaded. */
struct trace_settings {
	unsigned int port; /* only connections with this port at either end count as opened; 0: all */
};

struct trace_record {
	unsigned long long time_ns; /* CLOCK_MONOTONIC */
	unsigned long long cookie;
	unsigned long long pacing_rate_bytes_per_s; /* ~0: no limit */
	unsigned long long acked_bytes; /* since the connection began */
	unsigned char algorithm_state[TRACE_STATE_BYTES]; /* icsk_ca_priv */
	char algorithm[TRACE_NAME_BYTES];
	unsigned int map_id; /* struct_ops map of the program in use; 0: not a BPF algorithm */
	unsigned int cwnd_pkts;
	unsigned int ssthresh_pkts; /* 0x7fffffff: none yet */
	unsigned int srtt_us_q3;
	unsigned int mdev_us_q2; /* RTTVAR of RFC 6298 */
	unsigned int min_rtt_us; /* ~0: no sample */
	unsigned int mss_bytes;
	unsigned int rate_delivered_pkts; /* over the next */
	unsigned int rate_interval_us;
	unsigned int packets_out; /* sent and not acknowledged */
	unsigned int in_flight_bytes; /* the same */
	unsigned int retransmits_out_pkts; /* in flight now */
	unsigned int retransmits_pkts; /* since the connection began */
	unsigned int delivered_pkts;
	unsigned int lost_pkts;
	unsigned int snd_una; /* first byte not acknowledged: a sequence number */
	unsigned char kind; /* enum trace_kind */
	unsigned char recovery; /* enum tcp_ca_state */
	unsigned char rto_backoffs; /* doublings of the retransmission timeout in a row */
	unsigned char is_rate_app_limited;
	unsigned char unused[4];
};

#endif
