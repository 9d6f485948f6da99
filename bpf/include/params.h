/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Parameters: declared once, in the algorithm's file, and read from there by everything else.
 *
 *   CC_PARAM(name, default, minimum, maximum, unit, text)     a number (u32)
 *   CC_SWITCH(name, default, text)                            off (0) or on (1)
 *   CC_CHOICE(name, default, "first|second|...", text)        one of the words, by position from 0
 *
 * CC_PARAMS(algorithm, ...) makes struct algorithm_params of them, with one btf_decl_tag per member:
 * "cc_param|default|minimum|maximum|unit|words|text". The tag goes into the object's BTF and with it into the
 * kernel, so that a running instance can be asked for its parameters by any later ccctl.
 *
 * Two sets are kept and one is in force. Whoever changes parameters writes the idle set, lets CC_PREPARE work on it,
 * and then flips `active`: a hook sees all of a change or nothing of it.
 */
#ifndef CCCTL_PARAMS_H
#define CCCTL_PARAMS_H

#define CC_PARAM(name, default_value, minimum, maximum, unit, text)                                                    \
	(name, default_value, minimum, maximum, unit, "", text)
#define CC_SWITCH(name, default_value, text) (name, default_value, 0, 1, "", "off|on", text)
#define CC_CHOICE(name, default_value, last, words, text) (name, default_value, 0, last, "", words, text)

/* Apply macro to each argument. Each CC_EVAL level rescans three times: room for 81 parameters. */
#define CC_EMPTY()
#define CC_DEFER(id) id CC_EMPTY()
#define CC_EVAL(...) CC_EVAL3(CC_EVAL3(CC_EVAL3(__VA_ARGS__)))
#define CC_EVAL3(...) CC_EVAL2(CC_EVAL2(CC_EVAL2(__VA_ARGS__)))
#define CC_EVAL2(...) CC_EVAL1(CC_EVAL1(CC_EVAL1(__VA_ARGS__)))
#define CC_EVAL1(...) CC_EVAL0(CC_EVAL0(CC_EVAL0(__VA_ARGS__)))
#define CC_EVAL0(...) __VA_ARGS__
#define CC_EACH_STEP(macro, first, ...) macro first __VA_OPT__(CC_DEFER(CC_EACH_AGAIN)()(macro, __VA_ARGS__))
#define CC_EACH_AGAIN() CC_EACH_STEP
#define CC_EACH(macro, ...) CC_EVAL(CC_EACH_STEP(macro, __VA_ARGS__))

#define CC_PARAM_MEMBER(name, default_value, minimum, maximum, unit, words, text)                                      \
	u32 name CC_TAG("cc_param|" #default_value "|" #minimum "|" #maximum "|" unit "|" words "|" text);
#define CC_PARAM_DEFAULT(name, default_value, minimum, maximum, unit, words, text) .name = default_value,

/* words are separated by '|' as well: the reader takes the first five fields from the left and the text from the right */
#define CC_PARAMS(algorithm, ...)                                                                                      \
	struct algorithm##_params {                                                                                    \
		CC_EACH(CC_PARAM_MEMBER, __VA_ARGS__)                                                                  \
	};                                                                                                             \
	CC_PARAMS_STORE(algorithm, { CC_EACH(CC_PARAM_DEFAULT, __VA_ARGS__) })                                         \
	_Static_assert(1, "")

#endif
