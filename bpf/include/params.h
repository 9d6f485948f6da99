/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Parameters: declared once, in the algorithm's file, and read from there by everything else.
 *
 *	#define RENO_PARAMS(P) \
 *		P(CC_PARAM(abc_limit_pkts, 0, 0, 2, "pkts", "L: most packets that one ACK may add in slow start"))
 *	CC_PARAMS(reno, RENO_PARAMS);
 *
 *   CC_PARAM(name, default, minimum, maximum, unit, text)     a number (u32)
 *   CC_SWITCH(name, default, text)                            off (0) or on (1)
 *   CC_CHOICE(name, default, last, "first|second|...", text)  one of the words, by position from 0 to last
 *   CC_VARIANT(one of these)                                  what only a comparison needs: another version of the law, such
 *                                                             as Linux's or a draft's. `ccctl show` lists it with --all
 *   CC_PER_CONNECTION(one of these)                           what a rule may also give to its connections alone, by
 *                                                             `ccctl assign --param`
 *
 * `unit` says what the integer counts: "1/N" and a unit, each of which may be missing. People write and read the value
 * itself, and the name without a suffix that says the same (crates/catalog/src/notation.rs):
 *
 *   CC_PARAM(beta_q10, 717, 512, 1000, "1/1024", ...)             beta = 0.7, of 0.5 to 0.977
 *   CC_PARAM(rtt_ref_us, 100000, 1000, 10000000, "us", ...)       rtt_ref = 100ms (us, ms, s)
 *   CC_PARAM(mode0_up_kbytes_per_s, 1500, ..., "kB/s", ...)       mode0_up = 12mbit (bytes/s, kB/s, Mbit/s)
 *   CC_PARAM(delta_pct, 15, 1, 90, "%", ...)                      delta = 15% (also ppm)
 *   CC_PARAM(alpha_pkts, 80, 1, 10000, "pkts", ...)               alpha_pkts = 80: any other unit is a count
 *
 * CC_PARAMS makes struct reno_params of them, and reno_params() gives the set in force. Each member has a btf_decl_tag,
 * "cc_param|default|minimum|maximum|unit|words|text" or the same with cc_variant, where words are separated by '|' as
 * well. It goes into the object's BTF and with it into the kernel, so that a running instance can be asked for its parameters
 * by any later ccctl. A second tag, "cc_per_connection", marks those that connections may have of their own.
 *
 * Two sets are kept and one is in force. Whoever changes parameters writes the idle set, and then flips `active`: a hook
 * sees all of a change or nothing of it.
 *
 * An algorithm with parameters per connection writes CC_CONNECTION_PARAMS(name) behind CC_PARAMS. Its init asks for the
 * connection's own value with CC_OWN_PARAM(name, sk, parameter, none), keeps it in its state, and prefers it to that of the set
 * in force from then on: an ACK costs no search. `none` is a number that the parameter cannot be. A rule that changes them has
 * init called again (own_params.h). Its release calls CC_DROP_OWN_PARAMS(sk).
 */
#ifndef CCCTL_PARAMS_H
#define CCCTL_PARAMS_H

#define CC_PARAM(name, default_value, minimum, maximum, unit, text)                                                    \
	"cc_param", shared, name, default_value, minimum, maximum, unit, "", text
#define CC_SWITCH(name, default_value, text) "cc_param", shared, name, default_value, 0, 1, "", "off|on", text
#define CC_CHOICE(name, default_value, last, words, text)                                                              \
	"cc_param", shared, name, default_value, 0, last, "", words, text
#define CC_VARIANT(item) CC_VARIANT_OF(item)
#define CC_VARIANT_OF(tag, ...) "cc_variant", __VA_ARGS__
#define CC_PER_CONNECTION(item) CC_PER_CONNECTION_OF(item)
#define CC_PER_CONNECTION_OF(tag, whose, ...) tag, own, __VA_ARGS__
#define CC_TAG_OF_shared
#define CC_TAG_OF_own CC_TAG("cc_per_connection")
#define CC_PLACE_OF_shared(name)
#define CC_PLACE_OF_own(name) cc_place_##name,

/* Two steps each: the first lets the item become its nine fields. */
#define CC_MEMBER(item) CC_MEMBER_OF(item)
#define CC_MEMBER_OF(tag, whose, name, default_value, minimum, maximum, unit, words, text)                             \
	u32 name CC_TAG_OF_##whose CC_TAG(tag "|" #default_value "|" #minimum "|" #maximum "|" unit "|" words "|" text);
#define CC_DEFAULT(item) CC_DEFAULT_OF(item)
#define CC_DEFAULT_OF(tag, whose, name, default_value, ...) .name = default_value,
#define CC_PLACE(item) CC_PLACE_OF(item)
#define CC_PLACE_OF(tag, whose, name, ...) CC_PLACE_OF_##whose(name)

#define CC_PARAMS(algorithm, LIST)                                                                                     \
	struct algorithm##_params {                                                                                    \
		LIST(CC_MEMBER)                                                                                        \
	};                                                                                                             \
	enum { LIST(CC_PLACE) cc_places }; /* of those per connection: their places in cc_own_values */                \
	CC_PARAMS_STORE(algorithm, { LIST(CC_DEFAULT) })                                                               \
	_Static_assert(cc_places <= CC_OWN_PARAMS, "too many parameters per connection")

#endif
