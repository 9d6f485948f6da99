/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What sockets remember of the rule that they met.
 *
 * A connection has a note (socket_note.h): storage of a socket takes several times as long as the search for its rule.
 *
 * A listener has storage, which the connections that it accepts inherit: what it had before is known to nobody else. So has
 * whatever finds no room among the notes. Storage of a socket comes out of its option memory, which its process can fill.
 */
#ifndef CCCTL_RULE_MEMORY_H
#define CCCTL_RULE_MEMORY_H

#include "socket_read.h"
#include "socket_note.h"
#include "rule_record.h"

/* Both outlive the other maps of the rules: the loader hands them on from one set of rules to the next. */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC | BPF_F_CLONE);
	__type(key, int);
	__type(value, struct rule_assignment);
} rule_sockets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, RULE_NOTES);
	__type(key, u64); /* address of the socket */
	__type(value, struct rule_note);
} rule_notes SEC(".maps");

static __always_inline struct rule_assignment *remembered(void *tp)
{
	struct rule_assignment *stored = NULL;
	struct rule_note *note;

	if (((const struct sock *)tp)->sk_bpf_storage)
		stored = bpf_sk_storage_get(&rule_sockets, tp, NULL, 0);
	if (stored)
		return stored;
	note = note_of(&rule_notes, tp);
	return note ? &note->assignment : NULL;
}

/* An empty note, in the place of one whose socket is gone; NULL where there is no room. `owner` is what the helper wants. */
static __always_inline struct rule_assignment *new_note(void *owner, void *tp)
{
	struct rule_note fresh = {}, *note = note_made_at(&rule_notes, tp, &fresh);

	if (!note)
		return NULL;
	fresh.cookie = bpf_get_socket_cookie(owner);
	*note = fresh;
	return &note->assignment;
}

static __always_inline struct rule_assignment *new_storage(void *tp)
{
	struct rule_assignment *stored = bpf_sk_storage_get(&rule_sockets, tp, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	struct rule_note *note = stored ? note_of(&rule_notes, tp) : NULL;

	if (note) {
		*stored = note->assignment;
		note->cookie = 0;
	}
	return stored;
}

/* Where the socket is to remember; NULL where there is no room. */
static __always_inline struct rule_assignment *memory_of(void *owner, void *tp)
{
	bool listens = ((const struct sock_common *)tp)->skc_state == TCP_LISTEN;
	struct rule_assignment *found = listens ? NULL : remembered(tp);

	if (!found && !listens)
		found = new_note(owner, tp);
	return found ? found : new_storage(tp);
}

static __always_inline void forget(void *tp)
{
	struct rule_note *note = note_of(&rule_notes, tp);

	if (note)
		note->cookie = 0;
	bpf_sk_storage_delete(&rule_sockets, tp);
}

#endif
