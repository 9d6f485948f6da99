// SPDX-License-Identifier: GPL-2.0-only
/*
 * Time in one of the kernel's functions. For one processor, and a function that does not call itself.
 *
 * The reading holds the way between the two clocks, too: a function that does nothing gives it.
 */
#include "kernel/bpf.h"

char _license[] SEC("license") = "GPL";

struct {
	u64 calls;
	u64 ns;
} spent = {};
u64 entered_ns = 0;

/* The function that follows the slash is a place holder. */
SEC("fentry/tcp_reno_ssthresh")
int function_enters(u64 *ctx)
{
	entered_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("fexit/tcp_reno_ssthresh")
int function_returns(u64 *ctx)
{
	spent.ns += bpf_ktime_get_ns() - entered_ns;
	spent.calls++;
	return 0;
}
