/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which rule a socket gets: the most specific cgroup wins, then the most specific prefix, then the port, then conditions.
 *
 * The loader compiles the rules into maps (crates/loader/src/rules/compile.rs) that this file only follows. A search
 * begins with the rules of the deepest cgroup that has any (its scope) and goes outward; within a scope it begins with
 * the longest prefix that the peer is in and goes to shorter ones. What it costs depends on how deeply rules are nested
 * around this one socket, not on how many there are. Rules that differ only in their conditions are looked at one by one.
 */
#ifndef CCCTL_RULE_MATCH_H
#define CCCTL_RULE_MATCH_H

#include "peer.h"
#include "socket_read.h"
#include "rule_record.h"

#define RULE_CACHED_SETS 4096
#define RULE_CACHE_WAYS 2

/*
 * Sockets are given as what bpf_skc_to_tcp_sock() returns: its fields, and what they point to, can be read by plain
 * loads, which for each connection is worth the trouble of casts.
 */

/* Sizes of 1 are set by the loader, which knows the rules. */
#define RULE_MAP(name, map_kind, map_flag, key_type, value_type, entries)                                              \
	struct {                                                                                                       \
		__uint(type, map_kind);                                                                                \
		__uint(map_flags, map_flag);                                                                           \
		__uint(max_entries, entries);                                                                          \
		__type(key, key_type);                                                                                 \
		__type(value, value_type);                                                                             \
	} name SEC(".maps")

RULE_MAP(rules_header, BPF_MAP_TYPE_ARRAY, 0, u32, struct rules_header, 1);
RULE_MAP(rules, BPF_MAP_TYPE_ARRAY, 0, u32, struct rule, 1);
RULE_MAP(rule_conditions, BPF_MAP_TYPE_ARRAY, 0, u32, struct rule_conditions, 1);
RULE_MAP(cgroup_nodes, BPF_MAP_TYPE_HASH, BPF_F_NO_PREALLOC, struct cgroup_key, struct cgroup_node, 1);
RULE_MAP(rule_scopes, BPF_MAP_TYPE_ARRAY, 0, u32, struct rule_scope, 1);
RULE_MAP(rule_prefixes, BPF_MAP_TYPE_LPM_TRIE, BPF_F_NO_PREALLOC, struct prefix_key, u32, 1);
RULE_MAP(rule_sets, BPF_MAP_TYPE_ARRAY, 0, u32, struct rule_set, 1);
RULE_MAP(rule_ports, BPF_MAP_TYPE_HASH, 0, struct port_key, u32, 1);

/*
 * Scope by cgroup id: paths are walked once for each cgroup. An id is never used again while the host runs. An array: the
 * kernel's hashes take ten times as long. An entry is one word, id above and scope below, so that it is read whole.
 */
struct cached_scopes {
	u64 way[RULE_CACHE_WAYS]; /* the newest first */
};

RULE_MAP(scope_cache, BPF_MAP_TYPE_ARRAY, 0, u32, struct cached_scopes, RULE_CACHED_SETS);

#define CONDITION(which) (1U << (which))
#define RTT_CONDITIONS (CONDITION(RULE_RTT_ABOVE) | CONDITION(RULE_RTT_BELOW))

/* Of all rules together. Where it is 0 the verifier leaves out all that conditions need. */
const volatile u32 has_conditions SEC(".rodata.has_conditions");

struct rule_search {
	u32 scope;
	u32 set;
	u32 port;
	u32 candidate; /* the rule of a chain whose conditions are to be looked at; 0: none */
	u32 rule;
	u32 mark;
	u32 priority;
	u32 srtt_us; /* 1/8 us; 0: not known */
	struct prefix_key peer; /* family 0: the peer is not known yet */
};

static __always_inline u32 root_scope(void)
{
	u32 first = 0;
	struct rules_header *header = bpf_map_lookup_elem(&rules_header, &first);

	return header ? header->root_scope : 0;
}

static __always_inline struct cgroup *cgroup_of(const void *sk)
{
	return ((const struct sock *)sk)->sk_cgrp_data.cgroup;
}

/* Component `level` of a cgroup's path; the root, level 0, has no name. False where there is none. */
static __always_inline bool path_component(const struct cgroup *cgroup, u32 level, char *name)
{
	const struct cgroup *ancestor = NULL;
	u64 slot = bpf_core_field_offset(struct cgroup, ancestors) + level * sizeof(ancestor);

	if (bpf_probe_read_kernel(&ancestor, sizeof(ancestor), (const void *)cgroup + slot) || !ancestor)
		return false;
	__builtin_memset(name, 0, RULE_CGROUP_NAME_BYTES);
	return bpf_probe_read_kernel_str(name, RULE_CGROUP_NAME_BYTES, BPF_CORE_READ(ancestor, kn, name)) > 0;
}

/* From the root down, as far as rules name the cgroup's path. */
static __noinline u32 walk_path(const struct cgroup *cgroup)
{
	struct cgroup_node *node;
	struct cgroup_key key = {};
	u32 scope = root_scope();
	int depth = cgroup->level;

	for (int level = 1; level <= RULE_CGROUP_DEPTH; level++) {
		if (level > depth || !path_component(cgroup, level, key.name))
			break;
		node = bpf_map_lookup_elem(&cgroup_nodes, &key);
		if (!node)
			break;
		key.parent = node->id;
		scope = node->scope;
	}
	return scope;
}

static __always_inline u32 scope_of(const void *sk)
{
	const struct cgroup *cgroup = cgroup_of(sk);
	struct cached_scopes *cached;
	u32 scope, set;
	u64 id;

	if (!cgroup)
		return root_scope();
	id = cgroup->kn->id;
	set = id % RULE_CACHED_SETS; /* ids are given in turn: neighbours do not meet */
	cached = bpf_map_lookup_elem(&scope_cache, &set);
	for (int way = 0; cached && way < RULE_CACHE_WAYS; way++) {
		u64 entry = cached->way[way];

		if (entry >> RULE_SCOPE_BITS == id)
			return (u32)(entry & ((1 << RULE_SCOPE_BITS) - 1));
	}
	scope = walk_path(cgroup);
	if (cached && !(id >> (64 - RULE_SCOPE_BITS))) {
		cached->way[1] = cached->way[0];
		cached->way[0] = id << RULE_SCOPE_BITS | scope;
	}
	return scope;
}

/* The set of the longest prefix that the peer is in, or that of any peer. */
static __always_inline u32 first_set(struct rule_search *search, const struct rule_scope *scope)
{
	u32 *set;

	if (!scope->has_prefixes || !search->peer.family)
		return scope->any_peer;
	search->peer.scope = search->scope;
	set = bpf_map_lookup_elem(&rule_prefixes, &search->peer);
	return set ? *set : scope->any_peer;
}

static __always_inline bool meets_rtt(const struct rule_search *search, const struct rule_conditions *conditions)
{
	u32 rtt_us = search->srtt_us >> 3;

	if (!(conditions->has & RTT_CONDITIONS))
		return true;
	if (!search->srtt_us)
		return false;
	return conditions->has & CONDITION(RULE_RTT_ABOVE) ? rtt_us > conditions->rtt_us : rtt_us < conditions->rtt_us;
}

static __always_inline bool meets(const struct rule_search *search, const struct rule_conditions *conditions)
{
	if (conditions->has & CONDITION(RULE_MARK) && (search->mark & conditions->mark_mask) != conditions->mark)
		return false;
	if (conditions->has & CONDITION(RULE_PRIORITY) && search->priority != conditions->priority)
		return false;
	return meets_rtt(search, conditions);
}

/* The candidate, or on to the next rule of its chain. */
static __always_inline long try_candidate(struct rule_search *search)
{
	struct rule_conditions *conditions = bpf_map_lookup_elem(&rule_conditions, &search->candidate);

	if (conditions && !meets(search, conditions)) {
		search->candidate = conditions->next;
		return 0;
	}
	search->rule = search->candidate;
	return 1;
}

static long search_step(u32 index, struct rule_search *search)
{
	struct port_key key = { .set = search->set, .port = search->port };
	struct rule_scope *scope;
	struct rule_set *set;
	u32 *rule, found;

	if (has_conditions && search->candidate)
		return try_candidate(search);
	if (search->set) {
		set = bpf_map_lookup_elem(&rule_sets, &search->set);
		if (!set)
			return 1;
		rule = set->has_ports ? bpf_map_lookup_elem(&rule_ports, &key) : NULL;
		found = rule ? *rule : set->any_port;
		search->set = set->wider;
		if (has_conditions)
			search->candidate = found;
		else
			search->rule = found;
		return search->rule != 0;
	}
	scope = search->scope ? bpf_map_lookup_elem(&rule_scopes, &search->scope) : NULL;
	if (!scope)
		return 1;
	search->set = first_set(search, scope);
	search->scope = scope->outer;
	return 0;
}

static __always_inline u32 find_among(const struct sock_common *skc, u32 scope, bool passive, bool listens)
{
	struct rule_search search = { .scope = scope };

	search.port = passive ? skc->skc_num : __builtin_bswap16(skc->skc_dport);
	if (!listens) {
		search.peer.family = read_peer(skc, (u32 *)search.peer.address);
		search.peer.bits = PREFIX_KEY_BITS + (search.peer.family == 4 ? 32 : 128);
	}
	if (has_conditions) {
		search.mark = ((const struct sock *)skc)->sk_mark;
		search.priority = ((const struct sock *)skc)->sk_priority;
		search.srtt_us = ((const struct tcp_sock *)skc)->srtt_us;
	}
	bpf_loop(RULE_SEARCH_STEPS, search_step, &search, 0);
	return search.rule;
}

/* Index of the rule of this socket; 0 in most cases. A listener's peers are not known: only rules for any peer count. */
static __always_inline u32 find_index(const void *tp, bool passive, bool listens)
{
	u32 id = scope_of(tp);
	struct rule_scope *scope;
	u32 index;

	if (!id)
		return 0;
	scope = bpf_map_lookup_elem(&rule_scopes, &id);
	if (!scope)
		return 0;
	index = scope->only_rule;
	return index ? index : find_among(tp, id, passive, listens);
}

static __always_inline struct rule *find_rule(const void *tp, bool passive, bool listens)
{
	u32 index = find_index(tp, passive, listens);

	return index ? bpf_map_lookup_elem(&rules, &index) : NULL;
}

/* Does the rule of this index look at the RTT? */
static __always_inline bool looks_at_rtt(u32 index)
{
	struct rule_conditions *conditions = bpf_map_lookup_elem(&rule_conditions, &index);

	return conditions && conditions->has & RTT_CONDITIONS;
}

#endif
