/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Parameters that a rule gives its connections alone (own_params.h): written before the algorithm is set, so that its init reads
 * them.
 *
 * The kernel does not call init where a socket has the algorithm already. If its parameters change it is set to Reno first, so
 * that setting it calls init. A connection that finds no room is not given the algorithm: with the values of the instance it
 * could send more than its rule allows. Listeners have none: they send nothing, and the connections that they accept meet the
 * rule themselves, before init.
 */
#ifndef CCCTL_RULE_PARAMETERS_H
#define CCCTL_RULE_PARAMETERS_H

#include "rule_match.h"

/* A rule has parameters, or one had. Where it is 0 the verifier leaves out all that follows. */
const volatile u32 has_parameters SEC(".rodata.has_parameters");

RULE_MAP(rule_parameters, BPF_MAP_TYPE_HASH, BPF_F_NO_PREALLOC, u32, struct rule_parameters, 1);

/* The one that is pinned. The loader makes it of its whole size where it is needed. */
RULE_MAP(cc_own_params, BPF_MAP_TYPE_HASH, BPF_F_NO_PREALLOC, u64, struct cc_own_params, 1);

/* In the place of one whose socket is gone; NULL where there is no room. `owner` is what the helper wants. */
static __always_inline struct cc_own_params *new_own_params(void *owner, const void *tp)
{
	static const struct cc_own_params empty SEC(".rodata.empty");
	struct cc_own_params *own = note_made_at(&cc_own_params, tp, &empty);

	if (own)
		own->cookie = bpf_get_socket_cookie(owner);
	return own;
}

/* Written by hand: a call of memcmp() is what clang makes of a loop. */
static __always_inline bool values_equal(const struct cc_own_values *a, const struct cc_own_values *b)
{
	const u64 *one = (const u64 *)a, *other = (const u64 *)b;
	u64 differs = 0;

#pragma unroll
	for (u32 i = 0; i < sizeof(*a) / sizeof(u64); i++)
		differs |= one[i] ^ other[i];
	return !differs;
}

static __always_inline bool uses(const struct tcp_sock *tp, const char *name)
{
	char now[TCP_CA_NAME_MAX];

	read_algorithm(tp, now);
	return names_equal(now, name);
}

static __always_inline bool has_begun(const struct tcp_sock *tp)
{
	return BPF_CORE_READ_BITFIELD(tp, inet_conn.icsk_ca_initialized);
}

/*
 * Writes what rule `id` says for the algorithm of this name, or takes away what the socket has. Gives an error where there is no
 * room. `setter` is what bpf_setsockopt() wants here: the context, or the socket. A function of its own, as settle_settings().
 */
static __noinline int settle_parameters(void *setter, struct tcp_sock *tp, u32 id, const char *name)
{
	char other[TCP_CA_NAME_MAX] = "reno";
	struct rule_parameters *wanted;
	struct cc_own_params *own;

	if (!has_parameters)
		return 0;
	wanted = bpf_map_lookup_elem(&rule_parameters, &id);
	if (wanted && (((const struct sock_common *)tp)->skc_state == TCP_LISTEN ||
		       !names_equal(name, wanted->values.instance.name)))
		wanted = NULL;
	own = note_of(&cc_own_params, tp);
	if (!wanted && !own)
		return 0;
	if (wanted && own && values_equal(&own->values, &wanted->values))
		return 0;
	if (wanted && !own)
		own = new_own_params(setter, tp);
	if (own) {
		own->changes++;
		if (wanted)
			own->values = wanted->values;
		else
			own->cookie = 0;
	}
	/* where there is no room, it may have the algorithm from its listener */
	if (uses(tp, name) && (!own || has_begun(tp)))
		bpf_setsockopt(setter, SOL_TCP, TCP_CONGESTION, other, sizeof(other));
	return own ? 0 : -E2BIG;
}

/* How often rules have changed those of a socket, or of the one that was at its address before */
static __always_inline u64 parameter_changes(const void *tp)
{
	struct cc_own_params *own = has_parameters ? note_at(&cc_own_params, tp) : NULL;

	return own ? own->changes : 0;
}

#endif
