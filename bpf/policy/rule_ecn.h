/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ECN for a connection that is made: its SYN asks for it, whatever net.ipv4.tcp_ecn is.
 *
 * The kernel asks this program when it makes the SYN (BPF_SOCK_OPS_NEEDS_ECN), and takes a yes for what DCTCP needs: it sets ECE
 * and CWR, and marks the socket's packets as ECN-capable at once, the SYN too (tcp_ecn_send_syn()). Linux does not grant ECN to
 * such a SYN unless the listener's algorithm needs ECN (tcp_ecn_create_request()), and a socket whose peer does not agree would
 * send ECN-capable packets for good. RFC 3168, section 6.1.1, wants neither. Setting another algorithm takes the mark off
 * (tcp_reinit_congestion_control()), so it is set to another one and back when the kernel makes the header of the SYN
 * (BPF_SOCK_OPS_HDR_OPT_LEN_CB), which it tells if BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG is set. After the handshake the kernel marks
 * data if both sides agreed, and only then.
 *
 * Without a note nothing is asked for: it could not be ended.
 */
#ifndef CCCTL_RULE_ECN_H
#define CCCTL_RULE_ECN_H

#include "rule_settings.h"

static __always_inline struct rule_settings_note *ecn_note(const struct tcp_sock *tp)
{
	struct rule_settings_note *note = note_of(&settings_notes, tp);

	return note && note->has & SETTING(RULE_ECN) ? note : NULL;
}

/* One that needs ECN itself, and one that its route locks, are the kernel's to handle. */
static __always_inline bool can_change_algorithm(const struct tcp_sock *tp)
{
	const struct tcp_congestion_ops *ops = tp->inet_conn.icsk_ca_ops;

	return !(BPF_CORE_READ(ops, flags) & TCP_CONG_NEEDS_ECN) &&
	       !BPF_CORE_READ_BITFIELD(tp, inet_conn.icsk_ca_dst_locked);
}

/* The kernel asks when it makes a SYN, and also when two of them have crossed. */
static __always_inline void ask_for_ecn(struct bpf_sock_ops *ctx, const struct tcp_sock *tp)
{
	bool makes_syn = ((const struct sock_common *)tp)->skc_state == TCP_SYN_SENT;
	struct rule_settings_note *note = makes_syn ? ecn_note(tp) : NULL;
	u32 flags = ctx->bpf_sock_ops_cb_flags;

	if (!note || !can_change_algorithm(tp))
		return;
	note->has_flag = !(flags & BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG);
	if (note->has_flag)
		bpf_sock_ops_cb_flags_set(ctx, flags | BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG);
	ctx->reply = 1;
	note->is_marked = 1;
	note->setting[RULE_ECN].given = 1;
}

/* The socket's algorithm is set to another one and back. */
static __always_inline void change_and_back(struct bpf_sock_ops *ctx, const struct tcp_sock *tp,
					    const volatile char *not_reno)
{
	char own[TCP_CA_NAME_MAX], other[TCP_CA_NAME_MAX] = "reno";

	read_algorithm(tp, own);
	if (names_equal(own, "reno"))
#pragma unroll
		for (int i = 0; i < TCP_CA_NAME_MAX; i++)
			other[i] = not_reno[i];
	if (!bpf_setsockopt(ctx, SOL_TCP, TCP_CONGESTION, other, sizeof(other)))
		bpf_setsockopt(ctx, SOL_TCP, TCP_CONGESTION, own, sizeof(own));
}

/* With the header of the SYN; after the handshake where options left no room in it, and the kernel did not tell. */
static __always_inline void take_mark_off(struct bpf_sock_ops *ctx, const struct tcp_sock *tp,
					  const volatile char *not_reno)
{
	struct rule_settings_note *note = ecn_note(tp);

	if (!note || !note->is_marked)
		return;
	note->is_marked = 0;
	change_and_back(ctx, tp, not_reno);
	if (note->has_flag)
		bpf_sock_ops_cb_flags_set(ctx, ctx->bpf_sock_ops_cb_flags & ~BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG);
}

#endif
