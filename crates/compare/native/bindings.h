/* SPDX-License-Identifier: GPL-2.0-only */
/* What Rust sees of the record and of bpf/include: build.rs makes src/native/bindings of it. */
#include "cc.h"
#include "../bpf/call.h"
