/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What sockets.bpf.c and the loader tell each other. This header is the only source; the loader's types are made of it. */
#ifndef CCCTL_SOCKET_RECORD_H
#define CCCTL_SOCKET_RECORD_H

#include "limits.h"
#include "socket_stats.h"

/* The question: written before the program is loaded. Zero or empty means any. */
struct socket_query {
	char from[TCP_CA_NAME_MAX]; /* sockets of this kernel name */
	char algorithm[CC_ALGORITHM_NAME_MAX]; /* sockets of all instances of this algorithm, and of the built-in one */
	char to[TCP_CA_NAME_MAX]; /* move them to this one; empty: only report */
	unsigned char source[16]; /* network order; IPv4 as ::ffff:a.b.c.d */
	unsigned char destination[16];
	unsigned char source_mask[16]; /* bits of the address that must be the same */
	unsigned char destination_mask[16];
	unsigned long long cookie;
	unsigned long long cgroup_id; /* the subtree of this cgroup */
	unsigned int pid; /* sockets that this process has open */
	unsigned int states; /* bit 1 << TCP_ESTABLISHED, ... */
	unsigned short port; /* of either end; ports are in host order */
	unsigned short source_port;
	unsigned short destination_port;
	unsigned char reserved[2];
};

/* The short answer: one for each TCP socket that matches. */
struct socket_record {
	unsigned long long cookie; /* SO_COOKIE; never reused while the host runs */
	unsigned char source[16]; /* network order; IPv4 as ::ffff:a.b.c.d */
	unsigned char destination[16];
	char algorithm[TCP_CA_NAME_MAX]; /* before the move */
	unsigned int map_id; /* struct_ops map of the program in use; 0: not a BPF algorithm */
	int error; /* of the move: 0 or a negative errno */
	unsigned short source_port; /* host order */
	unsigned short destination_port;
	unsigned short family; /* AF_INET or AF_INET6 */
	unsigned char state; /* enum tcp_state */
	unsigned char moved; /* the socket uses another program now */
};

/* The long answer. */
struct socket_detail {
	struct socket_record socket;
	unsigned long long cgroup_id; /* where the socket was made; 0: not known */
	struct socket_stats stats;
};

/* A followed socket, read without its lock: no addresses, no cgroup. */
struct socket_sample {
	struct socket_detail detail;
	unsigned long long time_ns; /* CLOCK_MONOTONIC */
};

/* Sums over the sockets of one program. */
struct socket_totals_key {
	char algorithm[TCP_CA_NAME_MAX];
	unsigned int map_id;
};

struct socket_totals {
	unsigned long long sockets;
	unsigned long long sending; /* with data that is not acknowledged */
	unsigned long long in_loss; /* recovering from a timeout */
	unsigned long long in_backoff; /* the timeout has come again */
	unsigned long long segments_out;
	unsigned long long retransmits_pkts;
	unsigned long long timeouts; /* since 6.7; before, 0 */
};

/* What a socket had counted when it was last looked at. */
struct socket_seen {
	unsigned int data_segments;
	unsigned int retransmits_pkts;
	unsigned short timeouts;
	unsigned short unused;
};

/* By what the sockets of one algorithm are added up, so that it is known how much comes from one place. */
enum socket_source {
	SOURCE_ALL,
	SOURCE_PEER, /* the remote IPv4 address, or the /64 that an IPv6 address is in */
	SOURCE_USER, /* who made the socket */
	SOURCE_CGROUP, /* where it was made */
};

struct socket_window_key {
	char algorithm[TCP_CA_NAME_MAX];
	unsigned char id[16]; /* of the source */
	unsigned int source; /* enum socket_source */
	unsigned int unused;
};

/* What the judged sockets of one algorithm and source did since the last look. */
struct socket_window {
	unsigned long long active; /* sent data since, or wait for an acknowledgement */
	unsigned long long impossible; /* of these: with a window that cannot be; nothing below counts them */
	unsigned long long stalled; /* wait for an acknowledgement after a timeout */
	unsigned long long data_segments;
	unsigned long long retransmits_pkts;
	unsigned long long timeouts; /* since 6.7; before, 0 */
};

/* What a socket had counted when its rates were last looked at. */
struct socket_counted {
	unsigned long long acked_bytes;
	unsigned int data_segments;
	unsigned int retransmits_pkts;
};

/* What the sockets of one program did since the last look, and how they are. */
struct socket_rates {
	unsigned long long sockets; /* all, listening ones included */
	unsigned long long acked_bytes; /* since the last look, like the next five */
	unsigned long long data_segments;
	unsigned long long retransmits_pkts;
	unsigned long long senders; /* connections with data of theirs acknowledged */
	unsigned long long acked_pkts; /* by these */
	unsigned long long acked_cwnd; /* windows of these now, each times its acked_pkts */
	unsigned long long acked_srtt_us; /* smoothed RTTs of these now, likewise */
	unsigned long long impossible; /* connections with a window or threshold that no algorithm can mean */
};

/* A process that has a TCP socket open; once for each descriptor. */
struct socket_owner {
	unsigned long long cookie;
	char comm[TASK_COMM_LEN];
	unsigned int pid;
	unsigned int unused;
};

#endif
