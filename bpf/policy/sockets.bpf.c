// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Every TCP socket of one network namespace: what it uses and how it fares, and moving it to something else.
 *
 * Six BPF iterators over TCP sockets (bpf_iter, 5.8; with the socket locked and bpf_setsockopt() allowed since 5.16),
 * of which the loader takes the one that it needs: `sockets` tells in short and moves, `details` tells all, `totals`
 * only adds up, `windows` adds up what was new since its last run, for the guard, `rates` does so for a live screen, and
 * `follow` tells all of those that it meets for the first time. They see listening sockets too, whose algorithm their
 * accepted connections inherit when it was set on them, and not those in TIME_WAIT or SYN_RECV, which have none. Whoever
 * opens the iterator decides the namespace: its own.
 *
 * A seventh, `owners`, goes over the open files of all processes; an eighth, `samples`, over the sockets that `follow` has
 * met, in all namespaces: its cost is that of these few, however many others there are. `samples_among_all` looks for the
 * same among all sockets of a namespace, where a kernel refuses the eighth.
 */
#include "socket_match.h"
#include "rule_memory.h" /* its maps are those of the rules in force, which the loader hands over */

#define PROGRAMS_MOST 4096 /* with sockets: far more than anybody loads */
#define WINDOW_SOURCES 16384 /* what comes from others is only in the sum of all */

char _license[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, PROGRAMS_MOST);
	__type(key, struct socket_totals_key);
	__type(value, struct socket_totals);
} sums SEC(".maps");

/* Goes with its socket: sums of what is new are right although sockets close. */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct socket_seen);
} seen SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, WINDOW_SOURCES);
	__type(key, struct socket_window_key);
	__type(value, struct socket_window);
} news SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct socket_counted);
} counted SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, PROGRAMS_MOST);
	__type(key, struct socket_totals_key);
	__type(value, struct socket_rates);
} rated SEC(".maps");

/* Sockets that `follow` has met */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, u64);
} followed SEC(".maps");

static void move(struct tcp_sock *tp, struct socket_record *record)
{
	char to[TCP_CA_NAME_MAX] = {};
	char now[TCP_CA_NAME_MAX];
	const void *ops_before = read_algorithm(tp, now);

	for (int i = 0; i < TCP_CA_NAME_MAX; i++)
		to[i] = query.to[i];
	record->error = bpf_setsockopt(tp, SOL_TCP, TCP_CONGESTION, to, sizeof(to));
	record->moved = read_algorithm(tp, now) != ops_before;
}

/* A socket must not be moved and then shown again: by then it has another name. seq_write() wants one byte to spare. */
static bool has_room(const struct seq_file *seq)
{
	return seq->count + sizeof(struct socket_record) < seq->size;
}

/* The socket, if it has an algorithm: not one in TIME_WAIT or SYN_RECV, and not the end of the table */
static struct tcp_sock *full_socket(struct sock_common *skc)
{
	return skc ? bpf_skc_to_tcp_sock(skc) : NULL;
}

SEC("?iter/tcp")
int sockets(struct bpf_iter__tcp *ctx)
{
	struct sock_common *skc = ctx->sk_common;
	struct tcp_sock *tp = full_socket(skc);
	struct socket_record record = {};

	if (!tp || !matches(skc, tp, &record))
		return 0;
	if (query.to[0] &&
	    has_room(ctx->meta->seq)) /* without room the write fails, and the kernel shows the socket again */
		move(tp, &record);
	bpf_seq_write(ctx->meta->seq, &record, sizeof(record));
	return 0;
}

SEC("?iter/tcp")
int details(struct bpf_iter__tcp *ctx)
{
	struct sock_common *skc = ctx->sk_common;
	struct tcp_sock *tp = full_socket(skc);
	struct socket_detail detail = {};

	if (!tp || !matches(skc, tp, &detail.socket))
		return 0;
	detail.cgroup_id = cgroup_id_of(tp);
	read_socket(&detail.stats, tp);
	bpf_seq_write(ctx->meta->seq, &detail, sizeof(detail));
	return 0;
}

/* Where the record does not fit any more the kernel shows the socket again: only then it must not count as met. */
SEC("?iter/tcp")
int follow(struct bpf_iter__tcp *ctx)
{
	struct sock_common *skc = ctx->sk_common;
	struct tcp_sock *tp = full_socket(skc);
	struct socket_detail detail = {};

	if (!tp || !matches(skc, tp, &detail.socket) || detail.socket.state == TCP_LISTEN)
		return 0;
	if (bpf_sk_storage_get(&followed, tp, NULL, 0))
		return 0;
	detail.cgroup_id = cgroup_id_of(tp);
	read_socket(&detail.stats, tp);
	if (!bpf_seq_write(ctx->meta->seq, &detail, sizeof(detail)))
		bpf_sk_storage_get(&followed, tp, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	return 0;
}

/* True if nothing has changed meanwhile that would have come with other values. */
static bool read_once(struct socket_sample *sample, struct tcp_sock *tp)
{
	struct socket_detail *detail = &sample->detail;
	u64 mstamp = tp->tcp_mstamp;

	detail->socket.map_id = map_id_of(read_algorithm(tp, detail->socket.algorithm));
	read_socket(&detail->stats, tp);
	return tp->tcp_mstamp == mstamp && tp->snd_una == detail->stats.snd_una &&
	       tp->delivered == detail->stats.delivered;
}

/*
 * No lock is held: read again what another processor has changed meanwhile, but not for ever. Not a loop: 6.1 refuses one
 * whose body falls into its head, as clang lays this one out.
 */
static void read_sample(struct socket_sample *sample, struct tcp_sock *tp)
{
	(void)(read_once(sample, tp) || read_once(sample, tp) || read_once(sample, tp));
}

static void write_sample(struct seq_file *seq, struct sock *sk, struct tcp_sock *tp)
{
	struct socket_sample sample = {};

	sample.time_ns = bpf_ktime_get_ns();
	sample.detail.socket.cookie = bpf_get_socket_cookie(tp);
	sample.detail.socket.state = ((struct sock_common *)sk)->skc_state;
	read_sample(&sample, tp);
	bpf_seq_write(seq, &sample, sizeof(sample));
}

SEC("?iter/bpf_sk_storage_map")
int samples(struct bpf_iter__bpf_sk_storage_map *ctx)
{
	struct sock *sk = ctx->sk;
	struct tcp_sock *tp;

	if (!sk)
		return 0;
	tp = bpf_skc_to_tcp_sock(sk);
	if (tp)
		write_sample(ctx->meta->seq, sk, tp);
	return 0;
}

/* For kernels whose policy refuses the iterator above: goes over all sockets of a namespace for the few that are followed. */
SEC("?iter/tcp")
int samples_among_all(struct bpf_iter__tcp *ctx)
{
	struct sock_common *skc = ctx->sk_common;
	struct tcp_sock *tp = full_socket(skc);

	if (tp && bpf_sk_storage_get(&followed, tp, NULL, 0))
		write_sample(ctx->meta->seq, (struct sock *)skc, tp);
	return 0;
}

static struct socket_totals *totals_of(const struct socket_record *record)
{
	static const struct socket_totals none;
	struct socket_totals_key key = { .map_id = record->map_id };
	struct socket_totals *found;

	__builtin_memcpy(key.algorithm, record->algorithm, TCP_CA_NAME_MAX);
	found = bpf_map_lookup_elem(&sums, &key);
	if (found)
		return found;
	bpf_map_update_elem(&sums, &key, &none, 0);
	return bpf_map_lookup_elem(&sums, &key);
}

SEC("?iter/tcp")
int totals(struct bpf_iter__tcp *ctx)
{
	struct sock_common *skc = ctx->sk_common;
	struct tcp_sock *tp = full_socket(skc);
	struct socket_record record = {};
	struct socket_totals *sum;

	if (!tp || !matches(skc, tp, &record))
		return 0;
	sum = totals_of(&record);
	if (!sum)
		return 0;
	sum->sockets++;
	if (record.state == TCP_LISTEN)
		return 0;
	sum->sending += tp->packets_out > 0;
	sum->in_loss += ca_state_of(tp) == TCP_CA_Loss;
	sum->in_backoff += tp->inet_conn.icsk_backoff > 0;
	sum->segments_out += tp->segs_out;
	sum->retransmits_pkts += tp->total_retrans;
	sum->timeouts += timeouts_of(tp);
	return 0;
}

static bool is_impossible(const struct tcp_sock *tp)
{
	return tp->snd_cwnd > CC_CWND_MAX_PKTS ||
	       (tp->snd_ssthresh > CC_CWND_MAX_PKTS && tp->snd_ssthresh != TCP_INFINITE_SSTHRESH);
}

/* What is new of a socket. The counters wrap; so do their differences, and are right. */
static void take_news(struct socket_window *window, const struct tcp_sock *tp, struct socket_seen *before)
{
	bool is_in_loss = ca_state_of(tp) == TCP_CA_Loss || tp->inet_conn.icsk_backoff;
	struct socket_seen now = {};
	u32 sent;

	now.data_segments = tp->data_segs_out;
	now.retransmits_pkts = tp->total_retrans;
	now.timeouts = timeouts_of(tp);
	sent = now.data_segments - before->data_segments;
	window->active = sent || tp->packets_out;
	window->impossible = window->active && is_impossible(tp);
	if (!window->impossible) {
		window->stalled = tp->packets_out && is_in_loss;
		window->data_segments = sent;
		window->retransmits_pkts = now.retransmits_pkts - before->retransmits_pkts;
		window->timeouts = (u16)(now.timeouts - before->timeouts);
	}
	*before = now;
}

static void add_news(struct socket_window_key *key, u32 source, const struct socket_window *more)
{
	struct socket_window *sum;

	key->source = source;
	sum = bpf_map_lookup_elem(&news, key);
	if (!sum) {
		bpf_map_update_elem(&news, key, more, BPF_ANY);
		return;
	}
	sum->active += more->active;
	sum->impossible += more->impossible;
	sum->stalled += more->stalled;
	sum->data_segments += more->data_segments;
	sum->retransmits_pkts += more->retransmits_pkts;
	sum->timeouts += more->timeouts;
}

static void add_by_sources(const struct socket_record *record, struct tcp_sock *tp, const struct socket_window *more)
{
	const struct sock *user = (const void *)tp;
	struct socket_window_key key = {};

	__builtin_memcpy(key.algorithm, record->algorithm, TCP_CA_NAME_MAX);
	add_news(&key, SOURCE_ALL, more);
	__builtin_memcpy(key.id, record->destination, 16);
	if (((const u64 *)record->destination)[0]) /* an IPv4 address has none there */
		__builtin_memset(key.id + 8, 0, 8);
	add_news(&key, SOURCE_PEER, more);
	__builtin_memset(key.id, 0, 16);
	*(u32 *)key.id = user->sk_uid.val;
	add_news(&key, SOURCE_USER, more);
	*(u64 *)key.id = cgroup_id_of(tp);
	add_news(&key, SOURCE_CGROUP, more);
}

/* Whoever makes a user namespace is root in it, and makes network namespaces as he likes. */
static bool is_of_a_user_namespace(const struct sock_common *skc)
{
	return BPF_CORE_READ(skc, skc_net.net, user_ns, level) > 0;
}

/* Did a rule or the default of its namespace give the socket what it uses, and not the application itself? */
static bool is_given(struct tcp_sock *tp, const struct socket_record *record)
{
	const struct rule_assignment *met = remembered(tp);

	if (met && names_equal(record->algorithm, met->given))
		return true;
	return !BPF_CORE_READ_BITFIELD(tp, inet_conn.icsk_ca_setsockopt);
}

/* A socket that is met for the first time has counted since it was made. */
SEC("?iter/tcp")
int windows(struct bpf_iter__tcp *ctx)
{
	struct sock_common *skc = ctx->sk_common;
	struct tcp_sock *tp = full_socket(skc);
	struct socket_record record = {};
	struct socket_window more = {};
	struct socket_seen *before;

	if (!tp || is_of_a_user_namespace(skc) || !matches(skc, tp, &record) || record.state == TCP_LISTEN)
		return 0;
	before = bpf_sk_storage_get(&seen, tp, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	if (!before)
		return 0;
	take_news(&more, tp, before);
	if (more.active && is_given(tp, &record))
		add_by_sources(&record, tp, &more);
	return 0;
}

static struct socket_rates *rates_of(const struct socket_record *record)
{
	static const struct socket_rates none;
	struct socket_totals_key key = { .map_id = record->map_id };
	struct socket_rates *found;

	__builtin_memcpy(key.algorithm, record->algorithm, TCP_CA_NAME_MAX);
	found = bpf_map_lookup_elem(&rated, &key);
	if (found)
		return found;
	bpf_map_update_elem(&rated, &key, &none, 0);
	return bpf_map_lookup_elem(&rated, &key);
}

/*
 * A mean is of those that send, each with the weight of what was acknowledged: who is idle or only receives has a window
 * and an RTT of its handshake. SYN and FIN count as acknowledged bytes, also of who has never sent data. In 64 bits are
 * 2^35 packets, an hour at 100 Gbit/s, times a window of 2^28 or an RTT of 2^28 us.
 */
static void add_sender(struct socket_rates *rates, const struct tcp_sock *tp, u64 acked_bytes)
{
	u32 mss_bytes = tp->mss_cache ? tp->mss_cache : 1;
	u64 acked_pkts = (acked_bytes + mss_bytes - 1) / mss_bytes;

	if (!acked_bytes || !tp->data_segs_out)
		return;
	rates->senders++;
	rates->acked_pkts += acked_pkts;
	rates->acked_cwnd += acked_pkts * tp->snd_cwnd;
	rates->acked_srtt_us += acked_pkts * (tp->srtt_us >> 3);
}

/* The counters of 32 bits wrap; so do their differences, and are right. */
static void add_rates(struct socket_rates *rates, const struct tcp_sock *tp, struct socket_counted *before)
{
	struct socket_counted now = {};
	u32 segments, retransmits;

	now.acked_bytes = tp->bytes_acked;
	now.data_segments = tp->data_segs_out;
	now.retransmits_pkts = tp->total_retrans;
	segments = now.data_segments - before->data_segments;
	retransmits = now.retransmits_pkts - before->retransmits_pkts;
	rates->acked_bytes += now.acked_bytes - before->acked_bytes;
	add_sender(rates, tp, now.acked_bytes - before->acked_bytes);
	rates->data_segments += segments;
	rates->retransmits_pkts += retransmits;
	*before = now;
}

/* Like `windows`, with what people look at. */
SEC("?iter/tcp")
int rates(struct bpf_iter__tcp *ctx)
{
	struct sock_common *skc = ctx->sk_common;
	struct tcp_sock *tp = full_socket(skc);
	struct socket_record record = {};
	struct socket_counted *before;
	struct socket_rates *sum;

	if (!tp || !matches(skc, tp, &record))
		return 0;
	sum = rates_of(&record);
	if (!sum)
		return 0;
	sum->sockets++;
	if (record.state == TCP_LISTEN)
		return 0;
	sum->impossible += is_impossible(tp);
	before = bpf_sk_storage_get(&counted, tp, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	if (before)
		add_rates(sum, tp, before);
	return 0;
}

/* Who has which TCP socket open: far faster than reading every link below /proc. */
SEC("?iter/task_file")
int owners(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	struct socket_owner owner = {};
	struct socket *socket;
	struct tcp_sock *tp;
	u8 one = 1;

	if (!task || !file || (query.pid && task->tgid != query.pid))
		return 0;
	socket = bpf_sock_from_file(file);
	if (!socket || !socket->sk)
		return 0;
	tp = bpf_skc_to_tcp_sock(socket->sk);
	if (!tp)
		return 0;
	owner.cookie = bpf_get_socket_cookie(tp);
	owner.pid = task->tgid;
	bpf_probe_read_kernel(owner.comm, TASK_COMM_LEN, &task->group_leader->comm);
	if (query.pid)
		bpf_map_update_elem(&selected, &owner.cookie, &one, 0);
	bpf_seq_write(ctx->meta->seq, &owner, sizeof(owner));
	return 0;
}
