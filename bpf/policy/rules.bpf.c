// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Rules for new connections: which algorithm the sockets of a cgroup get.
 *
 * One sockops program, attached to the root of the cgroup tree by one link, which is all that is pinned. It is called
 *   - before a SYN is sent, so that an algorithm that needs ECN negotiates it;
 *   - when an accepted connection is established, before its algorithm is initialized;
 *   - when a socket begins to listen: the SYN-ACK comes from the listener, so only its algorithm can ask for ECN. That
 *     is done for rules that leave nothing to the peer or to chance.
 * The same for all network namespaces: a socket belongs to the cgroup in which its process made it.
 *
 * Needs 6.1 (cgroup->ancestors).
 */
#include "rule_assign.h"

char _license[] SEC("license") = "GPL";

static __always_inline void listen(struct bpf_sock_ops *ctx, void *sk)
{
	struct rule *rule = find_rule(sk, true, true);

	if (rule && rule->choices == 1)
		assign(ctx, sk, rule, RULE_LISTEN, true, true);
}

static __always_inline void begin(struct bpf_sock_ops *ctx, void *sk, u32 event)
{
	struct rule *rule = find_rule(sk, event == RULE_ACCEPT, false);
	struct rule_assignment *inherited;

	if (rule) {
		assign(ctx, sk, rule, event, event == RULE_ACCEPT, true);
		return;
	}
	/* A rule that has gone since had set the listener, or an earlier connection of this socket. */
	inherited = remembered(sk);
	if (inherited)
		restore(ctx, sk, inherited);
}

SEC("sockops")
int ccctl_assign(struct bpf_sock_ops *ctx)
{
	struct bpf_sock *sk;
	void *tp;

	if (ctx->op != BPF_SOCK_OPS_TCP_CONNECT_CB && ctx->op != BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB &&
	    ctx->op != BPF_SOCK_OPS_TCP_LISTEN_CB)
		return 1;
	sk = ctx->sk;
	if (!sk)
		return 1;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return 1;
	if (ctx->op == BPF_SOCK_OPS_TCP_LISTEN_CB)
		listen(ctx, tp);
	else
		begin(ctx, tp, ctx->op == BPF_SOCK_OPS_TCP_CONNECT_CB ? RULE_CONNECT : RULE_ACCEPT);
	return 1;
}
