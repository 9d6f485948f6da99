/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What sockets remember of the rule that they met.
 *
 * A connection has a note: an element of a hash by the address of its socket. Most sockets lie where another one has been,
 * so that there is a note already and nothing is allocated: storage of a socket takes several times as long as the search
 * for its rule. A note outlives its socket, and has the cookie of the one that it is of: cookies are not used twice.
 *
 * A listener has storage, which the connections that it accepts inherit: what it had before is known to nobody else. So has
 * whatever finds no room among the notes. Storage of a socket comes out of its option memory, which its process can fill.
 */
#ifndef CCCTL_RULE_MEMORY_H
#define CCCTL_RULE_MEMORY_H

#include "socket_read.h"
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

static __always_inline struct rule_note *note_at(const void *tp)
{
	u64 address = (u64)tp;

	return bpf_map_lookup_elem(&rule_notes, &address);
}

/* The socket's own note. One whose cookie nobody has asked for has none. */
static __always_inline struct rule_note *note_of(const void *tp)
{
	u64 cookie = ((const struct sock_common *)tp)->skc_cookie.counter;
	struct rule_note *note = cookie ? note_at(tp) : NULL;

	return note && note->cookie == cookie ? note : NULL;
}

static __always_inline struct rule_assignment *remembered(void *tp)
{
	struct rule_assignment *stored = NULL;
	struct rule_note *note;

	if (((const struct sock *)tp)->sk_bpf_storage)
		stored = bpf_sk_storage_get(&rule_sockets, tp, NULL, 0);
	if (stored)
		return stored;
	note = note_of(tp);
	return note ? &note->assignment : NULL;
}

/* An empty note, in the place of one whose socket is gone; NULL where there is no room. `owner` is what the helper wants. */
static __always_inline struct rule_assignment *new_note(void *owner, void *tp)
{
	struct rule_note fresh = {}, *note = note_at(tp);
	u64 address = (u64)tp;

	fresh.cookie = bpf_get_socket_cookie(owner);
	if (!note) {
		bpf_map_update_elem(&rule_notes, &address, &fresh, BPF_NOEXIST);
		note = note_at(tp);
	}
	if (!note)
		return NULL;
	*note = fresh;
	return &note->assignment;
}

static __always_inline struct rule_assignment *new_storage(void *tp)
{
	struct rule_assignment *stored = bpf_sk_storage_get(&rule_sockets, tp, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	struct rule_note *note = stored ? note_of(tp) : NULL;

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
	struct rule_note *note = note_of(tp);

	if (note)
		note->cookie = 0;
	bpf_sk_storage_delete(&rule_sockets, tp);
}

#endif
