/* SPDX-License-Identifier: GPL-2.0-only */
/* What the metrics read of the kernel beside the ACK clock's fields; CO-RE relocatable like them. */
#ifndef CCCTL_METRICS_KERNEL_H
#define CCCTL_METRICS_KERNEL_H

#include "kernel.h"

#define TCP_ESTABLISHED 1
#define TCP_SYN_SENT 2
#define TCP_SYN_RECV 3
#define TCP_CLOSE 7
#define TCP_LISTEN 10

/* include/net/tcp.h: enum tcp_ca_state */
#define TCP_CA_CWR 2
#define TCP_CA_Recovery 3
#define TCP_CA_Loss 4

#define BPF_F_NO_PREALLOC 1
#define BPF_SK_STORAGE_GET_F_CREATE 1

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sock_common___metrics {
	u8 skc_state;
};

struct kernfs_node {
	u64 id;
};

struct cgroup;

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
};

struct sock_cgroup_data {
	struct cgroup *cgroup; /* of cgroup v2, since 5.15 */
};

struct sock___metrics {
	struct sock_cgroup_data sk_cgrp_data;
};

struct inet_connection_sock___metrics {
	const struct tcp_congestion_ops *icsk_ca_ops;
	u8 icsk_ca_state : 5;
};

struct tcp_sock___metrics {
	u16 tcp_header_len; /* of a segment without anything unusual, in bytes */
	u32 packets_out;
	u32 snd_cwnd; /* packets */
	u32 mss_cache;
	u32 srtt_us; /* times 8 */
	u32 rate_delivered;
	u32 rate_interval_us;
	u32 total_retrans;
	u32 delivered_ce;
	u64 bytes_acked;
	u64 bytes_retrans;
};

struct bpf_iter__tcp {
	struct sock_common *sk_common;
};

#pragma clang attribute pop

#endif
