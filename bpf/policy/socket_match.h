/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a socket is, and whether it is asked for: shared by the iterators. */
#ifndef CCCTL_SOCKET_MATCH_H
#define CCCTL_SOCKET_MATCH_H

#include "limits.h"
#include "socket_read.h"
#include "socket_record.h"

#define CGROUP_LEVELS 64

const volatile struct socket_query query SEC(".rodata.query");

/* Cookies of the sockets that the process asked for has open; filled by `owners`, sized by the loader. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, u64);
	__type(value, u8);
} selected SEC(".maps");

/* By the struct_ops map of each instance in the kernel: is it of the algorithm asked for? Filled and sized by the loader. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u8);
} instances SEC(".maps");

/* Without a branch for each byte, which the verifier would have to follow. */
static bool is_in_prefix(const u8 *address, const volatile u8 *prefix, const volatile u8 *mask)
{
	u8 difference = 0;

	for (int i = 0; i < 16; i++)
		difference |= (address[i] ^ prefix[i]) & mask[i];
	return !difference;
}

static void map_v4(u8 *address, const u32 *v4)
{
	address[10] = 0xff;
	address[11] = 0xff;
	bpf_probe_read_kernel(address + 12, 4, v4);
}

static void read_addresses(struct socket_record *record, struct sock_common *skc)
{
	if (record->family == AF_INET) {
		map_v4(record->source, &skc->skc_rcv_saddr);
		map_v4(record->destination, &skc->skc_daddr);
		return;
	}
	bpf_probe_read_kernel(record->source, 16, &skc->skc_v6_rcv_saddr);
	bpf_probe_read_kernel(record->destination, 16, &skc->skc_v6_daddr);
}

static u64 cgroup_id_of(struct tcp_sock *tp)
{
	const struct sock *sk = (const void *)tp;

	if (!bpf_core_field_exists(sk->sk_cgrp_data))
		return 0;
	return sk->sk_cgrp_data.cgroup->kn->id;
}

/* Upwards from the socket's cgroup. A kernel of before 6.0 has no array of ancestors, and the way is short. */
static bool is_below(struct tcp_sock *tp, u64 cgroup_id)
{
	const struct sock *sk = (const void *)tp;
	struct cgroup_subsys_state *parent;
	struct cgroup *cgroup;

	if (!bpf_core_field_exists(sk->sk_cgrp_data))
		return false;
	cgroup = sk->sk_cgrp_data.cgroup;
	for (int level = 0; level < CGROUP_LEVELS && cgroup; level++) {
		if (cgroup->kn->id == cgroup_id)
			return true;
		parent = cgroup->self.parent;
		if (!parent)
			return false;
		cgroup = parent->cgroup;
	}
	return false;
}

static bool ports_match(const struct socket_record *record)
{
	if (query.port && record->source_port != query.port && record->destination_port != query.port)
		return false;
	if (query.source_port && record->source_port != query.source_port)
		return false;
	return !query.destination_port || record->destination_port == query.destination_port;
}

static bool addresses_match(const struct socket_record *record)
{
	if (!is_in_prefix(record->source, query.source, query.source_mask))
		return false;
	return is_in_prefix(record->destination, query.destination, query.destination_mask);
}

static bool owner_matches(struct tcp_sock *tp, u64 cookie)
{
	if (query.cookie && cookie != query.cookie)
		return false;
	if (query.cgroup_id && !is_below(tp, query.cgroup_id))
		return false;
	return !query.pid || bpf_map_lookup_elem(&selected, &cookie);
}

/* What is not an instance is the algorithm that its kernel name says. */
static bool is_of_algorithm(const struct socket_record *record)
{
	u32 map_id = record->map_id;
	const u8 *is_asked_for = bpf_map_lookup_elem(&instances, &map_id);

	return is_asked_for ? *is_asked_for : names_equal(record->algorithm, query.algorithm);
}

/* Describes the socket, the cheapest first; false as soon as it is not one that is asked for. */
static bool matches(struct sock_common *skc, struct tcp_sock *tp, struct socket_record *record)
{
	const struct tcp_congestion_ops *ops;

	record->state = skc->skc_state;
	if (query.states && !(query.states & 1U << (record->state & 31)))
		return false;
	record->source_port = skc->skc_num;
	record->destination_port = __builtin_bswap16(skc->skc_dport);
	if (!ports_match(record))
		return false;
	ops = read_algorithm(tp, record->algorithm);
	if (query.from[0] && !names_equal(record->algorithm, query.from))
		return false;
	record->map_id = map_id_of(ops);
	if (query.algorithm[0] && !is_of_algorithm(record))
		return false;
	record->family = skc->skc_family;
	read_addresses(record, skc);
	if (!addresses_match(record))
		return false;
	record->cookie = bpf_get_socket_cookie(tp);
	return owner_matches(tp, record->cookie);
}

#endif
