/* SPDX-License-Identifier: GPL-2.0-only */
/* What Rust sees of bpf/include: build.rs makes src/native/bindings of it. */
#include "cc.h"
#include "fixed.h"
#include "hstcp.h"
#include "slow_start.h"
