/* SPDX-License-Identifier: GPL-2.0-only */
/* What the frame's macros become when an algorithm is compiled for the kernel. */
#ifndef CCCTL_WORLD_BPF_H
#define CCCTL_WORLD_BPF_H

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#define CC_SECTION(name) __attribute__((section(name), used))
#define CC_TAG(text) __attribute__((btf_decl_tag(text)))
#define CC_BITFIELD(ptr, field) BPF_CORE_READ_BITFIELD(ptr, field)

/* BPF_PROG with a look at the window first: see repair.h. The first argument of every hook is the socket. */
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
#define CC_SHARED_HOOK(name, args...) CC_SECTION("?struct_ops") CC_PROGRAM(name, ##args)
#define CC_FN(name) ((void *)name)
#define CC_FIELD_EXISTS(ptr, field) bpf_core_field_exists((ptr)->field)
#define CC_RANDOM_U32(sk) ((void)(sk), bpf_get_prandom_u32())
#define CC_SEND_ACK(sk, rcv_nxt) bpf_tcp_send_ack(sk, rcv_nxt)

/*
 * cong_control(sk, ack, flag, sample) since 6.10, cong_control(sk, sample) before. ccctl writes how many arguments the
 * running kernel's hook has, and the verifier drops the branch not taken. The barriers keep clang from merging the two
 * loads into one from a computed context address, which the verifier refuses.
 */
#define CC_CONG_CONTROL(name, sk, sample)                                                                              \
	const volatile u32 cc_cong_control_arguments CC_SECTION(".rodata.kernel") = 4;                                 \
	CC_INLINE void name##_step(struct sock *sk, const struct rate_sample *sample);                                 \
	CC_SECTION("struct_ops") void name(u64 *ctx)                                                                   \
	{                                                                                                              \
		const struct rate_sample *cc_sample;                                                                   \
                                                                                                                       \
		if (cc_cong_control_arguments == 4) {                                                                  \
			cc_sample = (const struct rate_sample *)ctx[3];                                                \
			__asm__ volatile("" : "+r"(cc_sample));                                                        \
		} else {                                                                                               \
			cc_sample = (const struct rate_sample *)ctx[1];                                                \
			__asm__ volatile("" : "+r"(cc_sample));                                                        \
		}                                                                                                      \
		cc_repair_window(tcp_sk((struct sock *)ctx[0]));                                                       \
		name##_step((struct sock *)ctx[0], cc_sample);                                                         \
	}                                                                                                              \
	CC_INLINE void name##_step(struct sock *sk, const struct rate_sample *sample)

/*
 * In CC_CONG_CONTROL: may tp->app_limited be written? All kernels that give the hook four arguments allow it (it came with
 * 6.4), and of the others the verifier drops the branch.
 */
#define CC_MAY_WRITE_APP_LIMITED (cc_cong_control_arguments == 4)

/* One map, ".data.params"; ccctl reads and writes it while the algorithm runs. */
#define CC_PARAMS_STORE(algorithm, ...)                                                                                \
	struct algorithm##_params_store {                                                                              \
		u32 active;                                                                                            \
		struct algorithm##_params set[2];                                                                      \
	};                                                                                                             \
	struct algorithm##_params_store params CC_SECTION(".data.params") = { .set = { __VA_ARGS__, __VA_ARGS__ } };   \
	CC_INLINE const struct algorithm##_params *algorithm##_params(void)                                            \
	{                                                                                                              \
		return &params.set[*(volatile u32 *)&params.active & 1];                                               \
	}

/*
 * Tables worked out from the parameters: struct algorithm_derived, filled by a program of type "syscall" that ccctl
 * runs on the idle set before it flips `active`.
 */
#define CC_DERIVED(algorithm)                                                                                          \
	struct algorithm##_derived derived[2] CC_SECTION(".data.derived");                                             \
	CC_INLINE const struct algorithm##_derived *algorithm##_derived(void)                                          \
	{                                                                                                              \
		return &derived[*(volatile u32 *)&params.active & 1];                                                  \
	}
#define CC_PREPARE(algorithm)                                                                                          \
	CC_INLINE void algorithm##_fill(const struct algorithm##_params *p, struct algorithm##_derived *d);            \
	CC_SECTION("syscall") int prepare(void *ctx)                                                                   \
	{                                                                                                              \
		u32 idle = (*(volatile u32 *)&params.active & 1) ^ 1;                                                  \
                                                                                                                       \
		algorithm##_fill(&params.set[idle], &derived[idle]);                                                   \
		return 0;                                                                                              \
	}                                                                                                              \
	CC_INLINE void algorithm##_fill(const struct algorithm##_params *p, struct algorithm##_derived *d)

/* A function that the verifier checks once, by itself, whatever calls it: for long calculations called from loops. */
#define CC_SUBPROGRAM(name, args...) __attribute__((noinline)) name(args)

/* Call step(i, context) for i = 0 ... count-1, or until it returns 1. */
#define CC_LOOP(count, step, context) bpf_loop(count, step, context, 0)

/* A pointer that is never read: clang writes only those types into BTF that a function or a variable refers to. */
#define CC_KEEP_IN_BTF(type) const struct type *const cc_keep_##type CC_SECTION(".rodata.ccctl")

/* What an instance says of itself. */
struct cc_identity {
	char algorithm[32];
	char profile[32];
	char ccctl_version[16];
	u8 object_sha256[32];
};

/* An algorithm that names no pkts_acked has one that only looks at the window: once per ACK, in recovery too. */
#pragma clang diagnostic ignored "-Winitializer-overrides"
#define CC_REGISTER(law, kernel_name, more_flags, ...)                                                                 \
	_Static_assert(sizeof(kernel_name) <= 16, "the kernel's names have at most 15 characters");                    \
	const volatile struct cc_identity cc_identity CC_SECTION(".rodata.ccctl") = {                                  \
		.algorithm = #law,                                                                                     \
	};                                                                                                             \
	char _license[] CC_SECTION("license") = "GPL";                                                                 \
	CC_SECTION(".struct_ops.link")                                                                                 \
	struct tcp_congestion_ops law = { .name = kernel_name,                                                         \
					  .flags = TCP_CONG_NON_RESTRICTED | (more_flags),                             \
					  .pkts_acked = CC_FN(cc_look_per_ack),                                        \
					  __VA_ARGS__ }

#endif
