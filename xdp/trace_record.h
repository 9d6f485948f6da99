/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What trace.bpf.c and crates/telemetry tell each other; the Rust types are made of this header. */
#ifndef CCCTL_TRACE_RECORD_H
#define CCCTL_TRACE_RECORD_H

#include "socket_stats.h"

/* A chosen socket sets bit (cookie % TRACE_HINT_BITS) of word (cookie / TRACE_HINT_BITS % TRACE_HINTS). */
#define TRACE_HINT_BITS 64
#define TRACE_HINTS 1024

/* What happened; the values of the record are those of this moment. */
enum trace_kind {
	TRACE_ACK, /* a segment arrived, and TCP has not looked at it yet: the values are those that it meets */
	TRACE_RETRANSMIT, /* a segment was sent again; total_retrans has counted it already */
	TRACE_RECOVERY, /* loss recovery goes to the state in stats.icsk_ca_state; the values are those before */
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
	char algorithm[TCP_CA_NAME_MAX];
	struct socket_stats stats;
	unsigned int map_id; /* struct_ops map of the program in use; 0: not a BPF algorithm */
	unsigned int kind; /* enum trace_kind */
};

#endif
