/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's types and fields that rules look at; see bpf/include/tcp.h for how they are found. */
#ifndef CCCTL_RULE_KERNEL_H
#define CCCTL_RULE_KERNEL_H

#include "../include/tcp.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#define SOL_TCP 6
#define TCP_CONGESTION 13
#define AF_INET 2
#define TCP_LISTEN 10
#define ENOENT 2

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_LPM_TRIE = 11,
	BPF_MAP_TYPE_SK_STORAGE = 24,
	BPF_MAP_TYPE_STRUCT_OPS = 26,
};

enum { BPF_ANY = 0, BPF_F_NO_PREALLOC = 1, BPF_F_CLONE = 512, BPF_SK_STORAGE_GET_F_CREATE = 1 };

enum {
	BPF_SOCK_OPS_TCP_CONNECT_CB = 3,
	BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB = 5,
	BPF_SOCK_OPS_TCP_LISTEN_CB = 11,
};

/* The context of a sockops program: part of the kernel's ABI, so its layout is fixed. */
struct bpf_sock_ops {
	u32 op;
	u32 unused[45];
	struct bpf_sock *sk;
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct in6_addr {
	u8 in6_u[16];
};

struct net;

typedef struct {
	struct net *net;
} possible_net_t;

struct sock_common {
	u16 skc_family;
	u8 skc_state;
	u32 skc_daddr;
	u32 skc_rcv_saddr;
	u16 skc_dport; /* network order */
	u16 skc_num; /* host order */
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
};

struct kernfs_node {
	u64 id;
	const char *name;
};

struct cgroup {
	int level;
	struct kernfs_node *kn;
	struct cgroup *ancestors[0]; /* 6.1 */
};

struct sock_cgroup_data {
	struct cgroup *cgroup;
};

struct socket;

struct sock___policy {
	struct sock_cgroup_data sk_cgrp_data;
	struct socket *sk_socket;
};

struct inode {
	unsigned long i_ino;
};

struct socket_alloc {
	struct inode vfs_inode; /* after the socket, which is its first member */
};

/* the same structs as in the fence, with what only rules read */
struct tcp_congestion_ops___named {
	char name[16];
};

struct inet_connection_sock___ops {
	const struct tcp_congestion_ops___named *icsk_ca_ops;
};

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

#pragma clang attribute pop

#endif
