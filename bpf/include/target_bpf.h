/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the frame's macros become when an algorithm is compiled for the kernel. */
#ifndef CCCTL_TARGET_BPF_H
#define CCCTL_TARGET_BPF_H

#include "kernel/bpf.h"
#include "limits.h"
#include "own_params.h"

#define CC_SECTION(name) __attribute__((section(name), used))
#define CC_TAG(text) __attribute__((btf_decl_tag(text)))

/* The kernel's side of a socket */
/* libbpf's BPF_CORE_READ_BITFIELD without what only signed fields need */
#define CC_BITFIELD(ptr, field)                                                                                        \
	({                                                                                                             \
		const void *cc_at = (const void *)(ptr) + __CORE_RELO(ptr, field, BYTE_OFFSET);                        \
		u64 cc_bits;                                                                                           \
                                                                                                                       \
		__asm__("" : "+r"(cc_at));                                                                             \
		switch (__CORE_RELO(ptr, field, BYTE_SIZE)) {                                                          \
		case 1:                                                                                                \
			cc_bits = *(const u8 *)cc_at;                                                                  \
			break;                                                                                         \
		case 2:                                                                                                \
			cc_bits = *(const u16 *)cc_at;                                                                 \
			break;                                                                                         \
		case 4:                                                                                                \
			cc_bits = *(const u32 *)cc_at;                                                                 \
			break;                                                                                         \
		default:                                                                                               \
			cc_bits = *(const u64 *)cc_at;                                                                 \
		}                                                                                                      \
		cc_bits << __CORE_RELO(ptr, field, LSHIFT_U64) >> __CORE_RELO(ptr, field, RSHIFT_U64);                 \
	})
#define CC_FIELD_EXISTS(ptr, field) bpf_core_field_exists((ptr)->field)
#define CC_RANDOM_U32(sk) ((void)(sk), bpf_get_prandom_u32())

/* Socket storage: made with the first call for a socket, all zero; NULL where there is no memory */
#define CC_STORE_STRUCT(algorithm)                                                                                     \
	struct {                                                                                                       \
		__uint(type, BPF_MAP_TYPE_SK_STORAGE);                                                                 \
		__uint(map_flags, BPF_F_NO_PREALLOC);                                                                  \
		__type(key, int);                                                                                      \
		__type(value, struct algorithm##_store);                                                               \
	} cc_store CC_SECTION(".maps")
#define CC_STORE(algorithm, sk)                                                                                        \
	((struct algorithm##_store *)bpf_sk_storage_get(&cc_store, sk, 0, BPF_SK_STORAGE_GET_F_CREATE))

/* What the sockets of an instance share: a map of its own, ".data.shared". Each load makes a new one, and so does each swap. */
#define CC_SHARED_STRUCT(algorithm) struct algorithm##_shared cc_shared CC_SECTION(".data.shared")
#define CC_SHARED(algorithm) (&cc_shared)

/* Leaves the connection to another algorithm, whose init the kernel calls at once; false in an init that BPF itself caused */
#define CC_CHANGE_TO(sk, name)                                                                                         \
	({                                                                                                             \
		char cc_name[] = name;                                                                                 \
                                                                                                                       \
		!bpf_setsockopt(sk, SOL_TCP, TCP_CONGESTION, cc_name, sizeof(cc_name));                                \
	})
#define CC_SEND_ACK(sk, rcv_nxt) bpf_tcp_send_ack(sk, rcv_nxt)

/* Long work: a function that the verifier checks once; step(i, context) for i = 0 ... count-1, or until it returns 1 */
#define CC_SUBPROGRAM(name, args...) __attribute__((noinline)) name(args)
#define CC_LOOP(count, step, context) bpf_loop(count, step, context, 0)

/* A hook: libbpf's BPF_PROG that repairs the window first (repair.h). Its first argument is the socket. */
#define CC_PROGRAM(name, args...)                                                                                      \
	name(unsigned long long *ctx);                                                                                 \
	CC_INLINE typeof(name(0)) name##_body(unsigned long long *ctx);                                                \
	typeof(name(0)) name(unsigned long long *ctx)                                                                  \
	{                                                                                                              \
		cc_repair_window(tcp_sk((struct sock *)ctx[0]));                                                       \
		return name##_body(ctx);                                                                               \
	}                                                                                                              \
	CC_INLINE typeof(name(0)) BPF_PROG(name##_body, ##args)

#define CC_HOOK(name, args...) CC_SECTION("struct_ops") CC_PROGRAM(name, ##args)
#define CC_SHARED_HOOK(name, args...) CC_SECTION("?struct_ops") CC_PROGRAM(name, ##args) /* dropped where not named */
#define CC_FN(name) ((void *)name)

/*
 * The hook cong_control has four arguments since 6.10, sample the last; before, two. ccctl writes how many before it loads
 * the object, and the verifier drops the branch not taken. The empty assembly keeps clang from loading from one computed
 * address, which the verifier refuses.
 */
#define CC_ARGUMENT(ctx, index)                                                                                        \
	({                                                                                                             \
		u64 cc_argument = (ctx)[index];                                                                        \
		__asm__ volatile("" : "+r"(cc_argument));                                                              \
		(const struct rate_sample *)cc_argument;                                                               \
	})
#define CC_CONG_CONTROL(name, sk, sample)                                                                              \
	const volatile u32 cc_cong_control_arguments CC_SECTION(".rodata.kernel") = 4;                                 \
	CC_INLINE void name##_step(struct sock *sk, const struct rate_sample *sample);                                 \
	CC_SECTION("struct_ops") void name(u64 *ctx)                                                                   \
	{                                                                                                              \
		const struct rate_sample *cc_sample;                                                                   \
                                                                                                                       \
		if (cc_cong_control_arguments == 4)                                                                    \
			cc_sample = CC_ARGUMENT(ctx, 3);                                                               \
		else                                                                                                   \
			cc_sample = CC_ARGUMENT(ctx, 1);                                                               \
		cc_repair_window(tcp_sk((struct sock *)ctx[0]));                                                       \
		name##_step((struct sock *)ctx[0], cc_sample);                                                         \
	}                                                                                                              \
	CC_INLINE void name##_step(struct sock *sk, const struct rate_sample *sample)

/* In CC_CONG_CONTROL: kernels with four arguments allow writes to app_limited (since 6.4). */
#define CC_MAY_WRITE_APP_LIMITED (cc_cong_control_arguments == 4)

/*
 * The two sets of parameters: one map, ".data.params". The empty assembly keeps the set's address in a register; clang would
 * form it anew for each parameter read.
 */
#define CC_PARAMS_STORE(algorithm, ...)                                                                                \
	struct algorithm##_params_store {                                                                              \
		u32 active;                                                                                            \
		struct algorithm##_params set[2];                                                                      \
	};                                                                                                             \
	struct algorithm##_params_store params CC_SECTION(".data.params") = { .set = { __VA_ARGS__, __VA_ARGS__ } };   \
	CC_INLINE const struct algorithm##_params *algorithm##_params(void)                                            \
	{                                                                                                              \
		const struct algorithm##_params *set = &params.set[*(volatile u32 *)&params.active & 1];               \
                                                                                                                       \
		__asm__("" : "+r"(set));                                                                               \
		return set;                                                                                            \
	}

/*
 * A connection's own parameters (own_params.h): the map that ccctl shares among all programs, and which of its elements are for
 * this one, which ccctl writes before it loads the object.
 */
#define CC_CONNECTION_PARAMS(algorithm)                                                                                \
	struct {                                                                                                       \
		__uint(type, BPF_MAP_TYPE_HASH);                                                                       \
		__uint(map_flags, BPF_F_NO_PREALLOC);                                                                  \
		__uint(max_entries, CC_OWN_SOCKETS);                                                                   \
		__type(key, u64);                                                                                      \
		__type(value, struct cc_own_params);                                                                   \
	} cc_own_params CC_SECTION(".maps");                                                                           \
	const volatile struct cc_own_instance cc_own_instance CC_SECTION(".rodata.own");                               \
	CC_INLINE bool cc_is_for_this(const struct cc_own_instance *own)                                               \
	{                                                                                                              \
		const volatile u64 *wanted = (const volatile u64 *)cc_own_instance.name;                               \
		const u64 *name = (const u64 *)own->name;                                                              \
                                                                                                                       \
		return name[0] == wanted[0] && name[1] == wanted[1] && own->declared == cc_own_instance.declared;      \
	}                                                                                                              \
	CC_INLINE u32 cc_own_param(const struct sock *sk, u32 place, u32 none)                                         \
	{                                                                                                              \
		s64 cookie = sk->__sk_common.skc_cookie.counter;                                                       \
		u64 address = (u64)sk;                                                                                 \
		struct cc_own_params *own = bpf_map_lookup_elem(&cc_own_params, &address);                             \
                                                                                                                       \
		if (!own || !cookie || own->cookie != (u64)cookie || !cc_is_for_this(&own->values.instance))           \
			return none;                                                                                   \
		return own->values.has & (1U << place) ? own->values.value[place] : none;                              \
	}                                                                                                              \
	/* Room for others; where only the algorithm changes, the next one may be the same in a new program. */        \
	CC_INLINE void cc_drop_own_params(const struct sock *sk)                                                       \
	{                                                                                                              \
		u64 address = (u64)sk;                                                                                 \
                                                                                                                       \
		if (sk->__sk_common.skc_state == TCP_CLOSE)                                                            \
			bpf_map_delete_elem(&cc_own_params, &address);                                                 \
	}                                                                                                              \
	_Static_assert(cc_places > 0, "which parameter is CC_PER_CONNECTION?")
#define CC_DROP_OWN_PARAMS(sk) cc_drop_own_params(sk)
#define CC_OWN_PARAM(algorithm, sk, parameter, none) cc_own_param(sk, cc_place_##parameter, none)

/* clang writes into BTF only those types that a function or a variable refers to. */
#define CC_KEEP_IN_BTF(type) const struct type *const cc_keep_##type CC_SECTION(".rodata.ccctl")

/* In the BTF of the object and of its programs, so that a running instance says it too */
#define CC_FENCE(why) const char cc_fence CC_SECTION(".rodata.ccctl") CC_TAG("cc_fenced|" why)

/* What an instance says of itself; filled by ccctl */
struct cc_identity {
	char algorithm[CC_ALGORITHM_NAME_MAX];
	char profile[32];
	char ccctl_version[16];
	u8 object_sha256[32];
};

/* An algorithm that names no pkts_acked gets one that only repairs the window: once per ACK, in recovery too. */
#pragma clang diagnostic ignored "-Winitializer-overrides"
#define CC_REGISTER_WITH(law, kernel_name, all_flags, ...)                                                             \
	_Static_assert(sizeof(kernel_name) <= TCP_CA_NAME_MAX, "the kernel's names have at most 15 characters");       \
	const volatile struct cc_identity cc_identity CC_SECTION(".rodata.ccctl") = {                                  \
		.algorithm = #law,                                                                                     \
	};                                                                                                             \
	char _license[] CC_SECTION("license") = "GPL";                                                                 \
	CC_SECTION(".struct_ops.link")                                                                                 \
	struct tcp_congestion_ops law = {                                                                              \
		.name = kernel_name, .flags = (all_flags), .pkts_acked = CC_FN(cc_repair_per_ack), __VA_ARGS__         \
	}

#endif
