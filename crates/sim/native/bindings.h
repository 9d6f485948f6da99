/* SPDX-License-Identifier: GPL-2.0-only */
/* What Rust sees of bpf/include: build.rs makes src/native/bindings of it. */
#include "cc.h"
#include "fixed.h"
#include "hstcp.h"
#include "slow_start.h"

/* Rust sees functions, and no constants of a file. */
static inline const struct hstcp_table *cc_hstcp_rfc3649(void)
{
	return &hstcp_rfc3649;
}

static inline const struct hstcp_table *cc_hstcp_even2006(void)
{
	return &hstcp_even2006;
}
