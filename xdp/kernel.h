/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel types and fields that the ACK clock and traces read, and no others. Offsets come from the running kernel's BTF when
 * the programs are loaded.
 */
#ifndef CCCTL_XDP_KERNEL_H
#define CCCTL_XDP_KERNEL_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef _Bool bool;

#define true 1
#define false 0
#define NULL ((void *)0)

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_endian.h>

#define INLINE static inline __attribute__((always_inline))

/* An index that the verifier sees to be in bounds: clang must not know what the mask takes away, or it leaves it out. */
INLINE u32 sack_index(u32 blocks)
{
	barrier_var(blocks);
	return blocks & 7;
}

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_HASH = 5,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_QUEUE = 22,
	BPF_MAP_TYPE_SK_STORAGE = 24,
	BPF_MAP_TYPE_STRUCT_OPS = 26,
	BPF_MAP_TYPE_RINGBUF = 27,
};
enum bpf_map_update { BPF_ANY = 0, BPF_NOEXIST = 1 };
enum bpf_map_flag { BPF_F_NO_PREALLOC = 1 };

enum tcp_state { TCP_STATE_ESTABLISHED = 1, TCP_STATE_CLOSE = 7 };
enum tcp_recovery { TCP_CA_LOSS = 4 };

/* include/uapi/linux/bpf.h: contexts of XDP and tc programs */
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

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ns_common {
	unsigned int inum;
};

struct net {
	struct ns_common ns;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct net_device {
	possible_net_t nd_net;
};

struct sock_common {
	possible_net_t skc_net;
	__be16 skc_dport;
	u16 skc_num; /* the own port, in host order */
};

struct sock {
	struct sock_common __sk_common;
	unsigned long sk_pacing_rate; /* bytes per second, ~0: no limit */
};

struct tcp_congestion_ops {
	u32 key; /* hash of the name; no two registered algorithms share one */
	char name[16];
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

struct inet_connection_sock {
	const struct tcp_congestion_ops *icsk_ca_ops;
	u8 icsk_ca_state : 5; /* enum tcp_ca_state */
	u8 icsk_backoff;
	u64 icsk_ca_priv[13]; /* 104 bytes: what the algorithm keeps */
};

struct minmax_sample {
	u32 v;
};

struct minmax {
	struct minmax_sample s[3];
};

struct tcp_options_received {
	u16 snd_wscale : 4;
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	struct tcp_options_received rx_opt;
	u32 snd_una;
	u32 snd_wnd; /* bytes */
	u32 packets_out;
	u32 snd_nxt;
	u32 snd_cwnd;
	u32 snd_ssthresh;
	u32 mss_cache; /* bytes */
	u32 srtt_us; /* times 8 */
	u32 mdev_us; /* times 4 */
	struct minmax rtt_min;
	u32 retrans_out; /* retransmissions in flight */
	u32 total_retrans;
	u32 delivered;
	u32 lost;
	u32 rate_delivered; /* packets over the next */
	u32 rate_interval_us;
	u8 rate_app_limited : 1;
	u64 bytes_acked;
};

struct sk_buff {
	struct sock *sk;
	struct net_device *dev;
	u64 tstamp;
	unsigned int len;
	u16 mac_header;
	unsigned int end; /* sk_buff_data_t: an offset on 64-bit kernels */
	unsigned char *head;
	unsigned char *data;
};

struct skb_shared_info {
	u8 meta_len;
	u16 gso_segs;
};

#pragma clang attribute pop

#endif
