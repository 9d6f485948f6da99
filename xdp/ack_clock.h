/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the programs of the ACK clock and crates/telemetry tell each other; the Rust types are made of this header. */
#ifndef CCCTL_ACK_CLOCK_H
#define CCCTL_ACK_CLOCK_H

#include "kernel/constants.h"

#define ACK_SACK_KINDS 8 /* an ACK carries 0 to 4 SACK blocks; 8, so that three bits are a safe index */
#define ACK_STAMP_MAGIC 0x6b636163u
#define ACK_ALGORITHM_SLOTS 64 /* a power of two */

/*
 * Histograms in ns: 4 buckets in each power of two, so that a bucket is at most a quarter as wide as where it begins.
 * Below 4 ns a bucket is 1 ns wide; the last one has all from 60 s on.
 */
#define ACK_BUCKETS_PER_OCTAVE 4
#define ACK_BUCKETS 144

/* Written before the programs are loaded. */
struct clock_settings {
	unsigned long long slow_ns; /* count times longer than this */
	unsigned int netns_inum; /* count sockets of this network namespace */
	unsigned int drop_has_socket; /* kfree_skb tells the receiving socket (6.11) */
};

/*
 * What XDP puts in front of an ACK: 16 bytes of packet metadata. At tc the time's last four bits are the notes.
 *
 * Every ACK with SACK blocks is stamped, so that all of them are counted; of the others as many as the settings say. Times
 * are taken of these and of the same share of those with blocks: the rest says ACK_NOTE_UNTIMED.
 */
struct arrival_stamp {
	unsigned long long arrived_ns; /* CLOCK_MONOTONIC */
	unsigned int magic;
	unsigned int notes; /* SACK blocks, and ACK_NOTE_UNTIMED */
};

#define ACK_NOTE_BLOCKS 7
#define ACK_NOTE_UNTIMED 8
#define ACK_NOTES 15

/* Of one interface and processor. */
struct arrival_counts {
	unsigned long long acks; /* segments without payload, SYN, FIN and RST, with ACK */
	unsigned long long sack_blocks[ACK_SACK_KINDS]; /* of those, by the number of SACK blocks */
	unsigned long long unstamped; /* ACKs that were to be stamped and could not be */
	unsigned long long stamped;
	unsigned long long reached_tc; /* stamped by XDP and seen again at tc ingress */
};

struct ack_times {
	unsigned long long count;
	unsigned long long sum_ns;
	unsigned long long max_ns;
	unsigned long long slow; /* longer than slow_ns */
	unsigned long long buckets[ACK_BUCKETS];
};

/* Of one algorithm and processor. */
struct algorithm_counts {
	char name[TCP_CA_NAME_MAX]; /* empty: a slot without algorithm */
	unsigned int key; /* the kernel's hash of the name, which it keeps unique */
	unsigned int reserved;
	unsigned long long acks; /* ACKs that TCP input worked on; merged ones count once */
	unsigned long long coalesced; /* ACKs that had been merged into those while they waited in a socket's backlog */
	unsigned long long duplicate_acks;
	unsigned long long unstamped; /* ACKs without a stamp */
	unsigned long long sack_blocks[ACK_SACK_KINDS]; /* by number of blocks; the first is not counted here */
	struct ack_times waiting; /* from arrival to the start of TCP input */
	struct ack_times processing; /* from there to the end of the ACK */
};

/* Drops of one processor: by reason, and where a socket is known by its algorithm. */
struct drop_key {
	unsigned int reason; /* enum skb_drop_reason of the running kernel */
	unsigned int elsewhere; /* of another network namespace, or it cannot be told */
	char algorithm[TCP_CA_NAME_MAX]; /* empty: no socket is known */
};

#endif
