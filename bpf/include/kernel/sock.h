/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * struct sock, and what lies around it: network namespace, cgroup, file. As in include/net/sock.h of the kernel, with the
 * members that programs here use and no others.
 *
 * W = a struct_ops program may write it on every kernel since 6.1; all others are read-only.
 * Members under __bpf__ are read by programs that watch: the simulator does not keep them, so that an algorithm which uses
 * one does not compile natively.
 */
#ifndef CCCTL_KERNEL_SOCK_H
#define CCCTL_KERNEL_SOCK_H

#include "constants.h"
#include "types.h"

CORE_STRUCTS_BEGIN

#ifdef __bpf__
struct ns_common {
	unsigned int inum;
};

struct user_namespace {
	int level; /* 0: the host's own */
};

struct net {
	struct user_namespace *user_ns;
	struct ns_common ns;
};

typedef struct {
	struct net *net;
} possible_net_t;

typedef struct {
	u32 val;
} kuid_t;

struct in6_addr {
	u8 in6_u[16];
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

struct inode {
	unsigned long i_ino;
};

struct socket {
	struct sock *sk;
};

struct socket_alloc {
	struct inode vfs_inode; /* after the socket, which is its first member */
};
#endif

typedef struct {
	s64 counter;
} atomic64_t;

struct sock_common {
	u8 skc_state; /* enum tcp_state; the simulator has 0 */
	atomic64_t skc_cookie; /* 0: nobody has asked for it yet */
#ifdef __bpf__
	u16 skc_family;
	u32 skc_daddr;
	u32 skc_rcv_saddr;
	u16 skc_dport; /* network order */
	u16 skc_num; /* local port, host order */
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
#endif
};

struct sock {
	struct sock_common __sk_common;
#ifdef __bpf__
	struct sock_cgroup_data sk_cgrp_data;
	struct socket *sk_socket;
	kuid_t sk_uid;
	void *sk_bpf_storage; /* NULL: no program has stored anything of this socket */
	u32 sk_mark; /* SO_MARK */
	u32 sk_priority; /* SO_PRIORITY */
	int sk_wmem_queued; /* bytes: what is to be sent, and what is sent and not acknowledged */
#endif
	unsigned long sk_pacing_rate; /* W: bytes per second, ~0 = no limit */
	unsigned long sk_max_pacing_rate; /* bytes per second, the socket's own limit */
	u32 sk_pacing_status; /* W: enum sk_pacing */
	u32 sk_gso_max_size; /* bytes: what the device takes at once */
	u8 sk_pacing_shift; /* a burst is at most the rate times 2^-shift seconds */
};

CORE_STRUCTS_END

#endif
