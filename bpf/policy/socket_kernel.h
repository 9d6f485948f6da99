/* SPDX-License-Identifier: GPL-2.0-only */
/* What the socket iterators alone read of the kernel. */
#ifndef CCCTL_SOCKET_KERNEL_H
#define CCCTL_SOCKET_KERNEL_H

#include "kernel.h"
#include "socket_record.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sock___cgroup {
	struct sock_cgroup_data sk_cgrp_data;
};

typedef struct {
	u32 val;
} kuid_t;

struct sock___user {
	kuid_t sk_uid;
};

struct user_namespace {
	int level; /* 0: the host's own */
};

struct net {
	struct user_namespace *user_ns;
};

struct inet_connection_sock___table {
	const struct tcp_congestion_ops___named *icsk_ca_ops;
	u8 icsk_ca_state : 5;
	u8 icsk_ca_setsockopt : 1; /* set by name, by the application or by BPF; or inherited from such a listener */
	u8 icsk_backoff;
};

struct tcp_sock___table {
	u32 write_seq; /* the next byte that the application will write */
	u32 segs_out;
	u32 data_segs_out;
	u32 total_retrans;
	u64 bytes_acked;
	u32 rate_delivered;
	u32 rate_interval_us;
	struct minmax rtt_min;
	u8 rate_app_limited : 1;
	u16 total_rto; /* 6.7 */
	u32 mdev_us; /* times 4 */
};

struct bpf_iter__bpf_sk_storage_map {
	struct bpf_iter_meta *meta;
	struct sock *sk;
};

struct socket {
	struct sock *sk;
};

struct file;

struct task_struct {
	u32 tgid;
	struct task_struct *group_leader;
	char comm[CCCTL_NAME_BYTES];
};

struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	struct file *file;
};

#pragma clang attribute pop

#endif
