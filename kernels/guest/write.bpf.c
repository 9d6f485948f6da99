// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* An algorithm that does nothing but write FIELD, to see what ccctl says where the kernel does not allow it. */
#include "cc.h"

#define WRITE_PARAMS(P) P(CC_SWITCH(unused, 0, "every algorithm has a parameter"))
CC_PARAMS(write, WRITE_PARAMS);

void CC_HOOK(write_cong_avoid, struct sock *sk, u32 ack, u32 acked_pkts)
{
	tcp_sk(sk)->FIELD = acked_pkts;
}

CC_ALGORITHM(write,
	.cong_avoid = CC_FN(write_cong_avoid),
	.ssthresh = CC_FN(tcp_reno_ssthresh),
	.undo_cwnd = CC_FN(tcp_reno_undo_cwnd),
);
