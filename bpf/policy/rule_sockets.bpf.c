// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What rules have done and would do to the TCP sockets of one network namespace, and doing it.
 *
 * An iterator over TCP sockets beside the program in rules.bpf.c, on the same maps: the loader hands them over. The
 * kernel shows listening sockets first, so that by the time a connection comes it is known whether its port is listened
 * on: that, and nothing else that is left of it, tells whether a connection that met no rule was accepted.
 */
#include "rule_assign.h"
#include "rule_settings.h"

#define RULE_LISTENED_PORTS 65536
#define RULE_COUNTED 65536

struct listened_port {
	u64 net;
	u64 port;
};

RULE_MAP(listened_ports, BPF_MAP_TYPE_HASH, BPF_F_NO_PREALLOC, struct listened_port, u32, RULE_LISTENED_PORTS);
RULE_MAP(rule_usage, BPF_MAP_TYPE_HASH, BPF_F_NO_PREALLOC, u32, u64, RULE_COUNTED);
RULE_MAP(rule_tallies, BPF_MAP_TYPE_ARRAY, 0, u32, u64, RULE_TALLIES);

char _license[] SEC("license") = "GPL";

const volatile u32 task SEC(".rodata.task"); /* enum rule_task */
volatile struct rule_query query SEC(".data.query");

/* Too large for the stack. An iterator has one reader, and what is loaded is loaded for it alone. */
static struct rule_report report;
static char component[RULE_CGROUP_NAME_BYTES];

static __always_inline void tally(u32 what)
{
	u64 *count = bpf_map_lookup_elem(&rule_tallies, &what);

	if (count)
		(*count)++;
}

static __always_inline void count(u32 rule_id)
{
	u64 *counted = bpf_map_lookup_elem(&rule_usage, &rule_id);
	u64 one = 1;

	if (counted)
		(*counted)++;
	else
		bpf_map_update_elem(&rule_usage, &rule_id, &one, BPF_ANY);
}

static __always_inline bool is_listened_on(const struct sock_common *skc, bool listens)
{
	struct listened_port key = {
		.net = (u64)BPF_CORE_READ(skc, skc_net.net),
		.port = BPF_CORE_READ(skc, skc_num),
	};
	u32 yes = 1;

	if (!listens)
		return bpf_map_lookup_elem(&listened_ports, &key);
	bpf_map_update_elem(&listened_ports, &key, &yes, BPF_ANY);
	return true;
}

static __always_inline u64 inode_of(const void *tp)
{
	const struct socket_alloc *file = (const void *)BPF_CORE_READ((const struct sock *)tp, sk_socket);

	return file ? BPF_CORE_READ(file, vfs_inode.i_ino) : 0;
}

static __always_inline void describe(const struct tcp_sock *tp)
{
	const struct tcp_congestion_ops *ops = read_algorithm(tp, report.algorithm);
	const struct sock_common *skc = (const void *)tp;

	report.family = BPF_CORE_READ(skc, skc_family);
	report.state = BPF_CORE_READ(skc, skc_state);
	report.source_port = BPF_CORE_READ(skc, skc_num);
	report.destination_port = __builtin_bswap16(BPF_CORE_READ(skc, skc_dport));
	if (report.family == AF_INET) {
		bpf_probe_read_kernel(report.source, 4, &skc->skc_rcv_saddr);
		bpf_probe_read_kernel(report.destination, 4, &skc->skc_daddr);
	} else {
		bpf_probe_read_kernel(report.source, 16, &skc->skc_v6_rcv_saddr);
		bpf_probe_read_kernel(report.destination, 16, &skc->skc_v6_daddr);
	}
	report.map_id = map_id_of(ops);
	report.ecn_flags = BPF_CORE_READ(tp, ecn_flags);
	report.needs_ecn = !!(BPF_CORE_READ(ops, flags) & TCP_CONG_NEEDS_ECN);
	report.cgroup_id = BPF_CORE_READ(cgroup_of(skc), kn, id);
	report.inode = inode_of(skc);
	report.mark = BPF_CORE_READ((const struct sock *)tp, sk_mark);
	report.priority = BPF_CORE_READ((const struct sock *)tp, sk_priority);
	report.rtt_us = BPF_CORE_READ(tp, srtt_us);
	report.has_rtt = report.rtt_us != 0;
	report.rtt_us >>= 3;
}

static __noinline int write_path(struct seq_file *seq, const struct cgroup *cgroup, u32 depth)
{
	for (u32 level = 1; level <= RULE_CGROUP_DEPTH; level++) {
		if (level > depth || !path_component(cgroup, level, component))
			break;
		bpf_seq_write(seq, component, sizeof(component));
	}
	return 0;
}

/* A socket must not be moved and then shown again: by then it has another name. seq_write() wants one byte to spare. */
static __always_inline bool has_room(const struct seq_file *seq)
{
	return seq->count + sizeof(struct rule_report) < seq->size;
}

/* The socket's rule, where this run is to change the socket; `back` where it is to have what it had before instead. */
static __always_inline struct rule *wanted(struct tcp_sock *tp, const struct rule_assignment *met, bool passive,
					   bool listens, bool *back)
{
	u32 change = query.change, rule_id = query.rule_id;
	struct rule *rule = change == RULE_RESTORE ? NULL : find_rule(tp, passive, listens);

	if (listens && rule && rule->choices != 1)
		rule = NULL;
	if (change == RULE_MOVE)
		return rule && rule->id == rule_id ? rule : NULL;
	if (!met || (change == RULE_FOLLOW && !listens) ||
	    (change == RULE_RELEASE && met->rule_id != rule_id && !listens))
		return NULL;
	*back = !rule;
	return rule;
}

/* The socket gets what `wanted` says; what comes of it is counted, and a failure is told. */
static __always_inline void change(struct seq_file *seq, struct tcp_sock *tp, struct rule *rule, bool passive,
				   struct rule_assignment *met)
{
	const void *ops = read_algorithm(tp, report.algorithm);
	u64 changes = parameter_changes(tp);

	tally(RULE_FOUND);
	if (((const struct sock_common *)tp)->skc_state != TCP_LISTEN &&
	    settle_settings(tp, tp, rule, SETTINGS_ALIVE, &report.settings_error))
		tally(RULE_SET);
	if (rule)
		report.error = assign(tp, tp, rule, met ? met->event : RULE_EXISTING, passive, false);
	else if (met)
		report.error = restore(tp, tp, met);
	if (read_algorithm(tp, report.algorithm) != ops)
		tally(RULE_MOVED);
	if (parameter_changes(tp) != changes)
		tally(RULE_PARAMETERS);
	if (!report.error && !report.settings_error)
		return;
	tally(RULE_FAILED);
	report.cookie = bpf_get_socket_cookie(tp);
	describe(tp);
	bpf_seq_write(seq, &report, sizeof(report));
}

/* Is there no room to remember a rule? The socket is locked, so nobody meets what is made for the trial. */
static __always_inline bool is_full(struct tcp_sock *tp)
{
	if (!memory_of(tp, tp))
		return true;
	forget(tp);
	return false;
}

static __always_inline void describe_settings(struct tcp_sock *tp)
{
	struct rule_settings_note *note = has_settings ? note_of(&settings_notes, tp) : NULL;

	if (!note)
		return;
	report.has_settings = 1;
	report.settings = *note;
#pragma unroll
	for (u32 which = 0; which < RULE_SETTINGS; which++)
		report.setting_now[which] = read_setting(tp, which, note->tick_us);
}

static __always_inline void describe_parameters(const struct tcp_sock *tp)
{
	struct cc_own_params *own = has_parameters ? note_of(&cc_own_params, tp) : NULL;

	if (!own)
		return;
	report.has_parameters = 1;
	report.parameters = own->values;
}

static __always_inline void tell(struct seq_file *seq, struct tcp_sock *tp, bool passive, bool listens,
				 const struct rule_assignment *met)
{
	const struct cgroup *cgroup = cgroup_of(tp);
	struct rule *rule;

	report.cookie = bpf_get_socket_cookie(tp);
	if (query.cookie && report.cookie != query.cookie)
		return;
	describe(tp);
	report.passive = passive;
	rule = find_rule(tp, passive, listens);
	report.matching = rule ? rule->id : 0;
	if (met) {
		report.has_assignment = 1;
		report.assignment = *met;
	}
	describe_settings(tp);
	describe_parameters(tp);
	if (query.cookie) {
		u32 depth = BPF_CORE_READ(cgroup, level);

		report.depth = depth < RULE_CGROUP_DEPTH ? depth : RULE_CGROUP_DEPTH;
		report.is_full = !met && is_full(tp);
	}
	bpf_seq_write(seq, &report, sizeof(report));
	if (report.depth)
		write_path(seq, cgroup, report.depth);
}

SEC("iter/tcp")
int visit(struct bpf_iter__tcp *ctx)
{
	struct sock_common *skc = ctx->sk_common;
	struct seq_file *seq = ctx->meta->seq;
	struct rule_assignment *met;
	struct tcp_sock *tp;
	bool passive, listens, back = false;
	struct rule *rule;

	if (!skc)
		return 0;
	tp = bpf_skc_to_tcp_sock(skc);
	if (!tp)
		return 0;
	__builtin_memset(&report, 0, sizeof(report));
	listens = skc->skc_state == TCP_LISTEN;
	met = remembered(tp);
	passive = is_listened_on(skc, listens);
	if (met)
		passive = met->passive;
	if (task == RULE_REPORT) {
		tell(seq, tp, passive, listens, met);
		return 0;
	}
	if (task == RULE_COUNT) {
		if (met)
			count(met->rule_id);
		return 0;
	}
	rule = wanted(tp, met, passive, listens, &back);
	/* without room the write of a failure would fail, and the kernel shows the socket again */
	if ((rule || back) && has_room(seq))
		change(seq, tp, rule, passive, met);
	else if (rule || back)
		bpf_seq_write(seq, &report, sizeof(report));
	return 0;
}
