/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reading a socket, for programs that watch: shared by the rules, the iterators and the traces. */
#ifndef CCCTL_SOCKET_READ_H
#define CCCTL_SOCKET_READ_H

#include "kernel/bpf.h"
#include "kernel/tcp.h"
#include "socket_stats.h"

/* The name in force, and the address of its table, which differs between the programs before and after a swap */
static __always_inline const struct tcp_congestion_ops *read_algorithm(const struct tcp_sock *tp, char *name)
{
	const struct tcp_congestion_ops *ops = tp->inet_conn.icsk_ca_ops;

	bpf_probe_read_kernel(name, TCP_CA_NAME_MAX, &ops->name);
	return ops;
}

/* Id of the struct_ops map that the table of a BPF algorithm lies in; 0: not a BPF algorithm */
static __always_inline u32 map_id_of(const struct tcp_congestion_ops *ops)
{
	u64 inside = bpf_core_field_offset(struct bpf_struct_ops_map, kvalue) +
		     bpf_core_field_offset(struct bpf_struct_ops_value, data);
	const struct bpf_struct_ops_map *map = (const void *)((u64)ops - inside);

	if (BPF_CORE_READ(map, map.map_type) != BPF_MAP_TYPE_STRUCT_OPS)
		return 0;
	return BPF_CORE_READ(map, map.id);
}

static __always_inline bool names_equal(const char *a, const volatile char *b)
{
	for (int i = 0; i < TCP_CA_NAME_MAX; i++) {
		if (a[i] != b[i])
			return false;
		if (!a[i])
			break;
	}
	return true;
}

static __always_inline u8 ca_state_of(const struct tcp_sock *tp)
{
	return BPF_CORE_READ_BITFIELD(tp, inet_conn.icsk_ca_state);
}

static __always_inline u32 timeouts_of(const struct tcp_sock *tp)
{
	return bpf_core_field_exists(tp->total_rto) ? tp->total_rto : 0;
}

/* As tcp_get_info_chrono_stats() has it for TCP_INFO: jiffies of one kind, TCP_CHRONO_..., up to now */
static __always_inline u32 chrono_jiffies(const struct tcp_sock *tp, u32 type)
{
	u32 jiffies = tp->chrono_stat[type - 1];

	if (BPF_CORE_READ_BITFIELD(tp, chrono_type) == type)
		jiffies += (u32)bpf_jiffies64() - tp->chrono_start;
	return jiffies;
}

static __always_inline void read_windows(struct socket_stats *stats, const struct tcp_sock *tp)
{
	stats->snd_cwnd = tp->snd_cwnd;
	stats->snd_ssthresh = tp->snd_ssthresh;
	stats->packets_out = tp->packets_out;
	stats->snd_una = tp->snd_una;
	stats->snd_nxt = tp->snd_nxt;
	stats->write_seq = tp->write_seq;
	stats->mss_cache = tp->mss_cache;
	stats->sk_pacing_rate = ((const struct sock *)tp)->sk_pacing_rate;
	stats->icsk_ca_state = ca_state_of(tp);
	stats->icsk_backoff = tp->inet_conn.icsk_backoff;
	stats->ecn_flags = tp->ecn_flags;
}

static __always_inline void read_measures(struct socket_stats *stats, const struct tcp_sock *tp)
{
	stats->srtt_us = tp->srtt_us;
	stats->mdev_us = tp->mdev_us;
	stats->rtt_min = tp->rtt_min.s[0].v;
	stats->rate_delivered = tp->rate_delivered;
	stats->rate_interval_us = tp->rate_interval_us;
	stats->rate_app_limited = BPF_CORE_READ_BITFIELD(tp, rate_app_limited);
	stats->retrans_out = tp->retrans_out;
	stats->total_retrans = tp->total_retrans;
	stats->segs_out = tp->segs_out;
	stats->data_segs_out = tp->data_segs_out;
	stats->total_rto = timeouts_of(tp);
	stats->delivered = tp->delivered;
	stats->delivered_ce = tp->delivered_ce;
	stats->lost = tp->lost;
	stats->bytes_acked = tp->bytes_acked;
	stats->chrono_stat[0] = chrono_jiffies(tp, TCP_CHRONO_BUSY);
	stats->chrono_stat[1] = chrono_jiffies(tp, TCP_CHRONO_RWND_LIMITED);
	stats->chrono_stat[2] = chrono_jiffies(tp, TCP_CHRONO_SNDBUF_LIMITED);
}

static __always_inline void read_socket(struct socket_stats *stats, const struct tcp_sock *tp)
{
	bpf_probe_read_kernel(stats->icsk_ca_priv, ICSK_CA_PRIV_SIZE, &tp->inet_conn.icsk_ca_priv);
	read_windows(stats, tp);
	read_measures(stats, tp);
}

#endif
