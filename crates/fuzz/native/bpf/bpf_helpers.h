/* SPDX-License-Identifier: GPL-2.0-only */
/* libbpf's macros and the kernel's helpers, as a program of xdp/ needs them outside the kernel; frames.c has the helpers. */
#ifndef CCCTL_FUZZ_BPF_HELPERS_H
#define CCCTL_FUZZ_BPF_HELPERS_H

#define SEC(name)
#define __uint(name, value) int(*name)[value]
#define __type(name, value) typeof(value) *name
#define __always_inline inline __attribute__((always_inline))
#define barrier_var(variable) asm volatile("" : "+r"(variable))

struct xdp_md;
struct __sk_buff;

static void *bpf_map_lookup_elem(void *map, const void *key);
static u64 bpf_ktime_get_ns(void);
static long bpf_loop(u32 count, void *step, void *context, u64 flags);
static long bpf_xdp_adjust_meta(struct xdp_md *ctx, int delta);
static long bpf_skb_pull_data(struct __sk_buff *skb, u32 bytes);

#endif
