/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a rule sets besides the algorithm: setting it, remembering what was there, and taking it back.
 *
 *   initial window   TCP_BPF_IW: until data are sent. tcp_init_transfer() sets the window anew when the handshake is done, so
 *                    it is set after that
 *   minimum RTO      TCP_BPF_RTO_MIN: icsk_rto_min, in ticks; a route with a locked rto_min outranks it
 *   pacing cap       SO_MAX_PACING_RATE: sk_max_pacing_rate. The socket is paced from then on, also when the cap is taken back
 *   notsent_lowat    TCP_NOTSENT_LOWAT: notsent_lowat
 *   delayed ACK      TCP_BPF_DELACK_MAX: icsk_delack_max, in ticks
 *   ECN              rule_ecn.h
 *
 * What a connection had is in a note as in rule_memory.h, and nowhere else: its process cannot fill that memory. A connection
 * that finds no room there is given what the rule says, and keeps it. Listeners are given nothing: what they have is their
 * application's, and the connections that they accept inherit it.
 */
#ifndef CCCTL_RULE_SETTINGS_H
#define CCCTL_RULE_SETTINGS_H

#include "rule_match.h"

#define SETTING(which) (1U << (which))
/* Of a connection that is about to send its SYN, of one whose handshake is done, and of one that is alive */
#define SETTINGS_BEFORE_SYN (SETTINGS_ALIVE | SETTING(RULE_ECN))
#define SETTINGS_ACCEPTED (SETTINGS_ALIVE | SETTING(RULE_INITIAL_WINDOW))
#define SETTINGS_ALIVE ((SETTING(RULE_SETTINGS) - 1) & ~(SETTING(RULE_INITIAL_WINDOW) | SETTING(RULE_ECN)))

/* A rule has settings, or one had. Where it is 0 the verifier leaves out all that follows: half of what it looks at otherwise. */
const volatile u32 has_settings SEC(".rodata.has_settings");

RULE_MAP(rule_settings, BPF_MAP_TYPE_ARRAY, 0, u32, struct rule_settings, 1);

/* Outlives the other maps of the rules. By the address of the socket. The kernel keeps 15 characters of a map's name. */
RULE_MAP(settings_notes, BPF_MAP_TYPE_HASH, BPF_F_NO_PREALLOC, u64, struct rule_settings_note, RULE_NOTES);

/* In the place of one whose socket is gone; NULL where there is no room. `owner` is what the helper wants. */
static __always_inline struct rule_settings_note *new_settings_note(void *owner, const void *tp)
{
	static const struct rule_settings_note empty SEC(".rodata.empty");
	struct rule_settings_note *note = note_made_at(&settings_notes, tp, &empty);

	if (!note)
		return NULL;
	*note = empty;
	note->cookie = bpf_get_socket_cookie(owner);
	return note;
}

static __always_inline u32 read_setting(const struct tcp_sock *tp, u32 which, u32 tick_us)
{
	unsigned long rate;

	switch (which) {
	case RULE_INITIAL_WINDOW:
		return tp->snd_cwnd;
	case RULE_MIN_RTO:
		return tp->inet_conn.icsk_rto_min * tick_us;
	case RULE_MAX_PACING_RATE:
		rate = ((const struct sock *)tp)->sk_max_pacing_rate;
		return rate < RULE_NO_LIMIT ? rate : RULE_NO_LIMIT;
	case RULE_NOTSENT_LOWAT:
		return tp->notsent_lowat;
	case RULE_MAX_DELAYED_ACK:
		return tp->inet_conn.icsk_delack_max * tick_us;
	default:
		return !!(tp->ecn_flags & (TCP_ECN_OK | TCP_ECN_MODE_ACCECN));
	}
}

/* `setter` is what bpf_setsockopt() wants here: the context, or the socket. */
static __always_inline int write_setting(void *setter, u32 which, u32 value)
{
	switch (which) {
	case RULE_INITIAL_WINDOW:
		return bpf_setsockopt(setter, SOL_TCP, TCP_BPF_IW, &value, sizeof(value));
	case RULE_MIN_RTO:
		return bpf_setsockopt(setter, SOL_TCP, TCP_BPF_RTO_MIN, &value, sizeof(value));
	case RULE_MAX_PACING_RATE:
		return bpf_setsockopt(setter, SOL_SOCKET, SO_MAX_PACING_RATE, &value, sizeof(value));
	case RULE_NOTSENT_LOWAT:
		return bpf_setsockopt(setter, SOL_TCP, TCP_NOTSENT_LOWAT, &value, sizeof(value));
	case RULE_MAX_DELAYED_ACK:
		return bpf_setsockopt(setter, SOL_TCP, TCP_BPF_DELACK_MAX, &value, sizeof(value));
	default:
		return 0; /* the kernel asks when it makes the SYN */
	}
}

/* RFC 6298 section 5: where the SYN was lost more than once the window begins with one packet, whatever a rule says. */
static __always_inline bool is_cut(const struct tcp_sock *tp, u32 which)
{
	return which == RULE_INITIAL_WINDOW && tp->total_retrans > 1 && tp->snd_cwnd == 1;
}

struct rule_settling {
	void *setter;
	const struct tcp_sock *tp;
	const struct rule_settings *wanted; /* NULL: nothing */
	struct rule_settings_note *note; /* NULL: there is no room for one */
	u32 tick_us;
	u32 changed; /* settings that have another value than before */
	int error; /* the first */
};

static __always_inline void give_setting(struct rule_settling *settling, u32 which)
{
	const struct tcp_sock *tp = settling->tp;
	u32 value = settling->wanted->value[which], before = read_setting(tp, which, settling->tick_us), given;
	int error = is_cut(tp, which) ? -EAGAIN : write_setting(settling->setter, which, value);
	struct rule_settings_note *note = settling->note;

	given = read_setting(tp, which, settling->tick_us);
	settling->changed += given != before;
	if (!settling->error)
		settling->error = error;
	if (!note)
		return;
	if (!(note->has & SETTING(which)))
		note->setting[which].before = before;
	note->has |= SETTING(which);
	note->setting[which].wanted = value;
	note->setting[which].given = given;
	note->setting[which].error = error;
}

/* What something else has changed since stays as it is. What only a handshake can do is done. */
static __always_inline void take_back(struct rule_settling *settling, u32 which)
{
	struct rule_settings_note *note = settling->note;
	struct rule_setting_memory *memory = &note->setting[which];
	u32 now = read_setting(settling->tp, which, settling->tick_us);
	int error = 0;

	if (SETTINGS_ALIVE & SETTING(which) && now == memory->given && now != memory->before) {
		error = write_setting(settling->setter, which, memory->before);
		settling->changed += !error;
	}
	if (error) {
		memory->error = error;
		if (!settling->error)
			settling->error = error;
		return;
	}
	note->has &= ~SETTING(which);
}

static __always_inline const struct rule_settings *settings_of(const struct rule *rule)
{
	u32 index = rule ? rule->settings : 0;

	return index ? bpf_map_lookup_elem(&rule_settings, &index) : NULL;
}

/*
 * Gives a socket those settings of its rule that are among `now`, and takes back what an earlier rule has given it and this one
 * has not. Without a rule everything is taken back. Gives how many have changed, and in `error` the first refusal. A function
 * of its own: the stack has 512 bytes, and the walk along a cgroup's path takes most of them.
 */
static __noinline u32 settle_settings(void *setter, struct tcp_sock *tp, const struct rule *rule, u32 now, int *error)
{
	struct rule_settling settling = { .setter = setter, .tp = tp };

	if (!has_settings)
		return 0;
	settling.wanted = settings_of(rule);
	settling.note = note_of(&settings_notes, tp);
	if (!settling.wanted && !settling.note)
		return 0;
	if (!settling.note)
		settling.note = new_settings_note(setter, tp);
	if (settling.note && settling.wanted)
		settling.note->tick_us = settling.wanted->tick_us;
	settling.tick_us = settling.wanted ? settling.wanted->tick_us : settling.note ? settling.note->tick_us : 0;
#pragma unroll
	for (u32 which = 0; which < RULE_SETTINGS; which++) {
		if (settling.wanted && settling.wanted->has & SETTING(which)) {
			if (now & SETTING(which))
				give_setting(&settling, which);
		} else if (settling.note && settling.note->has & SETTING(which)) {
			take_back(&settling, which);
		}
	}
	if (settling.note && !settling.note->has)
		settling.note->cookie = 0;
	*error = settling.error;
	return settling.changed;
}

#endif
