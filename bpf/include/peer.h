/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The peer of a socket, for programs that look for prefixes: what bpf_skc_to_tcp_sock() gives can be read by plain loads. */
#ifndef CCCTL_PEER_H
#define CCCTL_PEER_H

#include "kernel/bpf.h"
#include "kernel/sock.h"

/* Its address in network order, into four words of zeros. Gives the family, 4 or 6; an IPv4-mapped address is IPv4. */
static __always_inline u32 read_peer(const struct sock_common *skc, u32 *address)
{
	const u32 *v6 = (const u32 *)&skc->skc_v6_daddr;

	if (skc->skc_family == AF_INET) {
		address[0] = skc->skc_daddr;
		return 4;
	}
	if (!v6[0] && !v6[1] && v6[2] == __builtin_bswap32(0xffff)) {
		address[0] = v6[3];
		return 4;
	}
	for (int i = 0; i < 4; i++)
		address[i] = v6[i];
	return 6;
}

#endif
