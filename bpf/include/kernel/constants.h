/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Constants of the kernel's TCP, with its names and values. Rust has them from here (ccctl_catalog::kernel), and records
 * that C and Rust share include this file, so it defines no types.
 */
#ifndef CCCTL_KERNEL_CONSTANTS_H
#define CCCTL_KERNEL_CONSTANTS_H

#define ICSK_CA_PRIV_SIZE 104 /* bytes that a socket keeps for its algorithm */
#define TCP_CA_NAME_MAX 16 /* bytes of an algorithm's name, with the closing zero */
#define TASK_COMM_LEN 16 /* bytes of a process's name, with the closing zero */

#define TCP_INIT_CWND 10
#define TCP_INFINITE_SSTHRESH 0x7fffffff /* no threshold is set yet */
#define TCP_CONG_NON_RESTRICTED 0x1 /* every user may choose it, and every network namespace may default to it */
#define TCP_CONG_NEEDS_ECN 0x2 /* the core negotiates ECN and sends with ECT */
#define TCP_CONG_NEEDS_ACCECN 0x4 /* and Accurate ECN, whatever tcp_ecn is; refused before 7.0, and early 6.18.y */
#define TCP_CONG_ECT_1_NEGOTIATION 0x8 /* and sends the SYN and its answer with ECT(1); likewise */
#define CC_ECT_1_ESTABLISHED 0x80000000U /* and all after them: the simulator's own, which kernels refuse */

#define TCP_ECN_OK 1 /* both sides agreed to RFC 3168 */
#define TCP_ECN_DEMAND_CWR 4 /* our ACKs carry ECE */
#define TCP_ECN_MODE_ACCECN 16 /* or to RFC 9768, whose ACKs count the marks: tcp_ecn = 3 of newer kernels */

#define AF_INET 2
#define SOL_TCP 6
#define TCP_CONGESTION 13
#define TCP_NOTSENT_LOWAT 25
#define TCP_BPF_IW 1001 /* of BPF programs alone, as the next two */
#define TCP_BPF_DELACK_MAX 1003
#define TCP_BPF_RTO_MIN 1004
#define SOL_SOCKET 1
#define SO_MAX_PACING_RATE 47
#define ENOENT 2
#define E2BIG 7
#define EAGAIN 11

/* Of a connection. A closed socket, one in TIME_WAIT and one in SYN_RECV have no congestion control. */
enum tcp_state {
	TCP_ESTABLISHED = 1,
	TCP_SYN_SENT = 2,
	TCP_SYN_RECV = 3,
	TCP_CLOSE = 7,
	TCP_LISTEN = 10,
};

/* Of loss recovery */
enum tcp_ca_state { TCP_CA_Open, TCP_CA_Disorder, TCP_CA_CWR, TCP_CA_Recovery, TCP_CA_Loss };

/* What limits a sender that has data: the network, the room at the peer, its own buffer */
#define TCP_CHRONO_BUSY 1
#define TCP_CHRONO_RWND_LIMITED 2
#define TCP_CHRONO_SNDBUF_LIMITED 3

enum tcp_ca_event {
	CA_EVENT_TX_START, /* first send with nothing in flight; has a hook of its own since 7.1 */
	CA_EVENT_CWND_RESTART,
	CA_EVENT_COMPLETE_CWR,
	CA_EVENT_LOSS,
	CA_EVENT_ECN_NO_CE,
	CA_EVENT_ECN_IS_CE,
};

enum sk_pacing { SK_PACING_NONE, SK_PACING_NEEDED, SK_PACING_FQ };

enum inet_csk_ack_state_t { ICSK_ACK_TIMER = 2, ICSK_ACK_NOW = 16 }; /* an ACK waits for its timer; send one at once */

#endif
