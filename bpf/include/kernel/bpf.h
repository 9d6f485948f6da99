/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The BPF side of the kernel (include/uapi/linux/bpf.h, include/linux/bpf.h). */
#ifndef CCCTL_KERNEL_BPF_H
#define CCCTL_KERNEL_BPF_H

#include "constants.h"
#include "types.h"

#define NULL ((void *)0)

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_tracing.h>

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_HASH = 5,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_LPM_TRIE = 11,
	BPF_MAP_TYPE_QUEUE = 22,
	BPF_MAP_TYPE_SK_STORAGE = 24,
	BPF_MAP_TYPE_STRUCT_OPS = 26,
	BPF_MAP_TYPE_RINGBUF = 27,
};

/* of bpf_map_update_elem(), of a map, of bpf_sk_storage_get(), of bpf_ringbuf_submit() */
enum { BPF_ANY = 0, BPF_NOEXIST = 1 };
enum { BPF_F_NO_PREALLOC = 1, BPF_F_CLONE = 512 };
enum { BPF_SK_STORAGE_GET_F_CREATE = 1 };
enum { BPF_RB_NO_WAKEUP = 1 };

enum xdp_action { XDP_PASS = 2 };
enum tc_action { TC_ACT_UNSPEC = -1, TC_ACT_OK = 0 }; /* UNSPEC, TCX_NEXT: the next program decides */

enum {
	BPF_SOCK_OPS_TCP_CONNECT_CB = 3,
	BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB = 4,
	BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB = 5,
	BPF_SOCK_OPS_NEEDS_ECN = 6,
	BPF_SOCK_OPS_TCP_LISTEN_CB = 11,
	BPF_SOCK_OPS_HDR_OPT_LEN_CB = 14,
};

#define BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG 64

/* Contexts of XDP, tc and sockops programs: part of the kernel's ABI, so their layout is fixed. */
struct xdp_md {
	u32 data;
	u32 data_end;
	u32 data_meta;
};

struct __sk_buff {
	u32 len;
	u32 pkt_type;
	u32 mark;
	u32 queue_mapping;
	u32 protocol;
	u32 vlan_present;
	u32 vlan_tci;
	u32 vlan_proto;
	u32 priority;
	u32 ingress_ifindex;
	u32 ifindex;
	u32 tc_index;
	u32 cb[5];
	u32 hash;
	u32 tc_classid;
	u32 data;
	u32 data_end;
	u32 napi_id;
	u32 family;
	u32 remote_ip4;
	u32 local_ip4;
	u32 remote_ip6[4];
	u32 local_ip6[4];
	u32 remote_port;
	u32 local_port;
	u32 data_meta;
	u64 flow_keys;
	u64 tstamp;
};

struct bpf_sock_ops {
	u32 op;
	u32 reply;
	u32 unused[19];
	u32 bpf_sock_ops_cb_flags;
	u32 unused_too[24];
	struct bpf_sock *sk;
};

struct file;
struct sock;
struct sock_common;

CORE_STRUCTS_BEGIN

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

struct task_struct {
	u32 tgid;
	struct task_struct *group_leader;
	char comm[TASK_COMM_LEN];
};

/* Contexts of iterators */
struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__tcp {
	struct bpf_iter_meta *meta;
	struct sock_common *sk_common;
};

struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	struct file *file;
};

struct bpf_iter__bpf_sk_storage_map {
	struct bpf_iter_meta *meta;
	struct sock *sk;
};

CORE_STRUCTS_END

#endif
