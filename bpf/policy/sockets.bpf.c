// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every TCP socket of one network namespace: what it uses, and moving it to something else.
 *
 * A BPF iterator over TCP sockets (bpf_iter, 5.8; with the socket locked and bpf_setsockopt() allowed since 5.16).
 * It sees listening sockets too, whose algorithm their accepted connections inherit when it was set on them, and not
 * those in TIME_WAIT or SYN_RECV, which have none. Whoever opens the iterator decides the namespace: its own.
 */
#include "../include/tcp.h"
#include "socket_record.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#define SOL_TCP 6
#define TCP_CONGESTION 13
#define AF_INET 2

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

/* the same structs as in the fence, with what only this file reads */
struct tcp_congestion_ops___named {
	char name[CCCTL_NAME_BYTES];
};

struct inet_connection_sock___ops {
	const struct tcp_congestion_ops___named *icsk_ca_ops;
};

enum bpf_map_type { BPF_MAP_TYPE_STRUCT_OPS = 26 };

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

char _license[] SEC("license") = "GPL";

const volatile struct socket_query query SEC(".rodata");

/* The name in force, and the address of its table, which differs between the programs before and after a swap */
static const void *read_algorithm(struct tcp_sock *tp, char *name)
{
	const struct inet_connection_sock___ops *icsk = (const void *)tp;
	const struct tcp_congestion_ops___named *ops = BPF_CORE_READ(icsk, icsk_ca_ops);

	bpf_probe_read_kernel(name, CCCTL_NAME_BYTES, &ops->name);
	return ops;
}

/* The table of a BPF algorithm lies inside its struct_ops map. */
static u32 map_id_of(const void *ops)
{
	u64 inside = bpf_core_field_offset(struct bpf_struct_ops_map, kvalue) +
		     bpf_core_field_offset(struct bpf_struct_ops_value, data);
	const struct bpf_struct_ops_map *map = (const void *)((u64)ops - inside);

	if (BPF_CORE_READ(map, map.map_type) != BPF_MAP_TYPE_STRUCT_OPS)
		return 0;
	return BPF_CORE_READ(map, map.id);
}

static bool names_equal(const char *name, const volatile char *wanted)
{
	for (int i = 0; i < CCCTL_NAME_BYTES; i++) {
		if (name[i] != wanted[i])
			return false;
		if (!name[i])
			break;
	}
	return true;
}

static void describe(struct socket_record *record, struct sock_common *skc)
{
	record->family = skc->skc_family;
	record->state = skc->skc_state;
	record->source_port = skc->skc_num;
	record->destination_port = __builtin_bswap16(skc->skc_dport);
	if (record->family == AF_INET) {
		bpf_probe_read_kernel(record->source, 4, &skc->skc_rcv_saddr);
		bpf_probe_read_kernel(record->destination, 4, &skc->skc_daddr);
		return;
	}
	bpf_probe_read_kernel(record->source, 16, &skc->skc_v6_rcv_saddr);
	bpf_probe_read_kernel(record->destination, 16, &skc->skc_v6_daddr);
}

static void move(struct tcp_sock *tp, const void *ops_before, struct socket_record *record)
{
	char to[CCCTL_NAME_BYTES] = {};
	char now[CCCTL_NAME_BYTES];

	for (int i = 0; i < CCCTL_NAME_BYTES; i++)
		to[i] = query.to[i];
	record->error = bpf_setsockopt(tp, SOL_TCP, TCP_CONGESTION, to, sizeof(to));
	record->moved = read_algorithm(tp, now) != ops_before;
}

/* A socket must not be moved and then shown again: by then it has another name. seq_write() wants one byte to spare. */
static bool has_room(const struct seq_file *seq)
{
	return seq->count + sizeof(struct socket_record) < seq->size;
}

SEC("iter/tcp")
int sockets(struct bpf_iter__tcp *ctx)
{
	struct sock_common *skc = ctx->sk_common;
	struct socket_record record = {};
	struct tcp_sock *tp;
	const void *ops;

	if (!skc)
		return 0;
	tp = bpf_skc_to_tcp_sock(skc);
	if (!tp)
		return 0;
	ops = read_algorithm(tp, record.algorithm);
	if (query.from[0] && !names_equal(record.algorithm, query.from))
		return 0;
	record.cookie = bpf_get_socket_cookie(tp);
	record.map_id = map_id_of(ops);
	describe(&record, skc);
	if (query.to[0] &&
	    has_room(ctx->meta->seq)) /* without room the write fails, and the kernel shows the socket again */
		move(tp, ops, &record);
	bpf_seq_write(ctx->meta->seq, &record, sizeof(record));
	return 0;
}
