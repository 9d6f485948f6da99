/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* TCP options (RFC 9293 section 3.2, RFC 2018) as the programs here walk through them. */
#ifndef CCCTL_TCP_OPTIONS_H
#define CCCTL_TCP_OPTIONS_H

#include "kernel/bpf.h"

#define TCP_BYTES 20 /* of a header without options */
#define TCP_OPTIONS_MAX 40

enum tcp_option { OPTION_END = 0, OPTION_NOP = 1, OPTION_SACK = 5 };

/* An index that the verifier sees to be in bounds: clang must not know what the mask takes away, or it leaves it out. */
static __always_inline u32 sack_index(u32 blocks)
{
	barrier_var(blocks);
	return blocks & 7;
}

#endif
