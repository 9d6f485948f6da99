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

#define CC_HOOK(name, args...) CC_SECTION("struct_ops") BPF_PROG(name, ##args)
#define CC_SHARED_HOOK(name, args...) CC_SECTION("?struct_ops") BPF_PROG(name, ##args)
#define CC_FN(name) ((void *)name)

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

#define CC_ALGORITHM(law, ...)                                                                                         \
	const volatile struct cc_identity cc_identity CC_SECTION(".rodata.ccctl") = {                                  \
		.algorithm = #law,                                                                                     \
	};                                                                                                             \
	char _license[] CC_SECTION("license") = "GPL";                                                                 \
	CC_SECTION(".struct_ops.link")                                                                                 \
	struct tcp_congestion_ops law = { .name = "bpf_" #law, .flags = TCP_CONG_NON_RESTRICTED, __VA_ARGS__ }

#endif
