/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the frame's macros become when an algorithm is compiled for the simulator and for native tests. */
#ifndef CCCTL_TARGET_NATIVE_H
#define CCCTL_TARGET_NATIVE_H

#define CC_TAG(text)

#define CC_BITFIELD(ptr, field) ((ptr)->field)
#define CC_FIELD_EXISTS(ptr, field) 1
#define CC_STORE_STRUCT(algorithm)                                                                                     \
	_Static_assert(sizeof(struct algorithm##_store) <= CC_STORE_BYTES, "the simulated socket has too little room")
#define CC_STORE(algorithm, sk) ((struct algorithm##_store *)tcp_sk(sk)->store)
#define CC_SHARED_STRUCT(algorithm)                                                                                    \
	_Static_assert(sizeof(struct algorithm##_shared) <= CC_SHARED_BYTES,                                           \
		       "the simulated instance has too little room")
#define CC_SHARED(algorithm) ((struct algorithm##_shared *)cc_shared_in_force)
#define CC_CHANGE_TO(sk, name) (tcp_sk(sk)->changes_to_reno = true, false) /* the flow's owner does it after init */
#define CC_SEND_ACK(sk, rcv_nxt) ((void)(sk), (void)(rcv_nxt)) /* the flow has no receiver */

/* splitmix64 (G. Steele et al., OOPSLA 2014) over a state that the flow's owner seeds */
#define CC_RANDOM_U32(sk) cc_random_u32(tcp_sk(sk))
CC_WRAPS CC_INLINE u32 cc_random_u32(struct tcp_sock *tp)
{
	u64 z = tp->random_state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return (z ^ (z >> 31)) >> 32;
}

#define CC_SUBPROGRAM(name, args...) static __attribute__((unused)) name(args)
#define CC_LOOP(count, step, context)                                                                                  \
	do {                                                                                                           \
		for (u32 cc_i = 0; cc_i < (count) && !step(cc_i, context); cc_i++)                                     \
			;                                                                                              \
	} while (0)

#define CC_HOOK(name, args...) name(args)
#define CC_SHARED_HOOK(name, args...) static __attribute__((unused)) name(args)
#define CC_FN(name) name

#define CC_CONG_CONTROL(name, sk, sample)                                                                              \
	CC_INLINE void name##_step(struct sock *sk, const struct rate_sample *sample);                                 \
	static void name(struct sock *cc_sk, u32 cc_ack, int cc_flag, const struct rate_sample *cc_sample)             \
	{                                                                                                              \
		name##_step(cc_sk, cc_sample);                                                                         \
	}                                                                                                              \
	CC_INLINE void name##_step(struct sock *sk, const struct rate_sample *sample)
#define CC_MAY_WRITE_APP_LIMITED 1

/*
 * The caller owns the parameters of each flow and what the flows of an instance share, CC_SHARED_BYTES, and points its thread at
 * them before it calls a hook.
 */
#define CC_PARAMS_STORE(algorithm, ...)                                                                                \
	static const struct algorithm##_params cc_default_params = __VA_ARGS__;                                        \
	static _Thread_local const struct algorithm##_params *cc_params_in_force = &cc_default_params;                 \
	static _Thread_local __attribute__((unused)) void *cc_shared_in_force;                                         \
	CC_INLINE const struct algorithm##_params *algorithm##_params(void)                                            \
	{                                                                                                              \
		return cc_params_in_force;                                                                             \
	}

/* There are no rules: a flow that is to have parameters of its own has a whole set. */
#define CC_CONNECTION_PARAMS(algorithm) _Static_assert(cc_places > 0, "which parameter is CC_PER_CONNECTION?")
#define CC_DROP_OWN_PARAMS(sk) ((void)(sk))
#define CC_OWN_PARAM(algorithm, sk, parameter, none) ((void)(sk), (void)cc_place_##parameter, (none))

#define CC_KEEP_IN_BTF(type) _Static_assert(1, "")
#define CC_FENCE(why) _Static_assert(1, "")

/* One algorithm as the simulator sees it */
struct cc_native_algorithm {
	const char *name;
	const struct tcp_congestion_ops *ops;
	const void *default_params;
	u32 params_bytes;
	void (*use)(const void *params, void *shared); /* what the following hook calls read, and write */
};

#define CC_REGISTER_WITH(algorithm, kernel_name, all_flags, ...)                                                       \
	static const struct tcp_congestion_ops algorithm##_ops = { .name = kernel_name,                                \
								   .flags = (all_flags),                               \
								   __VA_ARGS__ };                                      \
	static void algorithm##_use(const void *params, void *shared)                                                  \
	{                                                                                                              \
		cc_params_in_force = params;                                                                           \
		cc_shared_in_force = shared;                                                                           \
	}                                                                                                              \
	const struct cc_native_algorithm *cc_native_##algorithm(void)                                                  \
	{                                                                                                              \
		static const struct cc_native_algorithm native = {                                                     \
			.name = #algorithm,                                                                            \
			.ops = &algorithm##_ops,                                                                       \
			.default_params = &cc_default_params,                                                          \
			.params_bytes = sizeof(cc_default_params),                                                     \
			.use = algorithm##_use,                                                                        \
		};                                                                                                     \
                                                                                                                       \
		return &native;                                                                                        \
	}                                                                                                              \
	_Static_assert(1, "")

#endif
