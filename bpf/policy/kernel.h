/* SPDX-License-Identifier: GPL-2.0-only */
/* Kernel types that both the socket iterators and the rules read, and no algorithm may: beside the fence
 * (bpf/include/tcp.h), CO-RE relocatable like it. */
#ifndef CCCTL_POLICY_KERNEL_H
#define CCCTL_POLICY_KERNEL_H

#include "../include/tcp.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#define SOL_TCP 6
#define TCP_CONGESTION 13
#define AF_INET 2
#define TCP_LISTEN 10
#define CA_NAME_BYTES 16

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_LPM_TRIE = 11,
	BPF_MAP_TYPE_SK_STORAGE = 24,
	BPF_MAP_TYPE_STRUCT_OPS = 26,
};

enum { BPF_ANY = 0, BPF_F_NO_PREALLOC = 1, BPF_F_CLONE = 512, BPF_SK_STORAGE_GET_F_CREATE = 1 };

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

struct cgroup;

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};

struct cgroup {
	struct cgroup_subsys_state self;
	int level;
	struct kernfs_node *kn;
	struct cgroup *ancestors[0]; /* 6.1 */
};

struct sock_cgroup_data {
	struct cgroup *cgroup; /* of cgroup v2, since 5.15 */
};

/* the same structs as in the fence, with what only policy reads */
struct tcp_congestion_ops___named {
	char name[CA_NAME_BYTES];
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
