/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Limits of this project that C and Rust share (ccctl_catalog::kernel). */
#ifndef CCCTL_LIMITS_H
#define CCCTL_LIMITS_H

/*
 * No congestion window is larger, and no threshold but an infinite one: 12 Gbit in packets of 1500 bytes, 100 Gbit/s over
 * 120 ms. The algorithms' arithmetic is exact up to here; a larger window in a socket is a fault.
 */
#define CC_CWND_MAX_PKTS (1U << 20)

/* Socket storage of an algorithm whose state does not fit the socket's room, in the simulator: no kernel has this limit */
#define CC_STORE_BYTES 1152

/* What the sockets of an instance share, in the simulator: no kernel has this limit */
#define CC_SHARED_BYTES 64

/* Parameters of an algorithm that a rule may give to its connections alone */
#define CC_OWN_PARAMS 4

/* Name of an algorithm, with the closing zero: longer than a kernel name */
#define CC_ALGORITHM_NAME_MAX 32

#endif
