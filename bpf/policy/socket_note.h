/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Notes on sockets: elements of a hash by the address of the socket, which begin with the cookie of the one that they are of.
 *
 * Most sockets lie where another one has been, so that there is a note already and nothing is allocated. A note outlives its
 * socket; cookies are not used twice.
 */
#ifndef CCCTL_SOCKET_NOTE_H
#define CCCTL_SOCKET_NOTE_H

#include "kernel/bpf.h"
#include "kernel/tcp.h"

/* The one at its address, whosever it is */
static __always_inline void *note_at(void *notes, const void *tp)
{
	u64 address = (u64)tp;

	return bpf_map_lookup_elem(notes, &address);
}

/* The socket's own. One whose cookie nobody has asked for has none: that is what most connections are asked when they begin. */
static __always_inline void *note_of(void *notes, const void *tp)
{
	u64 cookie = ((const struct sock_common *)tp)->skc_cookie.counter;
	u64 *note = cookie ? note_at(notes, tp) : NULL;

	return note && *note == cookie ? note : NULL;
}

/* The one at its address, made as `empty` is where there is none. NULL: there is no room. */
static __always_inline void *note_made_at(void *notes, const void *tp, const void *empty)
{
	u64 address = (u64)tp;
	void *note = note_at(notes, tp);

	if (!note) {
		bpf_map_update_elem(notes, &address, empty, BPF_NOEXIST);
		note = note_at(notes, tp);
	}
	return note;
}

#endif
