/* SPDX-License-Identifier: GPL-2.0-only */
/* What sockets.bpf.c and the loader tell each other. This header is the only source; the loader's types are made of it. */
#ifndef CCCTL_SOCKET_RECORD_H
#define CCCTL_SOCKET_RECORD_H

#define CCCTL_NAME_BYTES 16 /* TCP_CA_NAME_MAX, with the closing zero */

/* The question: written before the program is loaded. */
struct socket_query {
	char from[CCCTL_NAME_BYTES]; /* only sockets of this algorithm; empty: all */
	char to[CCCTL_NAME_BYTES]; /* move them to this one; empty: only report */
};

/* The answer: one for each TCP socket that matches. */
struct socket_record {
	unsigned long long cookie; /* SO_COOKIE; never reused while the host runs */
	unsigned char source[16]; /* network order; IPv4 in the first four bytes */
	unsigned char destination[16];
	char algorithm[CCCTL_NAME_BYTES]; /* before the move */
	unsigned int map_id; /* struct_ops map of the program in use; 0: not a BPF algorithm */
	int error; /* of the move: 0 or a negative errno */
	unsigned short source_port; /* host order */
	unsigned short destination_port;
	unsigned short family; /* AF_INET or AF_INET6 */
	unsigned char state; /* TCP_ESTABLISHED = 1, ... TCP_LISTEN = 10 */
	unsigned char moved; /* the socket uses another program now */
};

#endif
