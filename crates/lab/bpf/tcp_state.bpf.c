// SPDX-License-Identifier: GPL-2.0-only
/*
 * One line for each TCP socket of a namespace that has a connection: its windows, its counters, and in hexadecimal the
 * private state of its algorithm.
 */
#include "tcp.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#define TCP_ESTABLISHED 1

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sock_common {
	u8 skc_state;
	u16 skc_num; /* local port, host order */
};

struct tcp_sock___counters {
	u32 total_retrans;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__tcp {
	struct bpf_iter_meta *meta;
	struct sock_common *sk_common;
};

#pragma clang attribute pop

char _license[] SEC("license") = "GPL";

SEC("iter/tcp")
int tcp_state(struct bpf_iter__tcp *ctx)
{
	struct sock_common *skc = ctx->sk_common;
	struct seq_file *seq = ctx->meta->seq;
	u64 state[CC_STATE_BYTES / 8];
	struct tcp_sock *tp;

	if (!skc || skc->skc_state != TCP_ESTABLISHED)
		return 0;
	tp = bpf_skc_to_tcp_sock(skc);
	if (!tp)
		return 0;
	bpf_probe_read_kernel(state, sizeof(state), &tp->inet_conn.icsk_ca_priv);
	BPF_SEQ_PRINTF(seq, "%u %u %u %u %u %u %u ", skc->skc_num, tp->snd_cwnd, tp->prior_cwnd, tp->snd_ssthresh,
		       tp->delivered, tp->delivered_ce, BPF_CORE_READ((struct tcp_sock___counters *)tp, total_retrans));
	BPF_SEQ_PRINTF(seq, "%016llx%016llx%016llx%016llx%016llx%016llx", state[0], state[1], state[2], state[3],
		       state[4], state[5]);
	BPF_SEQ_PRINTF(seq, "%016llx%016llx%016llx%016llx%016llx%016llx%016llx\n", state[6], state[7], state[8],
		       state[9], state[10], state[11], state[12]);
	return 0;
}
