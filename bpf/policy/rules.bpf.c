// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Rules for new connections: which algorithm the sockets of a cgroup get, and which settings.
 *
 * One sockops program, attached to the root of the cgroup tree by one link, which is all that is pinned. It is called
 *   - before a SYN is sent, so that an algorithm that needs ECN negotiates it;
 *   - when a connection that was made is established: only then an initial window can be set, and its RTT is known;
 *   - when an accepted connection is established, before its algorithm is initialized;
 *   - when a socket begins to listen: the SYN-ACK comes from the listener, so only its algorithm can ask for ECN. That
 *     is done for rules that leave nothing to the peer or to chance.
 * The same for all network namespaces: a socket belongs to the cgroup in which its process made it.
 *
 * Needs 6.1 (cgroup->ancestors).
 */
#include "rule_assign.h"
#include "rule_ecn.h"
#include "rule_settings.h"

char _license[] SEC("license") = "GPL";

const volatile struct rules_settings settings_of_rules SEC(".rodata.settings");

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
	int error;

	/* before the algorithm, which may begin by reading the window */
	settle_settings(ctx, sk, rule, event == RULE_ACCEPT ? SETTINGS_ACCEPTED : SETTINGS_BEFORE_SYN, &error);
	if (rule) {
		assign(ctx, sk, rule, event, event == RULE_ACCEPT, true);
		return;
	}
	/* A rule that has gone since had set the listener, or an earlier connection of this socket. */
	inherited = remembered(sk);
	if (inherited)
		restore(ctx, sk, inherited);
}

static __always_inline bool is_set(u32 which)
{
	return settings_of_rules.has & SETTING(which);
}

static __always_inline bool rules_have_rtt(void)
{
	return has_conditions & RTT_CONDITIONS;
}

/*
 * A connection that was made. A rule that looks at its RTT takes the place of the one that it met before the SYN. If another one
 * is for it that it did not meet then, it is older than the rule.
 */
static __always_inline void established(struct bpf_sock_ops *ctx, void *sk)
{
	struct rule_assignment *met;
	struct rule *rule;
	u32 index = 0;
	int error;

	if (is_set(RULE_ECN))
		take_mark_off(ctx, sk, settings_of_rules.not_reno);
	if (rules_have_rtt() || is_set(RULE_INITIAL_WINDOW))
		index = find_index(sk, false, false);
	rule = index ? bpf_map_lookup_elem(&rules, &index) : NULL;
	if (!rule)
		return;
	if (rules_have_rtt() && looks_at_rtt(index)) {
		settle_settings(ctx, sk, rule, SETTINGS_ACCEPTED, &error);
		assign(ctx, sk, rule, RULE_ESTABLISHED, false, true);
		return;
	}
	if (!is_set(RULE_INITIAL_WINDOW) || !rule->settings)
		return;
	met = remembered(sk);
	if (!met || met->rule_id == rule->id)
		settle_settings(ctx, sk, rule, SETTING(RULE_INITIAL_WINDOW), &error);
}

/* Those that rules of now have anything to say to; the kernel asks about most connections nine times. */
static __always_inline bool concerns_rules(u32 op)
{
	switch (op) {
	case BPF_SOCK_OPS_TCP_CONNECT_CB:
	case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB:
	case BPF_SOCK_OPS_TCP_LISTEN_CB:
		return true;
	case BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB:
		return is_set(RULE_INITIAL_WINDOW) || is_set(RULE_ECN) || rules_have_rtt();
	case BPF_SOCK_OPS_NEEDS_ECN:
	case BPF_SOCK_OPS_HDR_OPT_LEN_CB:
		return is_set(RULE_ECN);
	default:
		return false;
	}
}

SEC("sockops")
int ccctl_assign(struct bpf_sock_ops *ctx)
{
	u32 op = ctx->op;
	struct bpf_sock *sk;
	void *tp;

	if (!concerns_rules(op))
		return 1;
	sk = ctx->sk; /* NULL of a request, whose SYN-ACK the listener decides on */
	if (!sk)
		return 1;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return 1;
	if (op == BPF_SOCK_OPS_TCP_LISTEN_CB)
		listen(ctx, tp);
	else if (op == BPF_SOCK_OPS_TCP_CONNECT_CB)
		begin(ctx, tp, RULE_CONNECT);
	else if (op == BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB)
		begin(ctx, tp, RULE_ACCEPT);
	else if (op == BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB)
		established(ctx, tp);
	else if (op == BPF_SOCK_OPS_NEEDS_ECN)
		ask_for_ecn(ctx, tp);
	else
		take_mark_off(ctx, tp, settings_of_rules.not_reno);
	return 1;
}
