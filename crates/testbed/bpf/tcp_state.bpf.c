// SPDX-License-Identifier: GPL-2.0-only
/*
 * One line for each TCP socket of a namespace that has a connection: its windows, its counters, and in hexadecimal the
 * private state of its algorithm.
 */
#include "kernel/bpf.h"
#include "kernel/tcp.h"

char _license[] SEC("license") = "GPL";

SEC("iter/tcp")
int tcp_state(struct bpf_iter__tcp *ctx)
{
	struct sock_common *skc = ctx->sk_common;
	struct seq_file *seq = ctx->meta->seq;
	u64 state[ICSK_CA_PRIV_SIZE / 8];
	struct tcp_sock *tp;

	if (!skc || skc->skc_state != TCP_ESTABLISHED)
		return 0;
	tp = bpf_skc_to_tcp_sock(skc);
	if (!tp)
		return 0;
	bpf_probe_read_kernel(state, sizeof(state), &tp->inet_conn.icsk_ca_priv);
	BPF_SEQ_PRINTF(seq, "%u %u %u %u %u %u %u ", skc->skc_num, tp->snd_cwnd, tp->prior_cwnd, tp->snd_ssthresh,
		       tp->delivered, tp->delivered_ce, tp->total_retrans);
	BPF_SEQ_PRINTF(seq, "%016llx%016llx%016llx%016llx%016llx%016llx", state[0], state[1], state[2], state[3],
		       state[4], state[5]);
	BPF_SEQ_PRINTF(seq, "%016llx%016llx%016llx%016llx%016llx%016llx%016llx\n", state[6], state[7], state[8],
		       state[9], state[10], state[11], state[12]);
	return 0;
}
