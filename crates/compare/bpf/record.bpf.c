// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records each call of a module's hooks, or of those of an algorithm that ccctl has loaded: the socket when the hook is
 * entered, and when it returns.
 *
 * A pair of programs for each kind of hook; user space says which of the kernel's functions a pair is attached to, and
 * leaves out the pairs of hooks that the module does not have. Functions of the core that several algorithms name in
 * their tables (tcp_reno_undo_cwnd) are recorded for sockets of the wanted algorithm only.
 */
#include "kernel/bpf.h"
#include "kernel/tcp.h"

#include "call.h"

#define NO_POINTER 0xffffffffU

char _license[] SEC("license") = "GPL";

const volatile char algorithm[TCP_CA_NAME_MAX] = "";
const volatile u32 pointer_word = NO_POINTER; /* of ca_priv: points to memory that belongs to the state */
const volatile u32 of_programs = 0; /* not 0: the hooks are BPF programs, whose one argument points to the arguments */

/* Calls that are dropped; user space reads the two by their order */
struct {
	u64 without_room; /* in a map */
	u64 torn; /* beginning of one, end of another */
} lost;

struct running {
	u64 socket;
	u64 hook;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, struct running);
	__type(value, struct call);
} calls SEC(".maps");

/* Hooks of a socket that run at this moment of its clock */
struct nesting {
	u64 tcp_mstamp;
	u64 depth;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, u64);
	__type(value, struct nesting);
} nestings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 << 20);
} records SEC(".maps");

static const struct call no_call;

/* A hook's argument. Constant: the verifier drops the branch not taken. */
#define ARGUMENT(ctx, index) (of_programs ? program_argument(ctx[0], index) : ctx[index])

static __always_inline u64 program_argument(u64 arguments, u32 index)
{
	u64 value = 0;

	bpf_probe_read_kernel(&value, sizeof(value), (u64 *)arguments + index);
	return value;
}

static __always_inline bool is_wanted(const struct inet_connection_sock *icsk)
{
	char name[TCP_CA_NAME_MAX] = "";

	bpf_probe_read_kernel(name, sizeof(name), &BPF_CORE_READ(icsk, icsk_ca_ops)->name);
	for (int i = 0; i < TCP_CA_NAME_MAX; i++) {
		if (name[i] != algorithm[i])
			return false;
		if (!name[i])
			break;
	}
	return true;
}

static __always_inline void read_socket(struct call_socket *to, struct tcp_sock *tp)
{
	struct inet_connection_sock *icsk = (struct inet_connection_sock *)tp;
	struct sock *sk = (struct sock *)tp;

	to->tcp_mstamp = BPF_CORE_READ(tp, tcp_mstamp);
	to->tcp_clock_cache = BPF_CORE_READ(tp, tcp_clock_cache);
	to->tcp_wstamp_ns = BPF_CORE_READ(tp, tcp_wstamp_ns);
	to->delivered_mstamp = BPF_CORE_READ(tp, delivered_mstamp);
	to->sk_pacing_rate = BPF_CORE_READ(sk, sk_pacing_rate);
	to->sk_max_pacing_rate = BPF_CORE_READ(sk, sk_max_pacing_rate);
	bpf_core_read(to->ca_priv, sizeof(to->ca_priv), &icsk->icsk_ca_priv);
	to->sk_pacing_status = BPF_CORE_READ(sk, sk_pacing_status);
	to->sk_gso_max_size = BPF_CORE_READ(sk, sk_gso_max_size);
	to->mss_cache = BPF_CORE_READ(tp, mss_cache);
	to->snd_una = BPF_CORE_READ(tp, snd_una);
	to->snd_nxt = BPF_CORE_READ(tp, snd_nxt);
	to->snd_cwnd = BPF_CORE_READ(tp, snd_cwnd);
	to->snd_cwnd_cnt = BPF_CORE_READ(tp, snd_cwnd_cnt);
	to->snd_cwnd_clamp = BPF_CORE_READ(tp, snd_cwnd_clamp);
	to->snd_ssthresh = BPF_CORE_READ(tp, snd_ssthresh);
	to->prior_cwnd = BPF_CORE_READ(tp, prior_cwnd);
	to->srtt_us = BPF_CORE_READ(tp, srtt_us);
	to->max_packets_out = BPF_CORE_READ(tp, max_packets_out);
	to->delivered = BPF_CORE_READ(tp, delivered);
	to->delivered_ce = BPF_CORE_READ(tp, delivered_ce);
	to->lost = BPF_CORE_READ(tp, lost);
	to->app_limited = BPF_CORE_READ(tp, app_limited);
	to->packets_out = BPF_CORE_READ(tp, packets_out);
	to->sacked_out = BPF_CORE_READ(tp, sacked_out);
	to->lost_out = BPF_CORE_READ(tp, lost_out);
	to->retrans_out = BPF_CORE_READ(tp, retrans_out);
	to->rcv_nxt = BPF_CORE_READ(tp, rcv_nxt);
	to->rcv_wup = BPF_CORE_READ(tp, rcv_wup);
	to->rcv_tsval = BPF_CORE_READ(tp, rx_opt.rcv_tsval);
	to->rcv_tsecr = BPF_CORE_READ(tp, rx_opt.rcv_tsecr);
	to->ca_state = BPF_CORE_READ_BITFIELD_PROBED(icsk, icsk_ca_state);
	to->is_cwnd_limited = BPF_CORE_READ_BITFIELD_PROBED(tp, is_cwnd_limited);
	to->saw_tstamp = BPF_CORE_READ_BITFIELD_PROBED(tp, rx_opt.saw_tstamp);
	if (bpf_core_field_exists(tp->tcp_usec_ts))
		to->tcp_usec_ts = BPF_CORE_READ_BITFIELD_PROBED(tp, tcp_usec_ts);
	to->ecn_flags = BPF_CORE_READ(tp, ecn_flags);
	to->ack_pending = BPF_CORE_READ(icsk, icsk_ack.pending);
	to->sk_pacing_shift = BPF_CORE_READ(sk, sk_pacing_shift);
}

static __always_inline void read_extra(struct call *call)
{
	u32 word = pointer_word;

	if (word < ICSK_CA_PRIV_SIZE / 8 && call->before.ca_priv[word])
		bpf_probe_read_kernel(call->extra, sizeof(call->extra), (void *)call->before.ca_priv[word]);
}

static __always_inline void read_rtt_min(struct call *call, u64 socket)
{
	if (pointer_word == NO_POINTER)
		call->extra[CALL_EXTRA_RTT_MIN] = BPF_CORE_READ((struct tcp_sock *)socket, rtt_min.s[0].v);
}

/*
 * An interrupt within one of these programs may bring ACKs of other sockets, for whose calls the kernel does not run the same
 * program once more: their beginnings, or their ends, are not seen. So what is kept of a socket may be of a call that has long
 * returned. The socket's clock tells: it is set for each packet, and stands still in a call and in those nested in it.
 */
static __always_inline u64 moment(u64 socket)
{
	return BPF_CORE_READ((struct tcp_sock *)socket, tcp_mstamp);
}

/* How many hooks of this socket are running, and one more from now on */
static __always_inline u32 enter(u64 socket)
{
	struct nesting nesting = { .tcp_mstamp = moment(socket) };
	struct nesting *before = bpf_map_lookup_elem(&nestings, &socket);
	u32 depth = 0;

	if (before && before->tcp_mstamp == nesting.tcp_mstamp)
		depth = before->depth;
	nesting.depth = depth + 1;
	bpf_map_update_elem(&nestings, &socket, &nesting, BPF_ANY);
	return depth;
}

static __always_inline void leave(u64 socket, u32 depth)
{
	struct nesting nesting = { .tcp_mstamp = moment(socket), .depth = depth };

	if (depth)
		bpf_map_update_elem(&nestings, &socket, &nesting, BPF_ANY);
	else
		bpf_map_delete_elem(&nestings, &socket);
}

static __always_inline struct call *begin(u64 socket, u32 hook)
{
	struct running key = { .socket = socket, .hook = hook };
	struct call *call;

	if (!is_wanted((void *)socket))
		return 0;
	if (bpf_map_update_elem(&calls, &key, &no_call, BPF_ANY)) {
		__sync_fetch_and_add(&lost.without_room, 1);
		return 0;
	}
	call = bpf_map_lookup_elem(&calls, &key);
	if (!call)
		return 0;
	call->nested = enter(socket);
	call->socket = socket;
	call->hook = hook;
	call->time_ns = bpf_ktime_get_ns();
	call->jiffies = bpf_jiffies64();
	read_socket(&call->before, (void *)socket);
	read_extra(call);
	if (of_programs)
		read_rtt_min(call, socket);
	return call;
}

static __always_inline int end(void *ctx, u64 socket, u32 hook)
{
	struct running key = { .socket = socket, .hook = hook };
	struct call *call = bpf_map_lookup_elem(&calls, &key);
	u64 returned = 0;

	if (!call)
		return 0;
	leave(socket, call->nested);
	read_socket(&call->after, (void *)socket);
	bpf_get_func_ret(ctx, &returned);
	call->returned = returned;
	if (call->before.tcp_mstamp != call->after.tcp_mstamp)
		__sync_fetch_and_add(&lost.torn, 1);
	else if (bpf_ringbuf_output(&records, call, sizeof(*call), 0))
		__sync_fetch_and_add(&lost.without_room, 1);
	bpf_map_delete_elem(&calls, &key);
	return 0;
}

/* The last argument: since 6.10 the fourth, before the second. Programs are recorded on kernels with four. */
static __always_inline void read_rate_sample(struct call *call, void *ctx)
{
	const struct rate_sample *sample;
	u64 argument = 0;

	if (of_programs)
		argument = program_argument(*(u64 *)ctx, 3);
	else
		bpf_get_func_arg(ctx, bpf_get_func_arg_cnt(ctx) - 1, &argument);
	sample = (const struct rate_sample *)argument;
	call->extra[CALL_EXTRA_PRIOR_DELIVERED] = BPF_CORE_READ(sample, prior_delivered);
	call->extra[CALL_EXTRA_DELIVERED] = (s64)BPF_CORE_READ(sample, delivered);
	call->extra[CALL_EXTRA_INTERVAL_US] = BPF_CORE_READ(sample, interval_us);
	call->extra[CALL_EXTRA_RTT_US] = BPF_CORE_READ(sample, rtt_us);
	call->extra[CALL_EXTRA_LOSSES] = (u32)BPF_CORE_READ(sample, losses) | (u64)BPF_CORE_READ(sample, acked_sacked)
										      << 32;
	call->extra[CALL_EXTRA_PRIOR_IN_FLIGHT] = BPF_CORE_READ(sample, prior_in_flight);
	call->extra[CALL_EXTRA_FLAGS] = BPF_CORE_READ(sample, is_app_limited) | BPF_CORE_READ(sample, is_ack_delayed)
											<< 1;
}

/* The name is the hook's; the function that follows fentry/ is a place holder. */
#define RECORD(name, hook, arguments)                                                                                  \
	SEC("fentry/tcp_reno_ssthresh") int before_##name(u64 *ctx)                                                    \
	{                                                                                                              \
		struct call *call = begin(ARGUMENT(ctx, 0), hook);                                                     \
                                                                                                                       \
		if (call) {                                                                                            \
			arguments                                                                                      \
		}                                                                                                      \
		return 0;                                                                                              \
	}                                                                                                              \
	SEC("fexit/tcp_reno_ssthresh") int after_##name(u64 *ctx)                                                      \
	{                                                                                                              \
		return end(ctx, ARGUMENT(ctx, 0), hook);                                                               \
	}

#define ACK_SAMPLE ((const struct ack_sample *)ARGUMENT(ctx, 1))

RECORD(init, CALL_INIT, { read_rtt_min(call, ARGUMENT(ctx, 0)); })
RECORD(release, CALL_RELEASE, {})
RECORD(ssthresh, CALL_SSTHRESH, {})
RECORD(cong_avoid, CALL_CONG_AVOID, {
	call->ack = ARGUMENT(ctx, 1);
	call->argument = ARGUMENT(ctx, 2);
})
RECORD(set_state, CALL_SET_STATE, { call->argument = (u8)ARGUMENT(ctx, 1); })
RECORD(cwnd_event, CALL_CWND_EVENT, { call->argument = ARGUMENT(ctx, 1); })
RECORD(tx_start, CALL_TX_START, {})
RECORD(in_ack_event, CALL_IN_ACK_EVENT, { call->argument = ARGUMENT(ctx, 1); })
RECORD(pkts_acked, CALL_PKTS_ACKED, {
	call->sample_pkts = BPF_CORE_READ(ACK_SAMPLE, pkts_acked);
	call->sample_rtt_us = BPF_CORE_READ(ACK_SAMPLE, rtt_us);
	call->sample_in_flight = BPF_CORE_READ(ACK_SAMPLE, in_flight);
})
RECORD(undo_cwnd, CALL_UNDO_CWND, {})
RECORD(cong_control, CALL_CONG_CONTROL, {
	read_rtt_min(call, ARGUMENT(ctx, 0));
	read_rate_sample(call, ctx);
})
RECORD(min_tso_segs, CALL_MIN_TSO_SEGS, {})
