/* SPDX-License-Identifier: GPL-2.0-only */
/* What rules alone look at in the kernel. */
#ifndef CCCTL_RULE_KERNEL_H
#define CCCTL_RULE_KERNEL_H

#include "kernel.h"

#define ENOENT 2

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

struct inet_connection_sock___ops {
	const struct tcp_congestion_ops___named *icsk_ca_ops;
};

#pragma clang attribute pop

#endif
