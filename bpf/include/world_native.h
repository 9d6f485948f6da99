/* SPDX-License-Identifier: GPL-2.0-only */
/* What the frame's macros become when an algorithm is compiled for the simulator and for native tests. */
#ifndef CCCTL_WORLD_NATIVE_H
#define CCCTL_WORLD_NATIVE_H

#define CC_TAG(text)
#define CC_BITFIELD(ptr, field) ((ptr)->field)

#define CC_HOOK(name, args...) name(args)
#define CC_SHARED_HOOK(name, args...) static __attribute__((unused)) name(args)
#define CC_FN(name) name
#define CC_FIELD_EXISTS(ptr, field) 1
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

#define CC_CONG_CONTROL(name, sk, sample)                                                                              \
	CC_INLINE void name##_step(struct sock *sk, const struct rate_sample *sample);                                 \
	static void name(struct sock *cc_sk, u32 cc_ack, int cc_flag, const struct rate_sample *cc_sample)             \
	{                                                                                                              \
		name##_step(cc_sk, cc_sample);                                                                         \
	}                                                                                                              \
	CC_INLINE void name##_step(struct sock *sk, const struct rate_sample *sample)

#define CC_MAY_WRITE_APP_LIMITED 1

/*
 * The caller owns the parameters: it points the algorithm at the set of the flow that it is about to run, so that
 * flows with different parameters share one process. Each thread has a pointer of its own.
 */
#define CC_PARAMS_STORE(algorithm, ...)                                                                                \
	static u32 cc_derived_bytes; /* tentative: CC_DERIVED and CC_PREPARE define these three where they are used */ \
	static _Thread_local const void *cc_derived_in_force;                                                          \
	static void (*cc_prepare)(const void *params, void *derived);                                                  \
	static const struct algorithm##_params cc_default_params = __VA_ARGS__;                                        \
	static _Thread_local const struct algorithm##_params *cc_params_in_force = &cc_default_params;                 \
	CC_INLINE const struct algorithm##_params *algorithm##_params(void)                                            \
	{                                                                                                              \
		return cc_params_in_force;                                                                             \
	}

#define CC_DERIVED(algorithm)                                                                                          \
	static u32 cc_derived_bytes = sizeof(struct algorithm##_derived);                                              \
	CC_INLINE const struct algorithm##_derived *algorithm##_derived(void)                                          \
	{                                                                                                              \
		return cc_derived_in_force;                                                                            \
	}
#define CC_PREPARE(algorithm)                                                                                          \
	CC_INLINE void algorithm##_fill(const struct algorithm##_params *p, struct algorithm##_derived *d);            \
	static void algorithm##_prepare(const void *params, void *derived)                                             \
	{                                                                                                              \
		algorithm##_fill(params, derived);                                                                     \
	}                                                                                                              \
	static void (*cc_prepare)(const void *params, void *derived) = algorithm##_prepare;                            \
	CC_INLINE void algorithm##_fill(const struct algorithm##_params *p, struct algorithm##_derived *d)

#define CC_KEEP_IN_BTF(type) _Static_assert(1, "")

#define CC_SUBPROGRAM(name, args...) static __attribute__((unused)) name(args)

#define CC_LOOP(count, step, context)                                                                                  \
	do {                                                                                                           \
		for (u32 cc_i = 0; cc_i < (count) && !step(cc_i, context); cc_i++)                                     \
			;                                                                                              \
	} while (0)

/* One algorithm as the simulator sees it. derived_bytes = 0: nothing to prepare. */
struct cc_native_algorithm {
	const char *name;
	const struct tcp_congestion_ops *ops;
	const void *default_params;
	u32 params_bytes;
	u32 derived_bytes;
	void (*prepare)(const void *params, void *derived);
	void (*use)(const void *params, const void *derived); /* the set that the following hook calls read */
};

#define CC_REGISTER(algorithm, kernel_name, more_flags, ...)                                                           \
	static const struct tcp_congestion_ops algorithm##_ops = { .name = kernel_name,                                \
								   .flags = TCP_CONG_NON_RESTRICTED | (more_flags),    \
								   __VA_ARGS__ };                                      \
	static void algorithm##_use(const void *params, const void *derived)                                           \
	{                                                                                                              \
		cc_params_in_force = params;                                                                           \
		cc_derived_in_force = derived;                                                                         \
	}                                                                                                              \
	const struct cc_native_algorithm *cc_native_##algorithm(void)                                                  \
	{                                                                                                              \
		static struct cc_native_algorithm native;                                                              \
                                                                                                                       \
		native = (struct cc_native_algorithm){                                                                 \
			.name = #algorithm,                                                                            \
			.ops = &algorithm##_ops,                                                                       \
			.default_params = &cc_default_params,                                                          \
			.params_bytes = sizeof(cc_default_params),                                                     \
			.derived_bytes = cc_derived_bytes,                                                             \
			.prepare = cc_prepare,                                                                         \
			.use = algorithm##_use,                                                                        \
		};                                                                                                     \
		return &native;                                                                                        \
	}                                                                                                              \
	_Static_assert(1, "")

#endif
