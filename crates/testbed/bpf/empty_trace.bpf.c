// SPDX-License-Identifier: GPL-2.0-only
/* What the kernel itself takes to get to the programs of the ACK clock and back: these do nothing. */
#include "kernel/bpf.h"

char _license[] SEC("license") = "GPL";

SEC("fentry/tcp_ack")
int empty_entry(u64 *ctx)
{
	return 0;
}

SEC("fexit/tcp_ack")
int empty_return(u64 *ctx)
{
	return 0;
}

SEC("tp_btf/tcp_probe")
int empty_probe(u64 *ctx)
{
	return 0;
}
