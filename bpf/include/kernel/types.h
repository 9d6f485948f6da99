/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The kernel's integer types. */
#ifndef CCCTL_KERNEL_TYPES_H
#define CCCTL_KERNEL_TYPES_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s16 s16;
typedef __s32 s32;
typedef __s64 s64;
typedef _Bool bool;

#define true 1
#define false 0

/*
 * Around struct definitions. For BPF, libbpf and aya find each member's offset in the BTF of the running kernel, so the
 * order of the members here means nothing; for a native build the same text is an ordinary struct.
 */
#ifdef __bpf__
#define CORE_STRUCTS_BEGIN _Pragma("clang attribute push(__attribute__((preserve_access_index)), apply_to = record)")
#define CORE_STRUCTS_END _Pragma("clang attribute pop")
#else
#define CORE_STRUCTS_BEGIN
#define CORE_STRUCTS_END
#endif

#endif
