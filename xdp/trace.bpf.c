// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What happens to chosen sockets: each ACK, each retransmission, each step of loss recovery, their end.
 *
 * A socket is chosen by its cookie in a hash. All others pay for a trace point that fires and a bit that is not set; they
 * are not described. `ack_arrives` is only attached where every ACK is wanted.
 *
 * Records go through one ring. What finds no room in it is counted in `trace_lost`, by processor.
 */
#include "socket_read.h"
#include "trace_record.h"

#define CHOSEN_MOST 65536
#define RING_BYTES (8 << 20) /* unless user space sets another */

char _license[] SEC("license") = "GPL";

const volatile struct trace_settings settings = {};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, CHOSEN_MOST);
	__type(key, u64); /* cookie */
	__type(value, u8);
} chosen SEC(".maps");

/* Bits by cookie, of all that were ever chosen: most sockets are told by them, without the hash. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TRACE_HINTS);
	__type(key, u32);
	__type(value, u64);
} hints SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, RING_BYTES);
} events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} trace_lost SEC(".maps");

/* Connections that became established: a reason to look which of them to choose. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} opened SEC(".maps");

static __always_inline void count(void *map)
{
	u32 zero = 0;
	u64 *counter = bpf_map_lookup_elem(map, &zero);

	if (counter)
		++*counter;
}

/* Room for one record, with all that is known of the socket; NULL where there is none. */
static __always_inline struct trace_record *describe(struct tcp_sock *tp, u64 cookie, u8 kind)
{
	struct trace_record *record = bpf_ringbuf_reserve(&events, sizeof(*record), 0);

	if (!record) {
		count(&trace_lost);
		return NULL;
	}
	record->time_ns = bpf_ktime_get_ns();
	record->cookie = cookie;
	record->kind = kind;
	record->map_id = map_id_of(read_algorithm(tp, record->algorithm));
	read_socket(&record->stats, tp);
	return record;
}

/* The cookie of a chosen socket; 0 of all others. */
static __always_inline u64 chosen_cookie(struct sock *sk)
{
	u64 cookie = sk->__sk_common.skc_cookie.counter;
	u32 word = cookie / TRACE_HINT_BITS % TRACE_HINTS;
	u64 *hint = bpf_map_lookup_elem(&hints, &word);

	if (!hint || !(*hint >> cookie % TRACE_HINT_BITS & 1))
		return 0;
	return bpf_map_lookup_elem(&chosen, &cookie) ? cookie : 0;
}

static __always_inline void tell(struct sock *sk, u64 cookie, u8 kind)
{
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	struct trace_record *record;

	if (!tp)
		return;
	record = describe(tp, cookie, kind);
	if (record)
		bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP); /* user space polls, some hundred times a second */
}

SEC("tp_btf/tcp_probe")
int BPF_PROG(ack_arrives, struct sock *sk)
{
	u64 cookie = chosen_cookie(sk);

	if (cookie)
		tell(sk, cookie, TRACE_ACK);
	return 0;
}

SEC("tp_btf/tcp_retransmit_skb")
int BPF_PROG(retransmitted, struct sock *sk)
{
	u64 cookie = chosen_cookie(sk);

	if (cookie)
		tell(sk, cookie, TRACE_RETRANSMIT);
	return 0;
}

/* Each timeout enters TCP_CA_Loss, also when it is there already. */
SEC("tp_btf/tcp_cong_state_set")
int BPF_PROG(recovery_set, struct sock *sk, u8 recovery)
{
	u64 cookie = chosen_cookie(sk);
	struct trace_record *record;
	struct tcp_sock *tp;

	if (!cookie)
		return 0;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return 0;
	record = describe(tp, cookie, recovery == TCP_CA_Loss ? TRACE_TIMEOUT : TRACE_RECOVERY);
	if (!record)
		return 0;
	record->stats.icsk_ca_state = recovery;
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return 0;
}

static __always_inline bool has_port(const struct sock *sk)
{
	if (!settings.port || sk->__sk_common.skc_num == settings.port)
		return true;
	return bpf_ntohs(sk->__sk_common.skc_dport) == settings.port;
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(connection_changes, struct sock *sk, int before, int after)
{
	u64 cookie;

	if (after == TCP_ESTABLISHED && has_port(sk))
		count(&opened);
	if (after != TCP_CLOSE)
		return 0;
	cookie = chosen_cookie(sk);
	if (!cookie)
		return 0;
	tell(sk, cookie, TRACE_CLOSED);
	bpf_map_delete_elem(&chosen, &cookie);
	return 0;
}
