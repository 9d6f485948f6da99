/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Is this frame a TCP ACK, and how many SACK blocks does it carry?
 *
 * An ACK here is a TCP segment with ACK and without SYN, FIN, RST and payload. What is looked through on the way to it:
 * up to 4 VLAN tags (802.1Q, 802.1ad), IPv4 with options, IPv6 with up to 8 extension headers (hop-by-hop, routing,
 * destination options, authentication, and a fragment header that says "whole": RFC 6946). Fragments are no ACKs, nor is
 * a frame that ends before its packet does, or whose headers do not fit into the first buffer of the driver (some 3 KB).
 * Padding behind the packet is ignored. Checksums are TCP's business.
 *
 * Not static: each check that keeps the verifier content is also the check that the kernel's own input makes.
 */
#ifndef CCCTL_PACKET_H
#define CCCTL_PACKET_H

#include "tcp_options.h"

#define ETHERNET_BYTES 14
#define VLAN_BYTES 4
#define VLAN_TAGS_MAX 4
#define IPV4_BYTES 20
#define IPV6_BYTES 40
#define EXTENSIONS_MAX 8
#define FRAME_HEADERS_MAX 32768 /* more than all headers together; the verifier wants to see a bound */

enum ethertype { ETHERTYPE_IPV4 = 0x0800, ETHERTYPE_VLAN = 0x8100, ETHERTYPE_IPV6 = 0x86dd, ETHERTYPE_QINQ = 0x88a8 };

enum protocol {
	PROTOCOL_HOP_BY_HOP = 0,
	PROTOCOL_TCP = 6,
	PROTOCOL_ROUTING = 43,
	PROTOCOL_FRAGMENT = 44,
	PROTOCOL_AUTHENTICATION = 51,
	PROTOCOL_DESTINATION = 60,
};

enum tcp_flag { TCP_FIN = 1, TCP_SYN = 2, TCP_RST = 4, TCP_ACK = 16 };

#define NO_ACK -1

struct frame {
	const u8 *data;
	const u8 *end;
};

/* `bytes` bytes at `offset`, if the frame has them */
static __always_inline const u8 *frame_at(const struct frame *frame, u32 offset, u32 bytes)
{
	const u8 *at = frame->data + offset;

	return at + bytes <= frame->end ? at : NULL;
}

static __always_inline u16 be16(const u8 *at)
{
	return (u16)(at[0] << 8 | at[1]);
}

/* Where tcp_parse_options() would be */
struct option_walk {
	struct frame frame;
	u32 start; /* of the options in the frame */
	u32 bytes; /* of all of them */
	u32 at;
	int sack_blocks;
};

/* One option; 1 ends the walk. A call for each, because the verifier would follow every path through an inlined loop. */
static long option_step(u32 number, struct option_walk *walk)
{
	const u8 *option;
	u32 at = walk->at;
	u32 length;

	if (at >= walk->bytes || at >= TCP_OPTIONS_MAX || walk->start > FRAME_HEADERS_MAX)
		return 1;
	option = frame_at(&walk->frame, walk->start + at, 1);
	if (!option || option[0] == OPTION_END)
		return 1;
	if (option[0] == OPTION_NOP) {
		walk->at = at + 1;
		return 0;
	}
	option = frame_at(&walk->frame, walk->start + at, 2);
	if (!option || option[1] < 2 || at + option[1] > walk->bytes)
		return 1;
	length = option[1];
	if (option[0] == OPTION_SACK && length >= 10 && (length - 2) % 8 == 0)
		walk->sack_blocks = (int)(length - 2) / 8;
	walk->at = at + length;
	return 0;
}

/* SACK blocks among the options, as tcp_parse_options() finds them: the last SACK option that is whole counts. */
static __always_inline int sack_blocks(const struct frame *frame, u32 offset, u32 bytes)
{
	struct option_walk walk = { .frame = *frame, .start = offset, .bytes = bytes };

	bpf_loop(TCP_OPTIONS_MAX, option_step, &walk, 0);
	return walk.sack_blocks;
}

/* Two NOPs and a time stamp are all that most ACKs carry. */
static __always_inline bool only_time_stamps(const u8 *options)
{
	return options[0] == OPTION_NOP && options[1] == OPTION_NOP && options[2] == 8 && options[3] == 10;
}

static __always_inline int tcp_ack_at(const struct frame *frame, u32 offset, u32 bytes)
{
	const u8 *tcp, *options;
	u32 header_bytes;

	if (bytes < TCP_BYTES || bytes > TCP_BYTES + TCP_OPTIONS_MAX)
		return NO_ACK; /* longer than any header: it has a payload */
	tcp = frame_at(frame, offset, TCP_BYTES);
	if (!tcp)
		return NO_ACK;
	header_bytes = (tcp[12] >> 4) * 4;
	if (header_bytes != bytes || (tcp[13] & (TCP_ACK | TCP_SYN | TCP_FIN | TCP_RST)) != TCP_ACK)
		return NO_ACK;
	if (header_bytes == TCP_BYTES)
		return 0;
	options = frame_at(frame, offset + TCP_BYTES, 12);
	if (header_bytes == TCP_BYTES + 12 && options && only_time_stamps(options))
		return 0;
	return sack_blocks(frame, offset + TCP_BYTES, header_bytes - TCP_BYTES);
}

/* RFC 791 */
static __always_inline int ipv4_ack_at(const struct frame *frame, u32 offset)
{
	const u8 *ip = frame_at(frame, offset, IPV4_BYTES);
	u32 header_bytes, packet_bytes;

	if (!ip || ip[0] >> 4 != 4 || ip[9] != PROTOCOL_TCP)
		return NO_ACK;
	header_bytes = (ip[0] & 15) * 4;
	packet_bytes = be16(ip + 2);
	if (be16(ip + 6) & 0x3fff) /* more fragments, or not the first */
		return NO_ACK;
	if (header_bytes < IPV4_BYTES || packet_bytes < header_bytes)
		return NO_ACK;
	if (packet_bytes > (u64)(frame->end - frame->data) - offset)
		return NO_ACK;
	return tcp_ack_at(frame, offset + header_bytes, packet_bytes - header_bytes);
}

/* RFC 8200; the authentication header counts in words of 4 bytes: RFC 4302 */
static __always_inline u32 extension_bytes(u8 protocol, u8 length)
{
	return protocol == PROTOCOL_AUTHENTICATION ? (length + 2u) * 4 : (length + 1u) * 8;
}

static __always_inline bool is_extension(u8 protocol)
{
	return protocol == PROTOCOL_HOP_BY_HOP || protocol == PROTOCOL_ROUTING || protocol == PROTOCOL_DESTINATION ||
	       protocol == PROTOCOL_AUTHENTICATION || protocol == PROTOCOL_FRAGMENT;
}

static __always_inline int ipv6_ack_at(const struct frame *frame, u32 offset)
{
	const u8 *ip = frame_at(frame, offset, IPV6_BYTES);
	u32 left_bytes;
	u8 protocol;

	if (!ip || ip[0] >> 4 != 6)
		return NO_ACK;
	left_bytes = be16(ip + 4);
	if (left_bytes > (u64)(frame->end - frame->data) - offset - IPV6_BYTES)
		return NO_ACK;
	protocol = ip[6];
	offset += IPV6_BYTES;
	for (int i = 0; i < EXTENSIONS_MAX && is_extension(protocol); i++) {
		const u8 *header = frame_at(frame, offset, 8);
		u32 bytes = 8;

		if (!header)
			return NO_ACK;
		if (protocol != PROTOCOL_FRAGMENT)
			bytes = extension_bytes(protocol, header[1]);
		else if (be16(header + 2) & 0xfff9) /* more fragments, or not the first */
			return NO_ACK;
		if (bytes > left_bytes)
			return NO_ACK;
		protocol = header[0];
		offset += bytes;
		left_bytes -= bytes;
	}
	return protocol == PROTOCOL_TCP ? tcp_ack_at(frame, offset, left_bytes) : NO_ACK;
}

/* The number of SACK blocks, if the frame is an ACK, or NO_ACK */
static __always_inline int parse_ack(const struct frame *frame)
{
	const u8 *ethernet = frame_at(frame, 0, ETHERNET_BYTES);
	u32 offset = ETHERNET_BYTES;
	u16 type;

	if (!ethernet)
		return NO_ACK;
	type = be16(ethernet + 12);
	for (int i = 0; i < VLAN_TAGS_MAX && (type == ETHERTYPE_VLAN || type == ETHERTYPE_QINQ); i++) {
		const u8 *tag = frame_at(frame, offset, VLAN_BYTES);

		if (!tag)
			return NO_ACK;
		type = be16(tag + 2);
		offset += VLAN_BYTES;
	}
	if (type == ETHERTYPE_IPV4)
		return ipv4_ack_at(frame, offset);
	if (type == ETHERTYPE_IPV6)
		return ipv6_ack_at(frame, offset);
	return NO_ACK;
}

#endif
