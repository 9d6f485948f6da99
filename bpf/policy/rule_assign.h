/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Giving a socket what its rule says, and remembering it. */
#ifndef CCCTL_RULE_ASSIGN_H
#define CCCTL_RULE_ASSIGN_H

#include "rule_match.h"
#include "rule_memory.h"
#include "rule_parameters.h"

#define NO_RULE 0 /* ids begin with 1 */

/* A choice drawn by weight. 2^32 draws over at most 8 million weights: each is off by less than 0.2 %. */
static __always_inline u32 draw(const struct rule *rule)
{
	u32 at = (u64)bpf_get_prandom_u32() * rule->weight_sum >> 32;
	u32 choice = 0;

	for (u32 i = 0; i < RULE_CHOICES - 1; i++)
		if (i + 1 < rule->choices && at >= rule->choice[i].weight_end)
			choice = i + 1;
	return choice;
}

/* The choice that the socket has made before, if its rule still has it; else a new one. */
static __always_inline u32 choose(const struct rule *rule, const struct rule_assignment *before)
{
	if (before->rule_id == rule->id)
		for (u32 i = 0; i < RULE_CHOICES; i++)
			if (i < rule->choices && names_equal(rule->choice[i].names[0], before->wanted))
				return i;
	return rule->choices > 1 ? draw(rule) : 0;
}

/*
 * Sets an algorithm, with the parameters that rule `id` has for it. `setter` is what bpf_setsockopt() wants here: the context, or
 * the socket.
 */
static __always_inline int set_algorithm(void *setter, void *sk, u32 id, char *name)
{
	int error = has_parameters ? settle_parameters(setter, sk, id, name) : 0;

	return error ? error : bpf_setsockopt(setter, SOL_TCP, TCP_CONGESTION, name, TCP_CA_NAME_MAX);
}

/* Tries the names of a choice in order. */
static __always_inline void give(void *setter, void *sk, const struct rule_choice *choice,
				 struct rule_assignment *assignment)
{
	assignment->error = 0;
	assignment->given[0] = 0;
	__builtin_memcpy(assignment->wanted, choice->names[0], TCP_CA_NAME_MAX);
	for (int i = 0; i < RULE_FALLBACKS; i++) {
		char name[TCP_CA_NAME_MAX];
		int error;

		__builtin_memcpy(name, choice->names[i], TCP_CA_NAME_MAX);
		if (!name[0])
			break;
		error = set_algorithm(setter, sk, assignment->rule_id, name);
		if (!error) {
			__builtin_memcpy(assignment->given, name, TCP_CA_NAME_MAX);
			break;
		}
		if (!i)
			assignment->error = error;
	}
}

/* A rule that leaves the algorithm alone: what an earlier one had given is taken back. */
static __always_inline int leave(void *setter, void *sk, struct rule_assignment *assignment)
{
	char name[TCP_CA_NAME_MAX];
	int error = 0;

	if (assignment->given[0]) {
		__builtin_memcpy(name, assignment->before, TCP_CA_NAME_MAX);
		error = set_algorithm(setter, sk, NO_RULE, name);
	}
	assignment->error = error;
	__builtin_memset(assignment->wanted, 0, TCP_CA_NAME_MAX);
	__builtin_memset(assignment->given, 0, TCP_CA_NAME_MAX);
	if (!error)
		__builtin_memset(assignment->before, 0, TCP_CA_NAME_MAX);
	return error;
}

/*
 * Gives a socket the algorithm that `rule` says, also where there is no room to remember it. Gives the kernel's error where no name could
 * be set. A new connection draws anew: what it may remember is its listener's, or that of an earlier connection of the same
 * socket.
 */
static __always_inline int assign(void *setter, void *sk, const struct rule *rule, u32 event, bool passive, bool anew)
{
	struct rule_assignment *assignment = memory_of(setter, sk);
	struct rule_assignment forgotten = {};
	u32 choice;

	if (!assignment)
		assignment = &forgotten;
	barrier_var(assignment); /* one pointer: the verifier does not take loads that clang merges from several */
	if (anew)
		assignment->rule_id = 0;
	choice = choose(rule, assignment);
	if (choice >= RULE_CHOICES)
		return -ENOENT;
	assignment->rule_id = rule->id;
	assignment->event = event;
	assignment->passive = passive;
	/* for a new connection that of the last tick, which is cheap: people read seconds; iterators do not have it */
	assignment->at_ns = anew ? bpf_ktime_get_coarse_ns() : bpf_ktime_get_ns();
	if (!rule->choices)
		return leave(setter, sk, assignment);
	if (!assignment->before[0])
		read_algorithm(sk, assignment->before);
	give(setter, sk, &rule->choice[choice], assignment);
	return assignment->given[0] ? 0 : assignment->error;
}

/* Gives a socket what it had before rules. The error is the kernel's: what it had may be gone. */
static __always_inline int restore(void *setter, void *sk, const struct rule_assignment *assignment)
{
	char name[TCP_CA_NAME_MAX];
	int error = 0;

	__builtin_memcpy(name, assignment->before, TCP_CA_NAME_MAX);
	if (name[0])
		error = set_algorithm(setter, sk, NO_RULE, name);
	if (!error)
		forget(sk);
	return error;
}

#endif
