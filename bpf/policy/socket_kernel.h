/* SPDX-License-Identifier: GPL-2.0-only */
/* Kernel types that the socket iterators read and no algorithm may: beside the fence, CO-RE relocatable like it. */
#ifndef CCCTL_SOCKET_KERNEL_H
#define CCCTL_SOCKET_KERNEL_H

#include "../include/tcp.h"
#include "socket_record.h"

#define SOL_TCP 6
#define TCP_CONGESTION 13
#define AF_INET 2
#define TCP_LISTEN 10
#define BPF_SK_STORAGE_GET_F_CREATE 1

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct in6_addr {
	u8 in6_u[16];
};

struct sock_common {
	u16 skc_family;
	u8 skc_state;
	u32 skc_daddr;
	u32 skc_rcv_saddr;
	u16 skc_dport; /* network order */
	u16 skc_num; /* host order */
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
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

/* the same structs as in the fence, with what only the iterators read */
struct tcp_congestion_ops___named {
	char name[CCCTL_NAME_BYTES];
};

struct sock___cgroup {
	struct sock_cgroup_data sk_cgrp_data;
};

struct inet_connection_sock___table {
	const struct tcp_congestion_ops___named *icsk_ca_ops;
	u8 icsk_ca_state : 5;
	u8 icsk_backoff;
};

struct minmax_sample {
	u32 v;
};

struct minmax {
	struct minmax_sample s[3];
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

enum bpf_map_type { BPF_MAP_TYPE_HASH = 1, BPF_MAP_TYPE_SK_STORAGE = 24, BPF_MAP_TYPE_STRUCT_OPS = 26 };

struct bpf_map {
	enum bpf_map_type map_type;
	u32 id;
};

struct bpf_struct_ops_value {
	char data[0];
};

struct bpf_struct_ops_map {
	struct bpf_map map;
	struct bpf_struct_ops_value kvalue;
};

struct seq_file {
	unsigned long size; /* of the buffer that the reader empties */
	unsigned long count; /* bytes in it */
};

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__tcp {
	struct bpf_iter_meta *meta;
	struct sock_common *sk_common;
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

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#endif
