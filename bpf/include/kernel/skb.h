/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* struct sk_buff and its device (include/linux/skbuff.h, netdevice.h), for programs that watch. */
#ifndef CCCTL_KERNEL_SKB_H
#define CCCTL_KERNEL_SKB_H

#include "sock.h"

CORE_STRUCTS_BEGIN

struct net_device {
	possible_net_t nd_net;
};

struct sk_buff {
	struct sock *sk;
	struct net_device *dev;
	u64 tstamp;
	unsigned int len;
	u16 mac_header;
	unsigned int end; /* sk_buff_data_t: an offset on 64-bit kernels */
	unsigned char *head;
	unsigned char *data;
};

struct skb_shared_info {
	u8 meta_len;
	u16 gso_segs;
};

CORE_STRUCTS_END

#endif
