// SPDX-License-Identifier: GPL-2.0-only
/* What the kernel itself takes to call a sockops program: this one does nothing. */
#include "kernel/bpf.h"

char _license[] SEC("license") = "GPL";

SEC("sockops")
int empty_sockops(struct bpf_sock_ops *ctx)
{
	return 1;
}
