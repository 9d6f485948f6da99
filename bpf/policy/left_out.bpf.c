// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * An algorithm that counts how often its own hook is left out (docs/reference/kernel-matrix.md).
 *
 * The kernel tells pkts_acked of each packet that is acknowledged, and keeps its own count of them in `delivered`. The
 * loader puts sockets on this algorithm, lets them send, and takes them off again; init and release run in the loader's own
 * system calls, and take what `delivered` has grown by between them. Where nothing was sent again the two sums are the same;
 * a connection that sent a packet again is left out, since packets that are split or merged then count differently.
 *
 * Pacing lets every packet be sent, delivered and acknowledged in a timer's softirq, on top of whatever task it interrupts.
 */
#include "kernel/bpf.h"
#include "kernel/tcp.h"

#define CWND_PKTS 2 /* an ACK, and so a call, for each burst */
#define PACING_BYTES_PER_S 176000 /* two segments of 88 bytes each millisecond */

char _license[] SEC("license") = "GPL";

struct left_out_counts {
	u64 calls; /* of pkts_acked */
	u64 told_pkts; /* packets in these calls */
	u64 delivered_pkts; /* packets that the kernel has counted meanwhile */
};

struct left_out_counts counts SEC(".data.counts");

struct left_out_state {
	u32 calls;
	u32 told_pkts;
	u32 delivered_at_start_pkts;
};

SEC("struct_ops") void BPF_PROG(left_out_init, struct sock *sk)
{
	struct left_out_state *ca = (struct left_out_state *)inet_csk(sk)->icsk_ca_priv;

	ca->calls = 0;
	ca->told_pkts = 0;
	ca->delivered_at_start_pkts = tcp_sk(sk)->delivered;
	sk->sk_pacing_rate = PACING_BYTES_PER_S;
	sk->sk_pacing_status = SK_PACING_NEEDED;
	tcp_sk(sk)->snd_cwnd = CWND_PKTS;
}

SEC("struct_ops") void BPF_PROG(left_out_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct left_out_state *ca = (struct left_out_state *)inet_csk(sk)->icsk_ca_priv;

	ca->calls++;
	ca->told_pkts += sample->pkts_acked;
}

SEC("struct_ops") void BPF_PROG(left_out_release, struct sock *sk)
{
	struct left_out_state *ca = (struct left_out_state *)inet_csk(sk)->icsk_ca_priv;

	if (tcp_sk(sk)->total_retrans > 0)
		return;
	__sync_fetch_and_add(&counts.calls, ca->calls);
	__sync_fetch_and_add(&counts.told_pkts, ca->told_pkts);
	__sync_fetch_and_add(&counts.delivered_pkts, tcp_sk(sk)->delivered - ca->delivered_at_start_pkts);
}

/* Neither window nor pacing rate is the core's to change */
SEC("struct_ops") void BPF_PROG(left_out_cong_control, struct sock *sk)
{
}

SEC("struct_ops") u32 BPF_PROG(left_out_ssthresh, struct sock *sk)
{
	return TCP_INFINITE_SSTHRESH;
}

SEC("struct_ops") u32 BPF_PROG(left_out_undo_cwnd, struct sock *sk)
{
	return CWND_PKTS;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops left_out = {
	.name = "ccctl_doctor",
	.init = (void *)left_out_init,
	.release = (void *)left_out_release,
	.pkts_acked = (void *)left_out_pkts_acked,
	.cong_control = (void *)left_out_cong_control,
	.ssthresh = (void *)left_out_ssthresh,
	.undo_cwnd = (void *)left_out_undo_cwnd,
};
